/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Sending and receiving on a stream. */
#ifndef RCL_RSOCKET_DATA_H
#define RCL_RSOCKET_DATA_H

#include "rsocket/stream/post.h"

/** rcl_stream_send - rsend() and its family */
ssize_t rcl_stream_send(struct rcl_sock *sock, const struct msghdr *msg, int flags);

/** rcl_stream_recv - rrecv() and its family */
ssize_t rcl_stream_recv(struct rcl_sock *sock, struct msghdr *msg, int flags);

/** struct rcl_source - position in the caller's data, which is sent in pieces */
struct rcl_source {
	const struct iovec *iov;
	size_t offset;
	size_t left;
};

/**
 * rcl_stream_piece - prepare the next piece to send
 * @s: the locked stream with @len free bytes in its send buffer
 * @source: the data
 * @piece: filled in
 * @len: its length, at least 1 and no more than @source->left
 */
void rcl_stream_piece(struct rcl_stream *s, struct rcl_source *source, struct rcl_piece *piece,
		      uint32_t len);

/**
 * rcl_stream_may_send - may a call send on a stream?
 * @s: the locked stream
 *
 * Return: 0: it is connected; or the negative errno of the call
 */
int rcl_stream_may_send(const struct rcl_stream *s);

/**
 * rcl_stream_wait_to_send - wait until data can be posted
 * @s: the locked stream
 * @deadline: nanoseconds of CLOCK_MONOTONIC; 0: do not wait
 *
 * Return: 0; -EAGAIN after the deadline; -EPIPE or -ECONNRESET if nothing can be sent any more; or
 * another negative errno
 */
int rcl_stream_wait_to_send(struct rcl_stream *s, int64_t deadline);

/** rcl_stream_send_deadline - deadline of a call that sends, for rcl_stream_wait_to_send() */
int64_t rcl_stream_send_deadline(const struct rcl_stream *s, int flags);

#endif /* RCL_RSOCKET_DATA_H */
