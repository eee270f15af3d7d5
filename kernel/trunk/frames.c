// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The sending side of a trunk: records of its connections are put into frames, and frames are
 * posted to the QP of its link.
 *
 * The open frame is sent at once if no SEND is under way. Otherwise the work of the link
 * (link_qp.c) sends it after the completion of that SEND, with the records added meanwhile: no
 * timer delays a record. At most RCA_LINK_SENDS frames are under way, all but one of them full.
 *
 * An adapter requests a lost SEND again as soon as a later one arrives; otherwise the sender
 * repeats it only after the timeout of the QP. So another frame is sent if a SEND is under way for
 * some milliseconds.
 *
 * A connection with unsent records is in a list of its trunk until a frame has room for them. It
 * holds the contents of its records, so waiting needs no allocation, and a callback can always
 * answer.
 *
 * Locking: rca_trunk.lock; process context.
 */
#include "trunk/trunk.h"

#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/lockdep.h>
#include <linux/slab.h>
#include <rdma/ib_cm.h>

#include "lib/testing.h"
#include "lib/trace.h"
#include "transport/transport.h"

DEFINE_PER_CPU(unsigned int, rca_trunk_pushes);

static struct ib_device *ibdev_of(const struct rca_trunk_link *link)
{
	return link->trunk->dev->ibdev;
}


int rca_link_post_receive(struct rca_trunk_link *link, struct rca_link_buf *buf)
{
	struct ib_sge sge = {
		.addr = buf->dma,
		.length = RCA_FRAME_MAX,
		.lkey = link->pd->local_dma_lkey,
	};
	struct ib_recv_wr wr = {
		.wr_cqe = &buf->cqe,
		.sg_list = &sge,
		.num_sge = 1,
	};

	ib_dma_sync_single_for_device(ibdev_of(link), buf->dma, RCA_FRAME_MAX, DMA_FROM_DEVICE);
	return ib_post_recv(link->qp, &wr, NULL);
}

static int post_send(struct rca_trunk_link *link, struct rca_link_buf *buf, u16 len)
{
	struct ib_sge sge = {
		.addr = buf->dma,
		.length = len,
		.lkey = link->pd->local_dma_lkey,
	};
	struct ib_send_wr wr = {
		.wr_cqe = &buf->cqe,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IB_WR_SEND,
		.send_flags = IB_SEND_SIGNALED,
	};

	lockdep_assert_held(&link->trunk->lock);
	if (trace_rca_frame_enabled())
		rca_trunk_trace_frame(link, true, buf->data, len);
	ib_dma_sync_single_for_device(ibdev_of(link), buf->dma, len, DMA_TO_DEVICE);
	link->under_way++;
	link->posted++;
	if (!delayed_work_pending(&link->overdue)) {
		link->due = link->posted;
		rca_link_run_overdue(link);
	}
	return ib_post_send(link->qp, &wr, NULL);
}

static int send_frame(struct rca_trunk_link *link)
{
	struct rca_session *session = &link->trunk->session;
	unsigned int slot = rca_trunk_slot(session->next);
	struct rca_frame_hdr hdr = {
		.len = link->trunk->lens[slot],
		.records = link->trunk->records[slot],
	};

	link->used_at = jiffies;
	WRITE_ONCE(link->shared, hdr.records > 1);
	rca_session_send(session, false, &hdr);
	rca_frame_hdr_pack(link->sends[slot].data, &hdr);
	return post_send(link, &link->sends[slot], hdr.len);
}

/* There is a buffer for each SEND that may be under way. */
static int send_ack(struct rca_trunk_link *link)
{
	unsigned int slot = find_first_zero_bit(&link->acks_under_way, RCA_LINK_SENDS);
	struct rca_frame_hdr hdr = { .len = RCA_FRAME_HDR_LEN };

	__set_bit(slot, &link->acks_under_way);
	rca_session_send(&link->trunk->session, true, &hdr);
	rca_frame_hdr_pack(link->acks[slot].data, &hdr);
	return post_send(link, &link->acks[slot], hdr.len);
}

