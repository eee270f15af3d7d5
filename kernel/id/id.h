/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The id. */
#ifndef RCA_ID_ID_H
#define RCA_ID_ID_H

#include <linux/err.h>
#include <linux/etherdevice.h>
#include <linux/limits.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/rhashtable-types.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <rdma/ib_cm.h>
#include <rdma/ib_sa.h>

#include "ctx/ctx.h"
#include "event/event.h"
#include "lib/compat.h"
#include "lib/fsm.h"
#include "lib/sockaddr.h"
#include "lib/timing.h"
#include "lib/types.h"
#include "net/net.h"
#include "transport/transport.h"

struct net;
struct rca_id;
struct rca_party;
struct rca_resolve;
struct rca_route_query;
struct rca_service_query;
struct rca_services;

/* The parts of an id that it does not always have, so that thousands of idle ones cost little. */

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
 * Reasons that follow from the device or the type of the QP have no value, see rca_lower_why().
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
 * struct rca_ticket - the ticket of a message at a gate, see pacing.c
 * @id: the id, whose work is queued when a place is granted (immutable)
 * @gate: the gate, or NULL before the first message (lock: rca_id.op; the setup of an id has a
 *        reference on the window of &rca_setup.slot)
 * @user: the user at the gate, while the ticket waits or has a place of a port (lock: that of
 *        @gate, as for the members below)
 * @context: the context of @user, while the ticket waits
 * @node: entry in &rca_party.tickets of @context
 * @since: when the place was taken, in jiffies
 * @epoch: epoch of @gate in which the place was taken
 * @state: nothing, waits, granted or taken (also read without the lock)
 * @hash: a hash of the user (written before @gate)
 * @silent: at a port: the peer did not answer when the ticket was used
 * @first: likewise: no other message of the user to the peer was unanswered
 * @returns: how often the message was withdrawn
 */
struct rca_ticket {
	struct rca_id *id;
	struct rca_gate *gate;
	struct rca_party *user;
	struct rca_party *context;
	struct list_head node;
	unsigned long since;
	u32 epoch;
	u8 state;
	u8 hash;
	bool silent;
	bool first;
	u8 returns;
};

/**
 * struct rca_retry - a connection request that may have to be retransmitted
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
 * struct rca_pending_connect - a connection request that waits for the route, then for TCP
 * @cred: credentials of the program (holds a reference)
 * @tries: number of retries
 * @id: the id, while TCP connects (holds a reference)
 * @lower: cm_id of the id, while TCP connects
 * @tp: transport of @lower
 * @work: runs when TCP has connected; the work of the id may be cancelled
 * @conn: parameters of the request; its private data is @data
 * @data: private data
 */
