// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Deliver events to read() and GET_EVENT, and put them into the ring.
 *
 * Locking: &rca_queue.reading, then &rca_queue.consume, then &rca_queue.lock with interrupts
 * disabled.
 */
#include "event/queue.h"

#include <linux/bitops.h>
#include <linux/bug.h>
#include <linux/sched/signal.h>
#include <linux/string.h>

#include "lib/testing.h"

/*
 * Post events.
 *
 * Locking: the source's spinlock, which the caller takes with interrupts disabled, as events are
 * posted from any context; then &rca_queue.lock.
 */

/**
 * rca_post() - post an event
 * @src: its source
 * @ev: the event; owned by the queue from now on
 *
 * Without a queue the event is dropped. Before a connection request is posted, the caller must
 * check under the same lock that there is a queue.
 *
 * Context: Any context. The caller holds the source's lock.
 */
void rca_post(struct rca_source *src, struct rca_event *ev)
{
	struct rca_queue *queue = src->queue;

	lockdep_assert_held(rca_source_lock(src));

	if (!queue) {
		WARN_ON_ONCE(ev->child);
		rca_event_done(ev);
		rca_event_free(ev);
		return;
	}
	ev->src = src;
	spin_lock(&queue->lock);
	rca_queue_reap_locked(queue);
	rca_queue_add_locked(queue, src, &ev->item);
	spin_unlock(&queue->lock);
	rca_queue_wake(queue);
}

/**
 * rca_post_part() - post an event of a part of the source's owner
 * @src: the source
 * @event_count: of the part; &rca_event_count.obj is referenced until the event is delivered
 * @ev: the event; owned by the queue from now on
 *
 * Context: Any context. The caller holds the source's lock.
 */
void rca_post_part(struct rca_source *src, struct rca_event_count *event_count,
		   struct rca_event *ev)
{
	rca_obj_get(event_count->obj); /* put in rca_event_done() */
	ev->event_count = event_count;
	rca_post(src, ev);
}

static void link_notice_locked(struct rca_queue *queue, struct rca_source *src, u32 type,
			       int status)
{
	struct rca_item *notice = &src->notice;
	struct rca_event *ev;

	lockdep_assert_held(&queue->lock);

	if (!notice->pending) {
		notice->pending = BIT(type);
		notice->status = status;
		rca_queue_add_locked(queue, src, notice);
		return;
	}
	ev = rca_event_alloc_notice(rca_source_owner(src)->ctx);
	if (ev) {
		ev->src = src;
		ev->rec.type = type;
		ev->rec.status = status;
		rca_queue_add_locked(queue, src, &ev->item);
		return;
	}
	if (notice->placed == notice->pending)
		list_move_tail(&notice->qnode, &queue->items);
	notice->pending |= BIT(type);
	if (rca_notice_has_status(type))
		notice->status = status;
	queue->waiting++;
	rca_queue_posted_locked(queue);
}

/**
 * rca_post_notice() - post an event that is not lost without memory
 * @src: its source
 * @type: &enum rdma_cm_alt_event_type, one of librdmacm; posted once if it is pending already
 * @status: its status; of types without one it is ignored, see rca_notice_has_status()
 *
 * Context: Any context. The caller holds the source's lock.
 * Return: false if there is no queue, or an event of this type is pending already.
 */
bool rca_post_notice(struct rca_source *src, u32 type, int status)
{
	struct rca_queue *queue = src->queue;
	bool fresh;

	lockdep_assert_held(rca_source_lock(src));

	if (!queue)
		return false;
	spin_lock(&queue->lock);
	rca_queue_reap_locked(queue);	/* an event that user space has taken is not pending */
	fresh = !(src->pending & BIT(type));
	if (fresh) {
		src->pending |= BIT(type);
		link_notice_locked(queue, src, type, rca_notice_has_status(type) ? status : 0);
	}
	spin_unlock(&queue->lock);
	if (fresh)
		rca_queue_wake(queue);
	return fresh;
}

