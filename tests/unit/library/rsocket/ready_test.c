// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of waiting for rsockets: rpoll(), rselect() and the repoll calls. */
#include <sys/select.h>

#include "sockets.h"

#define MANY 200

SOCKET_TEST(new_connection_may_be_written_to)
{
	struct sockets s = connected();

	assert_int_equal(ready(s.client, POLLIN | POLLOUT), POLLOUT);
	assert_int_equal(ready(s.listener, POLLIN | POLLOUT), 0);
	assert_int_equal(rsend(s.client, "x", 1, 0), 1);
	assert_int_equal(ready(s.server, POLLIN | POLLOUT), POLLIN | POLLOUT);
	close_all(&s);
}

SOCKET_TEST(timeout_lasts_as_long_as_it_says)
{
	struct sockets s = connected();
	struct pollfd pfd = { .fd = s.server, .events = POLLIN };
	long long began = now_ms();

	assert_int_equal(rpoll(&pfd, 1, 100), 0);
	assert_true(now_ms() - began >= 99);
	close_all(&s);
}

struct later {
	int fd;
	const char *what;
};

/* Does something after the other thread has begun to wait. */
static void *do_later(void *arg)
{
	struct later *later = arg;

	usleep(20000);
	if (!strcmp(later->what, "send"))
		rsend(later->fd, "x", 1, 0);
	else if (!strcmp(later->what, "write"))
		(void)!write(later->fd, "x", 1);
	else if (!strcmp(later->what, "close"))
		rclose(later->fd);
	else
		rconnect(later->fd, addr4(HERE, PORT), sizeof(struct sockaddr_in));
	return NULL;
}

static pthread_t start(struct later *later)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, do_later, later), 0);
	return thread;
}

SOCKET_TEST(waiting_poll_is_woken)
{
	struct sockets s = connected();
	struct later later = { s.client, "send" };
	struct pollfd pfd = { .fd = s.server, .events = POLLIN };
	pthread_t thread = start(&later);

	assert_int_equal(rpoll(&pfd, 1, -1), 1);
	assert_int_equal(pfd.revents, POLLIN);
	pthread_join(thread, NULL);
	close_all(&s);
}

/* One thread receives, another one waits for the same socket: neither misses what is for it. */
SOCKET_TEST(poll_beside_a_receiver_is_woken)
{
	struct sockets s = connected();
	struct later later = { s.client, "send" };
	struct pollfd pfd = { .fd = s.server, .events = POLLIN };
	pthread_t thread;
	char byte;
	int i;

	for (i = 0; i < 20; i++) {
		thread = start(&later);
		assert_int_equal(rrecv(s.server, &byte, 1, 0), 1);
		pthread_join(thread, NULL);
		thread = start(&later);
		assert_int_equal(rpoll(&pfd, 1, -1), 1);
		assert_int_equal(rrecv(s.server, &byte, 1, MSG_DONTWAIT), 1);
		pthread_join(thread, NULL);
	}
	close_all(&s);
}

SOCKET_TEST(poller_of_a_listener_is_woken_at_once)
{
	int listener = new_listener(NULL), client = new_socket(), server;
	struct later later = { client, "connect" };
	struct pollfd pfd = { .fd = listener, .events = POLLIN };
	pthread_t thread = start(&later);

	assert_int_equal(rpoll(&pfd, 1, -1), 1);
	assert_int_equal(pfd.revents, POLLIN);
	server = raccept(listener, NULL, NULL);
	assert_true(server >= 0);
	pthread_join(thread, NULL);
	assert_int_equal(rclose(client), 0);
	assert_int_equal(rclose(server), 0);
	assert_int_equal(rclose(listener), 0);
}

SOCKET_TEST(other_descriptors_are_polled_too)
{
	struct sockets s = connected();
	struct pollfd pfd[3] = { { .fd = s.server, .events = POLLIN } };
	struct later later = { 0, "write" };
	pthread_t thread;
	int pipes[2];

	assert_int_equal(pipe(pipes), 0);
	pfd[1] = (struct pollfd){ .fd = pipes[0], .events = POLLIN };
	pfd[2] = (struct pollfd){ .fd = -1, .events = POLLIN };
	later.fd = pipes[1];
	thread = start(&later);
	assert_int_equal(rpoll(pfd, 3, -1), 1);
	assert_int_equal(pfd[0].revents, 0);
	assert_int_equal(pfd[1].revents, POLLIN);
	pthread_join(thread, NULL);
	close(pipes[0]);
	close(pipes[1]);
	close_all(&s);
}

