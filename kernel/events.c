// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Queues of events: posting, delivering without losing one, moving and
 * dropping those of an id.
 *
 * Locking: &rca_queue.consume (of two queues: by address), then the source's
 * spinlock, then &rca_queue.lock (of two queues: by address). The spinlocks
 * are taken with interrupts off, as events may be posted from anywhere.
 *
 * More than 600 lines because posting, delivering, moving and dropping share
 * the rules for the two lists that an item is on.
 */
#include "events.h"

#include <kunit/visibility.h>
#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/bug.h>
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/string.h>

static_assert(BITS_PER_TYPE(typeof_member(struct rca_notice, pending)) > RDMA_CM_ALT_EVENT_USER);

static struct kmem_cache *rca_event_cache;

/**
 * rca_events_init() - make events possible
 *
 * Context: process context, once, before any queue exists.
 * Return: 0 or -ENOMEM.
 */
int __init rca_events_init(void)
{
	/* The record is copied to user space from where it is. */
	rca_event_cache = KMEM_CACHE_USERCOPY(rca_event, 0, rec);
	return rca_event_cache ? 0 : -ENOMEM;
}

/**
 * rca_events_exit() - free what rca_events_init() made
 *
 * Context: process context, once, after the last event is gone.
 */
void rca_events_exit(void)
{
	kmem_cache_destroy(rca_event_cache);
}

/**
 * rca_event_alloc() - memory for an event
 * @gfp: flags
 *
 * Context: process context; may sleep if @gfp allows it.
 * Return: an event that is zero but for the length of its record, for
 *         rca_post() or rca_event_free(); NULL: no memory.
 */
struct rca_event *rca_event_alloc(gfp_t gfp)
{
	struct rca_event *ev = kmem_cache_zalloc(rca_event_cache, gfp);

	if (!ev)
		return NULL;
	INIT_LIST_HEAD(&ev->item.qnode);
	INIT_LIST_HEAD(&ev->item.snode);
	ev->rec.length = sizeof(ev->rec);
	return ev;
}
EXPORT_SYMBOL_IF_KUNIT(rca_event_alloc);

/**
 * rca_event_free() - free an event that is in no queue
 * @ev: the event, or NULL; its child and its credit are the caller's business
 *
 * Context: any.
 */
void rca_event_free(struct rca_event *ev)
{
	if (!ev)
		return;
	WARN_ON_ONCE(!list_empty(&ev->item.qnode));
	kmem_cache_free(rca_event_cache, ev);
}
EXPORT_SYMBOL_IF_KUNIT(rca_event_free);

/**
 * rca_queue_create() - make a queue
 * @ctx: its context; the queue takes a reference
 * @record_size: bytes per record for read()
 * @has_file: whether user space has a file descriptor of it
 *
 * Context: process context; may sleep.
 * Return: the queue with one reference, for rca_queue_put(); NULL: no memory.
 */
struct rca_queue *rca_queue_create(struct rca_ctx *ctx, u32 record_size, bool has_file)
{
	struct rca_queue *queue = kzalloc(sizeof(*queue), GFP_KERNEL_ACCOUNT);

	if (!queue)
		return NULL;
	refcount_set(&queue->ref, 1);
	queue->ctx = rca_ctx_get(ctx); /* put in rca_queue_put() */
	mutex_init(&queue->consume);
	spin_lock_init(&queue->lock);
	INIT_LIST_HEAD(&queue->items);
	INIT_LIST_HEAD(&queue->sources);
	init_waitqueue_head(&queue->wait);
	queue->record_size = record_size;
	queue->has_file = has_file;
	return queue;
}
EXPORT_SYMBOL_IF_KUNIT(rca_queue_create);

/**
 * rca_queue_get() - take one more reference on a queue
 * @queue: a queue that the caller has a reference on
 *
 * Context: any.
 * Return: @queue, for rca_queue_put().
 */
