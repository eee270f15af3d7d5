// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * From an address to a device and a GID: bind, and the pipeline of a RESOLVE.
 *
 * Address resolution is ib_addr's (rdma_resolve_ip()). Its callback runs on a
 * workqueue that all kernel users of RDMA share, so it only hands over to our
 * own, where the device is looked up and the route made.
 *
 * Locking: rca_id.op over each step; a resolution under way is an object of its
 * own (&struct rca_resolve), named by rca_id.resolve.
 *
 * More than 600 lines because the steps of the pipeline follow each other here.
 */
#include "resolve.h"

#include <kunit/visibility.h>
#include <linux/if_arp.h>
#include <linux/netdevice.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>
#include <rdma/rdma_cm.h>

#include "addr_ib.h"
#include "devices.h"
#include "iwport.h"
#include "loopback.h"
#include "qpattr.h"
#include "route.h"
#include "route_ib.h"
#include "trace.h"

/**
 * struct rca_resolve - an address resolution under way
 * @ref: references: rca_id.resolve, and the callback and work that are to come
 * @id: the id (holds a reference)
 * @pipe: what was asked for
 * @addr: ib_addr's view
 * @src: local address that was found
 * @status: of the resolution
 * @called: the callback ran
 * @work: goes on after the callback
 */
struct rca_resolve {
	refcount_t ref;
	struct rca_id *id;
	struct rca_pipeline pipe;
	struct rdma_dev_addr addr;
	union rca_addr src;
	int status;
	bool called;
	struct work_struct work;
};

static void resolve_put(struct rca_resolve *res)
{
	if (refcount_dec_and_test(&res->ref)) {
		rca_id_put(res->id);	/* got in start_addr() */
		kfree(res);
	}
}

/* The GID of @local on a port of @dev, when @addr's network device is the port's. */
static const struct ib_gid_attr *find_gid(struct rca_id *id, struct rca_device *dev, u32 port,
					  const union rca_addr *local,
					  struct rdma_dev_addr *addr)
{
	struct ib_device *ibdev = dev->ibdev;
	struct net *net = id->net;
	const struct ib_gid_attr *attr;
	struct net_device *ndev;
	union ib_gid gid;

	if (addr->dev_type == ARPHRD_INFINIBAND)
		return rca_addr_ib_gid(ibdev, port, net, addr);
	if (!rdma_dev_access_netns(ibdev, net))
		return ERR_PTR(-ENODEV);
	if (rdma_protocol_iwarp(ibdev, port))
		return rca_iwport_find(ibdev, port, net, addr->bound_dev_if);
	if (!rdma_protocol_roce(ibdev, port))
		return ERR_PTR(-ENODEV);
	if (rdma_ip2gid((struct sockaddr *)&local->sa, &gid))
		return ERR_PTR(-ENODEV);
	ndev = dev_get_by_index(net, addr->bound_dev_if);
	if (!ndev)
		return ERR_PTR(-ENODEV);
	attr = rdma_find_gid_by_port(ibdev, &gid, rca_id_gid_type(id, dev, port), port, ndev);
	dev_put(ndev);
	return attr;
}

/* Bind @id to the device that has the address @local on the network device of @addr. */
static int acquire_device(struct rca_id *id, const union rca_addr *local,
			  struct rdma_dev_addr *addr)
{
	const struct ib_gid_attr *attr;
	struct rca_device *dev = NULL;
	u32 port;

	lockdep_assert_held(&id->op);
	if (id->ps == RDMA_PS_IPOIB && addr->dev_type != ARPHRD_INFINIBAND)
		return -EINVAL;
	while ((dev = rca_device_next(dev))) {
		rdma_for_each_port(dev->ibdev, port) {
			attr = find_gid(id, dev, port, local, addr);
			if (IS_ERR(attr))
				continue;
			if (!rca_id_attach(id, dev, port, attr)) {
				rca_device_put(dev);
				return 0;
			}
			rdma_put_gid_attr(attr);
		}
	}
	return -ENODEV;
}

/* What resolution found out, in the few bytes that the route needs. */
static void keep_link(struct rca_id *id, struct rdma_dev_addr *addr)
{
	unsigned long flags;

	rca_id_unwatch(id);
	spin_lock_irqsave(&id->lock, flags);
	memset(&id->link, 0, sizeof(id->link));
	id->link.ifindex = addr->bound_dev_if;
	if (addr->dev_type == ARPHRD_INFINIBAND) {
		rca_addr_ib_keep(&id->link, addr);
		spin_unlock_irqrestore(&id->lock, flags);
		return;
	}
	memcpy(id->link.dmac, addr->dst_dev_addr, ETH_ALEN);
	memcpy(id->link.smac, addr->src_dev_addr, ETH_ALEN);
	id->link.hoplimit = addr->hoplimit;
	id->link.network = addr->network;
	spin_unlock_irqrestore(&id->lock, flags);
}

