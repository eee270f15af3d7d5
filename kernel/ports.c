// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Port tables, one for each network namespace and port space: who may bind
 * what, with the rules and errors of the stock rdma_cm.
 *
 * All entries of a port are in one bucket. A table is made when its namespace
 * binds the first port in its port space.
 *
 * Locking: one spinlock for each bucket; of two buckets that of the lower
 * index first. Process context only, nothing is called with a bucket locked.
 */
#include "ports.h"

#include <kunit/visibility.h>
#include <linux/bug.h>
#include <linux/capability.h>
#include <linux/errno.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <net/ip.h>
#include <net/netns/generic.h>
#include <rdma/ib.h>
#include <rdma/rdma_user_cm.h>

#define RCA_BUCKETS 1024

/**
 * enum rca_space - indices of the port spaces
 * @RCA_SPACE_TCP: RDMA_PS_TCP
 * @RCA_SPACE_UDP: RDMA_PS_UDP
 * @RCA_SPACE_IPOIB: RDMA_PS_IPOIB
 * @RCA_SPACE_IB: RDMA_PS_IB
 * @RCA_SPACES: how many there are
 */
enum rca_space {
	RCA_SPACE_TCP,
	RCA_SPACE_UDP,
	RCA_SPACE_IPOIB,
	RCA_SPACE_IB,
	RCA_SPACES,
};

/**
 * struct rca_bucket - the binds of some ports
 * @lock: protects @binds and what they say about themselves
 * @binds: &rca_bind.node (lock: @lock)
 */
struct rca_bucket {
	spinlock_t lock;
	struct hlist_head binds;
};

/**
 * struct rca_ports_net - the tables of a network namespace
 * @table: RCA_BUCKETS buckets, or NULL: never used (set once, by cmpxchg)
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

/*
 * An AF_IB address says by its service ID which port space it means. An id of
 * RDMA_PS_IB may use three of them, the others only their own. The address is
 * completed to that.
 */
static int rca_ports_select_ib(u16 *ps, struct sockaddr_ib *sib)
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

static struct rca_bucket *rca_ports_table(struct net *net, int space)
{
	struct rca_ports_net *ports = net_generic(net, rca_ports_net_id);
	struct rca_bucket *table, *other;
	int i;

	table = READ_ONCE(ports->table[space]); /* pairs with cmpxchg() below */
	if (table)
		return table;

	table = kvcalloc(RCA_BUCKETS, sizeof(*table), GFP_KERNEL_ACCOUNT);
	if (!table)
		return NULL;
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

static struct rca_bucket *rca_ports_bucket(struct rca_bucket *table, u16 port)
{
	return &table[port % RCA_BUCKETS];
}

/* The bucket of a bind that is, or was, in a table. */
static struct rca_bucket *rca_bind_bucket(const struct rca_bind *bind)
{
	struct rca_ports_net *ports = net_generic(bind->net, rca_ports_net_id);
	struct rca_bucket *table = READ_ONCE(ports->table[rca_ports_space(bind->ps)]);

