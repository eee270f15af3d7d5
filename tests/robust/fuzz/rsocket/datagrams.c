// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Datagram sockets: two of them exchange datagrams, and others send to their UDP sockets and queue
 * pairs what no honest peer sends.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <rdma/rsocket.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/rdma_cma_new.h"
#include "rsocket/dgram/dgram.h"
#include "rsocket/dgram/local.h"
#include "world.h"

#define SOCKETS 2
#define STEPS 64
#define LONGEST 2100

static struct {
	int fd[SOCKETS];
	union rcl_inet addr[SOCKETS];
	int udp;
	union rcl_inet udp_addr;
	int repoll;
} here;

static union rcl_inet loopback(bool ipv6)
{
	union rcl_inet addr = { .sa.sa_family = ipv6 ? AF_INET6 : AF_INET };

	if (ipv6)
		addr.sin6.sin6_addr = in6addr_loopback;
	else
		addr.sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return addr;
}

static void open_all(bool ipv6)
{
	union rcl_inet addr = loopback(ipv6);
	int family = addr.sa.sa_family, i;
	struct epoll_event event = { .events = EPOLLIN };
	socklen_t len;

	here.repoll = repoll_create(0);
	for (i = 0; i < SOCKETS; i++) {
		here.fd[i] = rsocket(family, SOCK_DGRAM, 0);
		rfcntl(here.fd[i], F_SETFL, O_NONBLOCK);
		len = sizeof(here.addr[i]);
		if (rbind(here.fd[i], &addr.sa, rcl_inet_len(&addr)) ||
		    rgetsockname(here.fd[i], &here.addr[i].sa, &len))
			not_true("a datagram socket can be bound");
		repoll_ctl(here.repoll, EPOLL_CTL_ADD, here.fd[i], &event);
	}
	here.udp = socket(family, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	len = sizeof(here.udp_addr);
	if (bind(here.udp, &addr.sa, rcl_inet_len(&addr)) ||
	    getsockname(here.udp, &here.udp_addr.sa, &len))
		not_true("a UDP socket can be bound");
}

/* Each socket knows the queue pair of the other one. */
static void meet(void)
{
	char byte;
	int i;

	rsendto(here.fd[0], "a", 1, 0, &here.addr[1].sa, rcl_inet_len(&here.addr[1]));
	service_run(false);
	for (i = 0; i < SOCKETS; i++)
		rrecv(here.fd[i], &byte, 1, 0);
}

/* Bytes of a header that was valid are changed, and what is behind it is anything. */
static void send_udp(void)
{
	unsigned int to = in_u8() % SOCKETS, count = in_u8() & 3;
	struct rcl_udp_header header = {
		in_u8() & 1 ? RCL_UDP_CONTROL : RCL_UDP_DATA, in_u32(),
	};
	uint8_t wire[LONGEST] = { 0 };
	size_t len = rcl_udp_pack(wire, &header, &here.udp_addr);

	for (; count; count--)
		wire[in_u8() % len] = in_u8();
	len = in_u8() & 1 ? len + in_u32() % 64 : in_u32() % sizeof(wire);
	sendto(here.udp, wire, len, 0, &here.addr[to].sa, rcl_inet_len(&here.addr[to]));
}

/* A peer whose queue pair is known sends to the queue pair of another one. */
static void send_ud(void)
{
	struct rcl_sock *sock = rcl_sock_get(here.fd[in_u8() % SOCKETS]);
	struct rcl_dgram *d;
	struct rcl_peer *peer;
	uint8_t *wire;
	size_t len;

	if (!sock)
		return;
	d = rcl_dgram_of(sock);
	pthread_mutex_lock(&sock->lock);
	TAILQ_FOREACH(peer, &d->peers, used) {
		if (peer->way && !peer->local->dead && peer->local->free_count)
			break;
	}
	if (peer) {
		wire = rcl_local_send_buf(peer->local);
		len = rcl_ud_pack(wire, &here.udp_addr);
		len = in_u8() & 1 ? len + in_u8() : in_u8() % (len + 2);
		if (in_u8() & 1)
			in_bytes(wire, in_u8() % 32);
		rcl_local_send(peer->local, peer->way, len);
		rcl_local_reap(peer->local);
	}
	pthread_mutex_unlock(&sock->lock);
	rcl_sock_put(sock);
}

static const union rcl_inet *pick_address(void)
{
	switch (in_u8() % 3) {
	case 0:
		return &here.addr[0];
	case 1:
		return &here.addr[1];
	default:
		return &here.udp_addr;
	}
}

static void send_honestly(void)
{
	const union rcl_inet *to = pick_address();
	int fd = here.fd[in_u8() % SOCKETS];
	char data[LONGEST] = { 0 };
	size_t len = in_u8() & 1 ? in_u8() : in_u32() % sizeof(data);

	if (in_u8() & 1)
		rsend(fd, data, len, 0);
	else
		rsendto(fd, data, len, 0, &to->sa, rcl_inet_len(to));
}

static void receive(void)
{
	static const int flags[] = { 0, MSG_PEEK, MSG_TRUNC, MSG_PEEK | MSG_TRUNC };
	char data[LONGEST];
	union rcl_inet from;
	socklen_t len = in_u8() % (sizeof(from) + 1);
	ssize_t got = rrecvfrom(here.fd[in_u8() % SOCKETS], data, in_u32() % sizeof(data),
				flags[in_u8() % 4], &from.sa, &len);

	if (got > RCL_SLOT_LEN)
		not_true("a datagram fits a slot");
}

static void connect_one(void)
{
	const union rcl_inet *to = pick_address();
	struct sockaddr none = { .sa_family = AF_UNSPEC };
	int fd = here.fd[in_u8() % SOCKETS];

	if (in_u8() & 1)
		rconnect(fd, &to->sa, rcl_inet_len(to));
	else
		rconnect(fd, &none, sizeof(none));
}

static void look_at_sockets(void)
{
	struct pollfd fds[SOCKETS];
	struct epoll_event events[SOCKETS];
	int i;

	for (i = 0; i < SOCKETS; i++)
		fds[i] = (struct pollfd){ .fd = here.fd[i], .events = (short)(in_u8() & 7) };
	rpoll(fds, SOCKETS, 0);
	repoll_wait(here.repoll, events, SOCKETS, 0);
}

static void shut(void)
{
	rshutdown(here.fd[in_u8() % SOCKETS], in_u8() % 4);
}

static const operation operations[] = {
	send_udp, send_ud, send_honestly, receive, connect_one, look_at_sockets, shut,
};

static void check_socket(int fd)
{
	struct rcl_sock *sock = rcl_sock_get(fd);
	struct rcl_dgram *d = rcl_dgram_of(sock);
	struct rcl_datagram *gram;

	STAILQ_FOREACH(gram, &d->queue, next) {
		if (gram->len > RCL_SLOT_LEN)
			not_true("a datagram fits a slot");
	}
	if (d->peer_count > RCL_PEERS_MOST || d->local_count > RCL_LOCALS_MOST)
		not_true("tables are bounded");
	rcl_sock_put(sock);
}

void datagram_input(bool ipv6)
{
	unsigned int i, j;

	open_all(ipv6);
	meet();
	for (i = 0; i < STEPS && input.left; i++) {
		operations[in_u8() % ARRAY_SIZE(operations)]();
		service_run(false);
		for (j = 0; j < SOCKETS; j++)
			check_socket(here.fd[j]);
	}
	for (j = 0; j < SOCKETS; j++)
		rclose(here.fd[j]);
	rclose(here.repoll);
	close(here.udp);
}