static bool is_ack(const struct rca_trunk_link *link, const struct rca_link_buf *buf)
{
	return buf >= link->acks && buf < link->acks + RCA_LINK_SENDS;
}

/* Completion handler of a SEND. */
void rca_link_send_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rca_link_buf *buf = container_of(wc->wr_cqe, struct rca_link_buf, cqe);
	struct rca_trunk_link *link = buf->link;
	struct rca_trunk *trunk = link->trunk;

	lockdep_assert_held(&trunk->lock);
	link->under_way--;
	if (is_ack(link, buf))
		__clear_bit(buf - link->acks, &link->acks_under_way);
	else if (wc->status == IB_WC_SUCCESS)
		trunk->sent++;	/* SENDs complete in order */
	if (wc->status != IB_WC_SUCCESS) {
		rca_trunk_because(trunk, "the QP has failed");
		rca_link_tell(link, RCA_LINK_END);
	}
}

/* Handle the completed SENDs of a link, whose queues exist. */
void rca_link_reap_sends(struct rca_trunk_link *link)
{
	struct ib_wc wcs[RCA_LINK_SENDS];
	int count, i;

	lockdep_assert_held(&link->trunk->lock);
	do {
		count = ib_poll_cq(link->send_cq, ARRAY_SIZE(wcs), wcs);
		for (i = 0; i < count; i++)
			wcs[i].wr_cqe->done(link->send_cq, &wcs[i]);
	} while (count == ARRAY_SIZE(wcs));
}

/* Must the work run at the next completion of a SEND, to send more or to drain the QP? */
bool rca_link_needs_completion(const struct rca_trunk_link *link)
{
	const struct rca_trunk *trunk = link->trunk;

	lockdep_assert_held(&trunk->lock);
	if (link->closed)
		return true;
	return link->under_way && (trunk->filled || !list_empty(&trunk->waiting) ||
				   rca_session_may_send(&trunk->session) ||
				   rca_session_ack_due(&trunk->session));
}

/* Records that have private data. */
#define WITH_DATA	(BIT(RCA_RECORD_REQ) | BIT(RCA_RECORD_REP) | BIT(RCA_RECORD_REJ))

static void make_record(const struct rca_trunk_conn *conn, u8 type,
			struct rca_trunk_record *record)
{
	*record = (struct rca_trunk_record) { .type = type, .conn = conn->number };
	if (BIT(type) & WITH_DATA) {
		record->private_data = conn->data;
		record->private_len = conn->data_len;
	}
	switch (type) {
	case RCA_RECORD_REQ:
		record->service_id = conn->service_id;
		record->qp_type = conn->qp_type;
		record->qp = conn->qp;
		record->path = conn->path;
		break;
	case RCA_RECORD_REP:
		record->qp = conn->qp;
		record->ack_delay = conn->trunk->dev->ibdev->attrs.local_ca_ack_delay;
		break;
	case RCA_RECORD_REJ:
		record->reason = conn->reason;
		break;
	case RCA_RECORD_DREQ:
		record->remote_qpn = conn->peer_qpn;
		break;
	case RCA_RECORD_HELD:
		record->delay_ms = RCA_CONN_HELD_MS;
		break;
	}
}

static void drop_data(struct rca_trunk_conn *conn)
{
	kfree(conn->data);
	conn->data = NULL;
	conn->data_len = 0;
}

/* Put the records of a connection into frames. Returns false if a record found no room. */
static bool fill_from(struct rca_trunk_conn *conn)
{
	struct rca_trunk_record record;
	u8 type;
	int ret;

	while (conn->to_send) {
		/* The order of the types puts an RTU before a DREQ. */
		type = __ffs(conn->to_send);
		make_record(conn, type, &record);
		ret = rca_trunk_add(conn->trunk, &record);
		if (ret == -EAGAIN)
			return false;
		WARN_ON_ONCE(ret);	/* its fields have been checked */
		conn->to_send &= ~BIT(type);
		if (BIT(type) & WITH_DATA)
			drop_data(conn);
	}
	return true;
}

