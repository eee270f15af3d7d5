/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The beginning and end of each public call: find the socket, lock it, and set errno. */
#ifndef RCL_RSOCKET_CALL_H
#define RCL_RSOCKET_CALL_H

#include <stdbool.h>
#include <sys/types.h>

#include "rsocket/sock.h"

/*
 * Finds and locks the socket of a public call, with a reference for rcl_call_leave(). Returns NULL
 * with errno EBADF or ENOTSOCK. @call: name of the call.
 */
struct rcl_sock *rcl_call_enter(int fd, const char *call);

/*
 * Unlocks and releases the socket. @ret: the result of the call, or a negative errno, for which it
 * sets errno and returns -1.
 */
ssize_t rcl_call_leave(struct rcl_sock *sock, ssize_t ret, const char *call);

#endif /* RCL_RSOCKET_CALL_H */
