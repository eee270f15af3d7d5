// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Received frames, one frame and one record at a time for each trunk, and the end of its session
 * and of its connections.
 *
 * A peer may send anything, and after a link has failed anything again. A record that does not fit
 * the state of its connection changes nothing.
 *
 * Locking: rca_trunk.lock, which is not held while an owner is called back.
 */
#include "trunk/trunk.h"

#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <rdma/ib_cm.h>

#include "lib/testing.h"
#include "lib/timing.h"
#include "lib/trace.h"
#include "transport/transport.h"

static const struct rca_tp_upcalls *callbacks;

/* Set the callbacks of the transport, before any other use. Returns the former ones. */
const struct rca_tp_upcalls *rca_conn_init(const struct rca_tp_upcalls *upcalls)
{
	const struct rca_tp_upcalls *former = callbacks;

	callbacks = upcalls;
	return former;
}

/* Called without rca_trunk.lock. */
static void call_owner(struct rca_trunk_conn *conn, const struct rca_tp_event *event)
{
	callbacks->event(conn->owner, conn, event);
}

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

static void set_tp_conn_qp(struct rca_tp_conn *out, const struct rca_record_qp *qp)
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
static void keep_peer_qp(struct rca_trunk_conn *conn, const struct rca_record_qp *qp)
{
	conn->peer_qpn = qp->qp_num;
	conn->sq_psn = qp->psn;
	conn->rnr_retry_count = qp->rnr_retry_count;
	/* Each side's depth is limited by the resources of the other. */
	conn->initiator_depth = qp->responder_resources;
	conn->responder_resources = qp->initiator_depth;
}

/*
 * Answer a record about a connection that this host does not keep. @conn: a connection that was
 * allocated for it, whose reference is put; NULL: allocate one only if no frame has room.
 */
static void answer_record(struct rca_trunk *trunk, struct rca_trunk_conn *conn,
			  const struct rca_trunk_record *record)
{
	int ret = -EAGAIN;

	spin_lock(&trunk->lock);
	if (trunk->link)
		ret = rca_link_add(trunk->link, record);
	spin_unlock(&trunk->lock);
	if (ret == -EAGAIN && !conn)
		conn = rca_conn_alloc(trunk, record->conn, GFP_ATOMIC | __GFP_NOWARN);
	if (!conn)
		return;
	spin_lock(&trunk->lock);
	conn->state = RCA_CONN_CLOSED;
	conn->reason = record->reason;
	conn->peer_qpn = record->remote_qpn;
	if (ret == -EAGAIN)
		rca_conn_send(conn, record->type);
	rca_conn_abandon(conn);
	spin_unlock(&trunk->lock);
}

/* The answer to a REP or an ASK of a connection that has ended at this host. */
static struct rca_trunk_record no_connection(const struct rca_trunk_record *record)
{
	return (struct rca_trunk_record) {
		.type = RCA_RECORD_DREQ,
		.conn = record->conn,
		.remote_qpn = record->qp.qp_num,
	};
}

static void handle_rep(struct rca_trunk_conn *conn, const struct rca_trunk_record *record)
{
	struct rca_trunk *trunk = conn->trunk;
	struct rca_tp_event event = {
		.input = RCA_IN_REP,
		.has_conn = true,
		.ca_guid = trunk->ca_guid,
	};
	const struct rca_trunk_record no_conn = no_connection(record);
	bool expected, has_ended = false;
	struct private_data buf;

	spin_lock(&trunk->lock);
	expected = conn->state == RCA_CONN_REQ_SENT;
	if (expected) {
		conn->state = RCA_CONN_REP_RCVD;
		rca_conn_answered(conn);
		keep_peer_qp(conn, &record->qp);
		conn->ack_timeout = rca_conn_ack_timeout(record->ack_delay, conn->ack_timeout - 1);
	} else if (conn->state == RCA_CONN_UP) {
		rca_conn_send(conn, RCA_RECORD_RTU);	/* the peer lacks it */
	} else if (conn->state >= RCA_CONN_TIMEWAIT) {
		has_ended = true;
	}
	spin_unlock(&trunk->lock);
	if (has_ended)
		answer_record(trunk, NULL, &no_conn);
	if (!expected)
		return;
	set_tp_conn_qp(&event.conn, &record->qp);
	event.conn.retry_count = 0;
	set_private_data(&event.conn, &buf, IB_CM_REP_PRIVATE_DATA_SIZE, record);
	call_owner(conn, &event);
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
		rca_conn_answered(conn);
	}
	spin_unlock(&trunk->lock);
	if (expected)
		call_owner(conn, &event);
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
	call_owner(conn, &event);
}

