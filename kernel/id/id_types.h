/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The parts of an id that it does not always have, so that thousands of idle ones cost little. */
#ifndef RCA_CMID_PARTS_H
#define RCA_CMID_PARTS_H

#include <linux/list.h>
#include <linux/timer.h>
#include <rdma/ib_cm.h>

#include "lib/timing.h"
#include "transport/transport.h"
#include "lib/types.h"

struct rca_peer;
struct rca_resolve;
struct rca_route_query;

/**
 * struct rca_pace - what an id has sent to its peer, or wants to send: see send_window.c
 * @peer: the peer, NULL: nothing was sent yet (lock: rca_id.op; holds a reference)
 * @node: among those of its context that wait (lock: that of @peer)
 * @epoch: the peer's when it was sent (likewise)
 * @state: whether it waits, or has sent (likewise; read without)
 */
struct rca_pace {
	struct rca_peer *peer;
	struct list_head node;
	u32 epoch;
	u8 state;
};

/**
 * struct rca_retry - a connection request that may have to be sent again
 * @again: sends it again, or ends it, or tells the peer that the program is slow; the work of the
 *         id calls it with rca_id.op held, in the states RCA_ST_REQ_SENT, RCA_ST_REQ_WAIT,
 *         RCA_ST_SIDR_SENT and RCA_ST_REP_RCVD (immutable)
 * @send: sends a request (immutable)
 * @conn: its parameters; the private data is @data (immutable)
 * @deadline: until when, in jiffies (lock: rca_id.op, and none of its messages is under way)
 * @limited: it ends then, whatever the peer does (immutable)
 * @once: it is not sent again when nobody answers (immutable)
 * @waits: for its turn, which counts for no patience (lock: rca_id.op)
 * @why: why it waits: RCA_IN_STALE, RCA_IN_SILENCE or RCA_IN_HELD (lock: rca_id.lock)
 * @round: how often nobody did (lock: rca_id.op)
 * @lifetime: packet lifetime of the path (immutable)
 * @since: when it began to wait for its turn, in jiffies (lock: rca_id.op)
 * @sent: when the last one was sent, in jiffies (lock: rca_id.op; callbacks read it without)
 * @interval: how many jiffies until it was sent for the second time (likewise)
 * @late: how many jiffies after the reply the peer is told that the program is slow (likewise)
 * @delay: how many jiffies to wait the next time (lock: rca_id.lock)
 * @data: the user's private data (immutable)
 */
struct rca_retry {
	void (*again)(struct rca_id *id);
	int (*send)(struct rca_id *id, const struct rca_tp_conn *conn);
	struct rca_tp_conn conn;
	unsigned long deadline;
	bool limited;
	bool once;
	bool waits;
	u8 why;
	u8 round;
	u8 lifetime;
	unsigned long since;
	unsigned long sent;
	unsigned long interval;
	unsigned long late;
	unsigned long delay;
	u8 data[IB_CM_REQ_PRIVATE_DATA_SIZE];
};

/**
 * struct rca_then - what an id does when its route is known
 * @go: called once, and owns what it is a part of from then on. With @known, it does it:
 *      rca_id.op is held, it is work that others need the worker of, and the state
 *      is RCA_ST_ROUTE_RESOLVED. Else it is not to be done, in any context.
 */
struct rca_then {
	void (*go)(struct rca_id *id, struct rca_then *then, bool known);
};

/**
 * struct rca_setup - what an id needs to get connected, and again to end that
 * @id: the id (immutable)
 * @path: resolved path, NULL: none (lock: rca_id.op; owned)
 * @alt_path: alternate path of a request, NULL: none (likewise)
 * @path_in: InfiniBand: path for the way here where it is another one, else NULL (likewise)
 * @path_out: likewise for the way there
 * @retry: the request that was sent, NULL: none (lock: rca_id.op; owned; callbacks may read it
 *         under rca_id.lock in the states RCA_ST_REQ_SENT and RCA_ST_REP_RCVD)
 * @resolve: the resolution under way, NULL: none (lock: rca_id.lock; holds a reference)
 * @query: the query for a path under way, NULL: none (lock: rca_id.lock; holds a reference)
 * @then: what follows when the route is known, NULL: nothing (lock: rca_id.op; owned)
 * @pace: when the id may send to its peer
 * @timer: has the work of the id run; holds a reference of it while it is pending
 * @farewell: disconnecting: when it does not wait any more, in jiffies (lock: rca_id.op)
 * @unsent: the disconnect request has to wait for the peer's ready-to-use (set with rca_id.op;
 *          a message ends it with rca_id.lock)
 * @rcu: for callbacks that come late
 *
 * Every id has one from the beginning. It goes when the id is connected, so that
 * thousands of connections that do nothing cost little.
 */
struct rca_setup {
	struct rca_id *id;
	struct sa_path_rec *path;
	struct sa_path_rec *alt_path;
	struct sa_path_rec *path_in;
	struct sa_path_rec *path_out;
	struct rca_retry *retry;
	struct rca_resolve *resolve;
	struct rca_route_query *query;
	struct rca_then *then;
	struct rca_pace pace;
	struct timer_list timer;
	unsigned long farewell;
	bool unsent;
	struct rcu_head rcu;
};

/**
 * struct rca_extras - what few ids have
 * @bind: its place in the port table; NULL: it never had a port of its own, as most ends of
 *        connections (lock: rca_id.op; owned; stays once it is set)
 * @listener: listening: its listener (lock: rca_id.op; owned)
 * @waiting: listening: requests that wait to be read (atomic)
 * @backlog: listening: how many may (immutable while listening)
 * @members: multicast groups that it has joined (lock: rca_id.op)
 * @memberships: how many @members there are, and such that come or go (atomic)
 * @user_events: user events that wait to be read (atomic)
 * @defaults: RoCE: what the program has for ports, NULL: nothing (lock: rca_id.op; owned)
 * @timing: how long it waits for its peer (each setting on its own, without a lock)
 * @tos: type of service (lock: rca_id.op)
 * @tos_set: it was set (lock: rca_id.op)
 * @gid_type: RoCE: enum ib_uverbs_gid_type that was asked for, 0: none (lock: rca_id.op)
 * @ack_timeout: acknowledgement timeout of the local QP (lock: rca_id.op; callbacks read it
 *               without)
 * @ack_timeout_set: it was set (lock: rca_id.op; callbacks read it without)
 *
 * They stay until the id is freed.
 */
struct rca_extras {
	struct rca_bind *bind;
	struct rca_listener *listener;
	atomic_t waiting;
	u32 backlog;
	struct list_head members;
	atomic_t memberships;
	atomic_t user_events;
	struct rca_defaults *defaults;
	struct rca_timing timing;
	u8 tos;
	bool tos_set;
	u8 gid_type;
	u8 ack_timeout;
	bool ack_timeout_set;
};

#endif /* RCA_CMID_PARTS_H */
