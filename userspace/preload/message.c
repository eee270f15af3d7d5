// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Sending and receiving with struct msghdr.
 *
 * Locking: none.
 */
#include <rdma/rsocket.h>
#include <time.h>

#include "base/compiler.h"
#include "preload/delayed.h"
#include "preload/libc.h"

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
	return rcl_file_done(file, rsendmsg(file->rs, msg, flags));
}

static bool is_over(const struct timespec *end)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec > end->tv_sec ||
	       (now.tv_sec == end->tv_sec && now.tv_nsec >= end->tv_nsec);
}

/* As recvmmsg(2), whose timeout is looked at after each message only. */
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
	return rcl_file_done(file, send_many(file->rs, messages, count, flags));
}
