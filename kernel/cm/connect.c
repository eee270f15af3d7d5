// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Operations of user space on connections. Messages of the peer are handled in cm_event.c, the
 * operations of datagram ids in sidr.c, rca_disconnect() in id_work.c.
 *
 * Locking: rca_id.op during each operation. An operation changes the state before it sends, because
 * the answer may arrive before the send returns.
 */
#include "cm/internal.h"

#include <linux/cred.h>
#include <linux/memcontrol.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <rdma/ib_cm.h>
#include <rdma/ib_verbs.h>

#include "id/id.h"
#include "lib/wire.h"
#include "transport/transport.h"

/* Limits of the fields of REQ and REP (IBTA volume 1, 12.6.5 and 12.6.8). */
#define MAX_RETRIES	7
#define QPN_MASK	0xffffff

/* Attempts to find a port that the host's TCP does not use, if the port may be chosen freely. */
#define PORT_TRIES	8

/* Room for private data in an answer, by the transport of the connection. */
static unsigned int private_max(const struct rca_id *id, enum rca_wire_msg msg)
{
	/* Without a device the state refuses the operation. */
	return id->dev ? rca_tp_private_max(id->tp, msg, id->dst.sa.sa_family) : RCA_WIRE_USER_MAX;
}

static void set_qp_params(struct rca_id *id, struct rca_tp_conn *conn)
{
	conn->qp_num &= QPN_MASK;
	WRITE_ONCE(id->obj.qp_num, conn->qp_num);	/* for diagnostics */
	conn->srq = !!conn->srq;
	conn->psn = id->psn;
	conn->qp_type = id->qp_type;
	conn->retry_count = min_t(u8, conn->retry_count, MAX_RETRIES);
	conn->rnr_retry_count = min_t(u8, conn->rnr_retry_count, MAX_RETRIES);
}

static int send_tcp(struct rca_id *id, const struct rca_tp_conn *conn)
{
	const struct rca_tp_req req = {
		.conn = *conn,
		.net = id->net,
		.local = &id->local,
		.dst = &id->dst,
		.tos = rca_id_opts(id)->tos,
	};

	return id->tp->connect(id->lower, &req);
}

/*
 * Send a connection request. -EINPROGRESS: the caller must call rca_tp_ops.finish() of the cm_id,
 * and then connect_finished().
 */
static int start_connect(struct rca_id *id, const struct rca_tp_conn *user)
{
	struct rca_tp_conn conn = *user;
	struct rca_step step;
	int ret;

	lockdep_assert_held(&id->op);
	if (id->qp_type == IB_QPT_UD)
		return rca_sidr_connect_locked(id, user);
	ret = rca_id_may(id, RCA_IN_CONNECT);
	if (ret)
		return ret;
	if (user->private_data_len > RCA_WIRE_USER_MAX)
		return -EINVAL;
	ret = id->dev->tp->check_qp(id->dev->ibdev, user->qp_num & QPN_MASK);
	if (ret)
		return ret;
	ret = user->tells_route ? rca_id_reserve_answer(id) : rca_id_reserve_event(id);
	if (ret)
		return ret;
	set_qp_params(id, &conn);
	/* TCP has no stale connections: a restarted host resets them. */
	ret = id->dev->tp->over_tcp ? 0 : rca_retry_keep(id, &conn);
	if (ret)
		goto err_unreserve;
	/* The kept request says which transports it may use. */
	ret = rca_lower_create(id);
	if (ret)
		goto err_drop_request;
	step = rca_id_step(id, RCA_IN_CONNECT);
	if (step.verdict != RCA_TAKE) {
		ret = step.err;
		goto err_drop_lower;
	}
	if (id->setup->retry && !rca_window_begin(id)) {
		rca_retry_hold(id);
		return 0;
	}
	ret = id->setup->retry ? rca_retry_send(id) : send_tcp(id, &conn);
	if (!ret)
		rca_retry_arm(id);
	if (!ret || ret == -EINPROGRESS)
		return ret;
	rca_id_step(id, RCA_IN_CONNECT_FAIL);

err_drop_lower:
	rca_id_drop_lower(id);
err_drop_request:
	rca_retry_drop(id);
err_unreserve:
	rca_id_unreserve_event(id);
	return ret;
}

/*
 * Handle the result of rca_tp_ops.finish(), which ran without rca_id.op: @lower may have been
 * destroyed meanwhile.
 */
static int connect_finished(struct rca_id *id, void *lower, int ret)
{
	lockdep_assert_held(&id->op);
	if (!ret)
		return 0;
	if (id->lower != lower)
		return rca_id_state(id) == RCA_ST_REMOVED ? -ENXIO : ret;
	rca_id_step(id, RCA_IN_CONNECT_FAIL);
	rca_id_drop_lower(id);
	rca_id_unreserve_event(id);
	return ret;
}

