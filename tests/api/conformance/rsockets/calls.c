// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Every call on a socket, whatever its state. */
#include "rs.h"

struct question {
	const char *name;
	void (*ask)(const char *name, int fd);
	bool changes;		/* the state of the socket */
	bool maps;
};

#define QUESTION(call, expression)						\
	static void ask_##call(const char *name, int fd)			\
	{									\
		char data[8] = "abcdefg";					\
		struct iovec iov[2] = { { data, 3 }, { data + 3, 3 } };		\
		struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };	\
		int value = 0;							\
		socklen_t len = sizeof(value);					\
										\
		(void)msg;							\
		(void)len;							\
		RSRET(name, expression);					\
	}

QUESTION(rsend, rsend(fd, data, 1, MSG_DONTWAIT))
QUESTION(rsend_none, rsend(fd, data, 0, MSG_DONTWAIT))
QUESTION(rsend_nosignal, rsend(fd, data, 1, MSG_NOSIGNAL))
QUESTION(rsend_oob, rsend(fd, data, 1, MSG_OOB))
QUESTION(rsend_null, rsend(fd, NULL, 0, 0))
QUESTION(rsendto, rsendto(fd, data, 1, 0, NULL, 0))
QUESTION(rsendto_address, rsendto(fd, data, 1, 0, at(HERE, rs_port()), sizeof(struct sockaddr_in)))
QUESTION(rsendmsg, rsendmsg(fd, &msg, MSG_DONTWAIT))
QUESTION(rwrite, rwrite(fd, data, 2))
QUESTION(rwritev, rwritev(fd, iov, 2))
QUESTION(rwritev_none, rwritev(fd, iov, 0))
QUESTION(rrecv, rrecv(fd, data, sizeof(data), MSG_DONTWAIT))
QUESTION(rrecv_none, rrecv(fd, data, 0, MSG_DONTWAIT))
QUESTION(rrecv_peek, rrecv(fd, data, 1, MSG_DONTWAIT | MSG_PEEK))
QUESTION(rrecv_all, rrecv(fd, data, 2, MSG_DONTWAIT | MSG_WAITALL))
QUESTION(rrecvmsg, rrecvmsg(fd, &msg, MSG_DONTWAIT))
QUESTION(rread, rread(fd, data, 1))
QUESTION(rreadv, rreadv(fd, iov, 2))
QUESTION(error, (rgetsockopt(fd, SOL_SOCKET, SO_ERROR, &value, &len), value))
QUESTION(flags, rfcntl(fd, F_GETFL) & O_NONBLOCK)
QUESTION(close_on_exec, rfcntl(fd, F_GETFD))
QUESTION(bad_command, rfcntl(fd, F_GETOWN))
QUESTION(rcvbuf, rsetsockopt(fd, SOL_SOCKET, SO_RCVBUF, &(int){ 9000 }, sizeof(int)))
QUESTION(sqsize, rsetsockopt(fd, SOL_RDMA, RDMA_SQSIZE, &(int){ 100 }, sizeof(int)))
QUESTION(nodelay, rsetsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int)))
QUESTION(riomap, riomap(fd, data, sizeof(data), PROT_WRITE, 0, 0))
QUESTION(riounmap_none, riounmap(fd, data, sizeof(data)))
QUESTION(riowrite, (ssize_t)riowrite(fd, data, 1, 0, MSG_DONTWAIT))
QUESTION(rbind, rbind(fd, at(HERE, 0), sizeof(struct sockaddr_in)))
QUESTION(rlisten, rlisten(fd, 1))
QUESTION(raccept, raccept(fd, NULL, NULL))
QUESTION(rconnect, rconnect(fd, at(HERE, rs_port()), sizeof(struct sockaddr_in)))
QUESTION(rshutdown_bad, rshutdown(fd, 7))
QUESTION(rshutdown_rd, rshutdown(fd, SHUT_RD))
QUESTION(rshutdown_wr, rshutdown(fd, SHUT_WR))
QUESTION(rshutdown_rdwr, rshutdown(fd, SHUT_RDWR))

static void ask_rrecvfrom(const char *name, int fd)
{
	struct sockaddr_storage from = { 0 };
	socklen_t len = sizeof(from);
	char data[8];

	if (RSRET(name, rrecvfrom(fd, data, sizeof(data), MSG_DONTWAIT, (struct sockaddr *)&from,
				  &len)) >= 0)
		rs_name_answer("rrecvfrom_address", 0, &from, len);
}

