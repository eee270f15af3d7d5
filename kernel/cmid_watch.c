// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Ids by network device and by neighbour, so that those whom a change of the
 * network concerns are found without looking at the others.
 *
 * Locking: a spinlock for each bucket to change it, in process context; RCU to
 * read. A reader that stands on an id that goes over to another bucket ends
 * there, and starts again.
 */
#include <kunit/visibility.h>
#include <linux/inetdevice.h>
#include <linux/jhash.h>
#include <linux/netdevice.h>
#include <linux/rculist_nulls.h>
#include <net/ipv6.h>
#include <net/neighbour.h>
#include <net/netns/hash.h>
#include <rdma/ib_verbs.h>

#include "cmid.h"
#include "devices.h"

#define NETDEV_BUCKETS	64
#define PEER_BUCKETS	1024

/**
 * struct bucket - a bucket of a table of ids
 * @lock: taken to change @ids
 * @ids: the ids
 */
struct bucket {
	spinlock_t lock;
	struct hlist_nulls_head ids;
};

static struct bucket netdevs[NETDEV_BUCKETS];
static struct bucket peers[PEER_BUCKETS];

static struct bucket *netdev_bucket(const struct net *net, int ifindex)
{
	return &netdevs[jhash_2words(net_hash_mix(net), ifindex, 0) % NETDEV_BUCKETS];
}

static struct bucket *peer_bucket(const struct net *net, int ifindex, const void *ip, size_t len)
{
	return &peers[jhash(ip, len, net_hash_mix(net) + ifindex) % PEER_BUCKETS];
}

/* The key of the neighbour that an address is; its length, 0: it is none. */
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

static struct bucket *bucket_of_peer(const struct rca_id *id)
{
	const void *key;
	size_t len = peer_key(&id->dst, &key);

	return len ? peer_bucket(id->net, id->link.ifindex, key, len) : NULL;
}

static void enter(struct bucket *bucket, struct hlist_nulls_node *node)
{
	spin_lock(&bucket->lock);
	hlist_nulls_add_head_rcu(node, &bucket->ids);
	spin_unlock(&bucket->lock);
}

static void leave(struct bucket *bucket, struct hlist_nulls_node *node)
{
	spin_lock(&bucket->lock);
	hlist_nulls_del_init_rcu(node);
	spin_unlock(&bucket->lock);
}

/**
 * rca_id_watch_netdev() - from now on an id hears when its network device's address changes
 * @id: the id; it has a device and a network device
 *
 * Doing it twice is fine. Ends with rca_id_unwatch().
 *
 * Context: Process context. Expects @id->op to be held by the caller, or @id
 * to be known to nobody else.
 */
void rca_id_watch_netdev(struct rca_id *id)
{
	if (id->link.ifindex && hlist_nulls_unhashed(&id->by_netdev))
		enter(netdev_bucket(id->net, id->link.ifindex), &id->by_netdev);
}

/**
 * rca_id_watch_peer() - from now on an id hears when its peer gets another hardware address
 * @id: the id; its address is resolved, and it has a device
 *
 * On RoCE, where the path has that address. Of a peer behind a gateway nothing
 * is heard. Doing it twice is fine. Ends with rca_id_unwatch().
 *
 * Context: Process context. Expects @id->op to be held by the caller.
 */
void rca_id_watch_peer(struct rca_id *id)
{
	struct bucket *bucket;

	lockdep_assert_held(&id->op);
	if (!id->dev || !rdma_protocol_roce(id->dev->ibdev, id->port_num) ||
	    !hlist_nulls_unhashed(&id->by_peer))
		return;
	bucket = bucket_of_peer(id);
	if (bucket)
		enter(bucket, &id->by_peer);
}

/**
 * rca_id_unwatch() - an id hears nothing of the network any more
 * @id: the id; its peer and network device are what they were
 *
 * Context: Process context. Expects @id->op to be held by the caller, or @id
 * to be known to nobody else.
 */
