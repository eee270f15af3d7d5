// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Ids that hear of changes of the network, by their neighbours, so that those whom
 * the change of one concerns are found without looking at the others.
 *
 * Locking: a spinlock for each bucket to change it, in process context; RCU to
 * read. A reader that stands on an id that goes over to another bucket ends
 * there, and starts again.
 */
#include <kunit/visibility.h>
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/hash.h>
#include <linux/inetdevice.h>
#include <linux/jhash.h>
#include <linux/netdevice.h>
#include <linux/rculist_nulls.h>
#include <net/ipv6.h>
#include <net/neighbour.h>
#include <net/netns/hash.h>
#include <rdma/ib_verbs.h>

#include "id/id.h"
#include "device/devices.h"

#define BUCKET_BITS	10
#define BUCKETS		1024

static_assert(BIT(BUCKET_BITS) == BUCKETS);

/* The low bits of &rca_id.watch; above them is the number of the bucket. */
enum { NOTHING, NETDEV, NETDEV_AND_PEER, KIND = 3 };
#define KIND_BITS	2

/**
 * struct bucket - a bucket of the table
 * @lock: taken to change @ids
 * @ids: the ids
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

/* Where an id shall be: by its peer; one without is anywhere. */
static struct bucket *bucket_for(const struct rca_id *id)
{
	const void *key;
	size_t len = peer_key(&id->dst, &key);

	if (!len || rca_addr_is_any(&id->dst))
		return &buckets[hash_ptr(id, BUCKET_BITS)];
	return peer_bucket(id->net, id->link.ifindex, key, len);
}

/* Where it is. */
static struct bucket *bucket_of(const struct rca_id *id)
{
	return &buckets[id->watch >> KIND_BITS];
}

static void enter(struct rca_id *id, u16 kind)
{
	struct bucket *bucket = bucket_for(id);

	spin_lock(&bucket->lock);
	WRITE_ONCE(id->watch, (bucket - buckets) << KIND_BITS | kind);
	hlist_nulls_add_head_rcu(&id->watch_node, &bucket->ids);
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
	if (id->link.ifindex && !id->watch)
		enter(id, NETDEV);
}

/**
 * rca_id_watch_peer() - from now on an id hears when its peer gets another hardware address
 * @id: the id; its address is resolved, and it has a device
 *
 * On RoCE, where the path has that address. Of a peer behind a gateway nothing
 * is heard. It hears of its network device, too. Doing it twice is fine. Ends with
 * rca_id_unwatch().
 *
 * Context: Process context. Expects @id->op to be held by the caller.
 */
void rca_id_watch_peer(struct rca_id *id)
{
	struct bucket *bucket;
	const void *key;

	lockdep_assert_held(&id->op);
	if (!id->dev || !rdma_protocol_roce(id->dev->ibdev, id->port_num) ||
	    !peer_key(&id->dst, &key))
		return;
	bucket = bucket_for(id);
	if (id->watch && bucket_of(id) != bucket)
		rca_id_unwatch(id);
	if (!id->watch) {
		enter(id, NETDEV_AND_PEER);
		return;
	}
	/* As a rule its peer was known when it began to hear: nothing is missed in between. */
	spin_lock(&bucket->lock);
	WRITE_ONCE(id->watch, (id->watch & ~KIND) | NETDEV_AND_PEER);
	spin_unlock(&bucket->lock);
}

/**
 * rca_id_unwatch() - an id hears nothing of the network any more
 * @id: the id
 *
 * Context: Process context. Expects @id->op to be held by the caller, or @id
 * to be known to nobody else.
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

/* Post an event if the hardware address @on_route, which is @id's, is not @now. */
static void tell(struct rca_id *id, const u8 *on_route, const u8 *now, u32 type)
{
	unsigned long flags;

	/* An id without a reference is one that does not hear. */
	spin_lock_irqsave(&id->lock, flags);
	if (hears(id) && memcmp(on_route, now, ETH_ALEN))
		rca_id_post_net_locked(id, type);
	spin_unlock_irqrestore(&id->lock, flags);
}

static void tell_bucket(struct bucket *bucket, const struct net_device *ndev)
{
	struct net *net = dev_net(ndev);
	struct hlist_nulls_node *pos;
	struct rca_id *id;

	rcu_read_lock();
	do {
		hlist_nulls_for_each_entry_rcu(id, pos, &bucket->ids, watch_node)
			if (net_eq(id->net, net) && id->link.ifindex == ndev->ifindex)
				tell(id, id->link.smac, ndev->dev_addr,
				     RDMA_CM_ALT_EVENT_ADDR_CHANGE);
	} while (get_nulls_value(pos) != bucket - buckets);
	rcu_read_unlock();
}

/**
 * rca_id_netdev_changed() - a network device may have got another hardware address
 * @ndev: the network device
 *
 * Ids that were bound or resolved while it had another one get ADDR_CHANGE. All ids
 * are looked at: it happens when a bond fails over, so rarely that it is not worth
 * memory of each id.
 *
 * Context: Any context.
 */
void rca_id_netdev_changed(const struct net_device *ndev)
{
	int i;

	for (i = 0; i < BUCKETS; i++)
		tell_bucket(&buckets[i], ndev);
}

static bool is_peer(const struct rca_id *id, const struct neighbour *neigh, size_t len)
{
	const void *key;

	return (READ_ONCE(id->watch) & KIND) == NETDEV_AND_PEER &&
	       id->link.ifindex == neigh->dev->ifindex && net_eq(id->net, dev_net(neigh->dev)) &&
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
		hlist_nulls_for_each_entry_rcu(id, pos, &bucket->ids, watch_node)
			if (is_peer(id, neigh, len))
				tell(id, id->link.dmac, addr, RDMA_CM_ALT_EVENT_UNREACHABLE);
	} while (get_nulls_value(pos) != bucket - buckets);
out_unlock:
	rcu_read_unlock();
}

/**
 * rca_watch_init() - make the table
 *
 * Context: Process context. Module init, before there is an id.
 */
void rca_watch_init(void)
{
	int i;

	for (i = 0; i < BUCKETS; i++) {
		spin_lock_init(&buckets[i].lock);
		INIT_HLIST_NULLS_HEAD(&buckets[i].ids, i);
	}
}