/* Connections of TCP are told apart by their ports: an id needs one of its own. */
static bool needs_port(const struct rca_id *id)
{
	return id->dev && id->dev->tp->over_tcp && !rca_ports_bound(&id->bind);
}

static int bind_port(struct rca_id *id, const union rca_addr *addr)
{
	id->bind.reuse = id->reuse;
	id->bind.afonly = id->afonly;
	return rca_ports_bind(&id->bind, id->net, id->ps, addr);
}

static bool is_wildcard(const union rca_addr *addr)
{
	return rca_addr_is_any(addr) || rca_addr_is_loopback(addr);
}

static void default_afonly(struct rca_id *id, sa_family_t family)
{
	if (id->afonly_set)
		return;
	id->afonly = family == AF_INET;
#if IS_ENABLED(CONFIG_IPV6)
	if (family == AF_INET6)
		id->afonly = id->net->ipv6.sysctl.bindv6only;
#endif
}

static int check_family(const union rca_addr *addr)
{
	switch (addr->sa.sa_family) {
	case AF_INET:
	case AF_INET6:
	case AF_IB:
		return 0;
	case AF_UNSPEC:
		return -EINVAL;
	default:
		return -EAFNOSUPPORT;
	}
}

/* Bind @id to the device of a local address that is no wildcard. */
static int find_device(struct rca_id *id, const union rca_addr *src, struct rdma_dev_addr *addr)
{
	int ret = 0;

	if (src->sa.sa_family == AF_IB)
		rca_addr_ib_translate(src, addr);
	else
		ret = rdma_translate_ip(&src->sa, addr);
	return ret ?: acquire_device(id, src, addr);
}

/*
 * Give @id the local address @src. A port is taken in the port table when it
 * was asked for: always for bind; an active id needs none of its own but on iWARP.
 */
static int set_local(struct rca_id *id, const union rca_addr *src, bool take_port)
{
	struct rdma_dev_addr addr = { .net = id->net };
	int ret;

	lockdep_assert_held(&id->op);
	ret = check_family(src) ?: rca_id_may(id, RCA_IN_BIND);
	if (ret)
		return ret;
	if (rca_addr_is_linklocal(src)) {
		if (!rca_addr_scope(src))
			return -EINVAL;
		addr.bound_dev_if = rca_addr_scope(src);
	}
	if (!is_wildcard(src)) {
		ret = find_device(id, src, &addr);
		if (ret)
			return ret;
	}
	default_afonly(id, src->sa.sa_family);
	id->local = *src;
	if (take_port || rca_addr_port(src) || needs_port(id)) {
		ret = bind_port(id, src);
		if (ret)
			goto err_detach;
		id->local = id->bind.addr;	/* an AF_IB address was completed */
	} else {
		rca_addr_set_port(&id->local, rca_ports_any(id->net));
	}
	/* No peer yet, but programs look at the family of both addresses. */
	rca_addr_set_any(&id->dst, src->sa.sa_family);
	keep_link(id, &addr);
	if (rca_id_step(id, RCA_IN_BIND).verdict != RCA_TAKE) {
		ret = -EINVAL;
		goto err_unbind;
	}
	if (id->dev)
		rca_id_watch_netdev(id);
	return 0;

err_unbind:
	rca_ports_unbind(&id->bind);
err_detach:
	rca_id_detach(id);
	memset(&id->local, 0, sizeof(id->local));
	memset(&id->dst, 0, sizeof(id->dst));
	return ret;
}

/**
 * rca_resolve_bind_locked() - bind an id to a local address
 * @id: the id
 * @src: the address; a wildcard or loopback address binds to no device
 *
 * Context: Process context. Sleeps. Expects @id->op to be held by the caller.
 * Return: 0; -EINVAL wrong state, no family, link-local without scope;
 * -EAFNOSUPPORT; -EADDRNOTAVAIL not a local address, or a wildcard is involved
 * in a conflict; -EADDRINUSE; -EACCES; -ENODEV no RDMA device has the address.
 */
int rca_resolve_bind_locked(struct rca_id *id, const union rca_addr *src)
{
	return set_local(id, src, true);
}

