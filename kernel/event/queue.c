// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Queues: life, the waiting events and their records in the ring, iteration and statistics.
 *
 * Locking: &rca_ctx.queues_lock and &rca_queue.lock, never both. &rca_queue.lock is taken with
 * interrupts disabled.
 */
#include "event/queue.h"

#include <linux/bitops.h>
#include <linux/bug.h>
#include <linux/build_bug.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

/* Records that are put into the ring under one hold of the spinlock. */
#define FILL_BATCH 16

static_assert(RCA_RING_MAX - 1 <= U16_MAX);	/* &rca_item.place */

/* Add a queue that has a file to the list of its context. */
static void add_to_context(struct rca_queue *queue)
{
	struct rca_ctx *ctx = queue->ctx;

	queue->netns = current->nsproxy->net_ns->net_cookie;
	spin_lock(&ctx->queues_lock);
	queue->serial = ++ctx->queue_serial;
	list_add_tail(&queue->node, &ctx->queues);
	spin_unlock(&ctx->queues_lock);
}

static void remove_from_context(struct rca_queue *queue)
{
	struct rca_ctx *ctx = queue->ctx;

	spin_lock(&ctx->queues_lock);
	list_del(&queue->node);
	spin_unlock(&ctx->queues_lock);
}

/**
 * rca_queue_create() - create a queue
 * @ctx: its context; the queue holds a reference
 * @record_size: bytes per record for read()
 * @has_file: user space gets a file descriptor
 *
 * Context: Process context. May sleep.
 * Return: the queue with one reference, for rca_queue_put(); -EDQUOT: too many queues with a
 *         file; -ENOMEM.
 */
struct rca_queue *rca_queue_create(struct rca_ctx *ctx, u32 record_size, bool has_file)
{
	struct rca_queue *queue;
	int ret;

	/* A private queue is charged as part of its id. */
	ret = has_file ? rca_charge(&ctx->account, RDMA_CM_ALT_RESOURCE_QUEUES, 1) : 0;
	if (ret)
		return ERR_PTR(ret);
	queue = kzalloc(sizeof(*queue), GFP_KERNEL_ACCOUNT);
	if (!queue) {
		if (has_file)
			rca_uncharge(&ctx->account, RDMA_CM_ALT_RESOURCE_QUEUES, 1);
		return ERR_PTR(-ENOMEM);
	}
	refcount_set(&queue->ref, 1);
	queue->ctx = rca_ctx_get(ctx); /* put in rca_queue_put() */
	mutex_init(&queue->reading);
	mutex_init(&queue->consume);
	spin_lock_init(&queue->lock);
	INIT_LIST_HEAD(&queue->items);
	INIT_LIST_HEAD(&queue->placed);
	INIT_LIST_HEAD(&queue->sources);
	init_waitqueue_head(&queue->wait);
	queue->record_size = record_size;
	queue->has_file = has_file;
	INIT_LIST_HEAD(&queue->node);
	if (has_file)
		add_to_context(queue);
	return queue;
}

struct rca_queue *rca_queue_get(struct rca_queue *queue)
{
	refcount_inc(&queue->ref);
	return queue;
}

/**
 * rca_queue_put() - put a reference on a queue
 * @queue: the queue, freed with the last reference; or NULL
 *
 * Context: Process context, without a spinlock: the memory of a ring may be virtual.
 */
void rca_queue_put(struct rca_queue *queue)
{
	if (!queue || !refcount_dec_and_test(&queue->ref))
		return;
	/* Each source holds a reference on its queue, so none can be left. */
	WARN_ON_ONCE(!list_empty(&queue->sources) || !list_empty(&queue->items) ||
		     !list_empty(&queue->placed) || queue->num_sources || queue->waiting);
	rca_ring_free(queue->ring);
	if (queue->has_file) {
		remove_from_context(queue);
		rca_uncharge(&queue->ctx->account, RDMA_CM_ALT_RESOURCE_QUEUES, 1);
	}
	mutex_destroy(&queue->consume);
	mutex_destroy(&queue->reading);
	rca_ctx_put(queue->ctx);
	kfree(queue);
}

