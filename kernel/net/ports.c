// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Binding ports and listening on them, with the rules and errnos of the stock rdma_cm.
 *
 * Bindings with reuse that conflict with the same bindings are a group, of which one is in the
 * bucket. So a bucket has an entry for each address of the host that is bound to one of its ports,
 * however many share it. Where a bind conflicts with several, the first that is found decides
 * between EADDRINUSE and EADDRNOTAVAIL; with stock it is the newest.
 *
 * Locking: the spinlock of a bucket of the port table; of two buckets, that of the lower
 * index first. Process context only; nothing outside this file is called with a bucket locked.
 */
#include "net/net.h"

#include <linux/bug.h>
#include <linux/capability.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/if_arp.h>
#include <linux/if_vlan.h>
#include <linux/netdevice.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <net/ip.h>
#include <net/netns/generic.h>
#include <rdma/ib.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_user_cm.h>

#include "lib/testing.h"

/*
 * Port tables, one for each network namespace and port space. All bindings of a port
 * are in one bucket. A table is allocated when its namespace binds the first port in
 * its port space.
 *
 * Locking: none; the pointer to a table is set once.
 */

#define RCA_BUCKETS 1024

/* Indices of the port spaces RDMA_PS_TCP, RDMA_PS_UDP, RDMA_PS_IPOIB and RDMA_PS_IB. */
enum rca_space {
	RCA_SPACE_TCP,
	RCA_SPACE_UDP,
	RCA_SPACE_IPOIB,
	RCA_SPACE_IB,
	RCA_SPACES,
};

/**
 * struct rca_ports_net - the tables of a network namespace
 * @table: RCA_BUCKETS buckets, or NULL: not allocated yet (set once, by cmpxchg)
 */
struct rca_ports_net {
	struct rca_bucket *table[RCA_SPACES];
};

static unsigned int rca_ports_net_id __read_mostly;

static int rca_ports_space(u16 ps)
{
	switch (ps) {
	case RDMA_PS_TCP:
		return RCA_SPACE_TCP;
	case RDMA_PS_UDP:
		return RCA_SPACE_UDP;
	case RDMA_PS_IPOIB:
		return RCA_SPACE_IPOIB;
	case RDMA_PS_IB:
		return RCA_SPACE_IB;
	default:
		return -EPROTONOSUPPORT;
	}
}

/**
 * rca_ports_select_ib() - determine the port space of an AF_IB address
 * @ps: port space of the id; replaced by that of the service ID. RDMA_PS_IB may use three
 *      port spaces, the others only their own
 * @sib: the address; service ID and mask are completed
 *
 * Context: any.
 * Return: 0; -EPROTONOSUPPORT: the service ID is of a port space that @ps may not use.
 */
int rca_ports_select_ib(u16 *ps, struct sockaddr_ib *sib)
{
	static const u16 spaces[] = { RDMA_PS_IB, RDMA_PS_TCP, RDMA_PS_UDP };
	u64 mask = be64_to_cpu(sib->sib_sid_mask);
	u64 sid = be64_to_cpu(sib->sib_sid) & mask;
	int i;

	for (i = 0; i < ARRAY_SIZE(spaces); i++) {
		u64 space = (u64)spaces[i] << 16;

		if (*ps != RDMA_PS_IB && *ps != spaces[i])
			continue;
		if ((sid & ~(u64)U16_MAX) != (space & mask))
			continue;
		*ps = spaces[i];
		sib->sib_sid = cpu_to_be64(space | (sid & U16_MAX));
		sib->sib_sid_mask = cpu_to_be64(mask | ~(u64)U16_MAX);
		return 0;
	}
	return -EPROTONOSUPPORT;
}

/*
 * The buckets of a namespace and port space, which are allocated with the first port.
 * -EPROTONOSUPPORT: unknown port space.
 */
static struct rca_bucket *rca_ports_table(struct net *net, u16 ps)
{
	struct rca_ports_net *ports = net_generic(net, rca_ports_net_id);
	struct rca_bucket *table, *other;
	int space = rca_ports_space(ps);
	int i;