/*
 * Choose another port if a connect failed because the host uses the port. Returns true if the
 * connect should be repeated.
 */
static bool choose_other_port(struct rca_id *id, int ret, unsigned int *tries)
{
	struct rca_bind *bind = rca_id_opts(id)->bind;

	lockdep_assert_held(&id->op);
	if ((ret != -EADDRINUSE && ret != -EADDRNOTAVAIL) || (*tries)++ >= PORT_TRIES ||
	    !bind || rca_ports_repick(bind))
		return false;
	rca_addr_set_port(&id->local, rca_addr_port(&bind->addr));
	return true;
}

/*
 * Send a connection request, and let TCP connect without rca_id.op, which destruction of the id and
 * removal of its device need.
 */
static int connect_locked(struct rca_id *id, const struct rca_tp_conn *conn)
{
	const struct rca_tp_ops *tp;
	unsigned int tries = 0;
	void *lower;
	int ret;

	lockdep_assert_held(&id->op);
	do {
		ret = start_connect(id, conn);
		if (ret == -EINPROGRESS) {
			tp = id->dev->tp;
			lower = id->lower;
			mutex_unlock(&id->op);
			ret = tp->finish(lower);
			mutex_lock(&id->op);
			ret = connect_finished(id, lower, ret);
		}
	} while (ret && choose_other_port(id, ret, &tries));
	rca_id_report_op(id, "connect", ret);
	return ret;
}

/**
 * rca_connect() - send a connection request
 * @id: the id; its route is resolved
 * @conn: local parameters; the private data is the user's part
 *
 * If it fails, the id is unchanged.
 *
 * Context: Process context. Sleeps. Takes and releases @id->op, also while a TCP connect blocks.
 * Return: 0, an event follows; -EINVAL wrong state or private data too long; -EOPNOTSUPP the id
 * requires a trunk, and none is open; -EPERM the QP is another user's; -ENXIO; -ENOMEM; on iWARP
 * also -ERESTARTSYS, -ECONNABORTED if the id was destroyed meanwhile, and errnos of TCP.
 */
int rca_connect(struct rca_id *id, const struct rca_tp_conn *conn)
{
	int ret;

	mutex_lock(&id->op);
	ret = connect_locked(id, conn);
	mutex_unlock(&id->op);
	return ret;
}
RCA_EXPORT(rca_connect);

/* The state has refused an operation: -ECONNRESET if the peer is the reason. */
static int refusal_errno(const struct rca_id *id, int err)
{
	return READ_ONCE(id->peer_gone) && err == -EINVAL ? -ECONNRESET : err;
}

/**
 * rca_accept_as() - accept a connection request
 * @id: id of the request
 * @cookie: cookie of the events of the id from now on
 * @conn: local parameters
 * @quiet: post no ESTABLISHED event
 *
 * If the request was rejected or reset, no event follows.
 *
 * Context: Process context. Sleeps. Takes and releases @id->op.
 * Return: 0, an event follows, except for datagrams; -EINVAL wrong state or private data too long,
 * or -EPERM the QP is another user's: the request still waits; -ECONNRESET the peer has aborted the
 * request; another errno: the request was rejected.
 */
int rca_accept_as(struct rca_id *id, u64 cookie, const struct rca_tp_conn *conn, bool quiet)
{
	struct rca_tp_conn rep = *conn;
	struct rca_step step;
	int ret;

	if (id->qp_type == IB_QPT_UD)
		return rca_sidr_accept(id, cookie, conn);
	mutex_lock(&id->op);
	ret = -EINVAL;
	if (conn->private_data_len > private_max(id, RCA_WIRE_REP))
		goto out_unlock;
	ret = rca_id_may(id, RCA_IN_ACCEPT);
	if (ret) {
		ret = refusal_errno(id, ret);
		goto out_unlock;
	}
	ret = id->dev->tp->check_qp(id->dev->ibdev, conn->qp_num & QPN_MASK);
	if (ret)
		goto out_unlock;
	/*
	 * Only over TCP the event has data. Without memory for it, accept fails like one whose
	 * reply cannot be sent.
	 */
	if (id->dev->tp->over_tcp)
		ret = rca_id_reserve_event(id);
	spin_lock_irq(&id->lock);
	rca_source_set_cookie_locked(&id->src, cookie);
	step = rca_id_step_locked(id, RCA_IN_ACCEPT);
	if (step.verdict == RCA_TAKE)
		id->quiet = quiet;
	spin_unlock_irq(&id->lock);
	if (step.verdict != RCA_TAKE) {
		rca_id_unreserve_event(id);
		ret = refusal_errno(id, step.err);
		goto out_unlock;
	}
	set_qp_params(id, &rep);
	if (!ret)
		ret = id->tp->reply(id->lower, &rep);
	if (ret) {
		step = rca_id_step(id, RCA_IN_ACCEPT_FAIL);
		rca_id_unreserve_event(id);
		/*
		 * The connection ended after the step, and an event reports it: as if it had ended
		 * later.
		 */
		if (step.verdict != RCA_TAKE)
			ret = 0;
		else
			id->tp->reject(id->lower, IB_CM_REJ_CONSUMER_DEFINED, NULL, 0);
		goto out_unlock;
	}
	rca_id_drop_setup(id);
out_unlock:
	rca_id_report_op(id, "accept", ret);
	mutex_unlock(&id->op);
	return ret;
}
RCA_EXPORT(rca_accept_as);

