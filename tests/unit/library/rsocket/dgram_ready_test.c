// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of waiting for datagram sockets: calls that block, rpoll(), rselect() and repoll. */
#include <sys/select.h>
#include <time.h>

#include "dgrams.h"

struct later {
	int fd;
	const union rcl_inet *to;
	const char *what;
};

/* Does something after the other thread has begun to wait. */
static void *do_later(void *arg)
{
	struct later *later = arg;

	usleep(20000);
	if (!strcmp(later->what, "send"))
		rsendto(later->fd, "x", 1, 0, &later->to->sa, rcl_inet_len(later->to));
	else if (!strcmp(later->what, "shutdown"))
		rshutdown(later->fd, SHUT_RD);
	else
		rclose(later->fd);
	return NULL;
}

static pthread_t start(struct later *later)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, do_later, later), 0);
	return thread;
}

/* The first datagram comes by UDP, the others by the queue pair, which did not exist before. */
SOCKET_TEST(waiting_calls_are_woken)
{
	struct dgrams s = two_dgrams(AF_INET);
	struct later later = { s.a, &s.b_addr, "send" };
	struct pollfd pfd = { .fd = s.b, .events = POLLIN };
	pthread_t thread;
	fd_set set;
	char byte;
	int i;

	for (i = 0; i < 6; i++) {
		thread = start(&later);
		if (i % 3 == 0) {
			assert_int_equal(rpoll(&pfd, 1, -1), 1);
			assert_int_equal(pfd.revents, POLLIN);
		} else if (i % 3 == 1) {
			FD_ZERO(&set);
			FD_SET(s.b, &set);
			assert_int_equal(rselect(s.b + 1, &set, NULL, NULL, NULL), 1);
			assert_true(FD_ISSET(s.b, &set));
		}
		assert_int_equal(rrecv(s.b, &byte, 1, i % 3 == 2 ? 0 : MSG_DONTWAIT), 1);
		pthread_join(thread, NULL);
		wait_for_way(s.a);
	}
	close_two(&s);
}

/* One thread receives, another one waits for the same socket: neither misses what is for it. */
static void *receive_some(void *arg)
{
	char byte;
	int i;

	for (i = 0; i < 50; i++)
		assert_int_equal(rrecv(*(int *)arg, &byte, 1, 0), 1);
	return NULL;
}

SOCKET_TEST(receivers_beside_each_other_are_woken)
{
	struct dgrams s = met_dgrams(AF_INET);
	pthread_t threads[2];
	int i;

	for (i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, receive_some, &s.b), 0);
	/* Few are under way at a time, so that none is lost. */
	for (i = 0; i < 100; i++) {
		send_dgram(s.a, "x", 1, &s.b_addr);
		if (i % 10 == 0)
			usleep(5000);
	}
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	expect_nothing(s.b);
	close_two(&s);
}

SOCKET_TEST(timeouts_end_calls)
{
	struct dgrams s = met_dgrams(AF_INET);
	struct pollfd pfd = { .fd = s.b, .events = POLLIN };
	struct timeval time = { .tv_usec = 50000 };
	long long began = now_ms();
	char byte;

	assert_int_equal(rpoll(&pfd, 1, 50), 0);
	assert_true(now_ms() - began >= 49);
	assert_int_equal(rsetsockopt(s.b, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time)), 0);
	began = now_ms();
	assert_fails(EAGAIN, rrecv(s.b, &byte, 1, 0));
	assert_true(now_ms() - began >= 49);
	assert_int_equal(rfcntl(s.b, F_SETFL, O_NONBLOCK), 0);
	assert_fails(EAGAIN, rrecv(s.b, &byte, 1, 0));
	close_two(&s);
}

SOCKET_TEST(shutdown_and_close_end_a_wait)
{
	struct dgrams s = met_dgrams(AF_INET);
	struct later shut = { s.a, NULL, "shutdown" }, end = { s.b, NULL, "close" };
	pthread_t thread = start(&shut);
	char byte;

	assert_int_equal(rrecv(s.a, &byte, 1, 0), 0);
	pthread_join(thread, NULL);
	thread = start(&end);
	assert_fails(EBADF, rrecv(s.b, &byte, 1, 0));
	pthread_join(thread, NULL);
	assert_int_equal(rclose(s.a), 0);
}

