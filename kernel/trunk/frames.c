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
 * holds the contents of its records until they are answered, so waiting needs no allocation, a
 * callback can always answer, and the next link can send again what the last one has lost.
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

	ib_dma_sync_single_for_device(rca_link_ibdev(link), buf->dma, RCA_FRAME_MAX,
				      DMA_FROM_DEVICE);
	return ib_post_recv(link->qp, &wr, NULL);
}

static int post_frame(struct rca_trunk_link *link, struct rca_link_buf *buf, u16 len)
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
	ib_dma_sync_single_for_device(rca_link_ibdev(link), buf->dma, len, DMA_TO_DEVICE);
	link->under_way++;
	link->posted++;
	if (!link->watched) {
		link->watched = true;
		link->due = link->posted;
		rca_link_run_overdue(link, RCA_LINK_OVERDUE);
	}
	return ib_post_send(link->qp, &wr, NULL);
}

/* A frame may have so many records of one connection: an RTU, and a DREQ or DREP. */
#define OF_ONE	2

/* Send the open frame, which may have no records, with rca_credits_may_send(). */
static int send_frame(struct rca_trunk_link *link)
{
	struct rca_link_buf *buf = &link->frames[link->posted % RCA_LINK_FRAMES];
	struct rca_frame_hdr hdr = {
		.number = link->trunk->sent += !!link->filled,
		.len = RCA_FRAME_HDR_LEN + link->filling,
		.records = link->filled,
	};

	if (link->filled) {
		link->used_at = jiffies;
		WRITE_ONCE(link->shared, link->filled > OF_ONE);
	}
	buf->says = link->says;
	link->says = false;
	link->filling = 0;
	link->filled = 0;
	rca_credits_send(&link->credits, &hdr);
	if (!link->owed && rca_credits_owed(&link->credits)) {
		link->owed = true;
		link->owed_at = jiffies;
	}
	rca_frame_hdr_pack(buf->data, &hdr);
	return post_frame(link, buf, hdr.len);
}

/* Completion handler of a SEND. */
void rca_link_send_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rca_link_buf *buf = container_of(wc->wr_cqe, struct rca_link_buf, cqe);
	struct rca_trunk_link *link = buf->link;

	lockdep_assert_held(&link->trunk->lock);
	link->under_way--;
	if (wc->status == IB_WC_SUCCESS)
		return;
	link->unsent |= buf->says;
	rca_trunk_because(link->trunk, "the QP has failed");
	rca_link_tell(link, RCA_LINK_END);
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
	lockdep_assert_held(&link->trunk->lock);
	if (link->closed)
		return true;
	return link->under_way && (link->filled || !list_empty(&link->trunk->waiting) ||
				   rca_credits_ack_due(&link->credits));
}

/* Are frames of the link sent? If one is lost, another link follows. */
static bool link_works(const struct rca_trunk_link *link)
{
	return link->ready && !link->closed;
}

/* May another frame be sent now? */
static bool link_may_send(const struct rca_trunk_link *link)
{
	return link_works(link) && link->under_way < RCA_LINK_SENDS &&
	       rca_credits_may_send(&link->credits);
}

/* A frame could not be posted. */
static void handle_post_failure(struct rca_trunk_link *link)
{
	link->unsent = true;
	rca_trunk_because(link->trunk, "a frame could not be posted");
	rca_link_tell(link, RCA_LINK_END);
}

/* Append a record to the open frame. Returns 0 or a negative errno; -EMSGSIZE: no room. */
static int append_record(struct rca_trunk_link *link, const struct rca_trunk_record *record)
{
	u8 *data = link->frames[link->posted % RCA_LINK_FRAMES].data + RCA_FRAME_HDR_LEN;
	int len;

	if (link->filled == U8_MAX)
		return -EMSGSIZE;
	len = rca_record_pack(data + link->filling,
			      RCA_FRAME_MAX - RCA_FRAME_HDR_LEN - link->filling, record);
	if (len < 0)
		return len;
	link->filling += len;
	link->filled++;
	link->says |= record->type != RCA_RECORD_PING;
	return 0;
}

/*
 * Append a record to the open frame of a link, which rca_link_push() sends. A full frame is sent
 * before. Returns 0; -EAGAIN: it cannot be sent now; another errno: the record is invalid.
 */
