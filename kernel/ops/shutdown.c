// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The close of a queue, or of a context: its ids end. Of many, several at a time
 * do, as the lower layers make the destroyer of an id wait: for messages that are
 * being sent, and for callbacks.
 *
 * Locking: none of its own but for the place in a context; see "DOC: Locking" in
 * id.h for what ends an id.
 */
#include "ops/shutdown.h"

#include <kunit/visibility.h>
#include <linux/cpumask.h>
#include <linux/minmax.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "id/id.h"
#include "ops/teardown.h"

/* So many ids end before it is worth while to have help. */
#define ALONE		16

/* Workers who help, at most: others want processors and workers, too. */
#define MAX_HELPERS	7

/**
 * struct closing - a file that is being closed
 * @next: another id of it, with a reference; NULL: there is none. Several call it at a time
 * @end: ends the id
 * @queue: a queue
 * @ctx: or a context
 * @pos: where to go on in @ctx (lock: @lock)
 * @lock: protects @pos
 */
struct closing {
	struct rca_obj *(*next)(struct closing *closing);
	void (*end)(struct rca_id *id);
	struct rca_queue *queue;
	struct rca_ctx *ctx;
	unsigned long pos;
	spinlock_t lock;
};

/**
 * struct helper - a worker that ends ids
 * @work: his work
 * @closing: whose ids
 */
struct helper {
	struct work_struct work;
	struct closing *closing;
};

/* End @max ids; false: there are no more. */
static bool end_some(struct closing *closing, unsigned int max)
{
	struct rca_obj *obj;

	while (max--) {
		obj = closing->next(closing);
		if (!obj)
			return false;
		closing->end(rca_id_of(obj));
		rca_obj_put(obj);	/* got by next() */
		cond_resched();
	}
	return true;
}

static void help(struct work_struct *work)
{
	end_some(container_of(work, struct helper, work)->closing, UINT_MAX);
}

/* All ids have ended when this returns. */
static void end_all(struct closing *closing)
{
	unsigned int count = min_t(unsigned int, num_online_cpus(), MAX_HELPERS), i;
	struct helper helpers[MAX_HELPERS];

	if (!end_some(closing, ALONE))
		return;
	for (i = 0; i < count; i++) {
		helpers[i].closing = closing;
		INIT_WORK_ONSTACK(&helpers[i].work, help);
		queue_work(rca_wq, &helpers[i].work);
	}
	end_some(closing, UINT_MAX);
	for (i = 0; i < count; i++) {
		flush_work(&helpers[i].work);
		destroy_work_on_stack(&helpers[i].work);
	}
}

static struct rca_obj *next_of_queue(struct closing *closing)
{
	return rca_queue_next_owner(closing->queue);
}

static void end_in_queue(struct rca_id *id)
{
	LIST_HEAD(requests);

	if (rca_obj_claim(&id->obj)) {
		rca_teardown_id(id);
		rca_id_put(id);		/* the table's */
	} else {
		/* Somebody else destroys it, or it is not published yet. */
		rca_source_detach(&id->src, &requests);
		rca_teardown_requests(&requests);
	}
}

/**
 * rca_queue_shutdown() - the last descriptor of a queue was closed: destroy its ids
 * @queue: the queue
 *
 * Context: Process context. Sleeps. Not from work.
 */
void rca_queue_shutdown(struct rca_queue *queue)
{
	struct closing closing = {
		.next = next_of_queue,
		.end = end_in_queue,
		.queue = queue,
	};

	rca_queue_mark_closed(queue);
	end_all(&closing);
}
EXPORT_SYMBOL_IF_KUNIT(rca_queue_shutdown);

static struct rca_obj *next_of_ctx(struct closing *closing)
{
	struct rca_obj *obj;

	spin_lock(&closing->lock);
	while ((obj = rca_obj_next(closing->ctx, &closing->pos))) {
		/* Memberships end with their ids. */
		if (obj->type->kind == RCA_KIND_ID)
			break;
		rca_obj_put(obj);	/* got by rca_obj_next() */
	}
	spin_unlock(&closing->lock);
	return obj;
}

static void end_without_queue(struct rca_id *id)
{
	struct rca_queue *queue = rca_source_queue(&id->src);
	bool keep = queue && queue->has_file;

	if (queue)
		rca_queue_put(queue);
	if (!keep && rca_obj_claim(&id->obj)) {
		rca_teardown_id(id);
		rca_id_put(id);		/* the table's */
	}
}

/**
 * rca_ctx_shutdown() - the context was closed: destroy the ids that have no queue
 * @ctx: the context
 *
 * Ids that have a queue live until that is closed.
 *
 * Context: Process context. Sleeps. Not from work.
 */
void rca_ctx_shutdown(struct rca_ctx *ctx)
{
	struct closing closing = {
		.next = next_of_ctx,
		.end = end_without_queue,
		.ctx = ctx,
	};

	spin_lock_init(&closing.lock);
	end_all(&closing);
}
EXPORT_SYMBOL_IF_KUNIT(rca_ctx_shutdown);
