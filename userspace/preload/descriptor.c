// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Descriptors: closing and duplicating them, and fcntl().
 *
 * Locking: none here.
 */
#include <errno.h>
#include <limits.h>
#include <rdma/rsocket.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "base/compiler.h"
#include "preload/delayed.h"
#include "preload/libc.h"

#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC 4
#endif

RCL_EXPORT int close(int fd)
{
	struct rcl_file *file = rcl_file_take(fd);
	int ret = rcl_libc()->close(fd);

	return file ? rcl_file_put(file) : ret;
}

/* stdio uses the socket of the kernel, so of its calls only fclose() has to know rsockets. */
RCL_EXPORT int fclose(FILE *stream)
{
	struct rcl_file *file = rcl_file_take(fileno(stream));
	int ret = rcl_libc()->fclose(stream);

	return file && rcl_file_put(file) ? EOF : ret;
}

static void drop_range(unsigned int first, unsigned int last)
{
	struct rcl_file *file;
	int fd;

	while (first <= last && (fd = rcl_file_next(first, last)) >= 0) {
		file = rcl_file_take(fd);
		if (file) {
			rcl_libc()->close(fd);
			rcl_file_put(file);
		}
		first = fd + 1;
	}
}

/* The kernel may have the system call although libc has no function for it. */
static int close_range_libc(unsigned int first, unsigned int last, int flags)
{
	if (rcl_libc()->close_range)
		return rcl_libc()->close_range(first, last, flags);
	return syscall(SYS_close_range, first, last, flags);
}

RCL_EXPORT int close_range(unsigned int first, unsigned int last, int flags)
{
	if (!(flags & CLOSE_RANGE_CLOEXEC))
		drop_range(first, last);
	return close_range_libc(first, last, flags);
}

RCL_EXPORT void closefrom(int first)
{
	drop_range(first < 0 ? 0 : first, INT_MAX);
	if (rcl_libc()->closefrom)
		rcl_libc()->closefrom(first);
	else
		close_range_libc(first < 0 ? 0 : first, ~0U, 0);
}

/*
 * Lets @new_fd, the kernel's duplicate of a descriptor of @file, refer to @file. Drops @file.
 */
static int install_copy(struct rcl_file *file, int new_fd)
{
	if (new_fd < 0)
		return rcl_file_done(file, new_fd);
	if (!file) {
		rcl_file_install(new_fd, NULL);
		return new_fd;
	}
	if (!rcl_file_install(new_fd, file))
		rcl_file_done(file, 0);
	return new_fd;
}

RCL_EXPORT int dup(int fd)
{
	struct rcl_file *file = rcl_file_get(fd);
	int new_fd = rcl_libc()->dup(fd);

	return file || new_fd >= 0 ? install_copy(file, new_fd) : new_fd;
}

/* @flags is -1 for dup2(). */
static int dup_to(int fd, int new_fd, int flags)
{
	struct rcl_file *file = rcl_file_get(fd);
	int ret = flags < 0 ? rcl_libc()->dup2(fd, new_fd) : rcl_libc()->dup3(fd, new_fd, flags);

	if (ret < 0 || fd == new_fd)
		return file ? rcl_file_done(file, ret) : ret;
	return install_copy(file, ret);
}

RCL_EXPORT int dup2(int fd, int new_fd)
{
	return dup_to(fd, new_fd, -1);
}

RCL_EXPORT int dup3(int fd, int new_fd, int flags)
{
	return dup_to(fd, new_fd, flags);
}

/* Sets O_NONBLOCK of the rsocket, too. The kernel stores it, for all descriptors of the file. */
static int set_flags(struct rcl_file *file, int fd, typeof(fcntl) *real, int flags)
{
	int ret = real(fd, F_SETFL, flags);

	if (!ret && atomic_load(&file->kind) == RCL_FILE_RSOCKET)
		ret = rfcntl(file->rs, F_SETFL, flags & O_NONBLOCK);
	return rcl_file_done(file, ret);
}

static int control(int fd, int cmd, typeof(fcntl) *real, void *arg)
{
	struct rcl_file *file;
	int ret;

	if (cmd != F_SETFL && cmd != F_DUPFD && cmd != F_DUPFD_CLOEXEC)
		return real(fd, cmd, arg);
	file = rcl_file_get(fd);
	if (cmd == F_SETFL && file)
		return set_flags(file, fd, real, (intptr_t)arg);
	ret = real(fd, cmd, arg);
	if (cmd == F_SETFL || (!file && ret < 0))
		return ret;
	return install_copy(file, ret);
}

RCL_EXPORT int fcntl(int fd, int cmd, ...)
{
	va_list args;
	void *arg;

	va_start(args, cmd);
	arg = va_arg(args, void *);
	va_end(args);
	return control(fd, cmd, rcl_libc()->fcntl, arg);
}

RCL_EXPORT int fcntl64(int fd, int cmd, ...)
{
	va_list args;
	void *arg;

	va_start(args, cmd);
	arg = va_arg(args, void *);
	va_end(args);
	return control(fd, cmd, rcl_libc()->fcntl64, arg);
}
