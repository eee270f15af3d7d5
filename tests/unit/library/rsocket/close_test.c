// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of the end of streams, with a peer that has stopped: it takes nothing for a while. Those of
 * exit() are in exit_test.c.
 */
#include <sys/wait.h>

#include "rsocket/stream/endpoint.h"
#include "rsocket/stream/post.h"
#include "sockets.h"

/* A connection of which nothing that the client sends arrives, until it is released. */
static struct sockets stopped(bool nonblock)
{
	struct sockets s = connected_as(make_small);

	if (nonblock)
		assert_int_equal(rfcntl(s.client, F_SETFL, O_NONBLOCK), 0);
	fake_wire_hold(fake_wire_qp(0));
	return s;
}

/* Takes all work requests for control messages. */
static void use_up_controls(int fd)
{
	struct rcl_sock *sock = rcl_sock_get(fd);
	struct rcl_stream *s = rcl_stream_of(sock);

	pthread_mutex_lock(&sock->lock);
	rcl_tx_reap(s);
	while (rcl_tx_may_control(s))
		assert_int_equal(rcl_tx_probe(s), 0);
	pthread_mutex_unlock(&sock->lock);
	rcl_sock_put(sock);
}

static void set_linger(int fd, int seconds)
{
	struct linger linger = { .l_onoff = 1, .l_linger = seconds };

	assert_int_equal(rsetsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), 0);
}

/* A call that must not wait has less than this, on a machine that is busy. */
#define AT_ONCE_MS 900

static void close_at_once(int fd)
{
	long long began = now_ms();

	assert_int_equal(rclose(fd), 0);
	assert_true(now_ms() - began < AT_ONCE_MS);
}

static void shut_at_once(int fd, int how)
{
	long long began = now_ms();

	assert_int_equal(rshutdown(fd, how), 0);
	assert_true(now_ms() - began < AT_ONCE_MS);
}

/* A thread: the peer of the client goes on after a while. */
static void *go_on(void *arg)
{
	(void)arg;
	usleep(300000);
	fake_wire_release(fake_wire_qp(0));
	return NULL;
}

static pthread_t start_to_go_on(void)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, go_on, NULL), 0);
	return thread;
}

static void close_rest(const struct sockets *s)
{
	assert_int_equal(rclose(s->server), 0);
	assert_int_equal(rclose(s->listener), 0);
}

/* The service thread has dropped the client. */
static void wait_for_the_end(void)
{
	while (fake_wire_qp(1))
		usleep(1000);
}

/* The peer gets the data, and after it the end. */
static void expect_data_and_end(int fd, size_t count)
{
	char byte;

	for (; count; count--)
		assert_int_equal(rrecv(fd, &byte, 1, 0), 1);
	assert_int_equal(rrecv(fd, &byte, 1, 0), 0);
}

SOCKET_TEST(nonblocking_close_does_not_wait_for_data)
{
	struct sockets s = stopped(true);

	assert_int_equal(rsend(s.client, "all", 3, 0), 3);
	close_at_once(s.client);
	fake_wire_release(fake_wire_qp(0));
	expect_data_and_end(s.server, 3);
	wait_for_the_end();
	close_rest(&s);
}

/* Nor does a blocking one without SO_LINGER, for longer than a moment. */
SOCKET_TEST(close_does_not_wait_for_control_messages)
{
	int nonblock;

	for (nonblock = 0; nonblock < 2; nonblock++) {
		struct sockets s = stopped(nonblock);

		assert_int_equal(rsend(s.client, "all", 3, 0), 3);
		use_up_controls(s.client);
		close_at_once(s.client);
		fake_wire_release(fake_wire_qp(0));
		expect_data_and_end(s.server, 3);
		/* It was DISCONNECT, and not the end of the id, that told it. */
		assert_int_equal(ready(s.server, POLLIN), POLLIN | POLLHUP);
		wait_for_the_end();
		close_rest(&s);
		flush_service();
	}
}

/* Both ends have ended their direction before what this end has sent arrives. */
SOCKET_TEST(data_arrives_after_both_have_shut)
{
	struct sockets s = stopped(true);
	char byte;

	assert_int_equal(rsend(s.client, "all", 3, 0), 3);
	shut_at_once(s.client, SHUT_WR);
	shut_at_once(s.server, SHUT_WR);
	assert_int_equal(ready(s.client, POLLIN), POLLIN | POLLHUP);
	assert_int_equal(rrecv(s.client, &byte, 1, 0), 0);
	assert_int_equal(rsend(s.client, "x", 1, 0), -1);
	assert_int_equal(errno, EPIPE);
	close_at_once(s.client);
	fake_wire_release(fake_wire_qp(0));
	expect_data_and_end(s.server, 3);
	wait_for_the_end();
	close_rest(&s);
}

