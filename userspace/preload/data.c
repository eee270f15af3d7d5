// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Reading and writing: rsockets by the calls of the rsocket library, other descriptors by libc.
 *
 * glibc replaces calls by others when _FORTIFY_SOURCE is on (__read_chk and so on). These end the
 * process if the buffer is too small, and otherwise do the same.
 *
 * Locking: none.
 */
#include <rdma/rsocket.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "base/compiler.h"
#include "base/err.h"
#include "preload/delayed.h"
#include "preload/libc.h"

/* Bytes that sendfile() copies at a time. */
#define COPY_SIZE 65536

static ssize_t do_read(int fd, void *buf, size_t count)
{
	struct rcl_file *file = rcl_ready(fd);

	if (!file)
		return rcl_libc()->read(fd, buf, count);
	return rcl_file_done(file, rread(file->rs, buf, count));
}

RCL_EXPORT ssize_t read(int fd, void *buf, size_t count)
{
	return do_read(fd, buf, count);
}

RCL_EXPORT ssize_t __read_chk(int fd, void *buf, size_t count, size_t size)
{
	if (count > size)
		__chk_fail();
	return do_read(fd, buf, count);
}

RCL_EXPORT ssize_t readv(int fd, const struct iovec *iov, int count)
{
	struct rcl_file *file = rcl_ready(fd);

	if (!file)
		return rcl_libc()->readv(fd, iov, count);
	return rcl_file_done(file, rreadv(file->rs, iov, count));
}

static ssize_t do_recv(int fd, void *buf, size_t count, int flags)
{
	struct rcl_file *file = rcl_ready(fd);

	if (!file)
		return rcl_libc()->recv(fd, buf, count, flags);
	return rcl_file_done(file, rrecv(file->rs, buf, count, flags));
}

RCL_EXPORT ssize_t recv(int fd, void *buf, size_t count, int flags)
{
	return do_recv(fd, buf, count, flags);
}

RCL_EXPORT ssize_t __recv_chk(int fd, void *buf, size_t count, size_t size, int flags)
{
	if (count > size)
		__chk_fail();
	return do_recv(fd, buf, count, flags);
}

static ssize_t do_recvfrom(int fd, void *buf, size_t count, int flags, RCL_ADDR from,
			   socklen_t *length)
{
	struct rcl_file *file = rcl_ready(fd);

	if (!file)
		return rcl_libc()->recvfrom(fd, buf, count, flags, from, length);
	return rcl_file_done(file, rrecvfrom(file->rs, buf, count, flags, rcl_sockaddr(from),
					     length));
}

RCL_EXPORT ssize_t recvfrom(int fd, void *buf, size_t count, int flags, RCL_ADDR from,
			    socklen_t *length)
{
	return do_recvfrom(fd, buf, count, flags, from, length);
}

RCL_EXPORT ssize_t __recvfrom_chk(int fd, void *buf, size_t count, size_t size, int flags,
				  RCL_ADDR from, socklen_t *length)
{
	if (count > size)
		__chk_fail();
	return do_recvfrom(fd, buf, count, flags, from, length);
}

ssize_t rcl_sent(struct rcl_file *file, ssize_t ret, int flags)
{
	bool failed = ret < 0 && !file->datagram;

	if (failed && errno == ECONNRESET && atomic_exchange(&file->reset, true))
		errno = EPIPE;
	failed = failed && errno == EPIPE && !(flags & MSG_NOSIGNAL);
	rcl_file_done(file, ret);
	if (!failed)
		return ret;
	raise(SIGPIPE);
	errno = EPIPE;
	return ret;
}

RCL_EXPORT ssize_t write(int fd, const void *buf, size_t count)
{
	struct rcl_file *file = rcl_ready(fd);

	if (!file)
		return rcl_libc()->write(fd, buf, count);
	return rcl_sent(file, rwrite(file->rs, buf, count), 0);
}

RCL_EXPORT ssize_t writev(int fd, const struct iovec *iov, int count)
{
	struct rcl_file *file = rcl_ready(fd);

	if (!file)
		return rcl_libc()->writev(fd, iov, count);
	return rcl_sent(file, rwritev(file->rs, iov, count), 0);
}

RCL_EXPORT ssize_t send(int fd, const void *buf, size_t count, int flags)
{
	struct rcl_file *file = rcl_ready(fd);

	if (!file)
		return rcl_libc()->send(fd, buf, count, flags);
	return rcl_sent(file, rsend(file->rs, buf, count, flags), flags);
}

RCL_EXPORT ssize_t sendto(int fd, const void *buf, size_t count, int flags,
			  RCL_CONST_ADDR to, socklen_t length)
{
	struct rcl_file *file = rcl_ready(fd);

	if (!file)
		return rcl_libc()->sendto(fd, buf, count, flags, to, length);
	return rcl_sent(file, rsendto(file->rs, buf, count, flags, rcl_sockaddr(to), length),
			flags);
}

/*
 * Copies until the end of the file, or until rsend() sends less than was read, because the rsocket
 * is full or a signal arrived. Returns the number of bytes, or a negative errno.
 */
static ssize_t copy(int rs, int in, off64_t *at, size_t count, void *buf)
{
	size_t sent = 0, some;
	ssize_t n, ret;

	while (sent < count) {
		some = count - sent < COPY_SIZE ? count - sent : COPY_SIZE;
		n = pread64(in, buf, some, *at);
		if (n <= 0)
			return sent || !n ? (ssize_t)sent : rcl_errno();
		ret = rsend(rs, buf, n, 0);
		if (ret < 0)
			return sent ? (ssize_t)sent : rcl_errno();
		*at += ret;
		sent += ret;
		if (ret < n)
			break;
	}
	return sent;
}