static int new_repoll(int fd, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.u32 = 77 };
	int poll = repoll_create(0);

	assert_true(poll >= 0);
	assert_int_equal(repoll_ctl(poll, EPOLL_CTL_ADD, fd, &event), 0);
	return poll;
}

static void expect_event(int poll, int timeout, int count)
{
	struct epoll_event event;

	assert_int_equal(repoll_wait(poll, &event, 1, timeout), count);
	if (count) {
		assert_int_equal(event.events, EPOLLIN);
		assert_int_equal(event.data.u32, 77);
	}
}

/* @met: the datagrams come by the queue pair, else by UDP. */
static void repoll_tells(bool met)
{
	struct dgrams s = met ? met_dgrams(AF_INET) : two_dgrams(AF_INET);
	int level = new_repoll(s.b, EPOLLIN), edge = new_repoll(s.b, EPOLLIN | EPOLLET);
	struct later later = { s.a, &s.b_addr, "send" };
	pthread_t thread;
	char byte;

	expect_event(level, 0, 0);
	expect_event(edge, 0, 0);
	thread = start(&later);
	expect_event(level, -1, 1);
	pthread_join(thread, NULL);
	expect_event(level, 0, 1);
	expect_event(edge, 1000, 1);
	expect_event(edge, 0, 0);
	send_dgram(s.a, "x", 1, &s.b_addr);
	expect_event(edge, 1000, 1);
	assert_int_equal(rrecv(s.b, &byte, 1, 0), 1);
	assert_int_equal(rrecv(s.b, &byte, 1, 0), 1);
	expect_event(level, 0, 0);
	expect_event(edge, 0, 0);
	thread = start(&later);
	expect_event(edge, -1, 1);
	pthread_join(thread, NULL);
	close_two(&s);
	expect_event(level, 0, 0);
	assert_int_equal(rclose(level), 0);
	assert_int_equal(rclose(edge), 0);
}

SOCKET_TEST(repoll_tells_datagrams_of_udp)
{
	repoll_tells(false);
}

SOCKET_TEST(repoll_tells_datagrams_of_queue_pairs)
{
	repoll_tells(true);
}

static atomic_bool returned;

static void *call_once(void *arg)
{
	char byte;

	rrecv(*(int *)arg, &byte, 1, MSG_DONTWAIT);
	atomic_store(&returned, true);
	return NULL;
}

/* Calls without a pause do not keep the socket from the service thread, whose part the test has. */
SOCKET_TEST(calls_give_way_to_the_service_thread)
{
	struct dgrams s = two_dgrams(AF_INET);
	struct rcl_dgram *d = rcl_dgram_of(rcl_sock_get(s.b));
	pthread_t thread;

	pthread_mutex_lock(&d->gate);
	atomic_store(&d->served, true);
	atomic_store(&returned, false);
	assert_int_equal(pthread_create(&thread, NULL, call_once, &s.b), 0);
	usleep(50000);
	pthread_mutex_lock(&d->sock.lock);
	assert_false(atomic_load(&returned));
	atomic_store(&d->served, false);
	pthread_mutex_unlock(&d->sock.lock);
	pthread_mutex_unlock(&d->gate);
	pthread_join(thread, NULL);
	rcl_sock_put(&d->sock);
	close_two(&s);
}

SOCKET_TEST(waiting_uses_no_time)
{
	struct dgrams s = met_dgrams(AF_INET);
	struct pollfd pfd = { .fd = s.b, .events = POLLIN };
	long long before = cpu_ms();

	assert_int_equal(rpoll(&pfd, 1, 300), 0);
	assert_true(cpu_ms() - before < 100);
	close_two(&s);
}

static void *poll_forever(void *arg)
{
	struct pollfd pfd = { .fd = *(int *)arg, .events = POLLIN };

	return (void *)(intptr_t)rpoll(&pfd, 1, -1);
}

SOCKET_TEST(rpoll_ends_with_the_socket)
{
	union rcl_inet addr;
	int fd = bound_dgram(AF_INET, &addr);
	pthread_t thread;

	pthread_create(&thread, NULL, poll_forever, &fd);
	usleep(20000);
	assert_int_equal(rclose(fd), 0);
	pthread_join(thread, NULL);
}

RUN
