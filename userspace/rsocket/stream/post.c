// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Work requests of the send queue.
 *
 * Not all of them are signaled: a completion frees all earlier work requests as well. Its wr_id
 * holds the counters of the time when it was posted: bytes in bits 0 to 31, work requests in bits
 * 32 to 55, control messages in bits 56 to 63.
 *
 * Locking: rcl_sock.lock.
 */
#include "rsocket/stream/post.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "base/err.h"

/* Signal a work request when a quarter of the buffer or of the queue was posted unsignaled. */
#define SIGNAL_PART 4

#define SLOT_BITS 24
#define SLOT_MASK ((1U << SLOT_BITS) - 1)

static uint32_t slots_used(const struct rcl_stream *s)
{
	return s->tx.slots - s->tx.slots_done;
}

static uint8_t controls_used(const struct rcl_stream *s)
{
	return s->tx.controls - s->tx.controls_done;
}

uint32_t rcl_tx_slots_left(const struct rcl_stream *s)
{
	uint32_t kept = RCL_CONTROL_SLOTS - controls_used(s);

	return s->tx.slots_most - slots_used(s) - kept;
}

uint32_t rcl_tx_bytes_left(const struct rcl_stream *s)
{
	return s->tx.size - (s->tx.bytes - s->tx.bytes_done);
}

/* With iWARP a message is a separate work request. */
static uint32_t slots_of_message(const struct rcl_stream *s)
{
	return s->iwarp ? 2 : 1;
}

/*
 * Is an entry complete? With iWARP, a credit message with an entry looks like one without, so the
 * peer may be writing @target. Both libraries announce the halves of one buffer in turn.
 */
static bool is_complete(const struct rcl_stream *s, const struct rcl_target *target)
{
	const struct rcl_target *first = &s->tx.first;

	return target->len == first->len && target->key == first->key &&
	       target->addr - first->addr <= 2ULL * first->len;
}

static void take_target(struct rcl_stream *s)
{
	struct rcl_target *entry = &s->tx.sgl[s->tx.index], target;

	if (!s->tx.news)
		return;
	target.addr = __atomic_load_n(&entry->addr, __ATOMIC_RELAXED);
	target.key = __atomic_load_n(&entry->key, __ATOMIC_RELAXED);
	target.len = __atomic_load_n(&entry->len, __ATOMIC_RELAXED);
	s->tx.news--;
	if (!target.len || (s->iwarp && !is_complete(s, &target)))
		return;
	s->tx.target = target;
	/* The peer writes this entry again after it has read the data in this range. */
	__atomic_store_n(&entry->len, 0, __ATOMIC_RELAXED);
	s->tx.index = (s->tx.index + 1) % RCL_SGL_ENTRIES;
}

bool rcl_tx_may_send(struct rcl_stream *s)
{
	if (!s->tx.target.len)
		take_target(s);
	return !s->tx.mute && s->tx.target.len &&
	       (uint16_t)(s->tx.limit - s->tx.seq) > s->tx.spare &&
	       rcl_tx_slots_left(s) >= slots_of_message(s) &&
	       rcl_tx_bytes_left(s) >= RCL_SEND_LEAST;
}

bool rcl_tx_all_done(const struct rcl_stream *s)
{
	return !slots_used(s) && !s->tx.owed;
}

bool rcl_tx_will_complete(const struct rcl_stream *s)
{
	return slots_used(s) && s->tx.slots_signaled == s->tx.slots;
}

static int failure(enum ibv_wc_status status)
{
	switch (status) {
	case IBV_WC_SUCCESS:
		return 0;
	case IBV_WC_RETRY_EXC_ERR:
	case IBV_WC_RNR_RETRY_EXC_ERR:
	case IBV_WC_RESP_TIMEOUT_ERR:
		return -ETIMEDOUT;
	default:
		return -ECONNRESET;
	}
}

static void completed(struct rcl_stream *s, uint64_t wr_id)
{
	uint32_t slots = ((uint32_t)(wr_id >> 32) - s->tx.slots_done) & SLOT_MASK;

	s->tx.bytes_done = (uint32_t)wr_id;
	s->tx.slots_done += slots;
	s->tx.controls_done = (uint8_t)(wr_id >> 56);
}

