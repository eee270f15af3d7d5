// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of rsockets that begin: creation, names, connect, the backlog, and their end meanwhile. */
#include "sockets.h"

SOCKET_TEST(only_streams_of_known_families_exist)
{
	assert_fails(ENOTSUP, rsocket(AF_UNIX, SOCK_STREAM, 0));
	assert_fails(ENOTSUP, rsocket(AF_INET, SOCK_RAW, 0));
	assert_fails(ENOTSUP, rsocket(AF_INET, SOCK_STREAM, IPPROTO_UDP));
}

SOCKET_TEST(numbers_of_no_socket_are_ebadf)
{
	char byte;

	assert_fails(EBADF, rclose(-1));
	assert_fails(EBADF, rsend(0, "x", 1, 0));
	assert_fails(EBADF, rrecv(1 << 30, &byte, 1, 0));
	assert_fails(EBADF, rbind(0, addr4(HERE, 1), sizeof(struct sockaddr_in)));
}

SOCKET_TEST(socket_without_a_connection_is_enotconn)
{
	int fd = new_socket();
	struct sockaddr_storage name;
	socklen_t len = sizeof(name);
	char byte;

	assert_fails(ENOTCONN, rsend(fd, "x", 1, 0));
	assert_fails(ENOTCONN, rrecv(fd, &byte, 1, 0));
	assert_fails(ENOTCONN, rshutdown(fd, SHUT_RDWR));
	assert_fails(ENOTCONN, rgetpeername(fd, (struct sockaddr *)&name, &len));
	assert_fails(EINVAL, raccept(fd, NULL, NULL));
	assert_int_equal(rclose(fd), 0);
	assert_fails(EBADF, rclose(fd));
}

SOCKET_TEST(names_are_those_of_the_connection)
{
	struct sockets s = connected();
	struct sockaddr_in name = { 0 };
	socklen_t len = sizeof(name);

	assert_int_equal(rgetsockname(s.listener, (struct sockaddr *)&name, &len), 0);
	assert_int_equal(name.sin_port, htons(PORT));
	assert_int_equal(rgetpeername(s.client, (struct sockaddr *)&name, &len), 0);
	assert_int_equal(name.sin_port, htons(PORT));
	assert_int_equal(len, sizeof(name));
	len = 2;
	assert_int_equal(rgetsockname(s.client, (struct sockaddr *)&name, &len), 0);
	assert_int_equal(len, sizeof(name));
	close_all(&s);
}

SOCKET_TEST(refused_connect_is_econnrefused)
{
	int fd = new_socket();

	assert_fails(ECONNREFUSED, rconnect(fd, addr4(HERE, 9), sizeof(struct sockaddr_in)));
	assert_int_equal(get_int(fd, SOL_SOCKET, SO_ERROR), ECONNREFUSED);
	assert_int_equal(get_int(fd, SOL_SOCKET, SO_ERROR), 0);
	assert_int_equal(rclose(fd), 0);
}

SOCKET_TEST(wrong_address_is_einval)
{
	int fd = new_socket();

	assert_fails(EINVAL, rconnect(fd, NULL, 0));
	assert_fails(EINVAL, rconnect(fd, addr4(HERE, PORT), 3));
	assert_fails(EINVAL, rbind(fd, addr4(HERE, PORT), 3));
	assert_int_equal(rclose(fd), 0);
}

static int nonblocking_client(uint16_t port)
{
	int fd = new_nonblocking();

	assert_fails(EINPROGRESS, rconnect(fd, addr4(HERE, port), sizeof(struct sockaddr_in)));
	return fd;
}

SOCKET_TEST(nonblocking_connect_ends_by_itself)
{
	int listener = new_listener(NULL), server;
	int client = nonblocking_client(PORT);
	struct pollfd pfd = { .fd = client, .events = POLLOUT };

	server = raccept(listener, NULL, NULL);
	assert_true(server >= 0);
	assert_int_equal(rpoll(&pfd, 1, -1), 1);
	assert_int_equal(pfd.revents, POLLOUT);
	assert_int_equal(get_int(client, SOL_SOCKET, SO_ERROR), 0);
	assert_int_equal(rclose(client), 0);
	assert_int_equal(rclose(server), 0);
	assert_int_equal(rclose(listener), 0);
}

