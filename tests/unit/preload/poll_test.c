// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of poll() and select(). */
#include "fixture.h"

#include <time.h>
#include <unistd.h>

#include "signals.h"

static int64_t milliseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

TEST(without_rsockets_libc_waits)
{
	struct timeval none = { 0 };
	struct timespec none_spec = { 0 };
	int pipes[2], pair[2], polls;
	struct pollfd fds[2];
	fd_set set;

	/* There are rsockets, but not among these. */
	connect_pair(pair);
	polls = fake.polls;
	assert_int_equal(pipe(pipes), 0);
	fds[0] = (struct pollfd){ .fd = pipes[0], .events = POLLIN };
	fds[1] = (struct pollfd){ .fd = -1 };
	assert_int_equal(preload_poll(fds, 2, 0), 0);
	assert_int_equal(preload_ppoll(fds, 2, &none_spec, NULL), 0);
	FD_ZERO(&set);
	FD_SET(pipes[0], &set);
	assert_int_equal(preload_select(pipes[0] + 1, &set, NULL, NULL, &none), 0);
	FD_SET(pipes[1], &set);
	assert_int_equal(preload_pselect(pipes[1] + 1, NULL, &set, NULL, &none_spec, NULL), 1);
	assert_int_equal(preload_select(0, NULL, NULL, NULL, &none), 0);
	assert_int_equal(fake.polls, polls);
	close(pipes[0]);
	close(pipes[1]);
	close_pair(pair);
}

TEST(both_kinds_are_waited_for)
{
	int pipes[2], pair[2];
	struct pollfd fds[3];

	connect_pair(pair);
	assert_int_equal(pipe(pipes), 0);
	fds[0] = (struct pollfd){ .fd = pipes[0], .events = POLLIN };
	fds[1] = (struct pollfd){ .fd = pair[0], .events = POLLIN };
	fds[2] = (struct pollfd){ .fd = -1, .events = POLLIN };
	assert_int_equal(preload_poll(fds, 3, 0), 0);
	preload_write(pair[1], "x", 1);
	assert_int_equal(preload___poll_chk(fds, 3, -1, sizeof(fds)), 1);
	assert_int_equal(fds[1].revents, POLLIN);
	assert_int_equal(fds[1].fd, pair[0]);
	assert_int_equal(write(pipes[1], "x", 1), 1);
	assert_int_equal(preload___ppoll_chk(fds, 3, NULL, NULL, sizeof(fds)), 2);
	assert_int_equal(fds[0].revents, POLLIN);
	assert_int_equal(fds[2].revents, 0);
	close(pipes[0]);
	close(pipes[1]);
	close_pair(pair);
}

TEST(timeouts_are_kept)
{
	struct timespec bad = { .tv_nsec = 1000000000 };
	struct timeval left = { .tv_usec = 100000 };
	struct pollfd fds;
	int64_t start;
	int pair[2];
	fd_set set;

	connect_pair(pair);
	fds = (struct pollfd){ .fd = pair[0], .events = POLLIN };
	start = milliseconds();
	/* rpoll() of the fake ends early, as that of librdmacm. */
	assert_int_equal(preload_poll(&fds, 1, 100), 0);
	assert_true(milliseconds() - start >= 100);
	start = milliseconds();
	FD_ZERO(&set);
	FD_SET(pair[0], &set);
	assert_int_equal(preload_select(pair[0] + 1, &set, NULL, NULL, &left), 0);
	assert_true(milliseconds() - start >= 100);
	assert_false(FD_ISSET(pair[0], &set));
	assert_int_equal(left.tv_sec, 0);
	assert_int_equal(left.tv_usec, 0);
	left.tv_sec = 100;
	FD_SET(pair[0], &set);
	preload_write(pair[1], "x", 1);
	assert_int_equal(preload_select(pair[0] + 1, &set, NULL, NULL, &left), 1);
	assert_true(left.tv_sec <= 100 && left.tv_sec > 90);
	assert_int_equal(preload_ppoll(&fds, 1, &bad, NULL), -1);
	assert_int_equal(errno, EINVAL);
	close_pair(pair);
}

