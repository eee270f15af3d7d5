// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Notifications: passes all records to one receiver, the netlink monitor. A work item calls it,
 * because records are reported with interrupts disabled, and netlink may transmit over a network
 * device (nlmon).
 *
 * Each network namespace has a queue. The work serves one record of each queue in turn, so that
 * a namespace with many records neither uses up the space of others nor delays them. Queues are
 * filled only while there is a receiver in any namespace; netlink does not tell in which one.
 *
 * Locking: untold_lock, a leaf; taken in any context, also with rca_id.lock held.
 */
#include <kunit/visibility.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>

#include "log/failure_log.h"

static void tell_work(struct work_struct *work);

static const struct rca_story_ops *listener;

/* Queues that are not empty; the first one is served next. */
static LIST_HEAD(turns);
static DEFINE_SPINLOCK(untold_lock);
static DECLARE_WORK(telling, tell_work);

/**
 * rca_story_forget() - free a record that was removed from its list
 * @story: the record; it holds a reference on its process
 *
 * Context: Any context.
 */
void rca_story_forget(struct rca_story *story)
{
	put_pid(story->pid);	/* got when the record was copied */
	kfree(story);
}

/**
 * rca_untold_init() - initialize the notification queue of a namespace
 * @untold: the queue
 * @net: its namespace
 *
 * Context: Any context.
 */
void rca_untold_init(struct rca_untold *untold, struct net *net)
{
	untold->net = net;
	INIT_LIST_HEAD(&untold->turn);
	INIT_LIST_HEAD(&untold->stories);
	untold->count = 0;
	untold->lost = false;
	untold->since = 0;
}
EXPORT_SYMBOL_IF_KUNIT(rca_untold_init);

/*
 * Returns the queue to serve next, or NULL. Sets *story to the record to deliver, or to NULL if
 * the queue was empty and removed from the list; the caller then owns the reference on the
 * namespace. Sets *lost if a loss has to be reported.
 */
static struct rca_untold *next_turn(struct rca_story **story, bool *lost)
{
	struct rca_untold *untold;

	spin_lock_irq(&untold_lock);
	untold = list_first_entry_or_null(&turns, struct rca_untold, turn);
	if (!untold)
		goto out_unlock;
	*story = list_first_entry_or_null(&untold->stories, struct rca_story, node);
	if (*story) {
		list_del(&(*story)->node);
		untold->count--;
		untold->since++;
		list_move_tail(&untold->turn, &turns);
	} else {
		list_del_init(&untold->turn);
	}
	/* Under a continuous flood the queue is never empty; report a loss from time to time. */
	*lost = untold->lost && (!*story || untold->since >= RCA_UNTOLD);
	if (*lost) {
		untold->lost = false;
		untold->since = 0;
	}
out_unlock:
	spin_unlock_irq(&untold_lock);
	return untold;
}

static void tell_work(struct work_struct *work)
{
	const struct rca_story_ops *ops = READ_ONCE(listener);
	struct rca_untold *untold;
	struct rca_story *story;
	bool lost;

	while ((untold = next_turn(&story, &lost))) {
		if (story && ops)
			ops->tell(untold->net, story);
		if (lost && ops)
			ops->lost(untold->net);
		if (story)
			rca_story_forget(story);
		else
			put_net(untold->net);	/* got in leave() */
		cond_resched();
	}
}

/**
 * rca_story_flush() - wait until all queued records were delivered
 *
 * Context: Process context. Sleeps.
 */
void rca_story_flush(void)
{
	flush_work(&telling);
}
EXPORT_SYMBOL_IF_KUNIT(rca_story_flush);

/**
 * rca_story_listen() - set the receiver of all records
 * @ops: the receiver, or NULL; must stay valid until it is replaced
 *
 * Context: Process context. Sleeps until the previous receiver is no longer called.
 * Return: the previous receiver, or NULL.
 */
const struct rca_story_ops *rca_story_listen(const struct rca_story_ops *ops)
{
	const struct rca_story_ops *before = xchg(&listener, ops);

	synchronize_rcu();	/* wanted() is called, and records are queued, under RCU */
	rca_story_flush();
	return before;
}
EXPORT_SYMBOL_IF_KUNIT(rca_story_listen);

/**
 * rca_story_wanted() - may there be a receiver for records of a namespace?
 * @net: the network namespace
 *
 * Context: Any context.
 * Return: false if only failures have to be reported.
 */
bool rca_story_wanted(struct net *net)
{
	const struct rca_story_ops *ops;
	bool wanted;

	rcu_read_lock();
	ops = READ_ONCE(listener);
	wanted = ops && ops->wanted(net);
	rcu_read_unlock();
	return wanted;
}
EXPORT_SYMBOL_IF_KUNIT(rca_story_wanted);

/* Queue a record for the work. Called under RCU, which rca_story_listen() waits for. */
static void leave(struct rca_untold *untold, const struct rca_story *story)
{
	struct rca_story *copy = kmemdup(story, sizeof(*story),
					 GFP_NOWAIT | __GFP_NOWARN | __GFP_ACCOUNT);
	unsigned long flags;

	spin_lock_irqsave(&untold_lock, flags);
	if (list_empty(&untold->turn)) {
		get_net(untold->net);	/* put in tell_work() */
		list_add_tail(&untold->turn, &turns);
	}
	if (copy && untold->count < RCA_UNTOLD) {
		get_pid(copy->pid);	/* put in rca_story_forget() */
		list_add_tail(&copy->node, &untold->stories);
		untold->count++;
		copy = NULL;
	} else {
		untold->lost = true;
	}
	spin_unlock_irqrestore(&untold_lock, flags);
	kfree(copy);
	schedule_work(&telling);
}

/**
 * rca_untold_leave() - queue a record for the receiver, if there is one
 * @untold: the queue of the namespace, on which the caller holds a reference
 * @story: the record; it is copied
 *
 * Context: Any context.
 */
void rca_untold_leave(struct rca_untold *untold, const struct rca_story *story)
{
	const struct rca_story_ops *ops;

	rcu_read_lock();
	ops = READ_ONCE(listener);
	if (ops && ops->wanted(untold->net))
		leave(untold, story);
	rcu_read_unlock();
}
EXPORT_SYMBOL_IF_KUNIT(rca_untold_leave);