int rca_link_add(struct rca_trunk_link *link, const struct rca_trunk_record *record)
{
	int ret = append_record(link, record);

	lockdep_assert_held(&link->trunk->lock);
	if (ret != -EMSGSIZE)
		return ret;
	if (!link_may_send(link))
		return -EAGAIN;
	if (!send_frame(link))
		return append_record(link, record);
	handle_post_failure(link);
	return -EAGAIN;
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
	case RCA_RECORD_ASK:
		record->qp.qp_num = conn->qp.qp_num;
		record->remote_qpn = conn->peer_qpn;
		break;
	}
}

/* Put the records of a connection into frames. Returns false if a record found no room. */
static bool fill_from_conn(struct rca_trunk_link *link, struct rca_trunk_conn *conn)
{
	struct rca_trunk_record record;
	u8 type;
	int ret;

	while (conn->to_send) {
		/* The order of the types puts an RTU before a DREQ. */
		type = __ffs(conn->to_send);
		make_record(conn, type, &record);
		ret = rca_link_add(link, &record);
		if (ret == -EAGAIN)
			return false;
		WARN_ON_ONCE(ret);	/* its fields have been checked */
		conn->to_send &= ~BIT(type);
		if (type == RCA_RECORD_DREQ && conn->state == RCA_CONN_DREQ_SENT &&
		    link_works(link)) {
			conn->told = true;
			rca_conn_set_timer(conn, 0);	/* reports the end */
		}
	}
	return true;
}

/* Put the records that wait into the frames of a link. Returns false if one found no room. */
RCA_VISIBLE_IF_KUNIT bool rca_link_fill(struct rca_trunk_link *link)
{
	struct rca_trunk *trunk = link->trunk;
	struct rca_trunk_conn *conn;

	lockdep_assert_held(&trunk->lock);
	while (!list_empty(&trunk->waiting)) {
		conn = list_first_entry(&trunk->waiting, struct rca_trunk_conn, waiting);
		if (!fill_from_conn(link, conn))
			return false;
		list_del_init(&conn->waiting);
		rca_conn_put_locked(conn);	/* got in rca_conn_send() */
	}
	return true;
}

/*
 * Send all frames for which the peer has room, once the link is ready. The last one stays open for
 * more records while a SEND is under way.
 */
void rca_link_push(struct rca_trunk_link *link)
{
	lockdep_assert_held(&link->trunk->lock);
	if (!link_works(link))
		return;
	rca_link_fill(link);
	if (link_may_send(link) && ((link->filled && !link->under_way) ||
				    rca_credits_ack_due(&link->credits)) && send_frame(link))
		handle_post_failure(link);
}

/*
 * Send the records that wait: now, or by the work of the link; without a link, one is opened for
 * them.
 */
static void push_waiting(struct rca_trunk *trunk)
{
	struct rca_trunk_link *link = trunk->link;

	lockdep_assert_held(&trunk->lock);
	if (trunk->handling)
		return;
	if (!link || !link_works(link)) {
		rca_open_again(trunk);
		return;
	}
	WRITE_ONCE(link->pushes, link->pushes + 1);
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
	rca_link_add(trunk->link, &ping);	/* without room, other frames are under way */
	push_waiting(trunk);
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
		conn->ref++;	/* put in rca_link_fill() */
		list_add_tail(&conn->waiting, &trunk->waiting);
	}
	push_waiting(trunk);
}

/*
 * Send a DREQ. Returns whether it is in a frame: if the link loses that, the peer asks for the
 * connection over another one. Otherwise it waits for a frame. The caller is the owner, and holds a
 * reference on the trunk.
 */
bool rca_conn_send_dreq(struct rca_trunk_conn *conn)
{
	struct rca_trunk_link *link = conn->trunk->link;

	rca_conn_send(conn, RCA_RECORD_DREQ);
	if (!rca_conn_has_session(conn) || !link || !link_works(link) ||
	    !fill_from_conn(link, conn))
		return false;
	if (!list_empty(&conn->waiting)) {
		list_del_init(&conn->waiting);
		rca_conn_put_locked(conn);	/* got in rca_conn_send() */
	}
	return true;
}

/*
 * Give up an unanswered REQ. If the peer does not have it yet, drop it. The caller holds a
 * reference on the trunk.
 */
void rca_conn_give_up(struct rca_trunk_conn *conn)
{
	bool unsent = conn->to_send & BIT(RCA_RECORD_REQ);

	lockdep_assert_held(&conn->trunk->lock);
	conn->state = RCA_CONN_CLOSED;
	rca_conn_withdraw(conn);
	if (unsent)
		return;
	conn->reason = IB_CM_REJ_TIMEOUT;
	rca_conn_send(conn, RCA_RECORD_REJ);
}
