/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Connections over trunks. */
#ifndef RCA_TRUNK_CONN_H
#define RCA_TRUNK_CONN_H

#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/timerqueue.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "transport/transport.h"
#include "trunk/peers.h"
#include "trunk/proto.h"

struct rca_trunk;

/** RCA_CONN_HELD_MS - time after which a peer may repeat a request for which there was no room */
#define RCA_CONN_HELD_MS	20

/**
 * enum rca_conn_state - states of a connection over a trunk
 * @RCA_CONN_NEW: active side: nothing was sent
 * @RCA_CONN_REQ_SENT: active side: waits for the reply
 * @RCA_CONN_REP_RCVD: active side: waits for send_rtu()
 * @RCA_CONN_REQ_RCVD: passive side: waits for reply()
 * @RCA_CONN_REP_SENT: passive side: waits for the ready-to-use
 * @RCA_CONN_UP: established
 * @RCA_CONN_DREQ_SENT: waits for the disconnect reply
 * @RCA_CONN_TIMEWAIT: disconnected
 * @RCA_CONN_CLOSED: rejected, lost, or its timewait is over
 */
enum rca_conn_state {
	RCA_CONN_NEW,
	RCA_CONN_REQ_SENT,
	RCA_CONN_REP_RCVD,
	RCA_CONN_REQ_RCVD,
	RCA_CONN_REP_SENT,
	RCA_CONN_UP,
	RCA_CONN_DREQ_SENT,
	RCA_CONN_TIMEWAIT,
	RCA_CONN_CLOSED,
};

/**
 * struct rca_trunk_conn - a connection over a trunk: a lower cm_id
 * @trunk: its trunk (immutable; holds a reference, and counts as a user)
 * @owner: argument of its callbacks (set by its owner before it uses @trunk)
 * @session: number of its session (immutable)
 * @number: number in the records, odd or even as &rca_trunk.odd says (immutable)
 * @ref: references: the owner, the list of @waiting (lock: rca_trunk.lock)
 * @callbacks: number of callbacks that are running; the owner waits for them when it destroys the
 *             connection, unless it is its own request that is being handled (lock: rca_trunk.lock)
 * @state: enum rca_conn_state (lock: rca_trunk.lock)
 * @qp_type: IB_QPT_RC or IB_QPT_UC (immutable once a request was sent or received)
 * @is_answer: it has no owner, and is counted in &rca_trunk.answers (lock: rca_trunk.lock)
 * @to_send: bit n: the record of type n waits to be put into a frame (lock: rca_trunk.lock)
 * @waiting: entry in &rca_trunk.waiting while @to_send is not 0 (lock: rca_trunk.lock)
 * @rcu: frees the connection after readers of its numbers; shares memory with @waiting, because
 *       nothing waits to be sent then
 * @timer: entry in &rca_trunk.timers, or empty (lock: rca_trunk.lock)
 * @service_id: of the request
 * @qp: REQ or REP that is sent: the local QP (lock: rca_trunk.lock)
 * @path: REQ that is sent: the path (lock: rca_trunk.lock)
 * @reason: REJ that is sent: its reason (lock: rca_trunk.lock)
 * @data: private data of the record that is sent, or NULL (lock: rca_trunk.lock; owned)
 * @data_len: its length (lock: rca_trunk.lock)
 * @peer_qpn: number of the QP of the peer, or 0 (lock: rca_trunk.lock)
 * @sq_psn: starting PSN of the send queue (lock: rca_trunk.lock)
 * @responder_resources: of the local QP (lock: rca_trunk.lock)
 * @initiator_depth: of the local QP (lock: rca_trunk.lock)
 * @retry_count: transport retries (lock: rca_trunk.lock)
 * @rnr_retry_count: receiver-not-ready retries (lock: rca_trunk.lock)
 * @ack_timeout: local ACK timeout (lock: rca_trunk.lock)
 * @mtu: enum ib_mtu of the path (immutable once a request was sent or received)
 * @pkey_index: index of the partition (likewise)
 * @ah: address handle attributes of the peer (likewise; owned)
 */
struct rca_trunk_conn {
	struct rca_trunk *trunk;
	void *owner;
	u32 session;
	u32 number;
	unsigned int ref;
	unsigned int callbacks;
	u8 state;
	u8 qp_type;
	bool is_answer;
	u16 to_send;
	union {
		struct list_head waiting;
		struct rcu_head rcu;
	};
	struct timerqueue_node timer;
	__be64 service_id;
	struct rca_record_qp qp;
	struct rca_record_path path;
	u16 reason;
	u16 data_len;
	void *data;
	u32 peer_qpn;
	u32 sq_psn;
	u8 responder_resources;
	u8 initiator_depth;
	u8 retry_count;
	u8 rnr_retry_count;
	u8 ack_timeout;
	u8 mtu;
	u16 pkey_index;
	struct rdma_ah_attr ah;
};

/* conn.c */
const struct rca_tp_upcalls *rca_conn_init(const struct rca_tp_upcalls *upcalls);
void rca_conn_call_back(struct rca_trunk_conn *conn, const struct rca_tp_event *event);
struct rca_trunk_conn *rca_conn_create(const struct rca_peer_key *key, void *owner);
struct rca_trunk_conn *rca_conn_alloc(struct rca_trunk *trunk, u32 number, gfp_t gfp);
int rca_conn_add(struct rca_trunk_conn *conn, gfp_t gfp);
struct rca_trunk_conn *rca_conn_get(struct rca_trunk *trunk, u32 number);
void rca_conn_callback_done(struct rca_trunk_conn *conn);
void rca_conn_put_locked(struct rca_trunk_conn *conn);
bool rca_conn_has_session(const struct rca_trunk_conn *conn);
void rca_conn_forget(struct rca_trunk_conn *conn);
void rca_conn_withdraw(struct rca_trunk_conn *conn);
void rca_conn_abandon(struct rca_trunk_conn *conn);
void rca_conn_remove(struct rca_trunk_conn *conn);
void rca_conn_set_timer(struct rca_trunk_conn *conn, u32 ms);
void rca_conn_stop_timer(struct rca_trunk_conn *conn);
void rca_conn_wake_at(struct rca_trunk *trunk, u64 when);
void rca_conn_enter_timewait(struct rca_trunk_conn *conn);

/* conn_end.c */
void rca_conn_timer_work(struct work_struct *work);
void rca_conn_not_linked(struct rca_trunk *trunk);
void rca_conn_lost(struct rca_trunk *trunk);

/* conn_send.c */
void rca_conn_send(struct rca_trunk_conn *conn, enum rca_record_type type);
void rca_conn_give_up(struct rca_trunk_conn *conn);
void rca_conn_fill(struct rca_trunk *trunk);

/* conn_path.c */
int rca_conn_set_path(struct rca_trunk_conn *conn, struct sa_path_rec *path,
		      const struct ib_gid_attr *sgid_attr);
void rca_conn_tell_path(struct rca_trunk_conn *conn, const struct sa_path_rec *path);
void rca_conn_read_path(const struct rca_trunk *trunk, const struct rca_record_path *from,
			struct sa_path_rec *path);
u8 rca_conn_ack_timeout(u8 delay, u8 lifetime);
int rca_conn_qp_attr(void *lower, struct ib_qp_attr *attr, int *mask);

#endif /* RCA_TRUNK_CONN_H */
