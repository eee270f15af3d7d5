// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Path queries to the subnet administrator (SA). The answer is handled by the work of each id that
 * has asked, because it may arrive before the call that sends the query returns.
 *
 * An id whose question is under way already follows the query that asks it, the leader, if that
 * ends within the timeout of the id. When a job starts, the SA gets one query from this host, not
 * one from each id. A leader whose id is gone goes on as long as it has followers.
 *
 * Locking: rca_id.op; rca_id.lock for rca_setup.query; query_lock for leaders and followers, and so
 * that a query is not cancelled while ib_sa frees it. query_lock is taken in process context alone,
 * with interrupts on: rhashtable of 6.1 enables softirqs inside.
 */
#include "resolve/path_query.h"

#include <kunit/visibility.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/memcontrol.h>
#include <linux/minmax.h>
#include <linux/refcount.h>
#include <linux/rhashtable.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <rdma/ib_sa.h>

#include "device/devices.h"
#include "lib/compat.h"
#include "transport/group_ib.h"

/* Followers that get their answer in one section with query_lock. */
#define BATCH	64

/**
 * struct rca_route_query - the pending path query of an id
 * @ref: references: rca_setup.query, and the pending callback and work, or the leader
 * @id: the id (holds a reference); NULL after it has given up before the answer (lock:
 *      query_lock until @called)
 * @done: called with the result
 * @post: argument of @done
 * @question: the question (immutable)
 * @ends: when the id gives up, in jiffies (immutable)
 * @node: entry in asked, if @leads (lock: query_lock)
 * @leads: other queries may follow this one (lock: query_lock)
 * @gone: the id has given up (lock: query_lock)
 * @followers: queries with the same question (lock: query_lock)
 * @leader: the query that this one follows, or NULL (lock: query_lock)
 * @beside: entry in &followers of @leader (lock: query_lock)
 * @followed: it had a leader (written before the work is queued)
 * @sa_id: query number of ib_sa (immutable once the op mutex was released)
 * @sa: query of ib_sa, valid while @called is false
 * @called: the callback has begun (lock: query_lock)
 * @status: result of the query
 * @answer: its paths
 * @work: handles the answer after the callback
 */
struct rca_route_query {
	refcount_t ref;
	struct rca_id *id;
	rca_path_done done;
	bool post;
	struct rca_path_question question;
	unsigned long ends;
	struct rhash_head node;
	bool leads;
	bool gone;
	struct list_head followers;
	struct rca_route_query *leader;
	struct list_head beside;
	bool followed;
	int sa_id;
	struct ib_sa_query *sa;
	bool called;
	int status;
	struct rca_path_answer answer;
	struct work_struct work;
};

static const struct rhashtable_params asked_params = {
	.key_len = sizeof(struct rca_path_key),
	.key_offset = offsetof(struct rca_route_query, question.key),
	.head_offset = offsetof(struct rca_route_query, node),
	.automatic_shrinking = true,
};

static struct rhashtable asked;		/* leaders (lock: query_lock) */
static DEFINE_SPINLOCK(query_lock);

/* Module init. Returns 0 or a negative errno. */
int __init rca_path_query_init(void)
{
	return rhashtable_init(&asked, &asked_params);
}

/* Module exit, when no query exists any more. */
void rca_path_query_exit(void)
{
	rhashtable_destroy(&asked);
}

static void query_put(struct rca_route_query *query)
{
	if (!refcount_dec_and_test(&query->ref))
		return;
	if (query->id)
		rca_id_put(query->id);	/* got in query_alloc() */
	kfree(query);
}

/* Store all records in the id; on failure, it keeps those it has. */
static int store_paths(struct rca_id *id, const struct rca_path_answer *answer)
{
	lockdep_assert_held(&id->op);
	/* The device may have been removed after the query started: see remove_from_device(). */
	if (!id->dev)
		return -ENODEV;
	return rca_id_set_paths(id, &answer->path, answer->inbound.flags ? &answer->inbound : NULL,
				answer->outbound.flags ? &answer->outbound : NULL);
}

/* Milliseconds until the id gives up; at least 1. */
static u32 left_ms(const struct rca_route_query *query)
{
	return max_t(long, jiffies_to_msecs(max_t(long, query->ends - jiffies, 0)), 1);
}

static int start(struct rca_id *id, const struct rca_path_question *question, u32 timeout_ms,
		 rca_path_done done, bool post, bool may_follow);

/*
 * The leader has got no answer, but had less time than this id. Returns true if it asks itself. It
 * follows no other: a user who asks again and again with short timeouts would keep it waiting.
 */
