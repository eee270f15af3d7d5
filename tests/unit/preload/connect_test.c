// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of connect(), and of going on over TCP. */
#include "fixture.h"

#include <poll.h>

#include "preload/file.h"

/* A listener of TCP, and its port. */
static int tcp_listener(int *port)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	socklen_t size = sizeof(in);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, (struct sockaddr *)&in, sizeof(in)), 0);
	assert_int_equal(listen(fd, 5), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&in, &size), 0);
	*port = ntohs(in.sin_port);
	return fd;
}

static void assert_talks_tcp(int fd, int listener)
{
	int peer = accept(listener, NULL, NULL);
	char c = 0;

	assert_true(peer >= 0);
	assert_int_equal(preload_write(fd, "x", 1), 1);
	assert_int_equal(read(peer, &c, 1), 1);
	assert_int_equal(c, 'x');
	close(peer);
}

static int error_of(int fd)
{
	int error = -1;
	socklen_t size = sizeof(error);

	assert_int_equal(preload_getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size), 0);
	return error;
}

TEST(without_rsockets_sockets_are_tcp_s)
{
	int port, listener = tcp_listener(&port), fd;

	fake.fail_socket = ENODEV;
	fd = new_socket();
	assert_false(rcl_file_known(fd));
	assert_int_equal(preload_connect(fd, address(port), ADDRESS_SIZE), 0);
	assert_talks_tcp(fd, listener);
	preload_close(fd);
	close(listener);
}

TEST(failed_connect_goes_on_over_tcp)
{
	int port, listener = tcp_listener(&port), fd = new_socket(), copy, value = -1;
	socklen_t size = sizeof(value);

	fake.fail_connect = ECONNREFUSED;
	copy = preload_dup(fd);
	value = 1;
	preload_setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &value, sizeof(value));
	assert_int_equal(preload_connect(fd, address(port), ADDRESS_SIZE), 0);
	assert_false(rcl_file_known(fd));
	assert_false(rcl_file_known(copy));
	assert_int_equal(fake.closed, 1);
	/* The number, its copies and the options are still there. */
	value = 0;
	assert_int_equal(preload_getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &value, &size), 0);
	assert_int_equal(value, 1);
	assert_talks_tcp(copy, listener);
	preload_close(copy);
	preload_close(fd);
	close(listener);
}

TEST(bound_socket_is_bound_over_tcp)
{
	int port, listener = tcp_listener(&port), spare = tcp_listener(&port), own = port, fd;

	close(spare);	/* its port is free now */
	{
		struct sockaddr_in in;
		socklen_t size = sizeof(in);

		getsockname(listener, (struct sockaddr *)&in, &size);
		port = ntohs(in.sin_port);
	}
	fd = new_socket();
	fake.fail_connect = ENETUNREACH;
	assert_int_equal(preload_bind(fd, address(own), ADDRESS_SIZE), 0);
	assert_int_equal(preload_connect(fd, address(port), ADDRESS_SIZE), 0);
	assert_int_equal(port_of(fd), own);
	preload_close(fd);
	close(listener);
}

TEST(both_failing_is_a_failure_that_can_be_repeated)
{
	int port, listener = tcp_listener(&port), fd = new_socket();

	close(listener);
	fake.fail_connect = ECONNREFUSED;
	assert_int_equal(preload_connect(fd, address(port), ADDRESS_SIZE), -1);
	assert_int_equal(errno, ECONNREFUSED);
	fake.fail_connect = 0;
	assert_int_equal(preload_connect(fd, address(port), ADDRESS_SIZE), -1);
	assert_int_equal(errno, ECONNREFUSED);
	assert_int_equal(fake.connects, 2);
	preload_close(fd);
}

/* There is no TCP over AF_IB: the error is the rsocket's. */
TEST(native_addresses_do_not_fall_back)
{
	int fd = preload_socket(27, SOCK_STREAM, 0);

	assert_true(rcl_file_known(fd));
	fake.fail_connect = EHOSTUNREACH;
	assert_int_equal(preload_connect(fd, address(1), ADDRESS_SIZE), -1);
	assert_int_equal(errno, EHOSTUNREACH);
	preload_close(fd);
	fake.fail_socket = ENODEV;
	assert_int_equal(preload_socket(27, SOCK_STREAM, 0), -1);
	assert_int_equal(errno, EAFNOSUPPORT);
}

TEST(connected_sockets_do_not_connect_again)
{
	int pair[2];

	connect_pair(pair);
	assert_int_equal(preload_connect(pair[0], address(1), ADDRESS_SIZE), -1);
	assert_int_equal(errno, EISCONN);
	assert_int_equal(preload_connect(pair[1], address(1), ADDRESS_SIZE), -1);
	assert_int_equal(errno, EISCONN);
	assert_int_equal(fake.connects, 1);
	close_pair(pair);
}

TEST(interrupted_connect_does_not_fall_back)
{
	int fd = new_socket();

	fake.fail_connect = EINTR;
	assert_int_equal(preload_connect(fd, address(1), ADDRESS_SIZE), -1);
	assert_int_equal(errno, EINTR);
	assert_true(rcl_file_known(fd));
	preload_close(fd);
}