/*
 * An event of this type was delivered, by read() or from the ring. Remove its item, which may be
 * freed, from the queue, unless it is the item of a source with further pending events.
 */
void rca_item_complete_locked(struct rca_queue *queue, struct rca_item *item, u32 type)
{
	struct rca_source *src = rca_item_source(item);
	struct rca_event *ev;

	lockdep_assert_held(&queue->lock);

	/* rca_source_move() reads it without the lock. */
	WRITE_ONCE(src->reported, src->reported + 1);
	queue->waiting--;
	if (item->in_source) {
		src->pending &= ~BIT(type);
		item->pending &= ~BIT(type);
		item->placed &= ~BIT(type);
		if (item->pending)
			return;
		rca_item_unlink_locked(queue, item);
	} else {
		ev = rca_item_event(item);
		if (!ev->account)
			src->pending &= ~BIT(type);
		item->placed = 0;
		rca_item_unlink_locked(queue, item);
		if (ev->event_count)
			ev->event_count->reported++;
		if (ev->child_published)
			rca_obj_put(ev->child);	/* got in rca_event_publish_child() */
		rca_event_done(ev);
		rca_event_free(ev);
	}
	rca_obj_put(rca_source_owner(src)); /* from rca_queue_add_locked() */
}

/*
 * Complete the events whose records user space has taken from the ring. Returns true if the ring
 * has further records.
 */
bool rca_queue_reap_locked(struct rca_queue *queue)
{
	struct rca_ring *ring = rca_queue_active_ring(queue);
	struct rca_item *item;
	u32 seen, type;

	if (!ring)
		return false;
	seen = rca_ring_seen(ring);
	while ((item = rca_ring_next(ring, seen, &type)))
		rca_item_complete_locked(queue, item, type);
	return ring->unread;
}

/**
 * rca_queue_unread() - reap, and tell whether the ring has records that user space has not taken
 * @queue: the queue
 *
 * Context: Process context. Takes and releases @queue->lock.
 * Return: true if the ring has such records.
 */
bool rca_queue_unread(struct rca_queue *queue)
{
	struct rca_ring *ring = smp_load_acquire(&queue->ring);	/* pairs with get_ring() */
	bool unread;

	if (!ring || !READ_ONCE(ring->unread))
		return false;
	spin_lock_irq(&queue->lock);
	unread = rca_queue_reap_locked(queue);
	spin_unlock_irq(&queue->lock);
	return unread;
}

/**
 * rca_queue_ready() - is there an event to deliver?
 * @queue: the queue
 *
 * Without a lock the result may be outdated. To sleep until it changes, wait on
 * &rca_queue.wait.
 *
 * Context: Process context.
 * Return: true if there is one.
 */
bool rca_queue_ready(struct rca_queue *queue)
{
	return !list_empty_careful(&queue->items) || rca_queue_unread(queue);
}

/*
 * Put the next record of an item into the ring; that of a source has one for each pending event.
 * Returns true if the item is completely in the ring now, and belongs on &rca_queue.placed.
 */
static bool put_record(struct rca_ring *ring, struct rca_item *item)
{
	const struct rdma_cm_alt_event *rec;
	struct rca_record record __uninitialized;

	rca_item_record(item, &record);
	rec = record.data;
	rca_ring_put(ring, rec, record.len, item, rec->type);
	if (item->in_source) {
		item->placed |= BIT(rec->type);
		return item->placed == item->pending;
	}
	item->place = ring->tail - 1;	/* only the low bits count */
	item->placed = 1;
	return true;
}

/*
 * Put a few waiting events into the ring, if that is open. The caller has reaped the queue.
 *
 * Returns the next event if it is a connection request whose id must be published first, else
 * NULL.
 */
struct rca_item *rca_queue_fill_locked(struct rca_queue *queue)
{
	struct rca_ring *ring;
	struct rca_item *item;
	int i;

