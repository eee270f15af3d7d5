// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Every call in every state of a stream socket. */
#include "rs.h"

/* How long a state may take to come, in ms. */
#define STATE_SOON 5000

static int fresh(void)
{
	return make_rs(SOCK_STREAM);
}

RS_GROUP(rs_fresh, IN_DEBUG)
{
	ask_state(fresh, ALL_ALONE);
}

static int bound(void)
{
	return make_rs_bound(SOCK_STREAM);
}

RS_GROUP(rs_bound, 0)
{
	ask_state(bound, ALL_ALONE);
}

static int listens(void)
{
	int fd = make_rs_bound(SOCK_STREAM);

	NEED(rlisten(fd, 1));
	return fd;
}

RS_GROUP(rs_listening, 0)
{
	ask_state(listens, ALL_ALONE);
}

static int connecting(void)
{
	int fd = make_rs(SOCK_STREAM);

	NEED(rconnect(fd, at(NOBODY, 7471), sizeof(struct sockaddr_in)) != -1);
	NEED(errno != EINPROGRESS);
	return fd;
}

RS_GROUP(rs_connecting, WAITS)
{
	ask_state(connecting, ALL_ALONE);
}

/* The error of the attempt is not asked for. */
static int refused(void)
{
	int fd = rsocket(AF_INET, SOCK_STREAM, 0);

	NEED(fd < 0);
	/* Nobody listens there. */
	NEED(rconnect(fd, at(HERE, 9), sizeof(struct sockaddr_in)) != -1);
	NEED(rfcntl(fd, F_SETFL, O_NONBLOCK));
	return fd;
}

RS_GROUP(rs_refused, WAITS)
{
	ask_state(refused, ALL_ALONE);
}

static int established(void)
{
	int peer;

	return make_rs_pair(&peer);
}

RS_GROUP(rs_connected, IN_DEBUG)
{
	ask_state(established, 0);
}

/* The server's end of a connection. */
static int accepted(void)
{
	int peer, fd = make_rs_pair(&peer);

	NEED(rfcntl(peer, F_SETFL, O_NONBLOCK));
	rs_peer = fd;
	return peer;
}

RS_GROUP(rs_accepted, 0)
{
	ask_state(accepted, 0);
}

static int peer_shut_down(int how)
{
	int peer, fd = make_rs_pair(&peer);

	NEED(rshutdown(peer, how));
	NEED(!rs_events(fd, POLLIN, STATE_SOON));
	return fd;
}

static int peer_wrote_all(void)
{
	return peer_shut_down(SHUT_WR);
}

RS_GROUP(rs_peer_shut_wr, 0)
{
	ask_state(peer_wrote_all, 0);
}

static int peer_ended(void)
{
	return peer_shut_down(SHUT_RDWR);
}

RS_GROUP(rs_peer_shut_rdwr, 0)
{
	ask_state(peer_ended, 0);
}

static int peer_closed(void)
{
	int peer, fd = make_rs_pair(&peer);

	rs_peer = -1;
	NEED(rclose(peer));
	NEED(!rs_events(fd, POLLIN, STATE_SOON));
	/* The connection manager's message comes after that of rsockets. */
	usleep(patience(100) * 1000);
	return fd;
}

RS_GROUP(rs_peer_closed, IN_DEBUG)
{
	ask_state(peer_closed, 0);
}

/* A server, which is forked before the library is used, and its port. */
static pid_t server;
static int server_port;

static void start_server(void)
{
	int pipes[2];

	NEED(pipe(pipes));
	server = fork();
	NEED(server < 0);
	if (!server) {
		server_port = rs_port();
		NEED(write(pipes[1], &server_port, sizeof(int)) != sizeof(int));
		raccept(rs_listener(), NULL, NULL);
		while (true)
			pause();
	}
	close(pipes[1]);
	NEED(read(pipes[0], &server_port, sizeof(int)) != sizeof(int));
}

static int peer_killed(void)
{
	int fd = rsocket(AF_INET, SOCK_STREAM, 0);

	NEED(fd < 0);
	NEED(rconnect(fd, at(HERE, server_port), sizeof(struct sockaddr_in)));
	NEED(rsend(fd, "x", 1, 0) != 1);
	NEED(rfcntl(fd, F_SETFL, O_NONBLOCK));
	usleep(patience(300) * 1000);
	NEED(kill(server, SIGKILL));
	/* With librdmacm of Debian 12 nothing may come. */
	rs_events(fd, POLLIN, 3000);
	return fd;
}

RS_GROUP(rs_peer_killed, COLD)
{
	start_server();
	ask_state(peer_killed, NO_CHANGES);
}

static int shut_down(int how)
{
	int peer, fd = make_rs_pair(&peer);

	NEED(rshutdown(fd, how));
	return fd;
}

static int no_more_reads(void)
{
	return shut_down(SHUT_RD);
}

RS_GROUP(rs_shut_rd, 0)
{
	ask_state(no_more_reads, 0);
}

static int no_more_writes(void)
{
	return shut_down(SHUT_WR);
}

RS_GROUP(rs_shut_wr, 0)
{
	ask_state(no_more_writes, 0);
}

static int no_more(void)
{
	return shut_down(SHUT_RDWR);
}

RS_GROUP(rs_shut_rdwr, 0)
{
	ask_state(no_more, 0);
}