/* A step has ended with @status: let the id go on, and @tell it. */
static struct rca_step finish_step(struct rca_id *id, enum rca_input input, int status, bool tell)
{
	struct rca_event *ev = tell ? rca_id_event(id) : NULL;
	struct rca_step step;
	unsigned long flags;

	lockdep_assert_held(&id->op);
	if (ev) {
		rca_id_fill_route_locked(id, &ev->rec.route);
		ev->rec.flags = RDMA_CM_ALT_EVENT_F_ROUTE;
		if (!status && rca_qp_attr_fill(id, NULL, &ev->rec.qp))
			ev->rec.flags |= RDMA_CM_ALT_EVENT_F_QP;
	}
	spin_lock_irqsave(&id->lock, flags);
	step = rca_id_step_locked(id, input);
	if (step.verdict == RCA_TAKE && tell) {
		rca_id_post_locked(id, ev, step.post, status);
		ev = NULL;
	}
	spin_unlock_irqrestore(&id->lock, flags);
	rca_event_free(ev);
	rca_id_unreserve_event(id);	/* one that was not to be told */
	return step;
}

/* The way to the peer is known, or is not. */
static void route_done(struct rca_id *id, int status, bool tell)
{
	struct rca_step step;

	step = finish_step(id, status ? RCA_IN_ROUTE_FAIL : RCA_IN_ROUTE_OK, status,
			   status || tell);
	/* On InfiniBand nothing depends on the neighbour any more. */
	if (step.verdict == RCA_TAKE && !status && !id->link.ib)
		rca_id_watch_peer(id);
}

/* Make the route, or take over @given. 1: the administrator is asked, who answers later. */
static int make_route(struct rca_id *id, const struct sa_path_rec *given, u32 timeout_ms, bool tell)
{
	if (!id->link.ib)
		return given ? rca_route_set(id, given) : rca_route_roce(id);
	if (given)
		return rca_route_ib_set(id, given);
	return rca_route_ib_start(id, timeout_ms, route_done, tell) ?: 1;
}

/*
 * Take over @given, or make the route, and tell, @inside the call or from the
 * work. What fails inside the call needs no event.
 */
static int step_route(struct rca_id *id, const struct sa_path_rec *given, u32 timeout_ms,
		      bool tell, bool inside)
{
	struct rca_step step;
	int ret = 0;

	lockdep_assert_held(&id->op);
	step = rca_id_step(id, RCA_IN_RESOLVE_ROUTE);
	if (step.verdict != RCA_TAKE)
		return step.err;
	if (inside)
		ret = rca_id_reserve_event(id);
	if (!ret)
		ret = make_route(id, given, timeout_ms, tell);
	if (ret > 0)
		return 0;
	if (ret && inside) {
		finish_step(id, RCA_IN_ROUTE_FAIL, ret, false);
		return ret;
	}
	route_done(id, ret, tell);
	return ret;
}

/* The address is resolved, or is not: tell, go on with the route. */
static void addr_finished(struct rca_id *id, const struct rca_pipeline *pipe, int status)
{
	bool tell = status || (pipe->events & RDMA_CM_ALT_STEP_ADDR);
	struct rca_step step;

	lockdep_assert_held(&id->op);
	step = finish_step(id, status ? RCA_IN_ADDR_FAIL : RCA_IN_ADDR_OK, status, tell);
	if (step.verdict == RCA_TAKE && !status && (pipe->steps & RDMA_CM_ALT_STEP_ROUTE))
		step_route(id, NULL, pipe->timeout_ms, pipe->events & RDMA_CM_ALT_STEP_ROUTE,
			   false);
}

/* The neighbour is known: find the device. */
static void addr_done(struct rca_resolve *res)
{
	struct rca_id *id = res->id;
	int status = res->status;
	bool attached = false;

	lockdep_assert_held(&id->op);
	if (!status && !id->dev) {
		status = acquire_device(id, &res->src, &res->addr);
		attached = !status;
	}
	if (!status && needs_port(id)) {
		rca_addr_set_port(&res->src, 0);
		status = bind_port(id, &res->src);
		if (!status)
			rca_addr_set_port(&id->local, rca_addr_port(&id->bind.addr));
		else if (attached)
			rca_id_detach(id);	/* another try may leave through another one */
	}
	if (!status) {
		rca_addr_set_port(&res->src, rca_addr_port(&id->local));
		if (rca_addr_is_linklocal(&res->src))
			res->src.in6.sin6_scope_id = res->addr.bound_dev_if;
		/* Programs leave it out where one interface is all there is. */
		if (rca_addr_is_linklocal(&id->dst))
			id->dst.in6.sin6_scope_id = res->addr.bound_dev_if;
		id->local = res->src;
		keep_link(id, &res->addr);
		rca_id_watch_netdev(id);
	}
	addr_finished(id, &res->pipe, status);
}

