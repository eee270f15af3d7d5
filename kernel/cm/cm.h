/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The operations on ids. */
#ifndef RCA_CM_CM_H
#define RCA_CM_CM_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rhashtable.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <rdma/ib_sa.h>
#include <rdma/ib_user_sa.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm_alt.h>

#include "id/id.h"
#include "lib/compat.h"
#include "lib/types.h"
#include "transport/transport.h"

struct ib_uverbs_ah_attr;
struct net;
struct rdma_dev_addr;

/* The work of ids. */

int rca_ids_init(void);

/* Handler of the transport's events of an id. */

u8 rca_cm_event(void *owner, void *lower, const struct rca_tp_event *event);

/* Operations on connections, from connect and accept to disconnect. */

int rca_connect(struct rca_id *id, const struct rca_tp_conn *conn);
int rca_accept_as(struct rca_id *id, u64 cookie, const struct rca_tp_conn *conn, bool quiet);
int rca_reject(struct rca_id *id, u32 reason, const void *data, u32 len);
int rca_establish(struct rca_id *id);
int rca_disconnect(struct rca_id *id);
int rca_notify(struct rca_id *id, u32 event);

/* rca_accept_as() with an ESTABLISHED event. */
static inline int rca_accept(struct rca_id *id, u64 cookie, const struct rca_tp_conn *conn)
{
	return rca_accept_as(id, cookie, conn, false);
}

/* Address and route resolution: from an address to a device, a GID and a path. */

/**
 * struct rca_pipeline - decoded steps of RESOLVE
 * @steps: RDMA_CM_ALT_STEP_BIND, _ADDR, _ROUTE
 * @events: those of @steps that post an event on success
 * @timeout_ms: timeout of each of the steps ADDR and ROUTE
 * @src: local address; AF_UNSPEC for none
 * @dst: address of the peer
 */
struct rca_pipeline {
	u32 steps;
	u32 events;
	u32 timeout_ms;
	union rca_addr src;
	union rca_addr dst;
};

int rca_resolve(struct rca_id *id, const struct rca_pipeline *pipe, u32 *done);
int rca_resolve_locked(struct rca_id *id, const struct rca_pipeline *pipe, u32 *done);
int rca_resolve_set_path_locked(struct rca_id *id, const struct sa_path_rec *path);

/* Connect together with the resolution steps before it. */

int rca_pipeline_connect(struct rca_id *id, const struct rca_pipeline *pipe,
			 const struct rca_tp_conn *conn, u32 *done);

/* Listening ids. */

/** RCA_MAX_BACKLOG - largest backlog: requests of a listener that are not read yet */
#define RCA_MAX_BACKLOG 1024

int rca_listen(struct rca_id *id, u32 backlog);
void rca_listen_stop(struct rca_id *id);

/* Wildcard listeners when devices change. */

int rca_listen_update_init(void);
void rca_listen_update_exit(void);
void rca_listen_devices_changed(struct net *net);

/* The listeners of each network namespace, and the devices that they listen on. */

void rca_listeners_device_removed(struct rca_device *dev);

/* The lower cm_id of a request, and the transport that it uses. */

const char *rca_lower_why(const struct rca_id *id);
int rca_lower_create(struct rca_id *id);

/* Memberships: an id in a multicast group. */

struct rca_member *rca_join(struct rca_id *id, const union rca_addr *group, bool send_only,
			    u64 cookie);
u32 rca_join_handle(const struct rca_member *member);
int rca_join_publish(struct rca_member *member);
void rca_join_abort(struct rca_member *member);
int rca_leave(struct rca_ctx *ctx, u32 handle, u32 *reported);
void rca_mcast_joined(void *owner, int status, const struct ib_uverbs_ah_attr *ah, u32 qkey);
void rca_mcast_drop(struct rca_id *id);
void rca_mcast_end(struct rca_id *id);
struct rca_id *rca_member_id(struct rca_obj *obj);
const union rca_addr *rca_member_group(struct rca_obj *obj);

/* Options of an id. */

/** RCA_OPTION_MAX - largest value that can be set, in bytes */
#define RCA_OPTION_MAX 4096

/** RCA_OPTION_OUT_MAX - largest value that can be read, in bytes */
#define RCA_OPTION_OUT_MAX (2 * sizeof(struct ib_path_rec_data))

int rca_set_option(struct rca_id *id, u32 level, u32 name, const void *val, u32 len);
int rca_get_option(struct rca_id *id, u32 level, u32 name, void *val, u32 *len);

/* Answers of the subnet administrator that are kept for later ids. */