static bool ask_again(struct rca_route_query *query)
{
	struct rca_id *id = query->id;
	int ret;

	lockdep_assert_held(&id->op);
	if (!query->followed || query->status != -ETIMEDOUT || !id->dev ||
	    time_after_eq(jiffies, query->ends))
		return false;
	query->question.epoch = atomic_read(&id->dev->path_epoch);
	ret = start(id, &query->question, left_ms(query), query->done, query->post, false);
	if (ret < 0)
		query->status = ret;
	return ret >= 0;
}

static void query_work(struct work_struct *work)
{
	struct rca_route_query *query = container_of(work, struct rca_route_query, work);
	struct rca_id *id = query->id;
	struct mem_cgroup *old_memcg;
	unsigned long flags;
	bool current_one, again;
	int status;

	mutex_lock(&id->op);
	spin_lock_irqsave(&id->lock, flags);
	current_one = id->setup && id->setup->query == query;
	if (current_one)
		id->setup->query = NULL;
	spin_unlock_irqrestore(&id->lock, flags);
	if (current_one) {
		old_memcg = set_active_memcg(id->obj.ctx->memcg);
		again = ask_again(query);
		status = again ? 0 : query->status ?: store_paths(id, &query->answer);
		set_active_memcg(old_memcg);
		if (!again)
			query->done(id, status, query->post);
		query_put(query);	/* of the setup */
	}
	mutex_unlock(&id->op);
	query_put(query);		/* of the callback and this work */
}

/* Sort the records by their flags; those of a subnet administrator have none. */
VISIBLE_IF_KUNIT int rca_path_sort(const struct sa_path_rec *recs, unsigned int count,
				   struct rca_path_answer *answer)
{
	const struct sa_path_rec *path = NULL;
	unsigned int i;

	/* On 6.1, ib_sa does not initialise the flags of an Omni-Path record. */
	if (count == 1) {
		answer->path = recs[0];
		answer->path.flags = 0;
		return 0;
	}
	for (i = 0; i < count; i++) {
		if (!recs[i].flags || recs[i].flags & IB_PATH_GMP)
			path = &recs[i];
		else if (recs[i].flags & IB_PATH_INBOUND)
			answer->inbound = recs[i];
		else if (recs[i].flags & IB_PATH_OUTBOUND)
			answer->outbound = recs[i];
		else
			return -EINVAL;
	}
	if (!path)
		return -EINVAL;
	answer->path = *path;
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(rca_path_sort);

static void stop_leading(struct rca_route_query *query)
{
	lockdep_assert_held(&query_lock);
	if (query->leads)
		rhashtable_remove_fast(&asked, &query->node, asked_params);
	query->leads = false;
}

/* Give the answer to some of the followers. Returns true if there may be more. */
static bool answer_batch(struct rca_route_query *leader)
{
	struct rca_route_query *query;
	unsigned int n;

	spin_lock(&query_lock);
	for (n = 0; n < BATCH && !list_empty(&leader->followers); n++) {
		query = list_first_entry(&leader->followers, struct rca_route_query, beside);
		list_del_init(&query->beside);
		query->leader = NULL;
		query->status = leader->status;
		query->answer = leader->answer;
		queue_work(rca_id_wq(query->id), &query->work);
	}
	spin_unlock(&query_lock);
	return n == BATCH;
}

/* Runs on a workqueue of the MAD layer, or before ib_sa_path_rec_get() returns. */
static void path_query_done(int status, struct sa_path_rec *recs, rca_num_paths_t count,
			    void *context)
{
	struct rca_route_query *query = context;
	const struct rca_path_question *question = &query->question;

	/* ib_sa may free its query as soon as this returns, so nobody cancels that from here on. */
	spin_lock(&query_lock);
	query->called = true;
	spin_unlock(&query_lock);
	query->status = status ?: rca_path_sort(recs, count, &query->answer);
	/* A resolver in user space may give a path for each direction; those are not kept. */
	if (!query->status && !query->answer.inbound.flags && !query->answer.outbound.flags)
		rca_path_cache_add(&question->key, question->epoch, &query->answer.path);
	spin_lock(&query_lock);
	stop_leading(query);		/* no follower is added from here on */
	spin_unlock(&query_lock);
	while (answer_batch(query))
		cond_resched();
	if (query->id)
		queue_work(rca_id_wq(query->id), &query->work);
	else
		query_put(query);	/* of the callback and the work */
}

/* Follow a query that asks the same and ends soon enough. Returns false if there is none. */
static bool follow(struct rca_route_query *query)
{
	struct rca_route_query *leader;

	spin_lock(&query_lock);
	leader = rhashtable_lookup_fast(&asked, &query->question.key, asked_params);
	if (leader && leader->question.epoch == query->question.epoch &&
	    time_before_eq(leader->ends, query->ends)) {
		query->leader = leader;
		query->followed = true;
		list_add_tail(&query->beside, &leader->followers);
	}
	spin_unlock(&query_lock);
	return query->followed;
}

/* Let other ids follow a query that was sent. Without memory, they ask themselves. */
static void lead(struct rca_route_query *query)
{
	spin_lock(&query_lock);
	if (!query->called)
		query->leads = !rhashtable_lookup_insert_fast(&asked, &query->node, asked_params);
	spin_unlock(&query_lock);
}

static struct rca_route_query *query_alloc(struct rca_id *id, rca_path_done done, bool post)
{
	struct rca_route_query *query = kzalloc(sizeof(*query), GFP_KERNEL_ACCOUNT);

