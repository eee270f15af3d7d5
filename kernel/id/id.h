/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The id: what it consists of, its locks, and the one function that changes its state. */
#ifndef RCA_ID_H
#define RCA_ID_H

#include <linux/etherdevice.h>
#include <linux/list_nulls.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/ib_cm.h>
#include <rdma/ib_sa.h>

#include "id/id_types.h"
#include "event/events.h"
#include "lib/fsm.h"
#include "handle/objects.h"
#include "port/ports.h"
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
 * RTNL                     mutex     multicast groups of network   process; with no
 *                                    devices                       lock of ours held
 * rca_id.op                mutex     operations of user space on   process; never in
 *                                    an id; its device, lower id   a callback
 *                                    and resolved path
 * listeners_mutex          mutex     the list of wildcard          process; never in
 *                                    listeners; which devices a    a callback
 *                                    listener is on
 * rca_device.demux_mutex   mutex     the service IDs that we hold  process; never in
 *                                    on a device                   a callback
 * rca_queue.consume        mutex     delivery of events; of two    process
 *                                    queues: by address
 * rca_id.lock              spinlock  state, posting of events      any, irqs off
 * rca_queue.lock           spinlock  the lists of a queue          any, irqs off
 * rca_device.lock          spinlock  the ids of a device           any, irqs off
 * devices_lock             spinlock  the list of devices           any, irqs off
 * port bucket              spinlock  one bucket of a port table    process
 * neighbour waits          spinlock  who waits for a neighbour     any, irqs off
 * watch bucket             spinlock  one bucket of the ids by      process; with no
 *                                    network device or neighbour   spinlock held
 * users_lock               spinlock  the table of users            any, irqs off
 * ctxs_lock                spinlock  the list of contexts          any, irqs off
 * rca_ctx.queues_lock      spinlock  the queues of a context that  process
 *                                    have a file
 * log_net.lock             spinlock  what failed in a namespace    any, irqs off
 * monitor_lock             spinlock  what listeners are to hear    any, irqs off
 * ======================== ========= ============================= ==================
 *
 * Callbacks of transports take rca_id.lock and what comes after it, and RCU.
 * No lock is held over rca_tp_ops.destroy() and unlisten() but mutexes that no
 * callback takes. lockdep_prime() in id.c takes those of an id and its queue
 * once in this order, so that lockdep knows it from the start.
 */

/*
 * In callbacks of transports, whose workqueues everybody shares: a user whose
 * memory cgroup is full must not make the others wait for its reclaim.
 */
#define RCA_GFP_CALLBACK (GFP_KERNEL_ACCOUNT | __GFP_NORETRY | __GFP_NOWARN)

/*
 * User events of one id that may wait to be read, about a megabyte: a program
 * that posts and never reads must not fill the memory of the others.
 */
#define RCA_MAX_USER_EVENTS 1024

/*
 * Memberships of one id: to join or leave a group the network device is searched
 * with RTNL held, and the events of the id with interrupts off.
 */
#define RCA_MAX_MEMBERSHIPS 1024

/**
 * struct rca_link - what address resolution found out
 * @dmac: RoCE: hardware address of the next hop
 * @smac: RoCE: our hardware address
 * @hoplimit: of the route
 * @network: enum rdma_network_type of the route; a gateway is used when it is not RDMA_NETWORK_IB
 * @ib: the port is InfiniBand, and these two are known:
 * @pkey: its partition
 * @dgid: GID of the peer
 * @ifindex: network device; 0: none
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
 * @src: its events
 * @lock: the state lock: @state, posting of events; the only lock of an id that
 *        a callback takes
 * @state: changed by rca_id_step() alone (lock: @lock)
 * @peer_gone: the peer gave up before we accepted (lock: @lock)
 * @qp_type: type of its QP (immutable)
 * @quiet: passive: no event tells that it is established (lock: @op and @lock to change it, @lock
 *         to read)
 * @reuse: option REUSEADDR (lock: @op)
 * @afonly: option AFONLY (lock: @op)
 * @afonly_set: it was set (lock: @op)
 * @repeat: a disconnect request is repeated each 2^n ms, see rca_timing_repeat() (as @quiet)
 * @ps: port space (immutable)
 * @watch: what it hears of: its network device, also its neighbour, or nothing, and which bucket it
 *         is in (lock: @op and the bucket's to change it; read without)
 * @port_num: port of @dev, 0: none (as @dev); a device with more ports than it holds is refused
 * @before: the state that it left for @state (lock: @lock)
 * @op: serialises operations; @dev, @lower and all below but @bind's table entry
 * @net: network namespace (immutable; holds a reference)
 * @local: local address as far as it is known (lock: @op; immutable in a child)
 * @dst: address of the peer (lock: @op; immutable in a child)
 * @dev: its device (lock: @op and @lock to change it, one of them to read; holds a reference)
 * @dev_node: in &rca_device.ids (lock: rca_device.lock)
 * @sgid_attr: local GID (as @dev; holds a reference)
 * @lower: the transport's id, NULL: none (lock: @op; owned)
 * @link: what resolution found out (lock: @op, and @lock once it is in a table)
 * @watch_node: in the table of ids that hear of the network (lock: its bucket)
 * @reserved: record for the event of the operation under way (lock: @lock; owned)
 * @psn: not datagrams: starting PSN of our receive queue (immutable)
 * @qkey: datagrams: queue key that user space or a peer was told, 0: none yet (lock: @lock)
 * @since: when that began which is measured, see rca_stats_step() (lock: @lock)
 * @opts: what few ids have, NULL: nothing, see rca_id_opts() (set once; owned)
 * @setup: what it needs to get connected, NULL: it is (lock: @op and @lock to change it, one of
 *         them or RCU to read; owned)
 * @work: destroys the lower id, sends the request again or ends a wait, in the background;
 *        holds a reference while queued (rca_wq)
 * @rcu: for lookups without a lock; in the place of @dev_node, as no device has it then
 *
 * What is not needed while a connection does nothing belongs into the extras or the setup.
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
	struct rca_link link;
	union {
		u32 psn;
		u32 qkey;
	};
	struct hlist_nulls_node watch_node;
	struct rca_event *reserved;
	ktime_t since;
	struct rca_opts *opts;
	struct rca_setup *setup;
	struct work_struct work;
};

/**
 * rca_id_of() - the id that an object is
 * @obj: an object of kind RCA_KIND_ID
 *
 * Return: the id.
 */
