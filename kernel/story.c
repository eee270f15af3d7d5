// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What went wrong lately, for each network namespace: failures of operations and
 * events that tell of one, the last RCA_STORIES of them. And one listener, who hears of
 * all that happens, also of what goes well.
 *
 * What is kept costs memory that nobody pays for, so it is bounded, and a story for
 * which there is no memory takes the place of the oldest one.
 *
 * Locking: story_net.lock, a leaf; taken in any context, also with rca_id.lock held.
 */
#include "story.h"

#include <kunit/visibility.h>
#include <linux/ktime.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

/**
 * struct story_net - the stories of a namespace
 * @lock: protects all
 * @stories: the oldest first
 * @count: how many
 * @serial: of the newest
 */
struct story_net {
	spinlock_t lock;
	struct list_head stories;
	unsigned int count;
	u64 serial;
};

static unsigned int story_net_id;
static const struct rca_story_ops *listener;

static void forget(struct rca_story *story)
{
	put_pid(story->pid);	/* got in rca_story_tell() */
	kfree(story);
}

static int __net_init story_net_start(struct net *net)
{
	struct story_net *all = net_generic(net, story_net_id);

	spin_lock_init(&all->lock);
	INIT_LIST_HEAD(&all->stories);
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

/**
 * rca_story_listen() - from now on somebody listens to all that happens
 * @ops: who; NULL: nobody. They stay until that was said and an RCU grace period has passed.
 *
 * Context: Process context.
 */
void rca_story_listen(const struct rca_story_ops *ops)
{
	WRITE_ONCE(listener, ops);
}

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

/* Memory for one more; full or without memory: the oldest one's. NULL: there is none at all. */
static struct rca_story *get_place(struct story_net *all)
{
	struct rca_story *place = NULL;

	lockdep_assert_held(&all->lock);
	if (all->count < RCA_STORIES)
		place = kmalloc(sizeof(*place), GFP_NOWAIT | __GFP_NOWARN);
	if (place) {
		all->count++;
	} else if (all->count) {
		place = list_first_entry(&all->stories, struct rca_story, node);
		list_del(&place->node);
		put_pid(place->pid);
	}
	return place;
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
		ops->tell(net, story);
	rcu_read_unlock();
}
EXPORT_SYMBOL_IF_KUNIT(rca_story_tell);

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
