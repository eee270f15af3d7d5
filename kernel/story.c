// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What went wrong lately, for each network namespace: failures of operations and
 * events that tell of one, the last RCA_STORIES of them. And one listener, who hears of
 * all that happens, also of what goes well.
 *
 * What is kept is bounded, and a story for which there is no memory takes the place of the
 * oldest one. The listener is called by a work, as stories come with interrupts off,
 * and netlink may send what it sends over a network device (nlmon).
 *
 * Locking: story_net.lock and untold_lock, both leaves; taken in any context, also with
 * rca_id.lock held.
 */
#include "story.h"

#include <kunit/visibility.h>
#include <linux/ktime.h>
#include <linux/pid.h>
#include <linux/ratelimit.h>
#include <linux/rcupdate.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

/**
 * struct story_net - the stories of a namespace
 * @lock: protects all
 * @stories: the oldest first
 * @count: how many
 * @serial: of the newest
 * @lost: the listener has to be told that it has missed something (atomic)
 * @refusals: of a flood of requests only some are told, or nothing else would be kept
 */
struct story_net {
	spinlock_t lock;
	struct list_head stories;
	unsigned int count;
	u64 serial;
	bool lost;
	struct ratelimit_state refusals;
};

static void tell_work(struct work_struct *work);

static unsigned int story_net_id;
static const struct rca_story_ops *listener;

/* What the listener was not told yet, the oldest first. */
static LIST_HEAD(untold);
static unsigned int untold_count;
static DEFINE_SPINLOCK(untold_lock);
static bool any_lost;
static DECLARE_WORK(telling, tell_work);

static void forget(struct rca_story *story)
{
	put_pid(story->pid);	/* got when it was copied */
	kfree(story);
}

static int __net_init story_net_start(struct net *net)
{
	struct story_net *all = net_generic(net, story_net_id);

	spin_lock_init(&all->lock);
	INIT_LIST_HEAD(&all->stories);
	ratelimit_state_init(&all->refusals, HZ, 8);
	ratelimit_set_flags(&all->refusals, RATELIMIT_MSG_ON_RELEASE);
	return 0;
}

/* No id of the namespace exists any more, as each has a reference of it. */
static void __net_exit story_net_stop(struct net *net)
{
	struct story_net *all = net_generic(net, story_net_id);
	struct rca_story *story, *tmp;

	list_for_each_entry_safe(story, tmp, &all->stories, node)
		forget(story);
}

static struct pernet_operations story_net_ops = {
	.init = story_net_start,
	.exit = story_net_stop,
	.id = &story_net_id,
	.size = sizeof(struct story_net),
};

/**
 * rca_story_init() - be ready for stories of all namespaces
 *
 * Context: Process context. Module init. Sleeps.
 * Return: 0 or a negative errno.
 */
int rca_story_init(void)
{
	return register_pernet_subsys(&story_net_ops);
}

/**
 * rca_story_exit() - forget all
 *
 * Context: Process context. Module exit; no id exists any more. Sleeps.
 */
void rca_story_exit(void)
{
	unregister_pernet_subsys(&story_net_ops);
}

/* Somebody has missed something: who it was is in their namespaces. */
static void tell_losses(const struct rca_story_ops *ops)
{
	struct story_net *all;
	struct net *net;

	if (!xchg(&any_lost, false))
		return;
	down_read(&net_rwsem);
	for_each_net(net) {
		all = net_generic(net, story_net_id);
		if (xchg(&all->lost, false) && ops)
			ops->lost(net);
	}
	up_read(&net_rwsem);
}

static struct rca_story *next_untold(void)
{
	struct rca_story *story;

	spin_lock_irq(&untold_lock);
	story = list_first_entry_or_null(&untold, struct rca_story, node);
	if (story) {
		list_del(&story->node);
		untold_count--;
	}
	spin_unlock_irq(&untold_lock);
	return story;
}

