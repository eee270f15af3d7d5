// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The pipeline of RESOLVE: from an address to a device, a GID and a path.
 *
 * If the neighbour of the peer is known to the host, it completes inside the call, else from work
 * as soon as the neighbour has answered.
 *
 * Locking: rca_id.op during each step.
 */
#include "cm/internal.h"

#include <linux/jiffies.h>
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>

#include "net/net.h"
#include "transport/transport.h"

/*
 * Replacement of a loopback address by an address of a device: 127.0.0.1 and ::1 are never sent to
 * a peer, which would not accept them.
 *
 * Locking: rca_id.op.
 */

/* The address of a GID whose network device is up and in @net; false: it is another one. */
static bool usable_addr(const struct ib_gid_attr *attr, struct net *net, sa_family_t family,
			bool linklocal, union rca_addr *addr)
{
	struct rdma_dev_addr found = { .net = net };
	struct net_device *ndev;
	int ifindex = 0;

	memset(addr, 0, sizeof(*addr));
	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(attr);
	if (!IS_ERR(ndev) && net_eq(dev_net(ndev), net) && READ_ONCE(ndev->flags) & IFF_UP)
		ifindex = ndev->ifindex;
	rcu_read_unlock();
	if (!ifindex)
		return false;
	rdma_gid2ip((struct sockaddr *)addr, &attr->gid);
	if (addr->sa.sa_family != family || rca_addr_is_linklocal(addr) != linklocal)
		return false;
	if (linklocal)
		addr->in6.sin6_scope_id = ifindex;
	/* Ports also have GIDs that no interface has as an address. */
	return !rdma_translate_ip(&addr->sa, &found) && found.bound_dev_if == ifindex;
}

static bool find_on_port(struct ib_device *ibdev, u32 port, struct net *net, sa_family_t family,
			 bool linklocal, union rca_addr *addr)
{
	int len = ibdev->port_data[port].immutable.gid_tbl_len;
	const struct ib_gid_attr *attr;
	enum ib_port_state state;
	bool found = false;
	int i;

	if (ib_get_cached_port_state(ibdev, port, &state) || state != IB_PORT_ACTIVE)
		return false;
	if (rdma_protocol_ib(ibdev, port))
		return rca_ipoib_ip(ibdev, port, net, family, linklocal, addr);
	if (rdma_protocol_iwarp(ibdev, port))
		return rca_iwport_ip(ibdev, port, net, family, linklocal, addr);
	for (i = 0; i < len && !found; i++) {
		attr = rdma_get_gid_attr(ibdev, port, i);
		if (IS_ERR(attr))
			continue;
		found = usable_addr(attr, net, family, linklocal, addr);
		rdma_put_gid_attr(attr);
	}
	return found;
}

static bool find_addr(struct net *net, sa_family_t family, bool linklocal, union rca_addr *addr)
{
	struct rca_device *dev = NULL;
	u32 port;

	while ((dev = rca_device_next(dev))) {
		if (!rdma_dev_access_netns(dev->ibdev, net))
			continue;
		rdma_for_each_port(dev->ibdev, port) {
			if (find_on_port(dev->ibdev, port, net, family, linklocal, addr)) {
				rca_device_put(dev);
				return true;
			}
		}
	}
	return false;
}

/*
 * Replace a loopback or wildcard IP address by the address of the id if it is bound to a device,
 * else by the first of the family on the first active port that has one in the namespace of the id;
 * by a link-local address only if there is no other. The port is kept. -ENODEV: there is none.
 */
static int rca_loopback_addr(struct rca_id *id, union rca_addr *addr)
{
	sa_family_t family = addr->sa.sa_family;
	union rca_addr own;

	lockdep_assert_held(&id->op);
	if (id->dev) {
		rca_addr_set_ip(addr, &id->local);
		return 0;
	}
	if (!find_addr(id->net, family, false, &own) &&
	    (family != AF_INET6 || !find_addr(id->net, family, true, &own)))
		return -ENODEV;
	rca_addr_set_ip(addr, &own);
	return 0;
}

