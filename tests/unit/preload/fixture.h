/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the tests of librspreload share: its functions, as the Makefile names them, and connections.
 */
#ifndef FIXTURE_H
#define FIXTURE_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <rdma/rsocket.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../unit.h"
#include "fake_rsocket.h"
#include "preload/config.h"
#include "preload/libc.h"

/* The function of librspreload that has the name of libc's. */
#define RENAMED(name) typeof(name) preload_##name

RENAMED(accept);
RENAMED(accept4);
RENAMED(bind);
RENAMED(close);
RENAMED(closefrom);
RENAMED(close_range);
RENAMED(connect);
RENAMED(dprintf);
RENAMED(__dprintf_chk);
RENAMED(dup);
RENAMED(dup2);
RENAMED(dup3);
RENAMED(epoll_create1);
RENAMED(epoll_ctl);
RENAMED(epoll_wait);
RENAMED(epoll_pwait);
RENAMED(epoll_pwait2);
RENAMED(fclose);
RENAMED(fcntl);
RENAMED(fcntl64);
RENAMED(getpeername);
RENAMED(getsockname);
RENAMED(getsockopt);
RENAMED(ioctl);
RENAMED(listen);
RENAMED(poll);
RENAMED(__poll_chk);
RENAMED(ppoll);
RENAMED(__ppoll_chk);
RENAMED(pselect);
RENAMED(read);
RENAMED(__read_chk);
RENAMED(readv);
RENAMED(recv);
RENAMED(__recv_chk);
RENAMED(recvfrom);
RENAMED(__recvfrom_chk);
RENAMED(recvmmsg);
RENAMED(recvmsg);
RENAMED(select);
RENAMED(send);
RENAMED(sendfile);
RENAMED(sendfile64);
RENAMED(sendmmsg);
RENAMED(sendmsg);
RENAMED(sendto);
RENAMED(setgid);
RENAMED(setsockopt);
RENAMED(setuid);
RENAMED(shutdown);
RENAMED(socket);
RENAMED(splice);
RENAMED(write);
RENAMED(writev);

static inline struct sockaddr *address(int port)
{
	static __thread struct sockaddr_in in;

	in.sin_family = AF_INET;
	in.sin_port = htons(port);
	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return (struct sockaddr *)&in;
}

#define ADDRESS_SIZE sizeof(struct sockaddr_in)

static inline int port_of(int fd)
{
	struct sockaddr_in in;
	socklen_t size = sizeof(in);

	assert_int_equal(preload_getsockname(fd, (struct sockaddr *)&in, &size), 0);
	return ntohs(in.sin_port);
}

static inline int new_socket(void)
{
	int fd = preload_socket(AF_INET, SOCK_STREAM, 0);

	assert_true(fd >= 0 && fd < FAKE_BASE);
	return fd;
}

static inline int new_listener(void)
{
	int fd = new_socket();

	assert_int_equal(preload_bind(fd, address(0), ADDRESS_SIZE), 0);
	assert_int_equal(preload_listen(fd, 5), 0);
	return fd;
}

/* Two ends of a connection. */
static inline void connect_pair(int pair[2])
{
	int listener = new_listener();

	pair[0] = new_socket();
	assert_int_equal(preload_connect(pair[0], address(port_of(listener)), ADDRESS_SIZE), 0);
	pair[1] = preload_accept(listener, NULL, NULL);
	assert_true(pair[1] >= 0);
	assert_int_equal(preload_close(listener), 0);
}

static inline void close_pair(const int pair[2])
{
	assert_int_equal(preload_close(pair[0]), 0);
	assert_int_equal(preload_close(pair[1]), 0);
}

/* Threads of the parent close what its children have used. */
static inline void assert_closed_but(int open)
{
	int i;

	for (i = 0; i < 500 && fake.made != fake.closed + open; i++)
		usleep(10000);
	assert_int_equal(fake.made, fake.closed + open);
}

static inline void assert_all_closed(void)
{
	assert_closed_but(0);
}

/* A configuration for each test; what it has made, it has to close. */
static inline int set_up(void **state)
{
	(void)state;
	unsetenv("RDMAV_FORK_SAFE");
	rcl_config_path = "/nonexistent";
	rcl_config_reset();
	fake_reset();
	return 0;
}

static inline int tear_down(void **state)
{
	(void)state;
	return fake.made == fake.closed && !fake.closed_watched ? 0 : -1;
}

#define TEST(name) UNIT_TEST(name, set_up, tear_down)

#endif /* FIXTURE_H */
