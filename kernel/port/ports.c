// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Ports: who may bind what, and listen on it, with the rules and errors of the
 * stock rdma_cm.
 *
 * Locking: the spinlock of a bucket of the port table; of two buckets that of
 * the lower index first. Process context only, nothing is called with a bucket
 * locked.
 */
#include "port/ports.h"

#include <kunit/visibility.h>
#include <linux/capability.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <net/ip.h>

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
	table = rca_ports_table(net, ps);
	if (IS_ERR(table))
		return PTR_ERR(table);

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
	if (!rca_ports_bound(bind) || !bind->chosen)
		return -EINVAL;

	return rca_ports_choose(bind, rca_bind_table(bind), rca_ports_try_replace);
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
