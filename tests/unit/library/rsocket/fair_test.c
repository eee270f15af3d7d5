// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of waiting: nobody is passed over, a time limit is kept, and no call is made in vain. */
#include <sys/resource.h>
#include <sys/syscall.h>

#include "sockets.h"

#define CROWD 100	/* sockets that are always ready */
#define SETTLE_MS 50
#define LIMIT_MS 100
#define LONG_MS 3000	/* with a sanitizer, on a busy machine */
#define HANG_S 20

static atomic_int ppolls;

/* In place of libc's: counts the calls. */
int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask)
{
	struct timespec limit = timeout ? *timeout : (struct timespec){ 0 };

	(void)mask;
	atomic_fetch_add(&ppolls, 1);
	return (int)syscall(SYS_ppoll, fds, count, timeout ? &limit : NULL, NULL, 0);
}

static void add(int epfd, int fd, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.fd = fd };

	assert_int_equal(repoll_ctl(epfd, EPOLL_CTL_ADD, fd, &event), 0);
}

/* A pipe that is readable. */
static void full_pipe(int pipes[2])
{
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(write(pipes[1], "x", 1), 1);
}

/* Two connections over one listener. */
static void connect_two(struct sockets *one, struct sockets *two)
{
	*one = connected();
	*two = (struct sockets){ .client = new_socket() };
	assert_int_equal(rconnect(two->client, addr4(HERE, PORT), sizeof(struct sockaddr_in)), 0);
	two->server = raccept(one->listener, NULL, NULL);
	assert_true(two->server >= 0);
}

static void close_two(struct sockets *one, struct sockets *two)
{
	assert_int_equal(rclose(two->client), 0);
	assert_int_equal(rclose(two->server), 0);
	close_all(one);
}

/* One event at a time: a socket that is always ready, another one with data, and a pipe. */
SOCKET_TEST(one_event_at_a_time_is_of_each_in_turn)
{
	struct sockets one, two;
	struct epoll_event event;
	int epfd = repoll_create(0), pipes[2], seen[3] = { 0 }, i;

	connect_two(&one, &two);
	full_pipe(pipes);
	add(epfd, two.server, EPOLLIN);
	assert_int_equal(repoll_wait(epfd, &event, 1, 0), 0);
	add(epfd, one.client, EPOLLOUT);
	add(epfd, pipes[0], EPOLLIN);
	assert_int_equal(rsend(two.client, "x", 1, 0), 1);
	for (i = 0; i < 300; i++) {
		assert_int_equal(repoll_wait(epfd, &event, 1, -1), 1);
		seen[0] += event.data.fd == one.client;
		seen[1] += event.data.fd == two.server;
		seen[2] += event.data.fd == pipes[0];
	}
	assert_in_range(seen[0], 50, 200);
	assert_in_range(seen[1], 50, 200);
	assert_in_range(seen[2], 50, 200);
	close(pipes[0]);
	close(pipes[1]);
	assert_int_equal(rclose(epfd), 0);
	close_two(&one, &two);
}

/* New data is reported with the next few calls, although all places could be filled without it. */
SOCKET_TEST(crowd_that_is_always_ready_delays_no_one)
{
	struct sockets one, two;
	int epfd = repoll_create(0), pipes[2], fds[CROWD], i, j, count, most;
	struct epoll_event events[CROWD + 2];

	connect_two(&one, &two);
	add(epfd, two.server, EPOLLIN);
	for (i = 0; i < CROWD; i++) {
		fds[i] = new_socket();
		add(epfd, fds[i], EPOLLIN);	/* POLLHUP: not connected */
	}
	for (most = 2; most <= CROWD; most *= 7) {
		bool data = false, pipe_data = false;
		char byte;

		assert_true(repoll_wait(epfd, events, most, 0) > 0);
		full_pipe(pipes);
		add(epfd, pipes[0], EPOLLIN);
		assert_int_equal(rsend(two.client, "x", 1, 0), 1);
		for (i = 0; i < 2 * CROWD / most + 4; i++) {
			count = repoll_wait(epfd, events, most, -1);
			for (j = 0; j < count; j++) {
				data |= events[j].data.fd == two.server;
				pipe_data |= events[j].data.fd == pipes[0];
			}
		}
		assert_true(data && pipe_data);
		assert_int_equal(rrecv(two.server, &byte, 1, 0), 1);
		assert_int_equal(repoll_ctl(epfd, EPOLL_CTL_DEL, pipes[0], NULL), 0);
		close(pipes[0]);
		close(pipes[1]);
	}
	for (i = 0; i < CROWD; i++)
		assert_int_equal(rclose(fds[i]), 0);
	assert_int_equal(rclose(epfd), 0);
	close_two(&one, &two);
}

