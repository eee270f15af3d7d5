// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The frames on a link.
 *
 * A record goes into the frame that is being filled. The frame is sent at once if fewer than
 * RCA_LINK_SENDS frames are under way, else when one of them completes, with what came meanwhile:
 * no timer delays a record. Completions come in a worker, one at a time for each link.
 *
 * Any error ends the link: its work destroys the QP, see open.c. The completions of a QP that is
 * drained are errors, too.
 *
 * Locking: rca_trunk.lock for sending and for the session; process context.
 */
#include "trunk/link.h"

#include <linux/bitops.h>

#include "device/devices.h"
#include "trunk/trunk.h"

static struct ib_device *ibdev_of(const struct rca_trunk_link *link)
{
	return link->trunk->dev->ibdev;
}

/**
 * rca_link_post_receive() - give a receive buffer to the QP
 * @link: the link
 * @buf: the buffer
 *
 * Context: Process context. Does not sleep.
 * Return: 0 or a negative errno.
 */
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
	ib_dma_sync_single_for_device(ibdev_of(link), buf->dma, len, DMA_TO_DEVICE);
	link->under_way++;
	return ib_post_send(link->qp, &wr, NULL);
}

static unsigned int slot_of(u32 number)
{
	return number % RCA_SESSION_FRAMES;
}

static int send_frame(struct rca_trunk_link *link)
{
	struct rca_session *session = &link->trunk->session;
	unsigned int slot = slot_of(session->next);
	struct rca_frame_hdr hdr = {
		.len = link->lens[slot],
		.records = link->records[slot],
	};

	rca_session_send(session, false, &hdr);
	rca_frame_hdr_pack(link->sends[slot].data, &hdr);
	return post_send(link, &link->sends[slot], hdr.len);
}

/* There are as many buffers for acknowledgements as SENDs may be under way. */
static int send_ack(struct rca_trunk_link *link)
{
	unsigned int slot = find_first_zero_bit(&link->acks_under_way, RCA_LINK_SENDS);
	struct rca_frame_hdr hdr = { .len = RCA_FRAME_HDR_LEN };

	__set_bit(slot, &link->acks_under_way);
	rca_session_send(&link->trunk->session, true, &hdr);
	rca_frame_hdr_pack(link->acks[slot].data, &hdr);
	return post_send(link, &link->acks[slot], hdr.len);
}

/* The frame that is being filled is complete. */
static void close_frame(struct rca_trunk_link *link)
{
	unsigned int slot = slot_of(rca_session_add(&link->trunk->session));

	link->lens[slot] = link->filling;
	link->records[slot] = link->filled;
	link->filling = 0;
	link->filled = 0;
}

/**
 * rca_link_push() - send what waits, as far as the peer has room
 * @link: the link, which is up
 *
 * Context: Process context. Does not sleep. Expects the lock of the trunk to be held.
 */
void rca_link_push(struct rca_trunk_link *link)
{
	struct rca_session *session = &link->trunk->session;
	int ret = 0;

	lockdep_assert_held(&link->trunk->lock);
	rca_trunk_upcalls->fill(link->trunk);
	while (link->under_way < RCA_LINK_SENDS && !ret) {
		/* While the peer has no room, more records are added to the frame. */
		if (link->filled && session->next == session->sent + 1 &&
		    rca_session_has_room(session))
			close_frame(link);
		if (rca_session_may_send(session))
			ret = send_frame(link);
		else if (rca_session_ack_due(session))
			ret = send_ack(link);
		else
			break;
	}
	if (ret)
		rca_link_tell(link, RCA_LINK_END);
}

/* Begins a frame, if none is being filled. Returns false if the peer has to acknowledge first. */
static bool begin_frame(struct rca_trunk_link *link)
{
	if (link->filling)
		return true;
	if (!rca_session_may_add(&link->trunk->session))
		return false;
	link->filling = RCA_FRAME_HDR_LEN;
	return true;
}

/* Appends a record to the frame that is being filled. Returns 0 or a negative errno. */
static int add_record(struct rca_trunk_link *link, const struct rca_trunk_record *record)
{
	u8 *data = link->sends[slot_of(link->trunk->session.sent + 1)].data;
	int len = rca_record_pack(data + link->filling, RCA_FRAME_MAX - link->filling, record);

	if (len < 0)
		return len;
	link->filling += len;
	link->filled++;
	return 0;
}

