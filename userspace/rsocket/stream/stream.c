// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Stream sockets: their operations and readiness.
 *
 * Locking: rcl_sock.lock.
 */
#include "rsocket/stream/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/sockaddr.h"
#include "rsocket/conf.h"
#include "rsocket/inet_addr.h"
#include "rsocket/stream/close.h"
#include "rsocket/stream/connect.h"
#include "rsocket/stream/data.h"
#include "rsocket/stream/events.h"
#include "rsocket/stream/listener.h"
#include "rsocket/stream/stream_option.h"
#include "rsocket/stream/post.h"
#include "rsocket/stream/progress.h"
#include "rsocket/wait.h"

static int bind_stream(struct rcl_sock *sock, const struct sockaddr *addr, socklen_t len)
{
	struct rcl_stream *s = rcl_stream_of(sock);
	struct sockaddr_storage to;
	int ret = rcl_stream_address(&to, addr, len);

	if (!ret && s->v6only && to.ss_family == AF_INET)
		ret = -EINVAL;
	if (!ret)
		ret = rcl_stream_id(s);
	if (ret)
		return ret;
	if (rdma_bind_addr(s->id, (struct sockaddr *)&to))
		return rcl_errno();
	s->state = RCL_STREAM_BOUND;
	return 0;
}

static int name_of(struct rcl_sock *sock, bool peer, struct sockaddr_storage *addr)
{
	struct rcl_stream *s = rcl_stream_of(sock);
	const struct sockaddr *from;
	union rcl_inet ip;

	addr->ss_family = (sa_family_t)sock->family;
	if (!s->id)
		return peer ? -ENOTCONN : 0;
	from = peer ? rdma_get_peer_addr(s->id) : rdma_get_local_addr(s->id);
	if (!rcl_addr_len(from))
		return peer ? -ENOTCONN : 0;
	memcpy(addr, from, rcl_addr_len(from));
	if (sock->family == AF_INET6 && from->sa_family == AF_INET &&
	    !rcl_inet_take(&ip, from, sizeof(ip.sin)))
		rcl_inet_give((union rcl_inet *)(void *)addr, &ip, AF_INET6);
	return 0;
}

/* Half of the ring is the most that the peer can always fill. */
static bool is_readable(const struct rcl_stream *s)
{
	return s->rx.avail >= (s->rx.least < s->rx.size / 2 ? s->rx.least : s->rx.size / 2);
}

static short look_up(struct rcl_stream *s)
{
	short events = 0;

	rcl_stream_progress(s);
	if (!s->can_recv || is_readable(s))
		events |= POLLIN | POLLRDNORM;
	if (!s->can_send || rcl_tx_may_send(s))
		events |= POLLOUT | POLLWRNORM;
	if (!s->can_recv)
		events |= POLLRDHUP;
	/* As with TCP, programs that end at POLLHUP first get what the peer has sent. */
	if (rcl_stream_is_over(s) && (!s->rx.avail || s->sock.err || s->shut_send))
		events |= POLLHUP;
	if (rcl_stream_is_over(s) && s->sock.err)
		events |= POLLERR;
	return events;
}

static short look(struct rcl_sock *sock, short events)
{
	struct rcl_stream *s = rcl_stream_of(sock);
	short now = 0;

	switch (s->state) {
	case RCL_STREAM_LISTENING:
		now = rcl_listener_ready(s) ? POLLIN | POLLRDNORM : 0;
		break;
	case RCL_STREAM_UP:
	case RCL_STREAM_DOWN:
		now = look_up(s);
		break;
	case RCL_STREAM_FAILED:
		now = POLLIN | POLLOUT | POLLRDNORM | POLLWRNORM | POLLRDHUP | POLLERR | POLLHUP;
		break;
	default:
		/* Neither connected nor connecting, as with TCP. */
		if (s->state <= RCL_STREAM_BOUND)
			now = POLLOUT | POLLHUP;
	}
	return now & (events | POLLERR | POLLHUP);
}

static short arm(struct rcl_sock *sock, short events)
{
	struct rcl_stream *s = rcl_stream_of(sock);

	if (s->state == RCL_STREAM_UP)
		rcl_stream_arm(s, events & (POLLOUT | POLLWRNORM));
	return look(sock, events);
}

static int wait_fd(struct rcl_sock *sock)
{
	struct rcl_stream *s = rcl_stream_of(sock);

	return s->state >= RCL_STREAM_UP && s->comp ? s->comp->fd : -1;
}

static void drain(struct rcl_sock *sock)
{
	struct rcl_stream *s = rcl_stream_of(sock);

	if (s->state >= RCL_STREAM_UP && s->comp)
		rcl_stream_drain(s);
}

static struct rcl_sock *create(int family)
{
	struct rcl_stream *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	rcl_sock_init(&s->sock, &rcl_stream_ops, SOCK_STREAM, family);
	s->rx.least = 1;
	s->probe_end = RCL_FOREVER;
	s->keepalive_s = rcl_rsocket_conf()->keepalive_s;
	s->alive = (struct rcl_task){ .fd = -1, .due = RCL_FOREVER };
	return &s->sock;
}

const struct rcl_sock_ops rcl_stream_ops = {
	.create = create,
	.bind = bind_stream,
	.listen = rcl_stream_listen,
	.accept = rcl_stream_accept,
	.connect = rcl_stream_connect,
	.shutdown = rcl_stream_shutdown,
	.send = rcl_stream_send,
	.recv = rcl_stream_recv,
	.name = name_of,
	.setopt = rcl_stream_setopt,
	.getopt = rcl_stream_getopt,
	.look = look,
	.arm = arm,
	.wait_fd = wait_fd,
	.drain = drain,
	.end = rcl_stream_end,
	.free = rcl_stream_free,
};