	return rca_ports_bucket(table, be16_to_cpu(rca_addr_port(&bind->addr)));
}

/* Does it take every address, when it comes to conflicts? */
static bool rca_bind_wildcard(const struct rca_bind *bind)
{
	return rca_addr_is_any(&bind->addr) || rca_addr_is_loopback(&bind->addr);
}

/*
 * May @bind have a port that its caller chose, or listen on it? The first
 * other bind of the port that is in the way decides which error it is.
 */
static int rca_ports_check_locked(struct rca_bucket *bucket, const struct rca_bind *bind, u16 port,
				  bool reuse)
{
	const struct rca_bind *cur;

	lockdep_assert_held(&bucket->lock);

	hlist_for_each_entry(cur, &bucket->binds, node) {
		if (cur == bind || be16_to_cpu(rca_addr_port(&cur->addr)) != port)
			continue;
		if (reuse && cur->reuse)
			continue;
		if (bind->afonly && cur->afonly &&
		    bind->addr.sa.sa_family != cur->addr.sa.sa_family)
			continue;
		if (rca_bind_wildcard(bind) || rca_bind_wildcard(cur))
			return -EADDRNOTAVAIL;
		if (rca_addr_same_ip(&bind->addr, &cur->addr))
			return -EADDRINUSE;
	}
	return 0;
}

/*
 * May @bind have a port that we choose? Stricter than above: neither reuse nor
 * the family make two binds compatible.
 */
static bool rca_ports_free_locked(struct rca_bucket *bucket, const struct rca_bind *bind, u16 port)
{
	const struct rca_bind *cur;

	lockdep_assert_held(&bucket->lock);

	hlist_for_each_entry(cur, &bucket->binds, node) {
		if (cur == bind || be16_to_cpu(rca_addr_port(&cur->addr)) != port)
			continue;
		if (rca_bind_wildcard(bind) || rca_bind_wildcard(cur) ||
		    rca_addr_same_ip(&bind->addr, &cur->addr))
			return false;
	}
	return true;
}

static void rca_ports_add_locked(struct rca_bucket *bucket, struct rca_bind *bind, u16 port)
{
	lockdep_assert_held(&bucket->lock);

	rca_addr_set_port(&bind->addr, cpu_to_be16(port));
	hlist_add_head(&bind->node, &bucket->binds);
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

static bool rca_ports_replace_locked(struct rca_bucket *to, struct rca_bind *bind, u16 port)
{
	if (!rca_ports_free_locked(to, bind, port))
		return false;
	hlist_del_init(&bind->node);
	rca_ports_add_locked(to, bind, port);
	return true;
}

/* Gives the old port back in the moment in which it has the new one. */
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
		done = rca_ports_replace_locked(to, bind, port);
	} else {
		spin_lock_nested(&second->lock, SINGLE_DEPTH_NESTING);
		done = rca_ports_replace_locked(to, bind, port);
		spin_unlock(&second->lock);
	}
	spin_unlock(&first->lock);
	return done;
}

/* Tries each port of the ephemeral range once, from a random one on. */
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

/**
 * rca_ports_bind() - get a port
 * @bind: an entry that is not bound; @bind->reuse and @bind->afonly are set
 * @net: the namespace; the caller holds a reference until rca_ports_unbind()
 * @ps: port space
 * @addr: the address, and the port; port 0: any of the ephemeral range that no
 *        other address in question has
 *
 * With success @bind->addr has the port, and @bind->ps the port space, which
 * the service ID of an AF_IB address may have chosen for an id of RDMA_PS_IB.
 *
 * Context: process context; may sleep. The caller serialises calls for @bind.
 * Return: 0; -EADDRINUSE: address and port are in use; -EADDRNOTAVAIL: a
 *         wildcard is in the way, or no port is free; -EACCES: a port for
 *         privileged users; -EPROTONOSUPPORT: unknown port space, or one that
 *         does not fit the service ID; -EINVAL: bound already; -ENOMEM.
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
	ret = rca_ports_space(ps);
	if (ret < 0)
		return ret;
	table = rca_ports_table(net, ret);
	if (!table)
		return -ENOMEM;

	bind->net = net;
	bind->ps = ps;
	bind->listening = false;
	port = be16_to_cpu(rca_addr_port(&bind->addr));
	bind->chosen = !port;
	if (bind->chosen)
		return rca_ports_choose(bind, table, rca_ports_try_add);

	if (inet_port_requires_bind_service(net, port) &&
	    !ns_capable(net->user_ns, CAP_NET_BIND_SERVICE))
		return -EACCES;
	bucket = rca_ports_bucket(table, port);
	spin_lock(&bucket->lock);
	ret = rca_ports_check_locked(bucket, bind, port, bind->reuse);
	if (!ret)
		rca_ports_add_locked(bucket, bind, port);
	spin_unlock(&bucket->lock);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(rca_ports_bind);

/**
 * rca_ports_repick() - exchange a chosen port for another one
 * @bind: an entry whose port the caller of rca_ports_bind() left open
 *
 * For a service ID that another user of a device holds. The old port is kept
 * until there is a new one.
 *
 * Context: process context; may sleep. The caller serialises calls for @bind.
 * Return: 0; -EINVAL: not bound, or the port was not chosen by us;
 *         -EADDRNOTAVAIL: no other port is free.
 */