	if (space < 0)
		return ERR_PTR(space);
	table = READ_ONCE(ports->table[space]); /* pairs with cmpxchg() below */
	if (table)
		return table;

	table = kvcalloc(RCA_BUCKETS, sizeof(*table), GFP_KERNEL_ACCOUNT);
	if (!table)
		return ERR_PTR(-ENOMEM);
	for (i = 0; i < RCA_BUCKETS; i++) {
		spin_lock_init(&table[i].lock);
		INIT_HLIST_HEAD(&table[i].binds);
	}
	other = cmpxchg(&ports->table[space], NULL, table);
	if (other) {
		kvfree(table);
		return other;
	}
	return table; /* freed in rca_ports_net_exit() */
}

/* The bucket of a port. */
static struct rca_bucket *rca_ports_bucket(struct rca_bucket *table, u16 port)
{
	return &table[port % RCA_BUCKETS];
}

/* The table of a binding that is, or was, bound. Its namespace must be referenced. Any context. */
static struct rca_bucket *rca_bind_table(const struct rca_bind *bind)
{
	struct rca_ports_net *ports = net_generic(bind->net, rca_ports_net_id);

	return READ_ONCE(ports->table[rca_ports_space(bind->ps)]);
}

/* The bucket of such a binding. */
RCA_VISIBLE_IF_KUNIT struct rca_bucket *rca_bind_bucket(const struct rca_bind *bind)
{
	return rca_ports_bucket(rca_bind_table(bind), be16_to_cpu(rca_addr_port(&bind->addr)));
}

static void __net_exit rca_ports_net_exit(struct net *net)
{
	struct rca_ports_net *ports = net_generic(net, rca_ports_net_id);
	int space, i;

	for (space = 0; space < RCA_SPACES; space++) {
		struct rca_bucket *table = ports->table[space];

		/* The owner of a binding references the namespace. */
		for (i = 0; table && i < RCA_BUCKETS; i++)
			WARN_ON_ONCE(!hlist_empty(&table[i].binds));
		kvfree(table);
	}
}

static struct pernet_operations rca_ports_net_ops = {
	.exit = rca_ports_net_exit,
	.id = &rca_ports_net_id,
	.size = sizeof(struct rca_ports_net),
};

/* Module init, before any id exists. Returns 0 or a negative errno. */
int __init rca_ports_init(void)
{
	return register_pernet_subsys(&rca_ports_net_ops);
}

/* Module exit, after the last id. */
void rca_ports_exit(void)
{
	unregister_pernet_subsys(&rca_ports_net_ops);
}

/*
 * Check that @bind may use a port that its caller chose, or listen on it. The first
 * conflicting binding of the port determines the errno.
 */
static int rca_ports_check_locked(struct rca_bucket *bucket, const struct rca_bind *bind, u16 port,
				  bool reuse)
{
	const struct rca_bind *cur;

	lockdep_assert_held(&bucket->lock);

	hlist_for_each_entry(cur, &bucket->binds, node) {
		/* Others of its group stand behind @bind. */
		if (cur == bind && list_empty(&bind->group))
			continue;
		if (be16_to_cpu(rca_addr_port(&cur->addr)) != port)
			continue;
		if (reuse && cur->reuse)
			continue;
		if (bind->afonly && cur->afonly &&
		    bind->addr.sa.sa_family != cur->addr.sa.sa_family)
			continue;
		/* Wildcard and loopback addresses conflict with every address. */
		if (rca_addr_is_wildcard(&bind->addr) || rca_addr_is_wildcard(&cur->addr))
			return -EADDRNOTAVAIL;
		if (rca_addr_same_ip(&bind->addr, &cur->addr))
			return -EADDRINUSE;
	}
	return 0;
}

/*
 * Check that a port may be chosen for @bind. This is stricter than above: neither reuse
 * nor the address family makes two bindings compatible.
 */