struct rca_queue *rca_queue_get(struct rca_queue *queue)
{
	refcount_inc(&queue->ref);
	return queue;
}
EXPORT_SYMBOL_IF_KUNIT(rca_queue_get);

/**
 * rca_queue_put() - give a reference on a queue back
 * @queue: the queue, freed with the last reference; or NULL
 *
 * Context: any.
 */
void rca_queue_put(struct rca_queue *queue)
{
	if (!queue || !refcount_dec_and_test(&queue->ref))
		return;
	/* Each source has a reference on its queue, so none can be left. */
	WARN_ON_ONCE(!list_empty(&queue->sources) || !list_empty(&queue->items));
	mutex_destroy(&queue->consume);
	rca_ctx_put(queue->ctx);
	kfree(queue);
}
EXPORT_SYMBOL_IF_KUNIT(rca_queue_put);

/**
 * rca_queue_ready() - is there an event to deliver?
 * @queue: the queue
 *
 * Context: any; without a lock the answer may be old when it arrives. Whoever
 * sleeps until it changes waits on &rca_queue.wait.
 * Return: true when there is one.
 */
bool rca_queue_ready(struct rca_queue *queue)
{
	return !list_empty_careful(&queue->items);
}
EXPORT_SYMBOL_IF_KUNIT(rca_queue_ready);

static void rca_queue_wake(struct rca_queue *queue)
{
	wake_up_interruptible_poll(&queue->wait, EPOLLIN | EPOLLRDNORM);
}

static struct rca_event *rca_item_event(struct rca_item *item)
{
	return container_of(item, struct rca_event, item);
}

/* The part of a record that every event has, as a view of the bytes in a delivery. */
static struct rdma_cm_alt_event *rca_delivery_head(struct rca_delivery *dlv)
{
	return (struct rdma_cm_alt_event *)dlv->head;
}

static struct rca_notice *rca_item_notice(struct rca_item *item)
{
	return container_of(item, struct rca_notice, item);
}

static void rca_item_link_locked(struct rca_queue *queue, struct rca_source *src,
				 struct rca_item *item)
{
	lockdep_assert_held(&queue->lock);

	item->src = src;
	list_add_tail(&item->qnode, &queue->items);
	list_add_tail(&item->snode, &src->items);
	rca_obj_get(src->owner); /* put in rca_queue_consume() or rca_source_detach() */
}

static void rca_item_unlink_locked(struct rca_queue *queue, struct rca_item *item)
{
	lockdep_assert_held(&queue->lock);

	list_del_init(&item->qnode);
	list_del_init(&item->snode);
}

/* What is left of an event that is in no queue any more. */
static void rca_event_done(struct rca_event *ev)
{
	if (ev->credit)
		atomic_dec(ev->credit);
	ev->credit = NULL;
}

static void rca_peek_event(struct rca_delivery *dlv, struct rca_event *ev)
{
	struct rca_source *src = ev->item.src;

	ev->rec.cookie = src->cookie;
	if (!ev->child)
		ev->rec.id = src->owner->handle;
	dlv->data = &ev->rec;
	dlv->len = ev->rec.length;
}

static void rca_peek_notice(struct rca_delivery *dlv, struct rca_notice *notice)
{
	struct rca_source *src = notice->item.src;
	struct rdma_cm_alt_event *head = rca_delivery_head(dlv);

	memset(dlv->head, 0, sizeof(dlv->head));
	head->length = sizeof(dlv->head);
	head->type = __ffs(notice->pending);
	if (head->type != RDMA_CM_ALT_EVENT_TIMEWAIT_EXIT)
		head->status = notice->status;
	head->cookie = src->cookie;
	head->id = src->owner->handle;
	dlv->data = dlv->head;
	dlv->len = sizeof(dlv->head);
}

