// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Sending and receiving datagrams. A datagram is sent to the queue pair of the peer, or over UDP
 * while that queue pair is unknown.
 *
 * Locking: rcl_sock.lock, which is released while a thread waits.
 */
#include "rsocket/dgram/dgram_data.h"

#include <errno.h>
#include <string.h>

#include "rsocket/dgram/dserve.h"
#include "rsocket/dgram/local.h"
#include "rsocket/dgram/peer.h"
#include "rsocket/dgram/queue.h"
#include "rsocket/dgram/udp.h"
#include "rsocket/iov.h"
#include "rsocket/wait.h"

static int target_of(const struct rcl_dgram *d, const struct msghdr *msg, union rcl_inet *to)
{
	if (msg->msg_name)
		return rcl_inet_take(to, msg->msg_name, msg->msg_namelen);
	*to = d->peer;
	return d->connected ? 0 : -EDESTADDRREQ;
}

static bool can_send(struct rcl_dgram *d, void *local)
{
	return d->closed || rcl_dgram_can_send(local);
}

static int send_ud(struct rcl_peer *peer, const struct msghdr *msg, size_t len)
{
	uint8_t *wire = rcl_local_send_buf(peer->local);
	size_t header = rcl_ud_pack(wire, &peer->local->addr);

	rcl_iov_gather(wire + header, msg);
	return rcl_local_send(peer->local, peer->way, header + len);
}

/* Waits until the UDP socket has room. */
static int wait_for_udp(struct rcl_dgram *d, int64_t deadline)
{
	struct pollfd fds[2] = { { .fd = d->udp, .events = POLLOUT } };
	int ret;

	if (!deadline)
		return -EAGAIN;
	ret = rcl_sleep_on(&d->sock, fds, 1, deadline, NULL);
	return ret > 0 ? 0 : ret ? ret : -EAGAIN;
}

static int send_udp(struct rcl_dgram *d, struct rcl_peer *peer, const struct msghdr *msg,
		    size_t len, int64_t deadline)
{
	struct rcl_udp_header header = { .qpn = peer->local->id->qp->qp_num };
	uint8_t wire[RCL_SLOT_LEN];
	size_t skip = rcl_udp_pack(wire, &header, &peer->local->addr);
	union rcl_inet to = peer->addr;
	int ret;

	rcl_iov_gather(wire + skip, msg);
	peer->asked = rcl_now_ns();
	/* The peer may be forgotten while the socket is unlocked. */
	for (;;) {
		ret = rcl_udp_send(d->udp, d->sock.family, wire, skip + len, &to);
		if (ret != -EAGAIN)
			return ret;
		ret = wait_for_udp(d, deadline);
		if (ret)
			return ret;
		if (d->closed)
			return -EBADF;
	}
}

static int send_to(struct rcl_dgram *d, const union rcl_inet *to, const struct msghdr *msg,
		   size_t len, int64_t deadline)
{
	size_t wire_len = rcl_ud_len(to->sa.sa_family) + len;
	struct rcl_local *local;
	struct rcl_peer *peer;
	int ret;

	for (;;) {
		ret = rcl_peer_get(d, to, &peer);
		if (ret)
			return ret;
		if (!rcl_peer_has_way(peer, wire_len, rcl_now_ns()))
			return send_udp(d, peer, msg, len, deadline);
		if (rcl_dgram_can_send(peer->local) && !peer->local->dead)
			return send_ud(peer, msg, len);
		local = peer->local;
		local->waits++;
		ret = rcl_dgram_wait(d, can_send, local, true, deadline);
		local->waits--;
		if (ret)
			return ret;
		if (d->closed)
			return -EBADF;
	}
}

ssize_t rcl_dgram_send(struct rcl_sock *sock, const struct msghdr *msg, int flags)
{
	struct rcl_dgram *d = rcl_dgram_of(sock);
	size_t len = rcl_iov_len(msg);
	union rcl_inet to;
	int ret;

	if (msg->msg_control && msg->msg_controllen)
		return -ENOTSUP;
	if (flags & MSG_OOB)
		return -EOPNOTSUPP;
	rcl_dgram_give_way(d);
	if (d->shut_send)
		return -EPIPE;
	ret = target_of(d, msg, &to);
	if (!ret && len > rcl_data_most(to.sa.sa_family))
		ret = -EMSGSIZE;
	if (!ret)
		ret = rcl_sock_take_error(sock);
	if (!ret)
		ret = rcl_dgram_start(d);
	if (!ret)
		ret = send_to(d, &to, msg, len, rcl_call_deadline(sock, flags, sock->send_ms));
	return ret ? ret : (ssize_t)len;
}

static bool data_or_never(struct rcl_dgram *d, void *arg)
{
	(void)arg;
	return !STAILQ_EMPTY(&d->queue) || d->shut_recv || d->sock.err || d->closed;
}

static void put_name(struct msghdr *msg, const union rcl_inet *from, int family)
{
	union rcl_inet name;
	socklen_t len;

	if (!msg->msg_name)
		return;
	len = rcl_inet_give(&name, from, family);
	memcpy(msg->msg_name, &name, len < msg->msg_namelen ? len : msg->msg_namelen);
	msg->msg_namelen = len;
}

static ssize_t take(struct rcl_dgram *d, struct msghdr *msg, int flags)
{
	const struct rcl_datagram *gram = STAILQ_FIRST(&d->queue);
	size_t len = gram->len, got = rcl_iov_scatter(msg, gram->data, len);

	put_name(msg, &gram->from, d->sock.family);
	msg->msg_flags = got < len ? MSG_TRUNC : 0;
	if (!(flags & MSG_PEEK))
		rcl_dgram_drop(d);
	return (ssize_t)(flags & MSG_TRUNC ? len : got);
}

ssize_t rcl_dgram_recv(struct rcl_sock *sock, struct msghdr *msg, int flags)
{
	struct rcl_dgram *d = rcl_dgram_of(sock);
	int ret;

	if (msg->msg_control && msg->msg_controllen)
		return -ENOTSUP;
	/* A socket without a port cannot receive. */
	if (!d->started)
		return -EINVAL;
	ret = rcl_dgram_wait(d, data_or_never, NULL, false,
			     rcl_call_deadline(sock, flags, sock->recv_ms));
	if (!ret)
		ret = rcl_sock_take_error(sock);
	if (ret)
		return ret;
	if (!STAILQ_EMPTY(&d->queue))
		return take(d, msg, flags);
	if (d->closed)
		return -EBADF;
	/* End of the direction, which has no sender. */
	msg->msg_namelen = 0;
	msg->msg_flags = 0;
	return 0;
}
