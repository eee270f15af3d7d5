/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The passive side of a connection. */
#ifndef RCL_RSOCKET_LISTENER_H
#define RCL_RSOCKET_LISTENER_H

#include "rsocket/stream/stream.h"

/** rcl_stream_listen - rlisten() */
int rcl_stream_listen(struct rcl_sock *sock, int backlog);

/** rcl_stream_accept - raccept() */
int rcl_stream_accept(struct rcl_sock *sock, struct rcl_sock **out);

/** rcl_listener_ready - may raccept() take a socket? */
bool rcl_listener_ready(struct rcl_stream *listener);

/**
 * rcl_listener_end - destroy the sockets that raccept() has not taken
 * @listener: the listener, not locked
 */
void rcl_listener_end(struct rcl_stream *listener);

#endif /* RCL_RSOCKET_LISTENER_H */
