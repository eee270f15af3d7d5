// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Connections: what user space asks for, and what the peer's messages mean. What
 * datagram ids do instead is in datagram.c.
 *
 * Locking: rca_id.op over each operation; messages take rca_id.lock alone. An
 * operation changes the state before it sends, as the answer may come first.
 */
#include "connect.h"

#include <kunit/visibility.h>
#include <rdma/ib_cm.h>
#include <rdma/ib_verbs.h>

#include "datagram.h"
#include "devices.h"
#include "qpattr.h"
#include "retry.h"
#include "trace.h"
#include "wire.h"

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
		.path = id->path,
		.path_in = id->path_in,
		.path_out = id->path_out,
		.sgid_attr = id->sgid_attr,
		.service_id = rca_wire_addr_service_id(id->ps, &id->dst),
	};

	set_qp(id, &req.conn);
	if (id->dev->tp->over_tcp) {
		req.net = id->net;
		req.local = &id->local;
		req.dst = &id->dst;
		req.tos = id->tos;
		return id->dev->tp->connect(id->lower, &req);
	}
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
	ret = rca_id_reserve_event(id);
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
	ret = send_request(id, conn);
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
	if (!ret)
		return 0;
	if (id->lower != lower)
		return rca_id_state(id) == RCA_ST_REMOVED ? -ENXIO : ret;
	rca_id_step(id, RCA_IN_CONNECT_FAIL);
	rca_id_drop_lower(id);
	rca_id_unreserve_event(id);
	return ret;
}

/* The host may have a socket with the port that we have chosen: take another one. */
static bool change_port(struct rca_id *id, int ret)
{
	if ((ret != -EADDRINUSE && ret != -EADDRNOTAVAIL) || rca_ports_repick(&id->bind))
		return false;
	rca_addr_set_port(&id->local, rca_addr_port(&id->bind.addr));
	return true;
}

/**
 * rca_connect() - send a connection request
 * @id: the id; its route is resolved
 * @conn: our parameters; the private data is the user's part
 *
 * Context: Process context. Sleeps. Takes and releases @id->op; has it not
 * while TCP connects, where that blocks.
 * Return: 0, an event follows; -EINVAL wrong state or private data too long;
 * -ENXIO; -ENOMEM; on iWARP also -ERESTARTSYS, -ECONNABORTED: the id was
 * destroyed meanwhile, and what TCP says. The id is as before then.
 */
