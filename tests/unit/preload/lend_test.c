// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of children that use the rsockets of their parent. */
#include "fixture.h"

#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "preload/file.h"

#define SOME_MS 100

/* They stop listeners that its children use. */
static void assert_stops(int listener)
{
	int i;

	for (i = 0; i < 500 && rcl_file_known(listener); i++)
		usleep(10000);
	assert_false(rcl_file_known(listener));
}

static void assert_child_well(pid_t child)
{
	int status;

	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static int tcp_client(int port)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(connect(fd, address(port), ADDRESS_SIZE), 0);
	return fd;
}

/*
 * Without the parent, nobody else stops the listener. The first test: ThreadSanitizer ends a child
 * that starts threads if its parent had some.
 */
TEST(child_of_a_parent_that_has_ended_serves)
{
	int told[2], port = 0, client;
	pid_t child, parent;

	assert_int_equal(pipe(told), 0);
	child = fork();
	if (!child) {
		int listener = new_listener(), peer;

		port = port_of(listener);
		parent = getpid();
		if (fork())
			_exit(0);
		while (getppid() == parent)
			usleep(1000);
		preload_fcntl(listener, F_SETFL, O_NONBLOCK);
		if (preload_accept(listener, NULL, NULL) != -1 || errno != EAGAIN)
			_exit(1);
		preload_fcntl(listener, F_SETFL, 0);
		if (write(told[1], &port, sizeof(port)) != sizeof(port))
			_exit(1);
		peer = preload_accept(listener, NULL, NULL);
		_exit(preload_write(peer, "x", 1) != 1);
	}
	assert_child_well(child);
	assert_int_equal(read(told[0], &port, sizeof(port)), sizeof(port));
	client = tcp_client(port);
	assert_int_equal(read(client, &port, 1), 1);
	close(client);
	close(told[0]);
	close(told[1]);
}

/* Reads until the end or an error, of which it returns errno. */
static int read_to_end(int fd)
{
	char bytes[100];
	ssize_t n;

	do {
		n = preload_read(fd, bytes, sizeof(bytes));
	} while (n > 0);
	return n ? errno : 0;
}

/* As echo servers do. Returns the number of bytes. */
static size_t echo(int fd)
{
	static char bytes[30000];
	size_t total = 0;
	ssize_t n;

	while ((n = preload_read(fd, bytes, sizeof(bytes))) > 0) {
		if (preload_write(fd, bytes, (size_t)n) != n)
			return 0;
		total += (size_t)n;
	}
	return n ? 0 : total;
}

static bool has_peer(int fd, int port)
{
	struct sockaddr_in in = { 0 };
	socklen_t size = sizeof(in);

	return !preload_getpeername(fd, (struct sockaddr *)&in, &size) &&
	       size == sizeof(in) && ntohs(in.sin_port) == port;
}

TEST(connection_is_carried_for_a_child)
{
	static char out[200000], in[sizeof(out)];
	size_t sent = 0, got = 0, some;
	int pair[2], i;
	ssize_t n;
	pid_t child;

	connect_pair(pair);
	child = fork();
	if (!child) {
		/* The address is that of the rsocket, also after the first use. */
		bool good = has_peer(pair[1], 0) && echo(pair[1]) == sizeof(out);

		_exit(!good || !has_peer(pair[1], 0));
	}
	preload_close(pair[1]);
	for (i = 0; i < (int)sizeof(out); i++)
		out[i] = (char)(i * 7 + i / 251);
	while (got < sizeof(in)) {
		some = sizeof(out) - sent < 10000 ? sizeof(out) - sent : 10000;
		n = some ? preload_write(pair[0], out + sent, some) : 0;
		assert_true(n >= 0);
		sent += (size_t)n;
		n = preload_read(pair[0], in + got, sizeof(in) - got);
		assert_true(n > 0);
		got += (size_t)n;
	}
	assert_memory_equal(in, out, sizeof(out));
	assert_int_equal(preload_shutdown(pair[0], SHUT_WR), 0);
	assert_int_equal(read_to_end(pair[0]), 0);
	assert_child_well(child);
	preload_close(pair[0]);
	assert_all_closed();
}

