// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Queues: their life, and delivery of events without losing one.
 *
 * Locking: &rca_queue.consume, then &rca_queue.lock with interrupts off.
 */
#include <kunit/visibility.h>
#include <linux/bitops.h>
#include <linux/bug.h>
#include <linux/err.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "event/events.h"

/**
 * rca_queue_create() - make a queue
 * @ctx: its context; the queue takes a reference
 * @record_size: bytes per record for read()
 * @has_file: whether user space has a file descriptor of it
 *
 * Context: process context; may sleep.
 * Return: the queue with one reference, for rca_queue_put(); -EDQUOT: there are too many with
 *         a file; -ENOMEM.
 */
struct rca_queue *rca_queue_create(struct rca_ctx *ctx, u32 record_size, bool has_file)
{
	struct rca_queue *queue;
	int ret;

	/* A private one is part of its id. */
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
		rca_queue_enlist(queue);
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
 * Context: process context, without a spinlock: the memory of a ring may be virtual.
 */
void rca_queue_put(struct rca_queue *queue)
{
	if (!queue || !refcount_dec_and_test(&queue->ref))
		return;
	/* Each source has a reference on its queue, so none can be left. */
	WARN_ON_ONCE(!list_empty(&queue->sources) || !list_empty(&queue->items) ||
		     !list_empty(&queue->placed));
	rca_ring_free(queue->ring);
	if (queue->has_file) {
		rca_queue_delist(queue);
		rca_uncharge(&queue->ctx->account, RDMA_CM_ALT_RESOURCE_QUEUES, 1);
	}
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
	return !list_empty_careful(&queue->items) || rca_queue_unread(queue);
}
EXPORT_SYMBOL_IF_KUNIT(rca_queue_ready);

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

/* The part of a record that every event has, as a view of the bytes in a delivery. */
static struct rdma_cm_alt_event *rca_delivery_head(struct rca_delivery *dlv)
{
	return (struct rdma_cm_alt_event *)dlv->head;
}

static void rca_event_record(struct rca_delivery *dlv, struct rca_event *ev)
{
	struct rca_source *src = ev->src;

	ev->rec.cookie = src->cookie;
	if (!ev->child)
		ev->rec.id = rca_source_owner(src)->handle;
	dlv->data = &ev->rec;
	dlv->len = ev->rec.length;
}

static void rca_notice_record(struct rca_delivery *dlv, struct rca_item *notice)
{
	struct rca_source *src = rca_item_source(notice);
	struct rdma_cm_alt_event *head = rca_delivery_head(dlv);

	memset(dlv->head, 0, sizeof(dlv->head));
	head->length = sizeof(dlv->head);
	head->type = __ffs(notice->pending & ~notice->placed);
	if (rca_notice_has_status(head->type))
		head->status = notice->status;
	head->cookie = src->cookie;
	head->id = rca_source_owner(src)->handle;
	dlv->data = dlv->head;
	dlv->len = sizeof(dlv->head);
}

/**
 * rca_item_record() - the record of an item
 * @item: an item in a queue, not all of which lies in the ring; of a notice the lowest event
 * @dlv: filled in but for what concerns a new id
 *
 * Context: any; the caller holds the lock of the item's queue.
 */
void rca_item_record(struct rca_item *item, struct rca_delivery *dlv)
{
	dlv->item = item;
	if (item->is_notice)
		rca_notice_record(dlv, item);
	else
		rca_event_record(dlv, rca_item_event(item));
}
EXPORT_SYMBOL_IF_KUNIT(rca_item_record);

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
 * rca_queue_release() - the next event may be put into the ring again
 * @queue: the queue
 *
 * Context: process context; the caller holds @queue->consume.
 */
void rca_queue_release(struct rca_queue *queue)
{
	unsigned long flags;

	lockdep_assert_held(&queue->consume);

	spin_lock_irqsave(&queue->lock, flags);
	queue->held = false;
	spin_unlock_irqrestore(&queue->lock, flags);
}
EXPORT_SYMBOL_IF_KUNIT(rca_queue_release);

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
 * rca_item_complete_locked() - an event was delivered
 * @queue: the queue
 * @item: the item; when it has no other event it is in no queue any more, and may be gone
 * @type: type of the event
 *
 * Context: any; the caller holds @queue->lock.
 * Return: false: it is a notice, other events of which wait.
 */
bool rca_item_complete_locked(struct rca_queue *queue, struct rca_item *item, u32 type)
{
	struct rca_source *src = rca_item_source(item);
	struct rca_event *ev;

	lockdep_assert_held(&queue->lock);

	/* rca_source_move() looks without the lock. */
	WRITE_ONCE(src->reported, src->reported + 1);
	if (item->is_notice) {
		item->pending &= ~BIT(type);
		item->placed &= ~BIT(type);
		if (item->pending)
			return false;
		rca_item_unlink_locked(queue, item);
	} else {
		ev = rca_item_event(item);
		item->placed = 0;
		rca_item_unlink_locked(queue, item);
		if (ev->event_count)
			ev->event_count->reported++;
		if (ev->child_published)
			rca_obj_put(ev->child);	/* got in rca_event_publish_child() */
		rca_event_done(ev);
		rca_event_free(ev);
	}
	rca_obj_put(rca_source_owner(src)); /* from rca_item_link_locked() */
	return true;
}
EXPORT_SYMBOL_IF_KUNIT(rca_item_complete_locked);

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
		owner = rca_obj_get(rca_source_owner(src));
		list_move_tail(&src->node, &queue->sources);
	}
	spin_unlock_irqrestore(&queue->lock, flags);
	return owner;
}
EXPORT_SYMBOL_IF_KUNIT(rca_queue_next_owner);