static void tell_work(struct work_struct *work)
{
	const struct rca_story_ops *ops = READ_ONCE(listener);
	struct rca_story *story;

	while ((story = next_untold())) {
		if (ops)
			ops->tell(story->net, story);
		put_net(story->net);	/* got in leave_untold() */
		forget(story);
		cond_resched();
	}
	tell_losses(ops);
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

/* Memory for one more; full or without memory: the oldest one's. NULL: there is none at all. */
static struct rca_story *get_place(struct story_net *all)
{
	struct rca_story *place = NULL;

	lockdep_assert_held(&all->lock);
	if (all->count < RCA_STORIES)
		place = kmalloc(sizeof(*place), GFP_NOWAIT | __GFP_NOWARN | __GFP_ACCOUNT);
	if (place) {
		all->count++;
	} else if (all->count) {
		place = list_first_entry(&all->stories, struct rca_story, node);
		list_del(&place->node);
		put_pid(place->pid);
	}
	return place;
}

/* For the work. Expects RCU, which rca_story_listen() waits for. */
static void leave_untold(struct net *net, const struct rca_story *story)
{
	struct story_net *all = net_generic(net, story_net_id);
	struct rca_story *copy = kmemdup(story, sizeof(*story),
					 GFP_NOWAIT | __GFP_NOWARN | __GFP_ACCOUNT);
	unsigned long flags;

	spin_lock_irqsave(&untold_lock, flags);
	if (copy && untold_count < RCA_UNTOLD) {
		copy->net = get_net(net);	/* put in tell_work() */
		get_pid(copy->pid);	/* put in forget() */
		list_add_tail(&copy->node, &untold);
		untold_count++;
		copy = NULL;
	} else {
		WRITE_ONCE(all->lost, true);
		smp_store_release(&any_lost, true);	/* pairs with xchg() in tell_losses() */
	}
	spin_unlock_irqrestore(&untold_lock, flags);
	kfree(copy);
	schedule_work(&telling);
}

/**
 * rca_story_tell() - something happened
 * @net: the network namespace of the id
 * @story: what; @at and @serial are set
 * @keep: it went wrong: the namespace keeps it
 *
 * Context: Any context.
 */
void rca_story_tell(struct net *net, struct rca_story *story, bool keep)
{
	struct story_net *all = net_generic(net, story_net_id);
	struct rca_story *place;
	const struct rca_story_ops *ops;
	unsigned long flags;

	story->at = ktime_get_real_ns();
	if (keep) {
		spin_lock_irqsave(&all->lock, flags);
		story->serial = ++all->serial;
		place = get_place(all);
		if (place) {
			*place = *story;
			get_pid(place->pid);	/* put in forget() or get_place() */
			list_add_tail(&place->node, &all->stories);
		}
		spin_unlock_irqrestore(&all->lock, flags);
	}
	rcu_read_lock();
	ops = READ_ONCE(listener);
	if (ops && ops->wanted(net))
		leave_untold(net, story);
	rcu_read_unlock();
}
EXPORT_SYMBOL_IF_KUNIT(rca_story_tell);

/**
 * rca_story_spare() - shall one more refused request be told of?
 * @net: the namespace
 *
 * Context: Any context.
 * Return: false: there were many lately.
 */
bool rca_story_spare(struct net *net)
{
	struct story_net *all = net_generic(net, story_net_id);

	return __ratelimit(&all->refusals);
}
EXPORT_SYMBOL_IF_KUNIT(rca_story_spare);

/**
 * rca_story_next() - read what a namespace keeps, the oldest first
 * @net: the namespace
 * @after: serial number of the last one that was read; 0: start
 * @copy: is set to the next one, with a reference of its process, for put_pid()
 *
 * Context: Any context.
 * Return: false: there is no more.
 */
bool rca_story_next(struct net *net, u64 after, struct rca_story *copy)
{
	struct story_net *all = net_generic(net, story_net_id);
	struct rca_story *story;
	unsigned long flags;
	bool found = false;

	spin_lock_irqsave(&all->lock, flags);
	list_for_each_entry(story, &all->stories, node) {
		if (story->serial <= after)
			continue;
		*copy = *story;
		get_pid(copy->pid);
		found = true;
		break;
	}
	spin_unlock_irqrestore(&all->lock, flags);
	return found;
}
EXPORT_SYMBOL_IF_KUNIT(rca_story_next);