static bool rca_ports_free_locked(struct rca_bucket *bucket, const struct rca_bind *bind, u16 port)
{
	const struct rca_bind *cur;

	lockdep_assert_held(&bucket->lock);

	hlist_for_each_entry(cur, &bucket->binds, node) {
		if (cur == bind || be16_to_cpu(rca_addr_port(&cur->addr)) != port)
			continue;
		if (rca_addr_is_wildcard(&bind->addr) || rca_addr_is_wildcard(&cur->addr) ||
		    rca_addr_same_ip(&bind->addr, &cur->addr))
			return false;
	}
	return true;
}

/* All wildcards and loopback addresses of a family conflict with the same bindings. */
static bool rca_binds_alike(const struct rca_bind *a, const struct rca_bind *b)
{
	if (!a->reuse || !b->reuse || a->afonly != b->afonly ||
	    a->addr.sa.sa_family != b->addr.sa.sa_family ||
	    rca_addr_port(&a->addr) != rca_addr_port(&b->addr))
		return false;
	return rca_addr_is_wildcard(&a->addr) ? rca_addr_is_wildcard(&b->addr) :
						rca_addr_same_ip(&a->addr, &b->addr);
}

static void rca_ports_add_locked(struct rca_bucket *bucket, struct rca_bind *bind, u16 port)
{
	struct rca_bind *cur;

	lockdep_assert_held(&bucket->lock);

	rca_addr_set_port(&bind->addr, cpu_to_be16(port));
	hlist_for_each_entry(cur, &bucket->binds, node) {
		if (rca_binds_alike(cur, bind)) {
			list_add_tail(&bind->group, &cur->group);
			hlist_add_fake(&bind->node);
			return;
		}
	}
	INIT_LIST_HEAD(&bind->group);
	hlist_add_head(&bind->node, &bucket->binds);
}

static void rca_ports_remove_locked(struct rca_bucket *bucket, struct rca_bind *bind)
{
	struct rca_bind *heir = list_next_entry(bind, group);

	lockdep_assert_held(&bucket->lock);

	/* The owner of the heir may look without the lock whether it is bound: it always is. */
	if (heir != bind && !hlist_fake(&bind->node))
		hlist_add_behind(&heir->node, &bind->node);
	list_del_init(&bind->group);
	hlist_del_init(&bind->node);
}

static bool rca_ports_try_add(struct rca_bucket *table, struct rca_bind *bind, u16 port)
{
	struct rca_bucket *bucket = rca_ports_bucket(table, port);
	bool free;

	spin_lock(&bucket->lock);
	free = rca_ports_free_locked(bucket, bind, port);
	if (free)
		rca_ports_add_locked(bucket, bind, port);
	spin_unlock(&bucket->lock);
	return free;
}

static bool rca_ports_replace_locked(struct rca_bucket *from, struct rca_bucket *to,
				     struct rca_bind *bind, u16 port)
{
	if (!rca_ports_free_locked(to, bind, port))
		return false;
	rca_ports_remove_locked(from, bind);
	rca_ports_add_locked(to, bind, port);
	return true;
}

/* Exchanges the port atomically. */
static bool rca_ports_try_replace(struct rca_bucket *table, struct rca_bind *bind, u16 port)
{
	struct rca_bucket *from = rca_bind_bucket(bind);
	struct rca_bucket *to = rca_ports_bucket(table, port);
	struct rca_bucket *first = min(from, to), *second = max(from, to);
	bool done;

	if (be16_to_cpu(rca_addr_port(&bind->addr)) == port)
		return false;

	spin_lock(&first->lock);
	if (first == second) {
		done = rca_ports_replace_locked(from, to, bind, port);
	} else {
		spin_lock_nested(&second->lock, SINGLE_DEPTH_NESTING);
		done = rca_ports_replace_locked(from, to, bind, port);
		spin_unlock(&second->lock);
	}
	spin_unlock(&first->lock);
	return done;
}

