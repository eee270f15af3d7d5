// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Links: their references, their work (link_qp.c), and what the work of their trunk is told.
 *
 * Locking: none of its own.
 */
#include "trunk/trunk.h"

#include <linux/jiffies.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#define PSN_MASK	0xffffff

/*
 * Separate from the workqueue of trunks, whose works wait for completions. It has the priority of
 * programs, as that of ib_cm has: the busier a processor is, the more records share a frame.
 */
static struct workqueue_struct *link_wq;

/* Ends links, which may wait for a driver, without delaying other works. */
static struct workqueue_struct *end_wq;

int __init rca_links_init(void)
{
	link_wq = alloc_workqueue("rdma_cm_alt_link", WQ_UNBOUND, 0);
	if (!link_wq)
		return -ENOMEM;
	end_wq = alloc_workqueue("rdma_cm_alt_link_end", WQ_UNBOUND, 0);
	if (end_wq)
		return 0;
	destroy_workqueue(link_wq);
	return -ENOMEM;
}

/* Module exit, when all trunks are gone. */
void rca_links_exit(void)
{
	destroy_workqueue(end_wq);
	destroy_workqueue(link_wq);
}

/* Any context. The completion queues of the link exist, and are not being destroyed. */
void rca_link_run(struct rca_trunk_link *link)
{
	queue_work(link_wq, &link->poll);
}

/*
 * Run the work of a link at the next completion of a SEND. Returns true if SENDs may have completed
 * already: the work must run now. The queue is armed once for each callback, because arming writes
 * to a register of the adapter.
 */
bool rca_link_arm_sends(struct rca_trunk_link *link)
{
	lockdep_assert_held(&link->trunk->lock);
	/* The callback queues the work, which takes the lock, and so sees what is posted here. */
	if (READ_ONCE(link->armed))
		return false;
	WRITE_ONCE(link->armed, true);
	return rca_link_notify(link->send_cq);
}

/* Check in @delay jiffies for a lost SEND, and whether the peer is stuck. As rca_link_run(). */
void rca_link_run_overdue(struct rca_trunk_link *link, unsigned long delay)
{
	mod_delayed_work(link_wq, &link->overdue, delay);
}

/*
 * Run link_end_work(), which puts the first reference of the link, after @delay jiffies. Any
 * context.
 */
void rca_link_run_end(struct rca_trunk_link *link, unsigned long delay)
{
	queue_delayed_work(end_wq, &link->end, delay);
}

/*
 * Returns NULL without memory. @active: this host will request the link. Does not sleep; callbacks
 * call it, too.
 */
struct rca_trunk_link *rca_link_make(struct rca_trunk *trunk, bool active)
{
	struct rca_trunk_link *link = kzalloc(sizeof(*link), GFP_NOWAIT | __GFP_NOWARN);

	if (!link)
		return NULL;
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
	rca_trunk_put(link->trunk);	/* got in rca_link_make() */
	kfree_rcu(link, rcu);
}

/*
 * Notify the work of the trunk of an event of its link: RCA_LINK_START and so on. Any context. The
 * caller holds a reference, or the end of @link waits for the caller.
 */
void rca_link_tell(struct rca_trunk_link *link, unsigned int news)
{
	set_bit(news, &link->news);
	rca_trunk_run(link->trunk);
}

bool rca_link_is_ending(const struct rca_trunk_link *link)
{
	return test_bit(RCA_LINK_END, &link->news) || test_bit(RCA_LINK_LOST, &link->news);
}

/* Has the peer reported no buffers for so many jiffies, although it has to? */
bool rca_link_is_stuck(const struct rca_trunk_link *link, unsigned long time)
{
	lockdep_assert_held(&link->trunk->lock);
	return link->owed && time_after_eq(jiffies, link->owed_at + time);
}