int rcl_tx_reap(struct rcl_stream *s)
{
	struct ibv_wc wc[8];
	int i, count;

	do {
		count = ibv_poll_cq(s->send_cq.cq, 8, wc);
		for (i = 0; i < count; i++) {
			/* The first error is the cause; later work requests are flushed. */
			if (!s->tx.error)
				s->tx.error = failure(wc[i].status);
			completed(s, wc[i].wr_id);
		}
	} while (count == 8);
	return count < 0 ? -ECONNRESET : s->tx.error;
}

static uint64_t counters(const struct rcl_stream *s)
{
	return (uint64_t)s->tx.controls << 56 | (uint64_t)(s->tx.slots & SLOT_MASK) << 32 |
	       s->tx.bytes;
}

static bool wants_completion(const struct rcl_stream *s)
{
	return s->tx.slots - s->tx.slots_signaled >= s->tx.slots_most / SIGNAL_PART ||
	       s->tx.bytes - s->tx.bytes_signaled >= s->tx.size / SIGNAL_PART;
}

/* Posts a work request; the caller has counted it. */
static int post(struct rcl_stream *s, struct ibv_send_wr *wr, bool signaled)
{
	struct ibv_send_wr *bad;

	wr->wr_id = counters(s);
	/* soft-iWARP expects the memory of unsignaled data not to change until TCP has sent it. */
	if (signaled || s->iwarp || wants_completion(s)) {
		wr->send_flags |= IBV_SEND_SIGNALED;
		s->tx.slots_signaled = s->tx.slots;
		s->tx.bytes_signaled = s->tx.bytes;
	}
	return rcl_verbs_err(ibv_post_send(s->id->qp, wr, &bad));
}

/* iWARP: sends the message of an RDMA WRITE, in the byte order of the host. */
static int post_send(struct rcl_stream *s, uint32_t msg, bool signaled)
{
	struct ibv_sge sge = { .addr = (uintptr_t)&msg, .length = sizeof(msg) };
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_INLINE,
	};

	s->tx.slots++;
	return post(s, &wr, signaled);
}

static int post_write(struct rcl_stream *s, const struct rcl_piece *piece, uint64_t addr,
		      uint32_t key, bool signaled)
{
	struct ibv_send_wr wr = {
		.sg_list = (struct ibv_sge *)piece->sge,
		.num_sge = piece->count,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = piece->is_inline ? IBV_SEND_INLINE : 0,
		.wr.rdma = { .remote_addr = addr, .rkey = key },
	};

	s->tx.slots++;
	return post(s, &wr, signaled);
}

/* Posts a message, and the RDMA WRITE before it. */
static int post_message(struct rcl_stream *s, const struct rcl_piece *piece, uint64_t addr,
			uint32_t key, uint32_t msg, bool signaled)
{
	struct ibv_send_wr wr = {
		.sg_list = (struct ibv_sge *)piece->sge,
		.num_sge = piece->count,
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.send_flags = piece->is_inline ? IBV_SEND_INLINE : 0,
		.imm_data = htobe32(msg),
		.wr.rdma = { .remote_addr = addr, .rkey = key },
	};
	int ret = 0;

	if (!s->iwarp) {
		s->tx.slots++;
		return post(s, &wr, signaled);
	}
	if (piece->count)
		ret = post_write(s, piece, addr, key, false);
	return ret ? ret : post_send(s, msg, signaled);
}

static void count_bytes(struct rcl_stream *s, const struct rcl_piece *piece)
{
	if (!piece->from_ring)
		return;
	s->tx.bytes += piece->len;
	s->tx.offset += piece->len;
	if (s->tx.offset >= s->tx.size)
		s->tx.offset -= s->tx.size;
}

int rcl_tx_data(struct rcl_stream *s, const struct rcl_piece *piece)
{
	struct rcl_target target = s->tx.target;

	s->tx.seq++;
	s->tx.target.addr += piece->len;
	s->tx.target.len -= piece->len;
	count_bytes(s, piece);
	return post_message(s, piece, target.addr, target.key, rcl_msg(RCL_MSG_DATA, piece->len),
			    false);
}