static bool has_peer(const struct rca_trunk_conn *conn)
{
	return conn->state > RCA_CONN_REQ_SENT && conn->state <= RCA_CONN_DREQ_SENT;
}

/* Does a record name the QP of a connection, if it has one? Else it is about an older one. */
static bool names_qp(const struct rca_trunk_conn *conn, const struct rca_trunk_record *record)
{
	return !conn->qp.qp_num || record->remote_qpn == conn->qp.qp_num;
}

static void handle_dreq(struct rca_trunk_conn *conn, const struct rca_trunk_record *record)
{
	static const struct rca_tp_event event = { .input = RCA_IN_DREQ };
	struct rca_trunk *trunk = conn->trunk;
	bool expected;

	spin_lock(&trunk->lock);
	expected = has_peer(conn) && names_qp(conn, record);
	if (expected) {
		rca_conn_withdraw(conn);
		rca_conn_enter_timewait(conn);
	}
	if (!trunk->no_drep && (conn->state == RCA_CONN_TIMEWAIT || !names_qp(conn, record)))
		rca_conn_send(conn, RCA_RECORD_DREP);
	spin_unlock(&trunk->lock);
	if (expected)
		call_owner(conn, &event);
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
		call_owner(conn, &event);
}

static void handle_held(struct rca_trunk_conn *conn, const struct rca_trunk_record *record)
{
	const struct rca_tp_event event = { .input = RCA_IN_HELD, .delay_ms = record->delay_ms };
	struct rca_trunk *trunk = conn->trunk;
	bool expected;

	spin_lock(&trunk->lock);
	expected = conn->state == RCA_CONN_REQ_SENT;
	if (expected) {
		conn->held = true;
		rca_conn_stop_timer(conn);
	}
	spin_unlock(&trunk->lock);
	if (expected)
		call_owner(conn, &event);
}

/* The peer has a connection: tell it if this host has not. */
static void handle_ask(struct rca_trunk_conn *conn, const struct rca_trunk_record *record)
{
	const struct rca_trunk_record no_conn = no_connection(record);
	struct rca_trunk *trunk = conn->trunk;
	bool has_ended;

	spin_lock(&trunk->lock);
	has_ended = conn->state == RCA_CONN_NEW || conn->state >= RCA_CONN_TIMEWAIT ||
		    (record->remote_qpn && !names_qp(conn, record)) ||
		    (conn->peer_qpn && record->qp.qp_num && record->qp.qp_num != conn->peer_qpn);
	spin_unlock(&trunk->lock);
	if (has_ended)
		answer_record(trunk, NULL, &no_conn);
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
	keep_peer_qp(conn, &record->qp);
	return rca_conn_set_path(conn, path, conn->trunk->sgid_attr);
}

/* Pass the REQ to its listener. Returns 0 or the negative errno of the listener. */
static int route_req(struct rca_trunk_conn *conn, const struct rca_trunk_record *record,
		     const struct sa_path_rec *path)
{
	struct rca_trunk *trunk = conn->trunk;
	struct rca_tp_request req = {
		.tp = &rca_tp_trunk,
		.ca_guid = trunk->ca_guid,
		.conn.qp_type = record->qp_type,
		.service_id = record->service_id,
		.port_num = trunk->key.peer.port_num,
		.path = path,
		.sgid_attr = trunk->sgid_attr,
		.pkey = be16_to_cpu(path->pkey),
	};
	struct private_data buf;

	set_tp_conn_qp(&req.conn, &record->qp);
	set_private_data(&req.conn, &buf, IB_CM_REQ_PRIVATE_DATA_SIZE, record);
	/* During the unload of the module, the peer has to use ib_cm. */
	if (!rca_trunks_enabled())
		return -EADDRNOTAVAIL;
	return callbacks->request_for(trunk->dev, conn, &req);
}

