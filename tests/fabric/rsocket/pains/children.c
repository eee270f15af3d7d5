// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Child processes of a program that has connections: they must not end or disturb them. */
#include "pains.h"

#include <sys/wait.h>

static void exchange(int fd)
{
	char byte = 0;

	expect(rsend(fd, "x", 1, 0) == 1, "rsend: %s", error_name(errno));
	expect(rrecv(fd, &byte, 1, 0) == 1 && byte == 'x', "rrecv: %s", error_name(errno));
}

/* A child does something, and must end by itself. */
static void child_does(void (*what)(int fd), int fd)
{
	int status = -1;
	pid_t child = MUST(fork());

	if (!child) {
		alarm(10);
		what(fd);
		exit(0);
	}
	MUST(waitpid(child, &status, 0));
	expect(!status, "the child ends with %#x", status);
}

static void close_it(int fd)
{
	MUST(rclose(fd));
}

/* exit() and the end of all its descriptors. */
static void do_not_care(int fd)
{
	(void)fd;
}

static void run_a_program(int fd)
{
	(void)fd;
	execlp("true", "true", NULL);
	exit(1);
}

PAIN(child_closes_its_copy, 40, STOCK_VARIES | IN_DEBUG)
{
	int fd;

	start_peer(echo_all);
	fd = connected();
	exchange(fd);
	child_does(close_it, fd);
	exchange(fd);
	child_does(do_not_care, fd);
	exchange(fd);
	child_does(run_a_program, fd);
	exchange(fd);
	MUST(rclose(fd));
}

/* What a child makes is its own, and ends with it. */
static void connect_too(int fd)
{
	(void)fd;
	fd = connected();
	MUST(rclose(fd));
}

PAIN(child_connects, 40, STOCK_VARIES)
{
	int fd;

	start_peer(echo_all);
	fd = connected();
	exchange(fd);
	child_does(connect_too, fd);
	exchange(fd);
}

/* A child that has nothing to do with the listener, and lives on. */
PAIN(listener_ends_with_its_process, 40, STOCK_VARIES)
{
	pid_t listener, child = 0;
	int ready[2], status = -1, fd;
	struct sockaddr_storage addr = get_address(pain_address, 0);

	MUST(pipe(ready));
	listener = MUST(fork());
	if (!listener) {
		MUST(rlisten(bound(pain_address, pain_port), 1));
		child = MUST(fork());
		if (!child) {
			alarm(60);
			pause();
		}
		expect(write(ready[1], &child, sizeof(child)) == sizeof(child), "the pipe");
		_exit(0);
	}
	expect(read(ready[0], &child, sizeof(child)) == sizeof(child), "nobody listens");
	MUST(waitpid(listener, &status, 0));
	fd = MUST(rsocket(addr.ss_family, SOCK_STREAM, 0));
	alarm(20);
	expect(connect_to(fd, pain_address, pain_port) < 0, "who has accepted?");
	kill(child, SIGKILL);
	expect(errno == ECONNREFUSED, "rconnect: %s", error_name(errno));
	MUST(rclose(fd));
}
