// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Queues: their life, and delivery of events without losing one.
 *
 * Locking: &rca_queue.consume, then &rca_queue.lock with interrupts off.
 */
#include <kunit/visibility.h>
#include <linux/bitops.h>
#include <linux/bug.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "events.h"

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

/* The part of a record that every event has, as a view of the bytes in a delivery. */
static struct rdma_cm_alt_event *rca_delivery_head(struct rca_delivery *dlv)
{
	return (struct rdma_cm_alt_event *)dlv->head;
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
	if (rca_notice_has_status(head->type))
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
		if (ev->tally)
			ev->tally->reported++;
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