static void resolve_work(struct work_struct *work)
{
	struct rca_resolve *res = container_of(work, struct rca_resolve, work);
	struct rca_id *id = res->id;
	unsigned long flags;
	bool current_one;

	mutex_lock(&id->op);
	spin_lock_irqsave(&id->lock, flags);
	current_one = id->resolve == res;
	if (current_one)
		id->resolve = NULL;
	spin_unlock_irqrestore(&id->lock, flags);
	if (current_one) {
		addr_done(res);
		resolve_put(res);	/* of id->resolve */
	}
	mutex_unlock(&id->op);
	resolve_put(res);		/* of the callback and this work */
}

/* Runs on ib_addr's workqueue, which everybody shares. */
static void addr_callback(int status, struct sockaddr *src, struct rdma_dev_addr *addr,
			  void *context)
{
	struct rca_resolve *res = context;

	res->status = status;
	if (!status)
		memcpy(&res->src, src, rdma_addr_size(src));
	WRITE_ONCE(res->called, true);	/* pairs with rca_resolve_cancel() */
	queue_work(rca_wq, &res->work);
}

/*
 * Start the resolution of id->dst. The id is in state ADDR_QUERY already, as
 * the callback may run before rdma_resolve_ip() returns.
 */
static int start_addr(struct rca_id *id, const struct rca_pipeline *pipe)
{
	union rca_addr src = id->local, any;
	struct rca_resolve *res;
	unsigned long flags;
	int ret;

	res = kzalloc(sizeof(*res), GFP_KERNEL_ACCOUNT);
	if (!res)
		return -ENOMEM;
	refcount_set(&res->ref, 2);	/* id->resolve; callback and work */
	res->id = rca_id_get(id);	/* put in resolve_put() */
	res->pipe = *pipe;
	res->addr.net = id->net;
	INIT_WORK(&res->work, resolve_work);
	/* Not bound to a device: a retry may leave through another one. */
	if (id->dev)
		res->addr.bound_dev_if = id->link.ifindex;
	else if (rca_addr_is_linklocal(&id->dst))
		res->addr.bound_dev_if = rca_addr_scope(&id->dst);
	/* An id that is bound to a loopback address gets one that goes on the wire. */
	if (rca_addr_is_loopback(&src)) {
		rca_addr_set_any(&any, src.sa.sa_family);
		rca_addr_set_ip(&src, &any);
	}

	spin_lock_irqsave(&id->lock, flags);
	id->resolve = res;
	spin_unlock_irqrestore(&id->lock, flags);
	ret = rdma_resolve_ip(&src.sa, &id->dst.sa, &res->addr,
			      min_t(u32, pipe->timeout_ms, INT_MAX), addr_callback, false, res);
	if (!ret)
		return 0;

	spin_lock_irqsave(&id->lock, flags);
	id->resolve = NULL;
	spin_unlock_irqrestore(&id->lock, flags);
	resolve_put(res);
	resolve_put(res);
	return ret;
}

/* The local address of an id that has none: the caller's, else a wildcard. */
static int set_source(struct rca_id *id, const struct rca_pipeline *pipe)
{
	bool is_ib = pipe->dst.sa.sa_family == AF_IB;
	union rca_addr any;

	if (rca_addr_is_set(&pipe->src))
		return set_local(id, &pipe->src, is_ib);
	rca_addr_set_any(&any, pipe->dst.sa.sa_family);
	if (is_ib)
		any.ib.sib_pkey = pipe->dst.ib.sib_pkey;
	return set_local(id, &any, is_ib);
}

