/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Sending and receiving on a stream. */
#ifndef RCL_RSOCKET_DATA_H
#define RCL_RSOCKET_DATA_H

#include "rsocket/stream/post.h"

ssize_t rcl_stream_send(struct rcl_sock *sock, const struct msghdr *msg, int flags);
ssize_t rcl_stream_recv(struct rcl_sock *sock, struct msghdr *msg, int flags);

/** struct rcl_source - position in the caller's data, which is sent in pieces */
struct rcl_source {
	const struct iovec *iov;
	size_t offset;
	size_t left;
};

/* Prepares the next piece to send: 1 to @source->left bytes, for which the send buffer has room. */
void rcl_stream_piece(struct rcl_stream *s, struct rcl_source *source, struct rcl_piece *piece,
		      uint32_t len);

/* Returns 0 if a call may send on a stream, otherwise the negative errno of the call. */
int rcl_stream_may_send(const struct rcl_stream *s);

/*
 * Waits until data can be posted. @deadline: nanoseconds of CLOCK_MONOTONIC; 0: do not wait.
 * -EAGAIN after the deadline; -EPIPE or -ECONNRESET if this direction is closed; or another
 * negative errno.
 */
int rcl_stream_wait_to_send(struct rcl_stream *s, int64_t deadline);

int64_t rcl_stream_send_deadline(const struct rcl_stream *s, int flags);

#endif /* RCL_RSOCKET_DATA_H */
