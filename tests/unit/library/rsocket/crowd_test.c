// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Test of many rsockets at once, each with a thread of its own. */
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

static void hundreds_of_threads_have_a_socket_each(void **state)
{
	static int clients[MANY], servers[MANY];
	static pthread_t threads[2 * MANY];
	int64_t began = rcl_now_ns();
	int listener, i;

	(void)state;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		SOCKET_TEST(hundreds_of_threads_have_a_socket_each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
