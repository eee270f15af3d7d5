/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* connect() of rsockets, and continuing over TCP if it fails. */
#ifndef RCL_PRELOAD_FALLBACK_H
#define RCL_PRELOAD_FALLBACK_H

#include <stdbool.h>

#include "preload/file.h"

/*
 * connect() of an rsocket. If it cannot connect, the descriptor becomes a TCP socket, which
 * connects instead. Returns 0, or -1 with errno.
 */
int rcl_connect(int fd, struct rcl_file *file, const struct sockaddr *addr, socklen_t length);

/*
 * Processes the result of a connect() in progress, without waiting; other files may be passed, too.
 * Returns false if the descriptor is a TCP socket now, whose connect() is in progress.
 */
bool rcl_connect_settle(int fd, struct rcl_file *file);

/*
 * Binds the kernel's socket of a listening rsocket, so that it can listen later. Called with the
 * lock of the file, as the next one.
 */
void rcl_listen_reserve(int fd, struct rcl_file *file);

/* Lets the kernel's socket listen, of a listener that was reserved. Returns false on failure. */
bool rcl_listen_kernel(int fd, struct rcl_file *file);

/*
 * Lets a listening rsocket listen over TCP instead; other files are left as they are. Drops the
 * caller's reference.
 */
void rcl_listen_tcp(int fd, struct rcl_file *file);

/* rcl_listen_tcp() for all. */
void rcl_listen_all_tcp(void);

#endif /* RCL_PRELOAD_FALLBACK_H */