/*
 * Answer a refused REQ. @conn: its connection, which has no other user, and which a callback may
 * have rejected; NULL: there is none.
 */
static void refuse_req(struct rca_trunk *trunk, u32 number, struct rca_trunk_conn *conn, int err)
{
	struct rca_trunk_record record = { .type = RCA_RECORD_REJ, .conn = number };

	if (conn)
		rca_conn_forget(conn);
	if (conn && conn->state == RCA_CONN_CLOSED) {
		spin_lock(&trunk->lock);
		rca_conn_abandon(conn);
		spin_unlock(&trunk->lock);
		return;
	}
	switch (err) {
	case -ENOMEM:
		record.type = RCA_RECORD_HELD;
		record.delay_ms = RCA_CONN_HELD_MS;
		break;
	case -EBUSY:	/* the peer repeats the REQ with another number */
		record.reason = IB_CM_REJ_STALE_CONN;
		break;
	case -EADDRNOTAVAIL:
		record.reason = IB_CM_REJ_INVALID_SERVICE_ID;
		break;
	default:
		record.reason = IB_CM_REJ_CONSUMER_DEFINED;
		break;
	}
	answer_record(trunk, conn, &record);
}

/*
 * A REQ with the number of a connection. Returns 0 if it is that of the connection, which was
 * repeated over another link; -EBUSY if it is of another one, or its connection has ended.
 */
static int handle_req_again(struct rca_trunk_conn *conn, const struct rca_trunk_record *record)
{
	if (conn->peer_qpn != record->qp.qp_num || conn->service_id != record->service_id)
		return -EBUSY;
	switch (conn->state) {
	case RCA_CONN_REQ_RCVD:
	case RCA_CONN_UP:
		return 0;
	case RCA_CONN_REP_SENT:
		rca_conn_send(conn, RCA_RECORD_REP);
		return 0;
	case RCA_CONN_CLOSED:
		if (!conn->reason)
			return -EBUSY;
		rca_conn_send(conn, RCA_RECORD_REJ);
		return 0;
	default:
		return -EBUSY;
	}
}

static int handle_req_record(struct rca_trunk *trunk, const struct rca_trunk_record *record)
{
	struct rca_trunk_conn *conn;
	struct sa_path_rec path;
	int ret;

	rca_trunk_count_one(trunk, RCA_STAT_REQUEST);
	/* The peer may only use odd numbers if this host uses even ones, and vice versa. */
	if ((record->conn & 1) == trunk->odd)
		return -EPROTO;
	spin_lock(&trunk->lock);
	conn = xa_load(&trunk->conns, record->conn);
	ret = conn ? handle_req_again(conn, record) : -ENOMEM;
	spin_unlock(&trunk->lock);
	if (!ret)
		return 0;
	if (!conn)
		conn = rca_conn_alloc(trunk, record->conn, GFP_ATOMIC | __GFP_NOWARN);
	else
		conn = NULL;	/* of an older request */
	if (!conn) {
		refuse_req(trunk, record->conn, NULL, ret);
		return 0;
	}
	ret = read_req(conn, record, &path);
	if (!ret)
		ret = rca_conn_add(conn, GFP_ATOMIC | __GFP_NOWARN);
	if (!ret)
		ret = route_req(conn, record, &path);
	if (ret)
		refuse_req(trunk, record->conn, conn, ret);
	return 0;
}

/* Handle a record about a connection that has ended at this host. */
static void handle_unknown(struct rca_trunk *trunk, const struct rca_trunk_record *record)
{
	const struct rca_trunk_record drep = { .type = RCA_RECORD_DREP, .conn = record->conn };
	const struct rca_trunk_record no_conn = no_connection(record);

	if (record->type == RCA_RECORD_DREQ && !READ_ONCE(trunk->no_drep))
		answer_record(trunk, NULL, &drep);
	else if (record->type == RCA_RECORD_REP || record->type == RCA_RECORD_ASK)
		answer_record(trunk, NULL, &no_conn);
}

