// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Deadlines and signal masks of waits.
 *
 * Locking: none.
 */
#include "preload/deadline.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sys/signalfd.h>

#include "preload/libc.h"

#define NS_PER_S 1000000000LL
#define NS_PER_MS 1000000LL

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * NS_PER_S + time.tv_nsec;
}

int64_t rcl_deadline_after(const struct timespec *timeout)
{
	int64_t start = now();

	if (!timeout)
		return RCL_NO_END;
	if (timeout->tv_sec < 0 || timeout->tv_nsec < 0 || timeout->tv_nsec >= NS_PER_S)
		return -EINVAL;
	if (timeout->tv_sec >= (RCL_NO_END - start) / NS_PER_S - 1)
		return RCL_NO_END;
	return start + timeout->tv_sec * NS_PER_S + timeout->tv_nsec;
}

int64_t rcl_deadline_ms(int timeout)
{
	return timeout < 0 ? RCL_NO_END : now() + timeout * NS_PER_MS;
}

int rcl_time_left(int64_t deadline)
{
	int64_t left;

	if (deadline == RCL_NO_END)
		return -1;
	left = deadline - now();
	if (left <= 0)
		return 0;
	left = (left + NS_PER_MS - 1) / NS_PER_MS;
	return left < INT_MAX ? left : INT_MAX;
}

int rcl_signals_block(struct rcl_signals *signals, const sigset_t *mask)
{
	sigset_t during;

	signals->fd = -1;
	if (!mask)
		return 0;
	signals->mask = *mask;
	pthread_sigmask(SIG_BLOCK, mask, &signals->before);
	sigorset(&during, mask, &signals->before);
	sigemptyset(&signals->watched);
	for (int i = 1; i < NSIG; i++) {
		if (sigismember(&signals->before, i) == 1 && sigismember(mask, i) == 0)
			sigaddset(&signals->watched, i);
	}
	pthread_sigmask(SIG_SETMASK, &during, NULL);
	signals->fd = signalfd(-1, &signals->watched, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals->fd >= 0)
		return 0;
	pthread_sigmask(SIG_SETMASK, &signals->before, NULL);
	return -errno;
}

bool rcl_signals_pending(const struct rcl_signals *signals)
{
	sigset_t pending, ends;

	if (signals->fd < 0 || sigpending(&pending))
		return false;
	sigandset(&ends, &pending, &signals->watched);
	return !sigisemptyset(&ends);
}

void rcl_signals_restore(struct rcl_signals *signals, bool deliver)
{
	int saved = errno;

	if (signals->fd < 0)
		return;
	rcl_libc()->close(signals->fd);
	if (deliver)
		pthread_sigmask(SIG_SETMASK, &signals->mask, NULL);
	pthread_sigmask(SIG_SETMASK, &signals->before, NULL);
	errno = saved;
}
