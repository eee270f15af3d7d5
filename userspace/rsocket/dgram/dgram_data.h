/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Sending and receiving datagrams: operations of struct rcl_sock_ops. */
#ifndef RCL_RSOCKET_DGRAM_DATA_H
#define RCL_RSOCKET_DGRAM_DATA_H

#include "rsocket/sock.h"

ssize_t rcl_dgram_send(struct rcl_sock *sock, const struct msghdr *msg, int flags);
ssize_t rcl_dgram_recv(struct rcl_sock *sock, struct msghdr *msg, int flags);

#endif /* RCL_RSOCKET_DGRAM_DATA_H */
