// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Memory and records of events. */
#include "event/queue.h"

#include <linux/bitops.h>
#include <linux/bug.h>
#include <linux/build_bug.h>
#include <linux/err.h>
#include <linux/memcontrol.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "lib/testing.h"

/* The last event type of librdmacm; no later type is posted as a notice. */
static_assert(BITS_PER_TYPE(typeof_member(struct rca_item, pending)) >
	      RDMA_CM_ALT_EVENT_TIMEWAIT_EXIT);

/* Without memory for notices. Unit tests change it. */
RCA_VISIBLE_IF_KUNIT bool rca_no_notices;

static struct kmem_cache *rca_event_cache, *rca_notice_cache;

/**
 * rca_events_init() - create the caches of events
 *
 * Context: Process context. Module init.
 * Return: 0 or -ENOMEM.
 */
int __init rca_events_init(void)
{
	rca_event_cache = KMEM_CACHE(rca_event, SLAB_ACCOUNT);
	rca_notice_cache = kmem_cache_create("rca_notice",
					     offsetof(struct rca_event, rec) + RCA_NOTICE_LEN, 0,
					     SLAB_ACCOUNT, NULL);
	if (rca_event_cache && rca_notice_cache)
		return 0;
	rca_events_exit();
	return -ENOMEM;
}

/* Module exit; no event exists any more. */
void rca_events_exit(void)
{
	kmem_cache_destroy(rca_notice_cache);
	kmem_cache_destroy(rca_event_cache);
}

static void init_event(struct rca_event *ev, struct rca_account *account, u32 length)
{
	ev->account = account;
	INIT_LIST_HEAD(&ev->item.qnode);
	INIT_LIST_HEAD(&ev->item.snode);
	ev->rec.length = length;
}

/**
 * rca_event_alloc() - allocate an event
 * @ctx: the context that is charged; must outlive the event
 * @gfp: flags
 *
 * Context: Process context. May sleep if @gfp allows it.
 * Return: an event, zeroed but for the length of its record, for rca_post() or rca_event_free();
 *         -EDQUOT; -ENOMEM.
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
	init_event(ev, &ctx->account, sizeof(ev->rec));
	return ev;
}

/**
 * rca_event_alloc_notice() - allocate an event for a notice
 * @ctx: the context whose memory cgroup is charged. No limit is: the number of types limits the
 *       notices of an id
 *
 * Context: Any context.
 * Return: an event, zeroed but for the length of its record, for rca_event_free(); or NULL.
 */
struct rca_event *rca_event_alloc_notice(struct rca_ctx *ctx)
{
	struct mem_cgroup *old_memcg;
	struct rca_event *ev;

	if (rca_no_notices)
		return NULL;
	old_memcg = set_active_memcg(ctx->memcg);
	ev = kmem_cache_zalloc(rca_notice_cache, GFP_NOWAIT | __GFP_NOWARN);
	set_active_memcg(old_memcg);
	if (ev)
		init_event(ev, NULL, RCA_NOTICE_LEN);
	return ev;
}

/* rca_event_free() for an event that there is. */
void rca_event_release(struct rca_event *ev)
{
	WARN_ON_ONCE(!list_empty(&ev->item.qnode) || ev->is_request);
	if (!ev->account) {
		kmem_cache_free(rca_notice_cache, ev);
		return;
	}
	rca_uncharge(ev->account, RDMA_CM_ALT_RESOURCE_EVENTS, 1);
	kmem_cache_free(rca_event_cache, ev);
}

static void fill_event_record(struct rca_record *record, struct rca_event *ev)
{
	struct rca_source *src = ev->src;

	ev->rec.cookie = src->cookie;
	if (!ev->child)
		ev->rec.id = rca_source_owner(src)->handle;
	record->data = &ev->rec;
	record->len = ev->rec.length;
}

static void fill_notice_record(struct rca_record *record, struct rca_item *notice)
{
	struct rdma_cm_alt_event *head = (struct rdma_cm_alt_event *)record->head;
	struct rca_source *src = rca_item_source(notice);

	memset(record->head, 0, sizeof(record->head));
	head->length = sizeof(record->head);
	head->type = __ffs(notice->pending & ~notice->placed);
	if (rca_notice_has_status(head->type))
		head->status = notice->status;
	head->cookie = src->cookie;
	head->id = rca_source_owner(src)->handle;
	record->data = record->head;
	record->len = sizeof(record->head);
}

/*
 * Set @record to that of a queued item that is not completely in the ring; of the item of a source
 * to that of its lowest event. The caller holds the lock of the queue as long as it uses @record.
 */
void rca_item_record(struct rca_item *item, struct rca_record *record)
{
	if (item->in_source)
		fill_notice_record(record, item);
	else
		fill_event_record(record, rca_item_event(item));
}
