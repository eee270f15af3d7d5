// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The session of a trunk, and its frames, which are kept until the peer acknowledges them.
 *
 * A record is appended to the open frame. Frames outlive their link: the next link of the trunk
 * sends those that the peer has not received.
 *
 * A session is lost if one end does not have it any more, see open.c. Its frames are then dropped,
 * and its connections end, before another session begins.
 *
 * Locking: rca_trunk.lock. Only the work of a trunk begins and ends its session, so it reads the
 * number without the lock.
 */
#include "trunk/trunk.h"

#include <linux/bitops.h>
#include <linux/jiffies.h>
#include <linux/lockdep.h>
#include <linux/string.h>

#include "lib/testing.h"
#include "lib/trace.h"
#include "transport/transport.h"

u8 *rca_trunk_frame(const struct rca_trunk *trunk, unsigned int slot)
{
	return trunk->frames + slot * RCA_FRAME_MAX;
}

static unsigned int slot_of(u32 number)
{
	return number % RCA_SESSION_FRAMES;
}

/* Complete the open frame: it has its number, and takes no more records. */
RCA_VISIBLE_IF_KUNIT void rca_trunk_close_frame(struct rca_trunk *trunk)
{
	unsigned int slot = slot_of(rca_session_add(&trunk->session));

	lockdep_assert_held(&trunk->lock);
	trunk->lens[slot] = trunk->filling;
	trunk->records[slot] = trunk->filled;
	trunk->filling = 0;
	trunk->filled = 0;
}

/* Open a frame, unless one is open. Returns false if the peer has to acknowledge others first. */
static bool begin_frame(struct rca_trunk *trunk)
{
	if (trunk->filling)
		return true;
	if (!rca_session_may_add(&trunk->session))
		return false;
	trunk->filling = RCA_FRAME_HDR_LEN;
	return true;
}

/* Append a record to the open frame. Returns 0 or a negative errno; -EMSGSIZE: no room. */
static int append(struct rca_trunk *trunk, const struct rca_trunk_record *record)
{
	u8 *data = rca_trunk_frame(trunk, slot_of(trunk->session.sent + 1));
	int len = rca_record_pack(data + trunk->filling, RCA_FRAME_MAX - trunk->filling, record);

	if (len < 0)
		return len;
	trunk->filling += len;
	trunk->filled++;
	return 0;
}

/*
 * Append a record to a frame, which rca_trunk_push() or the next link sends. Returns 0; -EAGAIN:
 * too many frames are not acknowledged; -ENOTCONN: there is no session; another errno: the record
 * is invalid.
 */
int rca_trunk_add(struct rca_trunk *trunk, const struct rca_trunk_record *record)
{
	int ret;

	lockdep_assert_held(&trunk->lock);
	if (!trunk->session.number)
		return -ENOTCONN;
	if (!begin_frame(trunk))
		return -EAGAIN;
	ret = append(trunk, record);
	if (ret == -EMSGSIZE && trunk->filled) {
		rca_trunk_close_frame(trunk);
		if (!begin_frame(trunk))
			return -EAGAIN;
		ret = append(trunk, record);
	}
	if (!ret && record->type != RCA_RECORD_PING)
		trunk->needed = trunk->session.sent + 1;
	if (!ret && trunk->filled == U8_MAX)
		rca_trunk_close_frame(trunk);
	return ret;
}

/* Is number @a after @b? Numbers wrap around. */
static bool is_after(u32 a, u32 b)
{
	return (s32)(a - b) > 0;
}

/*
 * Does a trunk need a link, for records that the peer may not have, or for connections that wait? A
 * frame whose SEND has completed is in the memory of the peer, which handles received frames before
 * its link ends. So frames that only lack an acknowledgement need no link, and neither does a PING.
 */
bool rca_trunk_has_to_send(const struct rca_trunk *trunk)
{
	const struct rca_session *session = &trunk->session;

	lockdep_assert_held(&trunk->lock);
	if (!session->number)
		return false;
	return !list_empty(&trunk->waiting) ||
	       (is_after(trunk->needed, trunk->sent) && is_after(trunk->needed, session->acked));
}

