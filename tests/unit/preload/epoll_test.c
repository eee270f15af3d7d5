// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of epoll instances, with and without rsockets. */
#include "fixture.h"

#include <stdio.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "preload/file.h"
#include "signals.h"

static int add_to_epoll(int epfd, int fd, uint32_t events, uint64_t data)
{
	struct epoll_event event = { .events = events, .data.u64 = data };

	return preload_epoll_ctl(epfd, EPOLL_CTL_ADD, fd, &event);
}

/* The data of the one event that there is; 0 if there is none. */
static uint64_t one_event(int epfd, int timeout)
{
	struct epoll_event events[4];
	int n = preload_epoll_wait(epfd, events, 4, timeout);

	assert_true(n == 0 || n == 1);
	return n ? events[0].data.u64 : 0;
}

TEST(instances_without_rsockets_are_libc_s)
{
	int epfd = preload_epoll_create1(EPOLL_CLOEXEC), pipes[2];

	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(add_to_epoll(epfd, pipes[0], EPOLLIN, 7), 0);
	assert_int_equal(one_event(epfd, 0), 0);
	assert_int_equal(write(pipes[1], "x", 1), 1);
	assert_int_equal(one_event(epfd, -1), 7);
	assert_int_equal(preload_epoll_ctl(epfd, EPOLL_CTL_DEL, pipes[0], NULL), 0);
	assert_int_equal(fake.calls, 0);
	preload_close(epfd);
	close(pipes[0]);
	close(pipes[1]);
}

TEST(first_rsocket_keeps_number_and_members)
{
	int epfd = preload_epoll_create1(0), pipes[2], pair[2];
	struct epoll_event events[4];
	char c;

	connect_pair(pair);
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(add_to_epoll(epfd, pipes[0], EPOLLIN, UINT32_MAX), 0);
	assert_int_equal(add_to_epoll(epfd, pair[0], EPOLLIN, 0), 0);
	assert_int_equal(add_to_epoll(epfd, pair[0], EPOLLIN, 0), -1);
	assert_int_equal(errno, EEXIST);
	assert_int_equal(preload_epoll_wait(epfd, events, 4, 0), 0);
	assert_int_equal(write(pipes[1], "x", 1), 1);
	assert_int_equal(one_event(epfd, 1000), UINT32_MAX);
	assert_int_equal(preload_write(pair[1], "x", 1), 1);
	assert_int_equal(preload_epoll_wait(epfd, events, 4, 1000), 2);
	assert_int_equal(preload_epoll_wait(epfd, events, 1, 1000), 1);
	assert_int_equal(read(pipes[0], &c, 1), 1);
	assert_int_equal(preload_epoll_wait(epfd, events, 4, 1000), 1);
	assert_int_equal(events[0].data.u64, 0);
	assert_int_equal(preload_read(pair[0], &c, 1), 1);
	assert_int_equal(preload_epoll_wait(epfd, events, 4, 0), 0);
	preload_close(epfd);
	close_pair(pair);
	close(pipes[0]);
	close(pipes[1]);
}

