// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * One end of an rsocket that has no traffic, for either stack.
 *
 *	idle server ADDRESS PORT
 *	idle client ADDRESS PORT [SECONDS]
 *
 * With SECONDS the client switches keep-alive on. Output lines: "listening", "connected", and when
 * the connection has ended: "end EVENTS ERRNO" with the events of rpoll() and what rrecv() says.
 */
#define _GNU_SOURCE
#include "../rsocket/rs_program.h"

static int accepted(const char *ip, int port)
{
	struct sockaddr_storage address = get_address(ip, port);
	int listener = MUST(rsocket(AF_INET, SOCK_STREAM, 0));

	MUST(rbind(listener, (struct sockaddr *)&address, sizeof(struct sockaddr_in)));
	MUST(rlisten(listener, 1));
	puts("listening");
	return MUST(raccept(listener, NULL, NULL));
}

static int connected(const char *ip, int port, int seconds)
{
	struct sockaddr_storage address = get_address(ip, port);
	int fd = MUST(rsocket(AF_INET, SOCK_STREAM, 0));

	if (seconds) {
		set_int(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
		set_int(fd, IPPROTO_TCP, TCP_KEEPIDLE, seconds);
	}
	MUST(rconnect(fd, (struct sockaddr *)&address, sizeof(struct sockaddr_in)));
	return fd;
}

int main(int argc, char **argv)
{
	int fd, events;
	char byte;

	setlinebuf(stdout);
	if (argc < 4) {
		fputs("usage: idle server|client ADDRESS PORT [SECONDS]\n", stderr);
		return 2;
	}
	if (!strcmp(argv[1], "server"))
		fd = accepted(argv[2], atoi(argv[3]));
	else
		fd = connected(argv[2], atoi(argv[3]), argc > 4 ? atoi(argv[4]) : 0);
	puts("connected");
	events = events_of(fd, POLLIN, -1);
	printf("end 0x%x %s\n", events, rrecv(fd, &byte, 1, 0) < 0 ? error_name(errno) : "0");
	return 0;
}
