// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Handling of the records that a peer sends about connections, one at a time for each trunk.
 *
 * A peer may send anything. A record that does not fit the state of its connection is ignored if it
 * may have crossed an operation of this host; otherwise it ends the session.
 *
 * Locking: rca_trunk.lock, which is not held while an owner is called back.
 */
#include "trunk/trunk.h"

#include <linux/errno.h>
#include <linux/string.h>
#include <rdma/ib_cm.h>

#include "lib/timing.h"
#include "transport/transport.h"

static const struct rca_tp_upcalls *callbacks;
static const struct rca_tp_ops *trunk_transport;

/* Private data, padded with zeros to the length of the field in ib_cm's message. */
struct private_data {
	u8 bytes[IB_CM_REP_PRIVATE_DATA_SIZE];	/* the longest such field */
};

/* Report at least @size bytes, as ib_cm does, so that no receiver sees a difference. */
static void set_private_data(struct rca_tp_conn *out, struct private_data *buf, u8 size,
			     const struct rca_trunk_record *record)
{
	if (record->private_len >= size) {
		out->private_data = record->private_data;
		out->private_data_len = record->private_len;
		return;
	}
	memset(buf, 0, sizeof(*buf));
	if (record->private_len)
		memcpy(buf->bytes, record->private_data, record->private_len);
	out->private_data = buf->bytes;
	out->private_data_len = size;
}

static void set_qp(struct rca_tp_conn *out, const struct rca_record_qp *qp)
{
	out->qp_num = qp->qp_num;
	out->psn = qp->psn;
	out->responder_resources = qp->responder_resources;
	out->initiator_depth = qp->initiator_depth;
	out->flow_control = qp->flow_control;
	out->retry_count = qp->retry_count;
	out->rnr_retry_count = qp->rnr_retry_count;
	out->srq = qp->srq;
	out->ece_vendor_id = qp->ece_vendor_id;
	out->ece_attr_mod = qp->ece_attr_mod;
}

/* Store the attributes of the peer's QP from its REQ or REP. */
static void keep_peer(struct rca_trunk_conn *conn, const struct rca_record_qp *qp)
{
	conn->peer_qpn = qp->qp_num;
	conn->sq_psn = qp->psn;
	conn->rnr_retry_count = qp->rnr_retry_count;
	/* Each side's depth is limited by the resources of the other. */
	conn->initiator_depth = qp->responder_resources;
	conn->responder_resources = qp->initiator_depth;
}

static void handle_rep(struct rca_trunk_conn *conn, const struct rca_trunk_record *record)
{
	struct rca_trunk *trunk = conn->trunk;
	struct rca_tp_event event = {
		.input = RCA_IN_REP,
		.has_conn = true,
		.ca_guid = trunk->ca_guid,
	};
	struct private_data buf;
	bool expected;

	spin_lock(&trunk->lock);
	expected = conn->state == RCA_CONN_REQ_SENT;
	if (expected) {
		conn->state = RCA_CONN_REP_RCVD;
		rca_conn_stop_timer(conn);
		keep_peer(conn, &record->qp);
		conn->ack_timeout = rca_conn_ack_timeout(record->ack_delay, conn->ack_timeout - 1);
	}
	spin_unlock(&trunk->lock);
	if (!expected)
		return;
	set_qp(&event.conn, &record->qp);
	event.conn.retry_count = 0;
	set_private_data(&event.conn, &buf, IB_CM_REP_PRIVATE_DATA_SIZE, record);
	rca_conn_call_back(conn, &event);
}

static void handle_rtu(struct rca_trunk_conn *conn)
{
	static const struct rca_tp_event event = { .input = RCA_IN_RTU };
	struct rca_trunk *trunk = conn->trunk;
	bool expected;

	spin_lock(&trunk->lock);
	expected = conn->state == RCA_CONN_REP_SENT;
	if (expected) {
		conn->state = RCA_CONN_UP;
		rca_conn_stop_timer(conn);
	}
	spin_unlock(&trunk->lock);
	if (expected)
		rca_conn_call_back(conn, &event);
}

static void handle_rej(struct rca_trunk_conn *conn, const struct rca_trunk_record *record)
{
	struct rca_trunk *trunk = conn->trunk;
	struct rca_tp_event event = {
		.input = RCA_IN_REJ,
		.status = record->reason,
		.has_conn = true,
	};
	enum rca_conn_state was;
	struct private_data buf;
	bool expected;

	spin_lock(&trunk->lock);
	expected = conn->state != RCA_CONN_NEW && conn->state <= RCA_CONN_DREQ_SENT;
	event.elsewhere = conn->state == RCA_CONN_REQ_SENT &&
			  record->reason == IB_CM_REJ_INVALID_SERVICE_ID;
	if (expected) {
		was = conn->state;
		rca_conn_withdraw(conn);
		rca_conn_stop_timer(conn);
		conn->state = RCA_CONN_CLOSED;
		if (was == RCA_CONN_UP || was == RCA_CONN_DREQ_SENT)
			rca_conn_enter_timewait(conn);
	}
	spin_unlock(&trunk->lock);
	if (!expected)
		return;
	set_private_data(&event.conn, &buf, IB_CM_REJ_PRIVATE_DATA_SIZE, record);
	rca_conn_call_back(conn, &event);
}

