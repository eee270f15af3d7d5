// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Address resolutions that wait for a neighbour. Work of the module continues them as soon as the
 * neighbour has answered. ib_addr (rdma_resolve_ip()) is used only for gateways of IPoIB networks:
 * all kernel users share its workqueue, which is ordered until Linux 7.1, and each change of a
 * neighbour makes it look at all pending requests.
 *
 * Locking: rca_id.op during each step; a waiting resolution is an object of its own (&struct
 * rca_resolve), stored in rca_setup.resolve.
 */
#include "cm/resolve_wait.h"

#include <linux/jiffies.h>
#include <linux/memcontrol.h>
#include <linux/refcount.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <rdma/ib_addr.h>

#include "cm/path_query.h"
#include "cm/service.h"
#include "ip/neigh_wait.h"
#include "ip/nexthop.h"

/*
 * Time until the first look at a neighbour whose notification should arrive earlier. It doubles
 * with each look, so that many resolutions that wait for a long time cost little: a notification
 * that was missed, or a route that comes back, is found in twice the time at most.
 */
#define FIRST_LOOK	msecs_to_jiffies(10)

/**
 * struct rca_resolve - an address resolution that waits
 * @ref: references: rca_setup.resolve, the queued work, the pending callback of ib_addr
 * @id: the id (holds a reference)
 * @pipe: the requested steps (immutable)
 * @done: called with the result (immutable)
 * @deadline: deadline, in jiffies (immutable)
 * @delay: time until the next look, in jiffies, at most MAX_JIFFY_OFFSET (lock: rca_id.op)
 * @wait: wait for the neighbour
 * @with_ib_addr: ib_addr resolves the address (lock: rca_id.op); only then the members from @addr
 *                to @called are used
 * @addr: address data of ib_addr
 * @src: local address that was found
 * @status: result of the resolution
 * @called: the callback ran
 * @work: continues the resolution
 */
struct rca_resolve {
	refcount_t ref;
	struct rca_id *id;
	struct rca_pipeline pipe;
	rca_resolve_done done;
	unsigned long deadline;
	unsigned long delay;
	struct rca_neigh_wait wait;
	bool with_ib_addr;
	struct rdma_dev_addr addr;
	union rca_addr src;
	int status;
	bool called;
	struct delayed_work work;
};

static void resolve_put(struct rca_resolve *res)
{
	if (refcount_dec_and_test(&res->ref)) {
		rca_id_put(res->id);	/* got in rca_resolve_wait() */
		kfree(res);
	}
}

/**
 * rca_resolve_start_from() - get the start of the route from an id to its peer
 * @id: the id; its destination is the peer
 * @src: filled in with its local address, or a wildcard
 * @addr: filled in with its namespace, and the network device if it must be a certain one
 *
 * Context: Process context. Expects @id->op to be held by the caller.
 */
void rca_resolve_start_from(const struct rca_id *id, union rca_addr *src,
			    struct rdma_dev_addr *addr)
{
	union rca_addr any;

	*src = id->local;
	memset(addr, 0, sizeof(*addr));
	addr->net = id->net;
	/* Not bound to a device: a retry may use another one. */
	if (id->dev)
		addr->bound_dev_if = id->link.ifindex;
	else if (rca_addr_is_linklocal(&id->dst))
		addr->bound_dev_if = rca_addr_scope(&id->dst);
	/* An id that is bound to a loopback address gets an address that may be sent. */
	if (rca_addr_is_loopback(src)) {
		rca_addr_set_any(&any, src->sa.sa_family);
		rca_addr_set_ip(src, &any);
	}
}

/* Set or clear the resolution of an id. */
static void set_resolve(struct rca_id *id, struct rca_resolve *res)
{
	lockdep_assert_held(&id->op);
	spin_lock_irq(&id->lock);
	id->setup->resolve = res;
	spin_unlock_irq(&id->lock);
}

static void queue_work_in(struct rca_resolve *res, unsigned long delay)
{
	refcount_inc(&res->ref);	/* put in resolve_work() */
	if (mod_delayed_work(rca_id_wq(res->id), &res->work, delay))
		resolve_put(res);	/* already queued, with a reference */
}

/* Called with a spinlock held: the work does the rest. */
static void neighbour_known(struct rca_neigh_wait *wait)
{
	queue_work_in(container_of(wait, struct rca_resolve, wait), 0);
}

/*
 * Each look asks the neighbour again. The resolution waits meanwhile, as the answer may come before
 * the look is over: the work that it has queued is not put off.
 */
static void wait_for_neighbour(struct rca_resolve *res, const struct rca_neigh_key *missing)
{
	long left = res->deadline - jiffies;

	if (memcmp(&res->wait.key, missing, sizeof(*missing))) {
		rca_neigh_unwait(&res->wait);
		res->wait.key = *missing;
	}
	refcount_inc(&res->ref);	/* put in resolve_work() */
	if (!queue_delayed_work(rca_id_wq(res->id), &res->work, clamp_t(long, left, 1, res->delay)))
		resolve_put(res);	/* already queued, with a reference */
	res->delay = min(2 * res->delay, MAX_JIFFY_OFFSET);
	/* Last: a notification must find the work queued, to expedite it. */
	rca_neigh_wait(&res->wait);
}

/* Runs on the shared workqueue of ib_addr. */
static void ib_addr_done(int status, struct sockaddr *src, struct rdma_dev_addr *addr,
			 void *context)
{
	struct rca_resolve *res = context;

	res->status = status;
	if (!status)
		memcpy(&res->src, src, rdma_addr_size(src));
	WRITE_ONCE(res->called, true);	/* pairs with rca_resolve_cancel() */
	queue_work_in(res, 0);
	resolve_put(res);		/* got in start_ib_addr() */
}