SOCKET_TEST(nonblocking_shutdown_does_not_wait_for_control_messages)
{
	struct sockets s = stopped(true);
	struct pollfd pfd = { .fd = s.server, .events = POLLIN };

	use_up_controls(s.client);
	shut_at_once(s.client, SHUT_WR);
	assert_fails(EPIPE, rsend(s.client, "x", 1, 0));
	assert_int_equal(ready(s.server, POLLIN), 0);
	fake_wire_release(fake_wire_qp(0));
	/* The program is in no call of the client. */
	assert_int_equal(rpoll(&pfd, 1, 10000), 1);
	expect_data_and_end(s.server, 0);
	close_all(&s);
}

/* What was sent has arrived when rshutdown() returns: the program may end by _exit() now. */
SOCKET_TEST(shutdown_waits_until_all_has_arrived)
{
	int full;

	for (full = 0; full < 2; full++) {
		struct sockets s = stopped(false);
		pthread_t thread;

		assert_int_equal(rsend(s.client, "all", 3, 0), 3);
		if (full)
			use_up_controls(s.client);
		thread = start_to_go_on();
		assert_int_equal(rshutdown(s.client, SHUT_WR), 0);
		assert_int_equal(fake_wire_waiting(fake_wire_qp(0)), 0);
		pthread_join(thread, NULL);
		set_linger(s.client, 0);
		assert_int_equal(rclose(s.client), 0);
		expect_data_and_end(s.server, 3);
		close_rest(&s);
		flush_service();
	}
}

SOCKET_TEST(shutdown_waits_no_longer_than_linger_says)
{
	struct sockets s = stopped(false);
	long long began = now_ms();

	set_linger(s.client, 1);
	assert_int_equal(rshutdown(s.client, SHUT_WR), 0);
	assert_in_range(now_ms() - began, 900, 5000);
	fake_wire_release(fake_wire_qp(0));
	expect_data_and_end(s.server, 0);
	close_all(&s);
}

/* What rshutdown() could not send is a part of what rclose() sends. */
SOCKET_TEST(close_after_a_shutdown_that_waits)
{
	struct sockets s = stopped(true);

	assert_int_equal(rsend(s.client, "x", 1, 0), 1);
	use_up_controls(s.client);
	shut_at_once(s.client, SHUT_WR);
	shut_at_once(s.client, SHUT_RD);
	close_at_once(s.client);
	fake_wire_release(fake_wire_qp(0));
	expect_data_and_end(s.server, 1);
	assert_int_equal(ready(s.server, POLLIN), POLLIN | POLLHUP);
	wait_for_the_end();
	close_rest(&s);
}

/* The service thread does the rest. */
SOCKET_TEST(close_waits_as_long_as_linger_says)
{
	int nonblock, full;

	for (nonblock = 0; nonblock < 2; nonblock++) {
		for (full = 0; full < 2; full++) {
			struct sockets s = stopped(nonblock);
			long long began = now_ms();

			assert_int_equal(rsend(s.client, "x", 1, 0), 1);
			if (full)
				use_up_controls(s.client);
			set_linger(s.client, 1);
			assert_int_equal(rclose(s.client), 0);
			assert_in_range(now_ms() - began, nonblock ? 0 : 900,
					nonblock ? AT_ONCE_MS : 5000);
			fake_wire_release(fake_wire_qp(0));
			expect_data_and_end(s.server, 1);
			wait_for_the_end();
			close_rest(&s);
			flush_service();
		}
	}
}

/* A peer that takes nothing is given up, and does not take what it has for all. */
SOCKET_TEST(peer_that_takes_nothing_is_given_up)
{
	struct sockets s = stopped(false);
	struct rcl_sock *sock = rcl_sock_get(s.client);
	char byte;

	assert_int_equal(rsend(s.client, "all", 3, 0), 3);
	assert_true(fake_wire_deliver(fake_wire_qp(0)));
	close_at_once(s.client);
	pthread_mutex_lock(&sock->lock);
	rcl_stream_of(sock)->linger = 0;
	pthread_mutex_unlock(&sock->lock);
	rcl_sock_put(sock);
	wait_for_the_end();
	assert_int_equal(rrecv(s.server, &byte, 1, 0), 1);
	assert_int_equal(rrecv(s.server, &byte, 1, 0), 1);
	assert_int_equal(rrecv(s.server, &byte, 1, 0), 1);
	assert_fails(ECONNRESET, rrecv(s.server, &byte, 1, 0));
	close_rest(&s);
}

