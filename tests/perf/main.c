// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Runs one measurement and prints the result as a JSON object.
 *
 *	drive [OPTION...] MODE
 *
 *	serve		nothing: the server of a driver that runs with -e
 *	rate		connections with WINDOW outstanding, then their disconnects
 *	cycle		connections with WINDOW outstanding, each from its first call to its last
 *	resolve		address and route of one id after the other
 *	storm		all addresses first, then all connects, WINDOW at a time; 0: all at once
 *	dead		connections with and without ids that try to reach dead peers
 *	ids		ids to one destination, until one fails
 *	memory		memory of idle connections in the kernel
 *	close		a server's channel whose ids have unread disconnect events
 *	destroy		an id that connects to a dead peer
 *	disconnect	synchronous, from a peer that the command in $PERF_GONE has disconnected
 *	hold		COUNT connections until it is killed; says that they are there
 *	listeners	the same with COUNT listeners, from the port on
 *	messages	COUNT messages of 64 bytes of an rsocket, and their answers
 *	bulk		COUNT pieces of 64 KiB of an rsocket
 *	streams		COUNT connections of rsockets, one after the other
 *	crowd		COUNT connections of rsockets that are idle: what they occupy
 *	floor		counts what the floor module does for the text in $PERF_FLOOR
 *
 *	-a ADDRESS -s SOURCE -N NETNS -p PORT -P PEERS -n COUNT -w WINDOW -q QPN -i MS
 *	-d DEAD -u NOBODY -m DEADCOUNT -D DEADLINE: as struct options has them
 *	-Q		each id has a QP
 *	-M		rate, cycle and serve: and the QP carries a message and its answer
 *	-e		the server runs already, elsewhere
 *	-F		rate and serve: through the calls of <rdma/rdma_cma_alt.h>
 *	-k MAPS		rate, resolve: mark the measured part for tests/perf/count, measure no
 *			times, and write where the libraries are to this file
 *	-t SECONDS	time limit of the whole run
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "perf.h"

struct options options = {
	.port = 7471, .peers = 1, .count = 1000, .window = 1, .qpn = 0x10000, .interval = 10,
	.dead_count = 1000,
};

static const struct {
	const char *name;
	void (*measure)(void);
} modes[] = {
	{ "serve", serve_only },
	{ "rate", measure_rate },
	{ "cycle", measure_cycle },
	{ "resolve", measure_resolve },
	{ "storm", measure_storm },
	{ "dead", measure_dead },
	{ "ids", measure_ids },
	{ "memory", measure_memory },
	{ "close", measure_close },
	{ "destroy", measure_destroy },
	{ "disconnect", measure_disconnect },
	{ "floor", measure_floor },
	{ "hold", hold_connections },
	{ "listeners", hold_listeners },
	{ "messages", measure_messages },
	{ "bulk", measure_bulk },
	{ "streams", measure_streams },
	{ "crowd", measure_crowd },
};

/* 0 while instructions are counted: reading the clock is a system call in an emulated guest. */
double now_us(void)
{
	struct timespec now;

	if (options.maps)
		return 0;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

void give_up(const char *what)
{
	err(1, "%s", what);
}

/* The last result is kept, because most drivers have one peer. */
struct sockaddr *address_of(const char *text, int port)
{
	static struct sockaddr *last;
	static struct sockaddr_in6 in6;
	static struct sockaddr_in in;
	static const char *last_text;
	static int last_port;

	if (last && last_text == text && last_port == port)
		return last;
	last_text = text;
	last_port = port;
	in = (struct sockaddr_in) { .sin_family = AF_INET, .sin_port = htons(port) };
	in6 = (struct sockaddr_in6) { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	if (inet_pton(AF_INET, text, &in.sin_addr) == 1)
		last = (struct sockaddr *)&in;
	else if (inet_pton(AF_INET6, text, &in6.sin6_addr) == 1)
		last = (struct sockaddr *)&in6;
	else
		errx(2, "'%s' is no address", text);
	return last;
}

struct rdma_conn_param conn_param(void)
{
	static uint32_t used;

	return (struct rdma_conn_param) {
		.responder_resources = 1, .initiator_depth = 1, .retry_count = 7,
		.rnr_retry_count = 7, .qp_num = (options.qpn + used++) & 0xffffff,
	};
}

static void too_long(int number)
{
	static const char text[] = "drive: it took too long\n";
	ssize_t done = write(STDERR_FILENO, text, sizeof(text) - 1);

	(void)number;
	(void)done;
	/* The server is in the same process group. */
	kill(0, SIGKILL);
}

/* Parse the argument of an option; false: there is no such option. */
static bool take_option(int letter, const char *text)
{
	const struct { char letter; const char **to; } texts[] = {
		{ 'a', &options.address }, { 's', &options.source }, { 'N', &options.netns },
		{ 'd', &options.dead }, { 'u', &options.nobody }, { 'k', &options.maps },
	};
	const struct { char letter; int *to; } numbers[] = {
		{ 'p', &options.port }, { 'P', &options.peers }, { 'n', &options.count },
		{ 'w', &options.window },
		{ 'i', &options.interval }, { 'm', &options.dead_count },
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (texts[i].letter == letter) {
			*texts[i].to = text;
			return true;
		}
	}
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (numbers[i].letter == letter) {
			*numbers[i].to = atoi(text);
			return true;
		}
	}
	if (letter == 'D')
		options.deadline = atoi(text);
	else if (letter == 'Q' || letter == 'M')
		options.qps = true;
	else if (letter == 'e')
		options.elsewhere = true;
	else if (letter == 'F')
		options.fused = true;
	else if (letter == 'q')
		options.qpn = strtoul(text, NULL, 0);
	else if (letter == 't')
		alarm(atoi(text));
	options.messages |= letter == 'M';
	return strchr("DQMeFqt", letter);
}

int main(int argc, char **argv)
{
	int letter;

	setpgid(0, 0);
	signal(SIGALRM, too_long);
	while ((letter = getopt(argc, argv, "a:s:N:p:P:n:w:q:i:d:u:m:D:t:k:QMeF")) != -1)
		if (!take_option(letter, optarg))
			return 2;
	for (size_t i = 0; optind < argc && i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcmp(argv[optind], modes[i].name))
			continue;
		if (!options.address || options.count < 1 || options.peers < 1)
			errx(2, "an address, a count and peers are needed");
		if (options.fused)
			fused_init();
		printf("{\"mode\": \"%s\", \"count\": %d, \"window\": %d", modes[i].name,
		       options.count, options.window);
		/* A forked child must not print buffered text again. */
		fflush(stdout);
		modes[i].measure();
		printf("}\n");
		return fflush(stdout) ? 1 : 0;
	}
	errx(2, "which of its modes? The head of its source has them");
}
