// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Connections: what user space asks for. What the peer's messages mean is in
 * cm_event.c; what datagram ids do instead is in sidr.c.
 *
 * Locking: rca_id.op over each operation. An operation changes the state before
 * it sends, as the answer may come first.
 */
#include "connect/connect.h"

#include <kunit/visibility.h>
#include <rdma/ib_cm.h>
#include <rdma/ib_verbs.h>

#include "connect/sidr.h"
#include "device/devices.h"
#include "connect/cm_event.h"
#include "id/send_window.h"
#include "connect/req_retransmit.h"
#include "lib/wire.h"

/* Values that fit the fields of REQ and REP (IBTA volume 1, 12.6.5 and 12.6.8). */
#define MAX_RETRIES	7
#define QPN_MASK	0xffffff

/* Ports to try when we may choose one and TCP has others of that number. */
#define PORT_TRIES	8

/* How much private data a message has room for. */
static unsigned int private_max(const struct rca_id *id, enum rca_wire_msg msg)
{
	if (id->dev && id->dev->tp->over_tcp)
		return U8_MAX;
	return rca_wire_private_max(msg, id->dst.sa.sa_family);
}

static void set_qp(struct rca_id *id, struct rca_tp_conn *conn)
{
	conn->qp_num &= QPN_MASK;
	WRITE_ONCE(id->obj.qp_num, conn->qp_num);	/* for who looks at ids */
	conn->srq = !!conn->srq;
	conn->psn = id->psn;
	conn->qp_type = id->qp_type;
	conn->retry_count = min_t(u8, conn->retry_count, MAX_RETRIES);
	conn->rnr_retry_count = min_t(u8, conn->rnr_retry_count, MAX_RETRIES);
}

static int send_request(struct rca_id *id, const struct rca_tp_conn *user)
{
	u8 data[IB_CM_REQ_PRIVATE_DATA_SIZE] = {};
	struct rca_tp_req req = {
		.conn = *user,
		.path = id->setup->path,
		.path_in = id->setup->path_in,
		.path_out = id->setup->path_out,
		.sgid_attr = id->sgid_attr,
		.service_id = rca_wire_addr_service_id(id->ps, &id->dst),
	};

	set_qp(id, &req.conn);
	if (id->dev->tp->over_tcp) {
		req.net = id->net;
		req.local = &id->local;
		req.dst = &id->dst;
		req.tos = rca_id_opts(id)->tos;
		return id->dev->tp->connect(id->lower, &req);
	}
	rca_retry_timers(id, &req);
	req.conn.private_data = data;
	req.conn.private_data_len = rca_wire_put_private(data, &id->local, &id->dst,
							 user->private_data,
							 user->private_data_len);
	return id->dev->tp->connect(id->lower, &req);
}

static int start_connect(struct rca_id *id, const struct rca_tp_conn *conn)
{
	struct rca_step step;
	void *lower;
	int ret;

	lockdep_assert_held(&id->op);
	ret = rca_id_may(id, RCA_IN_CONNECT);
	if (ret)
		return ret;
	if (conn->private_data_len > private_max(id, RCA_WIRE_REQ))
		return -EINVAL;
	ret = id->dev->tp->check_qp(id->dev->ibdev, conn->qp_num & QPN_MASK);
	if (ret)
		return ret;
	ret = rca_id_reserve_answer(id);
	if (ret)
		return ret;
	lower = id->dev->tp->create(id->dev->ibdev, id);
	if (IS_ERR(lower)) {
		ret = PTR_ERR(lower);
		goto err_unreserve;
	}
	id->lower = lower;
	/* TCP has no stale connections: a host that was started again resets them. */
	ret = id->dev->tp->over_tcp ? 0 : rca_retry_keep(id, conn, send_request);
	if (ret)
		goto err_drop_lower;
	step = rca_id_step(id, RCA_IN_CONNECT);
	if (step.verdict != RCA_TAKE) {
		ret = step.err;
		goto err_drop_request;
	}
	if (id->setup->retry && !rca_window_begin(id)) {
		rca_retry_hold(id);
		return 0;
	}
	ret = send_request(id, conn);
	if (!ret)
		rca_retry_arm(id);
	if (!ret || ret == -EINPROGRESS)
		return ret;
	rca_id_step(id, RCA_IN_CONNECT_FAIL);

err_drop_request:
	rca_retry_drop(id);
err_drop_lower:
	rca_id_drop_lower(id);
err_unreserve:
	rca_id_unreserve_event(id);
	return ret;
}