/*
 * Attach the QP of @link, which has sent nothing yet, to session @number: that of the trunk, or a
 * new one in its place. @peer_received: number of the last frame that the peer has received.
 * Returns -EPROTO if the peer contradicts an earlier message. From the work of @trunk; sleeps.
 */
int rca_trunk_join_session(struct rca_trunk *trunk, const struct rca_trunk_link *link, u32 number,
			   u32 peer_received)
{
	struct rca_session *session = &trunk->session;
	int ret;

	if (number != session->number || !rca_hello_is_of(&link->peer.hello, trunk->boot_id)) {
		rca_trunk_because(trunk, "the peer does not have the session");
		rca_trunk_lose_session(trunk);
	} else {
		rca_trunk_count_one(trunk, RCA_STAT_REPLACED);
	}
	spin_lock(&trunk->lock);
	if (!session->number) {
		rca_session_init(session, number);
		memcpy(trunk->boot_id, link->peer.hello.boot_id, sizeof(trunk->boot_id));
		trunk->ca_guid = link->peer.hello.ca_guid;
		trunk->odd = link->active;
		trunk->next_number = link->active ? 1 : 2;
		trunk->heard_at = jiffies;
	}
	ret = rca_session_attach(session, link->cookie, link->peer.cookie, peer_received);
	if (!ret)
		trunk->sent = peer_received;
	spin_unlock(&trunk->lock);
	return ret;
}

/* End the session of a trunk, whose link has no connected QP. From the work of @trunk; sleeps. */
void rca_trunk_lose_session(struct rca_trunk *trunk)
{
	bool had_users;
	u32 number;

	spin_lock(&trunk->lock);
	number = trunk->session.number;
	had_users = number && trunk->users;
	trunk->session = (struct rca_session) {};
	trunk->filling = 0;
	trunk->filled = 0;
	trunk->sent = 0;
	trunk->needed = 0;
	trunk->tries = 0;
	/* Still open a link to another load of the peer's module, which may begin a session. */
	if (rca_hello_is_of(&trunk->hello, trunk->boot_id))
		trunk->wanted = false;
	spin_unlock(&trunk->lock);
	rca_trunk_lost(trunk, number, had_users);
	if (had_users)
		rca_trunk_upcalls->lost(trunk);
	spin_lock(&trunk->lock);
	trunk->peer_ended = false;
	spin_unlock(&trunk->lock);
}

/*
 * The frames on a link.
 *
 * The open frame is sent at once if no SEND is under way. Otherwise the work of the link
 * (link_qp.c) sends it after the completion of that SEND, with the records added meanwhile: no
 * timer delays a record. At most RCA_LINK_SENDS frames are under way, all but one of them full. The
 * same work handles received frames, one at a time.
 *
 * An adapter requests a lost SEND again as soon as a later one arrives; otherwise the sender
 * repeats it only after the timeout of the QP. So another frame is sent if a SEND is under way for
 * some milliseconds.
 *
 * Any error ends the link: the work of its trunk destroys the QP, see open.c. The completions of a
 * drained QP are errors, too. Frames that were received before are handled until the QP is drained:
 * the peer knows that this host has them in memory, and opens no other link for them.
 *
 * Locking: rca_trunk.lock for sending and for the session; process context.
 */

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

static unsigned int slot_of_number(u32 number)
{
	return number % RCA_SESSION_FRAMES;
}