/**
 * rca_queue_wait() - sleep until there is an event to deliver
 * @queue: the queue
 *
 * Events that are posted meanwhile are not put into the ring.
 *
 * Context: Process context. Sleeps.
 * Return: 0, although another thread may take the event first; -ERESTARTSYS after a signal.
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

/**
 * rca_queue_peek() - get the record of the next event, and leave the event in the queue
 * @queue: the queue
 * @dlv: set to the event to copy to user space
 *
 * After a successful copy, rca_queue_consume() removes the event. After a failed one, call
 * rca_queue_release(); the next call returns the same event.
 *
 * Context: Process context. The caller holds @queue->reading.
 * Return: false if there is no event, or it is in the ring (&rca_delivery.in_ring).
 */
bool rca_queue_peek(struct rca_queue *queue, struct rca_delivery *dlv)
{
	struct rca_item *item = NULL;
	struct rca_record record __uninitialized;

	lockdep_assert_held(&queue->reading);

	spin_lock_irq(&queue->lock);
	dlv->in_ring = rca_queue_reap_locked(queue);
	if (!dlv->in_ring)
		item = list_first_entry_or_null(&queue->items, struct rca_item, qnode);
	dlv->item = item;
	dlv->child_queue = NULL;
	queue->held = item;
	if (item) {
		dlv->has_child = rca_item_has_child(item);
		rca_item_record(item, &record);
		memcpy(&dlv->rec, record.data, record.len);
		dlv->len = record.len;
	}
	spin_unlock_irq(&queue->lock);
	return item;
}

/**
 * rca_event_publish_child() - publish the new id of a connection request
 * @ev: the event that is about to be delivered; nothing happens if it is not a connection
 *      request, or its id was published before
 * @queue: queue for the events of the id
 *
 * Context: Process context. The caller holds the consume mutex of the event's queue.
 */
RCA_VISIBLE_IF_KUNIT void rca_event_publish_child(struct rca_event *ev, struct rca_queue *queue)
{
	if (!ev->child || ev->child_published)
		return;
	/* A closed queue refuses the source; the child then has no queue. */
	rca_source_attach(ev->child_src, queue);
	ev->child_published = true;
	/* Put in rca_item_complete_locked(); the other reference is handed to the table. */
	rca_obj_get(ev->child);
	rca_obj_publish(ev->child);
}

/**
 * rca_queue_consume() - remove the event that was copied to user space
 * @queue: the queue
 * @dlv: the event from rca_queue_peek()
 *
 * Publishes the new id of a connection request.
 *
 * Context: Process context. Sleeps. The caller holds @queue->reading since rca_queue_peek().
 * Return: true: the event is delivered; false: it was dropped or moved meanwhile, so the copy must
 * not be used.
 */
bool rca_queue_consume(struct rca_queue *queue, struct rca_delivery *dlv)
{
	struct rca_item *item = dlv->item;
	bool held;

	lockdep_assert_held(&queue->reading);

	mutex_lock(&queue->consume);	/* nothing is dropped or moved from here on */
	spin_lock_irq(&queue->lock);
	held = queue->held == item;
	if (held && rca_item_has_child(item)) {
		spin_unlock_irq(&queue->lock);
		rca_event_publish_child(rca_item_event(item), dlv->child_queue ?: queue);
		spin_lock_irq(&queue->lock);
	}
	if (held) {
		queue->held = NULL;
		rca_item_complete_locked(queue, item, dlv->rec.type);
	}
	spin_unlock_irq(&queue->lock);
	mutex_unlock(&queue->consume);
	return held;
}

/**
 * rca_queue_fill() - put waiting events into the ring
 * @queue: the queue
 *
 * Does nothing if another thread delivers, moves or drops events. Ends after as many steps as the
 * ring has records, although user space may take records all the time, and after a signal.
 *
 * Context: Process context. Sleeps.
 */
void rca_queue_fill(struct rca_queue *queue)
{
	u32 steps = queue->ring_entries;
	struct rca_item *request;
	bool more;

	if (!queue->ring_entries || !mutex_trylock(&queue->consume))
		return;
	do {
		spin_lock_irq(&queue->lock);
		rca_queue_reap_locked(queue);
		request = rca_queue_fill_locked(queue);
		more = rca_queue_open_ring(queue) && !list_empty(&queue->items);
		spin_unlock_irq(&queue->lock);
		/* The item is not in the ring, and the mutex is held, so it cannot go away. */
		if (request)
			rca_event_publish_child(rca_item_event(request), queue);
		cond_resched();
	} while (more && --steps && !signal_pending(current));
	mutex_unlock(&queue->consume);
}
