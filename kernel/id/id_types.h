/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The parts of an id that it does not always have, so that thousands of idle ones cost little. */
#ifndef RCA_ID_TYPES_H
#define RCA_ID_TYPES_H

#include <linux/list.h>
#include <linux/rhashtable-types.h>
#include <linux/timer.h>
#include <rdma/ib_cm.h>
#include <rdma/ib_sa.h>

#include "lib/compat.h"
#include "lib/timing.h"
#include "lib/types.h"
#include "transport/transport.h"

struct rca_window;
struct rca_port_places;
struct rca_places_user;
struct rca_resolve;
struct rca_route_query;
struct rca_service_query;
struct rca_services;

/**
 * enum rca_no_trunk - why the lower cm_id of an id was not made over a trunk
 * @RCA_NO_TRUNK_OFF: trunks were off
 * @RCA_NO_TRUNK_ASKED: the peer has requested the connection, and has chosen
 * @RCA_NO_TRUNK_PATH: its path has no local GID, no MTU, or differs by direction
 * @RCA_NO_TRUNK_NEVER: the program does not want one
 * @RCA_NO_TRUNK_ELSEWHERE: the peer has said over a trunk that it has no such listener, but another
 *                          user of ib_cm there may have one
 * @RCA_NO_TRUNK_NONE: no trunk to the peer was open
 *
 * What follows from the device or from the type of the QP is not kept, see rca_lower_why().
 */
enum rca_no_trunk {
	RCA_NO_TRUNK_OFF,
	RCA_NO_TRUNK_ASKED,
	RCA_NO_TRUNK_PATH,
	RCA_NO_TRUNK_NEVER,
	RCA_NO_TRUNK_ELSEWHERE,
	RCA_NO_TRUNK_NONE,
};

/**
 * struct rca_window_slot - the slot of an id in the send window of its peer: see send_window.c
 * @peer: the send window, or NULL before the first message (lock: rca_id.op; holds a reference)
 * @node: entry in the turns of @peer while the id waits (lock: that of @peer)
 * @epoch: epoch of @peer in which the slot was taken (lock: that of @peer)
 * @state: no slot, waiting, granted or sent (lock: that of @peer; also read without it)
 * @user: a hash of the user (written before @peer)
 */
struct rca_window_slot {
	struct rca_window *peer;
	struct list_head node;
	u32 epoch;
	u8 state;
	u8 user;
};

#if RCA_COUNTS_PLACES
/**
 * struct rca_port_place - the place of a message in ib_mad: see port_places.c
 * @granted: called when a message that waited has a place, with the lock of @port held (immutable
 *           while it waits)
 * @ctx: the context of its id (likewise; holds no reference)
 * @port: the places of the port, or NULL before the first message (lock: rca_id.op)
 * @user: the user among those of @port, while it waits or has a place (lock: that of @port)
 * @node: entry in the turns of @user while it waits (lock: that of @port)
 * @since: when the place was taken, in jiffies (lock: rca_id.op)
 * @state: no place, waiting, granted or taken (lock: that of @port; also read without it)
 * @silent: its peer did not answer when it began (immutable while the id waits or has a place)
 * @first: there was no other request to its peer then (likewise)
 * @returns: how often the message was withdrawn (lock: rca_id.op)
 */
struct rca_port_place {
	void (*granted)(struct rca_port_place *place);
	const struct rca_ctx *ctx;
	struct rca_port_places *port;
	struct rca_places_user *user;
	struct list_head node;
	unsigned long since;
	u8 state;
	bool silent;
	bool first;
	u8 returns;
};
#endif

/**
 * struct rca_retry - a connection request that may have to be retransmitted
 * @again: retransmits the request, gives it up, or sends an MRA because the program is slow;
 *         called by the work of the id with rca_id.op held, in the states RCA_ST_REQ_SENT,
 *         RCA_ST_REQ_WAIT, RCA_ST_SIDR_SENT and RCA_ST_REP_RCVD (immutable)
 * @conn: parameters of the request, as they are sent; its private data is @data (immutable)
 * @deadline: when the request is given up, in jiffies (lock: rca_id.op, while none of its
 *            messages is outstanding)
 * @limited: @deadline was set by the program: it is absolute, and ends the request in any state
 *           (immutable)
 * @once: an unanswered request is not retransmitted (immutable)
 * @waits: the request waits for a slot in the send window; unless @limited, that time extends
 *         @deadline (lock: rca_id.op)
 * @doubts: the path has to be renewed before the request is sent again, if it was cached (set under
 *          rca_id.lock by a callback, cleared under rca_id.op in RCA_ST_REQ_WAIT)
 * @elsewhere: the request is not sent over a trunk, as the program does not want that, or its
 *             listener may be another user of ib_cm (as @doubts)
 * @trunk_only: the request is sent over a trunk only, as the program requires one, or the private
 *              data do not fit another message (immutable)
 * @why: why the id is in RCA_ST_REQ_WAIT: RCA_IN_STALE, RCA_IN_SILENCE or RCA_IN_HELD
 *       (lock: rca_id.lock)
 * @intervals: number of retry intervals that ended without an answer (lock: rca_id.op)
 * @lifetime: packet lifetime of the path (immutable)
 * @since: when the request began to wait for a slot, in jiffies (lock: rca_id.op)
 * @sent: time of the last transmission, in jiffies (lock: rca_id.op; callbacks read it without)
 * @interval: time from the first transmission to ib_cm's first retransmission, in jiffies
 *            (lock: rca_id.op; callbacks read it without)
 * @late: time from the reply to the MRA for a slow program, in jiffies (likewise)
 * @delay: time until the next retransmission, in jiffies (lock: rca_id.lock)
 * @data: private data of the request, header included (immutable)
 */