static int send_frame(struct rca_trunk_link *link)
{
	struct rca_session *session = &link->trunk->session;
	unsigned int slot = slot_of_number(session->next);
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

/* Send all frames for which the peer has room, once the link is ready. */
void rca_link_push(struct rca_trunk_link *link)
{
	struct rca_trunk *trunk = link->trunk;
	struct rca_session *session = &trunk->session;
	int ret = 0;

	lockdep_assert_held(&trunk->lock);
	if (!link->ready || link->closed)
		return;
	rca_trunk_upcalls->fill(trunk);
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
 * Send the unsent records now, or by the work of the link. Without a link, one is opened for them.
 */
void rca_trunk_push(struct rca_trunk *trunk)
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
	rca_trunk_push(trunk);
}

/* Returns 0, or an errno if the record is refused. */
static int handle_record(struct rca_trunk *trunk, const struct rca_trunk_record *record)
{
	if (record->type != RCA_RECORD_PING)
		return rca_trunk_upcalls->record(trunk, record);
	spin_lock(&trunk->lock);
	rca_session_ask_ack(&trunk->session);
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
		ret = handle_record(link->trunk, &record);
		if (ret)
			return ret;
		data += used;
		len -= used;
	}
	return len ? -EPROTO : 0;
}

/* Returns the verdict about a frame. The first one from the peer proves that the QP works. */
static enum rca_session_verdict take_frame(struct rca_trunk_link *link,
					   const struct rca_frame_hdr *hdr)
{
	struct rca_trunk *trunk = link->trunk;
	enum rca_session_verdict verdict;

	spin_lock(&trunk->lock);
	verdict = rca_session_receive(&trunk->session, hdr);
	if (verdict == RCA_FRAME_FOREIGN)
		goto out_unlock;
	if (verdict != RCA_FRAME_BROKEN && !trunk->up && !link->closed) {
		WRITE_ONCE(trunk->up, true);	/* pairs with rca_link_handler() */
		rca_link_tell(link, RCA_LINK_UP);
	}
	link->used_at = jiffies;
	trunk->heard_at = jiffies;
	trunk->probes = 0;
out_unlock:
	spin_unlock(&trunk->lock);
	return verdict;
}

/*
 * Returns 0; -EBADMSG: the frame is not from the peer; another errno: it contradicts the session.
 * An RC QP accepts packets from any sender that knows its number, but only the peer knows the
 * cookie.
 */
static int receive(struct rca_trunk_link *link, const u8 *data, u32 len)
{
	struct rca_frame_hdr hdr;

	if (rca_frame_hdr_unpack(data, len, &hdr))
		return -EBADMSG;
	switch (take_frame(link, &hdr)) {
	case RCA_FRAME_TAKE:
		return handle_records(link, data + RCA_FRAME_HDR_LEN,
				      hdr.len - RCA_FRAME_HDR_LEN, hdr.records);
	case RCA_FRAME_SKIP:
		return 0;
	case RCA_FRAME_FOREIGN:
		return -EBADMSG;
	default:
		return -EPROTO;
	}
}

/* Post the buffer of a handled frame again. Returns 0 or a negative errno. */
static int post_again(struct rca_trunk_link *link, struct rca_link_buf *buf)
{
	struct rca_trunk *trunk = link->trunk;
	int ret = 0;

	spin_lock(&trunk->lock);
	if (!link->closed)
		ret = rca_link_post_receive(link, buf);
	if (!link->closed && !ret)
		rca_session_posted(&trunk->session, 1);
	spin_unlock(&trunk->lock);
	return ret;
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
	ib_dma_sync_single_for_cpu(ibdev_of(link), buf->dma, RCA_FRAME_MAX, DMA_FROM_DEVICE);
	if (trace_rca_frame_enabled())
		rca_trunk_trace_frame(link, false, buf->data, wc->byte_len);
	ret = receive(link, buf->data, wc->byte_len);
	if (ret == -EBADMSG) {
		rca_trunk_because(link->trunk, "a frame was not the peer's");
		rca_link_tell(link, RCA_LINK_END);
	} else if (ret) {
		rca_trunk_because(link->trunk, "a frame was malformed");
		rca_link_tell(link, RCA_LINK_LOST);	/* another link cannot mend that */
	} else if (post_again(link, buf)) {
		rca_trunk_because(link->trunk, "a buffer could not be posted");
		rca_link_tell(link, RCA_LINK_END);
	}
}
