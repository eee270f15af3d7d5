// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Connect together with the resolution steps before it, in one call. If the steps complete inside
 * the call, it sends the request; else the work that completes the last step sends it, and failures
 * are reported by an event.
 *
 * Locking: rca_id.op from the first step until the request is sent or left to the work. It is not
 * held while TCP connects, nor does a worker wait for that, because other ids need the workers.
 */
#include "cm/connect_pipeline.h"

#include <linux/cred.h>
#include <linux/memcontrol.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "cm/connect.h"
#include "transport/devices.h"

/**
 * struct pending_connect - connection request that waits for the route
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
struct pending_connect {
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

static void pending_free(struct pending_connect *pending)
{
	if (!pending)
		return;
	put_cred(pending->cred);
	kfree(pending);
}

/* The call has returned: report the failure by an event. The program may connect again. */
static void post_connect_error(struct rca_id *id, int status)
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

static void end_pending(struct rca_id *id, struct pending_connect *pending, int ret)
{
	rca_id_report_own_op(id, "connect", ret);	/* a failure is reported by the event */
	if (ret)
		post_connect_error(id, ret);
	pending_free(pending);
}

/* Run with the program's credentials and memory cgroup: a kernel thread has neither. */
static int start_as_program(struct rca_id *id, struct pending_connect *pending)
{
	struct mem_cgroup *old_memcg = set_active_memcg(id->obj.ctx->memcg);
	const struct cred *old_cred = override_creds(pending->cred);
	int ret = rca_connect_start_locked(id, &pending->conn);

	revert_creds(old_cred);
	set_active_memcg(old_memcg);
	return ret;
}

static void send_pending(struct rca_id *id, struct pending_connect *pending)
{
	int ret;

	lockdep_assert_held(&id->op);
	ret = start_as_program(id, pending);
	if (ret != -EINPROGRESS) {
		end_pending(id, pending, ret);
		return;
	}
	pending->id = rca_id_get(id);	/* put in tcp_work() */
	pending->lower = id->lower;
	pending->tp = id->dev->tp;
	pending->tp->when_finished(pending->lower, rca_account_slow_wq(&id->obj.ctx->account),
				   rca_id_wq(id), &pending->work);
}

/* TCP has connected or failed. */
static void tcp_work(struct work_struct *work)
{
	struct pending_connect *pending = container_of(work, struct pending_connect, work);
	struct rca_id *id = pending->id;
	int ret = pending->tp->finish(pending->lower);

	mutex_lock(&id->op);
	ret = rca_connect_finished_locked(id, pending->lower, ret);
	if (ret && rca_connect_again(id, ret, &pending->tries))
		send_pending(id, pending);
	else
		end_pending(id, pending, ret);
	mutex_unlock(&id->op);
	rca_id_put(id);			/* got in send_pending() */
}

static void go_pending(struct rca_id *id, struct rca_on_route *on_route, bool known)
{
	struct pending_connect *pending = container_of(on_route, struct pending_connect, on_route);

	if (known)
		send_pending(id, pending);
	else
		pending_free(pending);
}

static struct pending_connect *pending_alloc(const struct rca_tp_conn *conn)
{
	struct pending_connect *pending;

	pending = kzalloc(struct_size(pending, data, conn->private_data_len), GFP_KERNEL_ACCOUNT);
	if (!pending)
		return NULL;
	pending->on_route.go = go_pending;
	/* get_current_cred() may write 0 over 0 concurrently. */
	pending->cred = data_race(get_current_cred());	/* put in pending_free() */
	INIT_WORK(&pending->work, tcp_work);
	pending->conn = *conn;
	pending->conn.tells_route = true;
	pending->conn.private_data = pending->data;
	if (conn->private_data_len)
		memcpy(pending->data, conn->private_data, conn->private_data_len);
	return pending;
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
	struct pending_connect *pending;
	int ret;

	if (!(pipe->steps & RDMA_CM_ALT_STEP_ROUTE))
		return -EINVAL;
	/* Before the first step: a step that has started cannot be undone. */
	pending = pending_alloc(conn);
	if (!pending)
		return -ENOMEM;
	mutex_lock(&id->op);
	ret = rca_resolve_locked(id, pipe, done);
	if (ret)
		goto out_unlock;
	switch (rca_id_state(id)) {
	case RCA_ST_ROUTE_RESOLVED:
		ret = rca_connect_locked(id, &pending->conn);
		break;
	case RCA_ST_ADDR_QUERY:
	case RCA_ST_ROUTE_QUERY:
		id->setup->on_route = &pending->on_route;
		pending = NULL;
		break;
	default:
		break;		/* a step has failed, its event is posted */
	}
out_unlock:
	mutex_unlock(&id->op);
	pending_free(pending);
	return ret;
}
