/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Events and reports, and where they go. This is all that the folders above see, but for the front
 * ends, which read queues: see event/queue.h.
 */
#ifndef RCA_EVENT_EVENT_H
#define RCA_EVENT_EVENT_H

#include <linux/atomic.h>
#include <linux/build_bug.h>
#include <linux/list.h>
#include <linux/ratelimit_types.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/uidgid.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm_alt.h>

#include "ctx/ctx.h"
#include "lib/sockaddr.h"
#include "lib/types.h"

struct genl_family;
struct net;
struct pid;
struct sk_buff;
struct user_namespace;

/**
 * struct rca_item - an entry of a queue
 * @qnode: entry in &rca_queue.items or .placed; empty if not queued (lock: rca_queue.lock)
 * @snode: entry in &rca_source.items (lock: rca_queue.lock)
 * @place: slot of the record of an event in the ring (lock: rca_queue.lock)
 * @pending: pending event types of the item of a source, as bits; the lowest is delivered first;
 *           0 if not queued (lock: rca_queue.lock)
 * @placed: records in the ring: the types in @pending that have one, or 1 for an event (lock:
 *          rca_queue.lock)
 * @status: status of the events in @pending whose type has one (lock: rca_queue.lock)
 * @in_source: the item is &rca_source.notice, not part of a &struct rca_event (immutable)
 */
struct rca_item {
	struct list_head qnode;
	struct list_head snode;
	union {
		u16 place;
		u16 pending;
	};
	u16 placed;
	s16 status;
	bool in_source;
};

/**
 * struct rca_event_count - counts the events of a part of an id (a multicast membership)
 * @obj: the part; each of its queued events holds a reference (immutable)
 * @reported: number of its events that were delivered (lock: rca_queue.lock)
 */
struct rca_event_count {
	struct rca_obj *obj;
	u32 reported;
};

/**
 * struct rca_event - an event with a record
 * @item: entry in the queue
 * @account: account that is charged, whose context outlives @src; NULL: a notice, which is not
 *           charged (immutable)
 * @src: the source (immutable while queued)
 * @child: connection request: the new id, published when the event is delivered or put into
 *         the ring; else NULL. Holds a reference.
 * @child_src: source of @child, attached to the queue that delivers the event; NULL once the new
 *             id was claimed for destruction before the request was delivered
 * @child_published: @child is published (lock: rca_queue.consume)
 * @is_request: the event is also charged as a waiting connection request
 * @credit: decremented when the event is delivered or dropped; may be NULL; part of the owner of
 *          the source
 * @event_count: the part of the id that the event belongs to; NULL: the id as a whole
 * @rec: the record; delivery sets the cookie, and the id unless @child is set. A notice has memory
 *       for its first RCA_NOTICE_LEN bytes only
 */
struct rca_event {
	struct rca_item item;
	struct rca_account *account;
	struct rca_source *src;
	struct rca_obj *child;
	struct rca_source *child_src;
	bool child_published;
	bool is_request;
	atomic_t *credit;
	struct rca_event_count *event_count;
	struct rdma_cm_alt_event rec;
};

/* Bytes of the record of a notice. */
#define RCA_NOTICE_LEN offsetof(struct rdma_cm_alt_event, qp_num)

/**
 * struct rca_source - the events of an id; part of the id
 * @queue: queue that events are posted to; NULL: events are dropped (lock: rca_source_lock() and
 *         rca_queue.lock; holds a reference)
 * @node: entry in &rca_queue.sources (lock: rca_queue.lock)
 * @items: queued items, in order (lock: rca_queue.lock)
 * @cookie: cookie of the records (lock: rca_queue.lock)
 * @reported: number of events that were delivered (lock: rca_queue.lock)
 * @pending: types of notices that wait to be delivered, as bits (lock: rca_queue.lock)
 * @owner_at: offset of the source in the id, see rca_source_owner() (immutable)
 * @lock_at: offset of the id's lock from the source, see rca_source_lock() (immutable)
 * @notice: item for a notice, which needs no memory
 *
 * Every id has a source; offsets in place of pointers keep it small.
 */
struct rca_source {
	struct rca_queue *queue;
	struct list_head node;
	struct list_head items;
	u64 cookie;
	u32 reported;
	u16 pending;
	s16 owner_at;
	s16 lock_at;
	struct rca_item notice;
};

int rca_events_init(void);
void rca_events_exit(void);

/*
 * Where events go. An operation reserves the record of the event that it will cause, by
 * rca_event_alloc(). Its id posts to the queue that its source is attached to, which never fails.
 * An id that is destroyed drops its waiting events; closing a queue destroys its ids.
 */
struct rca_event *rca_event_alloc(struct rca_ctx *ctx, gfp_t gfp);
void rca_event_release(struct rca_event *ev);

/**
 * rca_event_free() - free an event that is in no queue, and release what it holds
 * @ev: the event, or NULL, as mostly; the caller disposes of its child
 *
 * Context: Any context.
 */
static inline void rca_event_free(struct rca_event *ev)
{
	if (ev)
		rca_event_release(ev);
}

void rca_post(struct rca_source *src, struct rca_event *ev);
void rca_post_part(struct rca_source *src, struct rca_event_count *event_count,
		   struct rca_event *ev);
