// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Descriptors that programs do not know.
 *
 * Locking: none.
 */
#include "base/fd.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <unistd.h>

/* The lowest number of such descriptors: behind those of select(2), if the limit allows as many. */
static int lowest(void)
{
	static atomic_int found;
	int number = atomic_load(&found);
	struct rlimit limit;

	if (number)
		return number;
	number = FD_SETSIZE;
	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < 2 * FD_SETSIZE)
		number = (int)limit.rlim_cur / 2;
	atomic_store(&found, number);
	return number;
}

int rcl_fd_raise(int fd)
{
	int high = fd < 0 || fd >= lowest() ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, lowest());

	if (high < 0)
		return fd;
	close(fd);
	return high;
}
