// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Ids that watch for changes of the network: a bond that fails over to a device with another
 * hardware address, or a neighbour that gets another one. They are in a hash table by neighbour, so
 * that a change of one neighbour does not look at all ids.
 *
 * Any number of ids of any user may have one peer, and its changes are reported in softirq. So a
 * report only marks the bucket. Work compares the addresses of the ids with the present ones: a
 * batch of each marked bucket in turn, so changes that follow each other closely cost one walk.
 *
 * Locking: a spinlock for each bucket, in process context. Network devices are reported under RTNL,
 * neighbours in atomic context, and neither takes a lock. Posting an event to an id needs neither
 * memory nor a mutex, so it is done with the bucket locked.
 */
#include "id/id.h"

#include <linux/bitmap.h>
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/hash.h>
#include <linux/inetdevice.h>
#include <linux/jhash.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/notifier.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/workqueue.h>
#include <net/arp.h>
#include <net/ipv6.h>
#include <net/neighbour.h>
#include <net/netevent.h>
#include <net/netns/hash.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_verbs.h>

#include "ctx/ctx.h"
#include "lib/compat.h"
#include "net/net.h"
#include "transport/transport.h"

#define BUCKET_BITS	10
#define BUCKETS		1024

static_assert(BIT(BUCKET_BITS) == BUCKETS);

/*
 * Low bits of &rca_id.watch: the changes that the id watches for. The higher bits are the number of
 * its bucket.
 */
enum { NOTHING, NETDEV, NETDEV_AND_PEER, KIND = 3 };
#define KIND_BITS	2

/* Ids that are compared without a pause. */
#define BATCH		64

/* Bits of &bucket.changed. */
enum { NETDEV_CHANGED, NEIGH_CHANGED };

/**
 * struct bucket - bucket of the table
 * @lock: protects changes of @ids
 * @ids: the watching ids, and @cursor
 * @cursor: stands behind the ids that the present walk has compared; unhashed: there is no walk
 *          (lock: @lock)
 * @changed: changes that no walk has begun to look for (atomic)
 * @wanted: changes that the present walk looks for (only in work)
 */
struct bucket {
	spinlock_t lock;
	struct hlist_head ids;
	struct hlist_node cursor;
	unsigned long changed;
	unsigned long wanted;
};

static void watch_work(struct work_struct *work);

static struct bucket buckets[BUCKETS];

/* Buckets with changes, and buckets that the work walks. */
static DECLARE_BITMAP(marked, BUCKETS);
static DECLARE_BITMAP(walked, BUCKETS);
static DECLARE_WORK(walker, watch_work);

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
	struct bucket *bucket = &buckets[hash_ptr(id, BUCKET_BITS)];	/* any, without a peer */
	const void *key;
	size_t len;

	if (!id->link.ifindex)
		return;
	len = peer_key(&id->dst, &key);
	if (len && !rca_addr_is_any(&id->dst))
		bucket = peer_bucket(id->net, id->link.ifindex, key, len);
	spin_lock(&bucket->lock);
	id->watch = (bucket - buckets) << KIND_BITS | NETDEV;
	hlist_add_head(&id->watch_node, &bucket->ids);
	spin_unlock(&bucket->lock);
}

/**
 * rca_id_watch_peer() - watch the hardware addresses of the peer and of the network device of an id
 * @id: the id; it watches its network device since its address was resolved
 *
 * Only on RoCE, where the path contains the address of the peer. A peer behind a gateway is not
 * watched. May be called repeatedly. Ends with rca_id_unwatch().
 *
 * Context: Process context.
 */
