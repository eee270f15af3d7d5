/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The operations on ids: declarations for this folder alone. */
#ifndef RCA_CM_INTERNAL_H
#define RCA_CM_INTERNAL_H

#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/ib_sa.h>

#include "cm/cm.h"
#include "id/id.h"
#include "lib/compat.h"
#include "lib/types.h"

struct net;
struct net_device;
struct rdma_dev_addr;

/* InfiniBand addresses: hardware addresses of IPoIB devices, and GIDs of family AF_IB. */

int rca_addr_ib_own(struct rca_id *id, union rca_addr *dst);
int rca_addr_ib_resolve(struct rca_id *id);

/* The local side of an id: address, port, device. */

int rca_local_set(struct rca_id *id, const union rca_addr *src, bool take_port);
int rca_local_device(struct rca_id *id, const union rca_addr *local, struct rdma_dev_addr *addr);
void rca_local_keep_link(struct rca_id *id, struct rdma_dev_addr *addr);
bool rca_local_needs_port(const struct rca_id *id);

/* Service IDs that the module holds on devices, each shared by its listeners. */

/**
 * struct rca_demux - a service ID that the module holds on a device
 * @ref: references: the device, requests over trunks
 * @dev: the device (immutable; holds a reference as long as @dev has it)
 * @service_id: the service ID (immutable)
 * @handle: returned by listen() of the transport (immutable)
 * @node: in &rca_device.demuxes (rcu; lock: rca_device.demux_mutex)
 * @slots: the listeners (rcu; lock: rca_device.demux_mutex)
 * @rcu: frees it after the walks of requests
 *
 * The transport passes the demux to the upcall for a request.
 */
struct rca_demux {
	refcount_t ref;
	struct rca_device *dev;
	__be64 service_id;
	void *handle;
	struct hlist_node node;
	struct list_head slots;
	struct rcu_head rcu;
};

/**
 * struct rca_slot - a listener behind a service ID of a device
 * @id: the listening id (immutable; alive as long as the slot is in a demux)
 * @demux: the service ID (immutable)
 * @node: in &rca_demux.slots (rcu; lock: rca_device.demux_mutex)
 * @listener_node: in &rca_listener.slots (lock: rca_listen_net.mutex of the namespace)
 * @rcu: frees it after the walks of requests
 */
struct rca_slot {
	struct rca_id *id;
	struct rca_demux *demux;
	struct list_head node;
	struct list_head listener_node;
	struct rcu_head rcu;
};

struct rca_slot *rca_demux_join(struct rca_device *dev, const struct rca_tp_listen *req,
				struct rca_id *id, gfp_t gfp);
void rca_demux_leave(struct rca_slot *slot);
struct net *rca_demux_first_net(struct rca_device *dev);
struct rca_slot *rca_demux_first(struct rca_device *dev, const struct net *net);

/* Hellos of the trunk protocol, in the RTU of a connection. */

u8 rca_hello_fill(struct rca_id *id, u8 *data);
void rca_hello_read(struct rca_id *id, const struct rca_tp_event *event);

/*
 * Retransmission of connection requests that were not answered or wait for a slot, and their
 * deadline.
 */

int rca_retry_keep(struct rca_id *id, const struct rca_tp_conn *conn);
int rca_retry_keep_datagram(struct rca_id *id, const struct rca_tp_conn *conn);
int rca_retry_send(struct rca_id *id);
void rca_retry_arm(struct rca_id *id);
void rca_retry_hold(struct rca_id *id);
void rca_retry_drop(struct rca_id *id);
void rca_retry_end(struct rca_id *id);
void rca_retry_replied_locked(struct rca_id *id);
void rca_retry_continue(struct rca_id *id);
bool rca_retry_again(struct rca_id *id, const struct rca_tp_event *event);

/* Disconnecting. */

unsigned long rca_id_linger(const struct rca_id *id);
int rca_id_send_dreq(struct rca_id *id);
bool rca_id_dreq_is_due(struct rca_id *id);

/* The path of an id: created for RoCE, which needs no message, or given by user space. */

int rca_route_roce(struct rca_id *id);
int rca_route_set(struct rca_id *id, const struct sa_path_rec *given);
int rca_route_parse(struct sa_path_rec *path, const void *records, u32 len);
int rca_route_check_source(struct rca_id *id, const struct sa_path_rec *path);
u8 rca_route_sl(struct rca_id *id);

/* The path of an id on InfiniBand, from the subnet administrator. */

int rca_route_ib_start(struct rca_id *id, u32 timeout_ms, bool post);
bool rca_route_ib_renew(struct rca_id *id);
int rca_path_query_continue(struct rca_id *id, bool *post);
void rca_path_query_cancel(struct rca_id *id);
void rca_route_ib_forget(struct rca_id *id);
void rca_route_ib_set(struct rca_id *id, const struct sa_path_rec *given);

/*
 * What all queries of the subnet administrator have in common: their end, and their turns. The work
 * of the id handles the result.
 */

/**
 * struct rca_sa_query - a query of an id
 * @ref: references: of the setup, the pending callback, the armed @timer
 * @release: frees what the struct is a member of (immutable)
 * @id: the id (holds a reference); NULL after it has given up before the answer (lock: rca_sa_lock
 *      until @called)
 * @ends: when the id gives up, in jiffies (immutable)
 * @sa_id: query number of ib_sa, if @sent (lock: rca_sa_lock)
 * @sa: query of ib_sa, valid while @called is false
 * @sent: ib_sa has the query (lock: rca_sa_lock)
 * @called: the result is there, and the query is not cancelled any more (lock: rca_sa_lock)
 * @place: ticket at the port, on kernels that limit its queries
 * @timer: ends the wait for @place, or withdraws a query whose place others need
 */
struct rca_sa_query {
	refcount_t ref;
	void (*release)(struct rca_sa_query *query);
	struct rca_id *id;
	unsigned long ends;
	int sa_id;
	struct ib_sa_query *sa;
	bool sent;
	bool called;
	struct rca_ticket place;
	struct delayed_work timer;
};

extern spinlock_t rca_sa_lock;

void rca_sa_init(struct rca_sa_query *query, struct rca_id *id, unsigned long ends,
		 void (*release)(struct rca_sa_query *query));
void rca_sa_put(struct rca_sa_query *query);
bool rca_sa_called(struct rca_sa_query *query);
bool rca_sa_begin(struct rca_sa_query *query);
u32 rca_sa_left_ms(const struct rca_sa_query *query);
void rca_sa_sent(struct rca_sa_query *query, int ret);
void rca_sa_called_locked(struct rca_sa_query *query, int status);
void rca_sa_cancel_locked(struct rca_sa_query *query);
void rca_sa_cancel(struct rca_sa_query *query);

/* Service records. */

void rca_service_continue(struct rca_id *id);
void rca_service_cancel(struct rca_id *id);

/* Address and route resolution. */

void rca_resolve_continue(struct rca_id *id);
void rca_resolve_cancel(struct rca_id *id);

/* Connect together with the resolution steps before it. */

void rca_connect_continue(struct rca_id *id);

/* Datagram ids: service ID resolution (SIDR). */

int rca_sidr_connect_locked(struct rca_id *id, const struct rca_tp_conn *conn);
int rca_sidr_accept(struct rca_id *id, u64 cookie, const struct rca_tp_conn *conn);
int rca_sidr_reject(struct rca_id *id, const void *data, u32 len);
void rca_sidr_continue(struct rca_id *id);
void rca_sidr_event(struct rca_id *id, const struct rca_tp_event *event);

#endif