/**
 * rca_queue_peek() - look at the next event, and leave it in the queue
 * @queue: the queue
 * @dlv: what to copy to user space; valid while @queue->consume is held
 *
 * When the copy has arrived, rca_queue_consume() takes the event off; without
 * that the next call finds the same event.
 *
 * Context: process context; the caller holds @queue->consume.
 * Return: false: there is no event.
 */
bool rca_queue_peek(struct rca_queue *queue, struct rca_delivery *dlv)
{
	struct rca_item *item;
	unsigned long flags;

	lockdep_assert_held(&queue->consume);

	spin_lock_irqsave(&queue->lock, flags);
	item = list_first_entry_or_null(&queue->items, struct rca_item, qnode);
	dlv->item = item;
	dlv->child_queue = NULL;
	if (item && item->is_notice)
		rca_peek_notice(dlv, rca_item_notice(item));
	else if (item)
		rca_peek_event(dlv, rca_item_event(item));
	spin_unlock_irqrestore(&queue->lock, flags);
	return item;
}
EXPORT_SYMBOL_IF_KUNIT(rca_queue_peek);

/* Takes the delivered bit off. True: it was the last one, and the notice is in no queue now. */
static bool rca_notice_consume_locked(struct rca_queue *queue, struct rca_notice *notice, u32 type)
{
	struct rca_source *src = notice->item.src;

	lockdep_assert_held(&queue->lock);

	notice->pending &= ~BIT(type);
	if (!notice->pending) {
		rca_item_unlink_locked(queue, &notice->item);
		return true;
	}
	/* What is left of a connection comes next, whatever else waits. */
	if (notice != &src->notice[RCA_NOTICE_CONN]) {
		list_move_tail(&notice->item.qnode, &queue->items);
		list_move_tail(&notice->item.snode, &src->items);
	}
	return false;
}

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
	struct rca_item *item = dlv->item;
	struct rca_source *src = item->src;
	struct rca_event *ev = NULL;
	unsigned long flags;
	bool gone = true;

	lockdep_assert_held(&queue->consume);

	spin_lock_irqsave(&queue->lock, flags);
	src->reported++;
	if (item->is_notice) {
		gone = rca_notice_consume_locked(queue, rca_item_notice(item),
						 rca_delivery_head(dlv)->type);
	} else {
		rca_item_unlink_locked(queue, item);
		ev = rca_item_event(item);
	}
	spin_unlock_irqrestore(&queue->lock, flags);

	dlv->item = NULL;
	dlv->data = NULL;
	if (ev) {
		/* A queue that is being closed takes no source; the child lives without. */
		if (ev->child_src)
			rca_source_attach(ev->child_src, dlv->child_queue ?: queue);
		if (ev->child)
			rca_obj_publish(ev->child);
		rca_event_done(ev);
		rca_event_free(ev);
	}
	if (gone)
		rca_obj_put(src->owner); /* from rca_item_link_locked() */
}
EXPORT_SYMBOL_IF_KUNIT(rca_queue_consume);

/**
 * rca_delivery_has_child() - does this event bring a new id?
 * @dlv: what rca_queue_peek() found
 *
 * Context: process context; the caller holds the queue's consume mutex.
 * Return: true: it does.
 */
bool rca_delivery_has_child(const struct rca_delivery *dlv)
{
	return !dlv->item->is_notice && rca_item_event(dlv->item)->child;
}
EXPORT_SYMBOL_IF_KUNIT(rca_delivery_has_child);

/**
 * rca_queue_mark_closed() - let no source be attached any more
 * @queue: the queue
 *
 * Wakes everybody who waits. Sources that are attached stay so, and may post.
 *
 * Context: any.
 */
void rca_queue_mark_closed(struct rca_queue *queue)
{
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	WRITE_ONCE(queue->closed, true); /* pairs with rca_source_move() */
	spin_unlock_irqrestore(&queue->lock, flags);
	wake_up_interruptible_all(&queue->wait);
}
EXPORT_SYMBOL_IF_KUNIT(rca_queue_mark_closed);

