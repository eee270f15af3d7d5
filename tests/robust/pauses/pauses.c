// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Preloaded into a program, it lets threads pause at random around locks, reads, writes and poll():
 * for a moment, or for some milliseconds. Orders of threads that an idle machine hardly ever shows
 * come often then.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Of 4,096 calls so many sleep, and so many let other threads run. */
#define SLEEPS	40
#define YIELDS	360

/* System calls, so that no function of this file or of a sanitizer is called. */
static void pause_at_random(void)
{
	static const long lengths[] = { 100000, 1500000, 100000, 12000000 };	/* ns */
	static __thread uint32_t seed;
	struct timespec time = { 0 };
	uint32_t number;

	if (!seed) {
		syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &time);
		seed = (uint32_t)time.tv_nsec ^ (uint32_t)syscall(SYS_gettid) * 2654435761u;
	}
	seed = seed * 1664525 + 1013904223;
	number = seed >> 16 & 0xfff;
	if (number < SLEEPS) {
		time = (struct timespec) { .tv_nsec = lengths[number % 4] };
		syscall(SYS_nanosleep, &time, NULL);
	} else if (number < SLEEPS + YIELDS) {
		syscall(SYS_sched_yield);
	}
}

/* The function of libc, after a pause. */
#define NEXT(name) ({					\
	static typeof(name) *next;			\
							\
	if (!next)					\
		next = dlsym(RTLD_NEXT, #name);		\
	pause_at_random();				\
	next;						\
})

static ssize_t paused(ssize_t ret)
{
	int saved = errno;

	pause_at_random();
	errno = saved;
	return ret;
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	return paused(NEXT(pthread_mutex_lock)(mutex));
}

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	return paused(NEXT(pthread_mutex_unlock)(mutex));
}

ssize_t read(int fd, void *buf, size_t count)
{
	return paused(NEXT(read)(fd, buf, count));
}

ssize_t write(int fd, const void *buf, size_t count)
{
	return paused(NEXT(write)(fd, buf, count));
}

int poll(struct pollfd *fds, nfds_t count, int timeout)
{
	return paused(NEXT(poll)(fds, count, timeout));
}