	for (i = 0; i < FILL_BATCH && (ring = rca_queue_open_ring(queue)); i++) {
		item = list_first_entry_or_null(&queue->items, struct rca_item, qnode);
		if (!item)
			break;
		if (rca_item_has_child(item))
			return item;
		if (put_record(ring, item))
			list_move_tail(&item->qnode, &queue->placed);
	}
	return NULL;
}

/*
 * The ring, if a thread that posts may put records into it, else NULL. The holder of the consume
 * mutex may be moving or dropping events. It has taken @queue->lock since, so the mutex is seen as
 * locked here.
 */
static struct rca_ring *ring_to_post(struct rca_queue *queue)
{
	struct rca_ring *ring = rca_queue_open_ring(queue);

	return ring && !mutex_is_locked(&queue->consume) ? ring : NULL;
}

/* Put waiting events into the ring if that is possible here. The caller has reaped the queue. */
void rca_queue_posted_locked(struct rca_queue *queue)
{
	if (ring_to_post(queue))
		rca_queue_fill_locked(queue);
}

/*
 * Add an item with one event of @src that is posted, and put it into the ring if that is possible
 * here: at once if nothing waits before it. The caller has reaped the queue.
 */
void rca_queue_add_locked(struct rca_queue *queue, struct rca_source *src, struct rca_item *item)
{
	struct rca_ring *ring = ring_to_post(queue);

	lockdep_assert_held(&queue->lock);

	queue->waiting++;
	list_add_tail(&item->snode, &src->items);
	/* Put in rca_item_complete_locked() or rca_source_detach(). */
	rca_obj_get(rca_source_owner(src));
	if (ring && list_empty(&queue->items) && !rca_item_has_child(item)) {
		put_record(ring, item);
		list_add_tail(&item->qnode, &queue->placed);
		return;
	}
	list_add_tail(&item->qnode, &queue->items);
	if (ring)
		rca_queue_fill_locked(queue);
}

/**
 * rca_queue_release() - the event from rca_queue_peek() was not delivered
 * @queue: the queue
 *
 * The event may be put into the ring again.
 *
 * Context: Process context. The caller holds @queue->reading.
 */
void rca_queue_release(struct rca_queue *queue)
{
	unsigned long flags;

	lockdep_assert_held(&queue->reading);

	spin_lock_irqsave(&queue->lock, flags);
	queue->held = NULL;
	spin_unlock_irqrestore(&queue->lock, flags);
}

/**
 * rca_queue_mark_closed() - refuse new sources, and wake all waiting threads
 * @queue: the queue
 *
 * Attached sources remain attached, and may post.
 *
 * Context: Any context.
 */
void rca_queue_mark_closed(struct rca_queue *queue)
{
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	WRITE_ONCE(queue->closed, true); /* pairs with rca_source_move() */
	spin_unlock_irqrestore(&queue->lock, flags);
	wake_up_interruptible_all(&queue->wait);
}

/**
 * rca_queue_next_owner() - get an id that still posts to a queue
 * @queue: a closed queue, so that the number of sources only decreases
 *
 * The caller destroys the id, which detaches it. An id that another thread is destroying may be
 * returned repeatedly, with others in between.
 *
 * Context: Any context.
 * Return: the owner of a source with a reference, for rca_obj_put(); NULL: no source is left.
 */
struct rca_obj *rca_queue_next_owner(struct rca_queue *queue)
{
	struct rca_obj *owner = NULL;
	struct rca_source *src;
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	src = list_first_entry_or_null(&queue->sources, struct rca_source, node);
	if (src) {
		/* A source is detached before the last reference on its owner is put. */
		owner = rca_obj_get(rca_source_owner(src));
		list_move_tail(&src->node, &queue->sources);
	}
	spin_unlock_irqrestore(&queue->lock, flags);
	return owner;
}

/**
 * rca_queue_next() - iterate over the queues of a context that have a file, the oldest first
 * @ctx: the context
 * @prev: the previous queue, whose reference is put; NULL to start
 * @after: to start: serial number to continue after, or 0
 *
 * Context: Process context.
 * Return: the next queue with a reference, for rca_queue_put(); NULL: no more.
 */
