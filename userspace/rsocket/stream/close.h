/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The end of a stream. */
#ifndef RCL_RSOCKET_CLOSE_H
#define RCL_RSOCKET_CLOSE_H

#include "rsocket/stream/stream.h"

/** rcl_stream_shutdown - rshutdown() */
int rcl_stream_shutdown(struct rcl_sock *sock, int how);

/** rcl_stream_end - rclose() */
void rcl_stream_end(struct rcl_sock *sock);

/** rcl_stream_free - free a stream after its last reference */
void rcl_stream_free(struct rcl_sock *sock);

#endif /* RCL_RSOCKET_CLOSE_H */