void rca_id_unwatch(struct rca_id *id)
{
	if (!hlist_nulls_unhashed(&id->by_netdev))
		leave(netdev_bucket(id->net, id->link.ifindex), &id->by_netdev);
	if (!hlist_nulls_unhashed(&id->by_peer))
		leave(bucket_of_peer(id), &id->by_peer);
}

/* Events of a request are suppressed until it is accepted. */
static bool hears(const struct rca_id *id)
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

/* Post an event if the hardware address @then, which is @id's, is not @now. */
static void tell(struct rca_id *id, const u8 *then, const u8 *now, u32 type)
{
	unsigned long flags;

	/* An id without a reference is one that does not hear. */
	spin_lock_irqsave(&id->lock, flags);
	if (hears(id) && memcmp(then, now, ETH_ALEN))
		rca_id_post_net_locked(id, type);
	spin_unlock_irqrestore(&id->lock, flags);
}

/**
 * rca_id_netdev_changed() - a network device may have got another hardware address
 * @ndev: the network device
 *
 * Ids that were bound or resolved while it had another one get ADDR_CHANGE.
 *
 * Context: Any context.
 */
void rca_id_netdev_changed(const struct net_device *ndev)
{
	struct net *net = dev_net(ndev);
	struct bucket *bucket = netdev_bucket(net, ndev->ifindex);
	struct hlist_nulls_node *pos;
	struct rca_id *id;

	rcu_read_lock();
	do {
		hlist_nulls_for_each_entry_rcu(id, pos, &bucket->ids, by_netdev)
			if (net_eq(id->net, net) && id->link.ifindex == ndev->ifindex)
				tell(id, id->link.smac, ndev->dev_addr,
				     RDMA_CM_ALT_EVENT_ADDR_CHANGE);
	} while (get_nulls_value(pos) != bucket - netdevs);
	rcu_read_unlock();
}

static bool is_peer(const struct rca_id *id, const struct neighbour *neigh, size_t len)
{
	const void *key;

	return id->link.ifindex == neigh->dev->ifindex && net_eq(id->net, dev_net(neigh->dev)) &&
	       peer_key(&id->dst, &key) == len && !memcmp(key, neigh->primary_key, len);
}

/**
 * rca_id_neigh_changed() - a neighbour may have got another hardware address
 * @neigh: its entry
 *
 * Ids whose paths have another one get UNREACHABLE with -ETIMEDOUT.
 *
 * Context: Any context.
 */
void rca_id_neigh_changed(struct neighbour *neigh)
{
	struct net *net = dev_net(neigh->dev);
	size_t len = neigh->tbl->key_len;
	u8 addr[MAX_ADDR_LEN] = {};
	struct hlist_nulls_node *pos;
	struct bucket *bucket;
	struct rca_id *id;

	if (neigh->tbl->family != AF_INET && neigh->tbl->family != AF_INET6)
		return;
	bucket = peer_bucket(net, neigh->dev->ifindex, neigh->primary_key, len);
	rcu_read_lock();
	if (hlist_nulls_empty(&bucket->ids))
		goto out_unlock;
	neigh_ha_snapshot(addr, neigh, neigh->dev);
	do {
		hlist_nulls_for_each_entry_rcu(id, pos, &bucket->ids, by_peer)
			if (is_peer(id, neigh, len))
				tell(id, id->link.dmac, addr, RDMA_CM_ALT_EVENT_UNREACHABLE);
	} while (get_nulls_value(pos) != bucket - peers);
out_unlock:
	rcu_read_unlock();
}

/**
 * rca_watch_init() - make the tables
 *
 * Context: Process context. Module init, before there is an id.
 */
void rca_watch_init(void)
{
	int i;

	for (i = 0; i < NETDEV_BUCKETS; i++) {
		spin_lock_init(&netdevs[i].lock);
		INIT_HLIST_NULLS_HEAD(&netdevs[i].ids, i);
	}
	for (i = 0; i < PEER_BUCKETS; i++) {
		spin_lock_init(&peers[i].lock);
		INIT_HLIST_NULLS_HEAD(&peers[i].ids, i);
	}
}