/*
 * Address resolutions that wait for a neighbour. The work of the id continues them as soon as the
 * neighbour has answered. ib_addr (rdma_resolve_ip()) is used only for gateways of IPoIB networks:
 * all kernel users share its workqueue, which is ordered until Linux 7.1, and each change of a
 * neighbour makes it look at all pending requests.
 *
 * Locking: rca_id.op during each step. The callbacks that report an answer only queue the work;
 * none is running when stop_resolution() returns.
 */

/*
 * Time until the first lookup of a neighbour whose notification should arrive earlier. It doubles
 * with each lookup, so that many resolutions that wait for a long time cost little: a notification
 * that was missed, or a route that comes back, is found in twice the time at most.
 */
#define FIRST_LOOK	msecs_to_jiffies(10)

/**
 * struct rca_resolve - an address resolution that waits
 * @id: the id, whose setup owns the struct
 * @pipe: the requested steps (immutable)
 * @deadline: deadline, in jiffies (immutable)
 * @delay: time until the next lookup, in jiffies, at most MAX_JIFFY_OFFSET (lock: rca_id.op)
 * @wait: wait for the neighbour
 * @with_ib_addr: ib_addr resolves the address (lock: rca_id.op); only then the members from @addr
 *                to @called are used
 * @addr: address data of ib_addr
 * @src: local address that was found
 * @status: result of the resolution
 * @called: the callback ran
 */
struct rca_resolve {
	struct rca_id *id;
	struct rca_pipeline pipe;
	unsigned long deadline;
	unsigned long delay;
	struct rca_neigh_wait wait;
	bool with_ib_addr;
	struct rdma_dev_addr addr;
	union rca_addr src;
	int status;
	bool called;
};

/*
 * The start of the route from an id to its peer: its local address or a wildcard, its namespace,
 * and the network device if it must be a certain one.
 */
static void set_route_start(const struct rca_id *id, union rca_addr *src,
			    struct rdma_dev_addr *addr)
{
	union rca_addr any;

	*src = id->local;
	memset(addr, 0, sizeof(*addr));
	addr->net = id->net;
	/* Not bound to a device: a retry may use another one. */
	addr->bound_dev_if = id->dev ? id->link.ifindex : rca_addr_scope(&id->dst);
	/* An id that is bound to a loopback address gets an address that may be sent. */
	if (rca_addr_is_loopback(src)) {
		rca_addr_set_any(&any, src->sa.sa_family);
		rca_addr_set_ip(src, &any);
	}
}

/* Called with a spinlock held: the work does the rest. */
static void neighbour_known(struct rca_neigh_wait *wait)
{
	rca_id_queue_work(container_of(wait, struct rca_resolve, wait)->id);
}

/*
 * Each lookup solicits the neighbour again. The resolution waits from before it, as the answer may
 * come during the lookup.
 */
static void wait_for_neighbour(struct rca_resolve *res, const struct rca_neigh_key *missing)
{
	long left = res->deadline - jiffies;

	if (memcmp(&res->wait.key, missing, sizeof(*missing))) {
		rca_neigh_unwait(&res->wait);
		res->wait.key = *missing;
	}
	rca_neigh_wait(&res->wait);
	rca_id_queue_work_at(res->id, clamp_t(long, left, 1, res->delay));
	res->delay = min(2 * res->delay, MAX_JIFFY_OFFSET);
}

/* Runs on the shared workqueue of ib_addr. */
static void ib_addr_done(int status, struct sockaddr *src, struct rdma_dev_addr *addr,
			 void *context)
{
	struct rca_resolve *res = context;

	res->status = status;
	if (!status)
		memcpy(&res->src, src, rdma_addr_size(src));
	smp_store_release(&res->called, true);	/* pairs with look_again() */
	rca_id_queue_work(res->id);
}

static int start_ib_addr(struct rca_resolve *res)
{
	long left = res->deadline - jiffies;
	struct rca_id *id = res->id;
	union rca_addr src;
	int ret;

	set_route_start(id, &src, &res->addr);
	res->with_ib_addr = true;
	ret = rdma_resolve_ip(&src.sa, &id->dst.sa, &res->addr,
			      jiffies_to_msecs(max(left, 1L)), ib_addr_done, false, res);
	if (ret)
		res->with_ib_addr = false;
	return ret;
}

