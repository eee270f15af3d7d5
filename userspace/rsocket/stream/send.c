// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Sending on a stream.
 *
 * Data is copied to the send buffer in pieces, each of which is posted at once: the adapter sends a
 * piece while the next one is copied. A short piece is posted from the memory of the caller.
 *
 * Locking: rcl_sock.lock; it is released while a thread waits, so the data of several threads may
 * alternate.
 */
#include <errno.h>
#include <limits.h>
#include <sys/uio.h>

#include "rsocket/iov.h"
#include "rsocket/stream/data.h"
#include "rsocket/stream/iomap.h"
#include "rsocket/stream/progress.h"

/* Lengths of the first piece and of the longest one; each is twice as long as the one before. */
#define FIRST_PIECE 2048U
#define LONGEST_PIECE 65536U

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static int send_piece(struct rcl_stream *s, struct rcl_source *source, uint32_t most)
{
	uint32_t len = least(rcl_tx_bytes_left(s), s->tx.target.len);
	struct rcl_piece piece;
	int ret;

	len = least(len, most);
	if (len > source->left)
		len = (uint32_t)source->left;
	rcl_stream_piece(s, source, &piece, len);
	ret = rcl_tx_data(s, &piece);
	if (ret)
		rcl_stream_broken(s, -ECONNRESET);
	return ret;
}

ssize_t rcl_stream_send(struct rcl_sock *sock, const struct msghdr *msg, int flags)
{
	struct rcl_stream *s = rcl_stream_of(sock);
	struct rcl_source source = { .iov = msg->msg_iov };
	uint32_t most = FIRST_PIECE;
	size_t len;
	int64_t deadline;
	int ret;

	if (msg->msg_controllen)
		return -ENOTSUP;
	len = rcl_iov_len(msg);
	if (len > SSIZE_MAX)
		return -EINVAL;
	source.left = len;
	deadline = rcl_stream_send_deadline(s, flags);
	ret = rcl_stream_may_send(s);
	if (!ret && s->maps)
		ret = rcl_maps_send(s, deadline);
	while (!ret && source.left) {
		ret = rcl_stream_wait_to_send(s, deadline);
		if (!ret)
			ret = send_piece(s, &source, most);
		most = least(most * 2, LONGEST_PIECE);
	}
	return ret && source.left == len ? ret : (ssize_t)(len - source.left);
}
