// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Ids that watch for changes of the network: a bond that fails over to a device with another
 * hardware address, or a neighbour that gets another one. They are in a hash table by neighbour, so
 * that a change of one neighbour does not look at all ids.
 *
 * Locking: a spinlock for each bucket to change it, in process context; RCU to read. An id may move
 * to another bucket while a reader stands on it: the reader then ends in that bucket, and starts
 * again. Network devices are reported under RTNL, neighbours in atomic context. Posting an event to
 * an id needs neither memory nor a mutex, so it is done in place.
 */
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/hash.h>
#include <linux/inetdevice.h>
#include <linux/jhash.h>
#include <linux/netdevice.h>
#include <linux/notifier.h>
#include <linux/rculist_nulls.h>
#include <net/ipv6.h>
#include <net/neighbour.h>
#include <net/netevent.h>
#include <net/netns/hash.h>
#include <rdma/ib_verbs.h>

#include "id/id.h"
#include "device/devices.h"
#include "ip/neigh_wait.h"

#define BUCKET_BITS	10
#define BUCKETS		1024

static_assert(BIT(BUCKET_BITS) == BUCKETS);

/*
 * Low bits of &rca_id.watch: the changes that the id watches for. The higher bits are the number of
 * its bucket.
 */
enum { NOTHING, NETDEV, NETDEV_AND_PEER, KIND = 3 };
#define KIND_BITS	2

/**
 * struct bucket - bucket of the table
 * @lock: protects changes of @ids
 * @ids: the watching ids
 */
struct bucket {
	spinlock_t lock;
	struct hlist_nulls_head ids;
};

static struct bucket buckets[BUCKETS];

static struct bucket *peer_bucket(const struct net *net, int ifindex, const void *ip, size_t len)
{
	return &buckets[jhash(ip, len, net_hash_mix(net) + ifindex) % BUCKETS];
}

/* Returns the length of the neighbour key of an address, or 0 if it is not an IP address. */
static size_t peer_key(const union rca_addr *addr, const void **key)
{
	switch (addr->sa.sa_family) {
	case AF_INET:
		*key = &addr->in.sin_addr;
		return sizeof(addr->in.sin_addr);
	case AF_INET6:
		*key = &addr->in6.sin6_addr;
		return sizeof(addr->in6.sin6_addr);
	default:
		return 0;
	}
}

/*
 * Returns the bucket that an id belongs to by its peer. An id without a peer may be in any bucket.
 */
static struct bucket *bucket_for(const struct rca_id *id)
{
	const void *key;
	size_t len = peer_key(&id->dst, &key);

	if (!len || rca_addr_is_any(&id->dst))
		return &buckets[hash_ptr(id, BUCKET_BITS)];
	return peer_bucket(id->net, id->link.ifindex, key, len);
}

/* Returns the bucket that an id is in. */
static struct bucket *bucket_of(const struct rca_id *id)
{
	return &buckets[id->watch >> KIND_BITS];
}

/**
 * rca_id_watch_netdev() - watch the hardware address of the network device of an id
 * @id: the id; it has a device, and does not watch
 *
 * Does nothing without a network device. Ends with rca_id_unwatch().
 *
 * Context: Process context. Expects @id->op to be held by the caller, or @id to be unpublished.
 */
void rca_id_watch_netdev(struct rca_id *id)
{
	struct bucket *bucket = bucket_for(id);

	if (!id->link.ifindex)
		return;
	spin_lock(&bucket->lock);
	WRITE_ONCE(id->watch, (bucket - buckets) << KIND_BITS | NETDEV);
	hlist_nulls_add_head_rcu(&id->watch_node, &bucket->ids);
	spin_unlock(&bucket->lock);
}

/**
 * rca_id_watch_peer() - watch the hardware addresses of the peer and of the network device of an id
 * @id: the id; it watches its network device since its address was resolved
 *
 * Only on RoCE, where the path contains the address of the peer. A peer behind a gateway is not
 * watched. May be called repeatedly. Ends with rca_id_unwatch().
 *
 * Context: Process context. Expects @id->op to be held by the caller.
 */
void rca_id_watch_peer(struct rca_id *id)
{
	struct bucket *bucket = bucket_of(id);

	lockdep_assert_held(&id->op);
	if (!id->watch || !id->dev || !rdma_protocol_roce(id->dev->ibdev, id->port_num))
		return;
	/* The peer was known when watching began, so the bucket is right. */
	spin_lock(&bucket->lock);
	WRITE_ONCE(id->watch, (id->watch & ~KIND) | NETDEV_AND_PEER);
	spin_unlock(&bucket->lock);
}

/**
 * rca_id_unwatch() - stop watching for changes of the network
 * @id: the id
 *
 * Context: Process context. Expects @id->op to be held by the caller, or @id to be unpublished.
 */
void rca_id_unwatch(struct rca_id *id)
{
	struct bucket *bucket;

	if (!id->watch)
		return;
	bucket = bucket_of(id);
	spin_lock(&bucket->lock);
	hlist_nulls_del_init_rcu(&id->watch_node);
	WRITE_ONCE(id->watch, NOTHING);
	spin_unlock(&bucket->lock);
}

