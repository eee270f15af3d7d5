// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Links: their number, their references, their work (link_qp.c), and notifications to the work of
 * their trunk.
 *
 * A trunk has a place while it has a link, and there are trunk_max places. A trunk that needs a
 * link when no place is free ends the link that was idle longest, and waits for its place.
 *
 * Locking: places_lock, under which the locks of trunks may be taken.
 */
#include "trunk/trunk.h"

#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "lib/testing.h"

#define PSN_MASK	0xffffff

/* Range of trunk_max. A link takes about 22 KiB, and on soft-RoCE twice as much. */
#define LEAST_PLACES	1U
#define MOST_PLACES	4096U

/* A SEND that has not completed after this time may be lost: 4 ms at least. */
#define OVERDUE_DELAY	(msecs_to_jiffies(4) + 1)

/* A link that was idle for a shorter time does not end for another one. */
#define LEAST_IDLE	(1UL * HZ)

/* Module parameter. Unit tests change it. */
RCA_VISIBLE_IF_KUNIT unsigned int rca_trunk_max = 512;

static DEFINE_SPINLOCK(places_lock);
static LIST_HEAD(placed);	/* trunks that have a place (lock: places_lock) */
static LIST_HEAD(waiting);	/* trunks that wait for one (lock: places_lock) */
static unsigned int places;	/* length of placed (lock: places_lock) */
static unsigned int waiters;	/* length of waiting (lock: places_lock) */

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

static int set_trunk_max(const char *val, const struct kernel_param *param)
{
	unsigned int max;
	int ret = kstrtouint(val, 0, &max);

	if (ret)
		return ret;
	if (max < LEAST_PLACES || max > MOST_PLACES) {
		pr_warn("trunk_max: %u is not from %u to %u\n", max, LEAST_PLACES, MOST_PLACES);
		return -EINVAL;
	}
	WRITE_ONCE(rca_trunk_max, max);
	return 0;
}

static const struct kernel_param_ops trunk_max_ops = {
	.set = set_trunk_max,
	.get = param_get_uint,
};

module_param_cb(trunk_max, &trunk_max_ops, &rca_trunk_max, 0644);
MODULE_PARM_DESC(trunk_max, "how many trunks may be open on a host, 1 to 4096, about 30 KiB each");

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

/* Check later for a lost SEND. As rca_link_run(). */
void rca_link_run_overdue(struct rca_trunk_link *link)
{
	queue_delayed_work(link_wq, &link->overdue, OVERDUE_DELAY);
}

/* Run end_work(), which puts the first reference of the link, after @delay jiffies. Any context. */
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

/* Is the link of a trunk ending, so that its place will be free? */
static bool is_leaving(const struct rca_trunk *trunk)
{
	const struct rca_trunk_link *link = trunk->link;

	lockdep_assert_held(&trunk->lock);
	return link && (link->closed || rca_link_is_ending(link));
}

/*
 * Returns the trunk whose link was idle longest, and for LEAST_IDLE; NULL: there is none. @leaving:
 * set to the number of links that are ending.
 */
static struct rca_trunk *find_oldest(rca_link_idle_t idle, unsigned int *leaving)
{
	struct rca_trunk *trunk, *oldest = NULL;
	unsigned long time, longest = LEAST_IDLE - 1;

	lockdep_assert_held(&places_lock);
	*leaving = 0;
	list_for_each_entry(trunk, &placed, place) {
		spin_lock(&trunk->lock);
		*leaving += is_leaving(trunk);
		time = idle(trunk);
		spin_unlock(&trunk->lock);
		if (time > longest) {
			longest = time;
			oldest = trunk;
		}
	}
	return oldest;
}

/* End the link of a trunk, unless it was used meanwhile. Returns whether it ends. */
static bool end_idle(struct rca_trunk *trunk, rca_link_idle_t idle)
{
	bool ends;

	spin_lock(&trunk->lock);
	ends = idle(trunk) >= LEAST_IDLE;
	if (ends) {
		rca_trunk_because(trunk, "another trunk needs its place");
		rca_link_tell(trunk->link, RCA_LINK_END);
	}
	spin_unlock(&trunk->lock);
	return ends;
}

/*
 * Will there be a place for another trunk? If each ending link has a waiting trunk already, end the
 * link that was idle longest.
 */
static bool make_place(rca_link_idle_t idle)
{
	struct rca_trunk *oldest;
	unsigned int leaving;

	do {
		oldest = find_oldest(idle, &leaving);
		if (leaving > waiters)
			return true;
	} while (oldest && !end_idle(oldest, idle));
	return oldest;
}

/* Put a trunk into the list of trunks with a place, or of trunks that wait for one. */
static void enter(struct rca_trunk *trunk, enum rca_place has_place)
{
	lockdep_assert_held(&places_lock);
	WRITE_ONCE(trunk->has_place, has_place);
	list_move_tail(&trunk->place, has_place == RCA_PLACE_TAKEN ? &placed : &waiting);
}

/*
 * Get a place for a trunk, which has no link. RCA_PLACE_WAITS: its work runs when it has the place
 * of a link that is ending. RCA_PLACE_NONE: no other link was idle for a second. After trunk_max
 * was lowered, no trunk waits before the surplus links have ended. From the work of @trunk.
 */
enum rca_place rca_link_take_place(struct rca_trunk *trunk, rca_link_idle_t idle)
{
	unsigned int max = READ_ONCE(rca_trunk_max);
	enum rca_place has_place;

	spin_lock(&places_lock);
	if (!trunk->has_place && places < max) {
		places++;
		enter(trunk, RCA_PLACE_TAKEN);
	} else if (!trunk->has_place && make_place(idle) && places == max) {
		waiters++;
		enter(trunk, RCA_PLACE_WAITS);
	}
	has_place = trunk->has_place;
	spin_unlock(&places_lock);
	return has_place;
}

/* Give a free place to the trunk that has waited longest. A waiting trunk is not dropped. */
static void pass_on(void)
{
	struct rca_trunk *next = list_first_entry_or_null(&waiting, struct rca_trunk, place);

	lockdep_assert_held(&places_lock);
	if (!next) {
		places--;
		return;
	}
	waiters--;
	enter(next, RCA_PLACE_TAKEN);
	rca_trunk_run(next);
}

/* Give up the place of a trunk without a link, or stop waiting for one. From the work of @trunk. */
void rca_link_leave_place(struct rca_trunk *trunk)
{
	spin_lock(&places_lock);
	if (trunk->has_place == RCA_PLACE_TAKEN)
		pass_on();
	else if (trunk->has_place == RCA_PLACE_WAITS)
		waiters--;
	WRITE_ONCE(trunk->has_place, RCA_PLACE_NONE);
	list_del_init(&trunk->place);
	spin_unlock(&places_lock);
}
