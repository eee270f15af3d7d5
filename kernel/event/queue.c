// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Queues: their life, the events that wait in them and in their ring, how tools see them.
 *
 * Locking: &rca_ctx.queues_lock and &rca_queue.lock, never both. &rca_queue.lock is taken with
 * interrupts off.
 */
#include <kunit/visibility.h>
#include <linux/bitops.h>
#include <linux/bug.h>
#include <linux/build_bug.h>
#include <linux/err.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "event/events.h"

/* Records that are put in under one hold of the spinlock. */
#define FILL_BATCH 16

static_assert(RCA_RING_MAX - 1 <= U16_MAX);	/* &rca_item.place */

/* A new queue that has a file: it can be seen from now on. */
static void enlist(struct rca_queue *queue)
{
	struct rca_ctx *ctx = queue->ctx;

	queue->netns = current->nsproxy->net_ns->net_cookie;
	spin_lock(&ctx->queues_lock);
	queue->serial = ++ctx->queue_serial;
	list_add_tail(&queue->node, &ctx->queues);
	spin_unlock(&ctx->queues_lock);
}

/* Nobody has a reference any more. */
static void delist(struct rca_queue *queue)
{
	struct rca_ctx *ctx = queue->ctx;

	spin_lock(&ctx->queues_lock);
	list_del(&queue->node);
	spin_unlock(&ctx->queues_lock);
}

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
		enlist(queue);
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
		delist(queue);
		rca_uncharge(&queue->ctx->account, RDMA_CM_ALT_RESOURCE_QUEUES, 1);
	}
	mutex_destroy(&queue->consume);
	rca_ctx_put(queue->ctx);
	kfree(queue);
}
EXPORT_SYMBOL_IF_KUNIT(rca_queue_put);

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
 * rca_queue_reap_locked() - take off what user space is done with
 * @queue: the queue
 *
 * Context: any; the caller holds @queue->lock.
 * Return: true: there are records in the ring that it is not done with.
 */
bool rca_queue_reap_locked(struct rca_queue *queue)
{
	struct rca_ring *ring = rca_queue_active_ring(queue);
	struct rca_item *item;
	u32 seen, type;

	if (!ring)
		return false;
	seen = rca_ring_seen(ring);
	while ((item = rca_ring_next(ring, seen, &type)))
		rca_item_complete_locked(queue, item, type);
	return ring->unread;
}
EXPORT_SYMBOL_IF_KUNIT(rca_queue_reap_locked);

/**
 * rca_queue_unread() - are there records in the ring that user space is not done with?
 * @queue: the queue
 *
 * Context: Any context. Takes and releases @queue->lock.
 * Return: true: there are.
 */
bool rca_queue_unread(struct rca_queue *queue)
{
	unsigned long flags;
	bool unread;

	if (!queue->ring_entries)
		return false;
	spin_lock_irqsave(&queue->lock, flags);
	unread = rca_queue_reap_locked(queue);
	spin_unlock_irqrestore(&queue->lock, flags);
	return unread;
}
EXPORT_SYMBOL_IF_KUNIT(rca_queue_unread);

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

/* Does all of the item lie in the ring? */
static bool is_placed(struct rca_item *item)
{
	return item->is_notice ? item->placed == item->pending : item->placed;
}

static void place_locked(struct rca_queue *queue, struct rca_ring *ring, struct rca_item *item)
{
	struct rca_delivery dlv;
	u32 type;

	do {
		rca_item_record(item, &dlv);
		type = ((const struct rdma_cm_alt_event *)dlv.data)->type;
		if (!item->is_notice)
			item->place = ring->tail & (ring->entries - 1);
		rca_ring_put(ring, dlv.data, dlv.len, item, type);
		item->placed |= item->is_notice ? BIT(type) : 1;
	} while (!is_placed(item) && !rca_ring_full(ring));
	if (is_placed(item))
		list_move_tail(&item->qnode, &queue->placed);
}

static bool must_expose(struct rca_item *item)
{
	return !item->is_notice && rca_item_event(item)->child &&
	       !rca_item_event(item)->child_published;
}