/* Look up the neighbour again. Returns -EAGAIN while an answer is pending. */
static int look_again(struct rca_resolve *res, union rca_addr *src, struct rdma_dev_addr *addr)
{
	struct rca_neigh_key missing;
	int ret;

	if (res->with_ib_addr) {
		if (!smp_load_acquire(&res->called))	/* pairs with ib_addr_done() */
			return -EAGAIN;
		*src = res->src;
		*addr = res->addr;
		return res->status;
	}
	set_route_start(res->id, src, addr);
	ret = rca_nexthop(src, &res->id->dst, addr, &missing);
	if (!ret)
		return 0;
	/*
	 * Routes as well as neighbours may come back, so wait until the deadline after any error.
	 */
	if (time_after_eq(jiffies, res->deadline))
		return -ETIMEDOUT;
	if (ret == -EOPNOTSUPP) {
		rca_neigh_unwait(&res->wait);
		return start_ib_addr(res) ?: -EAGAIN;
	}
	wait_for_neighbour(res, &missing);
	return -EAGAIN;
}

/* Nobody queues the work of the id for the resolution any more. */
static void stop_resolution(struct rca_resolve *res)
{
	struct rca_id *id = res->id;

	lockdep_assert_held(&id->op);
	id->setup->resolve = NULL;
	rca_neigh_unwait(&res->wait);
	/* Waits for the callback, if that is running, and takes no lock of ours. */
	if (res->with_ib_addr)
		rdma_addr_cancel(&res->addr);
	rca_id_cancel_work(id);
}

/*
 * Continue a resolution when the next hop is known. @how is the result of rca_nexthop(): -EAGAIN or
 * -EOPNOTSUPP. Returns 0; -ENOMEM; or an errno of ib_addr.
 */
static int wait_for_nexthop(struct rca_id *id, const struct rca_pipeline *pipe,
			    const struct rca_neigh_key *missing, int how)
{
	struct rca_resolve *res = kzalloc(sizeof(*res), GFP_KERNEL_ACCOUNT);
	int ret;

	lockdep_assert_held(&id->op);
	if (!res)
		return -ENOMEM;
	res->id = id;
	res->pipe = *pipe;
	res->deadline = jiffies + msecs_to_jiffies(min_t(u32, pipe->timeout_ms, INT_MAX));
	res->delay = FIRST_LOOK;
	res->wait.key = *missing;
	res->wait.wake = neighbour_known;
	id->setup->resolve = res;
	if (how == -EAGAIN) {
		wait_for_neighbour(res, missing);
		return 0;
	}
	ret = start_ib_addr(res);
	if (ret) {
		id->setup->resolve = NULL;
		kfree(res);
	}
	return ret;
}

/* Cancel the pending resolution or query of an id whose state permits no new one. Sleeps. */
void rca_resolve_cancel(struct rca_id *id)
{
	struct rca_resolve *res = id->setup ? id->setup->resolve : NULL;

	lockdep_assert_held(&id->op);
	if (res) {
		stop_resolution(res);
		kfree(res);
	}
	rca_path_query_cancel(id);
	rca_service_cancel(id);
}

/* Make the transition for a step that ended with @status, and post its event if @post. */
static struct rca_step finish_step(struct rca_id *id, enum rca_input input, int status, bool post)
{
	struct rca_event *ev;

	lockdep_assert_held(&id->op);
	if (!post) {
		rca_id_unreserve_event(id);
		return rca_id_step(id, input);
	}
	ev = rca_id_event(id);
	if (ev) {
		rca_id_fill_route_locked(id, &ev->rec.route);
		ev->rec.flags = RDMA_CM_ALT_EVENT_F_ROUTE;
		if (!status && rca_qp_attr_fill_init(id, &ev->rec.qp))
			ev->rec.flags |= RDMA_CM_ALT_EVENT_F_QP;
	}
	return rca_id_step_post(id, input, ev, status);
}

/* The route resolution has ended. */
static void finish_route(struct rca_id *id, int status, bool post)
{
	struct rca_step step;

	step = finish_step(id, status ? RCA_IN_ROUTE_FAIL : RCA_IN_ROUTE_OK, status,
			   status || post);
	/* On InfiniBand, a path does not depend on the neighbour. */
	if (step.verdict == RCA_TAKE && !status && !id->link.ib)
		rca_id_watch_peer(id);
}

