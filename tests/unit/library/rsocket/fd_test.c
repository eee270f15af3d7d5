// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of the descriptors of rsockets: what the kernel tells of them, and close(2). */
#include "base/fd.h"
#include "rsocket/stream/events.h"
#include "sockets.h"

#define HIGH 512	/* the library has the numbers from here on, or later */

static bool is_readable(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	return poll(&pfd, 1, 0) == 1 && pfd.revents == POLLIN;
}

static int new_repoll_with(int fd)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epfd = repoll_create(0);

	assert_true(epfd >= 0);
	assert_int_equal(repoll_ctl(epfd, EPOLL_CTL_ADD, fd, &event), 0);
	/* It looks at the socket, and sees nothing. */
	assert_int_equal(repoll_wait(epfd, &event, 1, 0), 0);
	return epfd;
}

/* A repoll in poll(2), rpoll() or another epoll is readable as long as it has something to tell. */
SOCKET_TEST(repoll_can_be_polled)
{
	struct sockets s = connected();
	int epfd = new_repoll_with(s.server), i;
	struct epoll_event events[4];
	char byte;

	assert_false(is_readable(epfd));
	assert_int_equal(rsend(s.client, "x", 1, 0), 1);
	for (i = 0; i < 3; i++) {
		assert_true(is_readable(epfd));
		assert_int_equal(ready(epfd, POLLIN), POLLIN);
		assert_int_equal(repoll_wait(epfd, events, 4, 0), 1);
	}
	assert_int_equal(rrecv(s.server, &byte, 1, 0), 1);
	assert_int_equal(repoll_wait(epfd, events, 4, 0), 0);
	assert_false(is_readable(epfd));
	assert_int_equal(rclose(epfd), 0);
	close_all(&s);
}

SOCKET_TEST(listener_can_be_polled)
{
	struct sockets s = { .listener = new_listener(NULL), .client = new_socket() };

	assert_false(is_readable(s.listener));
	assert_int_equal(rconnect(s.client, addr4(HERE, PORT), sizeof(struct sockaddr_in)), 0);
	flush_service();
	assert_true(is_readable(s.listener));
	s.server = raccept(s.listener, NULL, NULL);
	assert_true(s.server >= 0);
	assert_false(is_readable(s.listener));
	close_all(&s);
}

/* The descriptors of a stream that the program does not know are above those that it knows. */
static void expect_high(int fd)
{
	struct rcl_stream *s = rcl_stream_of(rcl_sock_get(fd));

	assert_in_range(s->events->channel->fd, HIGH, 8192);
	if (s->comp)
		assert_in_range(s->comp->fd, HIGH, 8192);
	else
		assert_in_range(s->events->eventfd, HIGH, 8192);
	rcl_sock_put(&s->sock);
}

SOCKET_TEST(program_has_a_number_for_each_socket)
{
	struct sockets s = connected();

	expect_high(s.listener);
	expect_high(s.client);
	expect_high(s.server);
	assert_true(s.listener < HIGH && s.client < HIGH && s.server < HIGH);
	close_all(&s);
}

SOCKET_TEST(sockets_of_librspreload_are_high)
{
	struct sockets s = { .listener = rsocket(AF_INET, SOCK_STREAM | RCL_INTERNAL, 0) };
	int epfd = repoll_create(RCL_INTERNAL);

	assert_int_equal(rbind(s.listener, addr4(HERE, PORT), sizeof(struct sockaddr_in)), 0);
	assert_int_equal(rlisten(s.listener, 4), 0);
	s.client = rsocket(AF_INET, SOCK_STREAM | RCL_INTERNAL, 0);
	assert_int_equal(rconnect(s.client, addr4(HERE, PORT), sizeof(struct sockaddr_in)), 0);
	s.server = raccept(s.listener, NULL, NULL);
	assert_true(s.listener >= HIGH && s.client >= HIGH && s.server >= HIGH && epfd >= HIGH);
	pass_byte(&s);
	assert_int_equal(rclose(epfd), 0);
	close_all(&s);
}

static int count_fds(void)
{
	int fd, count = 0;

	for (fd = 0; fd < 4096; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

/* The next one with its number ends it: at most one is left behind. */
SOCKET_TEST(repolls_that_are_closed_with_close_are_not_left)
{
	int before = 0, i;

	for (i = 0; i < 10; i++) {
		assert_int_equal(close(repoll_create(0)), 0);
		if (!i)
			before = count_fds();
	}
	assert_int_equal(count_fds(), before);
	assert_int_equal(rclose(repoll_create(0)), 0);
}

SOCKET_TEST(peer_of_a_socket_that_is_closed_with_close_learns_it)
{
	struct sockets s = connected();
	char byte;
	int fd;

	assert_int_equal(close(s.client), 0);
	assert_int_equal(ready(s.server, POLLIN), 0);
	fd = new_socket();
	assert_int_equal(fd, s.client);
	assert_int_equal(rrecv(s.server, &byte, 1, 0), 0);
	close_all(&s);
}

/* A program that does not keep to rclose(): raccept() gives it the number of the listener. */
SOCKET_TEST(accepted_socket_may_get_the_number_of_its_listener)
{
	struct sockets s = { .listener = new_listener(NULL), .client = new_socket() };

	assert_int_equal(rconnect(s.client, addr4(HERE, PORT), sizeof(struct sockaddr_in)), 0);
	flush_service();
	assert_int_equal(close(s.listener), 0);
	s.server = raccept(s.listener, NULL, NULL);
	assert_int_equal(s.server, s.listener);
	assert_int_equal(rsend(s.server, "x", 1, 0), 1);
	assert_int_equal(rclose(s.client), 0);
	assert_int_equal(rclose(s.server), 0);
}

/* The repoll has the listener, which is in the call. */
SOCKET_TEST(accept_gets_number_of_lost_repoll)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epfd = repoll_create(0), listener = new_listener(NULL), client = new_socket(), server;

	assert_int_equal(repoll_ctl(epfd, EPOLL_CTL_ADD, listener, &event), 0);
	assert_int_equal(rconnect(client, addr4(HERE, PORT), sizeof(struct sockaddr_in)), 0);
	assert_int_equal(repoll_wait(epfd, &event, 1, 1000), 1);
	close(epfd);
	server = raccept(listener, NULL, NULL);
	assert_int_equal(server, epfd);
	assert_int_equal(rclose(server), 0);
	assert_int_equal(rclose(client), 0);
	assert_int_equal(rclose(listener), 0);
}

RUN
