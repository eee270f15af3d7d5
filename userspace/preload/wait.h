/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Waiting for descriptors, rsockets among them. */
#ifndef RCL_PRELOAD_WAIT_H
#define RCL_PRELOAD_WAIT_H

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/**
 * rcl_wait_needed - whether a descriptor that is to be waited for needs rcl_wait()
 * @fd: any number
 *
 * A server's delayed connection becomes an rsocket: waiting counts as its first I/O, as the client
 * sends nothing over TCP.
 *
 * Return: true for an rsocket, and an epoll instance with some; false inside the rsocket library
 */
bool rcl_wait_needed(int fd);

/**
 * rcl_wait - poll() with rsockets
 * @fds: as poll(2) takes them
 * @count: how many
 * @deadline: from rcl_deadline_after()
 * @mask: signal mask while waiting; NULL: the thread's
 *
 * Return: as poll(2)
 */
int rcl_wait(struct pollfd *fds, nfds_t count, int64_t deadline, const sigset_t *mask);

#endif /* RCL_PRELOAD_WAIT_H */