static void ask_names(const char *name, int fd)
{
	struct sockaddr_storage own = { 0 }, peer = { 0 };
	socklen_t own_len = sizeof(own), peer_len = sizeof(peer);
	int ret;

	(void)name;
	ret = rgetsockname(fd, (struct sockaddr *)&own, &own_len);
	rs_name_answer("rgetsockname", ret, &own, own_len);
	ret = rgetpeername(fd, (struct sockaddr *)&peer, &peer_len);
	rs_name_answer("rgetpeername", ret, &peer, peer_len);
	own_len = 4;
	RSRET("rgetsockname_short", rgetsockname(fd, (struct sockaddr *)&own, &own_len));
	answer("rgetsockname_short_len", "%u", own_len);
}

static void ask_poll(const char *name, int fd)
{
	static const struct { const char *name; int events; } sets[] = {
		{ "poll_in", POLLIN }, { "poll_out", POLLOUT }, { "poll_both", POLLIN | POLLOUT },
		{ "poll_none", 0 }, { "poll_pri", POLLPRI }, { "poll_rdhup", POLLRDHUP },
	};
	unsigned int n;

	(void)name;
	for (n = 0; n < sizeof(sets) / sizeof(*sets); n++) {
		struct pollfd pollfd = { .fd = fd, .events = sets[n].events };
		int ret = rpoll(&pollfd, 1, 0);

		rs_events_answer(sets[n].name, ret, pollfd.revents);
	}
}

static void ask_select(const char *name, int fd)
{
	struct timeval none = { 0, 0 };
	fd_set in, out, bad;
	int ret;

	FD_ZERO(&in);
	FD_SET(fd, &in);
	out = in;
	bad = in;
	ret = rselect(fd + 1, &in, &out, &bad, &none);
	if (ret < 0)
		answer(name, "ret=%d errno=%s", ret, errno_name(errno));
	else
		answer(name, "ret=%d in=%s out=%s bad=%s", ret, yes(FD_ISSET(fd, &in)),
		       yes(FD_ISSET(fd, &out)), yes(FD_ISSET(fd, &bad)));
}

static void ask_rclose(const char *name, int fd)
{
	RSRET(name, rclose(fd));
	/* Not through the number: librdmacm crashes in some calls with a number that is closed. */
	answer("rclose_then", "%s", rgetpeername(fd, at(HERE, 0), &(socklen_t){ 16 }) ?
	       errno_name(errno) : "still there");
}

#define ROW(call) { #call, ask_##call, false, false }
#define CHANGES(call) { #call, ask_##call, true, false }

#define MAPS(call) { #call, ask_##call, true, true }

static const struct question questions[] = {
	ROW(poll), ROW(select), ROW(names), ROW(error), ROW(flags), ROW(close_on_exec),
	ROW(bad_command), ROW(rrecv), ROW(rrecv_none), ROW(rrecv_peek), ROW(rrecv_all),
	ROW(rrecvfrom), ROW(rrecvmsg), ROW(rread), ROW(rreadv), ROW(rsend), ROW(rsend_none),
	ROW(rsend_nosignal), ROW(rsend_oob), ROW(rsend_null), ROW(rsendto), ROW(rsendto_address),
	ROW(rsendmsg), ROW(rwrite), ROW(rwritev), ROW(rwritev_none), ROW(rcvbuf), ROW(sqsize),
	ROW(nodelay), ROW(rshutdown_bad), MAPS(riomap), MAPS(riounmap_none),
	MAPS(riowrite), CHANGES(rbind), CHANGES(rlisten), CHANGES(raccept), CHANGES(rconnect),
	CHANGES(rshutdown_rd), CHANGES(rshutdown_wr), CHANGES(rshutdown_rdwr), CHANGES(rclose),
};

/*
 * librdmacm fails when a process has more than a few sockets. After a call that crashed, the socket
 * may be locked for ever.
 */
static void discard(int fd)
{
	call_begin("");
	if (!sigsetjmp(call_escape, 1)) {
		rs_watch(1000);
		rclose(fd);
		if (rs_peer >= 0)
			rclose(rs_peer);
	}
	rs_watch(0);
	rs_peer = -1;
}

void ask_state(int (*make)(void), int how)
{
	int shared = how & ALL_ALONE ? -1 : make();
	unsigned int n;

	rs_peer = -1;
	for (n = 0; n < sizeof(questions) / sizeof(*questions); n++) {
		bool own = how & ALL_ALONE || questions[n].changes;
		int fd;

		if ((how & NO_MAPS && questions[n].maps) ||
		    (how & NO_CHANGES && questions[n].changes))
			continue;
		fd = own ? make() : shared;
		questions[n].ask(questions[n].name, fd);
		if (own)
			discard(fd);
	}
}
