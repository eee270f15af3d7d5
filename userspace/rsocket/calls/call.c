// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The beginning and end of each public call.
 *
 * Locking: rcl_sock.lock from the beginning to the end of a call.
 */
#include "rsocket/calls/call.h"

#include "base/err.h"
#include "rsocket/wait.h"

struct rcl_sock *rcl_call_enter(int fd, const char *call)
{
	struct rcl_sock *sock = rcl_sock_get(fd);

	if (!sock) {
		rcl_fail(-EBADF, call, "fd %d is no rsocket of this process", fd);
		return NULL;
	}
	if (sock->type == RCL_REPOLL) {
		rcl_fail(-ENOTSOCK, call, "fd %d is of repoll_create(), and no rsocket", fd);
		rcl_sock_put(sock);
		return NULL;
	}
	rcl_cancel_in_sleeps();
	pthread_mutex_lock(&sock->lock);
	return sock;
}

ssize_t rcl_call_leave(struct rcl_sock *sock, ssize_t ret, const char *call)
{
	int fd = sock->fd;

	pthread_mutex_unlock(&sock->lock);
	rcl_sock_put(sock);
	rcl_cancel_as_before();
	if (ret >= 0)
		return ret;
	if (ret != -EAGAIN)
		return rcl_fail((int)ret, call, "rsocket %d", fd);
	errno = EAGAIN;
	return -1;
}
