/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The id: its members, its locks, and the only function that changes its state. */
#ifndef RCA_ID_H
#define RCA_ID_H

#include <linux/etherdevice.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/ib_cm.h>
#include <rdma/ib_sa.h>

#include "ctx/objects.h"
#include "event/events.h"
#include "id/id_types.h"
#include "ip/ports.h"
#include "lib/fsm.h"
#include "lib/sockaddr.h"
#include "lib/types.h"

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
 * rca_ctx.queues_lock      spinlock  the queues of a context that  process
 *                                    have a file
 * log_net.lock             spinlock  failure log of a namespace    any, irqs off
 * monitor_lock             spinlock  notifications to be sent      any, irqs off
 * ======================== ========= ============================= ==================
 *
 * Callbacks of transports take rca_id.lock and the locks after it, and RCU.
 * Only mutexes that no callback takes are held over rca_tp_ops.destroy() and
 * unlisten(). lockdep_prime() in id_create.c takes the locks of an id and its
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
 * @watch: which network changes the id watches for, and its hash bucket, see id_watch.c (lock: @op
 *         and that of the bucket to change it, one of them to read)
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
 * @watch_node: entry in the bucket of watching ids (lock: that of the bucket)
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

int rca_ids_init(void);
void rca_ids_exit(void);

/* Creation and references */
struct rca_id *rca_id_create(struct rca_ctx *ctx, struct rca_queue *queue, u16 ps, u8 qp_type,
			     u64 cookie);
struct rca_id *rca_id_create_child(struct rca_id *listener);
void rca_id_leave_netns(struct rca_id *id);
void rca_id_publish(struct rca_id *id);
void rca_id_free_unpublished(struct rca_id *id);
struct rca_id *rca_id_lookup(struct rca_ctx *ctx, u32 handle);
struct rca_id *rca_id_get(struct rca_id *id);
void rca_id_put(struct rca_id *id);

/* State */
struct rca_step rca_id_step(struct rca_id *id, enum rca_input input);
struct rca_step rca_id_step_locked(struct rca_id *id, enum rca_input input);
struct rca_step rca_id_peek(struct rca_id *id, enum rca_input input);
int rca_id_may(struct rca_id *id, enum rca_input input);
enum rca_state rca_id_state(struct rca_id *id);

/* Events */
struct rca_event *rca_id_new_event(struct rca_id *id);
int rca_id_reserve_event(struct rca_id *id);
int rca_id_reserve_answer(struct rca_id *id);
void rca_id_unreserve_event(struct rca_id *id);
struct rca_event *rca_id_event(struct rca_id *id);
void rca_id_post_locked(struct rca_id *id, struct rca_event *ev, u32 type, int status);
void rca_id_post_request_locked(struct rca_id *listener, struct rca_event *ev);
struct rca_step rca_id_step_post(struct rca_id *id, enum rca_input input, struct rca_event *ev,
				 int status);
struct rca_step rca_id_step_post_reserved(struct rca_id *id, enum rca_input input, int status);
struct rca_step rca_id_step_post_locked(struct rca_id *id, enum rca_input input,
					struct rca_event **ev, int status);
void rca_id_report_event_locked(struct rca_id *id, u32 type, int status);
void rca_id_report_request_locked(struct rca_id *listener, const struct rca_id *child);
void rca_id_report_event_on_locked(struct rca_id *id, u32 type, int status,
				   const union rca_addr *peer);
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
bool rca_id_dgid(const struct rca_id *id, union ib_gid *dgid);
void rca_id_fill_route_locked(struct rca_id *id, struct rdma_cm_alt_route *route);
int rca_id_set_gid_type(struct rca_id *id, u8 type);
int rca_id_set_port_defaults(struct rca_id *id, const void *val, u32 len);
enum ib_gid_type rca_id_gid_type(const struct rca_id *id, const struct rca_device *dev, u32 port);
u8 rca_id_tos(const struct rca_id *id);

/* Option state and connection state */
struct rca_timing rca_id_timing(const struct rca_id *id);
int rca_id_inherit_timing(struct rca_id *child, const struct rca_id *listener);
struct rca_opts *rca_id_need_opts(struct rca_id *id, gfp_t gfp);
void rca_id_free_opts(struct rca_id *id);
struct rca_setup *rca_id_make_setup(struct rca_id *id, gfp_t gfp);
bool rca_id_need_setup(struct rca_id *id);
int rca_id_set_paths(struct rca_id *id, const struct sa_path_rec *path,
		     const struct sa_path_rec *in, const struct sa_path_rec *out);
void rca_id_set_path(struct rca_id *id, const struct sa_path_rec *path);
void rca_id_drop_request(struct rca_id *id);
void rca_id_drop_setup(struct rca_id *id);
void rca_id_free_setup(struct rca_id *id);

/* Work */
unsigned long rca_id_linger(const struct rca_id *id);
bool rca_id_send_dreq(struct rca_id *id);
bool rca_id_dreq_is_due(struct rca_id *id);
void rca_id_disconnect(struct rca_id *id);
void rca_id_work(struct work_struct *work);
void rca_id_queue_work(struct rca_id *id);
void rca_id_timer_fn(struct timer_list *timer);
void rca_id_queue_work_at(struct rca_id *id, unsigned long delay);
void rca_id_queue_work_later(struct rca_id *id, unsigned long delay);
void rca_id_cancel_work(struct rca_id *id);

/* Network */
void rca_watch_init(void);
int rca_netwatch_init(void);
void rca_netwatch_exit(void);
void rca_id_watch_netdev(struct rca_id *id);
void rca_id_watch_peer(struct rca_id *id);
void rca_id_unwatch(struct rca_id *id);

#endif /* RCA_ID_H */