/**
 * rca_queue_fill_locked() - put events that wait into the ring, a few of them
 * @queue: the queue; reaped here
 *
 * Nothing happens when the ring is not in use, is full, or somebody waits in read() or
 * has the next event in hand.
 *
 * Context: any; the caller holds @queue->lock.
 * Return: the next event when it is a request whose id has to be published first; else NULL.
 */
struct rca_item *rca_queue_fill_locked(struct rca_queue *queue)
{
	struct rca_ring *ring = rca_queue_active_ring(queue);
	struct rca_item *item;
	int i;

	if (!ring)
		return NULL;
	rca_queue_reap_locked(queue);
	if (queue->readers || queue->held)
		return NULL;
	for (i = 0; i < FILL_BATCH && !rca_ring_full(ring); i++) {
		item = list_first_entry_or_null(&queue->items, struct rca_item, qnode);
		if (!item)
			break;
		if (must_expose(item))
			return item;
		place_locked(queue, ring, item);
	}
	return NULL;
}
EXPORT_SYMBOL_IF_KUNIT(rca_queue_fill_locked);

/**
 * rca_queue_posted_locked() - something was posted: put it into the ring if that may be done here
 * @queue: the queue
 *
 * Whoever holds the consume mutex may be delivering the first event right now,
 * and puts the rest in. He has taken @queue->lock since, so we see the mutex locked.
 *
 * Context: any; the caller holds @queue->lock.
 */
void rca_queue_posted_locked(struct rca_queue *queue)
{
	if (queue->ring && !mutex_is_locked(&queue->consume))
		rca_queue_fill_locked(queue);
}
EXPORT_SYMBOL_IF_KUNIT(rca_queue_posted_locked);

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

/**
 * rca_queue_next() - go through the queues of a context that have a file, the oldest first
 * @ctx: the context
 * @prev: the queue before, whose reference is put; NULL: start
 * @after: to start: serial number of the one before; 0: with the first one
 *
 * Context: Process context.
 * Return: the next one that is not on its way out, with a reference, for rca_queue_put(); NULL:
 *         there is none.
 */
struct rca_queue *rca_queue_next(struct rca_ctx *ctx, struct rca_queue *prev, u32 after)
{
	struct rca_queue *queue, *found = NULL;

	spin_lock(&ctx->queues_lock);
	queue = list_prepare_entry(prev, &ctx->queues, node);
	list_for_each_entry_continue(queue, &ctx->queues, node) {
		if (queue->serial > after && refcount_inc_not_zero(&queue->ref)) {
			found = queue;
			break;
		}
	}
	spin_unlock(&ctx->queues_lock);
	rca_queue_put(prev);
	return found;
}
EXPORT_SYMBOL_IF_KUNIT(rca_queue_next);

static u32 count_sources(const struct list_head *sources)
{
	const struct list_head *pos;
	u32 n = 0;

	list_for_each(pos, sources) {
		if (++n == RCA_QUEUE_STAT_MAX)
			break;
	}
	return n;
}

/* A notice is as many events as types of it wait. */
static u32 count_events(const struct list_head *items, u32 n)
{
	const struct rca_item *item;

	list_for_each_entry(item, items, qnode) {
		if (n >= RCA_QUEUE_STAT_MAX)
			return RCA_QUEUE_STAT_MAX;
		n += item->is_notice ? hweight16(item->pending) : 1;
	}
	return min(n, (u32)RCA_QUEUE_STAT_MAX);
}

/**
 * rca_queue_stat() - look at a queue
 * @queue: the queue
 * @look: is set
 *
 * Context: Process context. Takes and releases @queue->lock.
 */
void rca_queue_stat(struct rca_queue *queue, struct rca_queue_stat *look)
{
	spin_lock_irq(&queue->lock);
	rca_queue_reap_locked(queue);	/* what user space has taken waits no more */
	look->ids = count_sources(&queue->sources);
	look->waiting = count_events(&queue->placed, count_events(&queue->items, 0));
	look->ring = queue->ring ? queue->ring_entries : 0;
	look->readers = queue->readers;
	spin_unlock_irq(&queue->lock);
}
EXPORT_SYMBOL_IF_KUNIT(rca_queue_stat);