static void handle_known(struct rca_trunk_conn *conn, const struct rca_trunk_record *record)
{
	switch (record->type) {
	case RCA_RECORD_REP:
		handle_rep(conn, record);
		break;
	case RCA_RECORD_RTU:
		handle_rtu(conn);
		break;
	case RCA_RECORD_REJ:
		handle_rej(conn, record);
		break;
	case RCA_RECORD_DREQ:
		handle_dreq(conn, record);
		break;
	case RCA_RECORD_DREP:
		handle_drep(conn);
		break;
	case RCA_RECORD_HELD:
		handle_held(conn, record);
		break;
	case RCA_RECORD_ASK:
		handle_ask(conn, record);
		break;
	}
}

/* Handle a record about a connection. The caller holds a reference on @trunk. Does not sleep. */
RCA_VISIBLE_IF_KUNIT
int rca_conn_record(struct rca_trunk *trunk, const struct rca_trunk_record *record)
{
	struct rca_trunk_conn *conn;

	/* Ignore the types of later versions. */
	if (record->type == RCA_RECORD_PING || record->type >= RCA_RECORD_TYPES)
		return 0;
	if (!record->conn)
		return -EPROTO;
	if (record->type == RCA_RECORD_REQ)
		return handle_req_record(trunk, record);
	spin_lock(&trunk->lock);
	conn = rca_conn_get(trunk, record->conn);
	spin_unlock(&trunk->lock);
	if (!conn) {
		handle_unknown(trunk, record);
		return 0;
	}
	handle_known(conn, record);
	spin_lock(&trunk->lock);
	rca_conn_callback_done(conn);
	spin_unlock(&trunk->lock);
	return 0;
}

/*
 * The frames of the peer. They are handled in the work of the link (link_qp.c), one at a time.
 *
 * Any error ends the link: the work of its trunk destroys the QP, see open.c. The completions of a
 * drained QP are errors, too. Frames that were received before are handled until the QP is drained:
 * the peer knows that this host has them in memory, and opens no other link for them.
 *
 * Locking: rca_trunk.lock for the credits.
 */

/* Returns 0, or an errno if the record is refused. */
static int handle_record(struct rca_trunk_link *link, const struct rca_trunk_record *record)
{
	struct rca_trunk *trunk = link->trunk;

	if (record->type != RCA_RECORD_PING)
		return rca_conn_record(trunk, record);
	spin_lock(&trunk->lock);
	rca_credits_ask_ack(&link->credits);
	spin_unlock(&trunk->lock);
	return 0;
}

/* Returns 0, or an errno if a record is malformed or refused. */
static int handle_records(struct rca_trunk_link *link, const u8 *data, u16 len, u8 count)
{
	struct rca_trunk_record record;
	int used, ret;

	while (count--) {
		used = rca_record_unpack(data, len, &record);
		if (used < 0)
			return used;
		ret = handle_record(link, &record);
		if (ret)
			return ret;
		data += used;
		len -= used;
	}
	return len ? -EPROTO : 0;
}

/*
 * Returns 0; -EBADMSG: the frame is not from the peer; another errno: it is malformed. An RC QP
 * accepts packets from any sender that knows its number, but only the peer knows the cookie. The
 * first frame of the peer proves that the QP works.
 */
