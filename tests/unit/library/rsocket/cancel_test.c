// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of pthread_cancel() of threads in calls. A thread that has kept the lock of a socket or a
 * place in its list makes later calls hang or crash; one that has kept a reference, or memory, is
 * a leak, which the sanitizer and the fixture tell.
 */
#include "sockets.h"

#define ROUNDS 20

__attribute__((visibility("default"))) const char *__tsan_default_suppressions(void);

/*
 * ThreadSanitizer does not see the locks that a thread takes after it was cancelled in poll(), as
 * it never leaves the interceptor of that call. Handlers of cancellation are called in rcl_sleep().
 */
const char *__tsan_default_suppressions(void)
{
	return "race:^give_back$\nrace:^rcl_sleep$\n";
}

static struct sockets socks;
static int epfd;

static void *blocked_recv(void *arg)
{
	char byte;

	rrecv(socks.server, &byte, 1, 0);
	return arg;
}

static void *blocked_recv_with_a_timeout(void *arg)
{
	struct timeval limit = { .tv_sec = 100 };
	char byte;

	rsetsockopt(socks.server, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	rrecv(socks.server, &byte, 1, 0);
	return arg;
}

static void *blocked_send(void *arg)
{
	static char data[1 << 20];

	rsend(socks.client, data, sizeof(data), 0);
	return arg;
}

static void *blocked_accept(void *arg)
{
	raccept(socks.listener, NULL, NULL);
	return arg;
}

static void *blocked_poll(void *arg)
{
	struct pollfd pfd[20] = { 0 };
	int i;

	for (i = 0; i < 20; i++)
		pfd[i] = (struct pollfd){ .fd = -1 };
	pfd[3].fd = socks.server;
	pfd[3].events = POLLIN;
	pfd[9].fd = socks.listener;
	pfd[9].events = POLLIN;
	rpoll(pfd, 20, -1);
	return arg;
}

static void *blocked_poll_of_nothing(void *arg)
{
	struct pollfd pfd[20] = { 0 };
	int i;

	for (i = 0; i < 20; i++)
		pfd[i] = (struct pollfd){ .fd = -1 };
	rpoll(pfd, 20, -1);
	return arg;
}

static void *blocked_select(void *arg)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(socks.server, &set);
	rselect(FD_SETSIZE, &set, NULL, NULL, NULL);
	return arg;
}

static void *blocked_repoll(void *arg)
{
	struct epoll_event event;

	repoll_wait(epfd, &event, 1, -1);
	return arg;
}

static void cancel(void *(*call)(void *), void *arg, unsigned int us)
{
	pthread_t thread;
	void *ret;

	assert_int_equal(pthread_create(&thread, NULL, call, arg), 0);
	usleep(us);
	assert_int_equal(pthread_cancel(thread), 0);
	assert_int_equal(pthread_join(thread, &ret), 0);
	assert_ptr_equal(ret, PTHREAD_CANCELED);
}

/* Cancels a call early and late, and then uses what it has used. */
static void cancel_often(void *(*call)(void *))
{
	char byte;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		cancel(call, NULL, i < ROUNDS / 2 ? 0 : 2000);
		assert_int_equal(rsend(socks.client, "x", 1, 0), 1);
		assert_int_equal(rrecv(socks.server, &byte, 1, 0), 1);
	}
}

static void expect_no_reference(int fd)
{
	struct rcl_sock *sock = rcl_sock_get(fd);

	assert_int_equal(atomic_load(&sock->refs), 2);
	assert_null(sock->waiters);
	rcl_sock_put(sock);
}

/* Cancels a call, and then uses all that it has used. */
static void use_after(void *(*call)(void *))
{
	int other = new_socket(), server;

	socks = connected();
	cancel_often(call);
	assert_int_equal(rconnect(other, addr4(HERE, PORT), sizeof(struct sockaddr_in)), 0);
	server = raccept(socks.listener, NULL, NULL);
	assert_true(server >= 0);
	assert_int_equal(rclose(server), 0);
	assert_int_equal(rclose(other), 0);
	expect_no_reference(socks.client);
	expect_no_reference(socks.server);
	expect_no_reference(socks.listener);
	close_all(&socks);
}

