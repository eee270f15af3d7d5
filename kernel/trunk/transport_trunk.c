// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The transport over trunks: the operations for the owner of a connection.
 *
 * Locking: rca_trunk.lock.
 */
#include "trunk/trunk.h"

#include <linux/errno.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <rdma/ib_cm.h>
#include <rdma/ib_sa.h>

#include "lib/timing.h"

/* Time limit for the RTU of the peer: that of an MRA over ib_cm. */
#define REP_WAIT_MS	rca_timing_ms(RCA_MAX_MRA)

/* Time limit for a DREQ to be in a frame. The owner mostly gives up earlier. */
#define DREQ_WAIT_MS	20000

static void set_record_qp(struct rca_record_qp *qp, const struct rca_tp_conn *conn)
{
	*qp = (struct rca_record_qp) {
		.qp_num = conn->qp_num,
		.psn = conn->psn,
		.ece_vendor_id = conn->ece_vendor_id,
		.ece_attr_mod = conn->ece_attr_mod,
		.responder_resources = conn->responder_resources,
		.initiator_depth = conn->initiator_depth,
		.retry_count = conn->retry_count,
		.rnr_retry_count = conn->rnr_retry_count,
		.flow_control = conn->flow_control,
		.srq = conn->srq,
	};
}

static int copy_data(const struct rca_tp_conn *from, void **data)
{
	*data = NULL;
	if (!from->private_data_len)
		return 0;
	*data = kmemdup(from->private_data, from->private_data_len, GFP_KERNEL_ACCOUNT);
	return *data ? 0 : -ENOMEM;
}

static void set_conn_data(struct rca_trunk_conn *conn, void *data, u16 len)
{
	rca_conn_withdraw(conn);
	conn->data = data;
	conn->data_len = len;
}

static int trunk_connect(void *lower, const struct rca_tp_req *req)
{
	struct rca_trunk_conn *conn = lower;
	struct rca_trunk *trunk = conn->trunk;
	struct sa_path_rec path = *req->path;
	void *data;
	int ret;

	ret = copy_data(&req->conn, &data);
	if (ret)
		return ret;
	/* In another state the peer has requested a repetition of the REQ. */
	if (conn->state == RCA_CONN_NEW) {
		ret = rca_conn_set_path(conn, &path, req->sgid_attr);
		if (ret) {
			kfree(data);
			return ret;
		}
		conn->service_id = req->service_id;
		conn->qp_type = req->conn.qp_type;
		conn->retry_count = req->conn.retry_count;
		conn->responder_resources = req->conn.responder_resources;
		conn->initiator_depth = req->conn.initiator_depth;
		rca_conn_tell_path(conn, &path);
		set_record_qp(&conn->qp, &req->conn);
	}
	spin_lock(&trunk->lock);
	set_conn_data(conn, data, req->conn.private_data_len);
	conn->held = false;
	conn->state = RCA_CONN_REQ_SENT;
	/* If the session was lost meanwhile, the timer reports that at once, like a later loss. */
	if (!rca_conn_has_session(conn))
		rca_conn_forget(conn);
	rca_conn_set_timer(conn, rca_conn_has_session(conn) ? req->wait_ms : 0);
	rca_conn_send(conn, RCA_RECORD_REQ);
	spin_unlock(&trunk->lock);
	return 0;
}

static int trunk_reply(void *lower, const struct rca_tp_conn *rep)
{
	struct rca_trunk_conn *conn = lower;
	struct rca_trunk *trunk = conn->trunk;
	void *data;
	int ret;

	ret = copy_data(rep, &data);
	if (ret)
		return ret;
	spin_lock(&trunk->lock);
	if (conn->state == RCA_CONN_REQ_RCVD) {
		conn->state = RCA_CONN_REP_SENT;
		set_record_qp(&conn->qp, rep);
		conn->responder_resources = rep->responder_resources;
		conn->initiator_depth = rep->initiator_depth;
		set_conn_data(conn, data, rep->private_data_len);
		data = NULL;
		rca_conn_set_timer(conn, REP_WAIT_MS);
		rca_conn_send(conn, RCA_RECORD_REP);
	} else {
		ret = -ECONNRESET;
	}
	spin_unlock(&trunk->lock);
	kfree(data);
	return ret;
}

/* The peer repeats no message, so it needs no MRA. */
static int trunk_send_mra(void *lower, u8 time)
{
	return 0;
}

