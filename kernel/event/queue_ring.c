// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Mappings of the ring of a queue.
 *
 * Locking: &rca_queue.lock with interrupts disabled.
 */
#include <linux/errno.h>

#include "event/events.h"

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