/* Tries each port of the ephemeral range once, starting at a random one. */
static int rca_ports_choose(struct rca_bind *bind, struct rca_bucket *table,
			    bool (*try)(struct rca_bucket *table, struct rca_bind *bind, u16 port))
{
	int low, high, port, left;

	inet_get_local_port_range(bind->net, &low, &high);
	port = get_random_u32_inclusive(low, high);
	for (left = high - low + 1; left > 0; left--) {
		if (try(table, bind, port))
			return 0;
		port = port < high ? port + 1 : low;
		cond_resched();
	}
	return -EADDRNOTAVAIL;
}

static bool is_low_port_of_host(u16 port)
{
	return inet_port_requires_bind_service(&init_net, port);
}

/**
 * rca_ports_bind() - bind an address and port
 * @bind: a binding that is not bound; @bind->reuse and @bind->afonly are set
 * @net: the namespace; the caller holds a reference until rca_ports_unbind()
 * @ps: port space
 * @addr: address and port; port 0: choose a port of the ephemeral range that no
 *        conflicting address uses
 *
 * On success @bind->addr has the port, and @bind->ps the port space, which depends on
 * the service ID of an AF_IB address if @ps is RDMA_PS_IB.
 *
 * Context: process context; may sleep. The caller serialises calls for @bind.
 * Return: 0; -EADDRINUSE: address and port are in use; -EADDRNOTAVAIL: conflict
 *         with a wildcard, or no port is free; -EACCES: a privileged port;
 *         -EPROTONOSUPPORT: unknown port space, or one that does not match the
 *         service ID; -EINVAL: bound already; -ENOMEM.
 */
int rca_ports_bind(struct rca_bind *bind, struct net *net, u16 ps, const union rca_addr *addr)
{
	struct rca_bucket *table, *bucket;
	u16 port;
	int ret;

	if (rca_ports_bound(bind))
		return -EINVAL;

	bind->addr = *addr;
	if (addr->sa.sa_family == AF_IB) {
		ret = rca_ports_select_ib(&ps, &bind->addr.ib);
		if (ret)
			return ret;
	}
	table = rca_ports_table(net, ps);
	if (IS_ERR(table))
		return PTR_ERR(table);

	bind->net = net;
	bind->ps = ps;
	bind->listening = false;
	bind->privileged = false;
	port = be16_to_cpu(rca_addr_port(&bind->addr));
	bind->chosen = !port;
	if (bind->chosen)
		return rca_ports_choose(bind, table, rca_ports_try_add);

	if (inet_port_requires_bind_service(net, port) &&
	    !ns_capable(net->user_ns, CAP_NET_BIND_SERVICE))
		return -EACCES;
	bind->privileged = is_low_port_of_host(port) &&
			   ns_capable_noaudit(&init_user_ns, CAP_NET_BIND_SERVICE);
	bucket = rca_ports_bucket(table, port);
	spin_lock(&bucket->lock);
	ret = rca_ports_check_locked(bucket, bind, port, bind->reuse);
	if (!ret)
		rca_ports_add_locked(bucket, bind, port);
	spin_unlock(&bucket->lock);
	return ret;
}

/**
 * rca_ports_confined() - check whether a port may be used on devices of its namespace only
 * @bind: a binding that is bound
 *
 * A network namespace has its own ports, and the right to low ones is that of its owner. On a
 * device that namespaces share, the service ID of a port is one of the host.
 *
 * Context: Any context.
 * Return: true: the port is low in the initial namespace, and was bound in another one without
 * the right (CAP_NET_BIND_SERVICE in the initial user namespace).
 */
bool rca_ports_confined(const struct rca_bind *bind)
{
	return !net_eq(bind->net, &init_net) && !bind->privileged &&
	       is_low_port_of_host(be16_to_cpu(rca_addr_port(&bind->addr)));
}

/**
 * rca_ports_repick() - exchange a chosen port for another one
 * @bind: a binding whose port rca_ports_bind() chose
 *
 * Needed when another user of a device holds the service ID of the port. The old port
 * is kept until a new one is bound.
 *
 * Context: process context; may sleep. The caller serialises calls for @bind.
 * Return: 0; -EINVAL: not bound, or the port was passed by the caller;
 *         -EADDRNOTAVAIL: no other port is free.
 */