struct rca_retry {
	void (*again)(struct rca_id *id);
	struct rca_tp_conn conn;
	unsigned long deadline;
	bool limited;
	bool once;
	bool waits;
	bool doubts;
	bool elsewhere;
	bool trunk_only;
	u8 why;
	u8 intervals;
	u8 lifetime;
	unsigned long since;
	unsigned long sent;
	unsigned long interval;
	unsigned long late;
	unsigned long delay;
	u8 data[];
};

/**
 * struct rca_on_route - continuation of an id after its route is resolved
 * @go: called exactly once; takes over the object that contains the struct. With @known true,
 *      executes the continuation: rca_id.op is held, the state is RCA_ST_ROUTE_RESOLVED, and
 *      the caller is a worker that other ids share. With @known false, only frees it, in any
 *      context.
 */
struct rca_on_route {
	void (*go)(struct rca_id *id, struct rca_on_route *on_route, bool known);
};

/**
 * struct rca_setup - connection state: what an id needs to connect and to disconnect
 * @id: the id (immutable)
 * @path: resolved path, if there is one: see @has_path (lock: rca_id.op)
 * @alt_path: alternate path of a request, or NULL (lock: rca_id.op; owned)
 * @path_in: InfiniBand: inbound path if it differs from @path, else NULL (likewise)
 * @path_out: InfiniBand: outbound path if it differs from @path, else NULL (likewise)
 * @path_version: InfiniBand: version of the cached path that @path is a copy of; 0: the subnet
 *                administrator was asked for this id (lock: rca_id.op)
 * @retry: the request that was sent, or NULL (lock: rca_id.op; owned; callbacks may read it
 *         under rca_id.lock in the states RCA_ST_REQ_SENT and RCA_ST_REP_RCVD)
 * @resolve: the pending address resolution, or NULL (lock: rca_id.lock; holds a reference)
 * @query: the pending path query, or NULL (lock: rca_id.lock; holds a reference)
 * @service_query: the pending query for service records, or NULL (lock: rca_id.op; holds a
 *                 reference)
 * @services: service records that were found, or NULL (lock: rca_id.op; owned)
 * @on_route: continuation after the route is resolved, or NULL (lock: rca_id.op; owned)
 * @slot: slot in the send window of the peer
 * @place: place of the port, on kernels that limit them
 * @timer: queues the work of the id; holds a reference on the id while pending
 * @drep_deadline: end of the wait for the DREP, in jiffies (lock: rca_id.op)
 * @has_path: the id has a path (lock: rca_id.op)
 * @unsent: the DREQ must wait for the RTU of the peer (set with rca_id.op held; cleared by the
 *          callback of a message under rca_id.lock)
 * @rcu: frees the struct after callbacks that run late
 *
 * Every id is created with one. It is freed when the id is connected, to keep idle connections
 * small, and allocated again to disconnect.
 */
struct rca_setup {
	struct rca_id *id;
	struct sa_path_rec path;
	struct sa_path_rec *alt_path;
	struct sa_path_rec *path_in;
	struct sa_path_rec *path_out;
	struct rca_retry *retry;
	struct rca_resolve *resolve;
	struct rca_route_query *query;
	struct rca_service_query *service_query;
	struct rca_services *services;
	struct rca_on_route *on_route;
	struct rca_window_slot slot;
#if RCA_COUNTS_PLACES
	struct rca_port_place place;
#endif
	struct timer_list timer;
	unsigned long drep_deadline;
	u32 path_version;
	bool has_path;
	bool unsent;
	struct rcu_head rcu;
};

/**
 * struct rca_opts - option state: members that most ids do not need
 * @bind: entry in the port table, or NULL if the id never owned a port, as most connected ids
 *        (lock: rca_id.op; owned; not cleared once set)
 * @listener: listening ids: the listener (lock: rca_id.op; owned)
 * @waiting: listening ids: number of requests that wait to be read (atomic)
 * @backlog: listening ids: limit of @waiting (immutable while listening)
 * @members: multicast groups that the id has joined (lock: rca_id.op)
 * @memberships: number of @members, including those being joined or left (atomic)
 * @user_events: number of user events that wait to be read (atomic)
 * @defaults: RoCE: the program's defaults for ports, or NULL (lock: rca_id.op; owned)
 * @timing: timer settings (each member is read and written atomically, without a lock)
 * @tos: type of service (lock: rca_id.op)
 * @tos_set: @tos was set (lock: rca_id.op)
 * @gid_type: RoCE: requested enum ib_uverbs_gid_type, or 0 (lock: rca_id.op)
 * @trunk: enum rdma_cm_alt_trunk (lock: rca_id.op)
 * @ack_timeout: acknowledgement timeout of the local QP (lock: rca_id.op; callbacks read it
 *               without)
 * @ack_timeout_set: @ack_timeout was set (lock: rca_id.op; callbacks read it without)
 *
 * Allocated on first use and kept until the id is freed.
 */
struct rca_opts {
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
	u8 trunk;
	u8 ack_timeout;
	bool ack_timeout_set;
};

/**
 * struct rca_peer_qp - entry of an id in the index of the peers' QPs: see peer_qp.c
 * @node: entry in the index (lock: peer_qps_lock)
 * @ca_guid: CA GUID of the peer (lock: peer_qps_lock, and not changed while @listed)
 * @qp_num: its QP number (likewise)
 * @listed: the id is in the index (lock: peer_qps_lock; also read without)
 * @stale: the peer has lost the connection, and the work of the id must destroy the lower cm_id
 *         (set with rca_id.lock held, cleared with rca_id.op held)
 */
struct rca_peer_qp {
	struct rhash_head node;
	__be64 ca_guid;
	u32 qp_num;
	bool listed;
	bool stale;
};

#endif /* RCA_ID_TYPES_H */
