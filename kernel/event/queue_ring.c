// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Queues whose ring is mapped and unmapped.
 *
 * Locking: &rca_queue.lock with interrupts off.
 */
#include <kunit/visibility.h>
#include <linux/errno.h>

#include "event/events.h"

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
	ring = rca_queue_active_ring(queue);
	foreign = ring && ring->mm != mm;
	spin_unlock_irq(&queue->lock);
	return foreign;
}
EXPORT_SYMBOL_IF_KUNIT(rca_queue_ring_foreign);
