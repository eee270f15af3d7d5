// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Making sockets, binding, listening, connecting and polling: arguments of all kinds. */
#include "rs.h"

RS_GROUP(rs_create, IN_DEBUG)
{
	static const struct { const char *name; int family, type, protocol; } rows[] = {
		{ "inet", AF_INET, SOCK_STREAM, 0 },
		{ "inet6", AF_INET6, SOCK_STREAM, 0 },
		{ "ib", AF_IB, SOCK_STREAM, 0 },
		{ "tcp", AF_INET, SOCK_STREAM, IPPROTO_TCP },
		{ "stream_udp", AF_INET, SOCK_STREAM, IPPROTO_UDP },
		{ "dgram", AF_INET, SOCK_DGRAM, 0 },
		{ "dgram6", AF_INET6, SOCK_DGRAM, 0 },
		{ "udp", AF_INET, SOCK_DGRAM, IPPROTO_UDP },
		{ "dgram_tcp", AF_INET, SOCK_DGRAM, IPPROTO_TCP },
		{ "unix", AF_UNIX, SOCK_STREAM, 0 },
		{ "raw", AF_INET, SOCK_RAW, 0 },
		{ "seqpacket", AF_INET, SOCK_SEQPACKET, 0 },
		{ "nonblock", AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0 },
		{ "cloexec", AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0 },
	};
	unsigned int n;

	for (n = 0; n < sizeof(rows) / sizeof(*rows); n++)
		RSRET(rows[n].name,
		      rsocket(rows[n].family, rows[n].type, rows[n].protocol) < 0 ? -1 : 0);
}

RS_GROUP(rs_bind, 0)
{
	int first = make_rs(SOCK_STREAM), port = rs_port();

	RSRET("used", rbind(first, at(HERE, port), sizeof(struct sockaddr_in)));
	RSRET("then", rbind(first, at(HERE, 0), sizeof(struct sockaddr_in)));
	RSRET("again", rbind(first, at(HERE, 0), sizeof(struct sockaddr_in)));
	first = make_rs(SOCK_STREAM);
	RSRET("elsewhere", rbind(first, at(NOT_OURS, 0), sizeof(struct sockaddr_in)));
	RSRET("elsewhere_then", rbind(first, at(HERE, 0), sizeof(struct sockaddr_in)));
	first = make_rs(SOCK_STREAM);
	RSRET("family", rbind(first, at(HERE6, 0), sizeof(struct sockaddr_in6)));
	first = make_rs(SOCK_STREAM);
	RSRET("wildcard", rbind(first, at(NULL, 0), sizeof(struct sockaddr_in)));
	RSRET("null", rbind(make_rs(SOCK_STREAM), NULL, 0));
}

RS_GROUP(rs_bind_reuse, 0)
{
	int one = make_rs(SOCK_STREAM), other = make_rs(SOCK_STREAM), on = 1;
	struct sockaddr_in name;
	socklen_t len = sizeof(name);

	NEED(rsetsockopt(one, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)));
	NEED(rsetsockopt(other, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)));
	NEED(rbind(one, at(HERE, 0), sizeof(struct sockaddr_in)));
	NEED(rgetsockname(one, (struct sockaddr *)&name, &len));
	RSRET("both", rbind(other, (struct sockaddr *)&name, sizeof(name)));
	RSRET("listen", rlisten(one, 1));
	RSRET("listen_both", rlisten(other, 1));
}

RS_GROUP(rs_accept, IN_DEBUG)
{
	int fd = rsocket(AF_INET, SOCK_STREAM, 0), server, lazy;
	struct sockaddr_storage from = { 0 };
	socklen_t len = sizeof(from);

	NEED(fd < 0);
	NEED(rfcntl(rs_listener(), F_SETFL, O_NONBLOCK));
	RSRET("none", raccept(rs_listener(), NULL, NULL));
	RSRET("connect", rconnect(fd, at(HERE, rs_port()), sizeof(struct sockaddr_in)));
	rs_events_answer("poll", 1, rs_events(rs_listener(), POLLIN, 5000));
	server = raccept(rs_listener(), (struct sockaddr *)&from, &len);
	NEED(server < 0);
	rs_name_answer("address", 0, &from, len);
	answer("nonblocking", "%s", yes(rfcntl(server, F_GETFL) & O_NONBLOCK));
	RSRET("again", raccept(rs_listener(), NULL, NULL));
	lazy = rsocket(AF_INET, SOCK_STREAM, 0);
	RSRET("not_accepted", rconnect(lazy, at(HERE, rs_port()), sizeof(struct sockaddr_in)));
	RSRET("not_accepted_send", rsend(lazy, "abc", 3, 0));
	RSRET("close_listener", rclose(rs_listener()));
	RSRET("accepted_send", rsend(server, "abc", 3, 0));
	RSRET("accepted_receive", rrecv(fd, &from, 3, MSG_WAITALL));
	RSRET("not_accepted_receive", rrecv(lazy, &from, 1, 0));
}

RS_GROUP(rs_poll, 0)
{
	int peer, fd = make_rs_pair(&peer), pipes[2];
	struct pollfd fds[4] = {
		{ .fd = fd, .events = POLLIN }, { .fd = -1, .events = POLLIN, .revents = 99 },
		{ .events = POLLIN }, { .fd = peer, .events = POLLOUT },
	};

	NEED(pipe(pipes));
	fds[2].fd = pipes[0];
	RSRET("one_ready", rpoll(fds, 4, 0));
	answer("one_ready_events", "%x %x %x %x", fds[0].revents, fds[1].revents, fds[2].revents,
	       fds[3].revents);
	NEED(write(pipes[1], "x", 1) != 1);
	NEED(rsend(peer, "x", 1, 0) != 1);
	NEED(!rs_events(fd, POLLIN, 5000));
	RSRET("all_ready", rpoll(fds, 4, 1000));
	answer("all_ready_events", "%x %x %x %x", fds[0].revents, fds[1].revents, fds[2].revents,
	       fds[3].revents);
	RSRET("pipe_only", rpoll(&fds[2], 1, 1000));
	RSRET("minus_one_only", rpoll(&fds[1], 1, 0));
	RSRET("nothing", rpoll(NULL, 0, 0));
	RSRET("nothing_waits", rpoll(fds, 0, 50));
	fds[2].fd = 999;
	RSRET("not_open", rpoll(&fds[2], 1, 0));
	answer("not_open_events", "%x", fds[2].revents);
}
