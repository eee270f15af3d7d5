/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* connect() of rsockets, and continuing over TCP if it fails. */
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
 * If the rsocket cannot connect, the descriptor becomes a TCP socket, which connects instead.
 *
 * Return: 0, or -1 with errno
 */
int rcl_connect(int fd, struct rcl_file *file, const struct sockaddr *addr, socklen_t length);

/**
 * rcl_connect_settle - process the result of a connect() that was in progress
 * @fd: a descriptor of the file
 * @file: the file, with a reference
 *
 * Does not wait. May be called for each file.
 *
 * Return: false if the descriptor is a TCP socket now, whose connect() is in progress
 */
bool rcl_connect_settle(int fd, struct rcl_file *file);

#endif /* RCL_PRELOAD_FALLBACK_H */