/**
 * rca_queue_next_owner() - an id that still posts to a queue
 * @queue: a queue that is closed, so that their number only falls
 *
 * The caller destroys the id, which detaches it. One that somebody else
 * destroys right now may be returned more than once; others come in between.
 *
 * Context: any.
 * Return: the owner of a source with a reference, for rca_obj_put(); NULL:
 *         there is none.
 */
struct rca_obj *rca_queue_next_owner(struct rca_queue *queue)
{
	struct rca_obj *owner = NULL;
	struct rca_source *src;
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	src = list_first_entry_or_null(&queue->sources, struct rca_source, node);
	if (src) {
		/* A source is detached before its owner's last reference goes. */
		owner = rca_obj_get(src->owner);
		list_move_tail(&src->node, &queue->sources);
	}
	spin_unlock_irqrestore(&queue->lock, flags);
	return owner;
}
EXPORT_SYMBOL_IF_KUNIT(rca_queue_next_owner);

/**
 * rca_source_init() - prepare a source; it has no queue yet
 * @src: the source
 * @owner: the id that it lives in
 * @lock: the id's state spinlock
 * @cookie: stamped on its records
 *
 * Context: any; nobody else knows @src yet.
 */
void rca_source_init(struct rca_source *src, struct rca_obj *owner, spinlock_t *lock, u64 cookie)
{
	int slot;

	memset(src, 0, sizeof(*src));
	src->lock = lock;
	src->owner = owner;
	src->cookie = cookie;
	INIT_LIST_HEAD(&src->node);
	INIT_LIST_HEAD(&src->items);
	for (slot = 0; slot < RCA_NOTICE_SLOTS; slot++) {
		struct rca_item *item = &src->notice[slot].item;

		INIT_LIST_HEAD(&item->qnode);
		INIT_LIST_HEAD(&item->snode);
		item->is_notice = true;
	}
}
EXPORT_SYMBOL_IF_KUNIT(rca_source_init);

/**
 * rca_source_queue() - the queue of a source
 * @src: the source
 *
 * Context: any; takes the source's lock.
 * Return: the queue with a reference, for rca_queue_put(); NULL: none.
 */
struct rca_queue *rca_source_queue(struct rca_source *src)
{
	struct rca_queue *queue;
	unsigned long flags;

	spin_lock_irqsave(src->lock, flags);
	queue = src->queue;
	if (queue)
		rca_queue_get(queue);
	spin_unlock_irqrestore(src->lock, flags);
	return queue;
}
EXPORT_SYMBOL_IF_KUNIT(rca_source_queue);

/**
 * rca_source_attach() - give a source its first queue
 * @src: a source without a queue
 * @queue: the queue; the source takes a reference
 *
 * Context: any; takes the source's lock.
 * Return: 0; -EINVAL: the queue is closed, or the source has one.
 */
int rca_source_attach(struct rca_source *src, struct rca_queue *queue)
{
	unsigned long flags;
	int ret = -EINVAL;

	spin_lock_irqsave(src->lock, flags);
	spin_lock(&queue->lock);
	if (!queue->closed && !src->queue) {
		src->queue = rca_queue_get(queue); /* put in rca_source_detach() */
		list_add_tail(&src->node, &queue->sources);
		ret = 0;
	}
	spin_unlock(&queue->lock);
	spin_unlock_irqrestore(src->lock, flags);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(rca_source_attach);

/**
 * rca_source_set_cookie() - change what is stamped on records from now on
 * @src: the source
 * @cookie: the new cookie; counts for events that wait, too
 *
 * Context: any; takes the source's lock.
 */
void rca_source_set_cookie(struct rca_source *src, u64 cookie)
{
	unsigned long flags;

	spin_lock_irqsave(src->lock, flags);
	if (src->queue) {
		spin_lock(&src->queue->lock);
		src->cookie = cookie;
		spin_unlock(&src->queue->lock);
	} else {
		src->cookie = cookie;
	}
	spin_unlock_irqrestore(src->lock, flags);
}
EXPORT_SYMBOL_IF_KUNIT(rca_source_set_cookie);

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
 * Stops delivery from the queue of a source and from @other, so that items may
 * be taken off the one and put on the other. A source changes its queue under
 * the consume mutex of the old one, hence the result is good until
 * rca_source_thaw(). NULL: the source has no queue.
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

	lockdep_assert_held(src->lock);
	lockdep_assert_held(&from->lock);
	lockdep_assert_held(&to->lock);

	list_for_each_entry(item, &src->items, snode)
		list_move_tail(&item->qnode, &to->items);
	list_move_tail(&src->node, &to->sources);
	WRITE_ONCE(src->queue, rca_queue_get(to)); /* put in rca_source_detach() */
}

