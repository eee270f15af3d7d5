// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * rsetsockopt() and rgetsockopt(): the options of SOL_SOCKET that all types have. Others are
 * handled by the type.
 *
 * Locking: rcl_sock.lock in each call.
 */
#include <errno.h>
#include <limits.h>
#include <rdma/rsocket.h>
#include <string.h>
#include <sys/time.h>

#include "base/compiler.h"
#include "rsocket/calls/call.h"
#include "rsocket/value.h"

/* Bytes of a send buffer: two of the shortest pieces. */
#define SEND_LEAST 4096

/* Bytes of a receive buffer, which has two halves. */
#define RECV_LEAST 2

#define MS_PER_S 1000LL
#define US_PER_MS 1000LL

/* Boolean options that are stored here; the type may use them. */
static const int flags[] = { SO_REUSEADDR, SO_KEEPALIVE, SO_OOBINLINE, SO_BROADCAST };

static int flag_of(int name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		if (flags[i] == name)
			return 1 << i;
	}
	return 0;
}

static int put(void *value, socklen_t *len, const void *from, socklen_t size)
{
	if (!value || !len || *len < size)
		return -EINVAL;
	memcpy(value, from, size);
	*len = size;
	return 0;
}

static int get(void *to, const void *value, socklen_t len, socklen_t size)
{
	if (!value || len < size)
		return -EINVAL;
	memcpy(to, value, size);
	return 0;
}

static int set_flag(struct rcl_sock *sock, int name, const void *value, socklen_t len)
{
	uint32_t flag = (uint32_t)flag_of(name);
	int on, ret = get(&on, value, len, sizeof(on));

	if (!ret)
		ret = sock->ops->setopt(sock, SOL_SOCKET, name, value, len);
	if (!ret)
		sock->so_flags = on ? sock->so_flags | flag : sock->so_flags & ~flag;
	return ret;
}

/* As with TCP, the buffer has twice the size. It cannot be changed after it was created. */
static int set_size(struct rcl_sock *sock, uint32_t *size, int name, const void *value,
		    socklen_t len)
{
	uint32_t least = name == SO_SNDBUF ? SEND_LEAST : RECV_LEAST;
	int bytes, ret = get(&bytes, value, len, sizeof(bytes));

	if (!ret)
		ret = sock->ops->setopt(sock, SOL_SOCKET, name, value, len);
	if (ret || sock->sized)
		return ret;
	*size = bytes <= 0 ? least : bytes > INT_MAX / 4 ? INT_MAX / 2 : (uint32_t)bytes * 2;
	if (*size < least)
		*size = least;
	return 0;
}

static int set_time(uint32_t *ms, const void *value, socklen_t len)
{
	struct timeval time;
	int ret = get(&time, value, len, sizeof(time));
	int64_t all;

	if (ret)
		return ret;
	if (time.tv_usec < 0 || time.tv_usec >= MS_PER_S * US_PER_MS)
		return -EDOM;
	if (time.tv_sec < 0 || time.tv_sec > INT_MAX / MS_PER_S) {
		*ms = 0;
		return 0;
	}
	/* Rounded up, as 0 means no timeout. */
	all = time.tv_sec * MS_PER_S + (time.tv_usec + US_PER_MS - 1) / US_PER_MS;
	*ms = (uint32_t)all;
	return 0;
}

static int get_time(uint32_t ms, void *value, socklen_t *len)
{
	struct timeval time = {
		.tv_sec = ms / MS_PER_S, .tv_usec = ms % MS_PER_S * US_PER_MS,
	};

	return put(value, len, &time, sizeof(time));
}

static int set_linger(struct rcl_sock *sock, const void *value, socklen_t len)
{
	struct linger linger;
	int ret = get(&linger, value, len, sizeof(linger));

	if (ret)
		return ret;
	sock->linger_s = !linger.l_onoff ? -1 : linger.l_linger < 0 ? INT_MAX : linger.l_linger;
	return 0;
}

static int set_socket(struct rcl_sock *sock, int name, const void *value, socklen_t len)
{
	switch (name) {
	case SO_RCVBUF:
		return set_size(sock, &sock->recv_buf, name, value, len);
	case SO_SNDBUF:
		return set_size(sock, &sock->send_buf, name, value, len);
	case SO_RCVTIMEO:
		return set_time(&sock->recv_ms, value, len);
	case SO_SNDTIMEO:
		return set_time(&sock->send_ms, value, len);
	case SO_LINGER:
		return set_linger(sock, value, len);
	default:
		if (flag_of(name))
			return set_flag(sock, name, value, len);
		return sock->ops->setopt(sock, SOL_SOCKET, name, value, len);
	}
}

static int get_error(struct rcl_sock *sock, void *value, socklen_t *len)
{
	int ret;

	/* Completions that were not handled yet may have ended the connection. */
	sock->ops->look(sock, 0);
	ret = rcl_value_put(value, len, sock->err);
	if (!ret)
		sock->err = 0;
	return ret;
}

static int get_linger(const struct rcl_sock *sock, void *value, socklen_t *len)
{
	struct linger linger = {
		.l_onoff = sock->linger_s >= 0,
		.l_linger = sock->linger_s >= 0 ? sock->linger_s : 0,
	};

	return put(value, len, &linger, sizeof(linger));
}

static int get_socket(struct rcl_sock *sock, int name, void *value, socklen_t *len)
{
	switch (name) {
	case SO_RCVBUF:
		return rcl_value_put(value, len, (int)sock->recv_buf);
	case SO_SNDBUF:
		return rcl_value_put(value, len, (int)sock->send_buf);
	case SO_RCVTIMEO:
		return get_time(sock->recv_ms, value, len);
	case SO_SNDTIMEO:
		return get_time(sock->send_ms, value, len);
	case SO_LINGER:
		return get_linger(sock, value, len);
	case SO_ERROR:
		return get_error(sock, value, len);
	case SO_TYPE:
		return rcl_value_put(value, len, sock->type);
	case SO_DOMAIN:
		return rcl_value_put(value, len, sock->family);
	default:
		if (!flag_of(name))
			return sock->ops->getopt(sock, SOL_SOCKET, name, value, len);
		return rcl_value_put(value, len, !!(sock->so_flags & (uint32_t)flag_of(name)));
	}
}

RCL_EXPORT int rsetsockopt(int socket, int level, int optname, const void *optval, socklen_t optlen)
{
	struct rcl_sock *sock = rcl_call_enter(socket, __func__);
	int ret;

	if (!sock)
		return -1;
	if (level == SOL_SOCKET)
		ret = set_socket(sock, optname, optval, optlen);
	else
		ret = sock->ops->setopt(sock, level, optname, optval, optlen);
	return (int)rcl_call_leave(sock, ret, __func__);
}

RCL_EXPORT int rgetsockopt(int socket, int level, int optname, void *optval, socklen_t *optlen)
{
	struct rcl_sock *sock = rcl_call_enter(socket, __func__);
	int ret;

	if (!sock)
		return -1;
	if (level == SOL_SOCKET)
		ret = get_socket(sock, optname, optval, optlen);
	else
		ret = sock->ops->getopt(sock, level, optname, optval, optlen);
	return (int)rcl_call_leave(sock, ret, __func__);
}