static void send_all_that_goes(int fd)
{
	static char data[4096];

	while (rsend(fd, data, sizeof(data), MSG_DONTWAIT) > 0)
		;
}

/* POLLRDHUP as soon as the peer sends no more, POLLHUP when nothing can be read or sent. */
SOCKET_TEST(ends_are_told_as_by_tcp)
{
	const short all = POLLIN | POLLOUT | POLLRDHUP;
	int epfd = repoll_create(0), both;
	struct epoll_event event;
	char byte;

	for (both = 0; both < 2; both++) {
		struct sockets s = connected();

		event = (struct epoll_event){ .events = EPOLLRDHUP };
		assert_int_equal(repoll_ctl(epfd, EPOLL_CTL_ADD, s.server, &event), 0);
		assert_int_equal(rsend(s.client, "x", 1, 0), 1);
		assert_int_equal(ready(s.server, all), POLLIN | POLLOUT);
		assert_int_equal(repoll_wait(epfd, &event, 1, 0), 0);
		assert_int_equal(rshutdown(s.client, both ? SHUT_RDWR : SHUT_WR), 0);
		assert_int_equal(repoll_wait(epfd, &event, 1, -1), 1);
		assert_int_equal(event.events, EPOLLRDHUP);
		assert_int_equal(ready(s.server, all), all);
		assert_int_equal(rrecv(s.server, &byte, 1, 0), 1);
		assert_int_equal(ready(s.server, all), both ? all | POLLHUP : all);
		assert_int_equal(rshutdown(s.server, SHUT_WR), 0);
		assert_int_equal(ready(s.server, all), all | POLLHUP);
		close_all(&s);
	}
	assert_int_equal(rclose(epfd), 0);
}

/* This end sends no more, and the peer has ended: over, even if data is left. */
SOCKET_TEST(both_ends_shut_is_a_hangup_beside_data)
{
	struct sockets s = connected();

	assert_int_equal(rsend(s.client, "x", 1, 0), 1);
	assert_int_equal(rshutdown(s.server, SHUT_WR), 0);
	assert_int_equal(ready(s.server, POLLIN), POLLIN);
	assert_int_equal(rclose(s.client), 0);
	assert_int_equal(ready(s.server, POLLIN), POLLIN | POLLHUP);
	assert_int_equal(rclose(s.server), 0);
	assert_int_equal(rclose(s.listener), 0);
}

/* SO_RCVLOWAT holds for waits and for calls that may wait; the end is always told. */
SOCKET_TEST(least_number_of_bytes_is_waited_for)
{
	struct sockets s = connected();
	struct later later = { s.client, "send" };
	struct pollfd pfd = { .fd = s.server, .events = POLLIN };
	pthread_t thread;
	char buf[8];

	assert_int_equal(get_int(s.server, SOL_SOCKET, SO_RCVLOWAT), 1);
	set_int(s.server, SOL_SOCKET, SO_RCVLOWAT, 3);
	assert_int_equal(get_int(s.server, SOL_SOCKET, SO_RCVLOWAT), 3);
	assert_int_equal(rsend(s.client, "ab", 2, 0), 2);
	assert_int_equal(ready(s.server, POLLIN), 0);
	thread = start(&later);
	assert_int_equal(rpoll(&pfd, 1, 10000), 1);
	pthread_join(thread, NULL);
	assert_int_equal(rrecv(s.server, buf, 1, 0), 1);
	thread = start(&later);
	assert_int_equal(rrecv(s.server, buf, sizeof(buf), 0), 3);
	pthread_join(thread, NULL);
	assert_int_equal(rsend(s.client, "ab", 2, 0), 2);
	assert_int_equal(rrecv(s.server, buf, sizeof(buf), MSG_DONTWAIT), 2);
	/* More than the buffer can hold. The first look grants the credits for all of it. */
	set_int(s.server, SOL_SOCKET, SO_RCVLOWAT, -1);
	send_all_that_goes(s.client);
	if (!ready(s.server, POLLIN))
		send_all_that_goes(s.client);
	assert_int_equal(ready(s.server, POLLIN), POLLIN);
	close_all(&s);
}

SOCKET_TEST(end_is_told_below_the_least_number_of_bytes)
{
	struct sockets s = connected();
	char buf[8];

	set_int(s.server, SOL_SOCKET, SO_RCVLOWAT, 3);
	assert_int_equal(rsend(s.client, "ab", 2, 0), 2);
	assert_int_equal(rclose(s.client), 0);
	assert_int_equal(ready(s.server, POLLIN), POLLIN);
	assert_int_equal(rrecv(s.server, buf, sizeof(buf), 0), 2);
	assert_int_equal(rclose(s.server), 0);
	assert_int_equal(rclose(s.listener), 0);
}