static int receive_frame(struct rca_trunk_link *link, const u8 *data, u32 len)
{
	struct rca_trunk *trunk = link->trunk;
	struct rca_frame_hdr hdr;
	u16 granted;
	int ret;

	if (rca_frame_hdr_unpack(data, len, &hdr))
		return -EBADMSG;
	spin_lock(&trunk->lock);
	granted = link->credits.granted;
	ret = rca_credits_receive(&link->credits, &hdr);
	if (!ret) {
		if (link->credits.granted != granted) {
			link->owed = rca_credits_owed(&link->credits);
			link->owed_at = jiffies;
		}
		if (!trunk->up && !link->closed) {
			WRITE_ONCE(trunk->up, true);	/* pairs with rca_link_handler() */
			rca_link_tell(link, RCA_LINK_UP);
		}
		trunk->received += !!hdr.records;
		link->used_at = jiffies;
		trunk->heard_at = jiffies;
		trunk->probes = 0;
	}
	spin_unlock(&trunk->lock);
	return ret ?: handle_records(link, data + RCA_FRAME_HDR_LEN, hdr.len - RCA_FRAME_HDR_LEN,
				     hdr.records);
}

/* Post the buffer of a handled frame again. Returns 0 or a negative errno. */
static int post_receive_again(struct rca_trunk_link *link, struct rca_link_buf *buf)
{
	struct rca_trunk *trunk = link->trunk;
	int ret = 0;

	spin_lock(&trunk->lock);
	if (!link->closed)
		ret = rca_link_post_receive(link, buf);
	if (!link->closed && !ret)
		rca_credits_posted(&link->credits, 1);
	spin_unlock(&trunk->lock);
	return ret;
}

/*
 * End the link of a frame that is not the peer's, or malformed. After several such links no other
 * one is opened for some time: requests go over ib_cm, and what else has to be sent waits.
 */
static void end_bad_link(struct rca_trunk_link *link, const char *why)
{
	struct rca_trunk *trunk = link->trunk;
	u64 until;

	if (rca_link_is_ending(link))
		return;
	rca_trunk_count_one(trunk, RCA_STAT_BAD_FRAME);
	until = rca_peers_bad_frame(&trunk->key.peer);
	if (until) {
		spin_lock(&trunk->lock);
		trunk->barred_until = until;
		spin_unlock(&trunk->lock);
		callbacks->trunk_barred(trunk->dev, &trunk->key.peer);
	}
	rca_trunk_because(trunk, why);
	rca_link_tell(link, RCA_LINK_END);
}

/* Completion handler of a receive. */
void rca_link_receive_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rca_link_buf *buf = container_of(wc->wr_cqe, struct rca_link_buf, cqe);
	struct rca_trunk_link *link = buf->link;
	int ret;

	if (wc->status != IB_WC_SUCCESS) {
		rca_trunk_because(link->trunk, "the QP has failed");
		rca_link_tell(link, RCA_LINK_END);
		return;
	}
	ib_dma_sync_single_for_cpu(rca_link_ibdev(link), buf->dma, RCA_FRAME_MAX, DMA_FROM_DEVICE);
	if (trace_rca_frame_enabled())
		rca_trunk_trace_frame(link, false, buf->data, wc->byte_len);
	ret = receive_frame(link, buf->data, wc->byte_len);
	if (ret) {
		end_bad_link(link, ret == -EBADMSG ? "a frame was not the peer's" :
						     "a frame was malformed");
	} else if (post_receive_again(link, buf)) {
		rca_trunk_because(link->trunk, "a buffer could not be posted");
		rca_link_tell(link, RCA_LINK_END);
	}
}

/*
 * Ends of connections without a message from the peer: expired timers, and the loss of the session.
 *
 * A trunk may have any number of connections, of all users. A loop over them calls back one owner
 * at a time, or visits BATCH connections, without letting others take the lock.
 *
 * Locking: rca_trunk.lock, which is not held while an owner is called back.
 */

/* Connections that a loop visits before it lets others take the lock, and run. */
#define BATCH	256

/* Count a connection that a loop has visited. May release and retake the lock of the trunk. */
static void count_visited(struct rca_trunk *trunk, unsigned int *count)
{
	if (++*count % BATCH)
		return;
	spin_unlock(&trunk->lock);
	cond_resched();
	spin_lock(&trunk->lock);
}