int rca_connect(struct rca_id *id, const struct rca_tp_conn *conn)
{
	int ret, tries = 0;

	if (id->qp_type == IB_QPT_UD)
		return rca_datagram_connect(id, conn);
	mutex_lock(&id->op);
	do {
		ret = start_connect(id, conn);
		if (ret == -EINPROGRESS)
			ret = finish_connect(id);
	} while (ret && tries++ < PORT_TRIES && change_port(id, ret));
	trace_rca_op(id->obj.handle, &id->local.sa, &id->dst.sa, "connect", ret);
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
 * rca_accept() - accept a connection request
 * @id: the id of the request
 * @cookie: stamped on the events of the id from now on
 * @conn: our parameters
 *
 * Context: Process context. Sleeps. Takes and releases @id->op.
 * Return: 0, an event follows, but for datagrams; -EINVAL wrong state or private
 * data too long: the request waits still; -ECONNRESET the peer has given up; another errno:
 * the request was rejected.
 */
int rca_accept(struct rca_id *id, u64 cookie, const struct rca_tp_conn *conn)
{
	struct rca_tp_conn rep = *conn;
	struct rca_step step;
	int ret;

	if (id->qp_type == IB_QPT_UD)
		return rca_datagram_accept(id, cookie, conn);
	mutex_lock(&id->op);
	ret = -EINVAL;
	if (conn->private_data_len > private_max(id, RCA_WIRE_REP))
		goto out_unlock;
	step = rca_id_peek(id, RCA_IN_ACCEPT);
	if (step.verdict != RCA_TAKE) {
		ret = refused(id, &step);
		goto out_unlock;
	}
	ret = rca_id_reserve_event(id);
	if (ret)
		goto out_unlock;
	rca_source_set_cookie(&id->src, cookie);
	step = rca_id_step(id, RCA_IN_ACCEPT);
	if (step.verdict != RCA_TAKE) {
		rca_id_unreserve_event(id);
		ret = refused(id, &step);
		goto out_unlock;
	}
	set_qp(id, &rep);
	ret = id->dev->tp->reply(id->lower, &rep);
	if (ret) {
		step = rca_id_step(id, RCA_IN_ACCEPT_FAIL);
		rca_id_unreserve_event(id);
		/* The peer was quicker; its event tells why. */
		if (step.verdict != RCA_TAKE)
			ret = -ECONNRESET;
		else
			id->dev->tp->reject(id->lower, IB_CM_REJ_CONSUMER_DEFINED, NULL, 0);
		goto out_unlock;
	}
	rca_id_drop_path(id);
out_unlock:
	trace_rca_op(id->obj.handle, &id->local.sa, &id->dst.sa, "accept", ret);
	mutex_unlock(&id->op);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(rca_accept);

/**
 * rca_reject() - refuse a connection request, or a reply
 * @id: the id
 * @reason: 0 or IB_CM_REJ_CONSUMER_DEFINED, or IB_CM_REJ_VENDOR_OPTION_NOT_SUPPORTED
 * @data: private data
 * @len: its length
 *
 * Context: Process context. Sleeps. Takes and releases @id->op.
 * Return: 0; -EINVAL wrong state, other reason or private data too long; -ENXIO.
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
		return rca_datagram_reject(id, data, len);
	mutex_lock(&id->op);
	if (len > private_max(id, RCA_WIRE_REJ))
		goto out_unlock;
	step = rca_id_step(id, RCA_IN_REJECT);
	ret = step.err;
	if (step.verdict == RCA_TAKE)
		ret = id->dev->tp->reject(id->lower, reason, data, len);
out_unlock:
	trace_rca_op(id->obj.handle, &id->local.sa, &id->dst.sa, "reject", ret);
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
	ret = id->dev->tp->ready(id->lower);
	if (ret) {
		rca_id_step(id, RCA_IN_ESTABLISH_FAIL);
		id->dev->tp->reject(id->lower, IB_CM_REJ_CONSUMER_DEFINED, NULL, 0);
		goto out_unlock;
	}
	rca_id_drop_path(id);
out_unlock:
	trace_rca_op(id->obj.handle, &id->local.sa, &id->dst.sa, "establish", ret);
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
	unsigned long flags;
	int ret;

	mutex_lock(&id->op);
	step = rca_id_step(id, RCA_IN_DISCONNECT);
	ret = step.err;
	if (step.verdict != RCA_TAKE || !id->dev->tp->disconnect(id->lower))
		goto out_unlock;
	/* It could not be sent: the connection is over for us all the same. */
	spin_lock_irqsave(&id->lock, flags);
	step = rca_id_step_locked(id, RCA_IN_DISCONNECT_FAIL);
	if (step.verdict == RCA_TAKE)
		rca_id_post_locked(id, NULL, step.post, 0);
	spin_unlock_irqrestore(&id->lock, flags);
out_unlock:
	trace_rca_op(id->obj.handle, &id->local.sa, &id->dst.sa, "disconnect", ret);
	mutex_unlock(&id->op);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(rca_disconnect);

/**
 * rca_notify() - the QP of an id saw an event
 * @id: the id
 * @event: IB_EVENT_COMM_EST or IB_EVENT_PATH_MIG
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
	else if (id->lower && (event == IB_EVENT_COMM_EST || event == IB_EVENT_PATH_MIG))
		ret = id->dev->tp->notify(id->lower, event);
	trace_rca_op(id->obj.handle, &id->local.sa, &id->dst.sa, "notify", ret);
	mutex_unlock(&id->op);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(rca_notify);

/* Does the event that this input causes have more to tell than its status? */
static bool needs_record(enum rca_input input)
{
	return input == RCA_IN_REP || input == RCA_IN_REJ || input == RCA_IN_RTU ||
	       input == RCA_IN_REQ_TIMEOUT || input == RCA_IN_REP_TIMEOUT ||
	       input == RCA_IN_UP || input == RCA_IN_ERROR;
}

/*
 * ib_cm tells of a message that nobody answered when it has put its reference of
 * the lower id already: destroy() does not wait for that callback, and the owner
 * may be on its way out.
 */
static bool get_owner(struct rca_id *id)
{
	bool alive;

	rcu_read_lock();
	alive = rca_obj_tryget(&id->obj);
	rcu_read_unlock();
	return alive;
}

static u8 handle_event(struct rca_id *id, void *lower, const struct rca_tp_event *event)
{
	struct rca_event *ev = NULL;
	struct rca_step step;
	unsigned long flags;

	if (rca_retry_stale(id, event))
		return 0;
	if (needs_record(event->input)) {
		ev = rca_id_event(id);
		if (ev && event->has_conn)
			rca_event_set_conn(ev, &event->conn);
		if (ev && event->input == RCA_IN_REP &&
		    rca_qp_attr_fill(id, lower, &ev->rec.qp))
			ev->rec.flags |= RDMA_CM_ALT_EVENT_F_QP;
	}

	spin_lock_irqsave(&id->lock, flags);
	if (id->state == RCA_ST_REQ_RCVD &&
	    (event->input == RCA_IN_REJ || event->input == RCA_IN_DREQ))
		WRITE_ONCE(id->peer_gone, true);	/* pairs with refused() */
	step = rca_id_step_locked(id, event->input);
	if (step.verdict == RCA_TAKE && step.post != RCA_NO_EVENT) {
		rca_id_post_locked(id, ev, step.post, event->status);
		ev = NULL;
	}
	spin_unlock_irqrestore(&id->lock, flags);
	rca_event_free(ev);

	/* Closed: the transport answers late messages without the lower id. */
	if ((step.action & RCA_ACT_FINISH) ||
	    (step.verdict == RCA_TAKE && step.next == RCA_ST_CLOSED))
		rca_id_kick(id);
	return step.action;
}

/**
 * rca_connect_event() - a message came for an id, or did not come
 * @owner: the id
 * @lower: its transport's id
 * @event: what happened
 *
 * Context: Process context, callback of a transport. May sleep. Takes and
 * releases @owner's state lock.
 * Return: what the transport must do (enum rca_action).
 */
u8 rca_connect_event(void *owner, void *lower, const struct rca_tp_event *event)
{
	struct rca_id *id = owner;
	u8 action = 0;

	if (!get_owner(id))
		return 0;
	if (id->qp_type == IB_QPT_UD)
		rca_datagram_event(id, event);
	else
		action = handle_event(id, lower, event);
	rca_id_put(id);		/* got in get_owner() */
	return action;
}
EXPORT_SYMBOL_IF_KUNIT(rca_connect_event);
