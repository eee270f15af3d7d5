// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The pipeline of RESOLVE: from an address to a device, a GID and a path.
 *
 * If the neighbour of the peer is known to the host, it completes inside the call, else from work
 * as soon as the neighbour has answered.
 *
 * Locking: rca_id.op during each step. A resolution that waits is an object of its own, see
 * resolve_wait.c.
 */
#include "cm/resolve.h"

#include <rdma/ib_addr.h>

#include "cm/addr_ib.h"
#include "cm/bind.h"
#include "cm/loopback.h"
#include "cm/qp_attr.h"
#include "cm/resolve_wait.h"
#include "cm/route.h"
#include "cm/route_ib.h"
#include "ip/nexthop.h"
#include "transport/devices.h"

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
		if (!status && rca_qp_attr_fill(id, NULL, &ev->rec.qp))
			ev->rec.flags |= RDMA_CM_ALT_EVENT_F_QP;
	}
	return rca_id_step_post(id, input, ev, status);
}

/* The pipeline has ended: run its continuation, if there is one. */
static void go_on(struct rca_id *id, bool well)
{
	struct rca_on_route *on_route = id->setup->on_route;

	lockdep_assert_held(&id->op);
	id->setup->on_route = NULL;
	if (on_route)
		on_route->go(id, on_route, well);
}

/* The route resolution has ended. */
static void finish_route(struct rca_id *id, int status, bool post)
{
	struct rca_step step;
	bool well;

	step = finish_step(id, status ? RCA_IN_ROUTE_FAIL : RCA_IN_ROUTE_OK, status,
			   status || post);
	well = step.verdict == RCA_TAKE && !status;
	/* On InfiniBand, a path does not depend on the neighbour. */
	if (well && !id->link.ib)
		rca_id_watch_peer(id);
	go_on(id, well);
}

/*
 * Create the path, or use @given. Returns 1 if the subnet administrator is asked and answers later.
 */
static int make_route(struct rca_id *id, const struct sa_path_rec *given, u32 timeout_ms, bool post)
{
	if (!id->link.ib)
		return given ? rca_route_set(id, given) : rca_route_roce(id);
	if (!given)
		return rca_route_ib_start(id, timeout_ms, finish_route, post);
	rca_route_ib_set(id, given);
	return 0;
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
	if (!ret)
		ret = make_route(id, given, timeout_ms, post);
	if (ret > 0)
		return 0;
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
	else
		go_on(id, false);
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
 * Start the resolution of id->dst. It may complete at once, so the state must already be
 * ADDR_QUERY.
 */
static int start_addr(struct rca_id *id, const struct rca_pipeline *pipe)
{
	struct rca_neigh_key missing;
	struct rdma_dev_addr addr;
	union rca_addr src;
	int ret;

	rca_resolve_start_from(id, &src, &addr);
	ret = rca_nexthop(&src, &id->dst, &addr, &missing);
	if (ret == -EAGAIN || ret == -EOPNOTSUPP)
		return rca_resolve_wait(id, pipe, &missing, ret, nexthop_done);
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
	ret = rca_local_check_family(&pipe->dst);
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
	if (rca_local_is_wildcard(&dst)) {
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

/* Returns the completed resolution steps. */
static u32 completed_steps(struct rca_id *id)
{
	switch (rca_id_state(id)) {
	case RCA_ST_ADDR_RESOLVED:
	case RCA_ST_ROUTE_QUERY:
		return RDMA_CM_ALT_STEP_ADDR;
	case RCA_ST_ROUTE_RESOLVED:
		return RDMA_CM_ALT_STEP_ADDR | RDMA_CM_ALT_STEP_ROUTE;
	default:
		return 0;
	}
}

/* A failed step may leave the id without the requested addresses. */
static void report_resolve(struct rca_id *id, const struct rca_pipeline *pipe, int ret)
{
	bool lost = ret && pipe->steps & RDMA_CM_ALT_STEP_ADDR;

	rca_id_report_op_on(id, "resolve", ret,
			    rca_addr_is_set(&id->local) ? &id->local : &pipe->src,
			    lost ? &pipe->dst : &id->dst);
}

/**
 * rca_resolve_locked() - execute the steps of a pipeline after the creation of the id
 * @id: the id
 * @pipe: the steps
 * @done: completed steps are added; the others end with an event
 *
 * Context: Process context. Sleeps. Expects @id->op to be held by the caller.
 * Return: 0 or the errno of the step that failed at once.
 */
int rca_resolve_locked(struct rca_id *id, const struct rca_pipeline *pipe, u32 *done)
{
	int ret = 0;

	lockdep_assert_held(&id->op);
	if (pipe->steps & RDMA_CM_ALT_STEP_BIND) {
		ret = rca_local_set(id, &pipe->src, true);
		if (ret)
			goto out;
		*done |= RDMA_CM_ALT_STEP_BIND;
	}
	if (pipe->steps & RDMA_CM_ALT_STEP_ADDR) {
		/* The route is resolved after the address. */
		ret = step_addr(id, pipe);
		if (!ret)
			*done |= completed_steps(id) & pipe->steps;
	} else if (pipe->steps & RDMA_CM_ALT_STEP_ROUTE) {
		ret = step_route(id, NULL, pipe->timeout_ms, pipe->events & RDMA_CM_ALT_STEP_ROUTE,
				 true);
		/* The subnet administrator may have to be asked; an event then reports the end. */
		if (!ret)
			*done |= completed_steps(id) & RDMA_CM_ALT_STEP_ROUTE;
	}
out:
	report_resolve(id, pipe, ret);
	return ret;
}

/* rca_resolve_locked() that takes rca_id.op. */
int rca_resolve(struct rca_id *id, const struct rca_pipeline *pipe, u32 *done)
{
	int ret;

	mutex_lock(&id->op);
	ret = rca_resolve_locked(id, pipe, done);
	mutex_unlock(&id->op);
	return ret;
}

/**
 * rca_resolve_set_path_locked() - use a path that user space has resolved
 * @id: the id; its address is resolved
 * @path: the path
 *
 * Posts ROUTE_RESOLVED, as route resolution does.
 *
 * Context: Process context. Sleeps. Expects @id->op to be held by the caller.
 * Return: 0; -EINVAL wrong state; -ENODEV the network device is gone; -ENOMEM.
 */
int rca_resolve_set_path_locked(struct rca_id *id, const struct sa_path_rec *path)
{
	return step_route(id, path, 0, true, true);
}
