// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Lanes. A thread of a user may stand still at any place, with the locks that it has: its cgroup
 * has no processor time left, or no memory. So what needs a lock that other users wait for is done
 * by a worker of the kernel, which is in no such cgroup, while the thread waits.
 *
 * The calls in a lane are made one after the other. Each user has lanes of their own: at each lock
 * one thread of a user waits at a time, and users have turns, however many threads they have.
 *
 * Locking: rca_lane.turn is taken by workers alone, before the locks of what they call.
 */
#include "ctx/lane.h"

#include <linux/completion.h>
#include <linux/sched.h>

/**
 * struct call - a call that a thread waits for, on its stack
 * @node: entry in &rca_lane.calls
 * @fn: the function
 * @arg: its argument
 * @done: it has returned
 */
struct call {
	struct list_head node;
	void (*fn)(void *arg);
	void *arg;
	struct completion done;
};

static struct call *next_call(struct rca_lane *lane)
{
	struct call *call;

	spin_lock(&lane->lock);
	call = list_first_entry_or_null(&lane->calls, struct call, node);
	if (call)
		list_del(&call->node);
	spin_unlock(&lane->lock);
	return call;
}

static void in_turn(struct rca_lane *lane, void (*fn)(void *arg), void *arg)
{
	mutex_lock(&lane->turn);
	fn(arg);
	mutex_unlock(&lane->turn);
}

static void lane_work(struct work_struct *work)
{
	struct rca_lane *lane = container_of(work, struct rca_lane, work);
	struct call *call;

	while ((call = next_call(lane))) {
		in_turn(lane, call->fn, call->arg);
		complete(&call->done);
		cond_resched();
	}
}

/* Initialise a lane whose calls are made on a workqueue. */
void rca_lane_init(struct rca_lane *lane, struct workqueue_struct *wq)
{
	mutex_init(&lane->turn);
	spin_lock_init(&lane->lock);
	INIT_LIST_HEAD(&lane->calls);
	INIT_WORK(&lane->work, lane_work);
	lane->wq = wq;
}

/* The last call has returned to its caller. Process context. Sleeps. */
void rca_lane_destroy(struct rca_lane *lane)
{
	cancel_work_sync(&lane->work);	/* it may not have returned yet */
	mutex_destroy(&lane->turn);
}

/**
 * rca_lane_call() - let a worker call a function
 * @lane: the lane
 * @fn: the function. It waits for no user, and takes no lock of an id. Its memory is not charged to
 *      the caller's memory cgroup, unless it says so
 * @arg: its argument
 *
 * Context: Process context, or work. Sleeps until @fn has returned.
 */
void rca_lane_call(struct rca_lane *lane, void (*fn)(void *arg), void *arg)
{
	struct call call = { .fn = fn, .arg = arg };

	/* Work does not wait for other work, which may need its place. */
	if (current->flags & PF_WQ_WORKER) {
		in_turn(lane, fn, arg);
		return;
	}
	init_completion(&call.done);
	spin_lock(&lane->lock);
	list_add_tail(&call.node, &lane->calls);
	spin_unlock(&lane->lock);
	queue_work(lane->wq, &lane->work);
	wait_for_completion(&call.done);
}