SOCKET_TEST(receiver_is_cancelled)
{
	use_after(blocked_recv);
}

SOCKET_TEST(receiver_with_a_timeout_is_cancelled)
{
	use_after(blocked_recv_with_a_timeout);
}

SOCKET_TEST(accepting_thread_is_cancelled)
{
	use_after(blocked_accept);
}

SOCKET_TEST(poller_is_cancelled)
{
	use_after(blocked_poll);
}

SOCKET_TEST(poller_of_nothing_is_cancelled)
{
	use_after(blocked_poll_of_nothing);
}

SOCKET_TEST(selecting_thread_is_cancelled)
{
	use_after(blocked_select);
}

SOCKET_TEST(repoll_is_cancelled)
{
	struct rcl_sock *sock;

	epfd = repoll_create(0);
	assert_true(epfd >= 0);
	use_after(blocked_repoll);
	sock = rcl_sock_get(epfd);
	assert_int_equal(atomic_load(&sock->refs), 2);
	rcl_sock_put(sock);
	assert_int_equal(rclose(epfd), 0);
}

/* Two threads receive; the one that sleeps for the events is cancelled, or the other one. */
SOCKET_TEST(other_receiver_goes_on)
{
	pthread_t first, second;
	void *ret;
	int i;

	socks = connected();
	for (i = 0; i < ROUNDS; i++) {
		assert_int_equal(pthread_create(&first, NULL, blocked_recv, NULL), 0);
		assert_int_equal(pthread_create(&second, NULL, blocked_recv, &socks), 0);
		usleep(2000);
		assert_int_equal(pthread_cancel(first), 0);
		pthread_join(first, &ret);
		assert_ptr_equal(ret, PTHREAD_CANCELED);
		assert_int_equal(rsend(socks.client, "x", 1, 0), 1);
		pthread_join(second, &ret);
		assert_ptr_equal(ret, &socks);
	}
	expect_no_reference(socks.server);
	close_all(&socks);
}

SOCKET_TEST(sender_is_cancelled)
{
	static char data[1 << 20];
	ssize_t got;

	socks = connected();
	cancel(blocked_send, NULL, 2000);
	cancel(blocked_send, NULL, 0);
	do
		got = rrecv(socks.server, data, sizeof(data), MSG_DONTWAIT);
	while (got > 0);
	assert_int_equal(rsend(socks.client, "x", 1, 0), 1);
	assert_int_equal(rrecv(socks.server, data, sizeof(data), 0), 1);
	expect_no_reference(socks.client);
	close_all(&socks);
}

static void *closing(void *arg)
{
	rclose(*(int *)arg);
	return NULL;
}

/* rclose() is no cancellation point: the socket would be lost. */
SOCKET_TEST(close_is_not_cancelled)
{
	unsigned int waiting;
	pthread_t thread;
	void *ret;
	char byte;

	socks = connected();
	fake_wire_hold(fake_wire_qp(0));
	assert_int_equal(rsend(socks.client, "x", 1, 0), 1);
	waiting = fake_wire_waiting(fake_wire_qp(0));
	assert_int_equal(pthread_create(&thread, NULL, closing, &socks.client), 0);
	while (fake_wire_waiting(fake_wire_qp(0)) == waiting)
		usleep(100);
	pthread_cancel(thread);
	usleep(2000);
	fake_wire_release(fake_wire_qp(0));
	pthread_join(thread, &ret);
	assert_null(ret);
	assert_int_equal(rrecv(socks.server, &byte, 1, 0), 1);
	assert_int_equal(rrecv(socks.server, &byte, 1, 0), 0);
	assert_int_equal(rclose(socks.server), 0);
	assert_int_equal(rclose(socks.listener), 0);
}

RUN