int rcl_tx_direct(struct rcl_stream *s, const struct rcl_piece *piece, uint64_t addr, uint32_t key)
{
	count_bytes(s, piece);
	return post_write(s, piece, addr, key, false);
}

/* A short piece, inline, or else copied behind the ring. */
static struct rcl_piece short_piece(struct rcl_stream *s, const void *from, uint32_t len)
{
	uint32_t kept = sizeof(struct rcl_target) * (s->tx.controls % RCL_CONTROL_SLOTS);
	struct rcl_piece piece = {
		.sge[0] = { .addr = (uintptr_t)from, .length = len },
		.count = 1,
		.len = len,
		.is_inline = len <= s->sock.inline_len,
	};

	if (!piece.is_inline) {
		memcpy(s->tx.buf + s->tx.size + kept, from, len);
		piece.sge[0].addr = (uintptr_t)s->tx.buf + s->tx.size + kept;
		piece.sge[0].lkey = s->tx.mr->lkey;
	}
	return piece;
}

int rcl_tx_iomap(struct rcl_stream *s, uint32_t index, const struct rcl_iomap *iomap)
{
	uint64_t addr = s->rx.peer.addr + s->rx.peer.len * sizeof(struct rcl_target) +
			(uint64_t)index * sizeof(*iomap);
	struct rcl_piece piece = {
		.sge[0] = { .addr = (uintptr_t)iomap, .length = sizeof(*iomap) },
		.count = 1,
		.len = sizeof(*iomap),
		.is_inline = sizeof(*iomap) <= s->sock.inline_len,
	};

	/*
	 * The ring has RCL_SEND_LEAST free bytes; those up to its end are skipped if they are too
	 * few.
	 */
	if (!piece.is_inline) {
		if (s->tx.size - s->tx.offset < sizeof(*iomap)) {
			s->tx.bytes += s->tx.size - s->tx.offset;
			s->tx.offset = 0;
		}
		memcpy(s->tx.buf + s->tx.offset, iomap, sizeof(*iomap));
		piece.sge[0].addr = (uintptr_t)s->tx.buf + s->tx.offset;
		piece.sge[0].lkey = s->tx.mr->lkey;
		piece.from_ring = true;
	}
	count_bytes(s, &piece);
	s->tx.seq += !s->librdmacm;
	return post_message(s, &piece, addr, s->rx.peer.key, rcl_msg(RCL_MSG_IOMAP, index), false);
}

bool rcl_tx_may_control(const struct rcl_stream *s)
{
	return !s->tx.mute && controls_used(s) < RCL_CONTROL_SLOTS - (s->iwarp ? 1 : 0);
}

int rcl_tx_credit(struct rcl_stream *s, uint16_t limit, const struct rcl_target *target)
{
	struct rcl_target told = { 0 };
	struct rcl_piece piece = { 0 };
	uint64_t addr = 0;

	if (target) {
		told = s->swap ? rcl_target_swap(*target) : *target;
		piece = short_piece(s, &told, sizeof(told));
		addr = s->rx.peer.addr + s->rx.peer_index * sizeof(told);
		if (++s->rx.peer_index == s->rx.peer.len)
			s->rx.peer_index = 0;
		s->tx.controls += s->iwarp;
	}
	s->tx.controls++;
	return post_message(s, &piece, addr, target ? s->rx.peer.key : 0,
			    rcl_msg(RCL_MSG_CREDIT, limit), true);
}

int rcl_tx_control(struct rcl_stream *s, enum rcl_control control)
{
	struct rcl_piece none = { 0 };

	s->tx.controls++;
	return post_message(s, &none, 0, 0, rcl_msg(RCL_MSG_CONTROL, control), true);
}

int rcl_tx_probe(struct rcl_stream *s)
{
	struct rcl_piece none = { 0 };

	s->tx.controls++;
	return post_write(s, &none, 0, 0, true);
}