/* Fill in the event that reports an expired timer, and set the next state. */
static void fill_timeout_event(struct rca_trunk_conn *conn, struct rca_tp_event *event)
{
	switch (conn->state) {
	case RCA_CONN_REP_SENT:
		event->input = RCA_IN_REP_TIMEOUT;
		event->status = -ETIMEDOUT;
		break;
	case RCA_CONN_TIMEWAIT:
		conn->state = RCA_CONN_CLOSED;
		event->input = RCA_IN_TIMEWAIT_EXIT;
		break;
	case RCA_CONN_DREQ_SENT:
		rca_conn_enter_timewait(conn);
		event->input = conn->told ? RCA_IN_DREP : RCA_IN_DREQ_TIMEOUT;
		event->status = conn->told ? 0 : -ETIMEDOUT;
		break;
	default:
		rca_conn_give_up(conn);
		event->input = RCA_IN_REQ_TIMEOUT;
		event->status = -ETIMEDOUT;
		break;
	}
}

/* Fill in the event that reports the loss of the session: the peer lacks the connection now. */
static void fill_loss_event(struct rca_trunk_conn *conn, struct rca_tp_event *event)
{
	rca_conn_withdraw(conn);
	if (conn->state == RCA_CONN_UP || conn->state == RCA_CONN_DREQ_SENT) {
		rca_conn_enter_timewait(conn);
		event->input = RCA_IN_DREQ_TIMEOUT;
		/* The DREQ that ended the session may have overtaken that of the connection. */
		event->status = conn->trunk->peer_ended ? 0 : -ETIMEDOUT;
	} else {
		/* The owner repeats a REQ that fails so, over ib_cm or another trunk. */
		rca_conn_stop_timer(conn);
		conn->state = RCA_CONN_CLOSED;
		event->input = RCA_IN_REJ;
		event->status = IB_CM_REJ_STALE_CONN;
	}
}

/* Report an event to the owner. Releases and retakes the lock of the trunk. */
static void tell_owner(struct rca_trunk_conn *conn, const struct rca_tp_event *event)
{
	struct rca_trunk *trunk = conn->trunk;

	spin_unlock(&trunk->lock);
	call_owner(conn, event);
	cond_resched();
	spin_lock(&trunk->lock);
	rca_conn_callback_done(conn);
}

/*
 * Handle the first timer; returns false unless it has expired. @next: its time, or 0 without
 * timers.
 */
static bool handle_first_timer(struct rca_trunk *trunk, u64 *next)
{
	struct rca_tp_event event = {};
	struct rca_trunk_conn *conn;
	struct timerqueue_node *node;

	lockdep_assert_held(&trunk->lock);
	node = timerqueue_getnext(&trunk->timers);
	*next = node ? node->expires : 0;
	if (!node || time_after64(*next, get_jiffies_64()))
		return false;
	conn = container_of(node, struct rca_trunk_conn, timer);
	rca_conn_stop_timer(conn);
	conn->callbacks++;
	if (!rca_conn_has_session(conn) && conn->state != RCA_CONN_TIMEWAIT)
		fill_loss_event(conn, &event);
	else
		fill_timeout_event(conn, &event);
	tell_owner(conn, &event);
	return true;
}

/* Work of &rca_trunk.timer. */
void rca_conn_timer_work(struct work_struct *work)
{
	struct rca_trunk *trunk = container_of(to_delayed_work(work), struct rca_trunk, timer);
	u64 next;

	spin_lock(&trunk->lock);
	trunk->timer_at = 0;
	while (handle_first_timer(trunk, &next))
		;
	if (next)
		rca_conn_wake_at(trunk, next);
	spin_unlock(&trunk->lock);
	rca_trunk_put(trunk);	/* got in rca_conn_wake_at() */
}

/* Drop the unsent records of all connections: without a session no other one is added. */
static void drop_waiting(struct rca_trunk *trunk)
{
	struct rca_trunk_conn *conn;
	unsigned int count = 0;

	lockdep_assert_held(&trunk->lock);
	while (!list_empty(&trunk->waiting)) {
		conn = list_first_entry(&trunk->waiting, struct rca_trunk_conn, waiting);
		list_del_init(&conn->waiting);
		rca_conn_withdraw(conn);
		rca_conn_put_locked(conn);	/* got in rca_conn_send() */
		count_visited(trunk, &count);
	}
}