/* &rca_trunk_upcalls.fill. The caller holds a reference on @trunk. */
RCA_VISIBLE_IF_KUNIT void rca_conn_fill(struct rca_trunk *trunk)
{
	struct rca_trunk_conn *conn;

	lockdep_assert_held(&trunk->lock);
	while (!list_empty(&trunk->waiting)) {
		conn = list_first_entry(&trunk->waiting, struct rca_trunk_conn, waiting);
		if (!fill_from(conn))
			return;
		list_del_init(&conn->waiting);
		rca_conn_put_locked(conn);	/* got in rca_conn_send() */
	}
}

/* Send all frames for which the peer has room, once the link is ready. */
void rca_link_push(struct rca_trunk_link *link)
{
	struct rca_trunk *trunk = link->trunk;
	struct rca_session *session = &trunk->session;
	int ret = 0;

	lockdep_assert_held(&trunk->lock);
	if (!link->ready || link->closed)
		return;
	rca_conn_fill(trunk);
	while (link->under_way < RCA_LINK_SENDS && !ret) {
		/* The frame stays open for more records until it can be sent. */
		if (trunk->filled && session->next == session->sent + 1 && !link->under_way &&
		    rca_session_has_room(session))
			rca_trunk_close_frame(trunk);
		if (rca_session_may_send(session))
			ret = send_frame(link);
		else if (rca_session_ack_due(session))
			ret = send_ack(link);
		else
			break;
	}
	if (ret) {
		rca_trunk_because(trunk, "a frame could not be posted");
		rca_link_tell(link, RCA_LINK_END);
	}
}

/*
 * Sends the records that wait: now, or by the work of the link; without a link, one is opened for
 * them. Expects @trunk->lock to be held.
 */
static void push(struct rca_trunk *trunk)
{
	struct rca_trunk_link *link = trunk->link;

	lockdep_assert_held(&trunk->lock);
	this_cpu_inc(rca_trunk_pushes);
	if (trunk->handling)
		return;
	if (!link || !link->ready || link->closed) {
		rca_open_again(trunk);
		return;
	}
	if (link->under_way && !link->shared)
		rca_link_reap_sends(link);
	if (!link->under_way && !link->shared)
		rca_link_push(link);
	if (link->shared || (rca_link_needs_completion(link) && rca_link_arm_sends(link)))
		rca_link_run(link);
}

/* Ping the peer, which answers. If it is unreachable, the SEND fails, which ends the link. */
void rca_trunk_probe(struct rca_trunk *trunk)
{
	static const struct rca_trunk_record ping = { .type = RCA_RECORD_PING };

	lockdep_assert_held(&trunk->lock);
	rca_trunk_add(trunk, &ping);
	push(trunk);
}

/*
 * Send a record, made of members of @conn, as soon as a frame has room. The caller holds a
 * reference on the trunk.
 */
void rca_conn_send(struct rca_trunk_conn *conn, enum rca_record_type type)
{
	struct rca_trunk *trunk = conn->trunk;

	lockdep_assert_held(&trunk->lock);
	if (!rca_conn_has_session(conn))
		return;
	conn->to_send |= BIT(type);
	if (list_empty(&conn->waiting)) {
		conn->ref++;	/* put in rca_conn_fill() */
		list_add_tail(&conn->waiting, &trunk->waiting);
	}
	push(trunk);
}

/*
 * Give up an unanswered REQ. If the peer does not have it yet, drop it. The caller holds a
 * reference on the trunk.
 */
void rca_conn_give_up(struct rca_trunk_conn *conn)
{
	lockdep_assert_held(&conn->trunk->lock);
	conn->state = RCA_CONN_CLOSED;
	if (conn->to_send & BIT(RCA_RECORD_REQ)) {
		rca_conn_withdraw(conn);
		return;
	}
	conn->reason = IB_CM_REJ_TIMEOUT;
	rca_conn_send(conn, RCA_RECORD_REJ);
}
