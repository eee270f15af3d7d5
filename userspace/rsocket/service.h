/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The service thread acts for sockets while no thread of the program is in a call. One thread
 * serves all sockets of the process, and sleeps only in epoll_wait().
 */
#ifndef RCL_RSOCKET_SERVICE_H
#define RCL_RSOCKET_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

/**
 * struct rcl_task - a descriptor or a time that the service thread waits for
 * @run: called by the service thread when @fd is readable or @due is reached; may call
 *       rcl_service_remove()
 * @fd: the descriptor; -1: none
 * @due: nanoseconds of CLOCK_MONOTONIC; RCL_FOREVER: none. Set to RCL_FOREVER before @run is called
 *       for it
 * @slot: index in the table of the service, which alone uses it
 * @added: rcl_service_add() has added it; used by the service alone
 */
struct rcl_task {
	void (*run)(struct rcl_task *task);
	int fd;
	int64_t due;
	uint32_t slot;
	bool added;
};

/**
 * rcl_service_add - start a task
 * @task: the task, which is not added
 *
 * Starts the thread if it does not run yet.
 *
 * Context: The caller may hold the lock of a socket.
 * Return: 0 or a negative errno
 */
int rcl_service_add(struct rcl_task *task);

/**
 * rcl_service_remove - end a task
 * @task: the task; nothing happens if it is not added
 *
 * Context: Any thread. No lock that @task->run takes may be held: unless it is called by @run, the
 * function waits until @run has returned. Close @task->fd only afterwards.
 */
void rcl_service_remove(struct rcl_task *task);

/**
 * rcl_service_due - set the time of a task
 * @task: the task, added
 * @due: nanoseconds of CLOCK_MONOTONIC, or RCL_FOREVER
 *
 * Context: The caller may hold the lock of a socket.
 */
void rcl_service_due(struct rcl_task *task, int64_t due);

#endif /* RCL_RSOCKET_SERVICE_H */