/* Moves a source between two different queues, both of which are frozen. */
static int rca_source_transfer(struct rca_source *src, struct rca_queue *from,
			       struct rca_queue *to)
{
	struct rca_queue *first = min(from, to), *second = max(from, to);
	unsigned long flags;
	int ret = -EINVAL;

	spin_lock_irqsave(src->lock, flags);
	spin_lock(&first->lock);
	spin_lock_nested(&second->lock, SINGLE_DEPTH_NESTING);
	if (!to->closed) {
		rca_source_move_locked(src, from, to);
		ret = 0;
	}
	spin_unlock(&second->lock);
	spin_unlock(&first->lock);
	spin_unlock_irqrestore(src->lock, flags);
	if (ret)
		return ret;
	if (!from->has_file)
		rca_queue_mark_closed(from);
	rca_queue_put(from); /* the source's */
	return 0;
}

/**
 * rca_source_move() - give a source another queue; undelivered events move along
 * @src: the source
 * @queue: the new queue; the source takes a reference
 * @cookie: the new cookie, also for events that wait; NULL: it stays
 * @reported: where to store how many events were delivered until now; or NULL
 *
 * The events keep their order. A private queue is closed when its source
 * leaves, so that nobody waits there any more. On error nothing has changed.
 *
 * Context: process context; may sleep. Takes &rca_queue.consume of both queues
 * and the source's lock; waits for a delivery that is under way.
 * Return: 0; -EINVAL: the new queue is closed; -ENOENT: the source was detached.
 */