static bool has_peer(const struct rca_trunk_conn *conn)
{
	return conn->state > RCA_CONN_REQ_SENT && conn->state <= RCA_CONN_DREQ_SENT;
}

static int handle_dreq(struct rca_trunk_conn *conn, const struct rca_trunk_record *record)
{
	static const struct rca_tp_event event = { .input = RCA_IN_DREQ };
	struct rca_trunk *trunk = conn->trunk;
	bool expected;

	spin_lock(&trunk->lock);
	expected = has_peer(conn);
	if (conn->qp.qp_num && record->remote_qpn != conn->qp.qp_num) {
		spin_unlock(&trunk->lock);
		return -EPROTO;
	}
	if (expected)
		rca_conn_enter_timewait(conn);
	if (conn->state == RCA_CONN_TIMEWAIT)
		rca_conn_send(conn, RCA_RECORD_DREP);
	spin_unlock(&trunk->lock);
	if (expected)
		rca_conn_call_back(conn, &event);
	return 0;
}

static void handle_drep(struct rca_trunk_conn *conn)
{
	static const struct rca_tp_event event = { .input = RCA_IN_DREP };
	struct rca_trunk *trunk = conn->trunk;
	bool expected;

	spin_lock(&trunk->lock);
	expected = conn->state == RCA_CONN_DREQ_SENT;
	if (expected)
		rca_conn_enter_timewait(conn);
	spin_unlock(&trunk->lock);
	if (expected)
		rca_conn_call_back(conn, &event);
}

static void handle_held(struct rca_trunk_conn *conn, const struct rca_trunk_record *record)
{
	const struct rca_tp_event event = { .input = RCA_IN_HELD, .delay_ms = record->delay_ms };
	struct rca_trunk *trunk = conn->trunk;
	bool expected;

	spin_lock(&trunk->lock);
	expected = conn->state == RCA_CONN_REQ_SENT;
	if (expected)
		rca_conn_stop_timer(conn);
	spin_unlock(&trunk->lock);
	if (expected)
		rca_conn_call_back(conn, &event);
}

/*
 * Answer a record about a connection that this host does not keep. @conn: a connection that was
 * allocated for it, whose reference is put; NULL: allocate one only if no frame has room.
 */
static void answer(struct rca_trunk *trunk, u32 number, struct rca_trunk_conn *conn,
		   enum rca_record_type type, u16 reason)
{
	const struct rca_trunk_record record = {
		.type = type, .conn = number, .reason = reason, .delay_ms = RCA_CONN_HELD_MS,
	};
	int ret;

	spin_lock(&trunk->lock);
	ret = rca_trunk_add(trunk, &record);
	spin_unlock(&trunk->lock);
	if (ret == -EAGAIN && !conn)
		conn = rca_conn_alloc(trunk, number, GFP_ATOMIC | __GFP_NOWARN);
	if (!conn)
		return;
	spin_lock(&trunk->lock);
	conn->state = RCA_CONN_CLOSED;
	conn->reason = reason;
	if (ret == -EAGAIN)
		rca_conn_send(conn, type);
	rca_conn_abandon(conn);
	spin_unlock(&trunk->lock);
}

/* Passive side: set up a connection from its REQ. Returns 0 or a negative errno. */
static int read_req(struct rca_trunk_conn *conn, const struct rca_trunk_record *record,
		    struct sa_path_rec *path)
{
	rca_conn_read_path(conn->trunk, &record->path, path);
	path->service_id = record->service_id;
	conn->service_id = record->service_id;
	conn->state = RCA_CONN_REQ_RCVD;
	conn->qp_type = record->qp_type;
	conn->retry_count = record->qp.retry_count;
	keep_peer(conn, &record->qp);
	return rca_conn_set_path(conn, path, conn->trunk->sgid_attr);
}

