// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Datagram sockets: their calls, options and readiness.
 *
 * Locking: rcl_sock.lock.
 */
#include "rsocket/dgram/dgram.h"

#include <errno.h>
#include <netinet/in.h>
#include <rdma/rsocket.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "rsocket/channels.h"
#include "rsocket/dgram/dgram_data.h"
#include "rsocket/dgram/dserve.h"
#include "rsocket/dgram/local.h"
#include "rsocket/dgram/peer.h"
#include "rsocket/dgram/queue.h"
#include "rsocket/dgram/resolve.h"
#include "rsocket/dgram/udp.h"
#include "rsocket/size_option.h"
#include "rsocket/wait.h"

/* Time for sends in progress when the socket is closed; datagrams do not depend on the peer. */
#define CLOSE_MS 1000

static int bind_dgram(struct rcl_sock *sock, const struct sockaddr *addr, socklen_t len)
{
	struct rcl_dgram *d = rcl_dgram_of(sock);
	int ret;

	if (!addr)
		return -EINVAL;
	ret = rcl_dgram_start(d);
	if (ret)
		return ret;
	return bind(d->udp, addr, len) ? rcl_errno() : 0;
}

static int disconnect(struct rcl_dgram *d)
{
	struct sockaddr none = { .sa_family = AF_UNSPEC };

	d->connected = false;
	/* The kernel may release the port, which the destinations depend on. */
	rcl_peer_free_all(d);
	return connect(d->udp, &none, sizeof(none)) ? rcl_errno() : 0;
}

static int connect_dgram(struct rcl_sock *sock, const struct sockaddr *addr, socklen_t len)
{
	struct rcl_dgram *d = rcl_dgram_of(sock);
	struct rcl_peer *peer;
	union rcl_inet to;
	int ret;

	if (!addr || len < sizeof(addr->sa_family))
		return -EINVAL;
	ret = rcl_dgram_start(d);
	if (ret)
		return ret;
	if (addr->sa_family == AF_UNSPEC)
		return disconnect(d);
	ret = rcl_inet_take(&to, addr, len);
	if (ret)
		return ret;
	/* Before connect(), which cannot be undone: a port chosen by the kernel would be lost. */
	ret = rcl_peer_get(d, &to, &peer);
	if (ret)
		return ret;
	if (connect(d->udp, addr, len))
		return rcl_errno();
	d->peer = to;
	d->connected = true;
	return 0;
}

static int no_listen(struct rcl_sock *sock, int backlog)
{
	(void)sock;
	(void)backlog;
	return -EOPNOTSUPP;
}

static int no_accept(struct rcl_sock *sock, struct rcl_sock **out)
{
	(void)sock;
	(void)out;
	return -EOPNOTSUPP;
}

/* As with librdmacm, the socket need not be connected. */
static int shutdown_dgram(struct rcl_sock *sock, int how)
{
	struct rcl_dgram *d = rcl_dgram_of(sock);

	if (how != SHUT_RD && how != SHUT_WR && how != SHUT_RDWR)
		return -EINVAL;
	d->shut_recv = d->shut_recv || how != SHUT_WR;
	d->shut_send = d->shut_send || how != SHUT_RD;
	rcl_sock_changed(sock);
	return 0;
}

static int name_of(struct rcl_sock *sock, bool peer, struct sockaddr_storage *addr)
{
	int (*name)(int fd, struct sockaddr *addr, socklen_t *len) =
		peer ? getpeername : getsockname;
	socklen_t len = sizeof(*addr);

	return name(rcl_dgram_of(sock)->udp, (struct sockaddr *)addr, &len) ? rcl_errno() : 0;
}

/* Reads the value back: setsockopt() takes a byte or an int. */
static void keep_tos(struct rcl_dgram *d)
{
	int tos = 0;
	socklen_t len = sizeof(tos);

	if (!getsockopt(d->udp, IPPROTO_IP, IP_TOS, &tos, &len))
		d->tos = tos;
}

static int set_option(struct rcl_sock *sock, int level, int name, const void *value, socklen_t len)
{
	struct rcl_dgram *d = rcl_dgram_of(sock);

	if (level == SOL_RDMA)
		return d->started ? -EINVAL : rcl_size_set(sock, name, value, len);
	/* UDP_SEGMENT and UDP_GRO cut and join datagrams, but each has a header of ours. */
	if (level == IPPROTO_UDP)
		return -ENOPROTOOPT;
	if (setsockopt(d->udp, level, name, value, len))
		return rcl_errno();
	if (level == IPPROTO_IP && name == IP_TOS)
		keep_tos(d);
	return 0;
}