/* A stream has no clean end that its peer has not made. */
TEST(reset_arrives_at_the_child)
{
	int pair[2];
	pid_t child;
	char c;

	connect_pair(pair);
	child = fork();
	if (!child) {
		bool good = preload_write(pair[1], "xy", 2) == 2;

		preload_close(pair[0]);
		_exit(!good || read_to_end(pair[1]) != ECONNRESET);
	}
	preload_close(pair[1]);
	assert_int_equal(preload_read(pair[0], &c, 1), 1);
	/* With unread data. */
	preload_close(pair[0]);
	assert_child_well(child);
	assert_all_closed();
}

/* As TCP's: it ends with the last process that has it. */
TEST(connection_lives_as_long_as_a_child_has_it)
{
	int pair[2], wait[2];
	struct pollfd polls;
	pid_t child;
	char c;

	connect_pair(pair);
	assert_int_equal(pipe(wait), 0);
	child = fork();
	if (!child) {
		close(wait[1]);
		_exit(read(wait[0], &c, 1) != 0);
	}
	preload_close(pair[1]);
	polls = (struct pollfd){ .fd = pair[0], .events = POLLIN };
	assert_int_equal(preload_poll(&polls, 1, SOME_MS), 0);
	close(wait[1]);
	assert_child_well(child);
	assert_int_equal(read_to_end(pair[0]), 0);
	preload_close(pair[0]);
	close(wait[0]);
	assert_all_closed();
}

TEST(child_that_closes_its_copies_has_it_no_more)
{
	int pair[2], wait[2], copy;
	pid_t child;
	char c;

	connect_pair(pair);
	copy = preload_dup(pair[1]);
	assert_int_equal(pipe(wait), 0);
	child = fork();
	if (!child) {
		close(wait[1]);
		preload_close(pair[0]);
		preload_close(pair[1]);
		preload_close(copy);
		_exit(read(wait[0], &c, 1) != 0);
	}
	preload_close(pair[1]);
	preload_close(copy);
	assert_int_equal(read_to_end(pair[0]), 0);
	close(wait[1]);
	close(wait[0]);
	preload_close(pair[0]);
	assert_child_well(child);
	assert_all_closed();
}

/*
 * The parent has its connection still: the end of the child is not that of the stream, and nobody
 * takes what arrives then.
 */
TEST(parent_goes_on_after_its_child)
{
	struct pollfd poll = { .events = POLLIN };
	int pair[2];
	pid_t child;
	char c = 0;

	connect_pair(pair);
	child = fork();
	if (!child)
		_exit(preload_write(pair[1], "c", 1) != 1);
	assert_int_equal(preload_read(pair[0], &c, 1), 1);
	assert_int_equal(c, 'c');
	assert_child_well(child);
	usleep(SOME_MS * 1000);
	assert_int_equal(preload_write(pair[1], "p", 1), 1);
	assert_int_equal(preload_read(pair[0], &c, 1), 1);
	assert_int_equal(c, 'p');
	assert_int_equal(preload_write(pair[0], "q", 1), 1);
	usleep(SOME_MS * 1000);
	poll.fd = pair[1];
	assert_int_equal(preload_poll(&poll, 1, SOME_MS), 1);
	assert_int_equal(preload_read(pair[1], &c, 1), 1);
	assert_int_equal(c, 'q');
	preload_close(pair[1]);
	assert_int_equal(read_to_end(pair[0]), 0);
	preload_close(pair[0]);
	assert_all_closed();
}

/* As TCP's: shutdown() ends the stream for all who have it. */
TEST(child_ends_the_stream)
{
	int pair[2];
	pid_t child;
	char c;

	connect_pair(pair);
	child = fork();
	if (!child) {
		preload_close(pair[0]);
		if (preload_write(pair[1], "c", 1) != 1 || preload_shutdown(pair[1], SHUT_WR))
			_exit(1);
		_exit(preload_read(pair[1], &c, 1) != 1 || c != 'p');
	}
	assert_int_equal(preload_read(pair[0], &c, 1), 1);
	assert_int_equal(read_to_end(pair[0]), 0);
	assert_int_equal(preload_write(pair[0], "p", 1), 1);
	assert_child_well(child);
	preload_close(pair[1]);
	preload_close(pair[0]);
	assert_all_closed();
}