/*
 * Resolve the route or use @given, @inside the call or from work. A failure inside the call posts
 * no event.
 */
static int step_route(struct rca_id *id, const struct sa_path_rec *given, u32 timeout_ms,
		      bool post, bool inside)
{
	struct rca_step step;
	int ret = 0;

	lockdep_assert_held(&id->op);
	step = rca_id_step(id, RCA_IN_RESOLVE_ROUTE);
	if (step.verdict != RCA_TAKE)
		return step.err;
	if (inside)
		ret = rca_id_reserve_event(id);
	id->setup->path_given = given;
	if (!ret && !id->link.ib)
		ret = given ? rca_route_set(id, given) : rca_route_roce(id);
	else if (!ret && given)
		rca_route_ib_set(id, given);
	else if (!ret)
		ret = rca_route_ib_start(id, timeout_ms, post);
	if (ret > 0)
		return 0;	/* the subnet administrator answers later */
	if (ret && inside) {
		finish_step(id, RCA_IN_ROUTE_FAIL, ret, false);
		return ret;
	}
	finish_route(id, ret, post);
	return ret;
}

/* The address resolution has ended: post its event, and continue with the route. */
static void finish_addr(struct rca_id *id, const struct rca_pipeline *pipe, int status)
{
	bool post = status || (pipe->events & RDMA_CM_ALT_STEP_ADDR);
	struct rca_step step;

	lockdep_assert_held(&id->op);
	step = finish_step(id, status ? RCA_IN_ADDR_FAIL : RCA_IN_ADDR_OK, status, post);
	if (step.verdict == RCA_TAKE && !status && (pipe->steps & RDMA_CM_ALT_STEP_ROUTE))
		step_route(id, NULL, pipe->timeout_ms, pipe->events & RDMA_CM_ALT_STEP_ROUTE,
			   false);
}

/* The next hop has been resolved, or not: find the device with the address @src. */
static void nexthop_done(struct rca_id *id, const struct rca_pipeline *pipe, union rca_addr *src,
			 struct rdma_dev_addr *addr, int status)
{
	lockdep_assert_held(&id->op);
	if (!status && !id->dev)
		status = rca_local_device(id, src, addr);
	if (!status && rca_local_needs_port(id)) {
		rca_addr_set_port(src, 0);
		status = rca_id_bind(id, src);
		if (!status)
			rca_addr_set_port(&id->local, rca_addr_port(&id->opts->bind->addr));
		else
			rca_id_detach(id);	/* a retry may use another device */
	}
	if (!status) {
		rca_addr_set_port(src, rca_addr_port(&id->local));
		if (rca_addr_is_linklocal(src))
			src->in6.sin6_scope_id = addr->bound_dev_if;
		/* Programs omit the scope if there is only one interface. */
		if (rca_addr_is_linklocal(&id->dst))
			id->dst.in6.sin6_scope_id = addr->bound_dev_if;
		id->local = *src;
		rca_local_keep_link(id, addr);
		rca_id_watch_netdev(id);
	}
	finish_addr(id, pipe, status);
}

/*
 * Look up the next hop again, or take the answer to a query, in the state RCA_ST_ADDR_QUERY or
 * RCA_ST_ROUTE_QUERY.
 */
void rca_resolve_continue(struct rca_id *id)
{
	struct rca_resolve *res = id->setup->resolve;
	struct rdma_dev_addr addr;
	union rca_addr src;
	int status;
	bool post;

	lockdep_assert_held(&id->op);
	if (rca_id_state(id) == RCA_ST_ROUTE_QUERY) {
		status = rca_path_query_continue(id, &post);
		if (status != -EINPROGRESS)
			finish_route(id, status, post);
		return;
	}
	if (!res) {
		rca_service_continue(id);
		return;
	}
	status = look_again(res, &src, &addr);
	if (status == -EAGAIN)
		return;
	stop_resolution(res);
	nexthop_done(id, &res->pipe, &src, &addr, status);
	kfree(res);
}