static ssize_t send_file(struct rcl_file *file, int in, off64_t *offset, size_t count)
{
	off64_t at = offset ? *offset : lseek64(in, 0, SEEK_CUR);
	ssize_t ret;
	void *buf;

	if (at < 0)
		return rcl_fail(-EINVAL, "sendfile", "fd %d is no file that can be sought in", in);
	buf = malloc(COPY_SIZE);
	if (!buf)
		return rcl_fail(-ENOMEM, "sendfile", "no memory for a buffer");
	ret = copy(file->rs, in, &at, count, buf);
	free(buf);
	if (ret < 0)
		return rcl_fail(ret == -ESPIPE ? -EINVAL : ret, "sendfile", "nothing was sent");
	if (offset)
		*offset = at;
	else
		lseek64(in, at, SEEK_SET);
	return ret;
}

/* As the kernel does, sends nothing beyond the largest off_t, which may have 32 bits. */
static ssize_t send_file_from(struct rcl_file *file, int in, off_t *offset, size_t count)
{
	const off64_t end = sizeof(off_t) == sizeof(int32_t) ? INT32_MAX : INT64_MAX;
	off64_t at;
	ssize_t ret;

	if (!offset)
		return send_file(file, in, NULL, count);
	at = *offset;
	if (at >= end)
		return rcl_fail(-EOVERFLOW, "sendfile", "sendfile64() takes such an offset");
	if (at >= 0 && count > (uint64_t)(end - at))
		count = end - at;
	ret = send_file(file, in, &at, count);
	*offset = at;
	return ret;
}

RCL_EXPORT ssize_t sendfile(int out, int in, off_t *offset, size_t count)
{
	struct rcl_file *file = rcl_ready(out);

	if (!file)
		return rcl_libc()->sendfile(out, in, offset, count);
	return rcl_sent(file, send_file_from(file, in, offset, count), 0);
}

RCL_EXPORT ssize_t sendfile64(int out, int in, off64_t *offset, size_t count)
{
	struct rcl_file *file = rcl_ready(out);

	if (!file)
		return rcl_libc()->sendfile64(out, in, offset, count);
	return rcl_sent(file, send_file(file, in, offset, count), 0);
}

RCL_EXPORT ssize_t splice(int in, off64_t *in_offset, int out, off64_t *out_offset, size_t count,
			  unsigned int flags)
{
	struct rcl_file *file = rcl_ready(in) ?: rcl_ready(out);

	if (!file)
		return rcl_libc()->splice(in, in_offset, out, out_offset, count, flags);
	rcl_fail(-EINVAL, "splice", "fd %d or fd %d is an rsocket: read() and write() it", in, out);
	return rcl_file_done(file, -1);
}

RCL_EXPORT ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
	struct rcl_file *file = rcl_ready(fd);

	if (!file)
		return rcl_libc()->recvmsg(fd, msg, flags);
	return rcl_file_done(file, rrecvmsg(file->rs, msg, flags));
}

RCL_EXPORT ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	struct rcl_file *file = rcl_ready(fd);

	if (!file)
		return rcl_libc()->sendmsg(fd, msg, flags);
	return rcl_sent(file, rsendmsg(file->rs, msg, flags), flags);
}

static bool is_over(const struct timespec *end)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec > end->tv_sec ||
	       (now.tv_sec == end->tv_sec && now.tv_nsec >= end->tv_nsec);
}

/* As recvmmsg(2), which checks the timeout only after each message. */
static int receive_many(int rs, struct mmsghdr *messages, unsigned int count, int flags,
			const struct timespec *timeout)
{
	struct timespec end = { 0 };
	unsigned int i;
	ssize_t ret;

	if (timeout) {
		clock_gettime(CLOCK_MONOTONIC, &end);
		end.tv_sec += timeout->tv_sec + (end.tv_nsec + timeout->tv_nsec) / 1000000000;
		end.tv_nsec = (end.tv_nsec + timeout->tv_nsec) % 1000000000;
	}
	for (i = 0; i < count; i++) {
		ret = rrecvmsg(rs, &messages[i].msg_hdr, flags & ~MSG_WAITFORONE);
		if (ret < 0)
			return i ? (int)i : -1;
		messages[i].msg_len = ret;
		if (flags & MSG_WAITFORONE)
			flags |= MSG_DONTWAIT;
		if (timeout && is_over(&end))
			return i + 1;
	}
	return i;
}

RCL_EXPORT int recvmmsg(int fd, struct mmsghdr *messages, unsigned int count, RCL_MMSG_FLAGS flags,
			struct timespec *timeout)
{
	struct rcl_file *file = rcl_ready(fd);

	if (!file)
		return rcl_libc()->recvmmsg(fd, messages, count, flags, timeout);
	return rcl_file_done(file, receive_many(file->rs, messages, count, flags, timeout));
}

static int send_many(int rs, struct mmsghdr *messages, unsigned int count, int flags)
{
	unsigned int i;
	ssize_t ret;

	for (i = 0; i < count; i++) {
		ret = rsendmsg(rs, &messages[i].msg_hdr, flags);
		if (ret < 0)
			return i ? (int)i : -1;
		messages[i].msg_len = ret;
	}
	return i;
}

RCL_EXPORT int sendmmsg(int fd, struct mmsghdr *messages, unsigned int count,
			RCL_MMSG_FLAGS flags)
{
	struct rcl_file *file = rcl_ready(fd);

	if (!file)
		return rcl_libc()->sendmmsg(fd, messages, count, flags);
	return rcl_sent(file, send_many(file->rs, messages, count, flags), flags);
}
