// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The epoll calls. libc handles an instance until the first rsocket is added.
 *
 * Locking: none here.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "preload/deadline.h"
#include "preload/delayed.h"
#include "preload/epoll.h"
#include "preload/fallback.h"
#include "preload/libc.h"

/* Interval of checks for pending signals, as repoll_wait() has no signal mask. */
#define SIGNAL_MS 10

RCL_EXPORT int epoll_create(int size)
{
	int fd = rcl_libc()->epoll_create(size);

	if (fd >= 0)
		rcl_file_install(fd, NULL);
	return fd;
}

RCL_EXPORT int epoll_create1(int flags)
{
	int fd = rcl_libc()->epoll_create1(flags);

	if (fd >= 0)
		rcl_file_install(fd, NULL);
	return fd;
}

/* The file of an instance that has rsockets, with a reference, or NULL. */
static struct rcl_file *instance_of(int epfd)
{
	struct rcl_file *file = rcl_file_get(epfd);

	if (!file || atomic_load(&file->kind) == RCL_FILE_EPOLL)
		return file;
	rcl_file_done(file, 0);
	return NULL;
}

static int control(int epfd, int op, int fd, struct rcl_file *file, struct epoll_event *event)
{
	struct rcl_file *instance = instance_of(epfd);

	if (!instance) {
		/* libc sets errno: @epfd is invalid, or does not have @fd. */
		if (op != EPOLL_CTL_ADD || rcl_file_known(epfd))
			return rcl_libc()->epoll_ctl(epfd, op, fd, event);
		instance = rcl_epoll_open(epfd);
		if (!instance)
			return -1;
	}
	return rcl_file_done(instance, rcl_epoll_control(instance, op, fd, file, event));
}

RCL_EXPORT int epoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
{
	struct rcl_file *file = rcl_file_get(fd);

	if (file)
		rcl_delayed_begin(fd, file, true);
	if (!rcl_file_known(fd) || (file && atomic_load(&file->kind) == RCL_FILE_CARRIED)) {
		if (file)
			rcl_file_done(file, 0);
		return rcl_libc()->epoll_ctl(epfd, op, fd, event);
	}
	if (!file)
		return rcl_libc()->epoll_ctl(epfd, op, fd, event);
	return rcl_file_done(file, control(epfd, op, fd, file, event));
}

/* False if the connect continues over TCP: the descriptor was moved to the kernel's instance. */
static bool is_usable(int fd, struct rcl_file *file)
{
	return rcl_connect_settle(fd, file);
}

static int wait_instance(struct rcl_file *instance, struct epoll_event *events, int max,
			 int64_t deadline, const struct rcl_signals *signals)
{
	int ret, left, slice;

	do {
		left = rcl_time_left(deadline);
		slice = signals->fd >= 0 && (left < 0 || left > SIGNAL_MS) ? SIGNAL_MS : left;
		ret = rcl_epoll_wait(instance, events, max, slice, is_usable);
		if (!ret && rcl_signals_pending(signals)) {
			errno = EINTR;
			return -1;
		}
	} while (!ret && left);
	return ret;
}

static int wait_with_mask(struct rcl_file *instance, struct epoll_event *events, int max,
			  int64_t deadline, const sigset_t *mask)
{
	struct rcl_signals signals;
	int ret;

	if (max <= 0 || deadline < 0) {
		errno = EINVAL;
		return -1;
	}
	ret = rcl_signals_block(&signals, mask);
	if (ret) {
		errno = -ret;
		return -1;
	}
	ret = wait_instance(instance, events, max, deadline, &signals);
	rcl_signals_restore(&signals, ret < 0);
	return ret;
}

static void leave_libc(int epfd, atomic_uint *waits)
{
	struct rcl_file *instance;

	if (!waits || atomic_fetch_sub(waits, 1) != 1 || !rcl_file_known(epfd))
		return;
	instance = instance_of(epfd);
	if (!instance)
		return;
	rcl_epoll_end_wake(instance);
	rcl_file_put(instance);
}

/*
 * Counts a wait in libc, so that the thread that adds the first rsocket ends it. Returns false if
 * the instance has rsockets.
 */
static bool enter_libc(int epfd, atomic_uint **waits)
{
	if (rcl_file_known(epfd))
		return false;
	*waits = rcl_file_waits(epfd);
	if (*waits)
		atomic_fetch_add(*waits, 1);
	if (!rcl_file_known(epfd))
		return true;
	leave_libc(epfd, *waits);
	return false;
}

/* Ends the wait. Returns false if it must be repeated, as only the wake-up event has ended it. */
static bool is_over(int epfd, atomic_uint *waits, struct epoll_event *events, int *ret)
{
	struct rcl_file *instance = *ret > 0 && rcl_file_known(epfd) ? instance_of(epfd) : NULL;
	int saved = errno;

	if (instance) {
		*ret = rcl_epoll_drop_wake(instance, events, *ret);
		rcl_file_put(instance);
	}
	leave_libc(epfd, waits);
	errno = saved;
	return !instance || *ret;
}

static int go_on(int epfd, struct epoll_event *events, int max, int64_t deadline,
		 const sigset_t *mask)
{
	struct rcl_file *instance = instance_of(epfd);

	if (!instance) {
		errno = EBADF;
		return -1;
	}
	return rcl_file_done(instance, wait_with_mask(instance, events, max, deadline, mask));
}

RCL_EXPORT int epoll_wait(int epfd, struct epoll_event *events, int max, int timeout)
{
	int64_t deadline = rcl_deadline_ms(timeout);
	atomic_uint *waits;
	int ret;

	if (enter_libc(epfd, &waits)) {
		ret = rcl_libc()->epoll_wait(epfd, events, max, timeout);
		if (is_over(epfd, waits, events, &ret))
			return ret;
	}
	return go_on(epfd, events, max, deadline, NULL);
}

RCL_EXPORT int epoll_pwait(int epfd, struct epoll_event *events, int max, int timeout,
			   const sigset_t *mask)
{
	int64_t deadline = rcl_deadline_ms(timeout);
	atomic_uint *waits;
	int ret;

	if (enter_libc(epfd, &waits)) {
		ret = rcl_libc()->epoll_pwait(epfd, events, max, timeout, mask);
		if (is_over(epfd, waits, events, &ret))
			return ret;
	}
	return go_on(epfd, events, max, deadline, mask);
}

RCL_EXPORT int epoll_pwait2(int epfd, struct epoll_event *events, int max,
			    const struct timespec *timeout, const sigset_t *mask)
{
	int64_t deadline = rcl_deadline_after(timeout);
	atomic_uint *waits;
	int ret;

	if (enter_libc(epfd, &waits)) {
		ret = rcl_libc()->epoll_pwait2(epfd, events, max, timeout, mask);
		if (is_over(epfd, waits, events, &ret))
			return ret;
	}
	return go_on(epfd, events, max, deadline, mask);
}