/* The peer gets what was sent before, and an error in place of the end, as with TCP. */
SOCKET_TEST(close_with_unread_data_resets)
{
	struct sockets s = connected();
	char bytes[4];

	assert_int_equal(rsend(s.server, "unread", 6, 0), 6);
	assert_int_equal(rsend(s.client, "all", 3, 0), 3);
	assert_int_equal(rclose(s.client), 0);
	flush_service();
	assert_int_equal(rrecv(s.server, bytes, 4, MSG_WAITALL), 3);	/* keeps the error */
	assert_fails(ECONNRESET, rrecv(s.server, bytes, 1, 0));
	assert_int_equal(rrecv(s.server, bytes, 1, 0), 0);
	close_rest(&s);
}

/* librdmacm may end a connection without DISCONNECT, but only after this end has shut it. */
SOCKET_TEST(end_of_librdmacm_without_disconnect)
{
	int shut;

	for (shut = 0; shut < 2; shut++) {
		struct sockets s = connected();
		struct rcl_sock *sock = rcl_sock_get(s.server);
		char byte;

		rcl_stream_of(sock)->librdmacm = true;
		rcl_sock_put(sock);
		if (shut)
			shut_at_once(s.server, SHUT_WR);
		set_linger(s.client, 0);
		close_at_once(s.client);
		if (shut)
			assert_int_equal(rrecv(s.server, &byte, 1, 0), 0);
		else
			assert_fails(ECONNRESET, rrecv(s.server, &byte, 1, 0));
		close_rest(&s);
		flush_service();
	}
}

/* Otherwise the adapter flushes all receives, for nobody. */
SOCKET_TEST(finished_stream_ends_without_the_error_state)
{
	int nonblock, moves;

	for (nonblock = 0; nonblock < 2; nonblock++) {
		struct sockets s = connected();

		if (nonblock)
			assert_int_equal(rfcntl(s.client, F_SETFL, O_NONBLOCK), 0);
		moves = fake_verbs.moves;
		assert_int_equal(rsend(s.client, "all", 3, 0), 3);
		close_at_once(s.client);
		expect_data_and_end(s.server, 3);
		wait_for_the_end();
		assert_int_equal(fake_verbs.moves, moves);
		close_rest(&s);
		flush_service();
	}
}

SOCKET_TEST(linger_of_no_time_aborts)
{
	int nonblock, moves;
	char byte;

	for (nonblock = 0; nonblock < 2; nonblock++) {
		struct sockets s = stopped(nonblock);

		assert_int_equal(rsend(s.client, "x", 1, 0), 1);
		use_up_controls(s.client);
		set_linger(s.client, 0);
		moves = fake_verbs.moves;
		close_at_once(s.client);
		assert_int_equal(fake_verbs.state[moves], IBV_QPS_ERR);
		assert_fails(ECONNRESET, rrecv(s.server, &byte, 1, 0));
		close_rest(&s);
		flush_service();
	}
}

struct sender {
	int fd;
	const char *data;
	size_t len;
};

/* A thread: returns the result of rsend(). */
static void *send_all(void *arg)
{
	const struct sender *sender = arg;

	return (void *)(intptr_t)rsend(sender->fd, sender->data, sender->len, 0);
}

static bool has_sleeper(struct rcl_sock *sock)
{
	bool has;

	pthread_mutex_lock(&sock->lock);
	has = rcl_stream_of(sock)->sleeper;
	pthread_mutex_unlock(&sock->lock);
	return has;
}

static pthread_t start_receiver(int *fd)
{
	struct rcl_sock *sock = rcl_sock_get(*fd);
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, receive_one, fd), 0);
	while (!has_sleeper(sock))
		usleep(1000);
	rcl_sock_put(sock);
	return thread;
}

static void expect_end_of_receiver(pthread_t thread)
{
	void *result = NULL;

	pthread_join(thread, &result);
	assert_null(result);
}

/* A thread that sleeps in a call returns, however the other one closes. */
SOCKET_TEST(receiver_returns_from_any_close)
{
	static const int seconds[] = { 0, 1 };
	unsigned int i, nonblock;

	for (i = 0; i < ARRAY_SIZE(seconds); i++) {
		for (nonblock = 0; nonblock < 2; nonblock++) {
			struct sockets s = stopped(false);
			pthread_t thread = start_receiver(&s.client);

			use_up_controls(s.client);
			set_linger(s.client, seconds[i]);
			if (nonblock)
				assert_int_equal(rfcntl(s.client, F_SETFL, O_NONBLOCK), 0);
			assert_int_equal(rclose(s.client), 0);
			expect_end_of_receiver(thread);
			if (seconds[i])
				fake_wire_release(fake_wire_qp(0));
			wait_for_the_end();
			close_rest(&s);
			flush_service();
		}
	}
}

