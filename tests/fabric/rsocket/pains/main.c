// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * usage: pains -l				prints the rows: name, limit in seconds, marks
 *	  pains [-a ADDRESS] -p PORT NAME	runs a row: exit status 0, or a line that says why
 *					not *
 * PAINS_FACTOR in the environment scales time limits.
 */
#include "pains.h"

#include <stdarg.h>
#include <sys/prctl.h>

#define MAX_PAINS 64
/* More than the credits of a connection. */
#define MANY_SENDS 20000

static struct pain pains[MAX_PAINS];
static int count;

const char *pain_address = "10.9.0.1";
int pain_port = 7471;
int pain_listener = -1;

static int factor = 1;

void pain_register(const char *name, void (*run)(void), int limit, int marks)
{
	if (count == MAX_PAINS)
		abort();
	pains[count++] = (struct pain){ name, run, limit, marks };
}

void expect(bool condition, const char *format, ...)
{
	va_list args;

	if (condition)
		return;
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	exit(1);
}

void expect_time(const char *what, long long took, long long least, long long most)
{
	expect(took >= least && took <= most * factor, "%s took %lld ms, not %lld to %lld", what,
	       took, least, most * factor);
}

pid_t start_peer_with(void (*prepare)(int fd), void (*with)(int fd))
{
	int ready[2];
	char byte = 0;
	pid_t pid;

	MUST(pipe(ready));
	pid = MUST(fork());
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pain_listener = bound(pain_address, pain_port);
		if (prepare)
			prepare(pain_listener);
		MUST(rlisten(pain_listener, 1024));
		expect(write(ready[1], &byte, 1) == 1, "the pipe");
		with(MUST(raccept(pain_listener, NULL, NULL)));
		while (true)
			pause();
	}
	close(ready[1]);
	expect(read(ready[0], &byte, 1) == 1, "the peer does not listen");
	close(ready[0]);
	return pid;
}

pid_t start_peer(void (*with)(int fd))
{
	return start_peer_with(NULL, with);
}

int connected_with(void (*prepare)(int fd))
{
	struct sockaddr_storage addr = get_address(pain_address, 0);
	int fd = MUST(rsocket(addr.ss_family, SOCK_STREAM, 0));

	if (prepare)
		prepare(fd);
	MUST(connect_to(fd, pain_address, pain_port));
	return fd;
}

int connected(void)
{
	return connected_with(NULL);
}

void send_until_full(int fd)
{
	long long began;
	int n;

	MUST(rfcntl(fd, F_SETFL, O_NONBLOCK));
	/* Completions and credits may still come: full is what is full for a while. */
	for (n = 0, began = now_ms(); n < MANY_SENDS && now_ms() - began < 1000; n++)
		if (rsend(fd, "x", 1, 0) == 1)
			began = now_ms();
		else if (errno == EAGAIN)
			usleep(10000);
		else
			fail("rsend");
	expect(n < MANY_SENDS, "the connection is never full");
}

void do_nothing(int fd)
{
	(void)fd;
}

void read_all(int fd)
{
	char data[4096];

	while (rrecv(fd, data, sizeof(data), 0) > 0)
		;
}

void echo_all(int fd)
{
	char data[4096];
	ssize_t got;

	while ((got = rrecv(fd, data, sizeof(data), 0)) > 0)
		expect(rsend(fd, data, got, 0) == got, "the peer cannot send back");
}

static void list(void)
{
	int n;

	for (n = 0; n < count; n++)
		printf("%s %d%s%s%s%s\n", pains[n].name, pains[n].limit,
		       pains[n].marks & STOCK_FAILS ? " stock-fails" : "",
		       pains[n].marks & STOCK_VARIES ? " stock-varies" : "",
		       pains[n].marks & SLOW ? " slow" : "",
		       pains[n].marks & IN_DEBUG ? " debug" : "");
}

int main(int argc, char **argv)
{
	const char *text = getenv("PAINS_FACTOR");
	int letter, n;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (text)
		factor = atoi(text);
	while ((letter = getopt(argc, argv, "la:p:")) != -1) {
		if (letter == 'l') {
			list();
			return 0;
		} else if (letter == 'a') {
			pain_address = optarg;
		} else if (letter == 'p') {
			pain_port = atoi(optarg);
		} else {
			return 2;
		}
	}
	for (n = 0; n < count && optind < argc; n++)
		if (!strcmp(pains[n].name, argv[optind])) {
			pains[n].run();
			return 0;
		}
	fprintf(stderr, "pains: a row is needed: pains -l\n");
	return 2;
}
