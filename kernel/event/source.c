// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Sources: attach one to a queue, move it with its waiting events, detach it.
 *
 * Locking: &rca_queue.consume (of two queues: by address), then the source's
 * spinlock, then &rca_queue.lock (of two queues: by address). The spinlocks
 * are taken with interrupts disabled.
 */
#include "event/queue.h"

#include <linux/bug.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/string.h>

/**
 * rca_source_init() - initialize a source, without a queue
 * @src: the source
 * @owner: the id that contains @src, at most 32 KiB before it
 * @lock: the state lock of the id, likewise near
 * @cookie: cookie of its records
 *
 * Context: Any context. @src is not shared yet.
 */
void rca_source_init(struct rca_source *src, struct rca_obj *owner, spinlock_t *lock, u64 cookie)
{
	memset(src, 0, sizeof(*src));
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
	struct rca_queue *queue = rca_source_queue(src);

	if (!queue)
		return;
	rca_queue_unread(queue);
	rca_queue_put(queue);
}

/**
 * rca_source_attach() - attach a source to its first queue
 * @src: a source without a queue
 * @queue: the queue; the source holds a reference
 *
 * Context: Process context. Takes the source's lock.
 * Return: 0; -EINVAL: the queue is closed, or the source has one.
 */
int rca_source_attach(struct rca_source *src, struct rca_queue *queue)
{
	int ret = -EINVAL;

	spin_lock_irq(rca_source_lock(src));
	spin_lock(&queue->lock);
	if (!queue->closed && !src->queue) {
		WRITE_ONCE(src->queue, rca_queue_get(queue)); /* put in rca_source_detach() */
		list_add_tail(&src->node, &queue->sources);
		queue->num_sources++;
		ret = 0;
	}
	spin_unlock(&queue->lock);
	spin_unlock_irq(rca_source_lock(src));
	return ret;
}

/**
 * rca_source_set_cookie() - change the cookie of records, also of waiting events
 * @src: the source
 * @cookie: the new cookie
 *
 * Context: Process context. Takes the source's lock.
 */
void rca_source_set_cookie(struct rca_source *src, u64 cookie)
{
	spin_lock_irq(rca_source_lock(src));
	if (src->queue) {
		spin_lock(&src->queue->lock);
		src->cookie = cookie;
		spin_unlock(&src->queue->lock);
	} else {
		src->cookie = cookie;
	}
	spin_unlock_irq(rca_source_lock(src));
}

static void rca_consume_lock(struct rca_queue *a, struct rca_queue *b)
{
	if (a > b)
		swap(a, b);
	if (a)
		mutex_lock(&a->consume);
	if (b && a != b)
		mutex_lock_nested(&b->consume, SINGLE_DEPTH_NESTING);
}

static void rca_consume_unlock(struct rca_queue *a, struct rca_queue *b)
{
	if (a)
		mutex_unlock(&a->consume);
	if (b && a != b)
		mutex_unlock(&b->consume);
}

/*
 * Stop delivery from the queue of a source and from @other, so that items can be moved from one
 * to the other. A source changes its queue under the consume mutex of the old one, so the result
 * is valid until rca_source_thaw(). NULL: the source has no queue.
 */
static struct rca_queue *rca_source_freeze(struct rca_source *src, struct rca_queue *other)
{
	struct rca_queue *queue;

	for (;;) {
		queue = rca_source_queue(src); /* put in rca_source_thaw() */
		rca_consume_lock(queue, other);
		if (READ_ONCE(src->queue) == queue)
			return queue;
		rca_consume_unlock(queue, other);
		rca_queue_put(queue);
	}
}

static void rca_source_thaw(struct rca_queue *queue, struct rca_queue *other)
{
	rca_consume_unlock(queue, other);
	rca_queue_put(queue);
}

static void rca_source_move_locked(struct rca_source *src, struct rca_queue *from,
				   struct rca_queue *to)
{
	struct rca_item *item;

	lockdep_assert_held(rca_source_lock(src));
	lockdep_assert_held(&from->lock);
	lockdep_assert_held(&to->lock);

	list_for_each_entry(item, &src->items, snode) {
		rca_item_invalidate_locked(from, item);
		list_move_tail(&item->qnode, &to->items);
		from->waiting -= rca_item_events(item);
		to->waiting += rca_item_events(item);
	}
	list_move_tail(&src->node, &to->sources);
	from->num_sources--;
	to->num_sources++;
	WRITE_ONCE(src->queue, rca_queue_get(to)); /* put in rca_source_detach() */
}

