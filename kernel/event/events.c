// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Events: their memory, and posting them.
 *
 * Locking: the source's spinlock, then &rca_queue.lock. Both are taken with
 * interrupts off, as events may be posted from anywhere.
 */
#include "event/events.h"

#include <kunit/visibility.h>
#include <linux/bitops.h>
#include <linux/bug.h>
#include <linux/build_bug.h>
#include <linux/err.h>
#include <linux/slab.h>

/* The last of librdmacm's types: no other has a notice. */
static_assert(BITS_PER_TYPE(typeof_member(struct rca_item, pending)) >
	      RDMA_CM_ALT_EVENT_TIMEWAIT_EXIT);

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
	rca_event_cache = KMEM_CACHE_USERCOPY(rca_event, SLAB_ACCOUNT, rec);
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
 * @ctx: the context that pays for it, and lives longer
 * @gfp: flags
 *
 * Context: process context; may sleep if @gfp allows it.
 * Return: an event that is zero but for the length of its record, for
 *         rca_post() or rca_event_free(); -EDQUOT; -ENOMEM.
 */
struct rca_event *rca_event_alloc(struct rca_ctx *ctx, gfp_t gfp)
{
	struct rca_event *ev;
	int ret;

	ret = rca_charge(&ctx->account, RDMA_CM_ALT_RESOURCE_EVENTS, 1);
	if (ret)
		return ERR_PTR(ret);
	ev = kmem_cache_zalloc(rca_event_cache, gfp);
	if (!ev) {
		rca_uncharge(&ctx->account, RDMA_CM_ALT_RESOURCE_EVENTS, 1);
		return ERR_PTR(-ENOMEM);
	}
	ev->account = &ctx->account;
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
	WARN_ON_ONCE(!list_empty(&ev->item.qnode) || ev->is_request);
	rca_uncharge(ev->account, RDMA_CM_ALT_RESOURCE_EVENTS, 1);
	kmem_cache_free(rca_event_cache, ev);
}
EXPORT_SYMBOL_IF_KUNIT(rca_event_free);

static void rca_item_link_locked(struct rca_queue *queue, struct rca_source *src,
				 struct rca_item *item)
{
	lockdep_assert_held(&queue->lock);

	list_add_tail(&item->qnode, &queue->items);
	list_add_tail(&item->snode, &src->items);
	/* Put in rca_item_complete_locked() or rca_source_detach(). */
	rca_obj_get(rca_source_owner(src));
}

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

	lockdep_assert_held(rca_source_lock(src));

	if (!queue) {
		WARN_ON_ONCE(ev->child);
		rca_event_done(ev);
		rca_event_free(ev);
		return;
	}
	ev->src = src;
	spin_lock_irqsave(&queue->lock, flags);
	rca_item_link_locked(queue, src, &ev->item);
	rca_queue_posted_locked(queue);
	spin_unlock_irqrestore(&queue->lock, flags);
	rca_queue_wake(queue);
}
EXPORT_SYMBOL_IF_KUNIT(rca_post);

/**
 * rca_post_part() - post an event of a part of the source's owner
 * @src: the source
 * @event_count: counts the delivery of the part's events; &rca_event_count.obj stays until then
 * @ev: the event; belongs to the queue from now on
 *
 * Context: any; the caller holds the source's lock.
 */
void rca_post_part(struct rca_source *src, struct rca_event_count *event_count,
		   struct rca_event *ev)
{
	rca_obj_get(event_count->obj); /* put in rca_event_done() */
	ev->event_count = event_count;
	rca_post(src, ev);
}
EXPORT_SYMBOL_IF_KUNIT(rca_post_part);

/**
 * rca_post_notice() - post an event that needs no memory
 * @src: its source
 * @slot: which notice it is part of
 * @type: &enum rdma_cm_alt_event_type, one of librdmacm's; one that already waits is not doubled
 * @status: status of the slot's pending events, see rca_notice_has_status()
 *
 * Context: any; the caller holds the source's lock.
 * Return: false: there is no queue, or one of the type waits there already.
 */
bool rca_post_notice(struct rca_source *src, enum rca_notice_slot slot, u32 type, int status)
{
	struct rca_item *notice = &src->notice[slot];
	struct rca_queue *queue = src->queue;
	unsigned long flags;
	bool fresh;

	lockdep_assert_held(rca_source_lock(src));

	if (!queue)
		return false;
	spin_lock_irqsave(&queue->lock, flags);
	rca_queue_reap_locked(queue);	/* one that user space has taken waits no more */
	fresh = !(notice->pending & BIT(type));
	if (!notice->pending)
		rca_item_link_locked(queue, src, notice);
	else if (fresh && notice->placed == notice->pending)
		list_move_tail(&notice->qnode, &queue->items);
	notice->pending |= BIT(type);
	if (rca_notice_has_status(type))
		notice->status = status;
	rca_queue_posted_locked(queue);
	spin_unlock_irqrestore(&queue->lock, flags);
	rca_queue_wake(queue);
	return fresh;
}
EXPORT_SYMBOL_IF_KUNIT(rca_post_notice);
