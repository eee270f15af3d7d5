// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What went wrong lately, for each network namespace: failures of operations and
 * events that tell of one, the last RCA_STORIES of them. Who listens hears of all that
 * happens, also of what goes well (notify.c).
 *
 * What is kept is bounded, and a story for which there is no memory takes the place of the
 * oldest one.
 *
 * Locking: story_net.lock, a leaf; taken in any context, also with rca_id.lock held.
 */
#include "log/failure_log.h"

#include <kunit/visibility.h>
#include <linux/ktime.h>
#include <linux/pid.h>
#include <linux/ratelimit.h>
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
 * @refusals: of a flood of requests only some are told, or nothing else would be kept
 * @untold: what its listener was not told yet
 */
struct story_net {
	spinlock_t lock;
	struct list_head stories;
	unsigned int count;
	u64 serial;
	struct ratelimit_state refusals;
	struct rca_untold untold;
};

static unsigned int story_net_id;

static int __net_init story_net_start(struct net *net)
{
	struct story_net *all = net_generic(net, story_net_id);

	spin_lock_init(&all->lock);
	INIT_LIST_HEAD(&all->stories);
	ratelimit_state_init(&all->refusals, HZ, 8);
	ratelimit_set_flags(&all->refusals, RATELIMIT_MSG_ON_RELEASE);
	rca_untold_init(&all->untold, net);
	return 0;
}

/*
 * No id of the namespace exists any more, as each has a reference of it, and nothing is left to
 * be told, which has one, too.
 */
static void __net_exit story_net_stop(struct net *net)
{
	struct story_net *all = net_generic(net, story_net_id);
	struct rca_story *story, *tmp;

	list_for_each_entry_safe(story, tmp, &all->stories, node)
		rca_story_forget(story);
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
	unsigned long flags;

	story->at = ktime_get_real_ns();
	if (keep) {
		spin_lock_irqsave(&all->lock, flags);
		story->serial = ++all->serial;
		place = get_place(all);
		if (place) {
			*place = *story;
			get_pid(place->pid);	/* put in rca_story_forget() or get_place() */
			list_add_tail(&place->node, &all->stories);
		}
		spin_unlock_irqrestore(&all->lock, flags);
	}
	rca_untold_leave(&all->untold, story);
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