	if (!query)
		return NULL;
	refcount_set(&query->ref, 2);	/* of the setup; of callback and work */
	query->id = rca_id_get(id);	/* put in query_put() */
	query->done = done;
	query->post = post;
	INIT_LIST_HEAD(&query->followers);
	INIT_LIST_HEAD(&query->beside);
	INIT_WORK(&query->work, query_work);
	return query;
}

static void set_query(struct rca_id *id, struct rca_route_query *query)
{
	spin_lock_irq(&id->lock);
	id->setup->query = query;
	spin_unlock_irq(&id->lock);
}

static int start(struct rca_id *id, const struct rca_path_question *question, u32 timeout_ms,
		 rca_path_done done, bool post, bool may_follow)
{
	struct rca_route_query *query;
	int ret;

	lockdep_assert_held(&id->op);
	query = query_alloc(id, done, post);
	if (!query)
		return -ENOMEM;
	timeout_ms = min_t(u32, timeout_ms, INT_MAX);
	query->question = *question;
	query->ends = jiffies + msecs_to_jiffies(timeout_ms);
	set_query(id, query);
	if (may_follow && follow(query))
		return 1;
	ret = ib_sa_path_rec_get(&rca_sa_client, id->dev->ibdev, id->port_num,
				 &query->question.rec, question->mask, timeout_ms,
				 GFP_KERNEL_ACCOUNT, path_query_done, query, &query->sa);
	/* rca_path_query_cancel() runs with the op mutex held, so it finds the number here. */
	query->sa_id = ret;
	if (ret >= 0) {
		lead(query);
		return 1;
	}
	set_query(id, NULL);
	query_put(query);
	query_put(query);
	return ret;
}

/**
 * rca_path_query_start() - ask for the path of an id
 * @id: the id, which has no pending query
 * @question: the question
 * @timeout_ms: total timeout; ib_sa sends the query up to ten times
 * @done: called when the query has ended and the id has its path, unless rca_path_query_cancel()
 *        comes first
 * @post: argument of @done
 *
 * Context: Process context. Sleeps. Expects @id->op to be held by the caller.
 * Return: 1, @done will be called; -ENOMEM, or an errno of ib_sa: -EAGAIN if the port does not know
 * its subnet manager.
 */
int rca_path_query_start(struct rca_id *id, const struct rca_path_question *question,
			 u32 timeout_ms, rca_path_done done, bool post)
{
	return start(id, question, timeout_ms, done, post, true);
}

/* Nobody waits for the answer to a query that was sent. */
static void end_query(struct rca_route_query *query)
{
	lockdep_assert_held(&query_lock);
	stop_leading(query);
	ib_sa_cancel_query(query->sa_id, query->sa);
}

/**
 * rca_path_query_cancel() - cancel the pending path query, if there is one
 * @id: the id; its state permits no new query
 *
 * The answer may still arrive; it is ignored.
 *
 * Context: Process context. Expects @id->op to be held by the caller.
 */
void rca_path_query_cancel(struct rca_id *id)
{
	struct rca_route_query *query = id->setup ? id->setup->query : NULL, *leader;
	bool is_free = false;

	lockdep_assert_held(&id->op);
	if (!query)
		return;
	set_query(id, NULL);
	spin_lock(&query_lock);
	leader = query->leader;
	query->gone = true;
	if (leader) {
		list_del_init(&query->beside);
		query->leader = NULL;
		if (leader->gone && !leader->called && list_empty(&leader->followers))
			end_query(leader);
	} else if (!query->called && !query->followed) {
		if (list_empty(&query->followers))
			end_query(query);
		query->id = NULL;	/* it would keep the network namespace */
		is_free = true;
	}
	spin_unlock(&query_lock);
	if (is_free)
		rca_id_put(id);		/* got in query_alloc() */
	if (leader)
		query_put(query);	/* no work will be queued */
	query_put(query);	/* of the setup */
}