/**
 * rca_connect_finished_locked() - a connect has ended that went on after it was started
 * @id: the id
 * @lower: the lower id that it had then; may be gone
 * @ret: what rca_tp_ops.finish() has returned
 *
 * Context: Process context. Sleeps. Expects @id->op to be held by the caller.
 * Return: as rca_connect_locked().
 */
int rca_connect_finished_locked(struct rca_id *id, void *lower, int ret)
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
 * Wait for a connect that may block, without the lock that those who destroy
 * the id or remove its device need.
 */
static int finish_connect(struct rca_id *id)
{
	const struct rca_tp_ops *tp = id->dev->tp;
	void *lower = id->lower;
	int ret;

	mutex_unlock(&id->op);
	ret = tp->finish(lower);
	mutex_lock(&id->op);
	return rca_connect_finished_locked(id, lower, ret);
}

/**
 * rca_connect_again() - is it worth while to try a connect again, that failed with @ret?
 * @id: the id
 * @ret: its errno
 * @tries: counts them; begins with 0
 *
 * The host may have a socket with the port that we have chosen: take another one.
 *
 * Context: Process context. Expects @id->op to be held by the caller.
 * Return: true: it is.
 */
bool rca_connect_again(struct rca_id *id, int ret, unsigned int *tries)
{
	struct rca_bind *bind = rca_id_opts(id)->bind;

	lockdep_assert_held(&id->op);
	if ((ret != -EADDRINUSE && ret != -EADDRNOTAVAIL) || (*tries)++ >= PORT_TRIES ||
	    !bind || rca_ports_repick(bind))
		return false;
	rca_addr_set_port(&id->local, rca_addr_port(&bind->addr));
	return true;
}

/**
 * rca_connect_start_locked() - send a connection request, or start to
 * @id: the id; its route is resolved
 * @conn: our parameters; the private data is the user's part
 *
 * Context: Process context. Sleeps. Expects @id->op to be held by the caller.
 * Return: as rca_connect_locked(); or -EINPROGRESS: rca_tp_ops.finish() of its lower id
 * must be called, and then rca_connect_finished_locked().
 */
int rca_connect_start_locked(struct rca_id *id, const struct rca_tp_conn *conn)
{
	return id->qp_type == IB_QPT_UD ? rca_sidr_connect_locked(id, conn) :
					  start_connect(id, conn);
}

/**
 * rca_connect_locked() - send a connection request
 * @id: the id; its route is resolved
 * @conn: our parameters; the private data is the user's part
 *
 * Context: Process context. Sleeps. Expects @id->op to be held by the caller;
 * releases it for a while where TCP connects and that blocks.
 * Return: 0, an event follows; -EINVAL wrong state or private data too long; -EPERM
 * not his QP; -ENXIO; -ENOMEM; on iWARP also -ERESTARTSYS, -ECONNABORTED: the id was
 * destroyed meanwhile, and what TCP says. The id is as before then.
 */
int rca_connect_locked(struct rca_id *id, const struct rca_tp_conn *conn)
{
	unsigned int tries = 0;
	int ret;

	lockdep_assert_held(&id->op);
	do {
		ret = rca_connect_start_locked(id, conn);
		if (ret == -EINPROGRESS)
			ret = finish_connect(id);
	} while (ret && rca_connect_again(id, ret, &tries));
	rca_id_report_op(id, "connect", ret);
	return ret;
}