/**
 * rca_reject() - reject a connection request or a reply
 * @id: the id
 * @reason: 0 or IB_CM_REJ_CONSUMER_DEFINED, or IB_CM_REJ_VENDOR_OPTION_NOT_SUPPORTED
 * @data: private data
 * @len: its length
 *
 * Context: Process context. Sleeps. Takes and releases @id->op.
 * Return: 0; -EINVAL wrong state, other reason or private data too long; -ENXIO; another errno: the
 * REJ could not be sent, and the request has ended nevertheless.
 */
int rca_reject(struct rca_id *id, u32 reason, const void *data, u32 len)
{
	struct rca_step step;
	int ret = -EINVAL;

	if (!reason)
		reason = IB_CM_REJ_CONSUMER_DEFINED;
	if (reason != IB_CM_REJ_CONSUMER_DEFINED &&
	    reason != IB_CM_REJ_VENDOR_OPTION_NOT_SUPPORTED)
		return -EINVAL;
	if (id->qp_type == IB_QPT_UD)
		return rca_sidr_reject(id, data, len);
	mutex_lock(&id->op);
	if (len > private_max(id, RCA_WIRE_REJ))
		goto out_unlock;
	step = rca_id_step(id, RCA_IN_REJECT);
	ret = step.err;
	if (step.verdict == RCA_TAKE)
		ret = id->tp->reject(id->lower, reason, data, len);
out_unlock:
	rca_id_report_op(id, "reject", ret);
	mutex_unlock(&id->op);
	return ret;
}
RCA_EXPORT(rca_reject);

/**
 * rca_establish() - complete a connection on the active side
 * @id: the id; it has received the REP
 *
 * Context: Process context. Sleeps. Takes and releases @id->op.
 * Return: 0; -EINVAL wrong state; -ENXIO; -ENOMEM: the connection has failed.
 */
int rca_establish(struct rca_id *id)
{
	u8 hello[RCA_RTU_DATA_MAX];
	struct rca_step step;
	int ret;

	mutex_lock(&id->op);
	step = rca_id_step(id, RCA_IN_ESTABLISH);
	ret = step.err;
	if (step.verdict != RCA_TAKE)
		goto out_unlock;
	ret = id->tp->send_rtu(id->lower, hello, rca_hello_fill(id, hello));
	/* A callback is about to report the end of the connection: as if it already had. */
	if (ret == -ECONNRESET) {
		ret = -EINVAL;
		goto out_unlock;
	}
	if (ret) {
		rca_id_step(id, RCA_IN_ESTABLISH_FAIL);
		id->tp->reject(id->lower, IB_CM_REJ_CONSUMER_DEFINED, NULL, 0);
		goto out_unlock;
	}
	rca_window_release(id);
	rca_id_drop_setup(id);
out_unlock:
	rca_id_report_op(id, "establish", ret);
	mutex_unlock(&id->op);
	return ret;
}
RCA_EXPORT(rca_establish);

/**
 * rca_notify() - handle an asynchronous event of the QP of an id
 * @id: the id
 * @event: IB_EVENT_COMM_EST
 *
 * IB_EVENT_COMM_EST is not passed to ib_cm, which continues to retransmit the REP until the RTU
 * arrives. ib_cm would regard the connection as established at once and let a work item stop the
 * retransmissions, but would not stop them if a disconnect comes before that work. Destroying the
 * cm_id would then wait for them, for a minute or more.
 *
 * IB_EVENT_PATH_MIG is refused: our requests name no alternate path. ib_cm would copy the alternate
 * address over that of the connection without a look at whether there is one, and would lose or put
 * twice its references on the GID and on the device.
 *
 * Context: Process context. Sleeps. Takes and releases @id->op.
 * Return: 0; -EINVAL another event or wrong state; -EISCONN; -ENXIO.
 */