/* All places are used, and nothing is reported twice by one call. */
SOCKET_TEST(all_places_are_filled_once)
{
	int epfd = repoll_create(0), pipes[20][2], fds[20], seen[1024] = { 0 }, i;
	struct epoll_event events[40];

	for (i = 0; i < 20; i++) {
		fds[i] = new_socket();
		add(epfd, fds[i], EPOLLIN);
		full_pipe(pipes[i]);
		add(epfd, pipes[i][0], EPOLLIN);
	}
	assert_int_equal(repoll_wait(epfd, events, 10, 0), 10);
	/* One place may be needed by the repoll itself. */
	assert_in_range(repoll_wait(epfd, events, 40, 0), 39, 40);
	assert_in_range(repoll_wait(epfd, events, 40, 0), 39, 40);
	for (i = 0; i < 39; i++)
		assert_int_equal(seen[events[i].data.fd]++, 0);
	for (i = 0; i < 20; i++) {
		assert_int_equal(rclose(fds[i]), 0);
		close(pipes[i][0]);
		close(pipes[i][1]);
	}
	assert_int_equal(rclose(epfd), 0);
}

/* A listener with a connection that waits for raccept(). */
static void listen_with_one(int *listener, int *client)
{
	*listener = new_listener(NULL);
	*client = new_socket();
	assert_int_equal(rconnect(*client, addr4(HERE, PORT), sizeof(struct sockaddr_in)), 0);
	while (!ready(*listener, POLLIN))
		usleep(1000);
}

/* The time limit of a wait has been kept, without work meanwhile. */
static void expect_sleep(long long began, long long worked)
{
	assert_in_range(now_ms() - began, LIMIT_MS - 1, LONG_MS);
	assert_true(cpu_ms() - worked < LIMIT_MS / 2);
	alarm(0);
}

SOCKET_TEST(poll_for_something_else_of_a_listener_keeps_its_time)
{
	static const short events[] = { 0, POLLOUT };
	int listener, client;
	size_t i;

	listen_with_one(&listener, &client);
	for (i = 0; i < ARRAY_SIZE(events); i++) {
		struct pollfd pfd = { .fd = listener, .events = events[i] };
		long long began = now_ms(), worked = cpu_ms();

		alarm(HANG_S);
		assert_int_equal(rpoll(&pfd, 1, LIMIT_MS), 0);
		expect_sleep(began, worked);
	}
	assert_int_equal(rclose(client), 0);
	assert_int_equal(rclose(listener), 0);
}

SOCKET_TEST(repoll_of_a_listener_that_is_not_asked_for_sleeps)
{
	static const uint32_t wanted[] = { 0, EPOLLOUT, EPOLLIN | EPOLLONESHOT, EPOLLIN | EPOLLET };
	int listener, client;
	size_t i;

	listen_with_one(&listener, &client);
	for (i = 0; i < ARRAY_SIZE(wanted); i++) {
		int epfd = repoll_create(0);
		struct epoll_event event;
		long long began, worked;

		add(epfd, listener, wanted[i]);
		assert_int_equal(repoll_wait(epfd, &event, 1, 0), !!(wanted[i] & EPOLLIN));
		began = now_ms();
		worked = cpu_ms();
		assert_int_equal(repoll_wait(epfd, &event, 1, LIMIT_MS), 0);
		expect_sleep(began, worked);
		assert_int_equal(rclose(epfd), 0);
	}
	assert_int_equal(rclose(client), 0);
	assert_int_equal(rclose(listener), 0);
}

/* The kernel is asked about its own descriptors only. */
SOCKET_TEST(kernel_is_not_asked_about_rsockets)
{
	struct sockets s = connected();
	struct pollfd pfd[3] = {
		{ .fd = s.server, .events = POLLIN }, { .fd = -1, .revents = POLLIN },
		{ .fd = s.client, .events = POLLIN | POLLOUT },
	};
	int before, pipes[2];

	/* What each end sends when it is connected has arrived. */
	assert_int_equal(rpoll(pfd, 2, SETTLE_MS), 0);
	before = ppolls;
	assert_int_equal(rpoll(pfd, 3, 0), 1);
	assert_int_equal(pfd[1].revents, 0);
	assert_int_equal(rpoll(pfd, 3, -1), 1);
	assert_int_equal(ppolls, before);
	/* It is for a sleep. */
	assert_int_equal(rpoll(pfd, 2, 1), 0);
	assert_int_equal(ppolls, before + 1);
	full_pipe(pipes);
	pfd[1] = (struct pollfd){ .fd = pipes[0], .events = POLLIN };
	assert_int_equal(rpoll(pfd, 3, 0), 2);
	assert_int_equal(pfd[1].revents, POLLIN);
	close(pipes[0]);
	close(pipes[1]);
	close_all(&s);
}

RUN
