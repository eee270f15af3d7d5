// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Waiting: how long it lasts, and what wakes it. */
#include "pains.h"

PAIN(poll_lasts, 15, STOCK_VARIES | IN_DEBUG)
{
	long long began;
	int fd;

	start_peer(do_nothing);
	fd = connected();
	began = now_ms();
	expect(!events_of(fd, POLLIN, 3000), "an event without a reason");
	expect_time("rpoll of 3,000 ms", now_ms() - began, 2990, 4000);
}

PAIN(select_lasts, 15, STOCK_VARIES)
{
	struct timeval limit = { .tv_sec = 3 };
	long long began;
	fd_set set;
	int fd;

	start_peer(do_nothing);
	fd = connected();
	FD_ZERO(&set);
	FD_SET(fd, &set);
	began = now_ms();
	expect(!rselect(fd + 1, &set, NULL, NULL, &limit), "an event without a reason");
	expect_time("rselect of 3,000 ms", now_ms() - began, 2990, 4000);
}

/* rconnect() returns when the server's library has accepted: its poller must wake soon after. */
static void *connect_now(void *ended)
{
	int fd = connected();

	*(long long *)ended = now_ms();
	rclose(fd);
	return NULL;
}

PAIN(listener_wakes, 30, STOCK_FAILS | IN_DEBUG)
{
	int listener = listening(pain_address, pain_port, 8), n;
	long long ended, woken, longest = 0;
	pthread_t thread;

	for (n = 0; n < 8; n++) {
		pthread_create(&thread, NULL, connect_now, &ended);
		expect(events_of(listener, POLLIN, 10000), "no event of connection %d", n);
		woken = now_ms();
		MUST(rclose(MUST(raccept(listener, NULL, NULL))));
		pthread_join(thread, NULL);
		if (woken - ended > longest)
			longest = woken - ended;
	}
	expect_time("the event of a connection", longest, 0, 250);
}

static void interrupt(int number)
{
	(void)number;
}

/* A signal without SA_RESTART after 300 ms. */
static void interrupt_soon(void)
{
	struct sigaction action = { .sa_handler = interrupt };
	struct timespec delay = { .tv_nsec = 300000000 };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	struct itimerspec when = { .it_value = delay };
	timer_t timer;

	MUST(sigaction(SIGUSR1, &action, NULL));
	MUST(timer_create(CLOCK_MONOTONIC, &event, &timer));
	MUST(timer_settime(timer, 0, &when, NULL));
}

static void interrupted(const char *what, ssize_t ret, long long began)
{
	expect(ret == -1 && errno == EINTR, "%s: %zd %s", what, ret, error_name(errno));
	expect_time(what, now_ms() - began, 200, 3000);
}

/* The library's threads, if there are any, must not take the signal instead. */
PAIN(interrupted_receive, 15, IN_DEBUG)
{
	long long began;
	char byte;
	int fd;

	start_peer(do_nothing);
	fd = connected();
	began = now_ms();
	interrupt_soon();
	interrupted("rrecv", rrecv(fd, &byte, 1, 0), began);
}

PAIN(interrupted_poll, 15, 0)
{
	struct pollfd pollfd = { .events = POLLIN };
	long long began;

	start_peer(do_nothing);
	pollfd.fd = connected();
	began = now_ms();
	interrupt_soon();
	interrupted("rpoll", rpoll(&pollfd, 1, 10000), began);
}

PAIN(interrupted_accept, 15, 0)
{
	int listener = listening(pain_address, pain_port, 1);
	long long began = now_ms();

	interrupt_soon();
	interrupted("raccept", raccept(listener, NULL, NULL), began);
}

PAIN(interrupted_send, 15, 0)
{
	static char data[1000000];
	long long began;
	int fd;

	start_peer(do_nothing);
	fd = connected();
	send_until_full(fd);
	MUST(rfcntl(fd, F_SETFL, 0));
	began = now_ms();
	interrupt_soon();
	interrupted("rsend", rsend(fd, data, sizeof(data), 0), began);
}

PAIN(receive_timeout, 15, STOCK_FAILS | IN_DEBUG)
{
	struct timeval limit = { .tv_usec = 700000 };
	long long began;
	char byte;
	int fd;

	start_peer(do_nothing);
	fd = connected();
	MUST(rsetsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)));
	began = now_ms();
	expect(rrecv(fd, &byte, 1, 0) == -1 && errno == EAGAIN, "rrecv: %s", error_name(errno));
	expect_time("rrecv", now_ms() - began, 690, 2000);
}

PAIN(send_timeout, 15, STOCK_FAILS)
{
	struct timeval limit = { .tv_usec = 700000 };
	long long began;
	int fd;

	start_peer(do_nothing);
	fd = connected();
	send_until_full(fd);
	MUST(rfcntl(fd, F_SETFL, 0));
	MUST(rsetsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)));
	began = now_ms();
	expect(rsend(fd, "x", 1, 0) == -1 && errno == EAGAIN, "rsend: %s", error_name(errno));
	expect_time("rsend", now_ms() - began, 690, 2000);
}

/* Pollers of one socket all wake; an event that one thread has taken is not lost for the others. */
static void *poll_once(void *fd)
{
	return (void *)(intptr_t)events_of(*(int *)fd, POLLIN, 8000);
}

PAIN(many_pollers, 30, 0)
{
	pthread_t threads[8];
	long long began;
	void *events;
	int fd, n;

	start_peer(echo_all);
	fd = connected();
	for (n = 0; n < 8; n++)
		pthread_create(&threads[n], NULL, poll_once, &fd);
	usleep(300000);
	began = now_ms();
	expect(rsend(fd, "x", 1, 0) == 1, "rsend: %s", error_name(errno));
	for (n = 0; n < 8; n++) {
		pthread_join(threads[n], &events);
		expect((intptr_t)events & POLLIN, "thread %d: no event", n);
	}
	expect_time("waking all", now_ms() - began, 0, 3000);
}