/* Report the loss of the session to the owner. Releases and retakes the lock of the trunk. */
static void lose_conn(struct rca_trunk_conn *conn)
{
	struct rca_tp_event event = {};

	conn->callbacks++;
	fill_loss_event(conn, &event);
	tell_owner(conn, &event);
}

static bool has_unsent_req(const struct rca_trunk_conn *conn)
{
	return !conn->is_answer && conn->to_send & BIT(RCA_RECORD_REQ);
}

/* Attempts to open a link after which no sent REQ waits for an answer over the trunk. */
#define MOST_TRIES	2

/*
 * No link can be opened: end the REQs that wait for one, so their owners repeat them over ib_cm or
 * another trunk; after MOST_TRIES attempts, also those that were sent and not answered. The peer
 * may have these: QP numbers tell it that a REQ over ib_cm is the same. The caller is the work of
 * @trunk, with a reference; no other code reads the list while there is no link.
 */
void rca_conn_not_linked(struct rca_trunk *trunk)
{
	struct rca_trunk_conn *conn;
	unsigned long number = 0;
	unsigned int count = 0;
	LIST_HEAD(kept);

	spin_lock(&trunk->lock);
	while (!list_empty(&trunk->waiting)) {
		conn = list_first_entry(&trunk->waiting, struct rca_trunk_conn, waiting);
		/* Set the others aside, to visit each once however many REQs follow. */
		if (has_unsent_req(conn))
			lose_conn(conn);
		else
			list_move_tail(&conn->waiting, &kept);
		count_visited(trunk, &count);
	}
	list_splice(&kept, &trunk->waiting);
	while ((trunk->tries >= MOST_TRIES || trunk->former || rca_trunk_is_barred(trunk)) &&
	       (conn = xa_find(&trunk->conns, &number, ULONG_MAX, XA_PRESENT))) {
		number++;
		if (conn->state == RCA_CONN_REQ_SENT)
			lose_conn(conn);
		count_visited(trunk, &count);
	}
	spin_unlock(&trunk->lock);
}

static bool conn_is_lost(const struct rca_trunk_conn *conn)
{
	return conn->state != RCA_CONN_NEW && conn->state < RCA_CONN_TIMEWAIT;
}

/* End all connections of a trunk, which has no session now. The caller holds a reference on it. */
RCA_VISIBLE_IF_KUNIT void rca_conn_lost(struct rca_trunk *trunk)
{
	struct rca_trunk_conn *conn;
	unsigned long number = 0;
	unsigned int count = 0;

	spin_lock(&trunk->lock);
	drop_waiting(trunk);
	while ((conn = xa_find(&trunk->conns, &number, ULONG_MAX, XA_PRESENT))) {
		number++;
		rca_conn_forget(conn);
		/* A connection still being set up fails when it sends its REQ. */
		if (conn_is_lost(conn))
			lose_conn(conn);
		else if (conn->state == RCA_CONN_NEW)
			WRITE_ONCE(conn->session, 0);
		count_visited(trunk, &count);
	}
	spin_unlock(&trunk->lock);
}

/* What a connection says first over another link, which its peer may or may not have heard. */
static u16 last_word(const struct rca_trunk_conn *conn)
{
	switch (conn->state) {
	case RCA_CONN_REQ_SENT:
		return conn->held ? 0 : BIT(RCA_RECORD_REQ);
	case RCA_CONN_REP_SENT:
		return BIT(RCA_RECORD_REP);
	case RCA_CONN_DREQ_SENT:
		return BIT(RCA_RECORD_DREQ);
	case RCA_CONN_REQ_RCVD:
	case RCA_CONN_REP_RCVD:
	case RCA_CONN_UP:
		return BIT(RCA_RECORD_ASK);
	default:
		return 0;
	}
}

/*
 * Another link is connected: derive from the state of each connection what has to be said over it.
 * Afterwards both ends agree on which connections there are. From the work of @trunk; sleeps.
 */
