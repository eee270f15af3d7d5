/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Waiting: times, and threads that sleep until a socket changes.
 *
 * pthread_cancel() takes effect in such a sleep only, and nowhere else in a call, where the thread
 * has locks, references and half-moved data. A cleanup handler of the sleep releases the waiters,
 * references and memory of the call.
 */
#ifndef RCL_RSOCKET_WAIT_H
#define RCL_RSOCKET_WAIT_H

#include <poll.h>
#include <stdint.h>

#include "rsocket/sock.h"

/** RCL_FOREVER - no deadline */
#define RCL_FOREVER INT64_MAX

/** rcl_now_ns - nanoseconds of CLOCK_MONOTONIC */
int64_t rcl_now_ns(void);

/**
 * rcl_deadline - convert a timeout to a deadline
 * @ms: milliseconds from now; negative: no deadline
 *
 * Return: nanoseconds of CLOCK_MONOTONIC, or RCL_FOREVER
 */
int64_t rcl_deadline(int64_t ms);

/**
 * rcl_call_deadline - the deadline of a call that sends or receives
 * @sock: the locked socket
 * @flags: of the call
 * @ms: SO_RCVTIMEO or SO_SNDTIMEO; 0: none
 *
 * Return: nanoseconds of CLOCK_MONOTONIC, or RCL_FOREVER; 0: do not wait
 */
int64_t rcl_call_deadline(const struct rcl_sock *sock, int flags, uint32_t ms);

/**
 * struct rcl_sleeper - a thread that sleeps until one of some sockets changes
 * @waiter: for one socket; a thread that waits for several has one for each
 * @fd: the eventfd of the thread
 */
struct rcl_sleeper {
	struct rcl_waiter waiter;
	int fd;
};

/**
 * rcl_sleeper_init - prepare to be woken
 * @sleeper: filled in
 *
 * Return: 0 or a negative errno
 */
int rcl_sleeper_init(struct rcl_sleeper *sleeper);

/**
 * rcl_cancel_in_sleeps - at the beginning of a call, restrict cancellation to sleeps
 *
 * Context: Each thread. Calls are not nested.
 */
void rcl_cancel_in_sleeps(void);

/** rcl_cancel_as_before - at the end of a call, without locks and references: restore the state */
void rcl_cancel_as_before(void);

/** rcl_cancel_never - disable cancellation in the sleeps of this call, too */
void rcl_cancel_never(void);

/**
 * rcl_cancel_loses - may the result of a system call be lost when the thread is cancelled?
 *
 * A glibc before 2.41 may cancel a thread whose system call has just completed. So the thread must
 * not read anything in a sleep.
 *
 * Return: false also if the program has disabled cancellation
 */
bool rcl_cancel_loses(void);

/**
 * rcl_signals_restart - is read(2) restarted after a signal, which ends poll(2)?
 *
 * Return: false if the program has a handler without SA_RESTART, for any signal
 */
bool rcl_signals_restart(void);

/** rcl_sleep_begin - allow cancellation; the caller has pushed a cleanup handler */
void rcl_sleep_begin(void);

/** rcl_sleep_end - disable cancellation again, after rcl_sleep_begin() */
void rcl_sleep_end(void);

/**
 * rcl_sleep - poll(2) on descriptors and the eventfd of the thread, until a deadline
 * @fds: descriptors; there is room for one more behind them
 * @count: their number
 * @deadline: nanoseconds of CLOCK_MONOTONIC
 * @cancelled: called when the thread is cancelled
 * @arg: passed to it
 *
 * Context: No locks. Clears the eventfd.
 * Return: number of ready descriptors, with the eventfd; 0 after the deadline; -EINTR or another
 * negative errno
 */
int rcl_sleep(struct pollfd *fds, nfds_t count, int64_t deadline, void (*cancelled)(void *arg),
	      void *arg);

/**
 * rcl_sleep_on - rcl_sleep() of a call on one socket, until the socket changes
 * @sock: the locked socket; unlocked meanwhile
 * @fds: descriptors; there is room for one more behind them
 * @count: their number
 * @deadline: nanoseconds of CLOCK_MONOTONIC
 * @cancelled: called with the lock when the thread is cancelled, or NULL. The reference of the call
 *	       is dropped afterwards
 *
 * Return: as rcl_sleep()
 */
int rcl_sleep_on(struct rcl_sock *sock, struct pollfd *fds, nfds_t count, int64_t deadline,
		 void (*cancelled)(struct rcl_sock *sock));

/**
 * struct rcl_spin - how long a call polls before it sleeps
 * @halvings: number of times that the time was halved, after waits that took longer; 0 at first
 */
struct rcl_spin {
	uint8_t halvings;
};

/**
 * rcl_spin_ns - how long to poll before sleeping
 * @spin: shared by waits for the same peer
 *
 * Return: nanoseconds; 0 if the last waits were too long
 */
int64_t rcl_spin_ns(const struct rcl_spin *spin);

/**
 * rcl_spin_learn - adapt the time to the length of a wait
 * @spin: shared by waits for the same peer
 * @waited: nanoseconds of polling and sleep
 */
void rcl_spin_learn(struct rcl_spin *spin, int64_t waited);

#endif /* RCL_RSOCKET_WAIT_H */