/**
 * rca_connect() - rca_connect_locked() that takes the lock
 * @id: the id; its route is resolved
 * @conn: our parameters; the private data is the user's part
 *
 * Context: Process context. Sleeps. Takes and releases @id->op.
 * Return: as rca_connect_locked().
 */
int rca_connect(struct rca_id *id, const struct rca_tp_conn *conn)
{
	int ret;

	mutex_lock(&id->op);
	ret = rca_connect_locked(id, conn);
	mutex_unlock(&id->op);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(rca_connect);

/* An operation that its state does not take; -ECONNRESET when the peer is why. */
static int refused(struct rca_id *id, const struct rca_step *step)
{
	return READ_ONCE(id->peer_gone) && step->err == -EINVAL ? -ECONNRESET : step->err;
}

/**
 * rca_accept_as() - accept a connection request
 * @id: the id of the request
 * @cookie: stamped on the events of the id from now on
 * @conn: our parameters
 * @quiet: no event tells that it is established
 *
 * Context: Process context. Sleeps. Takes and releases @id->op.
 * Return: 0, an event follows, but for datagrams; -EINVAL wrong state or private
 * data too long, -EPERM not his QP: the request waits still; -ECONNRESET the peer has given
 * up, another errno the request was rejected: no event tells of that again.
 */
int rca_accept_as(struct rca_id *id, u64 cookie, const struct rca_tp_conn *conn, bool quiet)
{
	struct rca_tp_conn rep = *conn;
	struct rca_step step;
	unsigned long flags;
	int ret;

	if (id->qp_type == IB_QPT_UD)
		return rca_sidr_accept(id, cookie, conn);
	mutex_lock(&id->op);
	ret = -EINVAL;
	if (conn->private_data_len > private_max(id, RCA_WIRE_REP))
		goto out_unlock;
	step = rca_id_peek(id, RCA_IN_ACCEPT);
	if (step.verdict != RCA_TAKE) {
		ret = refused(id, &step);
		goto out_unlock;
	}
	ret = id->dev->tp->check_qp(id->dev->ibdev, conn->qp_num & QPN_MASK);
	if (ret)
		goto out_unlock;
	/* Without memory for its event it fails as one that cannot be sent. */
	ret = rca_id_reserve_event(id);
	rca_source_set_cookie(&id->src, cookie);
	spin_lock_irqsave(&id->lock, flags);
	step = rca_id_step_locked(id, RCA_IN_ACCEPT);
	if (step.verdict == RCA_TAKE)
		id->quiet = quiet;
	spin_unlock_irqrestore(&id->lock, flags);
	if (step.verdict != RCA_TAKE) {
		rca_id_unreserve_event(id);
		ret = refused(id, &step);
		goto out_unlock;
	}
	set_qp(id, &rep);
	if (!ret)
		ret = id->dev->tp->reply(id->lower, &rep);
	if (ret) {
		step = rca_id_step(id, RCA_IN_ACCEPT_FAIL);
		rca_id_unreserve_event(id);
		/* The end came after the step, and its event tells why: as if it had come later. */
		if (step.verdict != RCA_TAKE)
			ret = 0;
		else
			id->dev->tp->reject(id->lower, IB_CM_REJ_CONSUMER_DEFINED, NULL, 0);
		goto out_unlock;
	}
	rca_id_drop_setup(id);
out_unlock:
	rca_id_report_op(id, "accept", ret);
	mutex_unlock(&id->op);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(rca_accept_as);

/**
 * rca_reject() - refuse a connection request, or a reply
 * @id: the id
 * @reason: 0 or IB_CM_REJ_CONSUMER_DEFINED, or IB_CM_REJ_VENDOR_OPTION_NOT_SUPPORTED
 * @data: private data
 * @len: its length
 *
 * Context: Process context. Sleeps. Takes and releases @id->op.
 * Return: 0; -EINVAL wrong state, other reason or private data too long; -ENXIO; another errno:
 * the peer could not be told, and the id is done with the request.
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
		ret = id->dev->tp->reject(id->lower, reason, data, len);
out_unlock:
	rca_id_report_op(id, "reject", ret);
	mutex_unlock(&id->op);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(rca_reject);

/**
 * rca_establish() - complete a connection on the active side
 * @id: the id; the peer's reply has come
 *
 * Context: Process context. Sleeps. Takes and releases @id->op.
 * Return: 0; -EINVAL wrong state; -ENXIO; -ENOMEM: the connection has failed.
 */
int rca_establish(struct rca_id *id)
{
	struct rca_step step;
	int ret;

	mutex_lock(&id->op);
	step = rca_id_step(id, RCA_IN_ESTABLISH);
	ret = step.err;
	if (step.verdict != RCA_TAKE)
		goto out_unlock;
	ret = id->dev->tp->send_rtu(id->lower);
	/* The end is on its way to us, with its event: as if it had come before. */
	if (ret == -ECONNRESET) {
		ret = -EINVAL;
		goto out_unlock;
	}
	if (ret) {
		rca_id_step(id, RCA_IN_ESTABLISH_FAIL);
		id->dev->tp->reject(id->lower, IB_CM_REJ_CONSUMER_DEFINED, NULL, 0);
		goto out_unlock;
	}
	rca_id_drop_setup(id);
out_unlock:
	rca_id_report_op(id, "establish", ret);
	mutex_unlock(&id->op);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(rca_establish);

/**
 * rca_disconnect() - end a connection
 * @id: the id
 *
 * Context: Process context. Sleeps. Takes and releases @id->op.
 * Return: 0; -EINVAL the id never was in a connection; -ENXIO.
 */
int rca_disconnect(struct rca_id *id)
{
	struct rca_step step;
	int ret;

	mutex_lock(&id->op);
	step = rca_id_step(id, RCA_IN_DISCONNECT);
	ret = step.err;
	if (step.verdict == RCA_TAKE)
		rca_id_disconnect(id);
	rca_id_report_op(id, "disconnect", ret);
	mutex_unlock(&id->op);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(rca_disconnect);

/* The QP has received before the peer's RTU came. */
static int established(struct rca_id *id)
{
	const struct rca_tp_event up = { .input = RCA_IN_UP };

	lockdep_assert_held(&id->op);
	switch (rca_id_state(id)) {
	case RCA_ST_REP_SENT:
		rca_cm_event(id, id->lower, &up);
		return 0;
	case RCA_ST_CONNECTED:
		return -EISCONN;
	default:
		return -EINVAL;
	}
}

/**
 * rca_notify() - the QP of an id saw an event
 * @id: the id
 * @event: IB_EVENT_COMM_EST or IB_EVENT_PATH_MIG
 *
 * That it has received is not told to the lower id, which goes on to repeat its reply, so
 * that the RTU comes: ib_cm would take the connection for established at once, and leave
 * it to work to stop the repetitions, which it forgets when a disconnect comes first. Who
 * destroys the lower id then waits for them, for a minute or more.
 *
 * Context: Process context. Sleeps. Takes and releases @id->op.
 * Return: 0; -EINVAL another event or wrong state; -EISCONN; -ENXIO.
 */
int rca_notify(struct rca_id *id, u32 event)
{
	int ret = -EINVAL;

	mutex_lock(&id->op);
	if (rca_id_state(id) == RCA_ST_REMOVED)
		ret = -ENXIO;
	else if (id->lower && event == IB_EVENT_COMM_EST)
		ret = id->dev->tp->over_tcp ? 0 : established(id);
	else if (id->lower && event == IB_EVENT_PATH_MIG)
		ret = id->dev->tp->path_migrated(id->lower);
	rca_id_report_op(id, "notify", ret);
	mutex_unlock(&id->op);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(rca_notify);
