// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of the end of a process with streams that it has not closed. Each is in a child, which is
 * made before there are threads: the thread sanitizer allows no new ones after fork() otherwise.
 */
#include <sys/wait.h>

#include "sockets.h"

#define WAIT_US 300000

static int watched = -1;
static bool all_arrives;

/* After the destructors of the library: has all arrived, and its end? */
__attribute__((destructor(101))) static void look_at_exit(void)
{
	char bytes[3];
	ssize_t got;

	if (watched < 0)
		return;
	got = rrecv(watched, bytes, 3, MSG_DONTWAIT);
	if (all_arrives)
		_exit(got != 3 || rrecv(watched, bytes, 1, MSG_DONTWAIT));
	_exit(got != -1);
}

/* A connection whose server is watched: it is in another process, as it were. */
static struct sockets connected_at_exit(void)
{
	struct linger none = { .l_onoff = 1 };
	struct sockets s = connected();

	alarm(20);
	fake_wire_hold(fake_wire_qp(0));
	rsetsockopt(s.server, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
	if (rsend(s.client, "all", 3, 0) != 3)
		_exit(2);
	watched = s.server;
	return s;
}

static void expect_of_child(void (*work)(void))
{
	int status = -1;
	pid_t child = fork();

	if (!child) {
		work();
		exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void *go_on(void *arg)
{
	(void)arg;
	usleep(WAIT_US);
	fake_wire_release(fake_wire_qp(0));
	return NULL;
}

static void go_on_later(void)
{
	pthread_t thread;

	all_arrives = true;
	pthread_create(&thread, NULL, go_on, NULL);
	pthread_detach(thread);
}

static void end_before_all_is_sent(void)
{
	connected_at_exit();
	go_on_later();
}

PAIR_TEST(exit_sends_what_waits)
{
	expect_of_child(end_before_all_is_sent);
}

static void end_nonblocking(void)
{
	struct sockets s = connected_at_exit();

	rfcntl(s.client, F_SETFL, O_NONBLOCK);
	go_on_later();
}

PAIR_TEST(exit_waits_for_nonblocking_sockets)
{
	expect_of_child(end_nonblocking);
}

static void end_with_linger(void)
{
	struct linger none = { .l_onoff = 1 };
	struct sockets s = connected_at_exit();

	rsetsockopt(s.client, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
}

/* A socket that would be reset by rclose() is not waited for. */
PAIR_TEST(exit_does_not_wait_for_resets)
{
	long long began = now_ms();

	expect_of_child(end_with_linger);
	assert_true(now_ms() - began < 5000);
}

static struct rcl_sock *locked;

static void end_with_lock(void)
{
	struct sockets s = connected_at_exit();

	locked = rcl_sock_get(s.client);
	watched = -1;
	pthread_mutex_lock(&locked->lock);
	/* No checks of the sanitizers, for which the lock is held at the end. */
}

/* As if a signal handler that has interrupted a call had called exit(). */
PAIR_TEST(exit_does_not_wait_for_a_lock)
{
	long long began = now_ms();
	int status = -1;
	pid_t child = fork();

	if (!child) {
		close(STDERR_FILENO);
		end_with_lock();
		exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_true(now_ms() - began < 5000);
}

RUN
