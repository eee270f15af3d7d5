/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Queues of events: posting, delivering without losing one, moving and dropping those of an id. */
#ifndef RCA_EVENTS_H
#define RCA_EVENTS_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/poll.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <rdma/rdma_cm_alt.h>

#include "handle/objects.h"
#include "event/ring.h"
#include "lib/types.h"

/**
 * DOC: Delivery
 *
 * An event is an item of one queue and of one source (its id). It stays on
 * both lists until its record was copied to user space: a reader holds
 * &rca_queue.consume while it peeks, copies and consumes. Dropping and moving
 * items takes that mutex too, so a record that is being copied does not
 * disappear, and the count of delivered events that destroy and move return is
 * exact.
 *
 * Events that an operation causes have a &struct rca_event that was allocated
 * by the operation. Events that come by themselves (disconnected, removal, ...)
 * are *notices*: bits of the source, which need no memory.
 *
 * While user space has the queue's ring mapped, records of the items that are next
 * lie there as well, put in by whoever posts, polls or reads. The items stay what
 * they are until the head is behind their records: then they are *reaped*, by
 * the next one who comes by, and count as delivered. An item that is dropped or
 * moved meanwhile takes its records back (&rca_item.placed). A connection request
 * is put in only by those who hold the consume mutex, as its new id is published
 * before. Nothing is put in while somebody sleeps in read(): what comes is theirs.
 *
 * Lock order: &rca_queue.consume (of two queues: by address), the source's
 * spinlock (rca_source_lock()), &rca_queue.lock.
 */

/**
 * struct rca_item - what stands in a queue
 * @qnode: in &rca_queue.items or .placed (lock: rca_queue.lock); empty: not queued
 * @snode: in &rca_source.items (lock: rca_queue.lock)
 * @place: of an event that has a record in the ring: where (lock: rca_queue.lock)
 * @pending: of a notice: bit n: event type n waits; the lowest is delivered first; 0: not queued
 *           (lock: rca_queue.lock)
 * @placed: has a record in the ring: of a notice the types that have, of an
 *          event 1 (lock: rca_queue.lock)
 * @status: of a notice: status of those pending events that have one, see
 *          rca_notice_has_status() (lock: rca_queue.lock)
 * @is_notice: a *notice*, events that need no memory, else part of a &struct rca_event (immutable)
 * @slot: of a notice: which one of its source it is (immutable)
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
	bool is_notice;
	u8 slot;
};

/**
 * struct rca_event_count - counts the events of a part of an id: of a membership
 * @obj: the part; each of its events in a queue holds a reference (immutable)
 * @reported: its events that were delivered (lock: rca_queue.lock)
 */
struct rca_event_count {
	struct rca_obj *obj;
	u32 reported;
};

/**
 * struct rca_event - an event with a record
 * @item: place in the queue
 * @account: what it is charged to (immutable); its context lives as long as @src
 * @src: the source (immutable while queued)
 * @child: connection request: the new id, which is published when the event is
 *         delivered, or put into the ring; else NULL. Holds a reference.
 * @child_src: connection request: the source of @child, if it has no queue yet; it is
 *             attached to the queue that delivers the event; else NULL
 * @child_published: @child is published (lock: rca_queue.consume)
 * @is_request: it is charged as a request that waits, too
 * @credit: decremented when the event is delivered or dropped; may be NULL;
 *          lives in the source's owner
 * @event_count: the part of the id that it is about; NULL: the id as a whole
 * @rec: the record; cookie and id are filled in at delivery unless @child is set
 *       (then only the cookie is)
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

/** enum rca_notice_slot - the notices of a source: connection and device */
enum rca_notice_slot {
	RCA_NOTICE_CONN,
	RCA_NOTICE_DEVICE,
	RCA_NOTICE_SLOTS,
};

/**
 * struct rca_source - where the events of an id come from; lives in the id
 * @queue: where events go; NULL: dropped (lock: rca_source_lock() and rca_queue.lock; holds a
 *         reference)
 * @node: in &rca_queue.sources (lock: rca_queue.lock)
 * @items: its items, in order (lock: rca_queue.lock)
 * @cookie: stamped on records (lock: rca_queue.lock)
 * @reported: events that were delivered (lock: rca_queue.lock)
 * @owner_at: how far before it the id is, in bytes: see rca_source_owner() (immutable)
 * @lock_at: how far behind it the id's lock is, in bytes: see rca_source_lock() (immutable)
 * @notice: events without memory of their own
 *
 * Each id has one, so it has no pointers to what is near.
 */
