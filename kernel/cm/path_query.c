// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Path queries to the subnet administrator (SA). The answer is handled by the work of each id that
 * has asked, because it may arrive before the call that sends the query returns.
 *
 * An id whose question is under way already follows the query that asks it, the leader, if that
 * ends within the timeout of the id. When a job starts, the SA gets one query from this host, not
 * one from each id. A leader whose id is gone goes on as long as it has followers. If it is
 * withdrawn because others need its place, see sa_query.c, all of them ask anew; so does an id that
 * has waited for a place.
 *
 * Locking: rca_id.op; rca_id.lock for rca_setup.query; rca_sa_lock for leaders and followers. It is
 * taken in process context alone, with interrupts on: rhashtable of 6.1 enables softirqs inside.
 */
#include "cm/path_query.h"

#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/memcontrol.h>
#include <linux/minmax.h>
#include <linux/rhashtable.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <rdma/ib_sa.h>

#include "cm/sa_query.h"
#include "lib/compat.h"
#include "lib/testing.h"
#include "transport/devices.h"
#include "transport/group_ib.h"

/* Followers that get their answer in one section with rca_sa_lock. */
#define BATCH	64

/**
 * struct rca_route_query - the pending path query of an id
 * @sa: the query; called when it has its answer, its own or that of its leader
 * @done: called with the result
 * @post: argument of @done
 * @question: the question (immutable once it was sent)
 * @node: entry in asked, if @leads (lock: rca_sa_lock)
 * @leads: other queries may follow this one (lock: rca_sa_lock)
 * @gone: the id has given up (lock: rca_sa_lock)
 * @followers: queries with the same question (lock: rca_sa_lock)
 * @leader: the query that this one follows, or NULL (lock: rca_sa_lock)
 * @beside: entry in &followers of @leader (lock: rca_sa_lock)
 * @followed: it has or had a leader (lock: rca_id.op)
 * @status: result of the query (written before it is called)
 * @answer: its paths (likewise)
 */
struct rca_route_query {
	struct rca_sa_query sa;
	rca_path_done done;
	bool post;
	struct rca_path_question question;
	struct rhash_head node;
	bool leads;
	bool gone;
	struct list_head followers;
	struct rca_route_query *leader;
	struct list_head beside;
	bool followed;
	int status;
	struct rca_path_answer answer;
};

static const struct rhashtable_params asked_params = {
	.key_len = sizeof(struct rca_path_key),
	.key_offset = offsetof(struct rca_route_query, question.key),
	.head_offset = offsetof(struct rca_route_query, node),
	.automatic_shrinking = true,
};

static struct rhashtable asked;		/* leaders (lock: rca_sa_lock) */

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