/* The peer may never close its end. */
TEST(connection_of_a_child_that_has_ended_is_closed)
{
	int pair[2];
	pid_t child;
	char c;

	connect_pair(pair);
	child = fork();
	if (!child) {
		preload_close(pair[0]);
		_exit(preload_write(pair[1], "c", 1) != 1);
	}
	preload_close(pair[1]);
	assert_int_equal(preload_read(pair[0], &c, 1), 1);
	assert_child_well(child);
	assert_closed_but(1);
	assert_int_equal(read_to_end(pair[0]), 0);
	preload_close(pair[0]);
	assert_all_closed();
}

/* Uses a listener and a connection; true if that takes no time. */
static bool uses_quickly(int listener, int fd)
{
	struct pollfd polls = { .fd = listener, .events = POLLIN };
	struct timespec before, after;
	bool good;
	char c;

	clock_gettime(CLOCK_MONOTONIC, &before);
	preload_fcntl(fd, F_SETFL, O_NONBLOCK);
	good = !preload_poll(&polls, 1, 0) && preload_read(fd, &c, 1) == -1 && errno == EAGAIN &&
	       preload_write(fd, "c", 1) == 1;
	clock_gettime(CLOCK_MONOTONIC, &after);
	return good && after.tv_sec - before.tv_sec < 4;
}

TEST(child_does_not_wait_for_a_parent_that_is_stopped)
{
	int listener = new_listener(), pair[2];
	pid_t child;
	bool good;
	char c = 0;

	connect_pair(pair);
	child = fork();
	if (!child) {
		kill(getppid(), SIGSTOP);
		usleep(SOME_MS * 1000);
		good = uses_quickly(listener, pair[1]);
		kill(getppid(), SIGCONT);
		_exit(!good || preload_read(pair[1], &c, 1) > 0);
	}
	preload_close(pair[1]);
	assert_int_equal(preload_read(pair[0], &c, 1), 1);
	assert_int_equal(c, 'c');
	assert_child_well(child);
	assert_stops(listener);
	preload_close(pair[0]);
	preload_close(listener);
	assert_all_closed();
}

static void *accept_one(void *arg)
{
	return (void *)(intptr_t)preload_accept(*(int *)arg, NULL, NULL);
}

/* What waits for the listener in the parent goes on with it. */
TEST(listener_that_a_child_uses_is_tcp_s)
{
	struct epoll_event event = { .events = EPOLLIN };
	int listener = new_listener(), port = port_of(listener), client, epfd;
	struct pollfd polls = { .fd = listener, .events = POLLIN };
	pthread_t thread;
	void *accepted;
	pid_t child;

	epfd = preload_epoll_create1(0);
	assert_int_equal(preload_epoll_ctl(epfd, EPOLL_CTL_ADD, listener, &event), 0);
	assert_int_equal(pthread_create(&thread, NULL, accept_one, &listener), 0);
	usleep(SOME_MS * 1000);
	child = fork();
	if (!child) {
		polls.revents = 0;
		_exit(preload_poll(&polls, 1, SOME_MS) != 0);
	}
	assert_child_well(child);
	assert_stops(listener);
	client = tcp_client(port);
	pthread_join(thread, &accepted);
	assert_true((intptr_t)accepted >= 0);
	preload_close((int)(intptr_t)accepted);
	close(client);
	client = tcp_client(port);
	assert_int_equal(preload_epoll_wait(epfd, &event, 1, 1000), 1);
	assert_int_equal(preload_poll(&polls, 1, 1000), 1);
	preload_close(preload_accept(listener, NULL, NULL));
	close(client);
	preload_close(listener);
	preload_close(epfd);
	assert_all_closed();
}

/* A program that forks for each connection gets the others over TCP. */
TEST(listener_goes_over_to_tcp_after_the_first_child)
{
	int listener = new_listener(), port = port_of(listener), client = new_socket(), fd;
	pid_t child;
	char c;

	assert_int_equal(preload_connect(client, address(port), ADDRESS_SIZE), 0);
	fd = preload_accept(listener, NULL, NULL);
	child = fork();
	if (!child)
		_exit(preload_write(fd, "x", 1) != 1);
	preload_close(fd);
	assert_int_equal(preload_read(client, &c, 1), 1);
	assert_child_well(child);
	assert_stops(listener);
	preload_close(client);
	client = tcp_client(port);
	fd = preload_accept(listener, NULL, NULL);
	assert_true(fd >= 0 && !rcl_file_known(fd));
	preload_close(fd);
	close(client);
	preload_close(listener);
	assert_all_closed();
}

RUN