/* Move a source between two different queues, both of which are frozen. */
static int rca_source_transfer(struct rca_source *src, struct rca_queue *from,
			       struct rca_queue *to, u32 *reported)
{
	struct rca_queue *first = min(from, to), *second = max(from, to);
	int ret = -EINVAL;

	spin_lock_irq(rca_source_lock(src));
	spin_lock(&first->lock);
	spin_lock_nested(&second->lock, SINGLE_DEPTH_NESTING);
	if (!to->closed) {
		rca_queue_reap_locked(from);
		rca_source_move_locked(src, from, to);
		*reported = src->reported;
		ret = 0;
	}
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
 * Remove a source and its items from its queue, and add the events to @dropped. Returns the
 * number of items, each of which holds a reference on the owner.
 */
static unsigned int rca_source_unlink(struct rca_source *src, struct rca_queue *queue,
				      struct list_head *dropped)
{
	struct rca_item *item, *next;
	unsigned int count = 0;

	spin_lock_irq(rca_source_lock(src));
	spin_lock(&queue->lock);
	rca_queue_reap_locked(queue);
	list_for_each_entry_safe(item, next, &src->items, snode) {
		rca_item_invalidate_locked(queue, item);
		rca_item_unlink_locked(queue, item);
		queue->waiting -= rca_item_events(item);
		if (item->in_source)
			item->pending = 0;
		else
			list_add_tail(&item->qnode, dropped);
		count++;
	}
	src->pending = 0;
	list_del_init(&src->node);
	queue->num_sources--;
	WRITE_ONCE(src->queue, NULL);
	spin_unlock(&queue->lock);
	spin_unlock_irq(rca_source_lock(src));
	return count;
}

/*
 * Free the events that rca_source_unlink() has dropped, but connection requests, which are moved
 * to @requests. Puts the references of @count items, perhaps the last ones on the owner.
 */
static void rca_source_discard(struct rca_source *src, struct list_head *dropped,
			       unsigned int count, struct list_head *requests)
{
	struct rca_event *ev, *next;

	list_for_each_entry_safe(ev, next, dropped, item.qnode) {
		rca_event_done(ev);
		if (ev->child && !WARN_ON_ONCE(!requests)) {
			list_move_tail(&ev->item.qnode, requests);
			continue;
		}
		list_del_init(&ev->item.qnode);
		rca_event_free(ev);
	}
	while (count--)
		rca_obj_put(rca_source_owner(src)); /* from rca_queue_add_locked() */
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
		rca_item_invalidate_locked(queue, item);	/* must not be reaped */
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
	if (!ret && cookie)
		rca_source_set_cookie(src, *cookie);
	if (!ret && reported)
		*reported = delivered;
	rca_source_thaw(from, queue);
	if (!ret && rca_queue_ready(queue))
		rca_queue_wake(queue);
	return ret;
}

/**
 * rca_source_detach() - detach a source; its waiting and later events are dropped
 * @src: the source
 * @requests: undelivered connection requests are added here, linked by &rca_item.qnode. The
 *            caller removes each, disposes of its child (see &rca_event.child_published) and
 *            calls rca_event_free(). NULL if there cannot be any.
 *
 * References on the owner and credits of dropped events are put. A private queue is closed. A
 * second call does nothing.
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
	rca_source_thaw(queue, NULL);
	rca_source_discard(src, &dropped, count, requests);
	if (!queue->has_file)
		rca_queue_mark_closed(queue);
	rca_queue_put(queue); /* the reference of the source */
	return src->reported;
}

/* Move the undelivered events of one part to @dropped. Returns their number. */
static unsigned int rca_part_unlink(struct rca_source *src, struct rca_queue *queue,
				    struct rca_event_count *event_count, struct list_head *dropped)
{
	struct rca_item *item, *next;
	unsigned int count = 0;

	spin_lock_irq(&queue->lock);
	rca_queue_reap_locked(queue);
	list_for_each_entry_safe(item, next, &src->items, snode) {
		if (item->in_source || rca_item_event(item)->event_count != event_count)
			continue;
		rca_item_invalidate_locked(queue, item);
		rca_item_unlink_locked(queue, item);
		queue->waiting--;
		list_add_tail(&item->qnode, dropped);
		count++;
	}
	spin_unlock_irq(&queue->lock);
	return count;
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

	count = rca_part_unlink(src, queue, event_count, &dropped);
	rca_source_thaw(queue, NULL);
	rca_source_discard(src, &dropped, count, NULL);
	return event_count->reported;
}
