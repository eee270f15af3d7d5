// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Queues whose ring is mapped: putting records in, taking off what user space is
 * done with, and giving back what it has not taken.
 *
 * Locking: &rca_queue.lock with interrupts off, for the ring and the items whose
 * records lie in it; &rca_queue.consume before it where a request is put in.
 */
#include <kunit/visibility.h>
#include <linux/bitops.h>
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/limits.h>

#include "event/events.h"

/* Records that are put in under one hold of the spinlock. */
#define FILL_BATCH 16

static_assert(RCA_RING_MAX - 1 <= U16_MAX);	/* &rca_item.place */

/* The ring when it is in use. */
static struct rca_ring *active_ring(struct rca_queue *queue)
{
	lockdep_assert_held(&queue->lock);
	return queue->ring && queue->ring->mm ? queue->ring : NULL;
}

/**
 * rca_queue_ring_start() - user space maps the ring
 * @queue: the queue
 * @ring: its ring
 * @mm: who maps it
 *
 * Context: process context.
 * Return: 0; -EBUSY: it is mapped already.
 */
int rca_queue_ring_start(struct rca_queue *queue, struct rca_ring *ring, struct mm_struct *mm)
{
	int ret = -EBUSY;

	spin_lock_irq(&queue->lock);
	if (!ring->mm) {
		rca_ring_reset(ring);
		ring->mm = mm;
		ring->maps = 1;
		ret = 0;
	}
	spin_unlock_irq(&queue->lock);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(rca_queue_ring_start);

/**
 * rca_queue_ring_open() - there is another mapping of the ring, as one is being moved
 * @queue: the queue
 *
 * Context: process context.
 */
void rca_queue_ring_open(struct rca_queue *queue)
{
	spin_lock_irq(&queue->lock);
	queue->ring->maps++;
	spin_unlock_irq(&queue->lock);
}
EXPORT_SYMBOL_IF_KUNIT(rca_queue_ring_open);

/* Everything that lies in the ring waits again, in the order of its records, before the rest. */
static void take_back_locked(struct rca_queue *queue, struct rca_ring *ring)
{
	struct rca_item *item;
	LIST_HEAD(back);
	u32 type;

	lockdep_assert_held(&queue->lock);
	rca_queue_reap_locked(queue);
	while ((item = rca_ring_next(ring, ring->tail, &type))) {
		/* A notice comes where its first record is, even if others of it wait. */
		if (item->placed)
			list_move_tail(&item->qnode, &back);
		item->placed = 0;
	}
	list_splice(&back, &queue->items);
}

/**
 * rca_queue_ring_close() - a mapping of the ring goes; with the last one the ring is out of use
 * @queue: the queue
 *
 * Must not take the consume mutex: whoever holds it may wait for the mmap lock.
 *
 * Context: process context.
 */
void rca_queue_ring_close(struct rca_queue *queue)
{
	spin_lock_irq(&queue->lock);
	if (!--queue->ring->maps) {
		take_back_locked(queue, queue->ring);
		queue->ring->mm = NULL;
	}
	spin_unlock_irq(&queue->lock);
	if (rca_queue_ready(queue))
		rca_queue_wake(queue);
}
EXPORT_SYMBOL_IF_KUNIT(rca_queue_ring_close);

/**
 * rca_queue_ring_foreign() - has somebody else the ring mapped?
 * @queue: the queue
 * @mm: who asks
 *
 * Context: process context.
 * Return: true: somebody but @mm has.
 */
bool rca_queue_ring_foreign(struct rca_queue *queue, const struct mm_struct *mm)
{
	struct rca_ring *ring;
	bool foreign;

	if (!queue->ring_entries)
		return false;
	spin_lock_irq(&queue->lock);
	ring = active_ring(queue);
	foreign = ring && ring->mm != mm;
	spin_unlock_irq(&queue->lock);
	return foreign;
}
EXPORT_SYMBOL_IF_KUNIT(rca_queue_ring_foreign);

/**
 * rca_queue_reap_locked() - take off what user space is done with
 * @queue: the queue
 *
 * Context: any; the caller holds @queue->lock.
 * Return: true: there are records in the ring that it is not done with.
 */
bool rca_queue_reap_locked(struct rca_queue *queue)
{
	struct rca_ring *ring = active_ring(queue);
	struct rca_item *item;
	u32 seen, type;

	if (!ring)
		return false;
	seen = rca_ring_seen(ring);
	while ((item = rca_ring_next(ring, seen, &type)))
		rca_item_complete_locked(queue, item, type);
	return ring->unread;
}
EXPORT_SYMBOL_IF_KUNIT(rca_queue_reap_locked);

/**
 * rca_queue_unread() - are there records in the ring that user space is not done with?
 * @queue: the queue
 *
 * Context: Any context. Takes and releases @queue->lock.
 * Return: true: there are.
 */
bool rca_queue_unread(struct rca_queue *queue)
{
	unsigned long flags;
	bool unread;

	if (!queue->ring_entries)
		return false;
	spin_lock_irqsave(&queue->lock, flags);
	unread = rca_queue_reap_locked(queue);
	spin_unlock_irqrestore(&queue->lock, flags);
	return unread;
}
EXPORT_SYMBOL_IF_KUNIT(rca_queue_unread);

/* Does all of the item lie in the ring? */
static bool is_placed(struct rca_item *item)
{
	return item->is_notice ? item->placed == item->pending : item->placed;
}

static void place_locked(struct rca_queue *queue, struct rca_ring *ring, struct rca_item *item)
{
	struct rca_delivery dlv;
	u32 type;

	do {
		rca_item_record(item, &dlv);
		type = ((const struct rdma_cm_alt_event *)dlv.data)->type;
		if (!item->is_notice)
			item->place = ring->tail & (ring->entries - 1);
		rca_ring_put(ring, dlv.data, dlv.len, item, type);
		item->placed |= item->is_notice ? BIT(type) : 1;
	} while (!is_placed(item) && !rca_ring_full(ring));
	if (is_placed(item))
		list_move_tail(&item->qnode, &queue->placed);
}

static bool must_expose(struct rca_item *item)
{
	return !item->is_notice && rca_item_event(item)->child &&
	       !rca_item_event(item)->child_published;
}

/**
 * rca_queue_fill_locked() - put events that wait into the ring, a few of them
 * @queue: the queue; reaped here
 *
 * Nothing happens when the ring is not in use, is full, or somebody waits in read() or
 * has the next event in hand.
 *
 * Context: any; the caller holds @queue->lock.
 * Return: the next event when it is a request whose id has to be published first; else NULL.
 */
struct rca_item *rca_queue_fill_locked(struct rca_queue *queue)
{
	struct rca_ring *ring = active_ring(queue);
	struct rca_item *item;
	int i;

	if (!ring)
		return NULL;
	rca_queue_reap_locked(queue);
	if (queue->readers || queue->held)
		return NULL;
	for (i = 0; i < FILL_BATCH && !rca_ring_full(ring); i++) {
		item = list_first_entry_or_null(&queue->items, struct rca_item, qnode);
		if (!item)
			break;
		if (must_expose(item))
			return item;
		place_locked(queue, ring, item);
	}
	return NULL;
}
EXPORT_SYMBOL_IF_KUNIT(rca_queue_fill_locked);

/**
 * rca_queue_posted_locked() - something was posted: put it into the ring if that may be done here
 * @queue: the queue
 *
 * Whoever holds the consume mutex may be delivering the first event right now,
 * and puts the rest in. He has taken @queue->lock since, so we see the mutex locked.
 *
 * Context: any; the caller holds @queue->lock.
 */
void rca_queue_posted_locked(struct rca_queue *queue)
{
	if (queue->ring && !mutex_is_locked(&queue->consume))
		rca_queue_fill_locked(queue);
}
EXPORT_SYMBOL_IF_KUNIT(rca_queue_posted_locked);

/**
 * rca_queue_fill() - put everything that waits into the ring
 * @queue: the queue
 *
 * Does nothing when somebody delivers, moves or drops events right now.
 *
 * Context: process context.
 */
void rca_queue_fill(struct rca_queue *queue)
{
	struct rca_item *item;
	struct rca_ring *ring;
	bool more;

	if (!queue->ring_entries || !mutex_trylock(&queue->consume))
		return;
	do {
		spin_lock_irq(&queue->lock);
		ring = active_ring(queue);
		item = rca_queue_fill_locked(queue);
		more = ring && !rca_ring_full(ring) && !queue->readers &&
		       !list_empty(&queue->items);
		spin_unlock_irq(&queue->lock);
		/* It is not placed, and we hold the mutex, so it stays. */
		if (item)
			rca_event_publish_child(rca_item_event(item), queue);
	} while (more);
	mutex_unlock(&queue->consume);
}
EXPORT_SYMBOL_IF_KUNIT(rca_queue_fill);

/**
 * rca_source_reap() - take off what user space is done with, in the queue of a source
 * @src: the source
 *
 * Context: process context; takes the source's lock.
 */
void rca_source_reap(struct rca_source *src)
{
	struct rca_queue *queue = rca_source_queue(src);

	if (!queue)
		return;
	rca_queue_unread(queue);
	rca_queue_put(queue);
}
EXPORT_SYMBOL_IF_KUNIT(rca_source_reap);
