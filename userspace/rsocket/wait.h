/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Waiting: times, and threads that sleep until a socket changes.
 *
 * pthread_cancel() ends a thread in such a sleep, and nowhere else in a call: a call has locks,
 * references and data under way elsewhere. Who sleeps gives back what the call has.
 */
#ifndef RCL_RSOCKET_WAIT_H
#define RCL_RSOCKET_WAIT_H

#include <poll.h>
#include <stdint.h>

#include "rsocket/sock.h"

/** RCL_FOREVER - a deadline that is never over */
#define RCL_FOREVER INT64_MAX

/** rcl_now_ns - nanoseconds of CLOCK_MONOTONIC */
int64_t rcl_now_ns(void);

/**
 * rcl_deadline - the time after some milliseconds
 * @ms: milliseconds; negative: never
 *
 * Return: in nanoseconds of CLOCK_MONOTONIC, or RCL_FOREVER
 */
int64_t rcl_deadline(int64_t ms);

/**
 * rcl_call_deadline - how long a call that sends or receives may wait
 * @sock: the locked socket
 * @flags: of the call
 * @ms: SO_RCVTIMEO or SO_SNDTIMEO; 0: none
 *
 * Return: in nanoseconds of CLOCK_MONOTONIC, or RCL_FOREVER; 0: it does not wait
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
 * rcl_cancel_in_sleeps - the thread enters a call: from now on it can be cancelled in sleeps only
 *
 * Context: Each thread. Calls are not nested.
 */
void rcl_cancel_in_sleeps(void);

/** rcl_cancel_as_before - the thread leaves the call, and has no lock or reference any more */
void rcl_cancel_as_before(void);

/** rcl_cancel_never - the thread cannot be cancelled in the sleeps of this call, either */
void rcl_cancel_never(void);

/**
 * rcl_cancel_loses - may a thread that is cancelled in a system call lose what the call has done?
 *
 * With a glibc before 2.41 it may, if it comes back from the call at that moment. So it must not
 * take anything in a sleep.
 *
 * Return: false also if the program has disabled cancellation
 */
bool rcl_cancel_loses(void);

/**
 * rcl_signals_restart - does read(2) go on after a signal, where poll(2) ends?
 *
 * Return: false if the program has a handler without SA_RESTART, for any signal
 */
bool rcl_signals_restart(void);

/** rcl_sleep_begin - from now on the thread may be cancelled; there is a cleanup handler */
void rcl_sleep_begin(void);

/** rcl_sleep_end - end of rcl_sleep_begin() */
void rcl_sleep_end(void);

/**
 * rcl_sleep - poll(2) until a deadline, on the eventfd of the thread, too
 * @fds: descriptors; there is room for one more behind them
 * @count: their number
 * @deadline: nanoseconds of CLOCK_MONOTONIC
 * @cancelled: called when the thread is cancelled
 * @arg: passed to it
 *
 * Context: Nothing is locked. What the eventfd has told is taken.
 * Return: number of descriptors that are ready, also that of the thread; 0 after the deadline;
 * -EINTR or another negative errno
 */
int rcl_sleep(struct pollfd *fds, nfds_t count, int64_t deadline, void (*cancelled)(void *arg),
	      void *arg);

/**
 * rcl_sleep_on - rcl_sleep() of a call that has one socket, until that changes
 * @sock: the locked socket; unlocked meanwhile
 * @fds: descriptors; there is room for one more behind them
 * @count: their number
 * @deadline: nanoseconds of CLOCK_MONOTONIC
 * @cancelled: called when the thread is cancelled, with the lock; NULL: nothing is to be done.
 *	       The reference of the call is dropped afterwards
 *
 * Return: as rcl_sleep()
 */
int rcl_sleep_on(struct rcl_sock *sock, struct pollfd *fds, nfds_t count, int64_t deadline,
		 void (*cancelled)(struct rcl_sock *sock));

/**
 * struct rcl_spin - for how long a call looks again and again before it sleeps
 * @halvings: how often the time was halved, as it was not enough; 0 at first
 */
struct rcl_spin {
	uint8_t halvings;
};

/**
 * rcl_spin_ns - the time without sleep
 * @spin: of those that wait for the same
 *
 * Return: nanoseconds; 0 if the last waits were too long for it
 */
int64_t rcl_spin_ns(const struct rcl_spin *spin);

/**
 * rcl_spin_learn - adapt the time to how long a wait was
 * @spin: of those that wait for the same
 * @waited: nanoseconds, with and without sleep
 */
void rcl_spin_learn(struct rcl_spin *spin, int64_t waited);

#endif /* RCL_RSOCKET_WAIT_H */