/* SHUT_RD of this end is told in the same way, without a message to the peer. */
SOCKET_TEST(own_end_of_reading_is_told)
{
	struct sockets s = connected();

	assert_int_equal(rshutdown(s.server, SHUT_RD), 0);
	assert_int_equal(ready(s.server, POLLIN | POLLRDHUP), POLLIN | POLLRDHUP);
	assert_int_equal(ready(s.client, POLLIN | POLLRDHUP), 0);
	close_all(&s);
}

SOCKET_TEST(sets_of_select_are_those_of_poll)
{
	struct sockets s = connected();
	struct timeval none = { 0 };
	fd_set reads, writes;

	FD_ZERO(&reads);
	FD_ZERO(&writes);
	FD_SET(s.server, &reads);
	FD_SET(s.client, &writes);
	assert_int_equal(rselect(FD_SETSIZE, &reads, &writes, NULL, &none), 1);
	assert_false(FD_ISSET(s.server, &reads));
	assert_true(FD_ISSET(s.client, &writes));
	close_all(&s);
}

static int wait_one(int epfd, struct epoll_event *event, int timeout)
{
	return repoll_wait(epfd, event, 1, timeout);
}

static void add_to_epoll(int epfd, int fd, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.fd = fd };

	assert_int_equal(repoll_ctl(epfd, EPOLL_CTL_ADD, fd, &event), 0);
}

SOCKET_TEST(level_is_told_as_long_as_it_is_true)
{
	struct sockets s = connected();
	int epfd = repoll_create(0);
	struct epoll_event event;
	char byte;
	int i;

	assert_true(epfd >= 0);
	add_to_epoll(epfd, s.server, EPOLLIN);
	assert_int_equal(wait_one(epfd, &event, 0), 0);
	assert_int_equal(rsend(s.client, "x", 1, 0), 1);
	for (i = 0; i < 3; i++) {
		assert_int_equal(wait_one(epfd, &event, -1), 1);
		assert_int_equal(event.events, EPOLLIN);
		assert_int_equal(event.data.fd, s.server);
	}
	assert_int_equal(rrecv(s.server, &byte, 1, 0), 1);
	assert_int_equal(wait_one(epfd, &event, 1), 0);
	assert_int_equal(rclose(epfd), 0);
	close_all(&s);
}

SOCKET_TEST(edge_is_told_once)
{
	struct sockets s = connected();
	int epfd = repoll_create(EPOLL_CLOEXEC);
	struct epoll_event event;

	add_to_epoll(epfd, s.server, EPOLLIN | EPOLLET);
	assert_int_equal(rsend(s.client, "x", 1, 0), 1);
	assert_int_equal(wait_one(epfd, &event, -1), 1);
	assert_int_equal(wait_one(epfd, &event, 1), 0);
	assert_int_equal(rsend(s.client, "y", 1, 0), 1);
	assert_int_equal(wait_one(epfd, &event, -1), 1);
	assert_int_equal(wait_one(epfd, &event, 1), 0);
	assert_int_equal(rclose(epfd), 0);
	close_all(&s);
}

SOCKET_TEST(oneshot_is_told_again_after_a_change)
{
	struct sockets s = connected();
	int epfd = repoll_create(0);
	struct epoll_event event;

	add_to_epoll(epfd, s.client, EPOLLOUT | EPOLLONESHOT);
	assert_int_equal(wait_one(epfd, &event, -1), 1);
	assert_int_equal(wait_one(epfd, &event, 1), 0);
	event = (struct epoll_event){ .events = EPOLLOUT | EPOLLONESHOT, .data.fd = 5 };
	assert_int_equal(repoll_ctl(epfd, EPOLL_CTL_MOD, s.client, &event), 0);
	assert_int_equal(wait_one(epfd, &event, -1), 1);
	assert_int_equal(event.data.fd, 5);
	assert_int_equal(rclose(epfd), 0);
	close_all(&s);
}

