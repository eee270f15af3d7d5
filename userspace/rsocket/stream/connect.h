/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The active side of a connection, and the events of both sides. */
#ifndef RCL_RSOCKET_CONNECT_H
#define RCL_RSOCKET_CONNECT_H

#include "rsocket/stream/stream.h"

/**
 * rcl_stream_id - create the id of a stream that has none, with a channel of its own
 * @s: the locked stream
 *
 * Return: 0 or a negative errno
 */
int rcl_stream_id(struct rcl_stream *s);

/** rcl_stream_connect - rconnect() */
int rcl_stream_connect(struct rcl_sock *sock, const struct sockaddr *addr, socklen_t len);

/**
 * rcl_stream_event - handle an event of a stream that connects, or has connected
 * @s: the locked stream
 * @event: the event, which the caller acknowledges
 */
void rcl_stream_event(struct rcl_stream *s, const struct rdma_cm_event *event);

/** rcl_stream_fail - end a connect with a negative errno */
void rcl_stream_fail(struct rcl_stream *s, int err);

/**
 * rcl_stream_put_hello - write the private data of a REQ or REP
 * @s: the stream with an endpoint
 * @data: RCL_HELLO_IB + RCL_HELLO_LEN bytes, filled in
 * @request: of a REQ
 *
 * Return: its length
 */
uint8_t rcl_stream_put_hello(struct rcl_stream *s, uint8_t *data, bool request);

/** rcl_hello_offset - offset of the hello in the private data of a REQ, by address family */
static inline size_t rcl_hello_offset(sa_family_t family)
{
	return family == AF_IB ? RCL_HELLO_IB : 0;
}

#endif /* RCL_RSOCKET_CONNECT_H */
