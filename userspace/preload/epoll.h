/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Epoll instances with rsockets in them. Such an instance is two: the kernel's, with the
 * descriptors of libc, and a repoll instance with the rsockets and with the kernel's instance,
 * which is a descriptor that can be waited for. So an instance begins as the kernel's alone, and
 * keeps its number and what is in it when the first rsocket comes.
 */
#ifndef RCL_PRELOAD_EPOLL_H
#define RCL_PRELOAD_EPOLL_H

#include <stdbool.h>
#include <sys/epoll.h>

#include "preload/file.h"

/**
 * rcl_epoll_open - make an epoll instance one that can have rsockets
 * @epfd: descriptor of the instance
 *
 * Threads that wait in epoll_wait() of libc meanwhile get a wake-up event, see
 * rcl_epoll_drop_wake().
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
 * @event: as epoll_ctl(2) takes it
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
 * @usable: asked about each rsocket whose connect() is under way, without locks; its event is
 *          dropped when the answer is no
 *
 * Return: number of events, which may be 0 before the timeout; -1 with errno
 */
int rcl_epoll_wait(struct rcl_file *instance, struct epoll_event *events, int max, int timeout,
		   bool (*usable)(int fd, struct rcl_file *file));

/**
 * rcl_epoll_drop_wake - end a wait in libc's epoll_wait() during which the instance was changed
 * @instance: file of the instance
 * @events: what libc's epoll_wait() has returned
 * @count: how many
 *
 * Return: number of events that are left
 */
int rcl_epoll_drop_wake(struct rcl_file *instance, struct epoll_event *events, int count);

/**
 * rcl_epoll_end_wake - no thread waits in libc any more
 * @instance: file of the instance
 */
void rcl_epoll_end_wake(struct rcl_file *instance);

/**
 * rcl_epoll_move - a file has become an rsocket, or will become a socket of the kernel: move it in
 *                  all instances
 * @file: the file
 * @native: whether it is to be the kernel's
 */
void rcl_epoll_move(struct rcl_file *file, bool native);

/**
 * rcl_epoll_forget - take a file out of all instances, before its rsocket is closed
 * @file: the file
 */
void rcl_epoll_forget(struct rcl_file *file);

#endif /* RCL_PRELOAD_EPOLL_H */
