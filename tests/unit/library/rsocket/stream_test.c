// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of rsockets that are connected: data, its limits, and the end of each direction. */
#include <signal.h>

#include "fake/fake_cq.h"
#include "fake/fake_fabric.h"
#include "sockets.h"

#define MEGABYTE 1048576

SOCKET_TEST(bytes_arrive_in_both_directions)
{
	struct sockets s = connected();
	char buf[16];

	assert_int_equal(rsend(s.client, "hello", 5, 0), 5);
	assert_int_equal(rrecv(s.server, buf, sizeof(buf), 0), 5);
	assert_memory_equal(buf, "hello", 5);
	assert_int_equal(rwrite(s.server, "hi", 2), 2);
	assert_int_equal(rread(s.client, buf, sizeof(buf)), 2);
	assert_memory_equal(buf, "hi", 2);
	close_all(&s);
}

SOCKET_TEST(empty_stream_is_eagain)
{
	struct sockets s = connected();
	char buf[4];

	assert_fails(EAGAIN, rrecv(s.server, buf, sizeof(buf), MSG_DONTWAIT));
	assert_int_equal(rfcntl(s.server, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(rfcntl(s.server, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
	assert_fails(EAGAIN, rrecv(s.server, buf, sizeof(buf), 0));
	close_all(&s);
}

SOCKET_TEST(peeked_bytes_stay)
{
	struct sockets s = connected();
	char buf[8];

	assert_int_equal(rsend(s.client, "abcd", 4, 0), 4);
	assert_int_equal(rrecv(s.server, buf, 2, MSG_PEEK), 2);
	assert_int_equal(rrecv(s.server, buf, 8, MSG_PEEK), 4);
	assert_memory_equal(buf, "abcd", 4);
	assert_int_equal(rrecv(s.server, buf, 3, 0), 3);
	assert_int_equal(rrecv(s.server, buf, 8, 0), 1);
	assert_int_equal(buf[0], 'd');
	close_all(&s);
}

SOCKET_TEST(vectors_are_filled_one_after_the_other)
{
	struct sockets s = connected();
	char one[3] = "", two[5] = "";
	struct iovec out[3] = { { "ab", 2 }, { "", 0 }, { "cdefg", 5 } };
	struct iovec in[2] = { { one, 3 }, { two, 5 } };
	struct msghdr msg = { .msg_iov = in, .msg_iovlen = 2 };

	assert_int_equal(rwritev(s.client, out, 3), 7);
	assert_int_equal(rrecvmsg(s.server, &msg, MSG_PEEK), 7);
	assert_memory_equal(two, "defg", 4);
	memset(two, 0, sizeof(two));
	assert_int_equal(rreadv(s.server, in, 2), 7);
	assert_memory_equal(one, "abc", 3);
	assert_memory_equal(two, "defg", 4);
	close_all(&s);
}

/* Without a receiver, a sender stops when the peer has no room, and goes on when it has. */
SOCKET_TEST(full_stream_is_eagain)
{
	struct sockets s = connected_as(make_small);
	uint8_t buf[512];
	size_t sent = 0, got = 0;
	ssize_t ret;

	for (;;) {
		fill_pattern(buf, sent, sizeof(buf));
		ret = rsend(s.client, buf, sizeof(buf), MSG_DONTWAIT);
		if (ret < 0)
			break;
		sent += (size_t)ret;
	}
	assert_int_equal(errno, EAGAIN);
	/* The ring of 4096 bytes is full. */
	assert_int_equal(sent, 4096);
	assert_int_equal(ready(s.client, POLLOUT), 0);
	while (got < sent) {
		ret = rrecv(s.server, buf, 100, 0);
		assert_true(ret > 0);
		expect_pattern(buf, got, (size_t)ret);
		got += (size_t)ret;
	}
	assert_int_equal(ready(s.client, POLLOUT), POLLOUT);
	close_all(&s);
}

struct sender {
	int fd;
	size_t count;
	unsigned int seed;
};

static void *send_all(void *arg)
{
	struct sender *sender = arg;
	uint8_t buf[10000];
	size_t sent = 0, len;
	ssize_t ret;

	while (sent < sender->count) {
		len = (size_t)rand_r(&sender->seed) % sizeof(buf) + 1;
		if (len > sender->count - sent)
			len = sender->count - sent;
		fill_pattern(buf, sent, len);
		ret = rsend(sender->fd, buf, len, 0);
		if (ret <= 0)
			break;
		sent += (size_t)ret;
	}
	sender->count = sent;
	return NULL;
}

static void receive_all(int fd, size_t count, unsigned int seed)
{
	uint8_t buf[7000];
	size_t got = 0, len;
	ssize_t ret;

	while (got < count) {
		len = (size_t)rand_r(&seed) % sizeof(buf) + 1;
		ret = rrecv(fd, buf, len, 0);
		assert_true(ret > 0);
		expect_pattern(buf, got, (size_t)ret);
		got += (size_t)ret;
	}
}

static void megabytes_arrive(void (*prepare)(int fd))
{
	struct sockets s = connected_as(prepare);
	struct sender forth = { s.client, MEGABYTE, 1 }, back = { s.server, MEGABYTE, 2 };
	pthread_t threads[2];

	assert_int_equal(pthread_create(&threads[0], NULL, send_all, &forth), 0);
	receive_all(s.server, MEGABYTE, 3);
	assert_int_equal(pthread_create(&threads[1], NULL, send_all, &back), 0);
	receive_all(s.client, MEGABYTE, 4);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	assert_int_equal(forth.count, MEGABYTE);
	assert_int_equal(back.count, MEGABYTE);
	close_all(&s);
}

SOCKET_TEST(megabytes_arrive_with_small_buffers)
{
	megabytes_arrive(make_small);
}

SOCKET_TEST(megabytes_arrive_with_default_buffers)
{
	megabytes_arrive(NULL);
}

static void make_odd(int fd)
{
	make_small(fd);
	set_int(fd, SOL_SOCKET, SO_RCVBUF, 777);
	set_int(fd, SOL_RDMA, RDMA_INLINE, 0);
}

SOCKET_TEST(megabytes_arrive_with_odd_buffers_and_nothing_inline)
{
	megabytes_arrive(make_odd);
}

SOCKET_TEST(megabytes_arrive_over_iwarp)
{
	pair_use_iwarp();
	megabytes_arrive(make_small);
}

SOCKET_TEST(end_of_sending_is_seen_after_the_data)
{
	struct sockets s = connected();
	char buf[8];

	assert_int_equal(rsend(s.client, "last", 4, 0), 4);
	assert_int_equal(rshutdown(s.client, SHUT_WR), 0);
	assert_fails(EPIPE, rsend(s.client, "x", 1, 0));
	assert_int_equal(ready(s.server, POLLIN), POLLIN);
	assert_int_equal(rrecv(s.server, buf, sizeof(buf), 0), 4);
	assert_int_equal(rrecv(s.server, buf, sizeof(buf), 0), 0);
	/* The other direction goes on. */
	assert_int_equal(rsend(s.server, "back", 4, 0), 4);
	assert_int_equal(rrecv(s.client, buf, sizeof(buf), 0), 4);
	close_all(&s);
}

/* A stream has no control data and no urgent data: a program that has room for it reads on. */
SOCKET_TEST(control_and_urgent_data)
{
	struct sockets s = connected();
	char buf[8], control[CMSG_SPACE(64)];
	struct iovec iov = { .iov_base = buf, .iov_len = sizeof(buf) };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
		.msg_controllen = sizeof(control),
	};

	assert_int_equal(rsend(s.client, "abc", 3, 0), 3);
	assert_int_equal(rrecvmsg(s.server, &msg, 0), 3);
	assert_int_equal(msg.msg_controllen, 0);
	assert_fails(EOPNOTSUPP, rsend(s.client, "x", 1, MSG_OOB));
	assert_fails(EINVAL, rrecv(s.server, buf, 1, MSG_OOB));
	assert_int_equal(ready(s.server, POLLIN | POLLPRI), 0);
	close_all(&s);
}

SOCKET_TEST(closed_peer_is_the_end)
{
	struct sockets s = connected();
	char buf[8];

	assert_int_equal(rsend(s.client, "bye", 3, 0), 3);
	assert_int_equal(rclose(s.client), 0);
	assert_int_equal(ready(s.server, POLLIN | POLLOUT), POLLIN | POLLOUT);
	assert_int_equal(rrecv(s.server, buf, sizeof(buf), 0), 3);
	assert_int_equal(ready(s.server, POLLIN | POLLOUT), POLLIN | POLLOUT | POLLHUP);
	assert_int_equal(rrecv(s.server, buf, sizeof(buf), 0), 0);
	assert_fails(ECONNRESET, rsend(s.server, "x", 1, 0));
	assert_int_equal(get_int(s.server, SOL_SOCKET, SO_ERROR), 0);
	assert_int_equal(rclose(s.server), 0);
	assert_int_equal(rclose(s.listener), 0);
}

SOCKET_TEST(both_directions_are_shut)
{
	struct sockets s = connected();
	char buf[8];

	assert_int_equal(rshutdown(s.server, SHUT_RDWR), 0);
	assert_int_equal(rrecv(s.server, buf, sizeof(buf), 0), 0);
	assert_fails(EPIPE, rsend(s.server, "x", 1, 0));
	assert_int_equal(rrecv(s.client, buf, sizeof(buf), 0), 0);
	assert_fails(ECONNRESET, rsend(s.client, "x", 1, 0));
	close_all(&s);
}

SOCKET_TEST(peer_that_does_not_answer_is_etimedout)
{
	struct sockets s = connected();
	char buf[8];

	fake_wire_break(fake_wire_qp(0));
	assert_int_equal(rsend(s.client, "x", 1, 0), 1);
	assert_fails(ETIMEDOUT, rrecv(s.client, buf, sizeof(buf), 0));
	assert_int_equal(rrecv(s.client, buf, sizeof(buf), 0), 0);
	assert_fails(ECONNRESET, rsend(s.client, "x", 1, 0));
	close_all(&s);
}

static void *result_of(pthread_t thread)
{
	void *result = NULL;

	pthread_join(thread, &result);
	return result;
}

SOCKET_TEST(waiting_receiver_is_woken_by_a_shutdown)
{
	struct sockets s = connected();
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, receive_one, &s.server), 0);
	usleep(20000);
	assert_int_equal(rshutdown(s.server, SHUT_RD), 0);
	assert_null(result_of(thread));
	close_all(&s);
}

SOCKET_TEST(waiting_receivers_are_woken_by_a_close)
{
	struct sockets s = connected();
	pthread_t threads[2];

	assert_int_equal(pthread_create(&threads[0], NULL, receive_one, &s.server), 0);
	assert_int_equal(pthread_create(&threads[1], NULL, receive_one, &s.server), 0);
	usleep(20000);
	assert_int_equal(rclose(s.server), 0);
	result_of(threads[0]);
	result_of(threads[1]);
	assert_int_equal(rclose(s.client), 0);
	assert_int_equal(rclose(s.listener), 0);
}

static void nothing(int signal)
{
	(void)signal;
}

static void *close_one(void *arg)
{
	return (void *)(intptr_t)rclose(*(int *)arg);
}

/* A signal that comes while rclose() waits does not make it lose what was sent. */
SOCKET_TEST(close_that_is_interrupted_sends_all)
{
	struct sigaction action = { .sa_handler = nothing };
	struct sockets s = connected();
	pthread_t thread;
	char buf[8];

	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	fake_wire_hold(fake_wire_qp(0));
	assert_int_equal(rsend(s.client, "all", 3, 0), 3);
	assert_int_equal(pthread_create(&thread, NULL, close_one, &s.client), 0);
	usleep(20000);
	pthread_kill(thread, SIGUSR1);
	usleep(20000);
	fake_wire_release(fake_wire_qp(0));
	assert_int_equal(rrecv(s.server, buf, sizeof(buf), MSG_WAITALL), 3);
	assert_null(result_of(thread));
	assert_int_equal(rclose(s.server), 0);
	assert_int_equal(rclose(s.listener), 0);
}

static enum fake_armed armed(const struct fake_cq *cq)
{
	enum fake_armed now;

	fake_fabric_lock();
	now = cq->armed;
	fake_fabric_unlock();
	return now;
}

/* Arming is a system call, which the next wait makes if there is one. */
SOCKET_TEST(woken_receiver_returns_before_it_arms)
{
	struct sockets s = connected();
	const struct fake_cq *cq = (struct fake_cq *)(void *)fake_wire_qp(1)->recv_cq;
	pthread_t thread;
	int i;

	alarm(20);
	for (i = 0; i < 3; i++) {
		assert_int_equal(pthread_create(&thread, NULL, receive_one, &s.server), 0);
		while (armed(cq) != FAKE_ARMED_ANY)
			usleep(1000);
		assert_int_equal(rsend(s.client, "a", 1, 0), 1);
		assert_ptr_equal(result_of(thread), (void *)1);
		assert_int_equal(armed(cq), FAKE_ARMED_NO);
	}
	alarm(0);
	close_all(&s);
}

SOCKET_TEST(two_receivers_get_a_byte_each)
{
	struct sockets s = connected();
	pthread_t threads[2];

	assert_int_equal(pthread_create(&threads[0], NULL, receive_one, &s.server), 0);
	assert_int_equal(pthread_create(&threads[1], NULL, receive_one, &s.server), 0);
	usleep(20000);
	assert_int_equal(rsend(s.client, "a", 1, 0), 1);
	assert_int_equal(rsend(s.client, "b", 1, 0), 1);
	assert_ptr_equal(result_of(threads[0]), (void *)1);
	assert_ptr_equal(result_of(threads[1]), (void *)1);
	close_all(&s);
}

SOCKET_TEST(time_of_a_receive_is_limited)
{
	struct timeval limit = { .tv_usec = 20000 };
	struct sockets s = connected();
	char byte;

	assert_int_equal(rsetsockopt(s.server, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), 0);
	assert_fails(EAGAIN, rrecv(s.server, &byte, 1, 0));
	assert_int_equal(rsend(s.client, "x", 1, 0), 1);
	assert_int_equal(rrecv(s.server, &byte, 1, 0), 1);
	close_all(&s);
}

static atomic_int signals;

static void count_signal(int number)
{
	(void)number;
	atomic_fetch_add(&signals, 1);
}

/* signal(2) sets SA_RESTART: then recv(2) of a socket without a time limit goes on. */
SOCKET_TEST(restarting_signal_does_not_end_a_receive)
{
	struct sigaction action = { .sa_handler = count_signal, .sa_flags = SA_RESTART }, before;
	struct sockets s = connected();
	pthread_t thread;
	void *got;
	int i;

#ifdef __SANITIZE_THREAD__
	/* ThreadSanitizer has signals of its own way in calls that wait. */
	close_all(&s);
	skip();
#endif
	atomic_store(&signals, 0);
	sigaction(SIGUSR1, &action, &before);
	assert_int_equal(pthread_create(&thread, NULL, receive_one, &s.server), 0);
	for (i = 0; i < 20; i++) {
		usleep(2000);
		assert_int_equal(pthread_kill(thread, SIGUSR1), 0);
		while (atomic_load(&signals) <= i)
			usleep(100);
	}
	assert_int_equal(rsend(s.client, "x", 1, 0), 1);
	pthread_join(thread, &got);
	assert_int_equal((intptr_t)got, 1);
	sigaction(SIGUSR1, &before, NULL);
	close_all(&s);
}

/* As with TCP, MSG_TRUNC discards what would be received. */
SOCKET_TEST(bytes_can_be_discarded)
{
	struct sockets s = connected();
	struct iovec iov = { .iov_len = 2 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	char byte;

	assert_int_equal(rsend(s.server, "abcdef", 6, 0), 6);
	assert_int_equal(rrecv(s.client, NULL, 2, MSG_TRUNC), 2);
	assert_int_equal(rrecv(s.client, NULL, 3, MSG_TRUNC | MSG_PEEK), 3);
	assert_int_equal(rrecvmsg(s.client, &msg, MSG_TRUNC), 2);
	assert_int_equal(rrecv(s.client, &byte, 1, 0), 1);
	assert_int_equal(byte, 'e');
	assert_int_equal(rrecv(s.client, NULL, 9, MSG_TRUNC), 1);
	assert_fails(EAGAIN, rrecv(s.client, NULL, 9, MSG_TRUNC | MSG_DONTWAIT));
	close_all(&s);
}

RUN