int rca_ports_repick(struct rca_bind *bind)
{
	if (!rca_ports_bound(bind) || !bind->chosen)
		return -EINVAL;

	return rca_ports_choose(bind, rca_bind_table(bind), rca_ports_try_replace);
}

/**
 * rca_ports_listen() - mark a binding as listening
 * @bind: a binding
 *
 * A binding with @bind->reuse must be the only one of its address and port. It is not
 * shared from now on, not even after rca_ports_unlisten().
 *
 * Context: process context. The caller serialises calls for @bind.
 * Return: 0; -EADDRINUSE: another binding has the same address; -EADDRNOTAVAIL:
 *         one of them is a wildcard; -EINVAL: not bound.
 */
int rca_ports_listen(struct rca_bind *bind)
{
	struct rca_bucket *bucket;
	int ret = 0;

	if (!rca_ports_bound(bind))
		return -EINVAL;

	bucket = rca_bind_bucket(bind);
	spin_lock(&bucket->lock);
	if (bind->reuse)
		ret = rca_ports_check_locked(bucket, bind,
					     be16_to_cpu(rca_addr_port(&bind->addr)), false);
	if (!ret) {
		bind->reuse = false;
		bind->listening = true;
	}
	spin_unlock(&bucket->lock);
	return ret;
}

/* Undoes rca_ports_listen(). Process context. The caller serialises calls for @bind. */
void rca_ports_unlisten(struct rca_bind *bind)
{
	struct rca_bucket *bucket;

	if (!rca_ports_bound(bind))
		return;

	bucket = rca_bind_bucket(bind);
	spin_lock(&bucket->lock);
	bind->listening = false;
	spin_unlock(&bucket->lock);
}

/**
 * rca_ports_set_reuse() - allow other bindings that allow it to share address and port
 * @bind: a binding, bound or not
 * @reuse: the new value
 *
 * Context: process context. The caller serialises calls for @bind.
 * Return: 0; -EINVAL: it listens, or it is bound and @reuse is false.
 */
int rca_ports_set_reuse(struct rca_bind *bind, bool reuse)
{
	struct rca_bucket *bucket;
	int ret = -EINVAL;

	if (!rca_ports_bound(bind)) {
		bind->reuse = reuse;
		return 0;
	}

	bucket = rca_bind_bucket(bind);
	spin_lock(&bucket->lock);
	if (reuse && !bind->listening) {
		rca_ports_remove_locked(bucket, bind);
		bind->reuse = true;
		rca_ports_add_locked(bucket, bind, be16_to_cpu(rca_addr_port(&bind->addr)));
		ret = 0;
	}
	spin_unlock(&bucket->lock);
	return ret;
}

/**
 * rca_ports_set_afonly() - set whether an IPv6 wildcard leaves IPv4 free
 * @bind: a binding, bound or not
 * @afonly: the new value
 *
 * Context: process context. The caller serialises calls for @bind.
 * Return: 0; -EINVAL: it listens.
 */
int rca_ports_set_afonly(struct rca_bind *bind, bool afonly)
{
	struct rca_bucket *bucket;
	int ret = -EINVAL;

	if (!rca_ports_bound(bind)) {
		bind->afonly = afonly;
		return 0;
	}

	bucket = rca_bind_bucket(bind);
	spin_lock(&bucket->lock);
	if (!bind->listening) {
		rca_ports_remove_locked(bucket, bind);
		bind->afonly = afonly;
		rca_ports_add_locked(bucket, bind, be16_to_cpu(rca_addr_port(&bind->addr)));
		ret = 0;
	}
	spin_unlock(&bucket->lock);
	return ret;
}

