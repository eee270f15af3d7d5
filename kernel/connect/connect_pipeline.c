// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Connect together with the resolution steps before it, in one call. If the steps complete inside
 * the call, it sends the request; else the work that completes the last step sends it, and failures
 * are reported by an event.
 *
 * Locking: rca_id.op from the first step until the request is sent or left to the work. It is not
 * held while TCP connects, nor does a worker wait for that, because other ids need the workers.
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
 * struct fuse - connection request that waits for the route
 * @on_route: sends it
 * @cred: credentials of the program (holds a reference)
 * @tries: number of retries
 * @id: the id, while TCP connects (holds a reference)
 * @lower: cm_id of the id, while TCP connects
 * @tp: transport of @lower
 * @work: runs when TCP has connected
 * @conn: parameters of the request; its private data is @data
 * @data: private data
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

/* The call has returned: report the failure by an event. The program may connect again. */
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

/* Run with the program's credentials and memory cgroup: a kernel thread has neither. */
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

/* TCP has connected or failed. */
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
	/* get_current_cred() may write 0 over 0 concurrently. */
	fuse->cred = data_race(get_current_cred());	/* put in fuse_free() */
	INIT_WORK(&fuse->work, connected);
	fuse->conn = *conn;
	fuse->conn.private_data = fuse->data;
	if (conn->private_data_len)
		memcpy(fuse->data, conn->private_data, conn->private_data_len);
	return fuse;
}

/**
 * rca_pipeline_connect() - execute the steps of a pipeline, then send a connection request
 * @id: the id
 * @pipe: the steps; the route is one of them
 * @conn: local parameters; the private data is the user's part
 * @done: completed steps are added
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
	/* Before the first step: a step that has started cannot be undone. */
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