static int get_option(struct rcl_sock *sock, int level, int name, void *value, socklen_t *len)
{
	if (level == SOL_RDMA)
		return rcl_size_get(sock, name, value, len);
	return getsockopt(rcl_dgram_of(sock)->udp, level, name, value, len) ? rcl_errno() : 0;
}

static bool all_can_send(const struct rcl_dgram *d)
{
	struct rcl_local *local;

	for (local = d->locals; local; local = local->next) {
		if (!rcl_dgram_can_send(local))
			return false;
	}
	return true;
}

static short look(struct rcl_sock *sock, short events)
{
	struct rcl_dgram *d = rcl_dgram_of(sock);
	short now = 0;

	rcl_dgram_give_way(d);
	rcl_dgram_progress(d);
	if (!STAILQ_EMPTY(&d->queue) || d->shut_recv || sock->err)
		now |= POLLIN | POLLRDNORM;
	if (d->shut_recv)
		now |= POLLRDHUP;
	if (d->shut_send || all_can_send(d))
		now |= POLLOUT | POLLWRNORM;
	if (sock->err)
		now |= POLLERR;
	if ((d->shut_recv && d->shut_send) || d->closed)
		now |= POLLHUP;
	return now & (events | POLLERR | POLLHUP);
}

static short arm(struct rcl_sock *sock, short events)
{
	rcl_dgram_arm(rcl_dgram_of(sock), events & (POLLOUT | POLLWRNORM));
	return look(sock, events);
}

static int wait_fd(struct rcl_sock *sock)
{
	return sock->fd;
}

static void drain(struct rcl_sock *sock)
{
	rcl_dgram_drain(rcl_dgram_of(sock));
}

static struct rcl_sock *create(int family)
{
	struct rcl_dgram *d = calloc(1, sizeof(*d));
	int udp;

	if (!d)
		return NULL;
	udp = rcl_udp_create(family);
	if (udp < 0) {
		free(d);
		errno = -udp;
		return NULL;
	}
	rcl_sock_init(&d->sock, &rcl_dgram_ops, SOCK_DGRAM, family);
	d->udp = rcl_fd_raise(udp);
	d->sock.other_fd = d->udp;
	d->udp_task = (struct rcl_task){ .fd = -1, .due = RCL_FOREVER };
	d->cm_task = d->udp_task;
	d->tos = -1;
	pthread_mutex_init(&d->gate, NULL);
	TAILQ_INIT(&d->peers);
	STAILQ_INIT(&d->queue);
	return &d->sock;
}

static bool all_sent(struct rcl_dgram *d, void *arg)
{
	struct rcl_local *local;

	(void)arg;
	for (local = d->locals; local; local = local->next) {
		if (!local->dead)
			rcl_local_reap(local);
		if (!local->dead && local->free_count < local->sq_size)
			return false;
	}
	return true;
}

static void end(struct rcl_sock *sock)
{
	struct rcl_dgram *d = rcl_dgram_of(sock);
	int64_t deadline = rcl_deadline(CLOSE_MS);

	d->closed = true;
	rcl_sock_changed(sock);
	/* Without a descriptor, the wait could not be woken and would delay a new socket. */
	if (!sock->linger_s || sock->fd < 0)
		return;
	/* A signal does not end the wait, which would lose datagrams. */
	while (rcl_dgram_wait(d, all_sent, NULL, true, deadline) == -EINTR)
		;
}

static void free_dgram(struct rcl_sock *sock)
{
	struct rcl_dgram *d = rcl_dgram_of(sock);

	rcl_dgram_stop(d);
	while (!STAILQ_EMPTY(&d->queue))
		rcl_dgram_drop(d);
	rcl_peer_free_all(d);
	rcl_resolve_free_all(d);
	rcl_local_free_all(d);
	if (d->channel)
		rcl_event_channel_close(d->channel);
	close(d->udp);
	pthread_mutex_destroy(&d->gate);
	rcl_sock_fini(sock);
	free(d);
}

const struct rcl_sock_ops rcl_dgram_ops = {
	.create = create,
	.bind = bind_dgram,
	.listen = no_listen,
	.accept = no_accept,
	.connect = connect_dgram,
	.shutdown = shutdown_dgram,
	.send = rcl_dgram_send,
	.recv = rcl_dgram_recv,
	.name = name_of,
	.setopt = set_option,
	.getopt = get_option,
	.look = look,
	.arm = arm,
	.wait_fd = wait_fd,
	.drain = drain,
	.end = end,
	.free = free_dgram,
};
