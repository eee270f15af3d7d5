// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Options of datagram sockets: the sizes of the queues, and those of the UDP socket.
 *
 * Locking: rcl_sock.lock.
 */
#include "rsocket/dgram/dgram_option.h"

#include <errno.h>
#include <netinet/in.h>
#include <rdma/rsocket.h>

#include "base/err.h"
#include "rsocket/dgram/dgram.h"
#include "rsocket/size_option.h"

/* The UDP socket takes a byte or a number. */
static void keep_tos(struct rcl_dgram *d)
{
	int tos = 0;
	socklen_t len = sizeof(tos);

	if (!getsockopt(d->udp, IPPROTO_IP, IP_TOS, &tos, &len))
		d->tos = tos;
}

int rcl_dgram_setopt(struct rcl_sock *sock, int level, int name, const void *value, socklen_t len)
{
	struct rcl_dgram *d = rcl_dgram_of(sock);

	if (level == SOL_RDMA)
		return d->started ? -EINVAL : rcl_size_set(sock, name, value, len);
	/* The kernel would cut or join what has a header in front. */
	if (level == IPPROTO_UDP)
		return -ENOPROTOOPT;
	if (setsockopt(d->udp, level, name, value, len))
		return rcl_errno();
	if (level == IPPROTO_IP && name == IP_TOS)
		keep_tos(d);
	return 0;
}

int rcl_dgram_getopt(struct rcl_sock *sock, int level, int name, void *value, socklen_t *len)
{
	if (level == SOL_RDMA)
		return rcl_size_get(sock, name, value, len);
	return getsockopt(rcl_dgram_of(sock)->udp, level, name, value, len) ? rcl_errno() : 0;
}
