/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What all public calls of rsockets do: find the socket, lock it, and set errno. */
#ifndef RCL_RSOCKET_CALL_H
#define RCL_RSOCKET_CALL_H

#include <stdbool.h>
#include <sys/types.h>

#include "rsocket/sock.h"

/**
 * rcl_call_enter - find and lock the socket of a call
 * @fd: the number that the program has passed
 * @call: name of the call
 *
 * Return: the socket with a reference, for rcl_call_leave(); NULL with errno EBADF or ENOTSOCK
 */
struct rcl_sock *rcl_call_enter(int fd, const char *call);

/**
 * rcl_call_leave - unlock and release the socket of a call
 * @sock: the socket
 * @ret: the result of the call, or a negative errno
 * @call: name of the call
 *
 * Return: @ret; -1 with errno set if it is negative
 */
ssize_t rcl_call_leave(struct rcl_sock *sock, ssize_t ret, const char *call);

#endif /* RCL_RSOCKET_CALL_H */
