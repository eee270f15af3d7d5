/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Options of streams. */
#ifndef RCL_RSOCKET_STREAM_OPTION_H
#define RCL_RSOCKET_STREAM_OPTION_H

#include "rsocket/stream/stream.h"

/** rcl_stream_setopt - rsetsockopt() for options that are specific to streams */
int rcl_stream_setopt(struct rcl_sock *sock, int level, int name, const void *value, socklen_t len);

/** rcl_stream_getopt - rgetsockopt() for options that are specific to streams */
int rcl_stream_getopt(struct rcl_sock *sock, int level, int name, void *value, socklen_t *len);

#endif /* RCL_RSOCKET_STREAM_OPTION_H */
