// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Neighbours: waiters for the hardware address of one, and watchers of changes of the address. Both
 * are in a hash table by neighbour, so that a change of one neighbour does not look at all of them.
 *
 * Any number of ids of any user may wait for a neighbour or watch it, and its changes are reported
 * in softirq. So a report wakes waiters at once, but looks at RCA_NEIGH_BATCH of them at most, and
 * for watchers it only marks the bucket. Work does the rest: a batch of each marked bucket in turn,
 * with a pause behind each batch. Changes that follow each other closely cost watchers one walk.
 *
 * Locking: a spinlock for all waiters, which is taken in softirq, too: network code reports changes
 * of neighbours in process context and in softirq, never with interrupts off. A spinlock for the
 * watchers of each bucket, in process context only. Network devices are reported under RTNL.
 */
#include "net/net.h"

#include <linux/bitmap.h>
#include <linux/bits.h>
#include <linux/hash.h>
#include <linux/jhash.h>
#include <linux/netdevice.h>
#include <linux/notifier.h>
#include <linux/string.h>
#include <linux/workqueue.h>
#include <net/arp.h>
#include <net/neighbour.h>
#include <net/netevent.h>

#include "ctx/ctx.h"
#include "lib/compat.h"
#include "lib/testing.h"

#define BUCKETS		1024

/**
 * struct bucket - bucket of the table
 * @waits: the waiters (lock: waits_lock)
 * @late: waiters that work wakes, because they were too many (lock: waits_lock)
 * @lock: protects changes of @watches
 * @watches: the watchers, and @cursor
 * @cursor: stands behind the watchers that the present walk has notified; unhashed: there is no
 *          walk (lock: @lock)
 * @changed: changes that no walk has begun to report (atomic)
 * @wanted: changes that the present walk reports (only in work)
 */
struct bucket {
	struct list_head waits;
	struct list_head late;
	spinlock_t lock;
	struct hlist_head watches;
	struct hlist_node cursor;
	unsigned long changed;
	unsigned long wanted;
};

static void walk_work(struct work_struct *work);

static struct bucket buckets[BUCKETS];
static DEFINE_SPINLOCK(waits_lock);
static rca_neigh_watch_fn notify;

/* Buckets with changes, and buckets that the work walks. */
static DECLARE_BITMAP(marked, BUCKETS);
static DECLARE_BITMAP(walked, BUCKETS);
static DECLARE_WORK(walker, walk_work);

/**
 * rca_neigh_key() - make the key of a neighbour
 * @key: the key
 * @net: namespace
 * @ifindex: network device
 * @addr: IP address, or another address, which no neighbour has
 *
 * Context: Any context.
 */
void rca_neigh_key(struct rca_neigh_key *key, const struct net *net, int ifindex,
		   const union rca_addr *addr)
{
	*key = (struct rca_neigh_key) { .net = net, .ifindex = ifindex };
	if (addr->sa.sa_family == AF_INET) {
		key->len = sizeof(addr->in.sin_addr);
		memcpy(key->ip, &addr->in.sin_addr, sizeof(addr->in.sin_addr));
	} else if (addr->sa.sa_family == AF_INET6) {
		key->len = sizeof(addr->in6.sin6_addr);
		memcpy(key->ip, &addr->in6.sin6_addr, sizeof(addr->in6.sin6_addr));
	}
}

/* Set the key of a neighbour. Any context. */
void rca_neigh_set_key(struct rca_neigh_key *key, const struct neighbour *neigh)
{
	*key = (struct rca_neigh_key) {
		.net = dev_net(neigh->dev),
		.ifindex = neigh->dev->ifindex,
		.len = min_t(u32, neigh->tbl->key_len, sizeof(key->ip)),
	};
	memcpy(key->ip, neigh->primary_key, key->len);
}

static struct bucket *bucket_of(const struct rca_neigh_key *key)
{
	u32 seed = key->ifindex ^ hash32_ptr(key->net);

	return &buckets[jhash2((const u32 *)key->ip, key->len / sizeof(u32), seed) % BUCKETS];
}

/**
 * rca_neigh_wait() - wait for a neighbour, asynchronously
 * @wait: the waiter. Nothing happens if it waits already
 *
 * Best-effort: the waiter is not woken when the neighbour became known just before, and may be
 * woken by another neighbour of a bucket with many waiters. Look the neighbour up again after a
 * while.
 *
 * Context: Process context.
 */
