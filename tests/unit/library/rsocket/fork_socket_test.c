// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of rsockets in a child process: those of the parent are not the child's. */
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "dgrams.h"
#include "rsocket/stream/events.h"
#include "rsocket/stream/stream.h"

#define PATIENCE 20	/* seconds until a child counts as hanging */

/* Buffers of a stream. */
static void *ring, *sent;

/* Event channels of a listener and of a client. */
static int channels[2];

/* Ends a child without the sanitizer's checks, which would miss the threads of the parent. */
static _Noreturn void leave(int code)
{
	syscall(SYS_exit_group, code);
	abort();
}

/* Calls a function in a child, which must return 0. */
static void in_child(int (*work)(struct sockets *s), struct sockets *s)
{
	int status = -1;
	pid_t child = fork();

	if (!child) {
		alarm(PATIENCE);
		leave(work(s));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* Both ends send, and receive what the other one has sent. */
static void talk(const struct sockets *s)
{
	char byte = 0;

	assert_int_equal(rsend(s->client, "c", 1, 0), 1);
	assert_int_equal(rsend(s->server, "s", 1, 0), 1);
	assert_int_equal(rrecv(s->server, &byte, 1, 0), 1);
	assert_int_equal(byte, 'c');
	assert_int_equal(rrecv(s->client, &byte, 1, 0), 1);
	assert_int_equal(byte, 's');
	assert_int_equal(ready(s->client, POLLIN), 0);
	assert_int_equal(ready(s->server, POLLIN), 0);
}

static int close_in_child(struct sockets *s)
{
	if (rclose(s->client) || rclose(s->server) || rclose(s->listener))
		return 1;
	/* The descriptors are closed, and not merely forgotten. */
	if (fcntl(s->client, F_GETFD) != -1 || rclose(s->client) != -1)
		return 2;
	return 0;
}

SOCKET_TEST(child_may_close_its_copies)
{
	struct sockets s = connected();

	talk(&s);
	in_child(close_in_child, &s);
	talk(&s);
	close_all(&s);
}

static int fails(ssize_t ret)
{
	return ret == -1 && errno == EBADF;
}

static int use_in_child(struct sockets *s)
{
	struct pollfd pfd = { .fd = s->server, .events = POLLIN };
	struct epoll_event event = { .events = EPOLLIN };
	int epfd = repoll_create(0);
	char byte;

	if (!fails(rsend(s->client, "x", 1, 0)) || !fails(rrecv(s->server, &byte, 1, 0)))
		return 1;
	if (!fails(raccept(s->listener, NULL, NULL)) || !fails(rshutdown(s->client, SHUT_RDWR)))
		return 2;
	if (rpoll(&pfd, 1, -1) != 1 || pfd.revents != POLLNVAL)
		return 3;
	return !fails(repoll_ctl(epfd, EPOLL_CTL_ADD, s->server, &event)) || rclose(epfd);
}

SOCKET_TEST(child_cannot_use_its_copies)
{
	struct sockets s = connected();

	assert_int_equal(rsend(s.client, "x", 1, 0), 1);
	in_child(use_in_child, &s);
	assert_int_equal(ready(s.server, POLLIN), POLLIN);
	close_all(&s);
}

/* No bit of the memory that the adapter reads and writes is in the child. */
static int look_in_child(struct sockets *s)
{
	unsigned char resident;

	(void)s;
	return !mincore(ring, 1, &resident) || !mincore(sent, 1, &resident);
}

SOCKET_TEST(child_has_no_window_into_the_buffers)
{
	struct sockets s = connected();
	struct rcl_sock *sock = rcl_sock_get(s.server);

	ring = rcl_stream_of(sock)->rx.buf;
	sent = rcl_stream_of(sock)->tx.buf;
	rcl_sock_put(sock);
	talk(&s);
	in_child(look_in_child, &s);
	talk(&s);
	close_all(&s);
}

/* The last descriptor of a channel ends its ids: a child must not have one. */
static int look_for_channels(struct sockets *s)
{
	(void)s;
	return fcntl(channels[0], F_GETFD) != -1 || fcntl(channels[1], F_GETFD) != -1;
}

static int channel_of(int fd)
{
	struct rcl_sock *sock = rcl_sock_get(fd);
	int channel = rcl_stream_of(sock)->events->channel->fd;

	rcl_sock_put(sock);
	return channel;
}

SOCKET_TEST(child_does_not_keep_sockets_alive)
{
	struct sockets s = connected();

	channels[0] = channel_of(s.listener);
	channels[1] = channel_of(s.client);
	in_child(look_for_channels, &s);
	talk(&s);
	close_all(&s);
}

static int make_in_child(struct sockets *s)
{
	int fd = rsocket(AF_INET, SOCK_STREAM, 0);

	(void)s;
	return fd < 0 || rfcntl(fd, F_GETFL) != O_RDWR || rclose(fd);
}

SOCKET_TEST(child_has_sockets_of_its_own)
{
	struct sockets s = connected();

	in_child(make_in_child, &s);
	talk(&s);
	close_all(&s);
}

/* The locks of sockets may be held by threads that the child does not have. */
SOCKET_TEST(child_of_busy_threads_does_not_wait)
{
	struct sockets s = connected();
	pthread_t thread;
	void *ret;
	int i;

	assert_int_equal(pthread_create(&thread, NULL, receive_one, &s.server), 0);
	for (i = 0; i < 5; i++)
		in_child(close_in_child, &s);
	assert_int_equal(rsend(s.client, "x", 1, 0), 1);
	pthread_join(thread, &ret);
	assert_int_equal((intptr_t)ret, 1);
	close_all(&s);
}

/* The child has closed its copy with close(2), and another descriptor has the number. */
static int poll_number_of_parent(struct sockets *s)
{
	struct epoll_event event = { .events = EPOLLIN };
	struct pollfd pfd = { .events = POLLIN };
	int epfd;

	close(s->client);
	pfd.fd = dup2(eventfd(1, 0), s->client);
	if (rpoll(&pfd, 1, 0) != 1 || pfd.revents != POLLIN)
		return 1;
	epfd = repoll_create(0);
	return repoll_ctl(epfd, EPOLL_CTL_ADD, pfd.fd, &event) ? 2 : 0;
}

SOCKET_TEST(child_may_use_a_number_again)
{
	struct sockets s = connected();

	in_child(poll_number_of_parent, &s);
	close_all(&s);
}

/* A child that lives on has closed its copy of a datagram socket. */
SOCKET_TEST(child_does_not_keep_the_port)
{
	union rcl_inet addr;
	int fd = bound_dgram(AF_INET, &addr), again, ret, status, done = eventfd(0, 0);
	pid_t child = fork();
	eventfd_t value;

	if (!child) {
		eventfd_write(done, rclose(fd) ? 2 : 1);
		for (;;)
			pause();
	}
	eventfd_read(done, &value);
	assert_int_equal(value, 1);
	assert_int_equal(rclose(fd), 0);
	flush_service();
	again = new_dgram(AF_INET);
	ret = rbind(again, &addr.sa, sizeof(addr.sin));
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	assert_int_equal(rclose(again), 0);
	close(done);
	assert_int_equal(ret, 0);
}

RUN