static void query_release(struct rca_sa_query *query)
{
	kfree(container_of(query, struct rca_route_query, sa));
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

static int start(struct rca_id *id, const struct rca_path_question *question, unsigned long ends,
		 rca_path_done done, bool post, const struct rca_route_query *before);
static int ask(struct rca_route_query *query, bool may_follow);

/*
 * The query, or that of the leader, was withdrawn; or the leader has got no answer, but had less
 * time than this id. Returns true if it asks itself.
 */
static bool ask_again(struct rca_route_query *query)
{
	struct rca_id *id = query->sa.id;
	int ret;

	lockdep_assert_held(&id->op);
	if (query->status != -EINTR && !(query->followed && query->status == -ETIMEDOUT))
		return false;
	if (!id->dev)
		return false;
	if (time_after_eq(jiffies, query->sa.ends)) {
		query->status = -ETIMEDOUT;
		return false;
	}
	query->question.epoch = atomic_read(&id->dev->path_epoch);
	ret = start(id, &query->question, query->sa.ends, query->done, query->post, query);
	if (ret < 0)
		query->status = ret;
	return ret >= 0;
}

/* A query that waits has a place, or its time is over. Returns true if it goes on. */
static bool go_on(struct rca_route_query *query)
{
	int ret = -ETIMEDOUT;

	lockdep_assert_held(&query->sa.id->op);
	if (query->sa.sent || query->followed)
		return true;
	if (!query->sa.id->dev)
		ret = -ENODEV;
	else if (time_before(jiffies, query->sa.ends))
		ret = ask(query, true);
	if (ret >= 0)
		return true;
	query->status = ret;
	rca_sa_cancel(&query->sa);
	return false;
}

/* Handle the result, unless the query goes on or asks again. */
static void end_or_go_on(struct rca_id *id, struct rca_route_query *query, bool called)
{
	int status;

	lockdep_assert_held(&id->op);
	if (!called && go_on(query))
		return;
	spin_lock_irq(&id->lock);
	id->setup->query = NULL;
	spin_unlock_irq(&id->lock);
	if (!ask_again(query)) {
		status = query->status ?: store_paths(id, &query->answer);
		query->done(id, status, query->post);
	}
	rca_sa_put(&query->sa);	/* of the setup */
}

static void query_work(struct work_struct *work)
{
	struct rca_route_query *query = container_of(work, struct rca_route_query, sa.work);
	struct mem_cgroup *old_memcg;
	struct rca_id *id;
	bool called;

	id = rca_sa_begin_work(&query->sa, &called);
	if (id) {
		mutex_lock(&id->op);
		if (id->setup && id->setup->query == query) {
			old_memcg = set_active_memcg(id->obj.ctx->memcg);
			end_or_go_on(id, query, called);
			set_active_memcg(old_memcg);
		}
		mutex_unlock(&id->op);
		rca_id_put(id);		/* got in rca_sa_begin_work() */
	}
	rca_sa_put(&query->sa);		/* got in rca_sa_queue_work() */
}

/* Sort the records by their flags; those of a subnet administrator have none. */
RCA_VISIBLE_IF_KUNIT
int rca_path_sort(const struct sa_path_rec *recs, unsigned int count,
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

static void stop_leading(struct rca_route_query *query)
{
	lockdep_assert_held(&rca_sa_lock);
	if (query->leads)
		rhashtable_remove_fast(&asked, &query->node, asked_params);
	query->leads = false;
}

/* Give the answer to some of the followers. Returns true if there may be more. */
static bool answer_batch(struct rca_route_query *leader)
{
	struct rca_route_query *query;
	unsigned int n;

	spin_lock(&rca_sa_lock);
	for (n = 0; n < BATCH && !list_empty(&leader->followers); n++) {
		query = list_first_entry(&leader->followers, struct rca_route_query, beside);
		list_del_init(&query->beside);
		query->leader = NULL;
		query->status = leader->status;
		query->answer = leader->answer;
		query->sa.called = true;
		rca_sa_queue_work(&query->sa);
	}
	spin_unlock(&rca_sa_lock);
	return n == BATCH;
}

/* Runs on a workqueue of the MAD layer, or before ib_sa_path_rec_get() returns. */
static void path_query_done(int status, struct sa_path_rec *recs, rca_num_paths_t count,
			    void *context)
{
	struct rca_route_query *query = context;
	const struct rca_path_question *question = &query->question;

	query->status = status ?: rca_path_sort(recs, count, &query->answer);
	/* A resolver in user space may give a path for each direction; those are not kept. */
	if (!query->status && !query->answer.inbound.flags && !query->answer.outbound.flags)
		rca_path_cache_add(&question->key, question->epoch, &query->answer.path);
	spin_lock(&rca_sa_lock);
	rca_sa_called_locked(&query->sa, status);
	stop_leading(query);		/* no follower is added from here on */
	spin_unlock(&rca_sa_lock);
	while (answer_batch(query))
		cond_resched();
	if (query->sa.id)
		rca_sa_queue_work(&query->sa);
	rca_sa_put(&query->sa);		/* of the callback */
}

/* Follow a query that asks the same and ends soon enough. Returns false if there is none. */
static bool follow(struct rca_route_query *query)
{
	struct rca_route_query *leader;

	spin_lock(&rca_sa_lock);
	leader = rhashtable_lookup_fast(&asked, &query->question.key, asked_params);
	if (leader && leader->question.epoch == query->question.epoch &&
	    time_before_eq(leader->sa.ends, query->sa.ends)) {
		query->leader = leader;
		query->followed = true;
		list_add_tail(&query->beside, &leader->followers);
		rca_sa_cancel_locked(&query->sa);	/* it needs no place */
	}
	spin_unlock(&rca_sa_lock);
	return query->followed;
}

/* Let other ids follow a query that was sent. Without memory, they ask themselves. */
static void lead(struct rca_route_query *query)
{
	spin_lock(&rca_sa_lock);
	if (!query->sa.called)
		query->leads = !rhashtable_lookup_insert_fast(&asked, &query->node, asked_params);
	spin_unlock(&rca_sa_lock);
}

static void set_query(struct rca_id *id, struct rca_route_query *query)
{
	spin_lock_irq(&id->lock);
	id->setup->query = query;
	spin_unlock_irq(&id->lock);
}

/* Returns 1: there will be a result; or a negative errno. */
static int ask(struct rca_route_query *query, bool may_follow)
{
	struct rca_id *id = query->sa.id;
	int ret;

	lockdep_assert_held(&id->op);
	if (may_follow && follow(query))
		return 1;
	if (!rca_sa_begin(&query->sa))
		return 1;
	refcount_inc(&query->sa.ref);	/* put in path_query_done() */
	ret = ib_sa_path_rec_get(&rca_sa_client, id->dev->ibdev, id->port_num,
				 &query->question.rec, query->question.mask,
				 rca_sa_left_ms(&query->sa), GFP_KERNEL_ACCOUNT, path_query_done,
				 query, &query->sa.sa);
	rca_sa_sent(&query->sa, ret);
	if (ret < 0)
		return ret;
	lead(query);
	return 1;
}

/*
 * An id that was not answered by its leader in time follows no other: a user who asks again and
 * again with short timeouts would keep it waiting.
 */
static int start(struct rca_id *id, const struct rca_path_question *question, unsigned long ends,
		 rca_path_done done, bool post, const struct rca_route_query *before)
{
	struct rca_route_query *query = kzalloc(sizeof(*query), GFP_KERNEL_ACCOUNT);
	int ret;

	lockdep_assert_held(&id->op);
	if (!query)
		return -ENOMEM;
	rca_sa_init(&query->sa, id, ends, query_work, query_release);
	query->done = done;
	query->post = post;
	query->question = *question;
	INIT_LIST_HEAD(&query->followers);
	INIT_LIST_HEAD(&query->beside);
	if (before)
		rca_sa_again(&query->sa, &before->sa);
	set_query(id, query);
	ret = ask(query, !before || before->status == -EINTR);
	if (ret < 0) {
		set_query(id, NULL);
		rca_sa_put(&query->sa);
	}
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
	timeout_ms = min_t(u32, timeout_ms, INT_MAX);
	return start(id, question, jiffies + msecs_to_jiffies(timeout_ms), done, post, NULL);
}

/* Nobody waits for the answer to a query. */
static void end_query(struct rca_route_query *query)
{
	lockdep_assert_held(&rca_sa_lock);
	stop_leading(query);
	rca_sa_cancel_locked(&query->sa);
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
	spin_lock(&rca_sa_lock);
	leader = query->leader;
	query->gone = true;
	if (leader) {
		list_del_init(&query->beside);
		query->leader = NULL;
		if (leader->gone && !leader->sa.called && list_empty(&leader->followers))
			end_query(leader);
	}
	if (list_empty(&query->followers))
		end_query(query);
	if (query->sa.sent && !query->sa.called) {
		query->sa.id = NULL;	/* it would keep the network namespace */
		is_free = true;
	}
	spin_unlock(&rca_sa_lock);
	if (is_free)
		rca_id_put(id);		/* got in rca_sa_init() */
	rca_sa_put(&query->sa);		/* of the setup */
}