void rca_neigh_wait(struct rca_neigh_wait *wait)
{
	if (!wait->key.len)
		return;
	spin_lock_bh(&waits_lock);
	if (!wait->waits)
		list_add_tail(&wait->node, &bucket_of(&wait->key)->waits);
	wait->waits = true;
	spin_unlock_bh(&waits_lock);
}

static void remove_locked(struct rca_neigh_wait *wait)
{
	lockdep_assert_held(&waits_lock);
	list_del(&wait->node);
	wait->waits = false;
}

/* Stops waiting, if @wait does; wake() does not run when this returns. Process context. */
void rca_neigh_unwait(struct rca_neigh_wait *wait)
{
	spin_lock_bh(&waits_lock);
	if (wait->waits)
		remove_locked(wait);
	spin_unlock_bh(&waits_lock);
}

/* Wake waiters for a neighbour, or all if @key is NULL. Returns false if it has looked at all. */
static bool wake_batch(struct list_head *waits, const struct rca_neigh_key *key)
{
	struct rca_neigh_wait *wait, *next;
	unsigned int count = 0;

	lockdep_assert_held(&waits_lock);
	list_for_each_entry_safe(wait, next, waits, node) {
		if (count++ == RCA_NEIGH_BATCH)
			return true;
		if (key && memcmp(&wait->key, key, sizeof(*key)))
			continue;
		remove_locked(wait);
		wait->wake(wait);
	}
	return false;
}

/**
 * rca_neigh_watch() - watch a neighbour, and the network devices
 * @watch: the watcher, which does not watch yet
 * @key: the neighbour
 *
 * Return: what rca_neigh_unwatch() needs, less than 1024.
 */
u16 rca_neigh_watch(struct hlist_node *watch, const struct rca_neigh_key *key)
{
	struct bucket *bucket = bucket_of(key);

	spin_lock(&bucket->lock);
	hlist_add_head(watch, &bucket->watches);
	spin_unlock(&bucket->lock);
	return bucket - buckets;
}

/* Stops watching; no notification runs when this returns. @place: from rca_neigh_watch() */
void rca_neigh_unwatch(struct hlist_node *watch, u16 place)
{
	spin_lock(&buckets[place].lock);
	hlist_del_init(watch);
	spin_unlock(&buckets[place].lock);
}

static struct neigh_table *table_of(const struct rca_neigh_key *key)
{
#if IS_ENABLED(CONFIG_IPV6)
	if (key->len == sizeof(struct in6_addr))
		return rca_neigh_v6();
#endif
	return key->len == sizeof(struct in_addr) ? &arp_tbl : NULL;
}

/**
 * rca_neigh_look_up() - look up the hardware address of a neighbour
 * @found: the neighbour that was looked up last, or zero; replaced by this one
 * @key: the neighbour
 * @ndev: its network device
 *
 * A neighbour that does not answer has its last address. One that is being asked has none; its
 * answer is reported.
 *
 * Context: Process context.
 * Return: whether there is one.
 */
bool rca_neigh_look_up(struct rca_neigh_addr *found, const struct rca_neigh_key *key,
		       struct net_device *ndev)
{
	struct neigh_table *table = table_of(key);
	struct neighbour *neigh;

	if (!memcmp(&found->key, key, sizeof(*key)))
		return found->known;
	found->key = *key;
	found->known = false;
	neigh = table ? neigh_lookup(table, key->ip, ndev) : NULL;
	if (!neigh)
		return false;
	read_lock_bh(&neigh->lock);
	if (neigh->nud_state & (NUD_VALID | NUD_FAILED)) {
		memcpy(found->mac, neigh->ha, ETH_ALEN);
		found->known = true;
	}
	read_unlock_bh(&neigh->lock);
	neigh_release(neigh);
	return found->known;
}

/*
 * Wakes a batch of late waiters, and begins or continues the walk through the watchers: notifies a
 * batch of those behind the cursor. Returns false at the end of the bucket.
 */
static bool walk_bucket(struct bucket *bucket)
{
	struct hlist_node *last = NULL, *pos;
	struct rca_neigh_addr found = {};
	unsigned int count;
	bool more;

	spin_lock_bh(&waits_lock);
	more = wake_batch(&bucket->late, NULL);
	spin_unlock_bh(&waits_lock);
	spin_lock(&bucket->lock);
	rcu_read_lock();	/* for namespaces and network devices */
	if (hlist_unhashed(&bucket->cursor)) {
		bucket->wanted = xchg(&bucket->changed, 0);
		hlist_add_head(&bucket->cursor, &bucket->watches);
	}
	pos = bucket->wanted ? bucket->cursor.next : NULL;
	for (count = 0; pos && count < RCA_NEIGH_BATCH; count++) {
		notify(pos, bucket->wanted, &found);
		last = pos;
		pos = pos->next;
	}
	hlist_del_init(&bucket->cursor);
	if (pos)
		hlist_add_behind(&bucket->cursor, last);
	rcu_read_unlock();
	spin_unlock(&bucket->lock);
	return pos || more;
}

