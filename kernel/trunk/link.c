// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Links: their references, their work (link_poll.c), and what the work of their trunk is told.
 *
 * Locking: none.
 */
#include "trunk/link.h"

#include <linux/atomic.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "trunk/trunk.h"

#define PSN_MASK	0xffffff

/* A link takes about 22 KiB, and on soft-RoCE more than that again for its QP. */
#define MOST_LINKS	512

/* A SEND that has not completed after this time may be lost: 4 ms at least. */
#define OVERDUE_DELAY	(msecs_to_jiffies(4) + 1)

static atomic_t links = ATOMIC_INIT(0);

/*
 * Not the workqueue of trunks, whose works wait for completions. Its priority is that of programs,
 * as that of ib_cm's is: the busier a processor is, the more is sent at once.
 */
static struct workqueue_struct *link_wq;

/* Module init. Returns 0 or a negative errno. */
int __init rca_links_init(void)
{
	link_wq = alloc_workqueue("rdma_cm_alt_link", WQ_UNBOUND, 0);
	return link_wq ? 0 : -ENOMEM;
}

/* Module exit, when all trunks are gone. */
void rca_links_exit(void)
{
	destroy_workqueue(link_wq);
}

/**
 * rca_link_run() - let the work of a link run soon
 * @link: the link, which has a completion queue that is not being destroyed
 *
 * Context: Any context.
 */
void rca_link_run(struct rca_trunk_link *link)
{
	queue_work(link_wq, &link->poll);
}

/**
 * rca_link_run_overdue() - look later whether a SEND may be lost
 * @link: the link, as for rca_link_run()
 *
 * Context: Any context.
 */
void rca_link_run_overdue(struct rca_trunk_link *link)
{
	queue_delayed_work(link_wq, &link->overdue, OVERDUE_DELAY);
}

/**
 * rca_link_make() - make a link
 * @trunk: its trunk
 * @active: this host will ask for it
 *
 * Context: Process context, also callbacks. Does not sleep.
 * Return: the link; NULL: there is no memory, or there are too many links.
 */
struct rca_trunk_link *rca_link_make(struct rca_trunk *trunk, bool active)
{
	struct rca_trunk_link *link;

	if (!atomic_add_unless(&links, 1, MOST_LINKS))
		return NULL;
	link = kzalloc(sizeof(*link), GFP_NOWAIT | __GFP_NOWARN);
	if (!link) {
		atomic_dec(&links);
		return NULL;
	}
	refcount_set(&link->ref, 1);
	refcount_inc(&trunk->ref);	/* put in rca_link_put() */
	link->trunk = trunk;
	link->active = active;
	get_random_bytes(&link->cookie, sizeof(link->cookie));
	link->cookie |= 1;	/* 0 is none */
	link->psn = get_random_u32() & PSN_MASK;
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
	atomic_dec(&links);
	rca_trunk_put(link->trunk);	/* got in rca_link_make() */
	kfree_rcu(link, rcu);
}

/**
 * rca_link_tell() - tell the work of a trunk what has happened to a link
 * @link: the link
 * @news: RCA_LINK_START and so on
 *
 * Context: Any context. The caller has a reference, or is one that the end of @link waits for.
 */
void rca_link_tell(struct rca_trunk_link *link, unsigned int news)
{
	set_bit(news, &link->news);
	rca_trunk_run(link->trunk);
}

/* Has a link to end? Any context. */
bool rca_link_is_ending(const struct rca_trunk_link *link)
{
	return test_bit(RCA_LINK_END, &link->news) || test_bit(RCA_LINK_LOST, &link->news);
}