struct rca_queue *rca_queue_next(struct rca_ctx *ctx, struct rca_queue *prev, u32 after)
{
	struct rca_queue *queue, *found = NULL;

	spin_lock(&ctx->queues_lock);
	queue = list_prepare_entry(prev, &ctx->queues, node);
	list_for_each_entry_continue(queue, &ctx->queues, node) {
		if (queue->serial > after && refcount_inc_not_zero(&queue->ref)) {
			found = queue;
			break;
		}
	}
	spin_unlock(&ctx->queues_lock);
	rca_queue_put(prev);
	return found;
}

/* Set @look to the state of a queue. Process context. */
void rca_queue_stat(struct rca_queue *queue, struct rca_queue_stat *look)
{
	spin_lock_irq(&queue->lock);
	rca_queue_reap_locked(queue);	/* events that user space has taken do not count */
	look->ids = queue->num_sources;
	look->waiting = queue->waiting;
	look->ring = queue->ring ? queue->ring_entries : 0;
	look->readers = queue->readers;
	spin_unlock_irq(&queue->lock);
}

/*
 * Mappings of the ring of a queue.
 *
 * Locking: &rca_queue.lock with interrupts disabled.
 */

/**
 * rca_queue_ring_start() - user space maps the ring
 * @queue: the queue
 * @ring: its ring
 * @mm: address space of the mapping
 *
 * Context: Process context.
 * Return: 0; -EBUSY if the ring is mapped already.
 */
int rca_queue_ring_start(struct rca_queue *queue, struct rca_ring *ring, struct mm_struct *mm)
{
	int ret = -EBUSY;

	spin_lock_irq(&queue->lock);
	if (!ring->mm) {
		rca_ring_reset(ring);
		WRITE_ONCE(ring->mm, mm);
		ring->maps = 1;
		ret = 0;
	}
	spin_unlock_irq(&queue->lock);
	return ret;
}

/* Count a second mapping of the ring, which exists while mremap() moves the first one. */
void rca_queue_ring_open(struct rca_queue *queue)
{
	spin_lock_irq(&queue->lock);
	queue->ring->maps++;
	spin_unlock_irq(&queue->lock);
}

/* Queue all items in the ring again, in the order of their records, before the others. */
static void requeue_placed_locked(struct rca_queue *queue, struct rca_ring *ring)
{
	struct rca_item *item;
	LIST_HEAD(placed);
	u32 type;

	lockdep_assert_held(&queue->lock);
	rca_queue_reap_locked(queue);
	while ((item = rca_ring_next(ring, ring->tail, &type))) {
		/* The first record of an item with several determines its position. */
		if (item->placed)
			list_move_tail(&item->qnode, &placed);
		item->placed = 0;
	}
	list_splice(&placed, &queue->items);
}

/**
 * rca_queue_ring_close() - a mapping of the ring was removed; the last one ends its use
 * @queue: the queue
 *
 * Must not take the consume mutex: its holder may wait for the mmap lock.
 *
 * Context: Process context.
 */
void rca_queue_ring_close(struct rca_queue *queue)
{
	spin_lock_irq(&queue->lock);
	if (!--queue->ring->maps) {
		requeue_placed_locked(queue, queue->ring);
		WRITE_ONCE(queue->ring->mm, NULL);
	}
	spin_unlock_irq(&queue->lock);
	if (rca_queue_ready(queue))
		rca_queue_wake(queue);
}

/**
 * rca_queue_ring_foreign() - is the ring mapped in another address space?
 * @queue: the queue
 * @mm: address space of the caller
 *
 * Without a lock: the ring may be mapped or unmapped at any time.
 *
 * Context: Any context.
 * Return: true if it is.
 */
bool rca_queue_ring_foreign(struct rca_queue *queue, const struct mm_struct *mm)
{
	struct rca_ring *ring = smp_load_acquire(&queue->ring);	/* pairs with get_ring() */
	const struct mm_struct *user = ring ? READ_ONCE(ring->mm) : NULL;

	return user && user != mm;
}