struct rca_source {
	struct rca_queue *queue;
	struct list_head node;
	struct list_head items;
	u64 cookie;
	u32 reported;
	s16 owner_at;
	s16 lock_at;
	struct rca_item notice[RCA_NOTICE_SLOTS];
};

/**
 * struct rca_queue - an event queue
 * @ref: references: its file, each source
 * @ctx: its context (immutable; holds a reference)
 * @node: with a file: in &rca_ctx.queues (lock: rca_ctx.queues_lock)
 * @serial: with a file: its number in the context, from 1 (immutable)
 * @netns: cookie of the network namespace of the process that made it, which no other one ever
 *         has (immutable)
 * @consume: serialises delivery, dropping and moving; held over copies to user space
 * @lock: protects the lists; taken after a source's lock
 * @items: undelivered items, in order (lock: @lock)
 * @placed: undelivered items before those, all of which lies in the ring (lock: @lock)
 * @sources: the sources that post here (lock: @lock)
 * @wait: readers and pollers
 * @record_size: bytes per record for read() (immutable)
 * @ring_entries: records in the ring; 0: it can have none (immutable once it has a file)
 * @ring: made when it is mapped for the first time; NULL: not yet (lock: @lock)
 * @readers: threads that wait in read() (lock: @lock)
 * @held: the first of @items is being delivered or hidden by who has the consume
 *        mutex, and must not be put into the ring meanwhile (lock: @lock)
 * @closed: no source may be attached any more (lock: @lock)
 * @has_file: made for user space; else the private queue of an id without one (immutable)
 */
struct rca_queue {
	refcount_t ref;
	struct rca_ctx *ctx;
	struct list_head node;
	u32 serial;
	u64 netns;
	struct mutex consume;
	spinlock_t lock;
	struct list_head items;
	struct list_head placed;
	struct list_head sources;
	wait_queue_head_t wait;
	u32 record_size;
	u32 ring_entries;
	struct rca_ring *ring;
	unsigned int readers;
	bool held;
	bool closed;
	bool has_file;
};

/**
 * struct rca_delivery - an event that is being delivered
 * @data: what to copy to user space
 * @len: bytes at @data; the rest of the record is zero
 * @item: the item; belongs to the queue until rca_queue_consume()
 * @child_queue: where the events of a new id will go; NULL: to the same queue
 * @in_ring: there is no event to deliver, as the next one lies in the ring
 * @head: backing of @data for notices
 */
struct rca_delivery {
	const void *data;
	u32 len;
	struct rca_item *item;
	struct rca_queue *child_queue;
	bool in_ring;
	u8 head[offsetof(struct rdma_cm_alt_event, qp_num)] __aligned(8);
};

/** RCA_QUEUE_STAT_MAX - who looks at a queue counts no further, as interrupts are off */
#define RCA_QUEUE_STAT_MAX 4096

/**
 * struct rca_queue_stat - what can be seen of a queue
 * @ids: how many post to it, up to RCA_QUEUE_STAT_MAX
 * @waiting: how many events wait in it, in its ring or not, up to RCA_QUEUE_STAT_MAX
 * @ring: records in its ring; 0: it is not mapped
 * @readers: threads that wait in read()
 */
struct rca_queue_stat {
	u32 ids;
	u32 waiting;
	u32 ring;
	u32 readers;
};

int rca_events_init(void);
void rca_events_exit(void);

struct rca_event *rca_event_alloc(struct rca_ctx *ctx, gfp_t gfp);
void rca_event_free(struct rca_event *ev);

struct rca_queue *rca_queue_create(struct rca_ctx *ctx, u32 record_size, bool has_file);
struct rca_queue *rca_queue_get(struct rca_queue *queue);
void rca_queue_put(struct rca_queue *queue);
bool rca_queue_ready(struct rca_queue *queue);
int rca_queue_wait(struct rca_queue *queue);
bool rca_queue_peek(struct rca_queue *queue, struct rca_delivery *dlv);
void rca_queue_consume(struct rca_queue *queue, struct rca_delivery *dlv);
void rca_queue_release(struct rca_queue *queue);
void rca_item_record(struct rca_item *item, struct rca_delivery *dlv);
bool rca_item_complete_locked(struct rca_queue *queue, struct rca_item *item, u32 type);
void rca_event_publish_child(struct rca_event *ev, struct rca_queue *queue);
bool rca_delivery_has_child(const struct rca_delivery *dlv);
void rca_queue_mark_closed(struct rca_queue *queue);
struct rca_obj *rca_queue_next_owner(struct rca_queue *queue);
struct rca_queue *rca_queue_next(struct rca_ctx *ctx, struct rca_queue *prev, u32 after);
void rca_queue_stat(struct rca_queue *queue, struct rca_queue_stat *look);

