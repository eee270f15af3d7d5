// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * poll(), select() and their variants. Without an rsocket among the descriptors they call libc.
 *
 * Locking: none.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "preload/deadline.h"
#include "preload/file.h"
#include "preload/libc.h"
#include "preload/wait.h"

#define BITS (sizeof(long) * CHAR_BIT)
#define SELECT_IN (POLLIN | POLLHUP | POLLERR)
#define SELECT_OUT (POLLOUT | POLLERR)

static bool has_rsocket(const struct pollfd *fds, nfds_t count)
{
	bool found = false;
	nfds_t i;

	/* Checks all descriptors: the check may turn one into an rsocket. */
	for (i = 0; i < count; i++)
		found |= rcl_wait_needed(fds[i].fd);
	return found;
}

static int do_poll(struct pollfd *fds, nfds_t count, int timeout)
{
	if (!has_rsocket(fds, count))
		return rcl_libc()->poll(fds, count, timeout);
	return rcl_wait(fds, count, rcl_deadline_ms(timeout), NULL);
}

RCL_EXPORT int poll(struct pollfd *fds, nfds_t count, int timeout)
{
	return do_poll(fds, count, timeout);
}

RCL_EXPORT int __poll_chk(struct pollfd *fds, nfds_t count, int timeout, size_t size)
{
	if (size / sizeof(*fds) < count)
		__chk_fail();
	return do_poll(fds, count, timeout);
}

static int do_ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
		    const sigset_t *mask)
{
	if (!has_rsocket(fds, count))
		return rcl_libc()->ppoll(fds, count, timeout, mask);
	return rcl_wait(fds, count, rcl_deadline_after(timeout), mask);
}

RCL_EXPORT int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
		     const sigset_t *mask)
{
	return do_ppoll(fds, count, timeout, mask);
}

RCL_EXPORT int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
			   const sigset_t *mask, size_t size)
{
	if (size / sizeof(*fds) < count)
		__chk_fail();
	return do_ppoll(fds, count, timeout, mask);
}

/* The sets may be larger than fd_set: as in select(2), only the number of bits counts. */
static bool is_in(const fd_set *set, int fd)
{
	return set && ((const unsigned long *)set)[fd / BITS] >> (fd % BITS) & 1;
}

static void put_in(fd_set *set, int fd)
{
	((unsigned long *)set)[fd / BITS] |= 1UL << (fd % BITS);
}

static void clear(fd_set *set, int count)
{
	size_t i;

	for (i = 0; set && i < (count + BITS - 1) / BITS; i++)
		((unsigned long *)set)[i] = 0;
}

struct sets {
	int count;
	fd_set *in, *out, *except;
};

static bool sets_have_rsocket(const struct sets *sets)
{
	bool found = false;
	int fd = -1;

	while (sets->count > 0 && (fd = rcl_file_next(fd + 1, sets->count - 1)) >= 0) {
		if (is_in(sets->in, fd) || is_in(sets->out, fd) || is_in(sets->except, fd))
			found |= rcl_wait_needed(fd);
	}
	return found;
}

static nfds_t sets_to_poll(const struct sets *sets, struct pollfd *polls)
{
	nfds_t n = 0;
	int fd;

	for (fd = 0; fd < sets->count; fd++) {
		short events = (is_in(sets->in, fd) ? POLLIN : 0) |
			       (is_in(sets->out, fd) ? POLLOUT : 0) |
			       (is_in(sets->except, fd) ? POLLPRI : 0);

		if (events)
			polls[n++] = (struct pollfd){ .fd = fd, .events = events };
	}
	return n;
}

/* Returns the number of bits that are set, as select(2) does. */
static int poll_to_sets(const struct sets *sets, const struct pollfd *polls, nfds_t n)
{
	int ready = 0;
	nfds_t i;

	for (i = 0; i < n; i++) {
		if (polls[i].revents & POLLNVAL) {
			errno = EBADF;
			return -1;
		}
	}
	clear(sets->in, sets->count);
	clear(sets->out, sets->count);
	clear(sets->except, sets->count);
	for (i = 0; i < n; i++) {
		if (polls[i].events & POLLIN && polls[i].revents & SELECT_IN) {
			put_in(sets->in, polls[i].fd);
			ready++;
		}
		if (polls[i].events & POLLOUT && polls[i].revents & SELECT_OUT) {
			put_in(sets->out, polls[i].fd);
			ready++;
		}
		if (polls[i].events & POLLPRI && polls[i].revents & POLLPRI) {
			put_in(sets->except, polls[i].fd);
			ready++;
		}
	}
	return ready;
}

/*
 * Reports events that end the wait but belong to no set, such as POLLHUP of an rsocket in @out
 * only, as POLLOUT.
 */
static void show_ends(struct pollfd *polls, nfds_t n)
{
	nfds_t i;

	for (i = 0; i < n; i++) {
		if (polls[i].revents & POLLHUP && !(polls[i].events & POLLIN))
			polls[i].revents |= polls[i].events;
	}
}

static int wait_for_sets(const struct sets *sets, int64_t deadline, const sigset_t *mask)
{
	struct pollfd *polls = calloc(sets->count, sizeof(*polls));
	nfds_t n;
	int ret;

	if (!polls) {
		errno = ENOMEM;
		return -1;
	}
	n = sets_to_poll(sets, polls);
	ret = rcl_wait(polls, n, deadline, mask);
	if (ret >= 0) {
		show_ends(polls, n);
		ret = poll_to_sets(sets, polls, n);
	}
	free(polls);
	return ret;
}

/* Sets the timeout to the remaining time, as Linux does, unlike POSIX. */
static void tell_left(struct timeval *timeout, int64_t deadline)
{
	int left = timeout ? rcl_time_left(deadline) : 0;

	if (!timeout)
		return;
	timeout->tv_sec = left / 1000;
	timeout->tv_usec = left % 1000 * 1000;
}

RCL_EXPORT int select(int count, fd_set *in, fd_set *out, fd_set *except, struct timeval *timeout)
{
	struct sets sets = { .count = count, .in = in, .out = out, .except = except };
	struct timespec time = { 0 };
	int64_t deadline;
	int ret;

	if (!sets_have_rsocket(&sets))
		return rcl_libc()->select(count, in, out, except, timeout);
	if (timeout) {
		/* select(2) allows more than a second in tv_usec. */
		time.tv_sec = timeout->tv_sec + timeout->tv_usec / 1000000;
		time.tv_nsec = timeout->tv_usec % 1000000 * 1000;
	}
	deadline = rcl_deadline_after(timeout ? &time : NULL);
	ret = wait_for_sets(&sets, deadline, NULL);
	if (deadline >= 0 && deadline != RCL_NO_END)
		tell_left(timeout, deadline);
	return ret;
}

RCL_EXPORT int pselect(int count, fd_set *in, fd_set *out, fd_set *except,
		       const struct timespec *timeout, const sigset_t *mask)
{
	struct sets sets = { .count = count, .in = in, .out = out, .except = except };

	if (!sets_have_rsocket(&sets))
		return rcl_libc()->pselect(count, in, out, except, timeout, mask);
	return wait_for_sets(&sets, rcl_deadline_after(timeout), mask);
}