int rca_notify(struct rca_id *id, u32 event)
{
	const struct rca_tp_event up = { .input = RCA_IN_UP };
	enum rca_state state;
	int ret = -EINVAL;

	mutex_lock(&id->op);
	state = rca_id_state(id);
	if (state == RCA_ST_REMOVED) {
		ret = -ENXIO;
	} else if (id->lower && event == IB_EVENT_COMM_EST) {
		if (id->dev->tp->over_tcp) {
			ret = 0;
		} else if (state == RCA_ST_CONNECTED) {
			ret = -EISCONN;
		} else if (state == RCA_ST_REP_SENT) {
			/* The QP has received before the RTU of the peer. */
			if (id->tp->received)
				id->tp->received(id->lower);
			rca_cm_event(id, id->lower, &up);
			ret = 0;
		}
	}
	rca_id_report_op(id, "notify", ret);
	mutex_unlock(&id->op);
	return ret;
}
RCA_EXPORT(rca_notify);

/*
 * Connect together with the resolution steps before it, in one call. If the steps complete inside
 * the call, it sends the request; else the work that completes the last step sends it, and failures
 * are reported by an event.
 *
 * Locking: rca_id.op from the first step until the request is sent or left to the work. It is not
 * held while TCP connects, nor does a worker wait for that, because other ids need the workers.
 */

/* The call has returned, so an event reports a failure. The program may connect again. */
static void end_pending(struct rca_id *id, struct rca_pending_connect *pending, int ret)
{
	struct rca_event *ev;
	unsigned long flags;

	rca_id_report_own_op(id, "connect", ret);	/* a failure is reported by the event */
	if (ret) {
		ev = rca_id_event(id);
		spin_lock_irqsave(&id->lock, flags);
		if (id->state == RCA_ST_ROUTE_RESOLVED) {
			rca_id_post_locked(id, ev, RDMA_CM_ALT_EVENT_CONNECT_ERROR, ret);
			ev = NULL;
		}
		spin_unlock_irqrestore(&id->lock, flags);
		rca_event_free(ev);
	}
	rca_id_free_connect(pending);
}

static void send_pending(struct rca_id *id, struct rca_pending_connect *pending)
{
	struct mem_cgroup *old_memcg;
	const struct cred *old_cred;
	int ret;

	lockdep_assert_held(&id->op);
	/* With the program's credentials and memory cgroup: a kernel thread has neither. */
	old_memcg = set_active_memcg(id->obj.ctx->memcg);
	old_cred = override_creds(pending->cred);
	ret = start_connect(id, &pending->conn);
	revert_creds(old_cred);
	set_active_memcg(old_memcg);
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
	struct rca_pending_connect *pending = container_of(work, struct rca_pending_connect, work);
	struct rca_id *id = pending->id;
	int ret = pending->tp->finish(pending->lower);

	mutex_lock(&id->op);
	ret = connect_finished(id, pending->lower, ret);
	if (ret && choose_other_port(id, ret, &pending->tries))
		send_pending(id, pending);
	else
		end_pending(id, pending, ret);
	mutex_unlock(&id->op);
	rca_id_put(id);			/* got in send_pending() */
}

/* Send the request that waits for the route, if its resolution has ended. The id has a setup. */
void rca_connect_continue(struct rca_id *id)
{
	struct rca_pending_connect *pending = id->setup->connect;
	enum rca_state state = rca_id_state(id);

	lockdep_assert_held(&id->op);
	if (!pending || state == RCA_ST_ADDR_QUERY || state == RCA_ST_ROUTE_QUERY)
		return;
	id->setup->connect = NULL;
	if (state == RCA_ST_ROUTE_RESOLVED)
		send_pending(id, pending);
	else
		rca_id_free_connect(pending);	/* the event of the step reports the failure */
}

static struct rca_pending_connect *pending_alloc(const struct rca_tp_conn *conn)
{
	struct rca_pending_connect *pending;

	pending = kzalloc(struct_size(pending, data, conn->private_data_len), GFP_KERNEL_ACCOUNT);
	if (!pending)
		return NULL;
	/* get_current_cred() may write 0 over 0 concurrently. */
	pending->cred = data_race(get_current_cred());	/* put in rca_id_free_connect() */
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
 * Return: 0, an event follows; the errno of the step that failed at once, or of rca_connect();
 * -EINVAL the route is not among the steps; -ENOMEM.
 */
int rca_pipeline_connect(struct rca_id *id, const struct rca_pipeline *pipe,
			 const struct rca_tp_conn *conn, u32 *done)
{
	struct rca_pending_connect *pending;
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
		ret = connect_locked(id, &pending->conn);
		break;
	case RCA_ST_ADDR_QUERY:
	case RCA_ST_ROUTE_QUERY:
		id->setup->connect = pending;
		pending = NULL;
		break;
	default:
		break;		/* a step has failed, its event is posted */
	}
out_unlock:
	mutex_unlock(&id->op);
	rca_id_free_connect(pending);
	return ret;
}
