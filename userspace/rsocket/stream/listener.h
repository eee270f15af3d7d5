/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The passive side of a connection. */
#ifndef RCL_RSOCKET_LISTENER_H
#define RCL_RSOCKET_LISTENER_H

#include "rsocket/stream/stream.h"

int rcl_stream_listen(struct rcl_sock *sock, int backlog);
int rcl_stream_accept(struct rcl_sock *sock, struct rcl_sock **out);

/* May raccept() take a socket? */
bool rcl_listener_ready(struct rcl_stream *listener);

/* Destroys the sockets that raccept() has not taken. The listener is not locked. */
void rcl_listener_end(struct rcl_stream *listener);

#endif /* RCL_RSOCKET_LISTENER_H */
