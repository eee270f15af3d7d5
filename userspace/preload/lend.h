/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Rsockets after fork(). They belong to the process that made them, the owner. Its children have
 * them as RCL_FILE_LENT until their first use of them:
 *
 * - A child that uses a listener serves it, and can do so over TCP only: it listens with the
 *   kernel's socket, which both share, and the owner stops listening over RDMA as soon as it can.
 * - A child that uses a connection lets the owner carry its data: two threads of the owner copy
 *   between the rsocket and a TCP connection of this host, to which the descriptor is connected.
 *   After the first such connection, the listeners of the owner go on over TCP: the connections
 *   that follow are no detour.
 */
#ifndef RCL_PRELOAD_LEND_H
#define RCL_PRELOAD_LEND_H

#include "preload/file.h"

/* Lends what can be lent at each fork() from now on. To be called after rcl_file_new(). */
void rcl_lend_start(void);

/* The first use of a lent file in a child. Others are left as they are. errno is kept. */
void rcl_lend_begin(int fd, struct rcl_file *file);

/* The last descriptor of a lent file is closed in a child, which may have used it. */
void rcl_lend_return(struct rcl_file *file);

/* getpeername() and getsockname() of a connection that the owner carries. */
bool rcl_lend_name(int fd, bool peer, struct sockaddr *addr, socklen_t *length);

#endif /* RCL_PRELOAD_LEND_H */
