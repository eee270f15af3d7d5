// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Links: their references and their work.
 *
 * Locking: none.
 */
#include "trunk/link.h"

#include <linux/random.h>
#include <linux/slab.h>

#include "trunk/trunk.h"

#define PSN_MASK	0xffffff

/* Links of a trunk that may exist at a time: one, and one that it replaces and that is ending. */
#define MOST_LINKS	2

static struct workqueue_struct *trunk_wq;

/* Module init. Returns 0 or a negative errno. */
int __init rca_links_init(void)
{
	trunk_wq = alloc_workqueue("rdma_cm_alt_trunk", WQ_UNBOUND, 0);
	return trunk_wq ? 0 : -ENOMEM;
}

/* Module exit, when there are no links any more. */
void rca_links_exit(void)
{
	destroy_workqueue(trunk_wq);
}

/**
 * rca_link_make() - make a link
 * @trunk: its trunk
 * @active: this host will ask for it
 * @work: its work; ends it after RCA_LINK_END
 * @idle: work that runs from time to time while it is up
 *
 * Context: Process context, also callbacks. Does not sleep.
 * Return: the link; NULL: there is no memory, or earlier links of the trunk have not ended yet.
 */
struct rca_trunk_link *rca_link_make(struct rca_trunk *trunk, bool active,
				     work_func_t work, work_func_t idle)
{
	struct rca_trunk_link *link = NULL;

	if (atomic_inc_return(&trunk->links) <= MOST_LINKS)
		link = kzalloc(sizeof(*link), GFP_NOWAIT | __GFP_NOWARN);
	if (!link) {
		atomic_dec(&trunk->links);
		return NULL;
	}
	refcount_set(&link->ref, 1);
	refcount_inc(&trunk->ref);	/* put in rca_link_put() */
	link->trunk = trunk;
	link->active = active;
	get_random_bytes(&link->cookie, sizeof(link->cookie));
	link->cookie |= 1;	/* 0 is none */
	link->psn = get_random_u32() & PSN_MASK;
	INIT_WORK(&link->work, work);
	INIT_DELAYED_WORK(&link->idle, idle);
	return link;
}

/*
 * Get a link in a callback of ib_cm, which may run after the cm_id was destroyed. Returns NULL if
 * the link is being freed.
 */
struct rca_trunk_link *rca_link_get_live(struct rca_trunk_link *link)
{
	bool alive;

	rcu_read_lock();
	alive = refcount_inc_not_zero(&link->ref);
	rcu_read_unlock();
	return alive ? link : NULL;
}

/* Any context. */
void rca_link_put(struct rca_trunk_link *link)
{
	if (!refcount_dec_and_test(&link->ref))
		return;
	atomic_dec(&link->trunk->links);
	rca_trunk_put(link->trunk);	/* got in rca_link_make() */
	kfree_rcu(link, rcu);
}

/**
 * rca_link_tell() - tell the work of a link what has happened
 * @link: the link
 * @news: RCA_LINK_START and so on
 *
 * Context: Any context. The caller has a reference, or is one that the end of @link waits for.
 */
void rca_link_tell(struct rca_trunk_link *link, unsigned int news)
{
	set_bit(news, &link->news);
	refcount_inc(&link->ref);	/* put by its work */
	if (!queue_work(trunk_wq, &link->work))
		rca_link_put(link);
}

/*
 * Queues a delayed work of a trunk, or changes its delay. Returns whether it was queued already.
 * Any context.
 */
bool rca_links_queue(struct delayed_work *work, unsigned long delay)
{
	return mod_delayed_work(trunk_wq, work, delay);
}

/* Runs the idle work of a link after @delay jiffies. Any context. */
void rca_link_set_idle_timer(struct rca_trunk_link *link, unsigned long delay)
{
	queue_delayed_work(trunk_wq, &link->idle, delay);
}