int rca_ports_repick(struct rca_bind *bind)
{
	struct rca_ports_net *ports;

	if (!rca_ports_bound(bind) || !bind->chosen)
		return -EINVAL;

	ports = net_generic(bind->net, rca_ports_net_id);
	return rca_ports_choose(bind, READ_ONCE(ports->table[rca_ports_space(bind->ps)]),
				rca_ports_try_replace);
}
EXPORT_SYMBOL_IF_KUNIT(rca_ports_repick);

/**
 * rca_ports_listen() - become the one who listens on address and port
 * @bind: a bound entry
 *
 * One that may share its address has to be alone on it first, and does not
 * share it from now on, not even after rca_ports_unlisten().
 *
 * Context: process context. The caller serialises calls for @bind.
 * Return: 0; -EADDRINUSE: another bind has the same address; -EADDRNOTAVAIL:
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
EXPORT_SYMBOL_IF_KUNIT(rca_ports_listen);

/**
 * rca_ports_unlisten() - take rca_ports_listen() back
 * @bind: a bound entry
 *
 * Context: process context. The caller serialises calls for @bind.
 */
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
EXPORT_SYMBOL_IF_KUNIT(rca_ports_unlisten);

/**
 * rca_ports_set_reuse() - may others that allow it too have the same address and port?
 * @bind: an entry, bound or not
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
		bind->reuse = true;
		ret = 0;
	}
	spin_unlock(&bucket->lock);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(rca_ports_set_reuse);

/**
 * rca_ports_set_afonly() - does an IPv6 wildcard leave IPv4 to others?
 * @bind: an entry, bound or not
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
		bind->afonly = afonly;
		ret = 0;
	}
	spin_unlock(&bucket->lock);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(rca_ports_set_afonly);

/**
 * rca_ports_unbind() - give a port back
 * @bind: an entry; nothing happens when it is not bound
 *
 * Context: process context.
 */
void rca_ports_unbind(struct rca_bind *bind)
{
	struct rca_bucket *bucket;

	if (!rca_ports_bound(bind))
		return;

	bucket = rca_bind_bucket(bind);
	spin_lock(&bucket->lock);
	hlist_del_init(&bind->node);
	bind->listening = false;
	spin_unlock(&bucket->lock);
}
EXPORT_SYMBOL_IF_KUNIT(rca_ports_unbind);

/**
 * rca_ports_bound() - does an entry have a port?
 * @bind: the entry
 *
 * Context: any.
 * Return: true between rca_ports_bind() and rca_ports_unbind().
 */
bool rca_ports_bound(const struct rca_bind *bind)
{
	return !hlist_unhashed_lockless(&bind->node);
}
EXPORT_SYMBOL_IF_KUNIT(rca_ports_bound);

/**
 * rca_ports_any() - a port for an id that needs none of its own
 * @net: the namespace
 *
 * Others may have the same one: peers tell connections over IB and RoCE apart
 * by other numbers.
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
EXPORT_SYMBOL_IF_KUNIT(rca_ports_any);

static void __net_exit rca_ports_net_exit(struct net *net)
{
	struct rca_ports_net *ports = net_generic(net, rca_ports_net_id);
	int space, i;

	for (space = 0; space < RCA_SPACES; space++) {
		struct rca_bucket *table = ports->table[space];

		/* Who has a port has a reference on the namespace. */
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

/**
 * rca_ports_init() - make port tables possible
 *
 * Context: process context, once, before any id exists.
 * Return: 0 or a negative errno.
 */
int __init rca_ports_init(void)
{
	return register_pernet_subsys(&rca_ports_net_ops);
}

/**
 * rca_ports_exit() - free the port tables
 *
 * Context: process context, once, after the last id is gone.
 */
void rca_ports_exit(void)
{
	unregister_pernet_subsys(&rca_ports_net_ops);
}