static void walk_work(struct work_struct *work)
{
	unsigned int i;

	do {
		/* A change during a walk waits for its end: some may have compared already. */
		for_each_set_bit(i, marked, BUCKETS)
			if (!test_bit(i, walked) && test_and_clear_bit(i, marked))
				__set_bit(i, walked);
		for_each_set_bit(i, walked, BUCKETS) {
			if (!walk_bucket(&buckets[i]))
				__clear_bit(i, walked);
			cond_resched();
		}
	} while (!bitmap_empty(walked, BUCKETS) || !bitmap_empty(marked, BUCKETS));
}

static void queue_walk(struct bucket *bucket)
{
	/* Fully ordered, as is test_and_clear_bit(). */
	if (!test_and_set_bit(bucket - buckets, marked))
		queue_work(rca_wq, &walker);
}

/* Any context. The caller has changed the address before, which the work therefore reads. */
static void mark(struct bucket *bucket, int change)
{
	if (hlist_empty(&bucket->watches))
		return;
	set_bit(change, &bucket->changed);
	queue_walk(bucket);
}

/* Wake the waiters for a neighbour, and have its watchers notified. Process context or softirq. */
RCA_VISIBLE_IF_KUNIT void rca_neigh_changed(const struct neighbour *neigh)
{
	struct rca_neigh_key key;
	struct bucket *bucket;
	bool late;

	rca_neigh_set_key(&key, neigh);
	bucket = bucket_of(&key);
	mark(bucket, RCA_NEIGH_CHANGED);
	if (list_empty(&bucket->waits) || !(READ_ONCE(neigh->nud_state) & NUD_VALID))
		return;
	spin_lock_bh(&waits_lock);
	late = wake_batch(&bucket->waits, &key);
	/* Later waiters wait for another change. */
	if (late)
		list_splice_tail_init(&bucket->waits, &bucket->late);
	spin_unlock_bh(&waits_lock);
	if (late)
		queue_walk(bucket);
}

static int neigh_event(struct notifier_block *nb, unsigned long event, void *ptr)
{
	if (event == NETEVENT_NEIGH_UPDATE)
		rca_neigh_changed(ptr);
	return NOTIFY_DONE;
}

static int netdev_event(struct notifier_block *nb, unsigned long event, void *ptr)
{
	struct net_device *ndev = netdev_notifier_info_to_dev(ptr);
	int i;

	/* Notifies all watchers: a failover is too rare to be worth memory in each of them. */
	if (event == NETDEV_BONDING_FAILOVER && netif_is_bond_master(ndev))
		for (i = 0; i < BUCKETS; i++)
			mark(&buckets[i], RCA_NETDEV_CHANGED);
	return NOTIFY_DONE;
}

static struct notifier_block netdev_nb = { .notifier_call = netdev_event };
static struct notifier_block neigh_nb = { .notifier_call = neigh_event };

/**
 * rca_neigh_init() - module init: make the table, and register the notifiers, under RTNL
 * @fn: notifies a watcher
 *
 * Context: Process context. Sleeps.
 * Return: 0 or a negative errno.
 */
int rca_neigh_init(rca_neigh_watch_fn fn)
{
	int ret, i;

	notify = fn;
	for (i = 0; i < BUCKETS; i++) {
		INIT_LIST_HEAD(&buckets[i].waits);
		INIT_LIST_HEAD(&buckets[i].late);
		spin_lock_init(&buckets[i].lock);
	}
	ret = register_netdevice_notifier(&netdev_nb);
	if (ret)
		return ret;
	ret = register_netevent_notifier(&neigh_nb);
	if (ret)
		unregister_netdevice_notifier(&netdev_nb);
	return ret;
}

/* Module exit: unregisters the notifiers, under RTNL, and waits for running ones and for work. */
void rca_neigh_exit(void)
{
	unregister_netevent_notifier(&neigh_nb);
	unregister_netdevice_notifier(&netdev_nb);
	cancel_work_sync(&walker);
}
