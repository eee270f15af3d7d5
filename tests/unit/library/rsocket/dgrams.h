/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Fixture: datagram sockets over the fakes. Their UDP sockets are real ones on the loopback
 * addresses, which have an adapter here.
 */
#ifndef DGRAMS_H
#define DGRAMS_H

#include <arpa/inet.h>

#include "rsocket/dgram/dgram.h"
#include "rsocket/dgram/way.h"
#include "sockets.h"

#define LOOPBACK "127.0.0.1"
#define LOOPBACK6 "::1"

/* Sets a knob of the fake kernel, which the service thread may be calling. */
#define SET_FAKE(knob, value) do {		\
	fake_kernel_lock();			\
	fake.knob = (value);			\
	fake_kernel_unlock();			\
} while (0)

/** struct dgrams - two sockets that are bound, and their addresses */
struct dgrams {
	int a;
	int b;
	union rcl_inet a_addr;
	union rcl_inet b_addr;
	socklen_t len;
};

static inline union rcl_inet loopback(int family)
{
	union rcl_inet addr = { .sa.sa_family = (sa_family_t)family };

	if (family == AF_INET)
		addr.sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	else
		addr.sin6.sin6_addr = in6addr_loopback;
	return addr;
}

static inline int new_dgram(int family)
{
	int fd = rsocket(family, SOCK_DGRAM, 0);

	assert_true(fd >= 0);
	return fd;
}

/* A socket that is bound to the loopback address. */
static inline int bound_dgram(int family, union rcl_inet *addr)
{
	int fd = new_dgram(family);
	socklen_t len = sizeof(*addr);

	*addr = loopback(family);
	assert_int_equal(rbind(fd, &addr->sa, rcl_inet_len(addr)), 0);
	assert_int_equal(rgetsockname(fd, &addr->sa, &len), 0);
	assert_int_equal(len, rcl_inet_len(addr));
	assert_true(rcl_inet_port(addr) != 0);
	return fd;
}

static inline struct dgrams two_dgrams(int family)
{
	struct dgrams s = { 0 };

	s.a = bound_dgram(family, &s.a_addr);
	s.b = bound_dgram(family, &s.b_addr);
	s.len = rcl_inet_len(&s.a_addr);
	return s;
}

static inline void close_two(struct dgrams *s)
{
	assert_int_equal(rclose(s->a), 0);
	assert_int_equal(rclose(s->b), 0);
}

static inline void send_dgram(int fd, const void *data, size_t len, const union rcl_inet *to)
{
	assert_int_equal(rsendto(fd, data, len, 0, &to->sa, rcl_inet_len(to)), len);
}

/* The next datagram of a socket, which must be this one; waits for it. */
static inline void expect_dgram(int fd, const void *data, size_t len, const union rcl_inet *from)
{
	uint8_t buf[RCL_SLOT_LEN];
	union rcl_inet name;
	socklen_t name_len = sizeof(name);

	assert_int_equal(rrecvfrom(fd, buf, sizeof(buf), 0, &name.sa, &name_len), len);
	assert_memory_equal(buf, data, len);
	assert_int_equal(name_len, rcl_inet_len(from));
	assert_true(rcl_inet_equal(&name, from));
}

static inline void expect_nothing(int fd)
{
	char byte;

	flush_service();
	assert_fails(EAGAIN, rrecv(fd, &byte, 1, MSG_DONTWAIT));
}

static inline bool has_way(int fd)
{
	struct rcl_sock *sock = rcl_sock_get(fd);
	struct rcl_peer *peer;
	bool yes = false;

	pthread_mutex_lock(&sock->lock);
	TAILQ_FOREACH(peer, &rcl_dgram_of(sock)->peers, used)
		yes = yes || (peer->way && !peer->way->failed);
	pthread_mutex_unlock(&sock->lock);
	rcl_sock_put(sock);
	return yes;
}

/* Until a socket knows the queue pair of a peer, for two seconds at most. */
static inline void wait_for_way(int fd)
{
	int i;

	for (i = 0; i < 2000 && !has_way(fd); i++)
		usleep(1000);
	assert_true(has_way(fd));
}

/* Two sockets that know the queue pairs of each other. */
static inline struct dgrams met_dgrams(int family)
{
	struct dgrams s = two_dgrams(family);

	send_dgram(s.a, "hello", 5, &s.b_addr);
	expect_dgram(s.b, "hello", 5, &s.a_addr);
	wait_for_way(s.a);
	wait_for_way(s.b);
	return s;
}

#endif /* DGRAMS_H */
