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

/**
 * rcl_epoll_open - make an epoll instance able to have rsockets
 * @epfd: descriptor of the instance
 *
 * Threads that wait in epoll_wait() of libc get a wake-up event, see rcl_epoll_drop_wake().
 *
 * Return: its file, with a reference for the caller; NULL with errno on failure
 */
struct rcl_file *rcl_epoll_open(int epfd);

/**
 * rcl_epoll_control - epoll_ctl() of an instance and a file
 * @instance: file of the instance
 * @op: EPOLL_CTL_ADD, EPOLL_CTL_MOD or EPOLL_CTL_DEL
 * @fd: a descriptor of the file
 * @file: the file
 * @event: as of epoll_ctl(2)
 *
 * Return: 0, or -1 with errno
 */
int rcl_epoll_control(struct rcl_file *instance, int op, int fd, struct rcl_file *file,
		      const struct epoll_event *event);

/**
 * rcl_epoll_wait - wait once
 * @instance: file of the instance
 * @events: filled in
 * @max: most events, at least 1
 * @timeout: milliseconds, or negative
 * @usable: called without locks for each rsocket whose connect() is in progress; if it returns
 *          false, the event is dropped
 *
 * Return: number of events, which may be 0 before the timeout; -1 with errno
 */
int rcl_epoll_wait(struct rcl_file *instance, struct epoll_event *events, int max, int timeout,
		   bool (*usable)(int fd, struct rcl_file *file));

/**
 * rcl_epoll_drop_wake - remove the wake-up event of rcl_epoll_open()
 * @instance: file of the instance
 * @events: result of libc's epoll_wait()
 * @count: number of events
 *
 * Return: number of remaining events
 */
int rcl_epoll_drop_wake(struct rcl_file *instance, struct epoll_event *events, int count);

/**
 * rcl_epoll_end_wake - no thread waits in libc any more
 * @instance: file of the instance
 */
void rcl_epoll_end_wake(struct rcl_file *instance);

/**
 * rcl_epoll_move - move a file between the two instances, in all epoll instances that have it
 * @file: the file
 * @native: to that of the kernel, as it will become a socket of the kernel; otherwise to the repoll
 */
void rcl_epoll_move(struct rcl_file *file, bool native);

/**
 * rcl_epoll_forget - remove a file from all instances, before its rsocket is closed
 * @file: the file
 */
void rcl_epoll_forget(struct rcl_file *file);

#endif /* RCL_PRELOAD_EPOLL_H */
