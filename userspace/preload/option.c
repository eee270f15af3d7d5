// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Options of sockets, and ioctl().
 *
 * An option is set on the rsocket and on the kernel's socket of the same number, which may become
 * the connection.
 *
 * Locking: none.
 */
#include <netinet/in.h>
#include <rdma/rsocket.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/compiler.h"
#include "base/err.h"
#include "preload/delayed.h"
#include "preload/fallback.h"
#include "preload/libc.h"

/* Largest result of FIONREAD. */
#define MOST_READABLE 65536

static bool is_unknown(int err)
{
	return err == ENOTSUP || err == ENOPROTOOPT || err == ENOSYS;
}

/* Options on which programs rely: to set one fails if the rsocket does not support it. */
static bool must_count(int level, int option)
{
	return level == SOL_RDMA ||
	       (level == SOL_SOCKET && (option == SO_RCVTIMEO || option == SO_SNDTIMEO));
}

static int set_option(struct rcl_file *file, int fd, int level, int option, const void *value,
		      socklen_t length)
{
	int ret = rsetsockopt(file->rs, level, option, value, length), err = errno, tcp;

	if (ret && (!is_unknown(err) || must_count(level, option)))
		return ret;
	tcp = rcl_libc()->setsockopt(fd, level, option, value, length);
	errno = ret && !tcp ? errno : err;
	return ret ? tcp : 0;
}

RCL_EXPORT int setsockopt(int fd, int level, int option, const void *value, socklen_t length)
{
	struct rcl_file *file = rcl_rsocket_of(fd);

	if (!file)
		return rcl_libc()->setsockopt(fd, level, option, value, length);
	return rcl_file_done(file, set_option(file, fd, level, option, value, length));
}

/* Options that are answered by this library or the kernel's socket. */
static bool is_ours(int level, int option)
{
	return level == SOL_SOCKET && (option == SO_TYPE || option == SO_DOMAIN ||
				       option == SO_PROTOCOL);
}

static int say_int(int said, void *value, socklen_t *length)
{
	if (*length > sizeof(said))
		*length = sizeof(said);
	memcpy(value, &said, *length);
	return 0;
}

static int get_option(struct rcl_file *file, int fd, int level, int option, void *value,
		      socklen_t *length)
{
	int ret, error;

	if (is_ours(level, option))
		return rcl_libc()->getsockopt(fd, level, option, value, length);
	if (level == SOL_SOCKET && option == SO_ACCEPTCONN)
		return say_int(atomic_load(&file->listening), value, length);
	if (level == SOL_SOCKET && option == SO_ERROR) {
		error = atomic_exchange(&file->error, 0);
		if (error)
			return say_int(error, value, length);
	}
	ret = rgetsockopt(file->rs, level, option, value, length);
	if (ret && is_unknown(errno) && level != SOL_RDMA)
		ret = rcl_libc()->getsockopt(fd, level, option, value, length);
	return ret;
}

RCL_EXPORT int getsockopt(int fd, int level, int option, void *value, socklen_t *length)
{
	struct rcl_file *file = rcl_rsocket_of(fd);

	/* Programs check the result of connect() by SO_ERROR: it may continue over TCP. */
	if (file && !rcl_connect_settle(fd, file)) {
		rcl_file_done(file, 0);
		file = NULL;
	}
	if (!file)
		return rcl_libc()->getsockopt(fd, level, option, value, length);
	return rcl_file_done(file, get_option(file, fd, level, option, value, length));
}

/* rsockets have no such call, so the data are read with MSG_PEEK. */
static int readable_bytes(struct rcl_file *file, int *bytes)
{
	void *buf = malloc(MOST_READABLE);
	ssize_t ret;

	if (!buf)
		return rcl_fail(-ENOMEM, "ioctl", "no memory for a buffer");
	ret = rrecv(file->rs, buf, MOST_READABLE, MSG_PEEK | MSG_DONTWAIT);
	free(buf);
	if (ret < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
		return -1;
	*bytes = ret < 0 ? 0 : ret;
	return 0;
}

RCL_EXPORT int ioctl(int fd, RCL_IOCTL_REQUEST request, ...)
{
	struct rcl_file *file;
	va_list args;
	void *arg;
	int ret;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	if (request == FIONREAD)
		file = rcl_ready(fd);
	else
		file = request == FIONBIO ? rcl_rsocket_of(fd) : NULL;
	if (!file)
		return rcl_libc()->ioctl(fd, request, arg);
	if (request == FIONREAD)
		return rcl_file_done(file, readable_bytes(file, arg));
	ret = rcl_libc()->ioctl(fd, request, arg);
	if (!ret)
		ret = rfcntl(file->rs, F_SETFL, *(int *)arg ? O_NONBLOCK : 0);
	return rcl_file_done(file, ret);
}