/**
 * rca_link_add() - put a record into a frame, which rca_link_push() sends
 * @link: the link, which is up
 * @record: the record
 *
 * Context: Process context. Does not sleep. Expects the lock of the trunk to be held by the caller.
 * Return: 0; -EAGAIN: too much is not acknowledged; another errno: the record is invalid.
 */
int rca_link_add(struct rca_trunk_link *link, const struct rca_trunk_record *record)
{
	int ret;

	lockdep_assert_held(&link->trunk->lock);
	if (!begin_frame(link))
		return -EAGAIN;
	ret = add_record(link, record);
	if (ret == -EMSGSIZE && link->filled) {
		close_frame(link);
		if (!begin_frame(link))
			return -EAGAIN;
		ret = add_record(link, record);
	}
	if (!ret && link->filled == U8_MAX)
		close_frame(link);
	link->used_at = jiffies;
	return ret;
}

/* Sends a record: rca_link_add() and rca_link_push(). */
int rca_link_send(struct rca_trunk_link *link, const struct rca_trunk_record *record)
{
	int ret = rca_link_add(link, record);

	rca_link_push(link);
	return ret;
}

/* Completion of a SEND. */
void rca_link_send_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rca_link_buf *buf = container_of(wc->wr_cqe, struct rca_link_buf, cqe);
	struct rca_trunk_link *link = buf->link;

	spin_lock(&link->trunk->lock);
	link->under_way--;
	if (buf >= link->acks && buf < link->acks + RCA_LINK_SENDS)
		__clear_bit(buf - link->acks, &link->acks_under_way);
	if (wc->status != IB_WC_SUCCESS)
		rca_link_tell(link, RCA_LINK_END);
	else if (link->trunk->link == link)
		rca_link_push(link);
	spin_unlock(&link->trunk->lock);
}

/* Handles the records of a frame. Returns 0, or an errno if one is malformed or refused. */
static int handle_records(struct rca_trunk_link *link, const u8 *data, u16 len, u8 count)
{
	struct rca_trunk_record record;
	int used, ret;

	while (count--) {
		used = rca_record_unpack(data, len, &record);
		if (used < 0)
			return used;
		ret = rca_trunk_upcalls->record(link->trunk, &record);
		if (ret)
			return ret;
		data += used;
		len -= used;
	}
	return len ? -EPROTO : 0;
}

/* Returns the verdict about a frame. The first one shows that the QP works. */
static enum rca_session_verdict take_frame(struct rca_trunk_link *link,
					   const struct rca_frame_hdr *hdr)
{
	struct rca_trunk *trunk = link->trunk;
	enum rca_session_verdict verdict = RCA_FRAME_SKIP;

	spin_lock(&trunk->lock);
	if (trunk->link == link) {
		verdict = rca_session_receive(&trunk->session, hdr);
		if (verdict != RCA_FRAME_BROKEN && !trunk->up) {
			WRITE_ONCE(trunk->up, true);	/* pairs with rca_trunk_find_open() */
			rca_link_tell(link, RCA_LINK_UP);
		}
		trunk->handling = verdict == RCA_FRAME_TAKE;
	}
	link->used_at = jiffies;
	spin_unlock(&trunk->lock);
	return verdict;
}

static int receive(struct rca_trunk_link *link, const u8 *data, u32 len)
{
	struct rca_frame_hdr hdr;
	int ret;

	ret = rca_frame_hdr_unpack(data, len, &hdr);
	if (ret)
		return ret;
	switch (take_frame(link, &hdr)) {
	case RCA_FRAME_TAKE:
		return handle_records(link, data + RCA_FRAME_HDR_LEN,
				      hdr.len - RCA_FRAME_HDR_LEN, hdr.records);
	case RCA_FRAME_SKIP:
		return 0;
	default:
		return -EPROTO;
	}
}

/* Completion of a receive. */
void rca_link_receive_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rca_link_buf *buf = container_of(wc->wr_cqe, struct rca_link_buf, cqe);
	struct rca_trunk_link *link = buf->link;

	if (wc->status != IB_WC_SUCCESS)
		goto err_end;
	ib_dma_sync_single_for_cpu(ibdev_of(link), buf->dma, RCA_FRAME_MAX, DMA_FROM_DEVICE);
	if (receive(link, buf->data, wc->byte_len) || rca_link_post_receive(link, buf))
		goto err_end;
	spin_lock(&link->trunk->lock);
	if (link->trunk->link == link) {
		link->trunk->handling = false;
		rca_session_posted(&link->trunk->session, 1);
		rca_link_push(link);
	}
	spin_unlock(&link->trunk->lock);
	return;

err_end:
	rca_link_tell(link, RCA_LINK_END);
}
