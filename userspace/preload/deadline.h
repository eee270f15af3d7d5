/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Deadlines of waits, and the signals that interrupt them. */
#ifndef RCL_PRELOAD_DEADLINE_H
#define RCL_PRELOAD_DEADLINE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* No deadline. */
#define RCL_NO_END INT64_MAX

/*
 * Converts a timeout, or NULL for none, to nanoseconds of CLOCK_MONOTONIC. -EINVAL: it is invalid.
 */
int64_t rcl_deadline_after(const struct timespec *timeout);

/* As rcl_deadline_after(), for milliseconds; negative: none. */
int64_t rcl_deadline_ms(int timeout);

/*
 * Returns the timeout for poll() until a deadline: milliseconds, rounded up; -1 without a deadline,
 * 0 if it has passed.
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

/* Begins a wait. @mask: the mask while the program waits; NULL: the thread's own. */
int rcl_signals_block(struct rcl_signals *signals, const sigset_t *mask);

/* Has a signal of the mask to end the wait? */
bool rcl_signals_pending(const struct rcl_signals *signals);

/* Ends a wait, and keeps errno. @deliver: run the handlers of pending signals. */
void rcl_signals_restore(struct rcl_signals *signals, bool deliver);

#endif /* RCL_PRELOAD_DEADLINE_H */
