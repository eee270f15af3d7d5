// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Sending and receiving on a stream.
 *
 * Data is copied to the send buffer in pieces, each of which is posted at once: the adapter sends a
 * piece while the next one is copied. A short piece is posted from the memory of the caller.
 *
 * Locking: rcl_sock.lock. It is released while a thread waits, so the data of threads that send at
 * the same time may alternate.
 */
#include "rsocket/stream/data.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/uio.h>

#include "rsocket/iov.h"
#include "rsocket/stream/iomap.h"
#include "rsocket/stream/progress.h"
#include "rsocket/wait.h"

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
	/* There is no urgent data, and in the stream the peer could not tell it from other data. */
	if (!ret && flags & MSG_OOB)
		ret = -EOPNOTSUPP;
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

static bool data_or_never(struct rcl_stream *s)
{
	return s->rx.avail || !s->can_recv;
}

/*
 * Copies received bytes from @skip on to @to, unless it is NULL; removes them from the ring unless
 * @peek.
 */
static uint32_t take(struct rcl_stream *s, uint8_t *to, size_t most, uint32_t skip, bool peek)
{
	uint32_t len = s->rx.avail - skip;
	uint32_t at = (uint32_t)(((uint64_t)s->rx.offset + skip) % s->rx.size);
	uint32_t first;

	if (len > most)
		len = (uint32_t)most;
	first = len < s->rx.size - at ? len : s->rx.size - at;
	if (to) {
		memcpy(to, s->rx.buf + at, first);
		memcpy(to + first, s->rx.buf, len - first);
	}
	if (peek)
		return len;
	s->rx.offset = (uint32_t)(((uint64_t)s->rx.offset + len) % s->rx.size);
	s->rx.avail -= len;
	s->rx.freed += len;
	return len;
}

/* Returns the error of a stream that was never connected; 0 if it is or was connected. */
static int not_receivable(const struct rcl_stream *s)
{
	switch (s->state) {
	case RCL_STREAM_ADDRESS:
	case RCL_STREAM_ROUTE:
	case RCL_STREAM_CONNECTING:
	case RCL_STREAM_ACCEPTING:
		return -EAGAIN;
	case RCL_STREAM_UP:
	case RCL_STREAM_DOWN:
		return 0;
	default:
		return -ENOTCONN;
	}
}

static int wait_for_data(struct rcl_stream *s, int64_t deadline)
{
	return data_or_never(s) ? 0 : rcl_stream_wait(s, data_or_never, false, deadline);
}

/* Copies received bytes to the buffers of the caller; with MSG_TRUNC they are discarded. */
static size_t fill(struct rcl_stream *s, const struct msghdr *msg, size_t done, int flags)
{
	size_t skip = done, got = 0, i;
	bool peek = flags & MSG_PEEK;

	for (i = 0; i < (size_t)msg->msg_iovlen && s->rx.avail > (peek ? got : 0); i++) {
		const struct iovec *iov = &msg->msg_iov[i];

		if (skip >= iov->iov_len) {
			skip -= iov->iov_len;
			continue;
		}
		got += take(s, flags & MSG_TRUNC ? NULL : (uint8_t *)iov->iov_base + skip,
			    iov->iov_len - skip, peek ? (uint32_t)got : 0, peek);
		skip = 0;
	}
	return got;
}

/* Copies the address of the peer, truncated to the buffer. */
static void put_name(struct rcl_sock *sock, struct msghdr *msg)
{
	struct sockaddr_storage addr = { 0 };

	if (!msg->msg_name || !msg->msg_namelen)
		return;
	if (!sock->ops->name(sock, true, &addr))
		memcpy(msg->msg_name, &addr, msg->msg_namelen < sizeof(addr) ? msg->msg_namelen :
									     sizeof(addr));
}

ssize_t rcl_stream_recv(struct rcl_sock *sock, struct msghdr *msg, int flags)
{
	struct rcl_stream *s = rcl_stream_of(sock);
	int64_t deadline = rcl_call_deadline(sock, flags, sock->recv_ms);
	size_t len = rcl_iov_len(msg), least = flags & MSG_WAITALL ? len : s->rx.least;
	size_t done = 0, got;
	int ret;

	/* As recv(2) of TCP without urgent data. */
	if (flags & MSG_OOB)
		return -EINVAL;
	ret = not_receivable(s);
	while (!ret && done < len) {
		ret = wait_for_data(s, deadline);
		if (ret)
			break;
		got = fill(s, msg, done, flags);
		done += got;
		rcl_stream_give(s);
		if (!got || done >= least || flags & MSG_PEEK)
			break;
	}
	/* End of the data: 0 or, once, the error that has ended the connection. */
	if (!ret && !done && len)
		ret = rcl_sock_take_error(&s->sock);
	if (ret && !done)
		return ret;
	msg->msg_flags = 0;
	msg->msg_controllen = 0;
	put_name(sock, msg);
	return (ssize_t)done;
}