/* Also if the host of the peer is silent. */
SOCKET_TEST(receiver_returns_from_any_shutdown)
{
	static const int how[] = { SHUT_RD, SHUT_RDWR };
	unsigned int i, full;

	for (i = 0; i < ARRAY_SIZE(how); i++) {
		for (full = 0; full < 2; full++) {
			struct sockets s = stopped(false);
			pthread_t thread = start_receiver(&s.client);

			if (full)
				use_up_controls(s.client);
			assert_int_equal(rfcntl(s.client, F_SETFL, O_NONBLOCK), 0);
			shut_at_once(s.client, how[i]);
			expect_end_of_receiver(thread);
			fake_wire_release(fake_wire_qp(0));
			close_all(&s);
			flush_service();
		}
	}
}

/* A sender is woken in vain, and more than once. */
SOCKET_TEST(sender_that_is_woken_goes_on)
{
	struct sockets s = stopped(false);
	static char data[100000], got[sizeof(data)];
	struct rcl_sock *sock = rcl_sock_get(s.client);
	struct sender sender = { s.client, data, sizeof(data) };
	pthread_t thread;
	void *sent;
	int i;

	assert_int_equal(pthread_create(&thread, NULL, send_all, &sender), 0);
	for (i = 0; i < 3; i++) {
		while (!has_sleeper(sock))
			usleep(1000);
		pthread_mutex_lock(&sock->lock);
		assert_true(rcl_endpoint_wake(rcl_stream_of(sock)));
		pthread_mutex_unlock(&sock->lock);
		usleep(10000);
	}
	rcl_sock_put(sock);
	fake_wire_release(fake_wire_qp(0));
	assert_int_equal(rrecv(s.server, got, sizeof(got), MSG_WAITALL), sizeof(got));
	pthread_join(thread, &sent);
	assert_int_equal((intptr_t)sent, sizeof(data));
	close_all(&s);
}

/* A thread: returns the errno of raccept(). */
static void *accept_one(void *arg)
{
	return (void *)(intptr_t)(raccept(*(int *)arg, NULL, NULL) < 0 ? errno : 0);
}

SOCKET_TEST(shutdown_ends_a_listener)
{
	int fd = new_listener(NULL), client = new_socket();
	struct rcl_sock *sock = rcl_sock_get(fd);
	bool waits = false;
	pthread_t thread;
	void *err;

	assert_int_equal(rshutdown(fd, SHUT_WR), 0);
	assert_int_equal(pthread_create(&thread, NULL, accept_one, &fd), 0);
	while (!waits) {
		usleep(1000);
		pthread_mutex_lock(&sock->lock);
		waits = sock->waiters;
		pthread_mutex_unlock(&sock->lock);
	}
	rcl_sock_put(sock);
	shut_at_once(fd, SHUT_RD);
	pthread_join(thread, &err);
	assert_int_equal((intptr_t)err, EINVAL);
	assert_fails(EINVAL, raccept(fd, NULL, NULL));
	assert_fails(ECONNREFUSED, rconnect(client, addr4(HERE, PORT),
					    sizeof(struct sockaddr_in)));
	assert_true(ready(fd, POLLIN) & POLLHUP);
	assert_int_equal(rclose(client), 0);
	assert_int_equal(rclose(fd), 0);
}

/* The request gets lost, so the connect takes its time. */
SOCKET_TEST(close_does_not_wait_for_a_connect)
{
	int nonblock;

	for (nonblock = 0; nonblock < 2; nonblock++) {
		int fd = new_socket();
		pthread_t thread;
		void *result;

		fake_cm.silent = true;
		fake.calls[FAKE(CONNECT)] = 0;
		if (nonblock)
			assert_int_equal(rfcntl(fd, F_SETFL, O_NONBLOCK), 0);
		assert_int_equal(pthread_create(&thread, NULL, connect_one, &fd), 0);
		wait_for_request();
		close_at_once(fd);
		pthread_join(thread, &result);
		assert_int_not_equal((intptr_t)result, 0);
		flush_service();
	}
}

/* The end of a process waits for its service thread; a child of fork() has none. */
SOCKET_TEST(child_does_not_wait_for_what_its_parent_sends)
{
	struct sockets s = stopped(true);
	long long began;
	int status = -1;
	pid_t child;

	assert_int_equal(rsend(s.client, "all", 3, 0), 3);
	close_at_once(s.client);
	began = now_ms();
	child = fork();
	if (!child) {
		/* The leak checker misses the threads of the parent, and may complain. */
		close(STDERR_FILENO);
		exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_true(now_ms() - began < 5000);
	fake_wire_release(fake_wire_qp(0));
	expect_data_and_end(s.server, 3);
	wait_for_the_end();
	close_rest(&s);
}

RUN