TEST(sets_of_select)
{
	int pipes[2], pair[2], high = 1023;
	fd_set in, out, except;

	connect_pair(pair);
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(preload_dup2(pair[0], high), high);
	FD_ZERO(&in);
	FD_ZERO(&out);
	FD_ZERO(&except);
	FD_SET(pipes[0], &in);
	FD_SET(high, &in);
	FD_SET(high, &out);
	FD_SET(pair[1], &except);
	assert_int_equal(preload_select(high + 1, &in, &out, &except, NULL), 1);
	assert_true(FD_ISSET(high, &out));
	assert_false(FD_ISSET(high, &in));
	assert_false(FD_ISSET(pipes[0], &in));
	assert_false(FD_ISSET(pair[1], &except));
	/* What is not below the count is not looked at, and not changed. */
	FD_ZERO(&in);
	FD_SET(pair[0], &in);
	FD_SET(high, &in);
	preload_write(pair[1], "x", 1);
	assert_int_equal(preload_select(high, &in, NULL, NULL, NULL), 1);
	assert_true(FD_ISSET(pair[0], &in));
	/* The end of a connection can be read. */
	preload_shutdown(pair[0], SHUT_RDWR);
	FD_ZERO(&in);
	FD_SET(pair[1], &in);
	assert_int_equal(preload_select(pair[1] + 1, &in, NULL, NULL, NULL), 1);
	/* A descriptor that is closed is an error. */
	FD_SET(pipes[1], &in);
	close(pipes[1]);
	assert_int_equal(preload_select(high, &in, NULL, NULL, NULL), -1);
	assert_int_equal(errno, EBADF);
	preload_close(high);
	close(pipes[0]);
	close_pair(pair);
}

TEST(many_descriptors)
{
	enum { COUNT = 50 };
	struct pollfd fds[COUNT];
	int pair[2], i;

	connect_pair(pair);
	for (i = 0; i < COUNT; i++)
		fds[i] = (struct pollfd){ .fd = pair[i % 2], .events = POLLIN };
	preload_write(pair[0], "x", 1);
	assert_int_equal(preload_poll(fds, COUNT, 1000), COUNT / 2);
	assert_int_equal(fds[COUNT - 1].revents, POLLIN);
	assert_int_equal(fds[COUNT - 2].revents, 0);
	close_pair(pair);
}

TEST(masks_let_signals_in)
{
	const struct timespec limit = { .tv_sec = 10 };
	pthread_t self = pthread_self(), thread;
	sigset_t usr1, none, now;
	struct pollfd fds;
	int pair[2];
	fd_set in;

	connect_pair(pair);
	fds = (struct pollfd){ .fd = pair[0], .events = POLLIN };
	sigemptyset(&none);
	usr1 = block_usr1();
	raise(SIGUSR1);
	assert_int_equal(preload_ppoll(&fds, 1, &limit, &none), -1);
	assert_int_equal(errno, EINTR);
	assert_int_equal(handled, 1);
	FD_ZERO(&in);
	FD_SET(pair[0], &in);
	pthread_create(&thread, NULL, send_signal, &self);
	assert_int_equal(preload_pselect(pair[0] + 1, &in, NULL, NULL, &limit, &none), -1);
	assert_int_equal(errno, EINTR);
	assert_int_equal(handled, 2);
	pthread_join(thread, NULL);
	/* What is ready counts first; the signal stays pending. */
	preload_write(pair[1], "x", 1);
	raise(SIGUSR1);
	assert_int_equal(preload_ppoll(&fds, 1, &limit, &none), 1);
	assert_int_equal(handled, 2);
	pthread_sigmask(SIG_SETMASK, NULL, &now);
	assert_true(sigismember(&now, SIGUSR1));
	pthread_sigmask(SIG_UNBLOCK, &usr1, NULL);
	/* A mask that blocks more keeps the signal until the wait is over. */
	pthread_create(&thread, NULL, send_signal, &self);
	preload_recv(pair[0], &in, 1, 0);
	handled = 0;
	{
		const struct timespec brief = { .tv_nsec = 300000000 };

		assert_int_equal(preload_ppoll(&fds, 1, &brief, &usr1), 0);
	}
	assert_int_equal(handled, 1);
	pthread_join(thread, NULL);
	close_pair(pair);
}

RUN
