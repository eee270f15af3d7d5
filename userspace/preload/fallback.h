/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* connect() of rsockets, and going on over TCP when it fails. */
#ifndef RCL_PRELOAD_FALLBACK_H
#define RCL_PRELOAD_FALLBACK_H

#include <stdbool.h>

#include "preload/file.h"

/**
 * rcl_connect - connect() of a file that is an rsocket
 * @fd: its descriptor
 * @file: the file, with a reference
 * @addr: the peer
 * @length: of @addr
 *
 * When the rsocket does not connect, the descriptor becomes a TCP socket, which connects.
 *
 * Return: 0, or -1 with errno
 */
int rcl_connect(int fd, struct rcl_file *file, const struct sockaddr *addr, socklen_t length);

/**
 * rcl_connect_settle - see how a connect() that was under way has ended
 * @fd: a descriptor of the file
 * @file: the file, with a reference
 *
 * Does not wait. May be called for each file.
 *
 * Return: false if the descriptor is a TCP socket now, whose connect() is under way
 */
bool rcl_connect_settle(int fd, struct rcl_file *file);

#endif /* RCL_PRELOAD_FALLBACK_H */