void rca_id_watch_peer(struct rca_id *id)
{
	struct bucket *bucket = bucket_of(id);

	lockdep_assert_held(&id->op);
	if (!id->watch || !id->dev || !rdma_protocol_roce(id->dev->ibdev, id->port_num))
		return;
	/* The peer was known when watching began, so the bucket is right. */
	spin_lock(&bucket->lock);
	id->watch = (id->watch & ~KIND) | NETDEV_AND_PEER;
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
	hlist_del_init(&id->watch_node);
	id->watch = NOTHING;
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

/* Its connection goes on: the adapter follows the neighbour, or the QP fails. */
static bool was_connected(const struct rca_id *id)
{
	switch (id->state) {
	case RCA_ST_CONNECTED:
	case RCA_ST_DREQ_SENT:
	case RCA_ST_DISCONNECTED:
	case RCA_ST_CLOSED:
	case RCA_ST_SIDR_DONE:
		return true;
	default:
		return false;
	}
}

/*
 * Post an event if the hardware address @on_route of @id differs from @now. The work does not know
 * which neighbour of the bucket, or which bond, has changed: an id whose address was another before
 * gets another event. Expects the lock of the bucket to be held by the caller.
 */
static void post_if_changed(struct rca_id *id, const u8 *on_route, const u8 *now, u32 type)
{
	unsigned long flags;

	/* An id keeps its addresses while it watches. */
	if (!memcmp(on_route, now, ETH_ALEN))
		return;
	/* The id may have no reference left; its state then lets no event pass. */
	spin_lock_irqsave(&id->lock, flags);
	if (was_connected(id))
		type = RDMA_CM_ALT_EVENT_ADDR_CHANGE;
	if (takes_events(id))
		rca_id_post_net_locked(id, type);
	spin_unlock_irqrestore(&id->lock, flags);
}

/**
 * struct peer - a neighbour that a batch has looked up: many ids may have the same peer
 * @net: namespace of the neighbour, or NULL: none was looked up yet
 * @ifindex: its network device
 * @addr: its IP address
 * @known: @mac is its hardware address
 * @mac: see @known
 */
struct peer {
	const struct net *net;
	int ifindex;
	const union rca_addr *addr;
	bool known;
	u8 mac[ETH_ALEN];
};

static struct neigh_table *neigh_table(const union rca_addr *addr)
{
#if IS_ENABLED(CONFIG_IPV6)
	if (addr->sa.sa_family == AF_INET6)
		return rca_neigh_v6();
#endif
	return addr->sa.sa_family == AF_INET ? &arp_tbl : NULL;
}

/* Look up the address of the peer of @id. A neighbour that does not answer has one, too. */
static void look_up_peer(struct peer *peer, struct net *net, const struct rca_id *id,
			 struct net_device *ndev)
{
	struct neigh_table *table = neigh_table(&id->dst);
	struct neighbour *neigh;
	const void *key;

	if (peer->net == net && peer->ifindex == ndev->ifindex &&
	    rca_addr_same_ip(peer->addr, &id->dst))
		return;
	peer->net = net;
	peer->ifindex = ndev->ifindex;
	peer->addr = &id->dst;
	peer->known = false;
	neigh = table && peer_key(&id->dst, &key) ? neigh_lookup(table, key, ndev) : NULL;
	if (!neigh)
		return;
	read_lock_bh(&neigh->lock);
	/* While the neighbour is being asked, the entry has no address. Its answer is reported. */
	if (neigh->nud_state & (NUD_VALID | NUD_FAILED)) {
		memcpy(peer->mac, neigh->ha, ETH_ALEN);
		peer->known = true;
	}
	read_unlock_bh(&neigh->lock);
	neigh_release(neigh);
}

/*
 * Post the events of an id. A bond has failed over: ids that were bound or resolved with another
 * hardware address get ADDR_CHANGE. Ids whose paths have another address of the neighbour get
 * UNREACHABLE with -ETIMEDOUT, but ADDR_CHANGE once they have been connected.
 */
static void compare(struct rca_id *id, unsigned long changes, struct peer *peer)
{
	struct net *net = READ_ONCE(id->net);
	struct net_device *ndev = net ? dev_get_by_index_rcu(net, id->link.ifindex) : NULL;

	if (!ndev)
		return;
	if (changes & BIT(NETDEV_CHANGED) && netif_is_bond_master(ndev))
		post_if_changed(id, id->link.smac, ndev->dev_addr, RDMA_CM_ALT_EVENT_ADDR_CHANGE);
	if (changes & BIT(NEIGH_CHANGED) && (id->watch & KIND) == NETDEV_AND_PEER) {
		look_up_peer(peer, net, id, ndev);
		if (peer->known)
			post_if_changed(id, id->link.dmac, peer->mac,
					RDMA_CM_ALT_EVENT_UNREACHABLE);
	}
}

/*
 * Begins or continues the walk of a bucket: compares a batch of ids behind the cursor. Returns
 * false at the end of the bucket.
 */
static bool walk_bucket(struct bucket *bucket)
{
	struct hlist_node *last = NULL, *pos;
	struct peer peer = {};
	unsigned int count;

	spin_lock(&bucket->lock);
	rcu_read_lock();	/* for namespaces and network devices */
	if (hlist_unhashed(&bucket->cursor)) {
		bucket->wanted = xchg(&bucket->changed, 0);
		hlist_add_head(&bucket->cursor, &bucket->ids);
	}
	pos = bucket->cursor.next;
	for (count = 0; pos && count < BATCH; count++) {
		compare(hlist_entry(pos, struct rca_id, watch_node), bucket->wanted, &peer);
		last = pos;
		pos = pos->next;
	}
	hlist_del_init(&bucket->cursor);
	if (pos)
		hlist_add_behind(&bucket->cursor, last);
	rcu_read_unlock();
	spin_unlock(&bucket->lock);
	return pos;
}

static void watch_work(struct work_struct *work)
{
	unsigned int i;

	do {
		/* A change during a walk waits for its end: it may be of ids that were compared. */
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

/* Any context. The caller has changed the address before, which the work therefore reads. */
static void mark(struct bucket *bucket, int change)
{
	if (hlist_empty(&bucket->ids))
		return;
	set_bit(change, &bucket->changed);
	/* Fully ordered, as is test_and_clear_bit(). */
	if (!test_and_set_bit(bucket - buckets, marked))
		queue_work(rca_wq, &walker);
}

/* Module init: initialises the table before the first id is created. */
void rca_watch_init(void)
{
	int i;

	for (i = 0; i < BUCKETS; i++) {
		spin_lock_init(&buckets[i].lock);
		INIT_HLIST_HEAD(&buckets[i].ids);
	}
}

static int id_netdev_event(struct notifier_block *nb, unsigned long event, void *ptr)
{
	struct net_device *ndev = netdev_notifier_info_to_dev(ptr);
	int i;

	/* All ids are searched: a failover is too rare to be worth memory in each id. */
	if (event == NETDEV_BONDING_FAILOVER && netif_is_bond_master(ndev))
		for (i = 0; i < BUCKETS; i++)
			mark(&buckets[i], NETDEV_CHANGED);
	return NOTIFY_DONE;
}

static int id_neigh_event(struct notifier_block *nb, unsigned long event, void *ptr)
{
	const struct neighbour *neigh = ptr;

	if (event == NETEVENT_NEIGH_UPDATE) {
		mark(peer_bucket(dev_net(neigh->dev), neigh->dev->ifindex, neigh->primary_key,
				 neigh->tbl->key_len), NEIGH_CHANGED);
		rca_neigh_changed(neigh);
	}
	return NOTIFY_DONE;
}

static struct notifier_block netdev_nb = { .notifier_call = id_netdev_event };
static struct notifier_block neigh_nb = { .notifier_call = id_neigh_event };

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

/* Module exit: unregisters the notifiers, under RTNL, and waits for running ones and for work. */
void rca_netwatch_exit(void)
{
	unregister_netevent_notifier(&neigh_nb);
	unregister_netdevice_notifier(&netdev_nb);
	cancel_work_sync(&walker);
}

/*
 * The device, GID, lower cm_id and port of an id.
 *
 * Locking: rca_id.op, unless the id is unpublished. Device, port and GID are changed with
 * rca_id.lock held as well; the list of ids of a device is protected by rca_device.lock, taken
 * inside it.
 */

/**
 * rca_id_attach() - bind an id to a device
 * @id: the id; it has no device
 * @dev: the device
 * @port_num: port of the device
 * @sgid_attr: local GID; on success its reference passes to the id
 *
 * Context: Process context. Expects @id->op to be held by the caller, or @id to be unpublished.
 * Return: 0, or -ENODEV if the device is being removed.
 */
int rca_id_attach(struct rca_id *id, struct rca_device *dev, u32 port_num,
		  const struct ib_gid_attr *sgid_attr)
{
	bool removing;

	spin_lock_irq(&id->lock);
	spin_lock(&dev->lock);
	removing = dev->removing;
	if (!removing) {
		id->dev = rca_device_get(dev);	/* put in rca_id_detach() */
		id->tp = dev->tp;
		id->port_num = port_num;
		id->sgid_attr = sgid_attr;
		list_add_tail(&id->dev_node, &dev->ids);
	}
	spin_unlock(&dev->lock);
	spin_unlock_irq(&id->lock);
	return removing ? -ENODEV : 0;
}

/**
 * rca_id_detach() - release the device of an id, if it has one
 * @id: the id; it has no lower cm_id
 *
 * Context: Process context. Expects @id->op to be held by the caller, or @id to be unpublished.
 */
void rca_id_detach(struct rca_id *id)
{
	const struct ib_gid_attr *sgid_attr = id->sgid_attr;
	struct rca_device *dev = id->dev;

	if (!dev)
		return;
	WARN_ON_ONCE(id->lower);
	rca_id_unwatch(id);
	rca_window_release(id);
	spin_lock_irq(&id->lock);
	spin_lock(&dev->lock);
	list_del_init(&id->dev_node);
	spin_unlock(&dev->lock);
	id->sgid_attr = NULL;
	id->port_num = 0;
	id->dev = NULL;
	spin_unlock_irq(&id->lock);
	if (sgid_attr)
		rdma_put_gid_attr(sgid_attr);
	rca_device_put(dev);
}

/**
 * rca_id_drop_lower() - destroy the transport's cm_id, if there is one
 * @id: the id
 *
 * No callback of the cm_id runs afterwards, and those that run meanwhile are ignored.
 *
 * Context: Process context. Sleeps. Expects @id->op to be held by the caller; never under a lock
 * that a callback takes.
 */
void rca_id_drop_lower(struct rca_id *id)
{
	const struct rca_tp_ops *tp = id->tp;
	void *lower = id->lower;

	lockdep_assert_held(&id->op);
	if (!lower)
		return;
	WRITE_ONCE(id->lower, NULL);
	/* Pairs with rca_id_numbers(): hidden before its memory waits for the grace period. */
	smp_wmb();
	tp->destroy(lower);
	if (READ_ONCE(id->peer_qp.listed))
		rca_peer_qp_release(id);
	if (tp->owner) {
		WRITE_ONCE(id->tp, id->dev->tp);	/* pairs with rca_id_numbers() */
		module_put(tp->owner);	/* got in rca_trunks_create() or rca_req_handler_for() */
	}
}

/**
 * rca_id_bind() - allocate a port for an id that has none
 * @id: the id
 * @addr: address and port; port 0 selects any
 *
 * On success the bind of the option state contains address and port.
 *
 * Context: Process context. May sleep.
 * Return: 0, -ENOMEM, or an errno of rca_ports_bind().
 */
int rca_id_bind(struct rca_id *id, const union rca_addr *addr)
{
	struct rca_opts *opts = rca_id_need_opts(id, GFP_KERNEL_ACCOUNT);
	struct rca_bind *bind;

	lockdep_assert_held(&id->op);
	if (!opts)
		return -ENOMEM;
	if (!opts->bind)
		opts->bind = kzalloc(sizeof(*bind), GFP_KERNEL_ACCOUNT);
	bind = opts->bind;
	if (!bind)
		return -ENOMEM;
	bind->reuse = id->reuse;
	bind->afonly = id->afonly;
	return rca_ports_bind(bind, id->net, id->ps, addr);
}

/* Releases the port of an id, if it owns one. Expects rca_id.op to be held by the caller. */
void rca_id_unbind(struct rca_id *id)
{
	struct rca_bind *bind = rca_id_opts(id)->bind;

	lockdep_assert_held(&id->op);
	if (bind)
		rca_ports_unbind(bind);
}

/* Returns whether an id owns a port. Expects rca_id.op to be held by the caller. */
bool rca_id_bound(const struct rca_id *id)
{
	const struct rca_bind *bind = rca_id_opts(id)->bind;

	return bind && rca_ports_bound(bind);
}

/*
 * GID type and type of service of an id. Options of the id take precedence over the program's
 * defaults for ports, and these over the settings of the port.
 *
 * Locking: rca_id.op.
 */

/**
 * struct rca_defaults - defaults of a program for ports
 * @count: number of entries in @port
 * @port: defaults of a port
 */
struct rca_defaults {
	u32 count;
	struct rdma_cm_alt_port_default port[];
};

static int check_gid_type(u8 type)
{
	return type == IB_UVERBS_GID_TYPE_ROCE_V1 || type == IB_UVERBS_GID_TYPE_ROCE_V2 ? 0 :
											 -EINVAL;
}

static enum ib_gid_type to_ib_gid_type(u8 type)
{
	return type == IB_UVERBS_GID_TYPE_ROCE_V1 ? IB_GID_TYPE_ROCE : IB_GID_TYPE_ROCE_UDP_ENCAP;
}

/**
 * rca_id_set_gid_type() - set option RDMA_CM_ALT_OPTION_GID_TYPE
 * @id: the id
 * @type: enum ib_uverbs_gid_type: RoCE v1 or v2
 *
 * Context: Process context.
 * Return: 0; -EINVAL if @type is another one or the id has a device; -ENOMEM.
 */
int rca_id_set_gid_type(struct rca_id *id, u8 type)
{
	struct rca_opts *opts;

	lockdep_assert_held(&id->op);
	if (check_gid_type(type) || id->dev)
		return -EINVAL;
	opts = rca_id_need_opts(id, GFP_KERNEL_ACCOUNT);
	if (!opts)
		return -ENOMEM;
	opts->gid_type = type;
	return 0;
}

/**
 * rca_id_set_port_defaults() - set option RDMA_CM_ALT_OPTION_PORT_DEFAULTS
 * @id: the id
 * @val: array of struct rdma_cm_alt_port_default
 * @len: its length in bytes; 0 removes the defaults
 *
 * Context: Process context. Sleeps.
 * Return: 0; -EINVAL if length or values are wrong or the id has a device; -ENOMEM.
 */
int rca_id_set_port_defaults(struct rca_id *id, const void *val, u32 len)
{
	const struct rdma_cm_alt_port_default *port = val;
	u32 count = len / sizeof(*port), i;
	struct rca_defaults *defaults;
	struct rca_opts *opts;

	lockdep_assert_held(&id->op);
	if (len % sizeof(*port) || id->dev)
		return -EINVAL;
	for (i = 0; i < count; i++)
		if (check_gid_type(port[i].gid_type) ||
		    memchr_inv(port[i].__reserved, 0, sizeof(port[i].__reserved)))
			return -EINVAL;
	opts = rca_id_need_opts(id, GFP_KERNEL_ACCOUNT);
	if (!opts)
		return -ENOMEM;
	defaults = kmalloc(struct_size(defaults, port, count), GFP_KERNEL_ACCOUNT);
	if (!defaults)
		return -ENOMEM;
	defaults->count = count;
	memcpy(defaults->port, val, len);
	kfree(opts->defaults);
	opts->defaults = defaults;
	return 0;
}

static const struct rdma_cm_alt_port_default *find_default(const struct rca_id *id,
							   const struct rca_device *dev, u32 port)
{
	const struct rca_defaults *defaults = rca_id_opts(id)->defaults;
	u32 i;

	for (i = 0; defaults && i < defaults->count; i++)
		if (defaults->port[i].ibdev_index == dev->ibdev->index &&
		    defaults->port[i].port_num == port)
			return &defaults->port[i];
	return NULL;
}

/**
 * rca_id_gid_type() - get the type of the GID that an id uses on a port
 * @id: the id
 * @dev: the device
 * @port: the port
 *
 * Context: Process context. Expects @id->op to be held by the caller.
 * Return: the type.
 */
enum ib_gid_type rca_id_gid_type(const struct rca_id *id, const struct rca_device *dev, u32 port)
{
	const struct rdma_cm_alt_port_default *preset;
	u8 type = rca_id_opts(id)->gid_type;

	if (type)
		return to_ib_gid_type(type);
	preset = find_default(id, dev, port);
	return preset ? to_ib_gid_type(preset->gid_type) : rca_port_sysfs_gid_type(dev->conf, port);
}

/**
 * rca_id_tos() - get the type of service of an id
 * @id: the id
 *
 * Context: Process context. Expects @id->op to be held by the caller.
 * Return: the type of service; also 0 if it was not set and the id has no device yet.
 */
u8 rca_id_tos(const struct rca_id *id)
{
	const struct rca_opts *opts = rca_id_opts(id);
	const struct rdma_cm_alt_port_default *preset;

	if (opts->tos_set || !id->dev)
		return opts->tos;
	preset = find_default(id, id->dev, id->port_num);
	return preset ? preset->tos : rca_port_sysfs_tos(id->dev->conf, id->port_num);
}