int rca_queue_ring_start(struct rca_queue *queue, struct rca_ring *ring, struct mm_struct *mm);
void rca_queue_ring_open(struct rca_queue *queue);
void rca_queue_ring_close(struct rca_queue *queue);
bool rca_queue_ring_foreign(struct rca_queue *queue, const struct mm_struct *mm);
bool rca_queue_reap_locked(struct rca_queue *queue);
bool rca_queue_unread(struct rca_queue *queue);
void rca_queue_posted_locked(struct rca_queue *queue);
struct rca_item *rca_queue_fill_locked(struct rca_queue *queue);
void rca_queue_fill(struct rca_queue *queue);
void rca_source_reap(struct rca_source *src);

void rca_source_init(struct rca_source *src, struct rca_obj *owner, spinlock_t *lock, u64 cookie);
int rca_source_attach(struct rca_source *src, struct rca_queue *queue);
int rca_source_move(struct rca_source *src, struct rca_queue *queue, const u64 *cookie,
		    u32 *reported);
void rca_source_set_cookie(struct rca_source *src, u64 cookie);
u32 rca_source_detach(struct rca_source *src, struct list_head *requests);
u32 rca_source_drop(struct rca_source *src, struct rca_event_count *event_count);
void rca_post(struct rca_source *src, struct rca_event *ev);
void rca_post_part(struct rca_source *src, struct rca_event_count *event_count,
		   struct rca_event *ev);
bool rca_post_notice(struct rca_source *src, enum rca_notice_slot slot, u32 type, int status);
struct rca_queue *rca_source_queue(struct rca_source *src);

/* What the files that share this header share besides. */

/* The ring when it is in use. */
static inline struct rca_ring *rca_queue_active_ring(struct rca_queue *queue)
{
	lockdep_assert_held(&queue->lock);
	return queue->ring && queue->ring->mm ? queue->ring : NULL;
}

static inline struct rca_event *rca_item_event(struct rca_item *item)
{
	return container_of(item, struct rca_event, item);
}

/* The id that a source lives in; each item of the source in a queue holds a reference. */
static inline struct rca_obj *rca_source_owner(struct rca_source *src)
{
	return (void *)src - src->owner_at;
}

/* The id's state spinlock; held to post and to change the queue. */
static inline spinlock_t *rca_source_lock(struct rca_source *src)
{
	return (void *)src + src->lock_at;
}

static inline struct rca_source *rca_item_source(struct rca_item *item)
{
	if (!item->is_notice)
		return rca_item_event(item)->src;
	return container_of(item - item->slot, struct rca_source, notice[0]);
}

/* Events that only say that something happened, whatever waits besides in the same notice. */
static inline bool rca_notice_has_status(u32 type)
{
	return type != RDMA_CM_ALT_EVENT_TIMEWAIT_EXIT &&
	       type != RDMA_CM_ALT_EVENT_DEVICE_REMOVAL &&
	       type != RDMA_CM_ALT_EVENT_ADDR_CHANGE;
}

/* Takes the records of an item back; what user space is done with was reaped. */
static inline void rca_item_invalidate_locked(struct rca_queue *queue, struct rca_item *item)
{
	lockdep_assert_held(&queue->lock);

	/* An id may have a thousand events there, with interrupts off: each is found at once. */
	if (item->placed && item->is_notice)
		rca_ring_invalidate(queue->ring, item);
	else if (item->placed)
		rca_ring_invalidate_at(queue->ring, item->place);
	item->placed = 0;
}

static inline void rca_item_unlink_locked(struct rca_queue *queue, struct rca_item *item)
{
	lockdep_assert_held(&queue->lock);

	rca_item_invalidate_locked(queue, item);
	list_del_init(&item->qnode);
	list_del_init(&item->snode);
}

/* What is left of an event that is in no queue any more. */
static inline void rca_event_done(struct rca_event *ev)
{
	if (ev->credit)
		atomic_dec(ev->credit);
	ev->credit = NULL;
	if (ev->is_request)
		rca_uncharge(ev->account, RDMA_CM_ALT_RESOURCE_REQUESTS, 1);
	ev->is_request = false;
	if (ev->event_count)
		rca_obj_put(ev->event_count->obj); /* got in rca_post_part() */
	ev->event_count = NULL;
}

static inline void rca_queue_wake(struct rca_queue *queue)
{
	wake_up_interruptible_poll(&queue->wait, EPOLLIN | EPOLLRDNORM);
}

#endif /* RCA_EVENTS_H */