struct rca_pending_connect {
	const struct cred *cred;
	unsigned int tries;
	struct rca_id *id;
	void *lower;
	const struct rca_tp_ops *tp;
	struct work_struct work;
	struct rca_tp_conn conn;
	u8 data[];
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
 * @resolve: the address resolution that waits, or NULL (lock: rca_id.op; owned)
 * @query: the pending path query, or NULL (lock: rca_id.op; holds a reference)
 * @service_query: the pending query for service records, or NULL (lock: rca_id.op; holds a
 *                 reference)
 * @services: service records that were found, or NULL (lock: rca_id.op; owned)
 * @connect: the request that is sent when the route is resolved, or NULL (lock: rca_id.op; owned)
 * @slot: ticket at the send window of the peer
 * @place: ticket at the port, on kernels that limit its messages
 * @timer: queues the work of the id; holds a reference on the id while pending
 * @drep_deadline: end of the wait for the DREP, in jiffies (lock: rca_id.op)
 * @has_path: the id has a path (lock: rca_id.op)
 * @path_given: the program has set it, see RDMA_OPTION_IB_PATH (lock: rca_id.op)
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
	struct rca_pending_connect *connect;
	struct rca_ticket slot;
	struct rca_ticket place;
	struct timer_list timer;
	unsigned long drep_deadline;
	u32 path_version;
	bool has_path;
	bool path_given;
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

/* The id: its members, its locks, and the only function that changes its state. */

/**
 * DOC: Locking
 *
 * In the order in which they are taken:
 *
 * ======================== ========= ============================= ==================
 * lock                     kind      protects                      taken in
 * ======================== ========= ============================= ==================
 * RTNL                     mutex     multicast groups of network   workers; with no
 *                                    devices                       lock but turn held
 * rca_id.op                mutex     operations of user space on   process; never in
 *                                    an id; its device, lower      a callback
 *                                    cm_id and resolved path
 * rca_lane.turn            mutex     calls of a user that take     workers only
 *                                    the locks below, or RTNL
 * rca_listen_net.mutex     mutex     the wildcard listeners of a   process; never in
 *                                    network namespace; which      a callback
 *                                    devices its listeners are on
 * rca_device.demux_mutex   mutex     the service IDs that we hold  process; never in
 *                                    on a device                   a callback
 * rca_queue.reading        mutex     turns of readers; held over   process; with no
 *                                    copies to user memory         other lock held
 * rca_queue.consume        mutex     the end of a delivery, moves  process
 *                                    and drops of events; of two
 *                                    queues: by address
 * peer_qps_lock            spinlock  the index of ids by the QP    process; with no
 *                                    of their peers                spinlock held
 * watch bucket             spinlock  one bucket of the ids by      process; with no
 *                                    network device or neighbour   spinlock held
 * rca_id.lock              spinlock  state, posting of events      any, irqs off
 * rca_queue.lock           spinlock  the lists of a queue          any, irqs off
 * rca_device.lock          spinlock  the ids of a device           any, irqs off
 * devices_lock             spinlock  the list of devices           any, irqs off
 * port bucket              spinlock  one bucket of a port table    process
 * neighbour waits          spinlock  waits for neighbours          process, softirq
 * users_lock               spinlock  the table of users            any, irqs off
 * lock of ctxs             spinlock  the xarray of contexts        any, irqs off
 * lock of shared_handles   spinlock  handles that are unique over  any, irqs off
 *                                    contexts
 * rca_ctx.queues_lock      spinlock  the queues of a context that  process
 *                                    have a file
 * rca_reports.lock         spinlock  failure log of a namespace,   any, irqs off
 *                                    notifications to be sent
 * ======================== ========= ============================= ==================
 *
 * Callbacks of transports take rca_id.lock and the locks after it, and RCU.
 * Only mutexes that no callback takes are held over rca_tp_ops.destroy() and
 * unlisten(). lockdep_prime() in main.c takes the locks of an id and its
 * queue once in this order, so that lockdep knows it from the start.
 */

/*
 * Allocation flags of transport callbacks, and under locks that users share. The workqueues of
 * callbacks are shared, too: an allocation charged to a memory cgroup beyond memory.high or at
 * memory.max must not delay other users by reclaim or sleep.
 */
#define RCA_GFP_CALLBACK (GFP_NOWAIT | __GFP_ACCOUNT | __GFP_NOWARN)

/*
 * Limit of unread user events of an id, about a megabyte, so that a program that posts and never
 * reads cannot exhaust memory.
 */
#define RCA_MAX_USER_EVENTS 1024

/*
 * Limit of multicast memberships of an id: join and leave search those of the network device with
 * RTNL held, and the events of the id with interrupts off.
 */
#define RCA_MAX_MEMBERSHIPS 1024

/**
 * struct rca_link - result of address resolution
 * @dmac: RoCE: hardware address of the next hop
 * @smac: RoCE: local hardware address
 * @hoplimit: hop limit of the route
 * @network: enum rdma_network_type of the route; other than RDMA_NETWORK_IB if it has a gateway
 * @ib: the port is InfiniBand; only then @pkey is valid
 * @pkey: InfiniBand: partition key
 * @dgid: InfiniBand, and ids that a connection request over RoCE created: GID of the peer
 * @ifindex: network device, or 0
 */
struct rca_link {
	u8 dmac[ETH_ALEN];
	u8 smac[ETH_ALEN];
	u8 hoplimit;
	u8 network : 7;
	u8 ib : 1;
	u16 pkey;
	u8 dgid[sizeof(union ib_gid)];
	int ifindex;
};

/**
 * struct rca_id - a communication identifier
 * @obj: reference count, handle, context
 * @src: event source
 * @lock: state lock: protects @state and posting of events; the only lock of an id that transport
 *        callbacks take
 * @state: changed only by rca_id_step_locked() (lock: @lock)
 * @peer_gone: the peer aborted the request before it was accepted (lock: @lock)
 * @qp_type: type of the QP (immutable)
 * @quiet: passive side: post no ESTABLISHED event (lock: @op and @lock to change it, @lock to read)
 * @reuse: option REUSEADDR (lock: @op)
 * @afonly: option AFONLY (lock: @op)
 * @afonly_set: @afonly was set by the program (lock: @op)
 * @repeat: DREQ retransmission interval is 2^n ms, see rca_timing_repeat() (as @quiet)
 * @ps: port space (immutable)
 * @watch: which network changes the id watches for, and its place in the table of neighbours, see
 *         id_watch.c (lock: @op; also read without)
 * @port_num: port of @dev, or 0 (as @dev); devices with more ports than fit are refused
 * @before: the state before @state (lock: @lock)
 * @borrowed: the memory of the id is charged to no memory cgroup, see rca_account_borrow() (set
 *            before it is published)
 * @no_trunk: enum rca_no_trunk: why @lower was not made over a trunk, if it was not (lock: @op)
 * @op: serialises operations; protects @dev, @lower and the members below, except for the port
 *      table's part of a bind
 * @net: network namespace; NULL once the destroyed id only waits for its peer (changed with @op and
 *       @lock held; read with either of them or RCU; holds a reference)
 * @local: local address as far as it is known (lock: @op; immutable in a child)
 * @dst: address of the peer (lock: @op; immutable in a child)
 * @dev: device (lock: @op and @lock to change it, one of them to read; holds a reference)
 * @dev_node: entry in &rca_device.ids (lock: rca_device.lock)
 * @sgid_attr: local GID (as @dev; holds a reference)
 * @lower: cm_id of the transport, or NULL (lock: @op; also read without, see rca_id_numbers();
 *         owned)
 * @tp: transport of @lower: that of @dev, or that of trunks (as @lower; valid with a device)
 * @link: result of address resolution (lock: @op; also @lock once the id is in a table)
 * @watch_node: entry in the table of neighbours
 * @peer_qp: entry in the index of the peers' QPs
 * @reserved: record for the event of the pending operation (lock: @lock; owned)
 * @psn: connections: starting PSN of the local receive queue (immutable)
 * @qkey: datagrams: settled queue key, or 0, see rca_qkey_settle_locked() (lock: @lock)
 * @since: start of the phase that is being measured, see rca_stats_step() (lock: @lock)
 * @opts: option state, or NULL, see rca_id_opts() (set once; owned)
 * @setup: connection state, or NULL while connected (lock: @op and @lock to change it, one of them
 *         or RCU to read; owned)
 * @work: background work: destroys the lower cm_id, retransmits the request or handles a timeout;
 *        holds a reference while queued (on rca_id_wq())
 * @rcu: frees the id after lockless lookups; shares memory with @dev_node, because a freed id has
 *       no device
 *
 * Members that an idle connection does not need belong into @opts or @setup.
 */
struct rca_id {
	struct rca_obj obj;
	struct rca_source src;
	spinlock_t lock;
	u8 state;
	bool peer_gone;
	u8 qp_type;
	u8 quiet : 1;
	u8 reuse : 1;
	u8 afonly : 1;
	u8 afonly_set : 1;
	u8 repeat : 4;
	u16 ps;
	u16 watch;
	u16 port_num;
	u8 before;
	u8 borrowed : 1;
	u8 no_trunk : 7;
	struct mutex op;
	struct net *net;
	union rca_addr local;
	union rca_addr dst;
	struct rca_device *dev;
	union {
		struct list_head dev_node;
		struct rcu_head rcu;
	};
	const struct ib_gid_attr *sgid_attr;
	void *lower;
	const struct rca_tp_ops *tp;
	struct rca_link link;
	union {
		u32 psn;
		u32 qkey;
	};
	struct hlist_node watch_node;
	struct rca_peer_qp peer_qp;
	struct rca_event *reserved;
	ktime_t since;
	struct rca_opts *opts;
	struct rca_setup *setup;
	struct work_struct work;
};

/* Returns the id of an object of kind RCA_KIND_ID. */
static inline struct rca_id *rca_id_of(struct rca_obj *obj)
{
	return container_of(obj, struct rca_id, obj);
}

/**
 * rca_id_lookup() - find an id by its handle
 * @ctx: context
 * @handle: handle
 *
 * Context: Any context.
 * Return: the id with a reference, -ENOENT, or -EINVAL if @handle is not that of an id.
 */
static inline struct rca_id *rca_id_lookup(struct rca_ctx *ctx, u32 handle)
{
	struct rca_obj *obj = rca_obj_lookup(ctx, handle, RCA_KIND_ID);

	return IS_ERR(obj) ? ERR_CAST(obj) : rca_id_of(obj);
}

/* Takes another reference. Any context. */
static inline struct rca_id *rca_id_get(struct rca_id *id)
{
	rca_obj_get(&id->obj);
	return id;
}

/* Puts a reference. Any context. */
static inline void rca_id_put(struct rca_id *id)
{
	rca_obj_put(&id->obj);
}

/*
 * Returns the current state; it may change at once unless rca_id.lock is held. Pairs with
 * WRITE_ONCE() in rca_id_step_locked().
 */
static inline enum rca_state rca_id_state(const struct rca_id *id)
{
	return READ_ONCE(id->state);
}

/* The workqueue for work of an id. */
static inline struct workqueue_struct *rca_id_wq(const struct rca_id *id)
{
	return rca_account_wq(&id->obj.ctx->account);
}

extern const struct rca_opts rca_no_opts;

/**
 * rca_id_opts() - get the option state of an id for reading
 * @id: the id
 *
 * Return: the option state, or one with no option set.
 */
static inline const struct rca_opts *rca_id_opts(const struct rca_id *id)
{
	/* Pairs with cmpxchg_release() in rca_id_need_opts(). */
	const struct rca_opts *opts = smp_load_acquire(&id->opts);

	return opts ?: &rca_no_opts;
}

int rca_id_cache_init(work_func_t work);
void rca_ids_exit(void);

/* Creation and references */
struct rca_id *rca_id_create(struct rca_ctx *ctx, struct rca_queue *queue, u16 ps, u8 qp_type,
			     u64 cookie);
struct rca_id *rca_id_create_child(struct rca_id *listener);
void rca_id_leave_netns(struct rca_id *id);
void rca_id_publish(struct rca_id *id);
void rca_id_free_unpublished(struct rca_id *id);

/* State */
struct rca_step rca_id_step(struct rca_id *id, enum rca_input input);
struct rca_step rca_id_step_locked(struct rca_id *id, enum rca_input input);
int rca_id_may(struct rca_id *id, enum rca_input input);

/* Events */
struct rca_event *rca_id_new_event(struct rca_id *id, gfp_t gfp);
int rca_id_reserve_event(struct rca_id *id);
int rca_id_reserve_answer(struct rca_id *id);
void rca_id_unreserve_event(struct rca_id *id);
struct rca_event *rca_id_event(struct rca_id *id);
void rca_id_post_locked(struct rca_id *id, struct rca_event *ev, u32 type, int status);
struct rca_step rca_id_step_post(struct rca_id *id, enum rca_input input, struct rca_event *ev,
				 int status);
struct rca_step rca_id_step_post_reserved(struct rca_id *id, enum rca_input input, int status);
struct rca_step rca_id_step_post_locked(struct rca_id *id, enum rca_input input,
					struct rca_event **ev, int status);
void rca_id_report_event_locked(struct rca_id *id, u32 type, int status,
				const union rca_addr *peer, const struct rca_id *conn);
void rca_id_report_op(struct rca_id *id, const char *op, int ret);
void rca_id_report_op_on(struct rca_id *id, const char *op, int ret, const union rca_addr *local,
			 const union rca_addr *peer);
void rca_id_report_own_op(struct rca_id *id, const char *op, int ret);
void rca_id_report_refused(struct rca_id *listener, const union rca_addr *peer, int ret);
void rca_id_post_net_locked(struct rca_id *id, u32 type);
int rca_id_post_user(struct rca_id *id, u32 type, int status, u64 arg);
void rca_event_set_conn(struct rca_event *ev, const struct rca_tp_conn *conn);
void rca_event_set_ud(struct rca_event *ev, const struct rca_tp_conn *conn);

/* Device and address */
int rca_id_attach(struct rca_id *id, struct rca_device *dev, u32 port_num,
		  const struct ib_gid_attr *sgid_attr);
void rca_id_detach(struct rca_id *id);
int rca_id_bind(struct rca_id *id, const union rca_addr *addr);
void rca_id_unbind(struct rca_id *id);
bool rca_id_bound(const struct rca_id *id);
void rca_id_numbers(const struct rca_id *id, struct rca_tp_numbers *out);
void rca_id_drop_lower(struct rca_id *id);
void rca_id_fill_route(struct rca_id *id, struct rdma_cm_alt_route *route);
void rca_id_fill_route_locked(const struct rca_id *id, struct rdma_cm_alt_route *route);
int rca_id_set_gid_type(struct rca_id *id, u8 type);
int rca_id_set_port_defaults(struct rca_id *id, const void *val, u32 len);
enum ib_gid_type rca_id_gid_type(const struct rca_id *id, const struct rca_device *dev, u32 port);
u8 rca_id_tos(const struct rca_id *id);

/* Option state and connection state */
struct rca_timing rca_id_timing(const struct rca_id *id);
struct rca_opts *rca_id_need_opts(struct rca_id *id, gfp_t gfp);
bool rca_id_need_setup(struct rca_id *id);
int rca_id_set_paths(struct rca_id *id, const struct sa_path_rec *path,
		     const struct sa_path_rec *in, const struct sa_path_rec *out);
void rca_id_set_path(struct rca_id *id, const struct sa_path_rec *path);
void rca_setup_drop_request(struct rca_setup *setup);
void rca_id_drop_setup(struct rca_id *id);
void rca_id_free_connect(struct rca_pending_connect *pending);

/* Work */
void rca_id_queue_work(struct rca_id *id);
void rca_id_timer_fn(struct timer_list *timer);
void rca_id_queue_work_at(struct rca_id *id, unsigned long delay);
void rca_id_queue_work_later(struct rca_id *id, unsigned long delay);
void rca_id_cancel_work(struct rca_id *id);

/* Network */
int rca_netwatch_init(void);
void rca_id_watch_netdev(struct rca_id *id);
void rca_id_watch_peer(struct rca_id *id);
void rca_id_unwatch(struct rca_id *id);

/* Index of the peers' QPs, to find connections that their peers have lost. */

int rca_peer_qps_init(void);
void rca_peer_qps_exit(void);
bool rca_peer_qp_claim(struct rca_id *id, __be64 ca_guid, u32 qp_num);
void rca_peer_qp_release(struct rca_id *id);

/* Pacing: how many messages wait for an answer at a time, and who sends next. */

/** RCA_WINDOW_SIZE - most unanswered messages from a port to an address */
#define RCA_WINDOW_SIZE 256

/*
 * How many CM requests, and how many queries of the subnet administrator, ib_mad keeps outstanding
 * on a port for all users together; 0: any number.
 */
#if IS_ENABLED(CONFIG_RDMA_CM_ALT_KUNIT)
/* Unit tests change it. */
extern unsigned int rca_places;
#else
#define rca_places RCA_PORT_PLACES
#endif

/**
 * enum rca_ticket_flags - how a place is taken
 * @RCA_TICKET_SILENT: the peer has not answered lately
 * @RCA_TICKET_FIRST: no other message of the user to the peer is outstanding
 * @RCA_TICKET_NOWAIT: the place is counted, even if it is beyond the limit
 */
enum rca_ticket_flags {
	RCA_TICKET_SILENT = 1,
	RCA_TICKET_FIRST = 2,
	RCA_TICKET_NOWAIT = 4,
};

/* Returns the places of the device that an id is on; NULL if there is no limit. */
static inline struct rca_device_places *rca_places_of(const struct rca_id *id)
{
	return rca_places ? id->dev->places : NULL;
}

bool rca_gate_take(struct rca_gate *gate, struct rca_ticket *ticket, unsigned int how);
void rca_gate_give(struct rca_ticket *ticket, bool answered);
long rca_gate_hold(const struct rca_ticket *ticket);
bool rca_gate_yield(struct rca_ticket *ticket, const struct rca_gate *peer);

int rca_windows_init(void);
void rca_windows_exit(void);
bool rca_place_begin(struct rca_id *id, unsigned int how);
bool rca_window_begin(struct rca_id *id);
bool rca_window_granted(const struct rca_id *id);
unsigned int rca_window_unanswered(const struct rca_id *id);
bool rca_window_silent(const struct rca_id *id);
void rca_window_end(struct rca_id *id, bool answered);
void rca_window_release(struct rca_id *id);

/* Timer settings of a network namespace. */

int rca_timing_net_init(void);
void rca_timing_net_exit(void);
u32 rca_timing_net_path_cache_s(const struct net *net);
void rca_timing_net_fill(struct rca_timing *timing, const struct net *net);

#endif
