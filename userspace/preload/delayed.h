/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * RDMAV_FORK_SAFE: connections begin as TCP connections, so that fork() can pass them to a child.
 * They become rsockets when the server first reads, writes or waits.
 */
#ifndef RCL_PRELOAD_DELAYED_H
#define RCL_PRELOAD_DELAYED_H

#include <stdbool.h>

#include "preload/file.h"

/*
 * Creates an rsocket, whose number is above those of the program if the rsocket library is this
 * project's, and which has the queue sizes of the environment. Returns -1 with errno on failure.
 */
int rcl_rsocket(int domain, int type, int protocol);

/* Makes rcl_rsocket() fail from now on. Returns false if it does so already, or made no rsocket. */
bool rcl_rsocket_stop(void);

/*
 * Replaces a delayed TCP connection by an rsocket, or keeps it on failure. Waits for the peer, also
 * with O_NONBLOCK. @server_only: the caller waits for events; do nothing at the client, whose
 * program may be waiting for the end of connect().
 */
void rcl_delayed_begin(int fd, struct rcl_file *file, bool server_only);

/*
 * Finds the rsocket of a descriptor for reading or writing: makes a delayed connection an rsocket,
 * and checks whether a connect() in progress has failed. Returns the file with a reference; NULL:
 * call libc.
 */
struct rcl_file *rcl_ready(int fd);

/*
 * Ends a call that has sent to an rsocket, and drops the reference of the file. As with TCP, the
 * end of the peer is ECONNRESET once, and EPIPE afterwards, which raises SIGPIPE unless @flags has
 * MSG_NOSIGNAL. Returns @ret, the result of the call.
 */
ssize_t rcl_sent(struct rcl_file *file, ssize_t ret, int flags);

/* As rcl_ready(), without a wait for the peer: a file that a parent lends begins, too. */
struct rcl_file *rcl_rsocket_of(int fd);

#endif /* RCL_PRELOAD_DELAYED_H */
