// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Close of a queue or a context: its ids are destroyed. Many ids are destroyed in parallel,
 * because the lower layers make the destroying thread wait: for messages that are being
 * sent, and for callbacks.
 *
 * Locking: a spinlock for the position in a context; see "DOC: Locking" in id.h for the
 * locks of destroying an id.
 */
#include "ops/shutdown.h"

#include <kunit/visibility.h>
#include <linux/cpumask.h>
#include <linux/minmax.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "id/id.h"
#include "ops/teardown.h"

/* Ids that the closing thread destroys before it starts workers. */
#define SERIAL_IDS	16

/* Limit of workers, which leaves processors and workers to others. */
#define MAX_HELPERS	7

/**
 * struct closing - a queue or context that is being closed
 * @next: get the next id, with a reference; NULL: none is left. May be called concurrently
 * @destroy: destroys the id
 * @queue: the queue, or NULL
 * @ctx: the context, or that of the queue
 * @pos: position in @ctx (lock: @lock)
 * @lock: protects @pos
 */
struct closing {
	struct rca_obj *(*next)(struct closing *closing);
	void (*destroy)(struct rca_id *id);
	struct rca_queue *queue;
	struct rca_ctx *ctx;
	unsigned long pos;
	spinlock_t lock;
};

/**
 * struct helper - a worker that destroys ids
 * @work: the work
 * @closing: the queue or context
 */
struct helper {
	struct work_struct work;
	struct closing *closing;
};

/* Destroy up to @max ids; false: none is left. */
static bool destroy_some(struct closing *closing, unsigned int max)
{
	struct rca_obj *obj;

	while (max--) {
		obj = closing->next(closing);
		if (!obj)
			return false;
		closing->destroy(rca_id_of(obj));
		rca_obj_put(obj);	/* got by next() */
		cond_resched();
	}
	return true;
}

static void helper_work(struct work_struct *work)
{
	destroy_some(container_of(work, struct helper, work)->closing, UINT_MAX);
}

/* When this returns, all ids are destroyed. */
static void destroy_all(struct closing *closing)
{
	unsigned int count = min_t(unsigned int, num_online_cpus(), MAX_HELPERS), i;
	struct helper helpers[MAX_HELPERS];

	if (!destroy_some(closing, SERIAL_IDS))
		return;
	for (i = 0; i < count; i++) {
		helpers[i].closing = closing;
		INIT_WORK_ONSTACK(&helpers[i].work, helper_work);
		queue_work(rca_account_wq(&closing->ctx->account), &helpers[i].work);
	}
	destroy_some(closing, UINT_MAX);
	for (i = 0; i < count; i++) {
		flush_work(&helpers[i].work);
		destroy_work_on_stack(&helpers[i].work);
	}
}

static struct rca_obj *next_in_queue(struct closing *closing)
{
	return rca_queue_next_owner(closing->queue);
}

static void destroy_in_queue(struct rca_id *id)
{
	LIST_HEAD(requests);

	if (rca_teardown_published(id))
		return;
	rca_source_detach(&id->src, &requests);
	rca_teardown_requests(&requests);
}

/**
 * rca_queue_shutdown() - destroy the ids of a queue whose last descriptor was closed
 * @queue: the queue
 *
 * Context: Process context. Sleeps. Not from work.
 */
void rca_queue_shutdown(struct rca_queue *queue)
{
	struct closing closing = {
		.next = next_in_queue,
		.destroy = destroy_in_queue,
		.queue = queue,
		.ctx = queue->ctx,
	};

	rca_queue_mark_closed(queue);
	destroy_all(&closing);
}
EXPORT_SYMBOL_IF_KUNIT(rca_queue_shutdown);

static struct rca_obj *next_in_ctx(struct closing *closing)
{
	struct rca_obj *obj;

	spin_lock(&closing->lock);
	while ((obj = rca_obj_next(closing->ctx, &closing->pos))) {
		/* Memberships are destroyed with their ids. */
		if (obj->type->kind == RCA_KIND_ID)
			break;
		rca_obj_put(obj);	/* got by rca_obj_next() */
	}
	spin_unlock(&closing->lock);
	return obj;
}

static void destroy_without_queue(struct rca_id *id)
{
	struct rca_queue *queue = rca_source_queue(&id->src);
	bool keep = queue && queue->has_file;

	if (queue)
		rca_queue_put(queue);
	if (!keep)
		rca_teardown_published(id);
}

/**
 * rca_ctx_shutdown() - destroy the ids of a closed context that have no queue with a descriptor
 * @ctx: the context
 *
 * The other ids exist until their queue is closed.
 *
 * Context: Process context. Sleeps. Not from work.
 */
void rca_ctx_shutdown(struct rca_ctx *ctx)
{
	struct closing closing = {
		.next = next_in_ctx,
		.destroy = destroy_without_queue,
		.ctx = ctx,
	};

	spin_lock_init(&closing.lock);
	destroy_all(&closing);
}
EXPORT_SYMBOL_IF_KUNIT(rca_ctx_shutdown);
