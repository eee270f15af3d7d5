// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * One listener, who hears of all that happens. It is called by a work, as stories come with
 * interrupts off, and netlink may send what it sends over a network device (nlmon).
 *
 * Each network namespace has a queue of its own, and the work goes from one to the next with each
 * story: who makes much happen in his namespace neither takes the room of others nor lets them
 * wait. There is something in a queue only while somebody listens, in any namespace: netlink does
 * not say in which.
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

/* The queues in which something waits; the next one first. */
static LIST_HEAD(turns);
static DEFINE_SPINLOCK(untold_lock);
static DECLARE_WORK(telling, tell_work);

/**
 * rca_story_forget() - free a story that is in no list any more
 * @story: the story, with a reference of its process
 *
 * Context: Any context.
 */
void rca_story_forget(struct rca_story *story)
{
	put_pid(story->pid);	/* got when it was copied */
	kfree(story);
}

/**
 * rca_untold_init() - a queue is empty at first
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
 * Whose turn is it? @story is what he is to be told; NULL: that was all, and his namespace's
 * reference passes to the caller. @lost says whether something is missing.
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
	/* In a flood that lasts the queue is never empty. */
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
 * rca_story_flush() - wait until all that has happened was told to who listens
 *
 * Context: Process context. Sleeps.
 */
void rca_story_flush(void)
{
	flush_work(&telling);
}
EXPORT_SYMBOL_IF_KUNIT(rca_story_flush);

/**
 * rca_story_listen() - from now on somebody listens to all that happens
 * @ops: who; NULL: nobody. They stay until somebody else listens.
 *
 * Context: Process context. Sleeps until who listened before is not called any more.
 * Return: who listened before.
 */
const struct rca_story_ops *rca_story_listen(const struct rca_story_ops *ops)
{
	const struct rca_story_ops *before = xchg(&listener, ops);

	synchronize_rcu();	/* wanted() is called under RCU, and what it wants is left then */
	rca_story_flush();
	return before;
}
EXPORT_SYMBOL_IF_KUNIT(rca_story_listen);

/**
 * rca_story_wanted() - does anybody listen?
 * @net: in this network namespace
 *
 * Context: Any context.
 * Return: false: only failures are worth telling.
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

/* For the work. Expects RCU, which rca_story_listen() waits for. */
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
 * rca_untold_leave() - something happened: who listens in that namespace is told soon
 * @untold: the queue of the namespace, which the caller has a reference of
 * @story: what; it is copied
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