/* Start the resolution of id->dst. It may complete at once, so the state is already ADDR_QUERY. */
static int start_addr(struct rca_id *id, const struct rca_pipeline *pipe)
{
	struct rca_neigh_key missing;
	struct rdma_dev_addr addr;
	union rca_addr src;
	int ret;

	set_route_start(id, &src, &addr);
	ret = rca_nexthop(&src, &id->dst, &addr, &missing);
	if (ret == -EAGAIN || ret == -EOPNOTSUPP)
		return wait_for_nexthop(id, pipe, &missing, ret);
	if (!ret)
		nexthop_done(id, pipe, &src, &addr, 0);
	return ret;
}

/* Bind an id without a local address to that of the caller, else to a wildcard. */
static int set_source(struct rca_id *id, const struct rca_pipeline *pipe)
{
	union rca_addr any;

	if (rca_addr_is_set(&pipe->src))
		return rca_local_set(id, &pipe->src, false);
	rca_addr_set_any(&any, pipe->dst.sa.sa_family);
	if (pipe->dst.sa.sa_family == AF_IB)
		any.ib.sib_pkey = pipe->dst.ib.sib_pkey;
	return rca_local_set(id, &any, false);
}

static int step_addr(struct rca_id *id, const struct rca_pipeline *pipe)
{
	union rca_addr dst = pipe->dst;
	struct rca_step step;
	int ret;

	lockdep_assert_held(&id->op);
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
	if (rca_addr_is_wildcard(&dst)) {
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
		finish_addr(id, pipe, 0);
	}
	return ret;
}

/* rca_resolve() for a caller that holds rca_id.op. */
int rca_resolve_locked(struct rca_id *id, const struct rca_pipeline *pipe, u32 *done)
{
	const union rca_addr *dst = &id->dst;
	enum rca_state state;
	int ret = 0;

	lockdep_assert_held(&id->op);
	if (pipe->steps & RDMA_CM_ALT_STEP_BIND) {
		ret = rca_local_set(id, &pipe->src, true);
		if (ret)
			goto out;
		*done |= RDMA_CM_ALT_STEP_BIND;
	}
	/* The route is resolved after the address. Steps that have to wait end with an event. */
	if (pipe->steps & RDMA_CM_ALT_STEP_ADDR)
		ret = step_addr(id, pipe);
	else if (pipe->steps & RDMA_CM_ALT_STEP_ROUTE)
		ret = step_route(id, NULL, pipe->timeout_ms, pipe->events & RDMA_CM_ALT_STEP_ROUTE,
				 true);
	if (ret)
		goto out;
	state = rca_id_state(id);
	if (state == RCA_ST_ADDR_RESOLVED || state == RCA_ST_ROUTE_QUERY)
		*done |= pipe->steps & RDMA_CM_ALT_STEP_ADDR;
	else if (state == RCA_ST_ROUTE_RESOLVED)
		*done |= pipe->steps & (RDMA_CM_ALT_STEP_ADDR | RDMA_CM_ALT_STEP_ROUTE);
out:
	/* A failed step may leave the id without the requested addresses. */
	if (ret && pipe->steps & RDMA_CM_ALT_STEP_ADDR)
		dst = &pipe->dst;
	rca_id_report_op_on(id, "resolve", ret,
			    rca_addr_is_set(&id->local) ? &id->local : &pipe->src, dst);
	return ret;
}

/**
 * rca_resolve() - execute the steps of a pipeline after the creation of the id
 * @id: the id
 * @pipe: the steps, with addresses of supported families: that of the peer is also that of the
 *        local one, if there is one
 * @done: completed steps are added; the others end with an event
 *
 * Context: Process context. Sleeps. Takes and releases @id->op.
 * Return: 0 or the errno of the step that failed at once.
 */
int rca_resolve(struct rca_id *id, const struct rca_pipeline *pipe, u32 *done)
{
	int ret;

	mutex_lock(&id->op);
	ret = rca_resolve_locked(id, pipe, done);
	mutex_unlock(&id->op);
	return ret;
}
RCA_EXPORT(rca_resolve);

/*
 * Use a path that user space has resolved, and post ROUTE_RESOLVED, as route resolution does.
 * -ENODEV: the network device is gone.
 */
int rca_resolve_set_path_locked(struct rca_id *id, const struct sa_path_rec *path)
{
	return step_route(id, path, 0, true, true);
}