int rca_source_move(struct rca_source *src, struct rca_queue *queue, const u64 *cookie,
		    u32 *reported)
{
	struct rca_queue *from = rca_source_freeze(src, queue);
	int ret = 0;

	if (!from)
		ret = -ENOENT;
	else if (from != queue)
		ret = rca_source_transfer(src, from, queue);
	else if (READ_ONCE(queue->closed)) /* pairs with rca_queue_mark_closed() */
		ret = -EINVAL;
	if (!ret && cookie)
		rca_source_set_cookie(src, *cookie);
	/* Only a delivery changes it, and none is under way. */
	if (!ret && reported)
		*reported = src->reported;
	rca_source_thaw(from, queue);
	if (!ret && rca_queue_ready(queue))
		rca_queue_wake(queue);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(rca_source_move);

/*
 * Takes a source and its items off its queue. The events go on @dropped.
 * Returns how many items there were: each has a reference on the owner.
 */
static unsigned int rca_source_unlink(struct rca_source *src, struct rca_queue *queue,
				      struct list_head *dropped)
{
	struct rca_item *item, *next;
	unsigned int count = 0;
	unsigned long flags;

	spin_lock_irqsave(src->lock, flags);
	spin_lock(&queue->lock);
	list_for_each_entry_safe(item, next, &src->items, snode) {
		rca_item_unlink_locked(queue, item);
		if (item->is_notice)
			rca_item_notice(item)->pending = 0;
		else
			list_add_tail(&item->qnode, dropped);
		count++;
	}
	list_del_init(&src->node);
	WRITE_ONCE(src->queue, NULL);
	spin_unlock(&queue->lock);
	spin_unlock_irqrestore(src->lock, flags);
	return count;
}

/**
 * rca_source_detach() - let no event of a source be delivered any more
 * @src: the source; events that it posts from now on are dropped
 * @requests: undelivered connection requests are added here, linked by
 *            &rca_item.qnode; the caller takes each off the list, disposes of
 *            its child and calls rca_event_free(). NULL: there cannot be any.
 *
 * The owner's references of dropped events are given back, and so are their
 * credits. A private queue is closed. Calling it again does nothing.
 *
 * Context: process context; may sleep. Takes &rca_queue.consume and the
 * source's lock; waits for a delivery that is under way. The caller has a
 * reference on the owner.
 * Return: how many events of the source were delivered.
 */
u32 rca_source_detach(struct rca_source *src, struct list_head *requests)
{
	struct rca_queue *queue = rca_source_freeze(src, NULL);
	struct rca_event *ev, *next;
	LIST_HEAD(dropped);
	unsigned int count;

	if (!queue)
		return src->reported;

	count = rca_source_unlink(src, queue, &dropped);
	rca_source_thaw(queue, NULL);

	list_for_each_entry_safe(ev, next, &dropped, item.qnode) {
		rca_event_done(ev);
		if (ev->child && !WARN_ON_ONCE(!requests)) {
			list_move_tail(&ev->item.qnode, requests);
			continue;
		}
		list_del_init(&ev->item.qnode);
		rca_event_free(ev);
	}
	while (count--)
		rca_obj_put(src->owner); /* from rca_item_link_locked() */
	if (!queue->has_file)
		rca_queue_mark_closed(queue);
	rca_queue_put(queue); /* the source's */
	return src->reported;
}
EXPORT_SYMBOL_IF_KUNIT(rca_source_detach);

/**
 * rca_post() - post an event
 * @src: its source
 * @ev: the event; belongs to the queue from now on
 *
 * Without a queue the event is dropped. That must not happen to a connection
 * request: who posts one asks for the queue first, under the same lock.
 *
 * Context: any; the caller holds the source's lock.
 */
void rca_post(struct rca_source *src, struct rca_event *ev)
{
	struct rca_queue *queue = src->queue;
	unsigned long flags;

	lockdep_assert_held(src->lock);

	if (!queue) {
		WARN_ON_ONCE(ev->child);
		rca_event_done(ev);
		rca_event_free(ev);
		return;
	}
	spin_lock_irqsave(&queue->lock, flags);
	rca_item_link_locked(queue, src, &ev->item);
	spin_unlock_irqrestore(&queue->lock, flags);
	rca_queue_wake(queue);
}
EXPORT_SYMBOL_IF_KUNIT(rca_post);

/**
 * rca_post_notice() - post an event that needs no memory
 * @src: its source
 * @slot: which notice it is part of
 * @type: &enum rdma_cm_alt_event_type; one that already waits is not doubled
 * @status: status of the slot's pending events; not that of
 *          RDMA_CM_ALT_EVENT_TIMEWAIT_EXIT, which is always 0
 *
 * Context: any; the caller holds the source's lock.
 */
void rca_post_notice(struct rca_source *src, enum rca_notice_slot slot, u32 type, int status)
{
	struct rca_notice *notice = &src->notice[slot];
	struct rca_queue *queue = src->queue;
	unsigned long flags;

	lockdep_assert_held(src->lock);

	if (!queue)
		return;
	spin_lock_irqsave(&queue->lock, flags);
	if (!notice->pending)
		rca_item_link_locked(queue, src, &notice->item);
	notice->pending |= BIT(type);
	if (type != RDMA_CM_ALT_EVENT_TIMEWAIT_EXIT)
		notice->status = status;
	spin_unlock_irqrestore(&queue->lock, flags);
	rca_queue_wake(queue);
}
EXPORT_SYMBOL_IF_KUNIT(rca_post_notice);