static int start_ib_addr(struct rca_resolve *res)
{
	long left = res->deadline - jiffies;
	struct rca_id *id = res->id;
	union rca_addr src;
	int ret;

	rca_resolve_start_from(id, &src, &res->addr);
	res->with_ib_addr = true;
	refcount_inc(&res->ref);	/* put in ib_addr_done() or rca_resolve_cancel() */
	ret = rdma_resolve_ip(&src.sa, &id->dst.sa, &res->addr,
			      jiffies_to_msecs(max(left, 1L)), ib_addr_done, false, res);
	if (ret) {
		res->with_ib_addr = false;
		resolve_put(res);
	}
	return ret;
}

/* Look up the neighbour again. Returns -EAGAIN while an answer is pending. */
static int retry_nexthop(struct rca_resolve *res, union rca_addr *src, struct rdma_dev_addr *addr)
{
	struct rca_neigh_key missing;
	int ret;

	if (res->with_ib_addr) {
		if (!READ_ONCE(res->called))
			return -EAGAIN;
		*src = res->src;
		*addr = res->addr;
		return res->status;
	}
	rca_resolve_start_from(res->id, src, addr);
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

static void resolve_work(struct work_struct *work)
{
	struct rca_resolve *res = container_of(work, struct rca_resolve, work.work);
	struct rca_id *id = res->id;
	struct mem_cgroup *old_memcg;
	struct rdma_dev_addr addr;
	union rca_addr src;
	int status;

	/* Charge the memory cgroup of the program: a kernel thread has none. */
	old_memcg = set_active_memcg(id->obj.ctx->memcg);
	mutex_lock(&id->op);
	/* Late work may find that the id is connected, without connection state. */
	if (id->setup && id->setup->resolve == res) {
		status = retry_nexthop(res, &src, &addr);
		if (status != -EAGAIN) {
			rca_neigh_unwait(&res->wait);
			set_resolve(id, NULL);
			resolve_put(res);	/* got in rca_resolve_wait() */
			res->done(id, &res->pipe, &src, &addr, status);
		}
	}
	mutex_unlock(&id->op);
	set_active_memcg(old_memcg);
	/*
	 * ib_addr finds a request by the address of the memory that it was given. Wait until the
	 * request is gone: the next resolution may get the same memory.
	 */
	if (res->with_ib_addr && READ_ONCE(res->called))
		rdma_addr_cancel(&res->addr);
	resolve_put(res);		/* got in queue_work_in() */
}

/**
 * rca_resolve_wait() - continue a resolution when the next hop is known
 * @id: the id, in the state RCA_ST_ADDR_QUERY
 * @pipe: the requested steps
 * @missing: the neighbour that rca_nexthop() is resolving
 * @how: result of rca_nexthop(): -EAGAIN or -EOPNOTSUPP
 * @done: called with the result, from work with @id->op held, unless rca_resolve_cancel() comes
 *        first
 *
 * Context: Process context. Sleeps. Expects @id->op to be held by the caller.
 * Return: 0; -ENOMEM; or an errno of ib_addr.
 */
int rca_resolve_wait(struct rca_id *id, const struct rca_pipeline *pipe,
		     const struct rca_neigh_key *missing, int how, rca_resolve_done done)
{
	struct rca_resolve *res;
	int ret = 0;

	res = kzalloc(sizeof(*res), GFP_KERNEL_ACCOUNT);
	if (!res)
		return -ENOMEM;
	refcount_set(&res->ref, 1);	/* of the setup */
	res->id = rca_id_get(id);	/* put in resolve_put() */
	res->pipe = *pipe;
	res->done = done;
	res->deadline = jiffies + msecs_to_jiffies(min_t(u32, pipe->timeout_ms, INT_MAX));
	res->delay = FIRST_LOOK;
	res->wait.key = *missing;
	res->wait.wake = neighbour_known;
	INIT_DELAYED_WORK(&res->work, resolve_work);

	set_resolve(id, res);
	if (how == -EOPNOTSUPP)
		ret = start_ib_addr(res);
	else
		wait_for_neighbour(res, missing);
	if (ret) {
		set_resolve(id, NULL);
		resolve_put(res);
	}
	return ret;
}

/**
 * rca_resolve_cancel() - cancel the pending resolution or query, if there is one
 * @id: the id; its state permits no new resolution
 *
 * Context: Process context. Sleeps. @id->op must not be held by the caller.
 */
void rca_resolve_cancel(struct rca_id *id)
{
	struct rca_resolve *res;

	/* An operation that saw the previous state may still start one. */
	mutex_lock(&id->op);
	res = id->setup ? id->setup->resolve : NULL;
	if (res)
		set_resolve(id, NULL);
	rca_path_query_cancel(id);
	rca_service_cancel(id);
	mutex_unlock(&id->op);
	if (!res)
		return;
	/* Running work finds that the resolution was removed; the caller need not wait for it. */
	rca_neigh_unwait(&res->wait);
	if (res->with_ib_addr) {
		rdma_addr_cancel(&res->addr);
		if (!READ_ONCE(res->called))
			resolve_put(res);	/* got in start_ib_addr(): no callback */
	}
	if (cancel_delayed_work(&res->work))
		resolve_put(res);	/* got in queue_work_in() */
	resolve_put(res);	/* got in rca_resolve_wait() */
}
