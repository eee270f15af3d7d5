// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Sources: move one with its waiting events to another queue, detach it, drop events.
 *
 * Locking: &rca_queue.consume (of two queues: by address), then the source's
 * spinlock, then &rca_queue.lock (of two queues: by address). The spinlocks
 * are taken with interrupts disabled.
 */
#include "event/queue.h"

#include <linux/bitops.h>
#include <linux/bug.h>
#include <linux/errno.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "lib/compat.h"

/**
 * rca_source_init() - initialize a source, without a queue
 * @src: the source, filled with zeros
 * @owner: the id that contains @src, at most 32 KiB before it
 * @lock: the state lock of the id, likewise near
 * @cookie: cookie of its records
 *
 * Context: Any context. @src is not shared yet.
 */
void rca_source_init(struct rca_source *src, struct rca_obj *owner, spinlock_t *lock, u64 cookie)
{
	src->owner_at = (void *)src - (void *)owner;
	src->lock_at = (void *)lock - (void *)src;
	WARN_ON_ONCE(rca_source_owner(src) != owner || rca_source_lock(src) != lock);
	src->cookie = cookie;
	INIT_LIST_HEAD(&src->node);
	INIT_LIST_HEAD(&src->items);
	INIT_LIST_HEAD(&src->notice.qnode);
	INIT_LIST_HEAD(&src->notice.snode);
	src->notice.in_source = true;
}

/**
 * rca_source_queue() - get the queue of a source
 * @src: the source
 *
 * Context: Process context. Takes the source's lock.
 * Return: the queue with a reference, for rca_queue_put(); NULL: none.
 */
struct rca_queue *rca_source_queue(struct rca_source *src)
{
	struct rca_queue *queue;

	spin_lock_irq(rca_source_lock(src));
	queue = src->queue;
	if (queue)
		rca_queue_get(queue);
	spin_unlock_irq(rca_source_lock(src));
	return queue;
}

/**
 * rca_source_has_file() - do the events of a source go to a queue with a file of its own?
 * @src: the source
 *
 * Context: Process context. Takes the source's lock.
 * Return: false: its queue is private, and ends with the context, or there is none.
 */
bool rca_source_has_file(struct rca_source *src)
{
	struct rca_queue *queue;
	bool has_file;

	spin_lock_irq(rca_source_lock(src));
	queue = src->queue;
	has_file = queue && queue->has_file;
	spin_unlock_irq(rca_source_lock(src));
	return has_file;
}

/**
 * rca_source_reap() - reap the ring of the queue of a source
 * @src: the source
 *
 * Context: Process context. Takes the source's lock.
 */
void rca_source_reap(struct rca_source *src)
{
	struct rca_queue *queue;

	spin_lock_irq(rca_source_lock(src));
	queue = src->queue;
	if (queue) {
		spin_lock(&queue->lock);
		rca_queue_reap_locked(queue);
		spin_unlock(&queue->lock);
	}
	spin_unlock_irq(rca_source_lock(src));
}

/**
 * rca_source_set_cookie_locked() - change the cookie of records, also of waiting events
 * @src: the source
 * @cookie: the new cookie
 *
 * Context: Any context. The caller holds the source's lock.
 */
void rca_source_set_cookie_locked(struct rca_source *src, u64 cookie)
{
	lockdep_assert_held(rca_source_lock(src));
	if (src->queue) {
		spin_lock(&src->queue->lock);
		src->cookie = cookie;
		spin_unlock(&src->queue->lock);
	} else {
		src->cookie = cookie;
	}
}

static void thaw(struct rca_queue *queue, struct rca_queue *other)
{
	if (queue)
		mutex_unlock(&queue->consume);
	if (other && other != queue)
		mutex_unlock(&other->consume);
	rca_queue_put(queue);
}

/*
 * Stop delivery from the queue of a source and from @other, so that items can be moved from one
 * to the other. A source changes its queue under the consume mutex of the old one, so the result
 * is valid until thaw(). NULL: the source has no queue.
 */
static struct rca_queue *rca_source_freeze(struct rca_source *src, struct rca_queue *other)
{
	struct rca_queue *queue, *first, *second;

	for (;;) {
		queue = rca_source_queue(src); /* put in thaw() */
		first = min(queue, other);
		second = max(queue, other);
		if (first)
			mutex_lock(&first->consume);
		if (second && first != second)
			mutex_lock_nested(&second->consume, SINGLE_DEPTH_NESTING);
		if (READ_ONCE(src->queue) == queue)
			return queue;
		thaw(queue, other);
	}
}

/* The number of undelivered events of a queued item. */
static u32 item_events(const struct rca_item *item)
{
	return item->in_source ? hweight16(item->pending) : 1;
}

/*
 * Invalidate the records of an item: those in the ring, and that of a reader. The caller has reaped
 * the queue.
 */
