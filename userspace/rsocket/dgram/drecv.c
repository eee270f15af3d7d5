// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Receiving datagrams.
 *
 * Locking: rcl_sock.lock; it is released while a thread waits.
 */
#include <errno.h>
#include <string.h>

#include "rsocket/dgram/dgram_data.h"
#include "rsocket/dgram/queue.h"
#include "rsocket/iov.h"
#include "rsocket/wait.h"

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
	/* Nothing can come to a socket without a port. */
	if (!d->started)
		return -EINVAL;
	ret = rcl_dgram_wait(d, data_or_never, NULL, false,
			     rcl_call_deadline(sock, flags, sock->recv_ms));
	if (!ret)
		ret = rcl_dgram_error(sock);
	if (ret)
		return ret;
	if (!STAILQ_EMPTY(&d->queue))
		return take(d, msg, flags);
	if (d->closed)
		return -EBADF;
	/* The end of a direction has no sender. */
	msg->msg_namelen = 0;
	msg->msg_flags = 0;
	return 0;
}
