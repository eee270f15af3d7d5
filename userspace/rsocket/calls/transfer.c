// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Public calls that move data over rsockets.
 *
 * Locking: rcl_sock.lock in each call.
 */
#include <errno.h>
#include <rdma/rsocket.h>
#include <string.h>
#include <sys/uio.h>

#include "base/compiler.h"
#include "base/err.h"
#include "rsocket/calls/call.h"
#include "rsocket/stream/iomap.h"

static ssize_t send_message(int socket, const struct msghdr *msg, int flags, const char *call)
{
	struct rcl_sock *sock = rcl_call_enter(socket, call);

	if (!sock)
		return -1;
	return rcl_call_leave(sock, sock->ops->send(sock, msg, flags), call);
}

static ssize_t recv_message(int socket, struct msghdr *msg, int flags, const char *call)
{
	struct rcl_sock *sock = rcl_call_enter(socket, call);

	if (!sock)
		return -1;
	return rcl_call_leave(sock, sock->ops->recv(sock, msg, flags), call);
}

static ssize_t send_buf(int socket, const void *buf, size_t len, int flags, const char *call)
{
	struct iovec iov = { .iov_base = (void *)buf, .iov_len = len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	return send_message(socket, &msg, flags, call);
}

static ssize_t recv_buf(int socket, void *buf, size_t len, int flags, const char *call)
{
	struct iovec iov = { .iov_base = buf, .iov_len = len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	return recv_message(socket, &msg, flags, call);
}

RCL_EXPORT ssize_t rsend(int socket, const void *buf, size_t len, int flags)
{
	return send_buf(socket, buf, len, flags, __func__);
}

RCL_EXPORT ssize_t rsendto(int socket, const void *buf, size_t len, int flags,
			   const struct sockaddr *dest_addr, socklen_t addrlen)
{
	struct iovec iov = { .iov_base = (void *)buf, .iov_len = len };
	struct msghdr msg = {
		.msg_name = (void *)dest_addr,
		.msg_namelen = addrlen,
		.msg_iov = &iov,
		.msg_iovlen = 1,
	};

	return send_message(socket, &msg, flags, __func__);
}

RCL_EXPORT ssize_t rsendmsg(int socket, const struct msghdr *msg, int flags)
{
	if (!msg)
		return rcl_fail(-EINVAL, __func__, "no message");
	return send_message(socket, msg, flags, __func__);
}

RCL_EXPORT ssize_t rrecv(int socket, void *buf, size_t len, int flags)
{
	return recv_buf(socket, buf, len, flags, __func__);
}

RCL_EXPORT ssize_t rrecvfrom(int socket, void *buf, size_t len, int flags,
			     struct sockaddr *src_addr, socklen_t *addrlen)
{
	struct iovec iov = { .iov_base = buf, .iov_len = len };
	struct msghdr msg = {
		.msg_name = addrlen ? src_addr : NULL,
		.msg_namelen = src_addr && addrlen ? *addrlen : 0,
		.msg_iov = &iov,
		.msg_iovlen = 1,
	};
	ssize_t ret = recv_message(socket, &msg, flags, __func__);

	if (ret >= 0 && msg.msg_name)
		*addrlen = msg.msg_namelen;
	return ret;
}

RCL_EXPORT ssize_t rrecvmsg(int socket, struct msghdr *msg, int flags)
{
	if (!msg)
		return rcl_fail(-EINVAL, __func__, "no message");
	return recv_message(socket, msg, flags, __func__);
}

RCL_EXPORT ssize_t rread(int socket, void *buf, size_t count)
{
	return recv_buf(socket, buf, count, 0, __func__);
}

RCL_EXPORT ssize_t rwrite(int socket, const void *buf, size_t count)
{
	return send_buf(socket, buf, count, 0, __func__);
}

RCL_EXPORT ssize_t rreadv(int socket, const struct iovec *iov, int iovcnt)
{
	struct msghdr msg = { .msg_iov = (struct iovec *)iov, .msg_iovlen = (size_t)iovcnt };

	if (iovcnt < 0 || (iovcnt && !iov))
		return rcl_fail(-EINVAL, __func__, "%d vectors", iovcnt);
	return recv_message(socket, &msg, 0, __func__);
}

RCL_EXPORT ssize_t rwritev(int socket, const struct iovec *iov, int iovcnt)
{
	struct msghdr msg = { .msg_iov = (struct iovec *)iov, .msg_iovlen = (size_t)iovcnt };

	if (iovcnt < 0 || (iovcnt && !iov))
		return rcl_fail(-EINVAL, __func__, "%d vectors", iovcnt);
	return send_message(socket, &msg, 0, __func__);
}

RCL_EXPORT off_t riomap(int socket, void *buf, size_t len, int prot, int flags, off_t offset)
{
	struct rcl_sock *sock = rcl_call_enter(socket, __func__);
	int ret = -EOPNOTSUPP;

	(void)flags;
	if (!sock)
		return -1;
	if (sock->type == SOCK_STREAM)
		ret = rcl_stream_map(rcl_stream_of(sock), buf, len, prot, &offset);
	return rcl_call_leave(sock, ret, __func__) < 0 ? -1 : offset;
}

RCL_EXPORT int riounmap(int socket, void *buf, size_t len)
{
	struct rcl_sock *sock = rcl_call_enter(socket, __func__);
	int ret = -EOPNOTSUPP;

	if (!sock)
		return -1;
	if (sock->type == SOCK_STREAM)
		ret = rcl_stream_unmap(rcl_stream_of(sock), buf, len);
	return (int)rcl_call_leave(sock, ret, __func__);
}

RCL_EXPORT size_t riowrite(int socket, const void *buf, size_t count, off_t offset, int flags)
{
	struct rcl_sock *sock = rcl_call_enter(socket, __func__);
	ssize_t ret = -EOPNOTSUPP;

	if (!sock)
		return (size_t)-1;
	if (sock->type == SOCK_STREAM)
		ret = rcl_stream_write(rcl_stream_of(sock), buf, count, offset, flags);
	return (size_t)rcl_call_leave(sock, ret, __func__);
}