static int step_addr(struct rca_id *id, const struct rca_pipeline *pipe)
{
	union rca_addr dst = pipe->dst;
	struct rca_step step;
	int ret;

	lockdep_assert_held(&id->op);
	ret = check_family(&pipe->dst);
	if (ret)
		return ret;
	if (rca_addr_is_set(&pipe->src) && pipe->src.sa.sa_family != pipe->dst.sa.sa_family)
		return -EINVAL;
	if (rca_id_state(id) == RCA_ST_IDLE) {
		ret = set_source(id, pipe);
		if (ret)
			return ret;
	}
	ret = rca_id_may(id, RCA_IN_RESOLVE_ADDR);
	if (ret)
		return ret;
	if (id->local.sa.sa_family != dst.sa.sa_family)
		return -EINVAL;
	if (is_wildcard(&dst)) {
		ret = dst.sa.sa_family == AF_IB ? rca_addr_ib_own(id, &dst) :
						  rca_loopback_addr(id, &dst);
		if (ret)
			return ret;
	}
	step = rca_id_step(id, RCA_IN_RESOLVE_ADDR);
	if (step.verdict != RCA_TAKE)
		return step.err;
	ret = rca_id_reserve_event(id);
	if (!ret) {
		id->dst = dst;
		ret = dst.sa.sa_family == AF_IB ? rca_addr_ib_resolve(id) : start_addr(id, pipe);
	}
	if (ret) {
		rca_id_unreserve_event(id);
		rca_id_step(id, RCA_IN_ADDR_FAIL);
	} else if (dst.sa.sa_family == AF_IB) {
		addr_finished(id, pipe, 0);
	}
	return ret;
}

/**
 * rca_resolve() - do the steps of a pipeline that follow the creation of an id
 * @id: the id
 * @pipe: the steps
 * @done: steps that are complete are added; the others end with an event
 *
 * Context: Process context. Sleeps. Takes and releases @id->op.
 * Return: 0 or the errno of the step that failed at once.
 */
int rca_resolve(struct rca_id *id, const struct rca_pipeline *pipe, u32 *done)
{
	int ret = 0;

	mutex_lock(&id->op);
	if (pipe->steps & RDMA_CM_ALT_STEP_BIND) {
		ret = rca_resolve_bind_locked(id, &pipe->src);
		if (ret)
			goto out_unlock;
		*done |= RDMA_CM_ALT_STEP_BIND;
	}
	if (pipe->steps & RDMA_CM_ALT_STEP_ADDR) {
		/* The route follows when the address is known. */
		ret = step_addr(id, pipe);
		if (!ret && rca_id_state(id) == RCA_ST_ADDR_RESOLVED)
			*done |= RDMA_CM_ALT_STEP_ADDR;
	} else if (pipe->steps & RDMA_CM_ALT_STEP_ROUTE) {
		ret = step_route(id, NULL, pipe->timeout_ms, pipe->events & RDMA_CM_ALT_STEP_ROUTE,
				 true);
		/* It may have to be asked for, and ends with its event then. */
		if (!ret && rca_id_state(id) == RCA_ST_ROUTE_RESOLVED)
			*done |= RDMA_CM_ALT_STEP_ROUTE;
	}
out_unlock:
	trace_rca_op(id->obj.handle, &id->local.sa, &id->dst.sa, "resolve", ret);
	mutex_unlock(&id->op);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(rca_resolve);

/**
 * rca_resolve_set_path_locked() - take over a path that user space has found by itself
 * @id: the id; its address is resolved
 * @path: the path
 *
 * Ends with the event ROUTE_RESOLVED, like the resolution of a route.
 *
 * Context: Process context. Sleeps. Expects @id->op to be held by the caller.
 * Return: 0; -EINVAL wrong state; -ENODEV the network device is gone; -ENOMEM.
 */
int rca_resolve_set_path_locked(struct rca_id *id, const struct sa_path_rec *path)
{
	return step_route(id, path, 0, true, true);
}
EXPORT_SYMBOL_IF_KUNIT(rca_resolve_set_path_locked);

/**
 * rca_resolve_cancel() - end the resolution under way, if there is one
 * @id: the id; its state takes no new resolution
 *
 * Context: Process context. Sleeps. @id->op must not be held by the caller.
 */
void rca_resolve_cancel(struct rca_id *id)
{
	struct rca_resolve *res = NULL;
	unsigned long flags;

	/* An operation that saw the state before may still start one. */
	mutex_lock(&id->op);
	spin_lock_irqsave(&id->lock, flags);
	swap(id->resolve, res);
	spin_unlock_irqrestore(&id->lock, flags);
	rca_route_ib_cancel(id);
	mutex_unlock(&id->op);
	if (!res)
		return;
	rdma_addr_cancel(&res->addr);
	/* No callback runs now. What did not run will not: give its reference back. */
	if (!READ_ONCE(res->called) || cancel_work_sync(&res->work))
		resolve_put(res);
	resolve_put(res);	/* of id->resolve */
}
