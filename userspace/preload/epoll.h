/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Epoll instances with rsockets in them. Such an instance consists of two: that of the kernel, with
 * the descriptors of libc, and a repoll instance, which contains the rsockets and the instance of
 * the kernel. So an instance begins as one of the kernel, and keeps its number and descriptors when
 * the first rsocket is added.
 */
#ifndef RCL_PRELOAD_EPOLL_H
#define RCL_PRELOAD_EPOLL_H

#include <stdbool.h>
#include <sys/epoll.h>

#include "preload/file.h"

/*
 * Makes an epoll instance able to have rsockets. Threads that wait in epoll_wait() of libc get a
 * wake-up event, see rcl_epoll_drop_wake(). Returns its file with a reference; NULL with errno on
 * failure.
 */
struct rcl_file *rcl_epoll_open(int epfd);

/* epoll_ctl() of an instance for @file, whose descriptor is @fd. Returns 0, or -1 with errno. */
int rcl_epoll_control(struct rcl_file *instance, int op, int fd, struct rcl_file *file,
		      const struct epoll_event *event);

/*
 * Waits once, for @timeout milliseconds, or without a limit if it is negative. @max is at least 1.
 * @usable is called without locks for each rsocket whose connect() is in progress; if it returns
 * false, the event is dropped. Returns the number of events, which may be 0 before the timeout; -1
 * with errno.
 */
int rcl_epoll_wait(struct rcl_file *instance, struct epoll_event *events, int max, int timeout,
		   bool (*usable)(int fd, struct rcl_file *file));

/*
 * Removes the wake-up event of rcl_epoll_open() from the result of epoll_wait() of libc. Returns
 * the number of remaining events.
 */
int rcl_epoll_drop_wake(struct rcl_file *instance, struct epoll_event *events, int count);

/* Ends the wake-up event, when no thread waits in libc any more. */
void rcl_epoll_end_wake(struct rcl_file *instance);

/*
 * Moves a file between the two instances, in all epoll instances that have it. @native: to that of
 * the kernel, as the file will become a socket of the kernel; otherwise to the repoll instance.
 */
void rcl_epoll_move(struct rcl_file *file, bool native);

/* Removes a file from all instances, before its rsocket is closed. */
void rcl_epoll_forget(struct rcl_file *file);

#endif /* RCL_PRELOAD_EPOLL_H */
