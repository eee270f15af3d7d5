// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Public calls that create, connect and close rsockets.
 *
 * Locking: rcl_sock.lock in each call.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <rdma/rsocket.h>
#include <stdarg.h>
#include <string.h>

#include "base/compiler.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/sockaddr.h"
#include "rsocket/calls/call.h"
#include "rsocket/dgram/dgram.h"
#include "rsocket/stream/stream.h"
#include "rsocket/wait.h"

static bool is_supported(int domain, int type, int protocol)
{
	if (domain != AF_INET && domain != AF_INET6 && domain != AF_IB)
		return false;
	if (type == SOCK_DGRAM)
		return !protocol || protocol == IPPROTO_UDP;
	return type == SOCK_STREAM && (!protocol || protocol == IPPROTO_TCP);
}

/* The descriptor takes over the reference of the caller, or the socket is freed. */
static int install(struct rcl_sock *sock)
{
	int fd = rcl_sock_install(sock, false);

	if (fd < 0)
		rcl_sock_put(sock);
	return fd;
}

/*
 * Without a connection manager rsocket() fails, as with librdmacm: librspreload then creates a TCP
 * or UDP socket instead of an rsocket whose bind() and sendto() fail.
 */
static int look_for_cm(void)
{
	static atomic_bool found;
	struct rdma_event_channel *channel;

	if (atomic_load(&found))
		return 0;
	channel = rdma_create_event_channel();
	if (!channel)
		return rcl_errno();
	rdma_destroy_event_channel(channel);
	atomic_store(&found, true);
	return 0;
}

/*
 * Flags in the type are refused, as by librdmacm, whose librspreload then creates a socket of the
 * kernel, for which accept4() is called.
 */
RCL_EXPORT int rsocket(int domain, int type, int protocol)
{
	bool internal = type & RCL_INTERNAL;
	struct rcl_sock *sock;
	int fd, ret;

	type &= ~RCL_INTERNAL;
	if (!is_supported(domain, type, protocol))
		return rcl_fail(-ENOTSUP, __func__,
				"domain %d, type %d, protocol %d; streams and datagrams of AF_INET, AF_INET6 and AF_IB are supported",
				domain, type, protocol);
	ret = look_for_cm();
	if (ret)
		return rcl_fail(ret, __func__, "no connection manager");
	sock = (type == SOCK_DGRAM ? &rcl_dgram_ops : &rcl_stream_ops)->create(domain);
	if (!sock)
		return rcl_fail(rcl_errno(), __func__, "domain %d, type %d", domain, type);
	sock->internal = internal;
	fd = install(sock);
	return fd < 0 ? rcl_fail(fd, __func__, "no descriptor") : fd;
}

RCL_EXPORT int rbind(int socket, const struct sockaddr *addr, socklen_t addrlen)
{
	struct rcl_sock *sock = rcl_call_enter(socket, __func__);

	if (!sock)
		return -1;
	return (int)rcl_call_leave(sock, sock->ops->bind(sock, addr, addrlen), __func__);
}

RCL_EXPORT int rlisten(int socket, int backlog)
{
	struct rcl_sock *sock = rcl_call_enter(socket, __func__);

	if (!sock)
		return -1;
	return (int)rcl_call_leave(sock, sock->ops->listen(sock, backlog), __func__);
}

/* Copies an address to the program, truncated to its buffer as by accept(2) and getsockname(2). */
static void put_name(const struct sockaddr_storage *from, struct sockaddr *addr, socklen_t *len)
{
	socklen_t real = rcl_addr_len((const struct sockaddr *)from);

	memcpy(addr, from, *len < real ? *len : real);
	*len = real;
}

static void put_peer(struct rcl_sock *sock, struct sockaddr *addr, socklen_t *len)
{
	struct sockaddr_storage name = { 0 };
	int ret;

	pthread_mutex_lock(&sock->lock);
	ret = sock->ops->name(sock, true, &name);
	pthread_mutex_unlock(&sock->lock);
	if (!ret)
		put_name(&name, addr, len);
}

RCL_EXPORT int raccept(int socket, struct sockaddr *addr, socklen_t *addrlen)
{
	struct rcl_sock *listener = rcl_call_enter(socket, __func__), *sock = NULL;
	int fd;

	if (!listener ||
	    rcl_call_leave(listener, listener->ops->accept(listener, &sock), __func__))
		return -1;
	if (addr && addrlen)
		put_peer(sock, addr, addrlen);
	/* Without a lock, as this may end another socket that had the descriptor. */
	fd = install(sock);
	return fd < 0 ? rcl_fail(fd, __func__, "no descriptor for a connection") : fd;
}

RCL_EXPORT int rconnect(int socket, const struct sockaddr *addr, socklen_t addrlen)
{
	struct rcl_sock *sock = rcl_call_enter(socket, __func__);

	if (!sock)
		return -1;
	return (int)rcl_call_leave(sock, sock->ops->connect(sock, addr, addrlen), __func__);
}

RCL_EXPORT int rshutdown(int socket, int how)
{
	struct rcl_sock *sock = rcl_call_enter(socket, __func__);

	if (!sock)
		return -1;
	rcl_cancel_never();
	return (int)rcl_call_leave(sock, sock->ops->shutdown(sock, how), __func__);
}

static int get_name(int socket, bool peer, struct sockaddr *addr, socklen_t *len, const char *call)
{
	struct rcl_sock *sock = rcl_call_enter(socket, call);
	struct sockaddr_storage name = { 0 };
	int ret = -EINVAL;

	if (!sock)
		return -1;
	if (addr && len) {
		ret = sock->ops->name(sock, peer, &name);
		if (!ret)
			put_name(&name, addr, len);
	}
	return (int)rcl_call_leave(sock, ret, call);
}

RCL_EXPORT int rgetpeername(int socket, struct sockaddr *addr, socklen_t *addrlen)
{
	return get_name(socket, true, addr, addrlen, __func__);
}

RCL_EXPORT int rgetsockname(int socket, struct sockaddr *addr, socklen_t *addrlen)
{
	return get_name(socket, false, addr, addrlen, __func__);
}

static int control(struct rcl_sock *sock, int cmd, int arg)
{
	int ret;

	switch (cmd) {
	case F_GETFL:
		return O_RDWR | (sock->nonblock ? O_NONBLOCK : 0);
	case F_SETFL:
		sock->nonblock = arg & O_NONBLOCK;
		return 0;
	case F_GETFD:
	case F_SETFD:
		ret = fcntl(sock->fd, cmd, arg);
		return ret < 0 ? rcl_errno() : ret;
	default:
		return -ENOTSUP;
	}
}

RCL_EXPORT int rfcntl(int socket, int cmd, ...)
{
	struct rcl_sock *sock = rcl_call_enter(socket, __func__);
	va_list args;
	int arg = 0;

	if (!sock)
		return -1;
	if (cmd == F_SETFL || cmd == F_SETFD) {
		va_start(args, cmd);
		arg = va_arg(args, int);
		va_end(args);
	}
	return (int)rcl_call_leave(sock, control(sock, cmd, arg), __func__);
}

RCL_EXPORT int rclose(int socket)
{
	struct rcl_sock *sock;

	if (rcl_sock_close_inherited(socket))
		return 0;
	sock = rcl_sock_remove(socket);
	if (!sock)
		return rcl_fail(-EBADF, __func__, "fd %d is no rsocket", socket);
	rcl_cancel_in_sleeps();
	rcl_cancel_never();
	rcl_sock_end(sock);
	rcl_cancel_as_before();
	return 0;
}
