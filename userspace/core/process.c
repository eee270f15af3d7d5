// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Which process has made an object.
 *
 * Locking: none; what fork() changes is written in the only thread of the child.
 */
#include "core/process.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

/* More calls of fork() after each other, or larger descriptors, are not told apart. */
#define MOST 254
#define MAX_FDS 65536
#define PATIENCE_MS 1000

unsigned int rcl_process;
/* The processes with smaller numbers. */
static pid_t pids[MOST];
static pid_t parent;	/* as getppid() has told it; 0: it is in another namespace */
static atomic_bool has_waited;
/* The number of the process that has made a channel, and one; 0: unknown. */
static _Atomic uint8_t makers[MAX_FDS];

void rcl_process_forking(void)
{
	if (rcl_process < MOST)
		pids[rcl_process] = getpid();
}

void rcl_process_in_child(void)
{
	if (rcl_process == MOST)
		return;
	parent = getppid();
	/* It has ended, and others care for this process. */
	if (parent && parent != pids[rcl_process])
		pids[rcl_process] = 0;
	rcl_process++;
	atomic_store(&has_waited, false);
}

/* A process that has ended, and that nobody has waited for, does not live. */
static bool has_ended(pid_t pid)
{
	struct pollfd pfd = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };
	bool ended;

	if (pfd.fd < 0)
		return errno == ESRCH || (kill(pid, 0) && errno == ESRCH);
	ended = poll(&pfd, 1, 0) > 0;
	close(pfd.fd);
	return ended;
}

static bool lives(unsigned int maker)
{
	if (!pids[maker])
		return false;
	/* A parent is told apart from another process that gets its number later. */
	if (maker == rcl_process - 1)
		return getppid() == parent;
	return !has_ended(pids[maker]);
}

bool rcl_process_has_ended(unsigned int maker)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	int ms, err = errno;

	for (ms = 0; lives(maker) && ms < PATIENCE_MS && !atomic_load(&has_waited); ms++)
		nanosleep(&pause, NULL);
	atomic_store(&has_waited, true);
	errno = err;
	return !lives(maker);
}

void rcl_process_made_fd(int fd)
{
	if (fd >= 0 && fd < MAX_FDS)
		atomic_store(&makers[fd], rcl_process < MOST ? (uint8_t)(rcl_process + 1) : 0);
}

bool rcl_process_owns_fd(int fd)
{
	uint8_t maker = fd >= 0 && fd < MAX_FDS ? atomic_load(&makers[fd]) : 0;

	return !maker || rcl_process_owns(maker - 1U);
}