static void invalidate_locked(struct rca_queue *queue, struct rca_item *item)
{
	lockdep_assert_held(&queue->lock);

	if (queue->held == item)
		queue->held = NULL;
	/* An id may have a thousand events there, and interrupts are off: do not search. */
	if (item->placed && item->in_source)
		rca_ring_invalidate(queue->ring, item);
	else if (item->placed)
		rca_ring_invalidate_at(queue->ring, item->place);
	item->placed = 0;
}

/* Move a source between two different queues, both of which are frozen. */
static int rca_source_transfer(struct rca_source *src, struct rca_queue *from,
			       struct rca_queue *to, u32 *reported)
{
	struct rca_queue *first = min(from, to), *second = max(from, to);
	struct rca_item *item;
	int ret = -EINVAL;

	spin_lock_irq(rca_source_lock(src));
	spin_lock(&first->lock);
	spin_lock_nested(&second->lock, SINGLE_DEPTH_NESTING);
	if (to->closed)
		goto out_unlock;
	ret = 0;
	rca_queue_reap_locked(from);
	list_for_each_entry(item, &src->items, snode) {
		invalidate_locked(from, item);
		list_move_tail(&item->qnode, &to->items);
		from->waiting -= item_events(item);
		to->waiting += item_events(item);
	}
	list_move_tail(&src->node, &to->sources);
	from->num_sources--;
	to->num_sources++;
	WRITE_ONCE(src->queue, rca_queue_get(to)); /* put in rca_source_detach() */
	*reported = src->reported;
out_unlock:
	spin_unlock(&second->lock);
	spin_unlock(&first->lock);
	spin_unlock_irq(rca_source_lock(src));
	if (ret)
		return ret;
	if (!from->has_file)
		rca_queue_mark_closed(from);
	rca_queue_put(from); /* the reference of the source */
	return 0;
}

/*
 * Remove the items of a source from its queue, only those of one part if there is @event_count, and
 * add the events to @dropped. Returns the number of items, each of which holds a reference on the
 * owner.
 */
static unsigned int unlink_items_locked(struct rca_source *src, struct rca_queue *queue,
					const struct rca_event_count *event_count,
					struct list_head *dropped)
{
	struct rca_item *item, *next;
	unsigned int count = 0;

	rca_queue_reap_locked(queue);
	list_for_each_entry_safe(item, next, &src->items, snode) {
		if (event_count &&
		    (item->in_source || rca_item_event(item)->event_count != event_count))
			continue;
		invalidate_locked(queue, item);
		queue->waiting -= item_events(item);
		list_del_init(&item->snode);
		list_del_init(&item->qnode);
		if (item->in_source)
			item->pending = 0;
		else
			list_add_tail(&item->qnode, dropped);
		count++;
	}
	return count;
}

/* Detach a source from its queue, with its items: see unlink_items_locked(). */
static unsigned int rca_source_unlink(struct rca_source *src, struct rca_queue *queue,
				      struct list_head *dropped)
{
	unsigned int count;

	spin_lock_irq(rca_source_lock(src));
	spin_lock(&queue->lock);
	count = unlink_items_locked(src, queue, NULL, dropped);
	src->pending = 0;
	list_del_init(&src->node);
	queue->num_sources--;
	WRITE_ONCE(src->queue, NULL);
	spin_unlock(&queue->lock);
	spin_unlock_irq(rca_source_lock(src));
	return count;
}

/*
 * Free events from unlink_items_locked(), but connection requests, which are moved to @requests.
 * Puts the references of @count items, perhaps the last ones on the owner.
 */
static void rca_source_discard(struct rca_source *src, struct list_head *dropped,
			       unsigned int count, struct list_head *requests)
{
	struct rca_event *ev, *next;

	list_for_each_entry_safe(ev, next, dropped, item.qnode) {
		if (ev->child && !WARN_ON_ONCE(!requests)) {
			list_move_tail(&ev->item.qnode, requests);
			continue;
		}
		list_del_init(&ev->item.qnode);
		rca_event_free(ev);
	}
	while (count--)
		rca_obj_put(rca_source_owner(src)); /* from add_locked() */
}

/* A request of the source whose new id is attached to the same queue already, or NULL. */
static struct rca_event *find_published_request(struct rca_source *src, struct rca_queue *queue)
{
	struct rca_event *found = NULL;
	struct rca_item *item;

	spin_lock_irq(&queue->lock);
	rca_queue_reap_locked(queue);
	list_for_each_entry(item, &src->items, snode) {
		struct rca_event *ev = item->in_source ? NULL : rca_item_event(item);

		if (!ev || !ev->child_published || !ev->child_src ||
		    READ_ONCE(ev->child_src->queue) != queue)
			continue;
		invalidate_locked(queue, item);	/* must not be reaped */
		list_move(&item->qnode, &queue->items);
		found = ev;
		break;
	}
	spin_unlock_irq(&queue->lock);
	return found;
}

