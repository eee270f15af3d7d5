// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Rsockets in every state, and answers about them. */
#include "rs.h"

static int listener = -1, listener_port;

int rs_peer = -1;

/* The signal is one that the harness takes for a crash, so the call is left. */
bool rs_watch(int ms)
{
	static timer_t timer;
	static bool exists;
	struct itimerspec time = { .it_value.tv_sec = patience(ms) / 1000 }, left;
	struct sigevent event = {
		.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGABRT,
		._sigev_un._tid = gettid(),
	};

	if (!exists)
		NEED(timer_create(CLOCK_MONOTONIC, &event, &timer));
	exists = true;
	/* errno is that of the call, as these succeed. */
	NEED(timer_settime(timer, 0, &time, &left));
	return !left.it_value.tv_sec && !left.it_value.tv_nsec;
}

int rs_listener(void)
{
	struct sockaddr_in name;
	socklen_t len = sizeof(name);

	if (listener >= 0)
		return listener;
	listener = rsocket(AF_INET, SOCK_STREAM, 0);
	NEED(listener < 0);
	NEED(rbind(listener, at(HERE, 0), sizeof(struct sockaddr_in)));
	NEED(rgetsockname(listener, (struct sockaddr *)&name, &len));
	listener_port = ntohs(name.sin_port);
	NEED(rlisten(listener, 8));
	return listener;
}

int rs_port(void)
{
	rs_listener();
	return listener_port;
}

int make_rs(int type)
{
	int fd = rsocket(AF_INET, type, 0);

	NEED(fd < 0);
	NEED(rfcntl(fd, F_SETFL, O_NONBLOCK));
	return fd;
}

int make_rs_bound(int type)
{
	int fd = make_rs(type);

	NEED(rbind(fd, at(HERE, 0), sizeof(struct sockaddr_in)));
	return fd;
}

int make_rs_pair(int *peer)
{
	int fd = rsocket(AF_INET, SOCK_STREAM, 0);

	NEED(fd < 0);
	NEED(rconnect(fd, at(HERE, rs_port()), sizeof(struct sockaddr_in)));
	*peer = raccept(rs_listener(), NULL, NULL);
	NEED(*peer < 0);
	rs_peer = *peer;
	NEED(rfcntl(fd, F_SETFL, O_NONBLOCK));
	return fd;
}

int rs_events(int fd, int events, int ms)
{
	struct pollfd pollfd = { .fd = fd, .events = events };
	int ret = rpoll(&pollfd, 1, patience(ms));

	NEED(ret < 0);
	return ret ? pollfd.revents : 0;
}

void rs_events_answer(const char *check, int ret, int revents)
{
	static const struct { int bit; const char *name; } names[] = {
		{ POLLIN, "IN" }, { POLLPRI, "PRI" }, { POLLOUT, "OUT" }, { POLLERR, "ERR" },
		{ POLLHUP, "HUP" }, { POLLNVAL, "NVAL" }, { POLLRDHUP, "RDHUP" },
	};
	int error = errno, n, left = revents;
	char text[100] = "";

	for (n = 0; n < (int)(sizeof(names) / sizeof(*names)); n++)
		if (revents & names[n].bit) {
			strcat(text, " ");
			strcat(text, names[n].name);
			left &= ~names[n].bit;
		}
	if (ret < 0)
		answer(check, "ret=%d errno=%s", ret, errno_name(error));
	else
		answer(check, "ret=%d%s%s", ret, text, left ? " and others" : "");
}

static const char *port_text(int port)
{
	return !port ? "0" : port == listener_port ? "listener" : "other";
}

void rs_name_answer(const char *check, int ret, const struct sockaddr_storage *addr, socklen_t len)
{
	const struct sockaddr_in *in = (const void *)addr;
	char text[64] = "?";

	if (ret) {
		answer(check, "ret=%d errno=%s", ret, errno_name(errno));
		return;
	}
	if (addr->ss_family == AF_INET)
		inet_ntop(AF_INET, &in->sin_addr, text, sizeof(text));
	answer(check, "ret=0 family=%d len=%u %s port=%s", addr->ss_family, len, text,
	       addr->ss_family == AF_INET ? port_text(ntohs(in->sin_port)) : "?");
}
