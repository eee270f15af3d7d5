// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The failure log: for each network namespace the last RCA_STORIES failures of operations and
 * events that report a failure. Every record, also of a success, is passed to the monitor
 * (notify.c).
 *
 * The log is bounded. Without memory for a new record, the oldest one is overwritten.
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
 * struct story_net - the failure log of a namespace
 * @lock: protects the members but @refusals and @untold
 * @stories: the records, the oldest first
 * @count: number of records
 * @serial: serial number of the newest record
 * @refusals: rate limit of refused requests, so that a flood of them does not fill the log
 * @untold: records that wait for the monitor
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
 * Ids and a non-empty notification queue hold references on the namespace, so neither exists any
 * more.
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
 * rca_story_init() - create the failure log of each namespace
 *
 * Context: Process context. Module init. Sleeps.
 * Return: 0 or a negative errno.
 */
int rca_story_init(void)
{
	return register_pernet_subsys(&story_net_ops);
}

/**
 * rca_story_exit() - free all failure logs
 *
 * Context: Process context. Module exit; no id exists any more. Sleeps.
 */
void rca_story_exit(void)
{
	unregister_pernet_subsys(&story_net_ops);
}

/* Memory for one record: new, else that of the oldest record. NULL if there is neither. */
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
 * rca_story_tell() - report an operation or event
 * @net: the network namespace of the id
 * @story: the record; this function sets its @at and @serial
 * @keep: the record is a failure: add it to the failure log
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
 * rca_story_spare() - rate limit for reports of refused requests
 * @net: the namespace
 *
 * Context: Any context.
 * Return: true if the request may be reported.
 */
bool rca_story_spare(struct net *net)
{
	struct story_net *all = net_generic(net, story_net_id);

	return __ratelimit(&all->refusals);
}
EXPORT_SYMBOL_IF_KUNIT(rca_story_spare);

/**
 * rca_story_next() - iterate over the failure log of a namespace, the oldest record first
 * @net: the namespace
 * @after: serial number of the previous record, 0 to start
 * @copy: set to the next record; its @pid holds a reference, for put_pid()
 *
 * Context: Any context.
 * Return: false if there is no further record.
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