void rca_conn_say_again(struct rca_trunk *trunk)
{
	struct rca_trunk_conn *conn;
	unsigned long number = 0;
	unsigned int count = 0;

	spin_lock(&trunk->lock);
	while ((conn = xa_find(&trunk->conns, &number, ULONG_MAX, XA_PRESENT))) {
		number++;
		conn->to_send |= last_word(conn);
		if (conn->to_send && list_empty(&conn->waiting)) {
			conn->ref++;	/* put in rca_link_fill() */
			list_add_tail(&conn->waiting, &trunk->waiting);
		}
		count_visited(trunk, &count);
	}
	spin_unlock(&trunk->lock);
}

/*
 * The session of a trunk: the time in which both ends have the same loads of their modules. It is
 * lost if the peer has ended, see open.c. Its connections end before another one begins.
 *
 * Locking: rca_trunk.lock. Only the work of a trunk begins and ends its session, so it reads the
 * number without the lock.
 */

/* End the session of a trunk, whose link has no connected QP. From the work of @trunk; sleeps. */
void rca_trunk_lose_session(struct rca_trunk *trunk)
{
	bool had_users;
	u32 number;

	spin_lock(&trunk->lock);
	number = trunk->session;
	had_users = number && trunk->users;
	trunk->session = 0;
	trunk->former = false;
	trunk->last = 0;
	trunk->tries = 0;
	trunk->wanted = false;
	trunk->unclear = false;
	trunk->end_lost = false;
	spin_unlock(&trunk->lock);
	rca_trunk_lost(trunk, number, had_users);
	if (had_users)
		rca_conn_lost(trunk);
	spin_lock(&trunk->lock);
	trunk->peer_ended = false;
	spin_unlock(&trunk->lock);
}

/* The same number at both ends, which is not 0. */
static u32 number_of_session(const u8 *peer_boot_id)
{
	u8 boot_id[RCA_BOOT_ID_LEN];
	__be32 own, peer;

	rca_peers_boot_id(boot_id);
	memcpy(&own, boot_id, sizeof(own));
	memcpy(&peer, peer_boot_id, sizeof(peer));
	return be32_to_cpu(own) + be32_to_cpu(peer) ?: 1;
}

/*
 * The QP of @link, which has sent nothing yet, is about to be connected: continue the session of
 * the trunk, or begin another one with another load of the peer's module. From the work of @trunk;
 * sleeps.
 */
void rca_trunk_join_session(struct rca_trunk *trunk, struct rca_trunk_link *link)
{
	const struct rca_hello *hello = &link->peer.hello;

	if (trunk->session && (trunk->former || !rca_hello_is_of(hello, trunk->boot_id))) {
		rca_trunk_because(trunk, trunk->former ? "this machine was copied" :
							 "the peer's module was loaded again");
		rca_trunk_lose_session(trunk);
	} else if (trunk->session) {
		rca_trunk_count_one(trunk, RCA_STAT_REPLACED);
	}
	spin_lock(&trunk->lock);
	if (!trunk->session) {
		trunk->session = number_of_session(hello->boot_id);
		memcpy(trunk->boot_id, hello->boot_id, sizeof(trunk->boot_id));
		trunk->hello = *hello;
		trunk->has_heard = false;
		trunk->ca_guid = hello->ca_guid;
		trunk->odd = rca_trunk_is_own(&trunk->key.peer, hello) ? !trunk->key.passive :
				!rca_trunk_peer_wins(&trunk->key.peer, hello);
		/* The peer may still have connections that this host has forgotten. */
		trunk->next_number = (get_random_u32() & ~1U) | trunk->odd;
		if (!trunk->next_number)	/* 0 is none */
			trunk->next_number = 2;
		trunk->heard_at = jiffies;
	}
	WRITE_ONCE(trunk->no_drep, hello->features & RCA_HELLO_NO_DREP);
	rca_credits_init(&link->credits, link->cookie, link->peer.cookie);
	trunk->last = link->peer.cookie;
	spin_unlock(&trunk->lock);
}
