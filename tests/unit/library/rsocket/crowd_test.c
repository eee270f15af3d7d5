// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of many rsockets at once, each with a thread of its own, and of many threads with one. */
#include <sys/resource.h>

#include "rsocket/wait.h"
#include "sockets.h"

#define MANY 200	/* connections */
#define ROUNDS 20	/* messages that each of them sends, and gets back */
#define PIECE 700
#define SECONDS 60	/* with a sanitizer, on a busy machine */

static void receive_all(int fd, uint8_t *buf, size_t len)
{
	assert_int_equal(rrecv(fd, buf, len, MSG_WAITALL), (ssize_t)len);
}

static void *send_and_compare(void *arg)
{
	int fd = *(int *)arg, i;
	uint8_t buf[PIECE];

	for (i = 0; i < ROUNDS; i++) {
		fill_pattern(buf, (size_t)(fd + i), PIECE);
		assert_int_equal(rsend(fd, buf, PIECE, 0), PIECE);
		receive_all(fd, buf, PIECE);
		expect_pattern(buf, (size_t)(fd + i), PIECE);
	}
	assert_int_equal(rclose(fd), 0);
	return NULL;
}

static void *send_back(void *arg)
{
	uint8_t buf[PIECE];
	ssize_t got;
	int fd = *(int *)arg;

	while ((got = rrecv(fd, buf, PIECE, 0)) > 0)
		assert_int_equal(rsend(fd, buf, (size_t)got, 0), got);
	assert_int_equal(got, 0);
	assert_int_equal(rclose(fd), 0);
	return NULL;
}

/* Each connection has an event channel, a completion channel, an epoll instance and eventfds. */
static void allow_descriptors(void)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

SOCKET_TEST(hundreds_of_threads_have_a_socket_each)
{
	static int clients[MANY], servers[MANY];
	static pthread_t threads[2 * MANY];
	int64_t began = rcl_now_ns();
	int listener, i;

	allow_descriptors();
	listener = new_listener(make_small);
	for (i = 0; i < MANY; i++) {
		clients[i] = new_socket();
		make_small(clients[i]);
		assert_int_equal(rconnect(clients[i], addr4(HERE, PORT),
					  sizeof(struct sockaddr_in)), 0);
		servers[i] = raccept(listener, NULL, NULL);
		assert_true(servers[i] >= 0);
		assert_int_equal(pthread_create(&threads[i], NULL, send_back, &servers[i]), 0);
	}
	for (i = 0; i < MANY; i++)
		assert_int_equal(pthread_create(&threads[MANY + i], NULL, send_and_compare,
						&clients[i]), 0);
	for (i = 0; i < 2 * MANY; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(rclose(listener), 0);
	assert_true(rcl_now_ns() - began < SECONDS * 1000000000LL);
}

#define MEETINGS 300

static void *send_one(void *arg)
{
	return (void *)(intptr_t)(rsend(*(int *)arg, "x", 1, 0) == 1);
}

static void *poll_for_data(void *arg)
{
	struct pollfd pfd = { .fd = *(int *)arg, .events = POLLIN };

	return (void *)(intptr_t)(rpoll(&pfd, 1, -1) == 1);
}

static void fill_up(int fd)
{
	char data[512] = { 0 };

	while (rsend(fd, data, sizeof(data), MSG_DONTWAIT) > 0)
		;
	assert_int_equal(errno, EAGAIN);
}

static void read_up(int fd)
{
	char data[512];

	while (rrecv(fd, data, sizeof(data), MSG_DONTWAIT) > 0)
		;
}

/*
 * One thread waits for room, with a time limit, and one for data. Either may take the event that
 * tells of the room.
 */
SOCKET_TEST(event_for_another_thread_is_not_lost)
{
	struct sockets s = { .listener = new_listener(NULL), .client = new_socket() };
	struct timeval limit = { .tv_sec = SECONDS };
	pthread_t sender, poller;
	void *sent, *polled;
	int i;

	/* It waits for its own sends, and not for the peer. */
	set_int(s.client, SOL_SOCKET, SO_SNDBUF, 2048);
	assert_int_equal(rconnect(s.client, addr4(HERE, PORT), sizeof(struct sockaddr_in)), 0);
	s.server = raccept(s.listener, NULL, NULL);
	assert_int_equal(rsetsockopt(s.client, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)), 0);
	for (i = 0; i < MEETINGS; i++) {
		fake_wire_hold(fake_wire_qp(0));
		fill_up(s.client);
		assert_int_equal(pthread_create(&sender, NULL, send_one, &s.client), 0);
		assert_int_equal(pthread_create(&poller, NULL, poll_for_data, &s.client), 0);
		usleep(500);
		fake_wire_release(fake_wire_qp(0));
		pthread_join(sender, &sent);
		assert_int_equal(rsend(s.server, "x", 1, 0), 1);
		pthread_join(poller, &polled);
		assert_true(sent && polled);
		read_up(s.server);
		read_up(s.client);
	}
	close_all(&s);
}

RUN
