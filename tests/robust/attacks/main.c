// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Measures how long the operations of one user take, at most, alone and beside another user:
 *
 *	attacks stock|ours ROW
 *
 * It uses the librdmacm that it finds. The last line of the output has both times in seconds; an
 * operation that does not return has the time for which it was watched, with a plus sign, and one
 * that fails the name of its error.
 */
#include <sys/socket.h>

#include "attacks.h"
#include "tasks.h"

#define IDLE_SECONDS 1
#define ATTACK_SECONDS 4
/* The threads stand still elsewhere in each second. */
#define STARVED_SECONDS 20
/* How long an operation is waited for. */
#define LIMIT 10

bool stack_is_stock;
struct meter *meter;
static bool is_victim;

/* What is special in a row. */
enum { STARVED = 1, KILLED = 2 };

static const struct row {
	const char *name;
	void (*attack)(int ready);
	void (*victim)(void);
	int marks;
} rows[] = {
	{ "listens_resolve", attack_listens, victim_resolves, STARVED },
	{ "listens_listen", attack_listens, victim_listens, STARVED },
	{ "joins", attack_joins, victim_joins, STARVED },
	{ "reader_resolve", attack_reader, victim_resolves, 0 },
	{ "reader_connect", attack_reader, victim_connects, 0 },
	{ "descriptors", attack_descriptors, victim_closes, STARVED },
	{ "many_listens", attack_listens_of_many, victim_listens, 0 },
	{ "requests", attack_requests, victim_connects, 0 },
	{ "killed", attack_many_requests, victim_connects, KILLED },
	{ "withdrawn", attack_withdrawn, victim_connects, 0 },
	{ "readers", attack_readers, victim_connects, 0 },
	{ "resolutions", attack_resolutions, victim_resolves, 0 },
	{ "neighbours", attack_neighbours, victim_connects, 0 },
	{ "ports", attack_ports, victim_same_service, 0 },
	{ "links", attack_links, victim_connects, 0 },
};

void meter_error(int error)
{
	if (!is_victim)
		ktap_fail(__FILE__, __LINE__, "attack: %s", strerror(error));
	meter->error = error;
	_exit(1);
}

/* Watch the operations for some seconds, and the last one until it has taken LIMIT. */
static void watch(int seconds)
{
	double began;

	meter->worst = 0;
	meter->count = 0;
	meter->paused = false;
	sleep(seconds);
	meter->paused = true;
	while ((began = meter->began) && !meter->error && ktap_now() - began < LIMIT)
		usleep(10000);
}

static void tell_meter(char *text, size_t size)
{
	double began = meter->began;

	if (meter->error)
		snprintf(text, size, "%s", strerrorname_np(meter->error));
	else if (began)
		snprintf(text, size, "+%.3f", ktap_now() - began);
	else if (!meter->count)
		snprintf(text, size, "none");
	else
		snprintf(text, size, "%.4f", meter->worst);
}

static pid_t start_victim(void (*victim)(void))
{
	pid_t pid = MUST(fork());

	if (!pid) {
		is_victim = true;
		MUST(setgid(BERT));
		MUST(setuid(BERT));
		victim();
	}
	return pid;
}

static void measure(const struct row *row)
{
	char idle[32] = "-", beside[32];
	pid_t victim, busy;
	int status;

	if (row->marks & STARVED)
		need_starving(false);
	meter->paused = true;
	victim = start_victim(row->victim);
	/* These operations need the other user. */
	if (row->victim != victim_closes) {
		watch(IDLE_SECONDS);
		tell_meter(idle, sizeof(idle));
	}
	busy = start_busy(row->attack);
	if (row->marks & STARVED) {
		sleep(2);
		starve_busy(busy);
	}
	if (row->marks & KILLED)
		MUST(kill(-busy, SIGKILL));
	watch(row->marks & STARVED ? STARVED_SECONDS : ATTACK_SECONDS);
	tell_meter(beside, sizeof(beside));
	printf("result\t%s\t%s\t%u\n", idle, beside, meter->count);
	kill_busy(busy);
	MUST(kill(victim, SIGKILL));
	MUST(waitpid(victim, &status, 0));
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: %s stock|ours ROW\n", argv[0]);
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	stack_is_stock = !strcmp(argv[1], "stock");
	meter = mmap(NULL, sizeof(*meter), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	EXPECT(meter != MAP_FAILED);
	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, meter->descriptors));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!strcmp(rows[i].name, argv[2])) {
			measure(&rows[i]);
			return 0;
		}
	}
	fprintf(stderr, "there is no row %s\n", argv[2]);
	return 2;
}