bool rca_post_notice(struct rca_source *src, u32 type, int status);

void rca_source_init(struct rca_source *src, struct rca_obj *owner, spinlock_t *lock, u64 cookie);
int rca_source_attach(struct rca_source *src, struct rca_queue *queue);
void rca_source_set_cookie_locked(struct rca_source *src, u64 cookie);
void rca_source_reap(struct rca_source *src);
bool rca_source_has_file(struct rca_source *src);
u32 rca_source_detach(struct rca_source *src, struct list_head *requests);
u32 rca_source_drop(struct rca_source *src, struct rca_event_count *event_count);

struct rca_queue *rca_queue_get(struct rca_queue *queue);
void rca_queue_put(struct rca_queue *queue);
struct rca_obj *rca_queue_next_owner(struct rca_queue *queue);

/*
 * Reports of operations and events: notifications of the netlink family, and the failure log of
 * each network namespace.
 */

/** RCA_REPORTS_KEPT - number of failures that a namespace keeps */
#define RCA_REPORTS_KEPT 256

/** RCA_REPORTS_WAIT_MAX - most records of a namespace that wait to be sent */
#define RCA_REPORTS_WAIT_MAX 4096

/** RCA_REPORT_OP_LEN - size of the name of an operation, with the terminating zero */
#define RCA_REPORT_OP_LEN 16

/**
 * struct rca_report - the record of an operation that ended, or of an event
 * @kept: entry in the failure log; empty if not in it (lock: rca_reports.lock)
 * @waiting: entry in the list of records that wait to be sent, or empty (lock: rca_reports.lock)
 * @serial: serial number in the failure log of the namespace, from 1; 0: it is not a failure
 * @at: time of the operation or event, in ns since 1970; in the order of @waiting
 * @ctx: serial number of the context
 * @handle: handle of the id in the context
 * @uid: owner of the context
 * @pid: process that opened the context, or NULL; a reference while the record is in a list,
 *       borrowed otherwise
 * @comm: name of that process when it opened the context
 * @op: name of the operation; empty for an event
 * @event: type of the event
 * @status: 0, a negative errno, or the reason of a reject
 * @state: state of the id afterwards (enum rca_state)
 * @before: the previous state of the id
 * @ps: port space
 * @local: local address, as far as it is known
 * @peer: address of the peer, as far as it is known
 * @dev: name of the device; empty without a device
 * @port: port of the device
 * @sgid: GID of the id on the port; zero without one
 * @numbers: of its connection; of a connection request: those of the new id
 */
struct rca_report {
	struct list_head kept;
	struct list_head waiting;
	u64 serial;
	u64 at;
	u64 ctx;
	u32 handle;
	kuid_t uid;
	struct pid *pid;
	char comm[TASK_COMM_LEN];
	char op[RCA_REPORT_OP_LEN];
	u32 event;
	int status;
	u8 state;
	u8 before;
	u16 ps;
	union rca_addr local;
	union rca_addr peer;
	char dev[IB_DEVICE_NAME_MAX];
	u32 port;
	union ib_gid sgid;
	struct rca_tp_numbers numbers;
};

/* The failure log of a namespace takes at most 128 KiB. */
static_assert(sizeof(struct rca_report) <= 512);

/**
 * struct rca_reports - the records of a namespace
 * @lock: protects the members below but @refusals
 * @net: the namespace (immutable); referenced while @delivering
 * @log: the failures that are kept, the oldest first
 * @count: number of records in @log
 * @serial: serial number of the newest failure
 * @wait: the records that wait to be sent, the oldest first
 * @waits: number of records in @wait, up to RCA_REPORTS_WAIT_MAX
 * @lost: a record could not be sent because too many waited or there was no memory
 * @since: number of records sent since the last report of a loss
 * @delivering: @work is queued or running
 * @work: sends records
 * @refusals: rate limit of refused requests, so that a flood of them does not fill the log
 */
struct rca_reports {
	spinlock_t lock;
	struct net *net;
	struct list_head log;
	unsigned int count;
	u64 serial;
	struct list_head wait;
	unsigned int waits;
	bool lost;
	unsigned int since;
	bool delivering;
	struct work_struct work;
	struct ratelimit_state refusals;
};

int rca_report_init(void);
void rca_report_exit(void);
void rca_reports_send_to(const struct genl_family *to);
bool rca_reports_wanted(struct net *net);
struct rca_reports *rca_reports_of(struct net *net);
void rca_report(struct rca_reports *reports, struct rca_report *report, bool keep);
bool rca_reports_ratelimit(struct net *net);
bool rca_reports_next(struct net *net, u64 after, struct rca_report *copy);

/* Attributes of messages of the netlink family */
int rca_nl_put_u64(struct sk_buff *skb, int attr, u64 value);
int rca_nl_put_owner(struct sk_buff *skb, struct user_namespace *userns, kuid_t uid,
		     pid_t pid, const char *comm);
int rca_nl_put_addr(struct sk_buff *skb, int attr, const union rca_addr *addr);
int rca_nl_put_numbers(struct sk_buff *skb, const struct rca_tp_numbers *numbers);
int rca_nl_put_report(struct sk_buff *skb, const struct rca_report *report);

#endif
