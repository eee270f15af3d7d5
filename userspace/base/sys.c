// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The system calls of the table in sys.h.
 *
 * Locking: none.
 */
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"

static int sys_open(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC);

	return fd < 0 ? rcl_errno() : fd;
}

static int sys_close(int fd)
{
	return close(fd) ? rcl_errno() : 0;
}

static int sys_ioctl(int fd, unsigned long request, void *arg)
{
	int ret = ioctl(fd, request, arg);

	return ret < 0 ? rcl_errno() : ret;
}

static ssize_t sys_read(int fd, void *buf, size_t len)
{
	ssize_t ret = read(fd, buf, len);

	return ret < 0 ? rcl_errno() : ret;
}

static void *sys_mmap(size_t len, int prot, int fd, off_t offset)
{
	return mmap(NULL, len, prot, MAP_SHARED, fd, offset);
}

static int sys_munmap(void *addr, size_t len)
{
	return munmap(addr, len) ? rcl_errno() : 0;
}

const struct rcl_sys_ops rcl_sys_real = {
	.open = sys_open,
	.close = sys_close,
	.ioctl = sys_ioctl,
	.read = sys_read,
	.mmap = sys_mmap,
	.munmap = sys_munmap,
	.raise = rcl_fd_raise,
};

const struct rcl_sys_ops *rcl_sys = &rcl_sys_real;