/*
 * Unpublish and detach the new ids of connection requests that are in the ring, but not taken by
 * user space. They are published again when the requests are delivered from the new queue. Both
 * queues are frozen, so meanwhile no id is published and nothing is put into a ring.
 */
static void rca_source_unpublish_children(struct rca_source *src, struct rca_queue *from)
{
	struct rca_event *ev;
	LIST_HEAD(dropped);
	unsigned int count;

	while ((ev = find_published_request(src, from))) {
		struct rca_source *child = ev->child_src;

		if (!rca_obj_unpublish(ev->child)) {
			/* A thread that has guessed the handle is destroying the id. */
			ev->child_src = NULL;
			continue;
		}
		count = rca_source_unlink(child, from, &dropped);
		rca_source_discard(child, &dropped, count, NULL);
		rca_queue_put(from);	/* the reference of the child */
		ev->child_published = false;
		rca_obj_put(ev->child);	/* the reference of the table */
	}
}

/**
 * rca_source_move() - move a source and its undelivered events to another queue
 * @src: the source
 * @queue: the new queue; the source holds a reference
 * @cookie: the new cookie, also of waiting events; NULL to keep it
 * @reported: set to the number of events that were delivered so far; or NULL
 *
 * The events keep their order. A private queue is closed when its source leaves, so that no
 * thread waits there any more. An error changes nothing.
 *
 * Context: Process context. May sleep. Takes &rca_queue.consume of both queues and the source's
 *          lock.
 * Return: 0; -EINVAL: the new queue is closed; -ENOENT: the source was detached.
 */
int rca_source_move(struct rca_source *src, struct rca_queue *queue, const u64 *cookie,
		    u32 *reported)
{
	struct rca_queue *from = rca_source_freeze(src, queue);
	u32 delivered = 0;
	int ret = 0;

	if (!from) {
		ret = -ENOENT;
	} else if (READ_ONCE(queue->closed)) { /* pairs with rca_queue_mark_closed() */
		ret = -EINVAL;
	} else if (from != queue) {
		rca_source_unpublish_children(src, from);
		ret = rca_source_transfer(src, from, queue, &delivered);
	} else {
		rca_queue_unread(queue);
		delivered = READ_ONCE(src->reported);
	}
	if (!ret && cookie) {
		spin_lock_irq(rca_source_lock(src));
		rca_source_set_cookie_locked(src, *cookie);
		spin_unlock_irq(rca_source_lock(src));
	}
	if (!ret && reported)
		*reported = delivered;
	thaw(from, queue);
	if (!ret && rca_queue_ready(queue))
		rca_queue_wake(queue);
	return ret;
}
RCA_EXPORT(rca_source_move);

/**
 * rca_source_detach() - detach a source; its waiting and later events are dropped
 * @src: the source
 * @requests: undelivered connection requests are added here, linked by &rca_item.qnode. The
 *            caller removes each, disposes of its child (see &rca_event.child_published) and
 *            calls rca_event_free(). NULL if there cannot be any.
 *
 * References on the owner are put, and credits of dropped events but @requests. A private queue is
 * closed. A second call does nothing.
 *
 * Context: Process context. May sleep. Takes &rca_queue.consume and the source's lock. The caller
 *          holds a reference on the owner.
 * Return: the number of events of the source that were delivered.
 */
u32 rca_source_detach(struct rca_source *src, struct list_head *requests)
{
	struct rca_queue *queue = rca_source_freeze(src, NULL);
	LIST_HEAD(dropped);
	unsigned int count;

	if (!queue)
		return src->reported;

	count = rca_source_unlink(src, queue, &dropped);
	thaw(queue, NULL);
	rca_source_discard(src, &dropped, count, requests);
	if (!queue->has_file)
		rca_queue_mark_closed(queue);
	rca_queue_put(queue); /* the reference of the source */
	return src->reported;
}

/**
 * rca_source_drop() - drop the waiting events of a part of an id
 * @src: the source
 * @event_count: of the part, which posts no further events
 *
 * Context: Process context. May sleep. Takes &rca_queue.consume and the source's lock. The caller
 *          holds references on the owner and on the part.
 * Return: the number of events of the part that were delivered.
 */
u32 rca_source_drop(struct rca_source *src, struct rca_event_count *event_count)
{
	struct rca_queue *queue = rca_source_freeze(src, NULL);
	LIST_HEAD(dropped);
	unsigned int count;

	if (!queue)
		return event_count->reported;

	spin_lock_irq(&queue->lock);
	count = unlink_items_locked(src, queue, event_count, &dropped);
	spin_unlock_irq(&queue->lock);
	thaw(queue, NULL);
	rca_source_discard(src, &dropped, count, NULL);
	return event_count->reported;
}
