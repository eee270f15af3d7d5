/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Waiting for descriptors that include rsockets. */
#ifndef RCL_PRELOAD_WAIT_H
#define RCL_PRELOAD_WAIT_H

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Does waiting for a descriptor require rcl_wait()? True for an rsocket and for an epoll instance
 * with rsockets; false if called by the rsocket library. A delayed connection of a server becomes
 * an rsocket here: its client sends nothing over TCP, so the wait counts as its first I/O.
 */
bool rcl_wait_needed(int fd);

/*
 * poll(2) with rsockets. @deadline: from rcl_deadline_after(). @mask: signal mask while waiting;
 * NULL: the thread's.
 */
int rcl_wait(struct pollfd *fds, nfds_t count, int64_t deadline, const sigset_t *mask);

#endif /* RCL_PRELOAD_WAIT_H */
