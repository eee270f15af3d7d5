/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The active side of a connection, and the events of both sides. */
#ifndef RCL_RSOCKET_CONNECT_H
#define RCL_RSOCKET_CONNECT_H

#include "rsocket/stream/stream.h"

/* Creates the id of a stream that has none, with a channel of its own. */
int rcl_stream_id(struct rcl_stream *s);

/*
 * Converts an address of a program to that of an id: IPv4-mapped ones to IPv4. Returns 0 or a
 * negative errno.
 */
int rcl_stream_address(struct sockaddr_storage *to, const struct sockaddr *from, socklen_t len);

int rcl_stream_connect(struct rcl_sock *sock, const struct sockaddr *addr, socklen_t len);

/* Handles an event of a stream during or after its connect; the caller acknowledges the event. */
void rcl_stream_event(struct rcl_stream *s, const struct rdma_cm_event *event);

/* Ends a connect with a negative errno. */
void rcl_stream_fail(struct rcl_stream *s, int err);

/*
 * Writes the private data of a REQ or REP of a stream with an endpoint: at most RCL_HELLO_IB +
 * RCL_HELLO_LEN bytes. Returns its length.
 */
uint8_t rcl_stream_put_hello(struct rcl_stream *s, uint8_t *data, bool request);

/* Offset of the hello in the private data of a REQ. */
static inline size_t rcl_hello_offset(sa_family_t family)
{
	return family == AF_IB ? RCL_HELLO_IB : 0;
}

#endif /* RCL_RSOCKET_CONNECT_H */
