// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The queues of a context, as tools see them.
 *
 * Locking: &rca_ctx.queues_lock and &rca_queue.lock, never both.
 */
#include <kunit/visibility.h>
#include <linux/bitops.h>
#include <linux/minmax.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <net/net_namespace.h>

#include "event/events.h"

/* A new queue that has a file: it can be seen from now on. */
void rca_queue_enlist(struct rca_queue *queue)
{
	struct rca_ctx *ctx = queue->ctx;

	queue->netns = current->nsproxy->net_ns->net_cookie;
	spin_lock(&ctx->queues_lock);
	queue->serial = ++ctx->queue_serial;
	list_add_tail(&queue->node, &ctx->queues);
	spin_unlock(&ctx->queues_lock);
}

/* Nobody has a reference any more. */
void rca_queue_delist(struct rca_queue *queue)
{
	struct rca_ctx *ctx = queue->ctx;

	spin_lock(&ctx->queues_lock);
	list_del(&queue->node);
	spin_unlock(&ctx->queues_lock);
}

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
