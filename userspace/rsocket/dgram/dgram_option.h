/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Options of datagram sockets: calls of struct rcl_sock_ops. */
#ifndef RCL_RSOCKET_DGRAM_OPTION_H
#define RCL_RSOCKET_DGRAM_OPTION_H

#include "rsocket/sock.h"

/** rcl_dgram_setopt - see struct rcl_sock_ops */
int rcl_dgram_setopt(struct rcl_sock *sock, int level, int name, const void *value, socklen_t len);

/** rcl_dgram_getopt - see struct rcl_sock_ops */
int rcl_dgram_getopt(struct rcl_sock *sock, int level, int name, void *value, socklen_t *len);

#endif /* RCL_RSOCKET_DGRAM_OPTION_H */