/* Ids of requests get no events until they are accepted. */
static bool takes_events(const struct rca_id *id)
{
	switch (id->state) {
	case RCA_ST_REQ_RCVD:
	case RCA_ST_SIDR_RCVD:
	case RCA_ST_REMOVED:
	case RCA_ST_DESTROYING:
		return false;
	default:
		return true;
	}
}

/* Post an event if the hardware address @on_route of @id differs from @now. */
static void post_if_changed(struct rca_id *id, const u8 *on_route, const u8 *now, u32 type)
{
	unsigned long flags;

	/*
	 * Nearly all changes leave the address as it is, and 100,000 ids may have this peer. An id
	 * keeps its addresses while it watches.
	 */
	if (!memcmp(on_route, now, ETH_ALEN))
		return;
	/* The id may have no reference left; its state then lets no event pass. */
	spin_lock_irqsave(&id->lock, flags);
	if (takes_events(id) && memcmp(on_route, now, ETH_ALEN))
		rca_id_post_net_locked(id, type);
	spin_unlock_irqrestore(&id->lock, flags);
}

static void post_addr_changes(struct bucket *bucket, const struct net_device *ndev)
{
	struct net *net = dev_net(ndev);
	struct hlist_nulls_node *pos;
	struct rca_id *id;

	rcu_read_lock();
	do {
		hlist_nulls_for_each_entry_rcu(id, pos, &bucket->ids, watch_node)
			if (net_eq(READ_ONCE(id->net), net) && id->link.ifindex == ndev->ifindex)
				post_if_changed(id, id->link.smac, ndev->dev_addr,
						RDMA_CM_ALT_EVENT_ADDR_CHANGE);
	} while (get_nulls_value(pos) != bucket - buckets);
	rcu_read_unlock();
}

/*
 * A bond has failed over: ids that were bound or resolved with another hardware address get
 * ADDR_CHANGE. All ids are searched: a failover is too rare to be worth memory in each id.
 */
static void netdev_changed(const struct net_device *ndev)
{
	int i;

	for (i = 0; i < BUCKETS; i++)
		post_addr_changes(&buckets[i], ndev);
}

static bool is_peer(const struct rca_id *id, const struct neighbour *neigh, size_t len)
{
	const void *key;

	return (READ_ONCE(id->watch) & KIND) == NETDEV_AND_PEER &&
	       id->link.ifindex == neigh->dev->ifindex &&
	       net_eq(READ_ONCE(id->net), dev_net(neigh->dev)) &&
	       peer_key(&id->dst, &key) == len && !memcmp(key, neigh->primary_key, len);
}

/* Ids whose paths have another address of the neighbour get UNREACHABLE with -ETIMEDOUT. */
static void neigh_changed(struct neighbour *neigh)
{
	struct net *net = dev_net(neigh->dev);
	size_t len = neigh->tbl->key_len;
	u8 addr[MAX_ADDR_LEN] = {};
	struct hlist_nulls_node *pos;
	struct bucket *bucket;
	struct rca_id *id;

	bucket = peer_bucket(net, neigh->dev->ifindex, neigh->primary_key, len);
	rcu_read_lock();
	if (hlist_nulls_empty(&bucket->ids))
		goto out_unlock;
	neigh_ha_snapshot(addr, neigh, neigh->dev);
	do {
		hlist_nulls_for_each_entry_rcu(id, pos, &bucket->ids, watch_node)
			if (is_peer(id, neigh, len))
				post_if_changed(id, id->link.dmac, addr,
						RDMA_CM_ALT_EVENT_UNREACHABLE);
	} while (get_nulls_value(pos) != bucket - buckets);
out_unlock:
	rcu_read_unlock();
}

/* Module init: initialises the table before the first id is created. */
void rca_watch_init(void)
{
	int i;

	for (i = 0; i < BUCKETS; i++) {
		spin_lock_init(&buckets[i].lock);
		INIT_HLIST_NULLS_HEAD(&buckets[i].ids, i);
	}
}

static int netdev_event(struct notifier_block *nb, unsigned long event, void *ptr)
{
	struct net_device *ndev = netdev_notifier_info_to_dev(ptr);

	if (event == NETDEV_BONDING_FAILOVER && netif_is_bond_master(ndev))
		netdev_changed(ndev);
	return NOTIFY_DONE;
}

static int neigh_event(struct notifier_block *nb, unsigned long event, void *ptr)
{
	if (event == NETEVENT_NEIGH_UPDATE) {
		neigh_changed(ptr);
		rca_neigh_changed(ptr);
	}
	return NOTIFY_DONE;
}

static struct notifier_block netdev_nb = { .notifier_call = netdev_event };
static struct notifier_block neigh_nb = { .notifier_call = neigh_event };

/* Module init: registers the notifiers, under RTNL. Returns 0 or a negative errno. */
int rca_netwatch_init(void)
{
	int ret = register_netdevice_notifier(&netdev_nb);

	if (ret)
		return ret;
	ret = register_netevent_notifier(&neigh_nb);
	if (ret)
		unregister_netdevice_notifier(&netdev_nb);
	return ret;
}

/* Module exit: unregisters the notifiers, under RTNL, and waits for running ones. */
void rca_netwatch_exit(void)
{
	unregister_netevent_notifier(&neigh_nb);
	unregister_netdevice_notifier(&netdev_nb);
}
