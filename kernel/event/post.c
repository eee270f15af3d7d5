// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Post events.
 *
 * Locking: the source's spinlock, which the caller takes with interrupts disabled, as events are
 * posted from any context; then &rca_queue.lock.
 */
#include <linux/bitops.h>
#include <linux/bug.h>

#include "event/events.h"

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