SOCKET_TEST(waiting_repoll_is_woken)
{
	static const char *const actions[] = { "send", "close" };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(actions); i++) {
		struct sockets s = connected();
		int epfd = repoll_create(0);
		struct later later = { s.client, actions[i] };
		struct epoll_event event;
		pthread_t thread;

		add_to_epoll(epfd, s.server, EPOLLIN);
		thread = start(&later);
		assert_int_equal(wait_one(epfd, &event, -1), 1);
		assert_int_equal(event.events & EPOLLIN, EPOLLIN);
		pthread_join(thread, NULL);
		assert_int_equal(rclose(epfd), 0);
		if (i)
			s.client = new_socket();
		close_all(&s);
	}
}

SOCKET_TEST(closed_socket_leaves_its_repoll)
{
	struct sockets s = connected();
	int epfd = repoll_create(0);
	struct epoll_event event;

	add_to_epoll(epfd, s.client, EPOLLOUT);
	assert_int_equal(rclose(s.client), 0);
	assert_int_equal(wait_one(epfd, &event, 0), 0);
	/* The next socket has the same number. */
	s.client = new_socket();
	add_to_epoll(epfd, s.client, EPOLLOUT);
	assert_int_equal(wait_one(epfd, &event, 0), 1);
	assert_int_equal(repoll_ctl(epfd, EPOLL_CTL_DEL, s.client, NULL), 0);
	assert_fails(ENOENT, repoll_ctl(epfd, EPOLL_CTL_DEL, s.client, NULL));
	assert_int_equal(rclose(epfd), 0);
	close_all(&s);
}

SOCKET_TEST(wrong_operations_are_errors)
{
	struct epoll_event event = { .events = EPOLLIN };
	struct sockets s = connected();
	int epfd = repoll_create(0);

	assert_fails(EINVAL, repoll_create(~0));
	add_to_epoll(epfd, s.server, EPOLLIN);
	assert_fails(EEXIST, repoll_ctl(epfd, EPOLL_CTL_ADD, s.server, &event));
	assert_fails(ENOENT, repoll_ctl(epfd, EPOLL_CTL_MOD, s.client, &event));
	assert_fails(EINVAL, repoll_ctl(epfd, 99, s.server, &event));
	assert_fails(EINVAL, repoll_ctl(epfd, EPOLL_CTL_ADD, epfd, &event));
	assert_fails(EBADF, repoll_ctl(-1, EPOLL_CTL_ADD, s.server, &event));
	assert_fails(EBADF, repoll_ctl(epfd, EPOLL_CTL_ADD, -1, &event));
	assert_fails(EBADF, repoll_ctl(epfd, EPOLL_CTL_ADD, 1 << 30, &event));
	assert_fails(ENOENT, repoll_ctl(epfd, EPOLL_CTL_MOD, -1, &event));
	assert_fails(ENOENT, repoll_ctl(epfd, EPOLL_CTL_DEL, -1, NULL));
	assert_fails(EINVAL, repoll_ctl(s.server, EPOLL_CTL_ADD, s.client, &event));
	assert_fails(EINVAL, repoll_wait(epfd, &event, 0, 0));
	assert_fails(ENOTSOCK, rsend(epfd, "x", 1, 0));
	assert_int_equal(rclose(epfd), 0);
	close_all(&s);
}

SOCKET_TEST(plain_descriptors_and_sockets_share_a_repoll)
{
	struct sockets s = connected();
	int epfd = repoll_create(0), pipes[2];
	struct epoll_event events[4];

	assert_int_equal(pipe(pipes), 0);
	add_to_epoll(epfd, pipes[0], EPOLLIN);
	add_to_epoll(epfd, s.server, EPOLLIN);
	assert_int_equal(write(pipes[1], "x", 1), 1);
	assert_int_equal(rsend(s.client, "x", 1, 0), 1);
	assert_int_equal(repoll_wait(epfd, events, 4, -1), 2);
	assert_int_equal(events[0].data.fd + events[1].data.fd, pipes[0] + s.server);
	close(pipes[0]);
	close(pipes[1]);
	assert_int_equal(rclose(epfd), 0);
	close_all(&s);
}

SOCKET_TEST(many_listeners_are_in_one_repoll)
{
	int epfd = repoll_create(0), fds[MANY], i;
	struct epoll_event event;

	for (i = 0; i < MANY; i++) {
		fds[i] = new_socket();
		add_to_epoll(epfd, fds[i], EPOLLIN);
	}
	assert_int_equal(wait_one(epfd, &event, 1), 1);
	assert_int_equal(event.events, EPOLLHUP);
	for (i = 0; i < MANY; i++)
		assert_int_equal(rclose(fds[i]), 0);
	assert_int_equal(wait_one(epfd, &event, 1), 0);
	assert_int_equal(rclose(epfd), 0);
}

RUN
