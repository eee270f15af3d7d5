// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Delivery of events without losing one: to read() and GET_EVENT, and into the ring.
 *
 * Locking: &rca_queue.consume, then &rca_queue.lock with interrupts off.
 */
#include <kunit/visibility.h>

#include "event/events.h"

/**
 * rca_queue_wait() - sleep until there is an event to deliver
 * @queue: the queue
 *
 * What comes meanwhile is not put into the ring.
 *
 * Context: process context; sleeps.
 * Return: 0, and somebody else may have got the event; -ERESTARTSYS: a signal came.
 */
int rca_queue_wait(struct rca_queue *queue)
{
	int ret;

	spin_lock_irq(&queue->lock);
	queue->readers++;
	spin_unlock_irq(&queue->lock);
	ret = wait_event_interruptible(queue->wait, rca_queue_ready(queue));
	spin_lock_irq(&queue->lock);
	queue->readers--;
	spin_unlock_irq(&queue->lock);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(rca_queue_wait);

/**
 * rca_queue_peek() - look at the next event, and leave it in the queue
 * @queue: the queue
 * @dlv: what to copy to user space; valid while @queue->consume is held
 *
 * When the copy has arrived, rca_queue_consume() takes the event off. If it does not,
 * rca_queue_release() lets go of it, and the next call finds the same event.
 *
 * Context: process context; the caller holds @queue->consume.
 * Return: false: there is no event, or it lies in the ring (&rca_delivery.in_ring).
 */
bool rca_queue_peek(struct rca_queue *queue, struct rca_delivery *dlv)
{
	struct rca_item *item;
	unsigned long flags;

	lockdep_assert_held(&queue->consume);

	spin_lock_irqsave(&queue->lock, flags);
	dlv->in_ring = rca_queue_reap_locked(queue);
	item = dlv->in_ring ? NULL : list_first_entry_or_null(&queue->items, struct rca_item,
							      qnode);
	dlv->item = item;
	dlv->child_queue = NULL;
	queue->held = item;
	if (item)
		rca_item_record(item, dlv);
	spin_unlock_irqrestore(&queue->lock, flags);
	return item;
}
EXPORT_SYMBOL_IF_KUNIT(rca_queue_peek);

/**
 * rca_event_publish_child() - publish the new id of a connection request
 * @ev: the event, which is about to be delivered; nothing happens when it is no
 *      request, or its id was published before
 * @queue: where the id's events go
 *
 * Context: process context; the caller holds the consume mutex of the event's queue.
 */
void rca_event_publish_child(struct rca_event *ev, struct rca_queue *queue)
{
	if (!ev->child || ev->child_published)
		return;
	/* A queue that is being closed takes no source; the child lives without. */
	rca_source_attach(ev->child_src, queue);
	ev->child_published = true;
	/* Put in rca_item_complete_locked(); the other one becomes the table's. */
	rca_obj_get(ev->child);
	rca_obj_publish(ev->child);
}
EXPORT_SYMBOL_IF_KUNIT(rca_event_publish_child);

/**
 * rca_queue_consume() - take the event off that was delivered
 * @queue: the queue
 * @dlv: what rca_queue_peek() found, under the same hold of @queue->consume
 *
 * Publishes the new id of a connection request.
 *
 * Context: process context; the caller holds @queue->consume.
 */
void rca_queue_consume(struct rca_queue *queue, struct rca_delivery *dlv)
{
	const struct rdma_cm_alt_event *rec = dlv->data;
	struct rca_item *item = dlv->item;
	struct rca_source *src = rca_item_source(item);
	unsigned long flags;

	lockdep_assert_held(&queue->consume);

	if (!item->is_notice)
		rca_event_publish_child(rca_item_event(item), dlv->child_queue ?: queue);
	spin_lock_irqsave(&queue->lock, flags);
	queue->held = false;
	/* What is left of a connection comes next, whatever else waits; of a device, last. */
	if (!rca_item_complete_locked(queue, item, rec->type) &&
	    item != &src->notice[RCA_NOTICE_CONN]) {
		list_move_tail(&item->qnode, &queue->items);
		list_move_tail(&item->snode, &src->items);
	}
	spin_unlock_irqrestore(&queue->lock, flags);
	dlv->item = NULL;
	dlv->data = NULL;
}
EXPORT_SYMBOL_IF_KUNIT(rca_queue_consume);

/**
 * rca_delivery_has_child() - does this event bring a new id that is not published?
 * @dlv: what rca_queue_peek() found
 *
 * Context: process context; the caller holds the queue's consume mutex.
 * Return: true: it does.
 */
bool rca_delivery_has_child(const struct rca_delivery *dlv)
{
	const struct rca_event *ev = rca_item_event(dlv->item);

	return !dlv->item->is_notice && ev->child && !ev->child_published;
}
EXPORT_SYMBOL_IF_KUNIT(rca_delivery_has_child);

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
		ring = rca_queue_active_ring(queue);
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
