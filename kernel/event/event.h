/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Events, and where they go. This is all that the folders above see, but for the front ends, which
 * read queues: see event/queue.h.
 */
#ifndef RCA_EVENT_EVENT_H
#define RCA_EVENT_EVENT_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <rdma/rdma_cm_alt.h>

#include "ctx/ctx.h"
#include "lib/types.h"

struct rca_queue;

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
void rca_event_free(struct rca_event *ev);

void rca_post(struct rca_source *src, struct rca_event *ev);
void rca_post_part(struct rca_source *src, struct rca_event_count *event_count,
		   struct rca_event *ev);
bool rca_post_notice(struct rca_source *src, u32 type, int status);

void rca_source_init(struct rca_source *src, struct rca_obj *owner, spinlock_t *lock, u64 cookie);
int rca_source_attach(struct rca_source *src, struct rca_queue *queue);
void rca_source_set_cookie(struct rca_source *src, u64 cookie);
void rca_source_reap(struct rca_source *src);
bool rca_source_has_file(struct rca_source *src);
u32 rca_source_detach(struct rca_source *src, struct list_head *requests);
u32 rca_source_drop(struct rca_source *src, struct rca_event_count *event_count);

struct rca_queue *rca_queue_get(struct rca_queue *queue);
void rca_queue_put(struct rca_queue *queue);
struct rca_obj *rca_queue_next_owner(struct rca_queue *queue);

#endif