/* Releases the port, if @bind is bound. Process context. */
void rca_ports_unbind(struct rca_bind *bind)
{
	struct rca_bucket *bucket;

	if (!rca_ports_bound(bind))
		return;

	bucket = rca_bind_bucket(bind);
	spin_lock(&bucket->lock);
	rca_ports_remove_locked(bucket, bind);
	bind->listening = false;
	spin_unlock(&bucket->lock);
}

/* True between rca_ports_bind() and rca_ports_unbind(). Any context. */
bool rca_ports_bound(const struct rca_bind *bind)
{
	return !hlist_unhashed_lockless(&bind->node);
}

/**
 * rca_ports_any() - choose a port for the active side of a connection
 * @net: the namespace
 *
 * The port is not bound, and ids may use the same one: connections over IB and RoCE are
 * identified by other numbers.
 *
 * Context: any.
 * Return: a random port of the ephemeral range.
 */
__be16 rca_ports_any(struct net *net)
{
	int low, high;

	inet_get_local_port_range(net, &low, &high);
	return cpu_to_be16(get_random_u32_inclusive(low, high));
}

/*
 * Ports of iWARP devices. A port has one GID, which is made of the hardware address of
 * its network device. IP addresses are handled by TCP.
 *
 * Locking: RCU.
 */

/*
 * Check that the port of a GID is on @ndev. Kernels before 6.12 do not set the network
 * device of such a GID, so the hardware address is compared.
 */
static bool gid_on_ndev(const struct ib_gid_attr *attr, const struct net_device *ndev)
{
	const struct net_device *own = rcu_dereference(attr->ndev);

	if (own)
		return own == ndev;
	return ndev->type != ARPHRD_INFINIBAND &&
	       !memcmp(attr->gid.raw, ndev->dev_addr, ETH_ALEN);
}

/* A VLAN belongs to the port of its real device, and a real device to the port of its VLAN. */
static bool port_serves_ndev(const struct ib_gid_attr *attr, struct net_device *ndev)
{
	struct net_device *own = rcu_dereference(attr->ndev);

	if (gid_on_ndev(attr, ndev))
		return true;
	if (is_vlan_dev(ndev) && gid_on_ndev(attr, vlan_dev_real_dev(ndev)))
		return true;
	return own && is_vlan_dev(own) && vlan_dev_real_dev(own) == ndev;
}

/**
 * rca_iwport_find() - get the GID of a port, if the port serves a network device
 * @ibdev: the device
 * @port: port of the device
 * @net: the network namespace
 * @ifindex: the network device
 *
 * Context: Process context.
 * Return: the GID with a reference, or ERR_PTR(-ENODEV).
 */
const struct ib_gid_attr *rca_iwport_find(struct ib_device *ibdev, u32 port, struct net *net,
					  int ifindex)
{
	const struct ib_gid_attr *attr = rdma_get_gid_attr(ibdev, port, 0);
	struct net_device *ndev;
	bool found;

	if (IS_ERR(attr))
		return attr;
	rcu_read_lock();
	ndev = dev_get_by_index_rcu(net, ifindex);
	found = ndev && port_serves_ndev(attr, ndev);
	rcu_read_unlock();
	if (found)
		return attr;
	rdma_put_gid_attr(attr);
	return ERR_PTR(-ENODEV);
}

/*
 * rca_iwport_ip() - get an IP address of an iWARP port
 *
 * Parameters, context and return value are those of rca_ipoib_ip().
 */
bool rca_iwport_ip(struct ib_device *ibdev, u32 port, struct net *net, sa_family_t family,
		   bool linklocal, union rca_addr *addr)
{
	const struct ib_gid_attr *attr = rdma_get_gid_attr(ibdev, port, 0);
	struct net_device *ndev;
	bool found = false;

	if (IS_ERR(attr))
		return false;
	rcu_read_lock();
	for_each_netdev_rcu(net, ndev) {
		found = READ_ONCE(ndev->flags) & IFF_UP && gid_on_ndev(attr, ndev) &&
			rca_ifaddr_first(ndev, family, linklocal, addr);
		if (found)
			break;
	}
	rcu_read_unlock();
	rdma_put_gid_attr(attr);
	return found;
}
