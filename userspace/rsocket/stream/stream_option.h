/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Options of streams. */
#ifndef RCL_RSOCKET_STREAM_OPTION_H
#define RCL_RSOCKET_STREAM_OPTION_H

#include "rsocket/stream/stream.h"

int rcl_stream_setopt(struct rcl_sock *sock, int level, int name, const void *value, socklen_t len);
int rcl_stream_getopt(struct rcl_sock *sock, int level, int name, void *value, socklen_t *len);

#endif /* RCL_RSOCKET_STREAM_OPTION_H */
