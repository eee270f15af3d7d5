// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A connect with the steps before it, in one call. When they are complete inside
 * the call, the request is sent there; else from the work that ends the last of
 * them, and what goes wrong then is told by an event.
 *
 * Locking: rca_id.op from the first step to the request, or to where the work
 * takes over. Where TCP connects nobody holds it, and no worker waits: other ids
 * need those of resolution.
 */
#include "connect/connect_pipeline.h"

#include <kunit/visibility.h>
#include <linux/cred.h>
#include <linux/memcontrol.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "connect/connect.h"
#include "device/devices.h"

/**
 * struct fuse - a request that waits for the route
 * @on_route: how it is sent
 * @cred: of the program (holds a reference)
 * @tries: how often it was tried again
 * @id: while TCP connects: the id (holds a reference)
 * @lower: likewise: its lower id
 * @tp: likewise: whose that is
 * @work: goes on after that
 * @conn: its parameters; the private data is @data
 * @data: the private data
 */
struct fuse {
	struct rca_on_route on_route;
	const struct cred *cred;
	unsigned int tries;
	struct rca_id *id;
	void *lower;
	const struct rca_tp_ops *tp;
	struct work_struct work;
	struct rca_tp_conn conn;
	u8 data[];
};

static void fuse_free(struct fuse *fuse)
{
	if (!fuse)
		return;
	put_cred(fuse->cred);
	kfree(fuse);
}

/* The call has returned long ago: an event tells. The id may try again. */
static void tell_failure(struct rca_id *id, int status)
{
	struct rca_event *ev = rca_id_event(id);
	unsigned long flags;

	spin_lock_irqsave(&id->lock, flags);
	if (id->state == RCA_ST_ROUTE_RESOLVED) {
		rca_id_post_locked(id, ev, RDMA_CM_ALT_EVENT_CONNECT_ERROR, status);
		ev = NULL;
	}
	spin_unlock_irqrestore(&id->lock, flags);
	rca_event_free(ev);
}

static void finish(struct rca_id *id, struct fuse *fuse, int ret)
{
	rca_id_report_own_op(id, "connect", ret);	/* of a failure the event is what counts */
	if (ret)
		tell_failure(id, ret);
	fuse_free(fuse);
}

/* As the program would: a thread of the kernel pays for nothing by itself, and may do all. */
static int start(struct rca_id *id, struct fuse *fuse)
{
	struct mem_cgroup *old_memcg = set_active_memcg(id->obj.ctx->memcg);
	const struct cred *old_cred = override_creds(fuse->cred);
	int ret = rca_connect_start_locked(id, &fuse->conn);

	revert_creds(old_cred);
	set_active_memcg(old_memcg);
	return ret;
}

static void send(struct rca_id *id, struct fuse *fuse)
{
	int ret;

	lockdep_assert_held(&id->op);
	ret = start(id, fuse);
	if (ret != -EINPROGRESS) {
		finish(id, fuse, ret);
		return;
	}
	fuse->id = rca_id_get(id);	/* put in connected() */
	fuse->lower = id->lower;
	fuse->tp = id->dev->tp;
	fuse->tp->when_finished(fuse->lower, rca_wq, &fuse->work);
}

/* TCP knows whether the peer is there. */
static void connected(struct work_struct *work)
{
	struct fuse *fuse = container_of(work, struct fuse, work);
	struct rca_id *id = fuse->id;
	int ret = fuse->tp->finish(fuse->lower);

	mutex_lock(&id->op);
	ret = rca_connect_finished_locked(id, fuse->lower, ret);
	if (ret && rca_connect_again(id, ret, &fuse->tries))
		send(id, fuse);
	else
		finish(id, fuse, ret);
	mutex_unlock(&id->op);
	rca_id_put(id);			/* got in send() */
}

static void route_known(struct rca_id *id, struct rca_on_route *on_route, bool known)
{
	struct fuse *fuse = container_of(on_route, struct fuse, on_route);

	if (known)
		send(id, fuse);
	else
		fuse_free(fuse);
}

static struct fuse *fuse_alloc(const struct rca_tp_conn *conn)
{
	struct fuse *fuse;

	fuse = kzalloc(struct_size(fuse, data, conn->private_data_len), GFP_KERNEL_ACCOUNT);
	if (!fuse)
		return NULL;
	fuse->on_route.go = route_known;
	/* It writes a 0 over a 0 that others may write now, too. */
	fuse->cred = data_race(get_current_cred());	/* put in fuse_free() */
	INIT_WORK(&fuse->work, connected);
	fuse->conn = *conn;
	fuse->conn.private_data = fuse->data;
	if (conn->private_data_len)
		memcpy(fuse->data, conn->private_data, conn->private_data_len);
	return fuse;
}

/**
 * rca_pipeline_connect() - do the steps of a pipeline, then send a connection request
 * @id: the id
 * @pipe: the steps; the route is one of them
 * @conn: our parameters; the private data is the user's part
 * @done: steps that are complete are added
 *
 * Context: Process context. Sleeps. Takes and releases @id->op.
 * Return: 0, an event follows; the errno of the step that failed at once, or of
 * rca_connect_locked(); -EINVAL the route is not among the steps; -ENOMEM.
 */
int rca_pipeline_connect(struct rca_id *id, const struct rca_pipeline *pipe,
			 const struct rca_tp_conn *conn, u32 *done)
{
	struct fuse *fuse;
	int ret;

	if (!(pipe->steps & RDMA_CM_ALT_STEP_ROUTE))
		return -EINVAL;
	/* Before anything starts: what has started cannot be called back. */
	fuse = fuse_alloc(conn);
	if (!fuse)
		return -ENOMEM;
	mutex_lock(&id->op);
	ret = rca_resolve_locked(id, pipe, done);
	if (ret)
		goto out_unlock;
	switch (rca_id_state(id)) {
	case RCA_ST_ROUTE_RESOLVED:
		ret = rca_connect_locked(id, conn);
		break;
	case RCA_ST_ADDR_QUERY:
	case RCA_ST_ROUTE_QUERY:
		id->setup->on_route = &fuse->on_route;
		fuse = NULL;
		break;
	default:
		break;		/* a step has failed, its event is posted */
	}
out_unlock:
	mutex_unlock(&id->op);
	fuse_free(fuse);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(rca_pipeline_connect);
