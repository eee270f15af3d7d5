/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Deadlines of waits, and the signals that interrupt them. */
#ifndef RCL_PRELOAD_DEADLINE_H
#define RCL_PRELOAD_DEADLINE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/** RCL_NO_END - no deadline */
#define RCL_NO_END INT64_MAX

/**
 * rcl_deadline_after - convert a timeout to a deadline
 * @timeout: from now; NULL: none
 *
 * Return: nanoseconds of CLOCK_MONOTONIC; -EINVAL if @timeout is invalid
 */
int64_t rcl_deadline_after(const struct timespec *timeout);

/**
 * rcl_deadline_ms - as rcl_deadline_after(), for a timeout in milliseconds
 * @timeout: the timeout; negative: none
 */
int64_t rcl_deadline_ms(int timeout);

/**
 * rcl_time_left - milliseconds until a deadline, rounded up
 * @deadline: from rcl_deadline_after()
 *
 * Return: timeout for poll(): -1 without a deadline, 0 if it has passed
 */
int rcl_time_left(int64_t deadline);

/**
 * struct rcl_signals - the signal mask of a wait
 * @mask: the mask while the program waits
 * @before: the thread's own
 * @watched: signals that @before blocks and @mask does not
 * @fd: readable while one of @watched is pending; -1 without a mask
 *
 * The calls of rsockets have no signal mask. The watched signals stay blocked during the wait and
 * make @fd readable, so that none is delivered just before the wait begins.
 */
struct rcl_signals {
	sigset_t mask, before, watched;
	int fd;
};

/**
 * rcl_signals_block - begin a wait
 * @signals: filled in
 * @mask: the mask while the program waits; NULL: the thread's own
 *
 * Return: 0, or a negative errno
 */
int rcl_signals_block(struct rcl_signals *signals, const sigset_t *mask);

/**
 * rcl_signals_pending - whether a signal of the mask is to end the wait
 * @signals: from rcl_signals_block()
 */
bool rcl_signals_pending(const struct rcl_signals *signals);

/**
 * rcl_signals_restore - end a wait; errno is kept
 * @signals: from rcl_signals_block()
 * @deliver: run the handlers of pending signals
 */
void rcl_signals_restore(struct rcl_signals *signals, bool deliver);

#endif /* RCL_PRELOAD_DEADLINE_H */
