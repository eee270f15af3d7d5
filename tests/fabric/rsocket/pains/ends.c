// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The end of a connection: calls that must not wait for an idle peer, and ends that must
 * be heard.
 */
#include "pains.h"

/* Ends are heard within this time: the kernel of the peer sends a DREQ when the process ends. */
#define HEARD 5000

/* The peer is stopped, and its receives are all used: no message arrives any more. */
static int stopped_and_full(void)
{
	pid_t peer = start_peer(do_nothing);
	int fd = connected();

	MUST(kill(peer, SIGSTOP));
	send_until_full(fd);
	return fd;
}

PAIN(close_stopped_peer, 30, STOCK_FAILS)
{
	int fd = stopped_and_full();
	long long began = now_ms();

	MUST(rclose(fd));
	expect_time("rclose", now_ms() - began, 0, 2000);
}

PAIN(close_stopped_peer_linger_0, 30, STOCK_FAILS)
{
	struct linger now = { .l_onoff = 1, .l_linger = 0 };
	int fd = stopped_and_full();
	long long began;

	MUST(rsetsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)));
	began = now_ms();
	MUST(rclose(fd));
	expect_time("rclose", now_ms() - began, 0, 2000);
}

/* Whatever it returns. */
PAIN(shutdown_stopped_peer_nonblocking, 30, STOCK_FAILS)
{
	int fd = stopped_and_full();
	long long began = now_ms();

	rshutdown(fd, SHUT_WR);
	rshutdown(fd, SHUT_RDWR);
	expect_time("rshutdown", now_ms() - began, 0, 2000);
}

PAIN(exit_stopped_peer, 30, IN_DEBUG)
{
	stopped_and_full();
}

PAIN(killed_peer_poll, 30, STOCK_FAILS | IN_DEBUG)
{
	pid_t peer = start_peer(do_nothing);
	int fd = connected();
	long long began = now_ms();
	char byte;

	MUST(kill(peer, SIGKILL));
	expect(events_of(fd, POLLIN, HEARD * 4), "no event of the end");
	expect_time("rpoll", now_ms() - began, 0, HEARD);
	expect(rrecv(fd, &byte, 1, MSG_DONTWAIT) <= 0, "data of a peer that sent none");
}

static void *kill_soon(void *peer)
{
	usleep(300000);
	kill(*(pid_t *)peer, SIGKILL);
	return NULL;
}

PAIN(killed_peer_receive, 30, STOCK_FAILS)
{
	pid_t peer = start_peer(do_nothing);
	long long began = now_ms();
	pthread_t thread;
	int fd = connected();
	char byte;

	pthread_create(&thread, NULL, kill_soon, &peer);
	expect(rrecv(fd, &byte, 1, 0) <= 0, "data of a peer that sent none");
	expect_time("rrecv", now_ms() - began, 0, HEARD);
}

PAIN(killed_peer_send, 30, STOCK_FAILS)
{
	pid_t peer = start_peer(do_nothing);
	long long began = now_ms();
	pthread_t thread;
	int fd = connected();
	static char data[1000000];
	ssize_t sent;

	pthread_create(&thread, NULL, kill_soon, &peer);
	do
		sent = rsend(fd, data, sizeof(data), 0);
	while (sent > 0 && now_ms() - began < 20000);
	expect(sent < 0, "rsend still succeeds");
	expect_time("rsend", now_ms() - began, 0, HEARD);
}

/* Data that was sent before a close arrives, however large. */
static void read_slowly(int fd)
{
	char data[1000];
	ssize_t got;
	long all = 0;

	sleep(1);
	while ((got = rrecv(fd, data, sizeof(data), 0)) > 0)
		all += got;
	_exit(all == 60000 ? 0 : 1);
}

PAIN(close_after_send, 30, IN_DEBUG)
{
	pid_t peer = start_peer(read_slowly);
	static char data[60000];
	int fd = connected(), status;

	expect(rsend(fd, data, sizeof(data), 0) == sizeof(data), "rsend: %s", error_name(errno));
	MUST(rclose(fd));
	MUST(waitpid(peer, &status, 0));
	expect(!status, "the peer did not receive all data");
}

static void send_much(int fd)
{
	static char data[60000];

	expect(rsend(fd, data, sizeof(data), 0) == sizeof(data), "rsend: %s", error_name(errno));
}

static void send_and_exit(int fd)
{
	send_much(fd);
	exit(0);
}

static void send_and_die(int fd)
{
	send_much(fd);
	kill(getpid(), SIGKILL);
}

/* Returns the last result of rrecv(). */
static ssize_t read_to_the_end(int fd, long *all)
{
	char data[1000];
	ssize_t got;

	*all = 0;
	while ((got = rrecv(fd, data, sizeof(data), 0)) > 0)
		*all += got;
	return got;
}

/* A process that ends without rclose() is no reason to lose what it has sent. */
PAIN(exit_after_send, 30, STOCK_VARIES | IN_DEBUG)
{
	ssize_t last;
	long all;
	int fd;

	start_peer(send_and_exit);
	fd = connected();
	sleep(1);
	last = read_to_the_end(fd, &all);
	expect(all == 60000, "%ld bytes have arrived", all);
	expect(!last, "no end: %s", error_name(errno));
}

/* That of a process which was killed may be incomplete. */
PAIN(killed_peer_is_no_end, 30, STOCK_FAILS | IN_DEBUG)
{
	ssize_t last;
	long all;
	int fd;

	start_peer(send_and_die);
	fd = connected();
	last = read_to_the_end(fd, &all);
	expect(last < 0 && errno == ECONNRESET, "an end after %ld bytes", all);
}

static void *shut_down_soon(void *fd)
{
	usleep(300000);
	rshutdown(*(int *)fd, SHUT_RDWR);
	return NULL;
}

PAIN(shutdown_wakes_receive, 30, 0)
{
	long long began;
	pthread_t thread;
	char byte;
	int fd;

	start_peer(do_nothing);
	fd = connected();
	began = now_ms();
	pthread_create(&thread, NULL, shut_down_soon, &fd);
	expect(rrecv(fd, &byte, 1, 0) <= 0, "data of a peer that sent none");
	expect_time("rrecv", now_ms() - began, 200, 3000);
}

/* What a child of fork() writes to its memory does not reach the peer. */
PAIN(fork_beside, 30, 0)
{
	static char data[20000], back[20000];
	int fd, n, status;
	pid_t child;

	start_peer(echo_all);
	fd = connected();
	for (n = 0; n < 20; n++) {
		memset(data, n, sizeof(data));
		child = MUST(fork());
		if (!child) {
			memset(data, 'c', sizeof(data));
			_exit(0);
		}
		expect(rsend(fd, data, sizeof(data), 0) == sizeof(data), "rsend: %s",
		       error_name(errno));
		expect(rrecv(fd, back, sizeof(back), MSG_WAITALL) == sizeof(back), "rrecv: %s",
		       error_name(errno));
		expect(!memcmp(data, back, sizeof(data)), "the data changed in round %d", n);
		MUST(waitpid(child, &status, 0));
	}
}