SOCKET_TEST(nonblocking_connect_that_fails_is_told)
{
	int client = nonblocking_client(9);
	struct pollfd pfd = { .fd = client, .events = POLLOUT };

	assert_int_equal(rpoll(&pfd, 1, -1), 1);
	assert_int_equal(pfd.revents, POLLOUT | POLLERR | POLLHUP);
	assert_int_equal(get_int(client, SOL_SOCKET, SO_ERROR), ECONNREFUSED);
	assert_int_equal(rclose(client), 0);
}

SOCKET_TEST(socket_is_closed_while_it_connects)
{
	int i;

	for (i = 0; i < 20; i++) {
		int listener = new_listener(NULL);
		int client = nonblocking_client(PORT);

		assert_int_equal(rclose(client), 0);
		assert_int_equal(rclose(listener), 0);
		flush_service();
	}
}

/* Requests beyond the backlog wait until raccept() has taken a socket. */
SOCKET_TEST(backlog_is_a_limit)
{
	int listener = new_listener(NULL), clients[6], servers[6], i;

	for (i = 0; i < 6; i++)
		clients[i] = nonblocking_client(PORT);
	for (i = 0; i < 6; i++) {
		servers[i] = raccept(listener, NULL, NULL);
		assert_true(servers[i] >= 0);
	}
	for (i = 0; i < 6; i++) {
		assert_int_equal(rclose(clients[i]), 0);
		assert_int_equal(rclose(servers[i]), 0);
	}
	assert_int_equal(rclose(listener), 0);
}

SOCKET_TEST(listener_is_closed_with_its_backlog)
{
	int listener = new_listener(NULL), clients[6], i;
	char byte;

	for (i = 0; i < 6; i++)
		clients[i] = nonblocking_client(PORT);
	assert_int_equal(rclose(listener), 0);
	for (i = 0; i < 6; i++) {
		assert_int_equal(rfcntl(clients[i], F_SETFL, 0), 0);
		/* It was refused, or connected and disconnected. */
		assert_true(rrecv(clients[i], &byte, 1, MSG_DONTWAIT) <= 0);
		assert_int_equal(rclose(clients[i]), 0);
	}
}

SOCKET_TEST(nonblocking_accept_is_eagain)
{
	int listener = new_listener(NULL);

	assert_int_equal(rfcntl(listener, F_SETFL, O_NONBLOCK), 0);
	assert_fails(EAGAIN, raccept(listener, NULL, NULL));
	assert_int_equal(rlisten(listener, 1), 0);
	assert_int_equal(rclose(listener), 0);
}

SOCKET_TEST(options_are_stored)
{
	struct linger linger = { 1, 7 }, got;
	socklen_t len = sizeof(got);
	int fd = new_socket(), value = 1;

	set_int(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	assert_int_equal(get_int(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
	set_int(fd, SOL_SOCKET, SO_RCVBUF, 5000);
	assert_int_equal(get_int(fd, SOL_SOCKET, SO_RCVBUF), 10000);
	set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	assert_int_equal(get_int(fd, IPPROTO_TCP, TCP_NODELAY), 1);
	set_int(fd, SOL_RDMA, RDMA_IOMAPSIZE, 129);
	assert_int_equal(get_int(fd, SOL_RDMA, RDMA_IOMAPSIZE), 256);
	assert_int_equal(rsetsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), 0);
	assert_int_equal(rgetsockopt(fd, SOL_SOCKET, SO_LINGER, &got, &len), 0);
	assert_memory_equal(&got, &linger, sizeof(got));
	assert_int_equal(get_int(fd, SOL_SOCKET, SO_TYPE), SOCK_STREAM);
	assert_fails(EINVAL, rsetsockopt(fd, SOL_SOCKET, SO_RCVBUF, &value, 1));
	assert_fails(EINVAL, rsetsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &(int){ 0 }, sizeof(int)));
	assert_fails(ENOTSUP, rsetsockopt(fd, SOL_SOCKET, SO_MARK, &value, sizeof(value)));
	len = 1;
	assert_fails(EINVAL, rgetsockopt(fd, SOL_SOCKET, SO_TYPE, &value, &len));
	assert_int_equal(rclose(fd), 0);
}

SOCKET_TEST(connect_after_failed_listen)
{
	int listener = new_listener(NULL), fd = new_socket();

	fake.fail[FAKE(LISTEN)] = EADDRINUSE;
	assert_fails(EADDRINUSE, rlisten(fd, 1));
	assert_int_equal(rconnect(fd, addr4(HERE, PORT), sizeof(struct sockaddr_in)), 0);
	assert_int_equal(rclose(fd), 0);
	assert_int_equal(rclose(listener), 0);
}

RUN