/**
 * struct rca_path_key - the members of a path query that differ between queries; padding is zero
 * @sgid: source GID
 * @dgid: destination GID
 * @service_id: service ID
 * @mask: component mask
 * @device: &rca_device.serial, which is never reused
 * @port_num: port of the device
 * @user: the user of the id, as a uid of the first user namespace
 * @pkey: partition key
 * @qos_class: quality of service class, or 0
 * @traffic_class: traffic class, or 0
 * @pad: zero
 */
struct rca_path_key {
	union ib_gid sgid;
	union ib_gid dgid;
	__be64 service_id;
	u64 mask;
	u32 device;
	u32 port_num;
	u32 user;
	__be16 pkey;
	__be16 qos_class;
	u8 traffic_class;
	u8 pad[7];
};

/**
 * struct rca_path_info - a path that is kept, for tools
 * @key: its query
 * @path: the path
 * @epoch: epoch of the device when the SA was asked
 * @age_s: its age in seconds
 */
struct rca_path_info {
	struct rca_path_key key;
	struct sa_path_rec path;
	u32 epoch;
	u32 age_s;
};

/**
 * enum rca_path_doubt - what to do about a cached path over which a peer does not answer
 * @RCA_PATH_ASK: query the subnet administrator
 * @RCA_PATH_NEWER: the cache has a newer path, which was returned
 * @RCA_PATH_ASKED: another id queries already; use the old path meanwhile
 */
enum rca_path_doubt { RCA_PATH_ASK, RCA_PATH_NEWER, RCA_PATH_ASKED };

void rca_path_key(struct rca_path_key *key, u32 user, u32 device, u32 port_num,
		  const struct sa_path_rec *question, ib_sa_comp_mask mask);
u32 rca_path_cache_find(const struct rca_path_key *key, u32 epoch, u32 max_age_s,
			struct sa_path_rec *path);
void rca_path_cache_add(const struct rca_path_key *key, u32 epoch, const struct sa_path_rec *path);
enum rca_path_doubt rca_path_cache_doubt(const struct rca_path_key *key, u32 epoch, u32 *version,
					 struct sa_path_rec *path);
void rca_path_cache_forget(const struct rca_path_key *key, u32 version);
void rca_path_cache_walk(struct rhashtable_iter *iter);
bool rca_path_cache_next(struct rhashtable_iter *iter, struct rca_path_info *info);
int rca_path_cache_init(void);
void rca_path_cache_exit(void);

/* Path queries: ids that need the same path at the same time share one. */

/**
 * struct rca_path_answer - the paths of an answer
 * @path: the path
 * @inbound: separate inbound path, if its flags are not 0
 * @outbound: separate outbound path, if its flags are not 0
 */
struct rca_path_answer {
	struct sa_path_rec path;
	struct sa_path_rec inbound;
	struct sa_path_rec outbound;
};

int rca_path_query_init(void);
void rca_path_query_exit(void);

/* Attributes for QP transitions. */

u32 rca_qkey(const struct rca_id *id);
int rca_qkey_settle_locked(struct rca_id *id, u32 qkey);
int rca_qp_attr(struct rca_id *id, u32 qp_state, struct ib_uverbs_qp_attr *out);
bool rca_qp_attr_fill_init(struct rca_id *id, struct rdma_cm_alt_qp_attr *out);
bool rca_qp_attr_fill(struct rca_id *id, void *lower, struct rdma_cm_alt_qp_attr *out);

/* Connection requests. */

int rca_req_handler(void *demux, void *lower, const struct rca_tp_request *req);
int rca_req_handler_for(struct rca_device *dev, void *lower, const struct rca_tp_request *req);

/* Service records of the subnet administrator: where a service is. */

/**
 * struct rca_services - service records of an id
 * @count: number of records in @list
 * @list: the records, as user space gets them
 */
struct rca_services {
	u32 count;
	struct rdma_cm_alt_service list[] __counted_by(count);
};

/**
 * struct rca_service_wanted - the service records that an id asks for
 * @has_id: @service_id is given
 * @service_id: their service ID, in host byte order
 * @name: their name, filled up with zeros
 * @name_len: its length; 0: any name
 */
struct rca_service_wanted {
	bool has_id;
	u64 service_id;
	u8 name[64];
	u32 name_len;
};

int rca_service_resolve(struct rca_id *id, const struct rca_service_wanted *wanted, u32 timeout_ms);
struct rca_services *rca_services_copy(struct rca_id *id);

/* Close of a queue or a context: destroy its ids. */

void rca_close_queue_ids(struct rca_ctx *ctx, struct rca_queue *queue);
void rca_ctx_shutdown(struct rca_ctx *ctx);
void rca_shutdown_exit(void);

/* Destroying ids, and removal of a device. */

int rca_destroy(struct rca_ctx *ctx, u32 handle, u32 *reported);
void rca_id_abort(struct rca_id *id);
void rca_teardown_device(struct rca_device *dev);

#endif
