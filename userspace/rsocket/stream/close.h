/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The end of a stream: operations of struct rcl_sock_ops. */
#ifndef RCL_RSOCKET_CLOSE_H
#define RCL_RSOCKET_CLOSE_H

#include "rsocket/stream/stream.h"

int rcl_stream_shutdown(struct rcl_sock *sock, int how);
void rcl_stream_end(struct rcl_sock *sock);
void rcl_stream_free(struct rcl_sock *sock);

#endif /* RCL_RSOCKET_CLOSE_H */