/* A socket whose connect() is under way. */
static int connecting(int port)
{
	int fd = preload_socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	fake.hold_connect = 1;
	assert_int_equal(preload_connect(fd, address(port), ADDRESS_SIZE), -1);
	assert_int_equal(errno, EINPROGRESS);
	return fd;
}

static int poll_out(int fd, int timeout)
{
	struct pollfd polls = { .fd = fd, .events = POLLOUT };

	return preload_poll(&polls, 1, timeout) == 1 ? polls.revents : 0;
}

TEST(nonblocking_connect_ends)
{
	int fd = connecting(1);

	assert_int_equal(poll_out(fd, 0), 0);
	assert_int_equal(preload_connect(fd, address(1), ADDRESS_SIZE), -1);
	assert_int_equal(errno, EALREADY);
	assert_int_equal(error_of(fd), 0);
	fake.hold_connect = 0;
	assert_int_equal(poll_out(fd, 0), POLLOUT);
	assert_int_equal(error_of(fd), 0);
	assert_int_equal(preload_connect(fd, address(1), ADDRESS_SIZE), -1);
	assert_int_equal(errno, EISCONN);
	preload_close(fd);
	fd = connecting(1);
	fake.hold_connect = 0;
	assert_int_equal(preload_connect(fd, address(1), ADDRESS_SIZE), 0);
	preload_close(fd);
}

TEST(late_failure_goes_on_over_tcp)
{
	int port, listener = tcp_listener(&port), fd = connecting(port);

	assert_int_equal(poll_out(fd, 10), 0);
	fake.late_error = ECONNREFUSED;
	fake.hold_connect = 0;
	/* poll() sees the end of TCP's connect, not that of the rsocket's. */
	assert_int_equal(poll_out(fd, 1000), POLLOUT);
	assert_int_equal(error_of(fd), 0);
	assert_false(rcl_file_known(fd));
	assert_int_equal(fake.closed, 1);
	assert_talks_tcp(fd, listener);
	preload_close(fd);
	close(listener);
}

TEST(late_failure_seen_by_so_error)
{
	int port, listener = tcp_listener(&port), fd = connecting(port);

	fake.late_error = ETIMEDOUT;
	fake.hold_connect = 0;
	assert_int_equal(error_of(fd), 0);
	assert_int_equal(poll_out(fd, 1000), POLLOUT);
	assert_talks_tcp(fd, listener);
	preload_close(fd);
	close(listener);
}

TEST(late_failure_of_both_is_told)
{
	int port, listener = tcp_listener(&port), fd = connecting(port), error;

	close(listener);
	fake.late_error = ETIMEDOUT;
	fake.hold_connect = 0;
	assert_true(poll_out(fd, 1000) & (POLLERR | POLLHUP));
	error = error_of(fd);
	/* Of TCP's connect, or the rsocket's if TCP's has failed at once. */
	assert_true(error == ECONNREFUSED || error == ETIMEDOUT);
	preload_close(fd);
}

TEST(datagram_sockets_change_their_peer)
{
	int fd = preload_socket(AF_INET, SOCK_DGRAM, 0), server, other;

	assert_int_equal(fake.made, 1);
	server = preload_socket(AF_INET, SOCK_DGRAM, 0);
	other = preload_socket(AF_INET, SOCK_DGRAM, 0);
	preload_bind(server, address(0), ADDRESS_SIZE);
	preload_bind(other, address(0), ADDRESS_SIZE);
	assert_int_equal(preload_connect(fd, address(port_of(server)), ADDRESS_SIZE), 0);
	assert_int_equal(preload_connect(fd, address(port_of(other)), ADDRESS_SIZE), 0);
	assert_int_equal(fake.connects, 2);
	preload_close(fd);
	preload_close(server);
	preload_close(other);
}

/* The kernel's port is taken by the UDP socket of the rsocket. */
TEST(datagram_socket_keeps_its_port)
{
	int fd = preload_socket(AF_INET, SOCK_DGRAM, 0), taken = socket(AF_INET, SOCK_DGRAM, 0);
	int server = socket(AF_INET, SOCK_DGRAM, 0), on = 1, port;
	struct sockaddr_in here;
	socklen_t len = sizeof(here);

	assert_int_equal(preload_bind(fd, address(0), ADDRESS_SIZE), 0);
	port = port_of(fd);
	assert_int_equal(bind(taken, address(port), ADDRESS_SIZE), 0);
	setsockopt(taken, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	assert_int_equal(bind(server, address(0), ADDRESS_SIZE), 0);
	assert_int_equal(getsockname(server, (struct sockaddr *)&here, &len), 0);
	fake.fail_connect = ENODEV;
	assert_int_equal(preload_connect(fd, (struct sockaddr *)&here, len), 0);
	fake.fail_connect = 0;
	assert_int_equal(port_of(fd), port);
	assert_int_equal(preload_send(fd, "x", 1, 0), 1);
	len = sizeof(here);
	assert_int_equal(recvfrom(server, &on, 1, 0, (struct sockaddr *)&here, &len), 1);
	assert_int_equal(ntohs(here.sin_port), port);
	preload_close(fd);
	close(taken);
	close(server);
}

RUN