/* Pass the REQ to its listener. Returns 0 or the negative errno of the listener. */
static int route_req(struct rca_trunk_conn *conn, const struct rca_trunk_record *record,
		     const struct sa_path_rec *path)
{
	struct rca_trunk *trunk = conn->trunk;
	struct rca_tp_request req = {
		.tp = trunk_transport,
		.ca_guid = trunk->ca_guid,
		.conn.qp_type = record->qp_type,
		.service_id = record->service_id,
		.port_num = trunk->key.peer.port_num,
		.path = path,
		.sgid_attr = trunk->sgid_attr,
		.pkey = be16_to_cpu(path->pkey),
	};
	struct private_data buf;

	set_qp(&req.conn, &record->qp);
	set_private_data(&req.conn, &buf, IB_CM_REQ_PRIVATE_DATA_SIZE, record);
	/* During the unload of the module, the peer has to use ib_cm. */
	if (!rca_trunks_enabled())
		return -EADDRNOTAVAIL;
	return callbacks->request_for(trunk->dev, conn, &req);
}

/* Answer a refused REQ. No other user has the connection; a callback may have rejected it. */
static void refuse(struct rca_trunk_conn *conn, int err)
{
	struct rca_trunk *trunk = conn->trunk;

	rca_conn_forget(conn);
	if (conn->state == RCA_CONN_CLOSED) {
		spin_lock(&trunk->lock);
		rca_conn_abandon(conn);
		spin_unlock(&trunk->lock);
	} else if (err == -ENOMEM) {
		answer(trunk, conn->number, conn, RCA_RECORD_HELD, 0);
	} else if (err == -EBUSY) {
		/* The peer's numbers have wrapped around; it repeats the REQ with another one. */
		answer(trunk, conn->number, conn, RCA_RECORD_REJ, IB_CM_REJ_STALE_CONN);
	} else if (err == -EADDRNOTAVAIL) {
		answer(trunk, conn->number, conn, RCA_RECORD_REJ, IB_CM_REJ_INVALID_SERVICE_ID);
	} else {
		answer(trunk, conn->number, conn, RCA_RECORD_REJ, IB_CM_REJ_CONSUMER_DEFINED);
	}
}

static int handle_req(struct rca_trunk *trunk, const struct rca_trunk_record *record)
{
	struct rca_trunk_conn *conn;
	struct sa_path_rec path;
	int ret;

	rca_trunk_count_one(trunk, RCA_STAT_REQUEST);
	/* The peer may only use odd numbers if this host uses even ones, and vice versa. */
	if ((record->conn & 1) == trunk->odd)
		return -EPROTO;
	conn = rca_conn_alloc(trunk, record->conn, GFP_ATOMIC | __GFP_NOWARN);
	if (!conn) {
		answer(trunk, record->conn, NULL, RCA_RECORD_HELD, 0);
		return 0;
	}
	ret = read_req(conn, record, &path);
	if (!ret)
		ret = rca_conn_add(conn, GFP_ATOMIC | __GFP_NOWARN);
	if (!ret)
		ret = route_req(conn, record, &path);
	if (ret)
		refuse(conn, ret);
	return 0;
}

/* Handle a record about a connection that has ended at this host. */
static void handle_unknown(struct rca_trunk *trunk, const struct rca_trunk_record *record)
{
	if (record->type == RCA_RECORD_DREQ)
		answer(trunk, record->conn, NULL, RCA_RECORD_DREP, 0);
}

static int handle_known(struct rca_trunk_conn *conn, const struct rca_trunk_record *record)
{
	switch (record->type) {
	case RCA_RECORD_REP:
		handle_rep(conn, record);
		return 0;
	case RCA_RECORD_RTU:
		handle_rtu(conn);
		return 0;
	case RCA_RECORD_REJ:
		handle_rej(conn, record);
		return 0;
	case RCA_RECORD_DREQ:
		return handle_dreq(conn, record);
	case RCA_RECORD_DREP:
		handle_drep(conn);
		return 0;
	case RCA_RECORD_HELD:
		handle_held(conn, record);
		return 0;
	default:
		return 0;
	}
}

/* &rca_trunk_upcalls.record. The caller holds a reference on @trunk. Does not sleep. */
int rca_conn_record(struct rca_trunk *trunk, const struct rca_trunk_record *record)
{
	struct rca_trunk_conn *conn;
	int ret;

	/* Ignore the types of later versions. */
	if (record->type == RCA_RECORD_PING || record->type >= RCA_RECORD_TYPES)
		return 0;
	if (!record->conn)
		return -EPROTO;
	if (record->type == RCA_RECORD_REQ)
		return handle_req(trunk, record);
	spin_lock(&trunk->lock);
	conn = rca_conn_get(trunk, record->conn);
	spin_unlock(&trunk->lock);
	if (!conn) {
		handle_unknown(trunk, record);
		return 0;
	}
	ret = handle_known(conn, record);
	spin_lock(&trunk->lock);
	rca_conn_callback_done(conn);
	spin_unlock(&trunk->lock);
	return ret;
}

/* Called before any other use. */
void rca_conn_receive_init(const struct rca_tp_upcalls *upcalls, const struct rca_tp_ops *transport)
{
	callbacks = upcalls;
	trunk_transport = transport;
}
