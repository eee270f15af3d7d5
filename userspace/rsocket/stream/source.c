// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The pieces in which a call sends its data: copied to the send buffer, or posted inline if they
 * are short.
 *
 * Locking: rcl_sock.lock; it is released while a thread waits.
 */
#include "rsocket/stream/data.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#include "rsocket/stream/progress.h"
#include "rsocket/wait.h"

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static void copy_out(uint8_t *to, struct rcl_source *source, uint32_t len)
{
	size_t part;

	for (; len; len -= part, to += part) {
		part = source->iov->iov_len - source->offset;
		if (part > len)
			part = len;
		memcpy(to, (uint8_t *)source->iov->iov_base + source->offset, part);
		source->left -= part;
		source->offset += part;
		if (source->offset == source->iov->iov_len) {
			source->iov++;
			source->offset = 0;
		}
	}
}

static bool is_contiguous(const struct rcl_source *source, uint32_t len)
{
	return source->iov->iov_len - source->offset >= len;
}

static void inline_piece(struct rcl_source *source, struct rcl_piece *piece, uint32_t len)
{
	*piece = (struct rcl_piece){
		.sge[0] = {
			.addr = (uintptr_t)source->iov->iov_base + source->offset,
			.length = len,
		},
		.count = 1,
		.len = len,
		.is_inline = true,
	};
	source->offset += len;
	source->left -= len;
	if (source->offset == source->iov->iov_len) {
		source->iov++;
		source->offset = 0;
	}
}

void rcl_stream_piece(struct rcl_stream *s, struct rcl_source *source, struct rcl_piece *piece,
		      uint32_t len)
{
	uint32_t first = least(len, s->tx.size - s->tx.offset);
	bool is_short = len <= s->sock.inline_len;

	while (source->offset == source->iov->iov_len) {
		source->iov++;
		source->offset = 0;
	}
	if (is_short && is_contiguous(source, len))
		return inline_piece(source, piece, len);
	/*
	 * A short piece of several buffers is inline, too: its copy in the ring is free again once
	 * the work request was posted.
	 */
	*piece = (struct rcl_piece){
		.sge = {
			{ (uintptr_t)s->tx.buf + s->tx.offset, first, s->tx.mr->lkey },
			{ (uintptr_t)s->tx.buf, len - first, s->tx.mr->lkey },
		},
		.count = first < len ? 2 : 1,
		.len = len,
		.from_ring = !is_short,
		.is_inline = is_short,
	};
	copy_out(s->tx.buf + s->tx.offset, source, first);
	copy_out(s->tx.buf, source, len - first);
}

static bool may_send_or_never(struct rcl_stream *s)
{
	return !s->can_send || rcl_tx_may_send(s);
}

int64_t rcl_stream_send_deadline(const struct rcl_stream *s, int flags)
{
	return rcl_call_deadline(&s->sock, flags, s->sock.send_ms);
}

int rcl_stream_may_send(const struct rcl_stream *s)
{
	if (s->can_send)
		return 0;
	switch (s->state) {
	case RCL_STREAM_ADDRESS:
	case RCL_STREAM_ROUTE:
	case RCL_STREAM_CONNECTING:
	case RCL_STREAM_ACCEPTING:
		return -EAGAIN;
	case RCL_STREAM_UP:
	case RCL_STREAM_DOWN:
		return s->shut_send ? -EPIPE : -ECONNRESET;
	default:
		return -ENOTCONN;
	}
}

int rcl_stream_wait_to_send(struct rcl_stream *s, int64_t deadline)
{
	int ret = rcl_stream_may_send(s);

	if (ret || rcl_tx_may_send(s))
		return ret;
	ret = rcl_stream_wait(s, may_send_or_never, true, deadline);
	return ret ? ret : rcl_stream_may_send(s);
}
