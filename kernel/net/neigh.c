// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Waiting for neighbours: a waiter is woken when its neighbour answers; others are not.
 *
 * Any number of ids of any user may wait for a neighbour, whose change is reported in softirq. So
 * a change wakes RCA_NEIGH_BATCH waiters, and work wakes the others: a batch of each neighbour in
 * turn, with a pause behind each batch.
 *
 * Locking: a spinlock for the table and all waiters. Network code reports changes of neighbours in
 * process context and in softirq, never with interrupts off.
 */
#include "net/net.h"

#include <linux/rhashtable.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <net/neighbour.h>

#include "ctx/ctx.h"

/**
 * struct rca_neigh - a neighbour that is waited for; freed with the last waiter
 * @node: entry in neighs, until the neighbour has answered
 * @key: the neighbour (immutable)
 * @waits: the waiters, through &rca_neigh_wait.node; never empty while the lock is not held
 * @answered: entry in answered_neighs, once the neighbour has answered; else empty
 * @rcu: frees it after readers of the table
 */
struct rca_neigh {
	struct rhash_head node;
	struct rca_neigh_key key;
	struct list_head waits;
	struct list_head answered;
	struct rcu_head rcu;
};

static const struct rhashtable_params neighs_params = {
	.key_len = sizeof(struct rca_neigh_key),
	.key_offset = offsetof(struct rca_neigh, key),
	.head_offset = offsetof(struct rca_neigh, node),
	.automatic_shrinking = true,
};

static void wake_work(struct work_struct *work);

static struct rhashtable neighs;
static DEFINE_SPINLOCK(neighs_lock);
static LIST_HEAD(answered_neighs);
static DECLARE_WORK(waker, wake_work);

/* Module init. Returns 0 or a negative errno. */
int rca_neigh_init(void)
{
	return rhashtable_init(&neighs, &neighs_params);
}

/* Module exit, when nothing waits and neighbours are not reported any more. */
void rca_neigh_exit(void)
{
	cancel_work_sync(&waker);
	rhashtable_destroy(&neighs);
}

/* Set the key of a neighbour. Any context. */
void rca_neigh_set_key(struct rca_neigh_key *key, const struct neighbour *neigh)
{
	memset(key, 0, sizeof(*key));
	key->net = dev_net(neigh->dev);
	key->ifindex = neigh->dev->ifindex;
	key->len = min_t(u32, neigh->tbl->key_len, sizeof(key->ip));
	memcpy(key->ip, neigh->primary_key, key->len);
}

/* Add a waiter, if it does not wait yet. False: the neighbour is not in the table. */
static bool add_waiter_locked(struct rca_neigh_wait *wait)
{
	struct rca_neigh *neigh;

	lockdep_assert_held(&neighs_lock);
	if (wait->neigh)
		return true;
	neigh = rhashtable_lookup_fast(&neighs, &wait->key, neighs_params);
	if (!neigh)
		return false;
	list_add_tail(&wait->node, &neigh->waits);
	wait->neigh = neigh;
	return true;
}

static void remove_waiter_locked(struct rca_neigh_wait *wait)
{
	lockdep_assert_held(&neighs_lock);
	list_del(&wait->node);
	wait->neigh = NULL;
}

static void drop_if_empty_locked(struct rca_neigh *neigh)
{
	lockdep_assert_held(&neighs_lock);
	if (!list_empty(&neigh->waits))
		return;
	if (list_empty(&neigh->answered))
		rhashtable_remove_fast(&neighs, &neigh->node, neighs_params);
	else
		list_del(&neigh->answered);
	kfree_rcu(neigh, rcu);
}

/**
 * rca_neigh_wait() - wait for a neighbour, asynchronously
 * @wait: the waiter. It may be woken before this returns; nothing happens if it waits already
 *
 * Best-effort: the waiter is not woken when the neighbour became known just before, or without
 * memory. Look the neighbour up again after a while.
 *
 * Context: Process context. Sleeps.
 */
void rca_neigh_wait(struct rca_neigh_wait *wait)
{
	struct rca_neigh *made;
	bool added;

	if (!wait->key.len)
		return;
	spin_lock_bh(&neighs_lock);
	added = add_waiter_locked(wait);
	spin_unlock_bh(&neighs_lock);
	if (added)
		return;
	made = kzalloc(sizeof(*made), GFP_KERNEL_ACCOUNT);
	if (!made)
		return;
	made->key = wait->key;
	INIT_LIST_HEAD(&made->waits);
	INIT_LIST_HEAD(&made->answered);
	spin_lock_bh(&neighs_lock);
	/* Fails if another waiter has added the neighbour meanwhile. */
	if (!rhashtable_lookup_insert_fast(&neighs, &made->node, neighs_params))
		made = NULL;
	add_waiter_locked(wait);
	spin_unlock_bh(&neighs_lock);
	kfree(made);
}

/* Stops waiting, if @wait does; wake() does not run when this returns. Process context. */
void rca_neigh_unwait(struct rca_neigh_wait *wait)
{
	struct rca_neigh *neigh;

	spin_lock_bh(&neighs_lock);
	neigh = wait->neigh;
	if (neigh) {
		remove_waiter_locked(wait);
		drop_if_empty_locked(neigh);
	}
	spin_unlock_bh(&neighs_lock);
}

/* Wake a batch of waiters. The neighbour is freed with the last one. */
static void wake_batch_locked(struct rca_neigh *neigh)
{
	struct rca_neigh_wait *wait, *next;
	unsigned int count = 0;

	lockdep_assert_held(&neighs_lock);
	list_for_each_entry_safe(wait, next, &neigh->waits, node) {
		if (count++ == RCA_NEIGH_BATCH)
			break;
		remove_waiter_locked(wait);
		wait->wake(wait);
	}
	drop_if_empty_locked(neigh);
}

static void wake_work(struct work_struct *work)
{
	struct rca_neigh *neigh;

	spin_lock_bh(&neighs_lock);
	while ((neigh = list_first_entry_or_null(&answered_neighs, struct rca_neigh, answered))) {
		list_move_tail(&neigh->answered, &answered_neighs);
		wake_batch_locked(neigh);
		spin_unlock_bh(&neighs_lock);
		cond_resched();
		spin_lock_bh(&neighs_lock);
	}
	spin_unlock_bh(&neighs_lock);
}

/**
 * rca_neigh_changed() - wake the waiters for a neighbour, if its hardware address is known now
 * @changed: the neighbour
 *
 * Context: Process context or softirq.
 */
void rca_neigh_changed(const struct neighbour *changed)
{
	struct rca_neigh_key key;
	struct rca_neigh *neigh;

	if (!atomic_read(&neighs.nelems) || !(READ_ONCE(changed->nud_state) & NUD_VALID))
		return;
	rca_neigh_set_key(&key, changed);
	spin_lock_bh(&neighs_lock);
	neigh = rhashtable_lookup_fast(&neighs, &key, neighs_params);
	if (neigh) {
		/* Later waiters wait for another change. */
		rhashtable_remove_fast(&neighs, &neigh->node, neighs_params);
		list_add_tail(&neigh->answered, &answered_neighs);
		wake_batch_locked(neigh);
		if (!list_empty(&answered_neighs))
			queue_work(rca_wq, &waker);
	}
	spin_unlock_bh(&neighs_lock);
}