static inline struct rca_id *rca_id_of(struct rca_obj *obj)
{
	return container_of(obj, struct rca_id, obj);
}

struct neighbour;
struct net_device;

extern struct workqueue_struct *rca_wq;
extern const struct rca_opts rca_no_opts;

/**
 * rca_id_opts() - the extras of an id, for who reads them
 * @id: the id
 *
 * Return: its extras; ones in which nothing is set when it has none.
 */
static inline const struct rca_opts *rca_id_opts(const struct rca_id *id)
{
	/* Pairs with cmpxchg_release() in rca_id_need_opts(). */
	const struct rca_opts *opts = smp_load_acquire(&id->opts);

	return opts ?: &rca_no_opts;
}


int rca_ids_init(void);
void rca_ids_exit(void);

/* Life */
struct rca_id *rca_id_create(struct rca_ctx *ctx, struct rca_queue *queue, u16 ps, u8 qp_type,
			     u64 cookie);
struct rca_id *rca_id_create_child(struct rca_id *listener);
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
void rca_id_report_event_locked(struct rca_id *id, u32 type, int status);
void rca_id_report_event_on_locked(struct rca_id *id, u32 type, int status,
				   const union rca_addr *peer);
void rca_id_report_op(struct rca_id *id, const char *op, int ret);
void rca_id_report_op_on(struct rca_id *id, const char *op, int ret, const union rca_addr *local,
			 const union rca_addr *peer);
void rca_id_report_own_op(struct rca_id *id, const char *op, int ret);
void rca_id_report_refused(struct rca_id *listener, const union rca_addr *peer, int ret);
#if IS_ENABLED(CONFIG_KUNIT)
const char *rca_id_reason(const struct rca_id *id, u32 event, int reason);
#endif
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
void rca_id_drop_lower(struct rca_id *id);
void rca_id_fill_route(struct rca_id *id, struct rdma_cm_alt_route *route);
void rca_id_fill_route_locked(struct rca_id *id, struct rdma_cm_alt_route *route);
int rca_id_set_gid_type(struct rca_id *id, u8 type);
int rca_id_set_port_defaults(struct rca_id *id, const void *val, u32 len);
enum ib_gid_type rca_id_gid_type(const struct rca_id *id, const struct rca_device *dev, u32 port);
u8 rca_id_tos(const struct rca_id *id);

/* Extras and setup */
struct rca_timing rca_id_timing(const struct rca_id *id);
int rca_id_inherit_timing(struct rca_id *child, const struct rca_id *listener);
struct rca_opts *rca_id_need_opts(struct rca_id *id, gfp_t gfp);
void rca_id_free_opts(struct rca_id *id);
struct rca_setup *rca_id_make_setup(struct rca_id *id, gfp_t gfp);
bool rca_id_need_setup(struct rca_id *id);
void rca_id_drop_path(struct rca_id *id);
void rca_id_drop_setup(struct rca_id *id);
void rca_id_free_setup(struct rca_id *id);

/* Work */
unsigned long rca_id_drep_timeout(const struct rca_id *id);
bool rca_id_send_dreq(struct rca_id *id);
void rca_id_disconnect(struct rca_id *id);
void rca_id_work(struct work_struct *work);
void rca_id_queue_work(struct rca_id *id);
void rca_id_timer_fn(struct timer_list *timer);
void rca_id_queue_work_at(struct rca_id *id, unsigned long delay);
void rca_id_queue_work_later(struct rca_id *id, unsigned long delay);
void rca_id_cancel_work(struct rca_id *id);
bool rca_id_work_pending(const struct rca_id *id);
void rca_id_flush_work(struct rca_id *id);

/* Network */
void rca_watch_init(void);
void rca_id_watch_netdev(struct rca_id *id);
void rca_id_watch_peer(struct rca_id *id);
void rca_id_unwatch(struct rca_id *id);
void rca_id_netdev_changed(const struct net_device *ndev);
void rca_id_neigh_changed(struct neighbour *neigh);

#endif /* RCA_ID_H */