TEST(members_are_changed_and_removed)
{
	int epfd = preload_epoll_create1(0), pair[2], other[2];
	struct epoll_event event = { .events = EPOLLOUT, .data.u64 = 5 };

	connect_pair(pair);
	connect_pair(other);
	assert_int_equal(preload_epoll_ctl(epfd, EPOLL_CTL_MOD, pair[0], &event), -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(add_to_epoll(epfd, pair[0], EPOLLIN, 4), 0);
	assert_int_equal(one_event(epfd, 0), 0);
	assert_int_equal(preload_epoll_ctl(epfd, EPOLL_CTL_MOD, pair[0], &event), 0);
	assert_int_equal(one_event(epfd, 1000), 5);
	assert_int_equal(preload_epoll_ctl(epfd, EPOLL_CTL_MOD, other[0], &event), -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(preload_epoll_ctl(epfd, 99, pair[0], &event), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(preload_epoll_ctl(epfd, EPOLL_CTL_MOD, pair[0], NULL), -1);
	assert_int_equal(errno, EFAULT);
	assert_int_equal(preload_epoll_ctl(epfd, EPOLL_CTL_DEL, pair[0], NULL), 0);
	assert_int_equal(one_event(epfd, 0), 0);
	assert_int_equal(preload_epoll_ctl(epfd, EPOLL_CTL_DEL, pair[0], NULL), -1);
	assert_int_equal(errno, ENOENT);
	/* A place that is used again has the new data. */
	assert_int_equal(add_to_epoll(epfd, other[0], EPOLLOUT, 6), 0);
	assert_int_equal(one_event(epfd, 0), 6);
	preload_close(epfd);
	close_pair(pair);
	close_pair(other);
}

TEST(wrong_descriptors_are_refused)
{
	int epfd = preload_epoll_create1(0), pair[2];
	struct epoll_event none;

	connect_pair(pair);
	assert_int_equal(add_to_epoll(pair[0], pair[1], EPOLLIN, 1), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(add_to_epoll(STDERR_FILENO, pair[1], EPOLLIN, 1), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(add_to_epoll(-1, pair[1], EPOLLIN, 1), -1);
	assert_int_equal(errno, EBADF);
	assert_int_equal(add_to_epoll(epfd, pair[1], EPOLLIN, 1), 0);
	assert_int_equal(preload_epoll_wait(epfd, &none, 0, 0), -1);
	assert_int_equal(errno, EINVAL);
	preload_close(epfd);
	close_pair(pair);
}

TEST(closed_rsockets_leave)
{
	int epfd = preload_epoll_create1(0), pair[2], copy;

	connect_pair(pair);
	copy = preload_dup(pair[0]);
	assert_int_equal(add_to_epoll(epfd, pair[0], EPOLLOUT, 8), 0);
	preload_close(pair[0]);
	assert_int_equal(one_event(epfd, 0), 8);
	preload_close(copy);
	assert_int_equal(one_event(epfd, 0), 0);
	preload_close(pair[1]);
	preload_close(epfd);
}

TEST(many_rsockets)
{
	enum { COUNT = 40 };
	int epfd = preload_epoll_create1(0), pairs[COUNT][2], i, n, left = COUNT;
	struct epoll_event events[COUNT];
	bool seen[COUNT] = { false };

	for (i = 0; i < COUNT; i++) {
		connect_pair(pairs[i]);
		assert_int_equal(add_to_epoll(epfd, pairs[i][0], EPOLLIN, i), 0);
		preload_write(pairs[i][1], "x", 1);
	}
	while (left) {
		n = preload_epoll_wait(epfd, events, 7, 1000);
		assert_true(n > 0 && n <= 7);
		for (i = 0; i < n; i++) {
			left -= !seen[events[i].data.u64];
			seen[events[i].data.u64] = true;
		}
	}
	preload_close(epfd);
	for (i = 0; i < COUNT; i++)
		close_pair(pairs[i]);
}

/* As many events as the program takes, and those of the kernel among them. */
TEST(crowds_of_both_kinds_share_the_places)
{
	enum { COUNT = 100 };
	int epfd = preload_epoll_create1(0), i, j, n, left = COUNT;
	int pairs[COUNT][2], pipes[COUNT][2];
	struct epoll_event events[2 * COUNT];
	bool seen[COUNT] = { false };

	for (i = 0; i < COUNT; i++) {
		connect_pair(pairs[i]);
		assert_int_equal(add_to_epoll(epfd, pairs[i][0], EPOLLOUT, COUNT), 0);
	}
	assert_int_equal(preload_epoll_wait(epfd, events, 2 * COUNT, 1000), COUNT);
	for (i = 0; i < COUNT; i++) {
		assert_int_equal(pipe(pipes[i]), 0);
		assert_int_equal(write(pipes[i][1], "x", 1), 1);
		assert_int_equal(add_to_epoll(epfd, pipes[i][0], EPOLLIN, i), 0);
	}
	for (i = 0; i < 20; i++) {
		n = preload_epoll_wait(epfd, events, COUNT / 2, 1000);
		assert_in_range(n, COUNT / 4, COUNT / 2);
		for (j = 0; j < n; j++) {
			if (events[j].data.u64 == COUNT || seen[events[j].data.u64])
				continue;
			seen[events[j].data.u64] = true;
			left--;
		}
	}
	assert_int_equal(left, 0);
	for (i = 0; i < COUNT; i++) {
		close(pipes[i][0]);
		close(pipes[i][1]);
		close_pair(pairs[i]);
	}
	preload_close(epfd);
}

struct waiter {
	pthread_t thread;
	int epfd, count;
	uint64_t data;
};

static void *wait_for_one(void *arg)
{
	struct waiter *waiter = arg;
	struct epoll_event events[4];

	waiter->count = preload_epoll_wait(waiter->epfd, events, 4, 10000);
	waiter->data = events[0].data.u64;
	return NULL;
}

/* Threads that sleep in the kernel's instance have to see the rsockets that come then. */
TEST(rsocket_comes_while_others_wait)
{
	struct waiter waiters[3];
	int epfd = preload_epoll_create1(0), pair[2], waits, i;

	connect_pair(pair);
	for (i = 0; i < 3; i++) {
		waiters[i].epfd = epfd;
		pthread_create(&waiters[i].thread, NULL, wait_for_one, &waiters[i]);
	}
	usleep(100000);
	assert_int_equal(add_to_epoll(epfd, pair[0], EPOLLIN, 9), 0);
	/* All of them wait for both then, and do not run meanwhile. */
	for (i = 0, waits = 0; i < 500 && (waits < 3 || waits != fake.repoll_waits); i++) {
		waits = fake.repoll_waits;
		usleep(20000);
	}
	assert_true(waits >= 3);
	assert_int_equal(waits, fake.repoll_waits);
	preload_write(pair[1], "x", 1);
	for (i = 0; i < 3; i++) {
		pthread_join(waiters[i].thread, NULL);
		assert_int_equal(waiters[i].count, 1);
		assert_int_equal(waiters[i].data, 9);
	}
	preload_close(epfd);
	close_pair(pair);
}

TEST(instances_can_be_polled)
{
	int epfd = preload_epoll_create1(0), pair[2];
	struct pollfd polls = { .fd = epfd, .events = POLLIN };

	connect_pair(pair);
	assert_int_equal(add_to_epoll(epfd, pair[0], EPOLLIN, 1), 0);
	assert_int_equal(preload_poll(&polls, 1, 0), 0);
	preload_write(pair[1], "x", 1);
	assert_int_equal(preload_poll(&polls, 1, 1000), 1);
	preload_close(epfd);
	close_pair(pair);
}

TEST(late_failure_moves_to_tcp)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	socklen_t size = sizeof(in);
	int listener = socket(AF_INET, SOCK_STREAM, 0), epfd = preload_epoll_create1(0), fd, peer;
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = 12 };

	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(listener, (struct sockaddr *)&in, sizeof(in)), 0);
	assert_int_equal(listen(listener, 1), 0);
	getsockname(listener, (struct sockaddr *)&in, &size);
	fake.hold_connect = 1;
	fd = preload_socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	preload_connect(fd, (struct sockaddr *)&in, sizeof(in));
	/* The fake's own instance says at once that a socket which is not connected has ended. */
	assert_int_equal(add_to_epoll(epfd, fd, EPOLLOUT, 11), 0);
	fake.late_error = ECONNREFUSED;
	fake.hold_connect = 0;
	assert_int_equal(one_event(epfd, 1000), 11);
	assert_false(rcl_file_known(fd));
	assert_int_equal(preload_epoll_ctl(epfd, EPOLL_CTL_MOD, fd, &event), 0);
	peer = accept(listener, NULL, NULL);
	assert_int_equal(one_event(epfd, 0), 0);
	assert_int_equal(write(peer, "x", 1), 1);
	assert_int_equal(one_event(epfd, 1000), 12);
	close(peer);
	close(listener);
	preload_close(fd);
	preload_close(epfd);
}

static void *read_first(void *arg)
{
	char c = 0;

	assert_int_equal(preload_read(*(int *)arg, &c, 1), 1);
	return NULL;
}

/* RDMAV_FORK_SAFE: what was TCP's in an instance is the rsocket then, and TCP's end is not seen. */
TEST(delayed_connection_moves_to_its_rsocket)
{
	int listener, client, server, epfd = preload_epoll_create1(0);
	pthread_t thread;

	setenv("RDMAV_FORK_SAFE", "1", 1);
	rcl_config_reset();
	listener = new_listener();
	client = new_socket();
	assert_int_equal(preload_connect(client, address(port_of(listener)), ADDRESS_SIZE), 0);
	server = preload_accept(listener, NULL, NULL);
	assert_int_equal(fake.made, 0);
	assert_int_equal(add_to_epoll(epfd, client, EPOLLIN, 3), 0);
	assert_int_equal(pthread_create(&thread, NULL, read_first, &server), 0);
	assert_int_equal(preload_write(client, "x", 1), 1);
	pthread_join(thread, NULL);
	assert_int_equal(one_event(epfd, 10), 0);
	assert_int_equal(preload_write(server, "x", 1), 1);
	assert_int_equal(one_event(epfd, 1000), 3);
	assert_int_equal(preload_epoll_ctl(epfd, EPOLL_CTL_DEL, client, NULL), 0);
	assert_int_equal(one_event(epfd, 0), 0);
	preload_close(epfd);
	preload_close(client);
	preload_close(server);
	preload_close(listener);
}

/* A signal that is blocked but for the wait ends it, whether it comes before or during the wait. */
TEST(masks_let_signals_in)
{
	const struct timespec limit = { .tv_sec = 10 };
	int epfd = preload_epoll_create1(0), pair[2];
	struct epoll_event events[1];
	pthread_t self = pthread_self(), thread;
	sigset_t usr1, none;

	connect_pair(pair);
	assert_int_equal(add_to_epoll(epfd, pair[0], EPOLLIN, 1), 0);
	sigemptyset(&none);
	usr1 = block_usr1();
	raise(SIGUSR1);
	assert_int_equal(preload_epoll_pwait(epfd, events, 1, 10000, &none), -1);
	assert_int_equal(errno, EINTR);
	assert_int_equal(handled, 1);
	pthread_create(&thread, NULL, send_signal, &self);
	assert_int_equal(preload_epoll_pwait2(epfd, events, 1, &limit, &none), -1);
	assert_int_equal(errno, EINTR);
	assert_int_equal(handled, 2);
	pthread_join(thread, NULL);
	/* It stays blocked without a mask, and afterwards. */
	raise(SIGUSR1);
	assert_int_equal(preload_epoll_pwait(epfd, events, 1, 30, NULL), 0);
	assert_int_equal(handled, 2);
	pthread_sigmask(SIG_UNBLOCK, &usr1, NULL);
	assert_int_equal(handled, 3);
	preload_close(epfd);
	close_pair(pair);
}

RUN
