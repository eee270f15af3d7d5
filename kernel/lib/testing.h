/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What unit tests need of files beyond their headers. A module without unit tests has it as static.
 */
#ifndef RCA_TESTING_H
#define RCA_TESTING_H

#include <linux/kconfig.h>

#if IS_ENABLED(CONFIG_RDMA_CM_ALT_KUNIT)
#define RCA_VISIBLE_IF_KUNIT

#include <linux/types.h>
#include <rdma/ib_sa.h>

#include "lib/compat.h"

struct neighbour;
struct net;
struct rca_bind;
struct rca_bucket;
struct rca_event;
struct rca_id;
struct rca_lru;
struct rca_path_answer;
struct rca_queue;
struct rca_report;
struct rca_reports;
struct rca_service_wanted;
struct rca_services;
struct rca_tp_request;
struct rca_trunk;
struct rca_trunk_link;
struct rca_trunk_record;
struct sa_service_rec;
struct sk_buff;
union rca_addr;

/* Parameters of the module, and other settings */
extern bool rca_no_notices;
extern bool rca_no_parties;
extern unsigned int rca_context_limits[];
extern unsigned int rca_max_context_percent;
extern unsigned int rca_max_own_wq;
extern unsigned int rca_peer_death_ms;
extern unsigned int rca_peers_interval_ms;
extern unsigned int rca_peers_max;
extern unsigned int rca_peers_bar_ms;
extern unsigned int rca_place_hold_ms;
extern unsigned int rca_trunk_max;
extern atomic_t rca_answers_of_all;
extern unsigned int rca_trunk_sl;
extern unsigned int rca_trunk_traffic_class;
extern unsigned int rca_user_limits[];
extern unsigned int rca_window_timeout_ms;
void rca_set_context_limits(void);

/* Tables */
extern struct rca_lru rca_paths;
void rca_lru_clear(struct rca_lru *lru);
void rca_neigh_changed(const struct neighbour *neigh);

/* Events, and the work of ids */
void rca_queue_shutdown(struct rca_queue *queue);
void rca_event_publish_child(struct rca_event *ev, struct rca_queue *queue);
bool rca_id_work_pending(const struct rca_id *id);
void rca_id_flush_work(struct rca_id *id);

/* Paths, service records and groups of the subnet administrator, and headers of requests */
ib_sa_comp_mask rca_route_ib_question(const struct rca_id *id, bool opa, struct sa_path_rec *rec);
int rca_path_sort(const struct sa_path_rec *recs, unsigned int count,
		  struct rca_path_answer *answer);
ib_sa_comp_mask rca_service_question(const struct rca_service_wanted *wanted,
				     struct sa_service_rec *rec);
int rca_services_keep(struct rca_services **services, const struct sa_service_rec *recs,
		      unsigned int count);
int rca_group_mgid(const union rca_addr *group, enum ib_gid_type type, union ib_gid *mgid);
int rca_group_ib_mgid(const union rca_addr *group, const union ib_gid *subnet, bool cm_signature,
		      union ib_gid *mgid);
ib_sa_comp_mask rca_group_ib_mask(u16 ps);
void rca_req_ib_addrs(const struct rca_id *listener, const struct rca_tp_request *req,
		      union rca_addr *local, union rca_addr *peer);
void rca_wire_put_hdr(u8 *hdr, const union rca_addr *src, const union rca_addr *dst);

/* Ports */
struct rca_bucket *rca_bind_bucket(const struct rca_bind *bind);

/* Trunks */
bool rca_link_fill(struct rca_trunk_link *link);
void rca_link_path_found(int status, struct sa_path_rec *recs, rca_num_paths_t count,
			 void *context);
int rca_conn_record(struct rca_trunk *trunk, const struct rca_trunk_record *record);
void rca_conn_lost(struct rca_trunk *trunk);
int rca_link_create_cqs(struct rca_trunk_link *link, unsigned int sends, unsigned int receives);
u32 rca_link_next_vector(const struct ib_device *ibdev);
void rca_link_stop_cqs(struct rca_trunk_link *link);
void rca_link_destroy_cqs(struct rca_trunk_link *link);
unsigned long rca_watch_idle_for(const struct rca_trunk *trunk);

/* What an administrator is told */
const char *rca_id_reason(const struct rca_id *id, u32 event, int reason);
int rca_nl_put_transport(struct sk_buff *skb, const struct rca_id *id);
typedef void (*rca_report_hook_t)(struct net *net, const struct rca_report *report);
extern rca_report_hook_t rca_report_hook;
void rca_reports_init(struct rca_reports *reports, struct net *net);

#else
#define RCA_VISIBLE_IF_KUNIT static
#endif

#endif /* RCA_TESTING_H */
