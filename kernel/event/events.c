// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Events: their memory and their records. */
#include "event/events.h"

#include <kunit/visibility.h>
#include <linux/bitops.h>
#include <linux/bug.h>
#include <linux/build_bug.h>
#include <linux/err.h>
#include <linux/slab.h>
#include <linux/string.h>

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