static int trunk_send_rtu(void *lower, const void *data, u8 len)
{
	struct rca_trunk_conn *conn = lower;
	struct rca_trunk *trunk = conn->trunk;
	int ret = -ECONNRESET;

	spin_lock(&trunk->lock);
	if (conn->state == RCA_CONN_REP_RCVD) {
		conn->state = RCA_CONN_UP;
		rca_conn_send(conn, RCA_RECORD_RTU);
		ret = 0;
	}
	spin_unlock(&trunk->lock);
	return ret;
}

static bool can_be_rejected(const struct rca_trunk_conn *conn)
{
	return conn->state > RCA_CONN_NEW && conn->state <= RCA_CONN_UP;
}

static int trunk_reject(void *lower, int reason, const void *data, u8 len)
{
	const struct rca_tp_conn rej = { .private_data = data, .private_data_len = len };
	struct rca_trunk_conn *conn = lower;
	struct rca_trunk *trunk = conn->trunk;
	void *copy = NULL;
	int ret = 0;

	if (len)
		ret = copy_data(&rej, &copy);
	if (ret)
		return ret;
	spin_lock(&trunk->lock);
	if (can_be_rejected(conn)) {
		rca_conn_stop_timer(conn);
		conn->state = RCA_CONN_CLOSED;
		conn->reason = reason;
		set_conn_data(conn, copy, len);
		copy = NULL;
		rca_conn_send(conn, RCA_RECORD_REJ);
	} else {
		ret = -EINVAL;
	}
	spin_unlock(&trunk->lock);
	kfree(copy);
	return ret;
}

static void trunk_received(void *lower)
{
	struct rca_trunk_conn *conn = lower;
	struct rca_trunk *trunk = conn->trunk;

	spin_lock(&trunk->lock);
	if (conn->state == RCA_CONN_REP_SENT) {
		conn->state = RCA_CONN_UP;
		rca_conn_answered(conn);
	}
	spin_unlock(&trunk->lock);
}

/* The peer hears of the end once that is in a frame, so nobody has to wait for an answer. */
static int trunk_disconnect(void *lower)
{
	struct rca_trunk_conn *conn = lower;
	struct rca_trunk *trunk = conn->trunk;
	int ret = -EINVAL;

	spin_lock(&trunk->lock);
	if (conn->state == RCA_CONN_UP || conn->state == RCA_CONN_REP_SENT) {
		ret = rca_conn_send_dreq(conn);
		if (ret) {
			rca_conn_enter_timewait(conn);
		} else {
			conn->state = RCA_CONN_DREQ_SENT;
			rca_conn_set_timer(conn, DREQ_WAIT_MS);
		}
	}
	spin_unlock(&trunk->lock);
	return ret;
}

/* Send the last message about a connection that its owner destroys. */
static void send_last_record(struct rca_trunk_conn *conn)
{
	switch (conn->state) {
	case RCA_CONN_REQ_SENT:
		rca_conn_give_up(conn);
		break;
	case RCA_CONN_REP_RCVD:
	case RCA_CONN_REQ_RCVD:
	case RCA_CONN_REP_SENT:
		rca_conn_withdraw(conn);
		conn->reason = IB_CM_REJ_CONSUMER_DEFINED;
		rca_conn_send(conn, RCA_RECORD_REJ);
		break;
	case RCA_CONN_UP:
		rca_conn_send(conn, RCA_RECORD_DREQ);
		break;
	default:
		break;
	}
	conn->state = RCA_CONN_CLOSED;
}

static void trunk_destroy(void *lower)
{
	struct rca_trunk_conn *conn = lower;
	struct rca_trunk *trunk = conn->trunk;

	spin_lock(&trunk->lock);
	send_last_record(conn);
	spin_unlock(&trunk->lock);
	rca_conn_remove(conn);
}

/* Only while its request is handled: no other record is handled until then. */
static void trunk_set_owner(void *lower, void *owner)
{
	struct rca_trunk_conn *conn = lower;

	conn->owner = owner;
}

/* Both hardly change, and the connection is freed after an RCU grace period. */
static void trunk_numbers(const void *lower, struct rca_tp_numbers *out)
{
	const struct rca_trunk_conn *conn = lower;

	out->session = READ_ONCE(conn->session);
	out->number = conn->number;
}

const struct rca_tp_ops rca_tp_trunk = {
	.owner = THIS_MODULE,
	.name = "trunk",
	.long_private = true,
	.reliable = true,
	.destroy = trunk_destroy,
	.numbers = trunk_numbers,
	.set_owner = trunk_set_owner,
	.connect = trunk_connect,
	.reply = trunk_reply,
	.send_mra = trunk_send_mra,
	.send_rtu = trunk_send_rtu,
	.reject = trunk_reject,
	.received = trunk_received,
	.disconnect = trunk_disconnect,
	.qp_attr = rca_conn_qp_attr,
};
