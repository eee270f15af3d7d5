// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The report of a run, and whether the run was sufficient. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "stress.h"

/* With fewer calls there are no minima. */
#define FEW 2000

static uint64_t bad_of(const struct tally *tally)
{
	uint64_t bad = 0;

	for (int e = 1; e < MAX_ERRNO; e++)
		bad += tally->errors[e];
	return bad;
}

static uint64_t good_of(const char *name)
{
	for (int i = 0; i < op_count(); i++)
		if (!strcmp(op_name(i), name))
			return world->tally[i].calls - bad_of(&world->tally[i]);
	complain("there is no operation \"%s\"", name);
	return 0;
}

static uint64_t all_calls(void)
{
	uint64_t calls = 0;

	for (int i = 0; i < op_count(); i++)
		calls += world->tally[i].calls;
	return calls;
}

/*
 * The outcomes of ids, with minima: per second, or as a fraction of those that could have got
 * there, because slow processors reduce all of them. They fail a run in which nothing is
 * connected, which would prove little. How many requests meet a listener depends on the seed;
 * most ids are destroyed before.
 */
static void report_outcomes(uint64_t calls, double took)
{
	const uint64_t asked = good_of("create and connect") + good_of("connect") +
			       good_of("answer: connect");
	const uint64_t requests = world->events[RDMA_CM_ALT_EVENT_CONNECT_REQUEST];
	const uint64_t rejected = world->events[RDMA_CM_ALT_EVENT_REJECTED];
	const uint64_t unreachable = world->events[RDMA_CM_ALT_EVENT_UNREACHABLE];
	const uint64_t settled = requests + rejected + unreachable;
	const uint64_t accepted = good_of("accept") + good_of("answer: accept");
	const uint64_t established = world->events[RDMA_CM_ALT_EVENT_ESTABLISHED] +
				     good_of("establish") + good_of("answer: establish");
	const struct {
		const char *what;
		uint64_t count;
		unsigned int a_second;
		unsigned int one_of;
		uint64_t all;
	} outcomes[] = {
		{ "asked for a connection", asked, 0, 0, 0 },
		{ "came to something", settled, 20, 12, asked },
		{ "requests came", requests, 10, 12, settled },
		{ "accepted", accepted, 6, 3, requests },
		{ "established", established, 3, 4, accepted },
		{ "rejected", rejected, 2, 1000, calls },
		{ "unreachable", unreachable, 0, 0, 0 },
		{ "disconnected", world->events[RDMA_CM_ALT_EVENT_DISCONNECTED], 1, 20000, calls },
		{ "after TIMEWAIT", world->events[RDMA_CM_ALT_EVENT_TIMEWAIT_EXIT], 0, 0, 0 },
		{ "lost the device", world->events[RDMA_CM_ALT_EVENT_DEVICE_REMOVAL], 0, 0, 0 },
		{ "in a group", world->events[RDMA_CM_ALT_EVENT_MULTICAST_JOIN], 0, 0, 0 },
	};

	printf("ids:");
	for (unsigned int i = 0; i < sizeof(outcomes) / sizeof(outcomes[0]); i++) {
		uint64_t count = outcomes[i].count;

		printf("%s %llu %s", i ? "," : "", (unsigned long long)count, outcomes[i].what);
		if (count < outcomes[i].a_second * took &&
		    count * outcomes[i].one_of < outcomes[i].all && calls >= FEW)
			complain("%llu ids of %llu: %s", (unsigned long long)count,
				 (unsigned long long)outcomes[i].all, outcomes[i].what);
	}
	puts("");
}

/* Compares the first operations of the threads with those that the seed determines. */
static void report_trail(void)
{
	uint64_t seeds = 0;
	int threads = 0;

	for (int i = 0; i < CLEAN_WORKERS * THREADS; i++) {
		int stream = stream_of(i / THREADS, i % THREADS);
		uint64_t trail = op_trail(stream_begin(stream));

		seeds = seeds * 31 + trail;
		if (world->trail[i])
			threads++;
		if (world->trail[i] && world->trail[i] != trail)
			complain("the operations of stream %d are not those of its seed", stream);
	}
	printf("operations of seed %llu: %016llx, made by %d threads\n",
	       (unsigned long long)world->seed, (unsigned long long)seeds, threads);
}

static void report_calls(void)
{
	for (int i = 0; i < op_count(); i++) {
		const struct tally *tally = &world->tally[i];

		if (!tally->calls)
			continue;
		printf("%-18s %8llu calls, longest %6.0f ms, good %llu", op_name(i),
		       (unsigned long long)tally->calls, tally->longest / 1e6,
		       (unsigned long long)(tally->calls - bad_of(tally)));
		for (int e = 1; e < MAX_ERRNO; e++)
			if (tally->errors[e])
				printf(", %s %llu", strerrorname_np(e),
				       (unsigned long long)tally->errors[e]);
		puts("");
	}
	printf("events by type:");
	for (int i = 0; i < 32; i++)
		if (world->events[i])
			printf(" %d: %llu", i, (unsigned long long)world->events[i]);
	printf("; %u of them in order\n", world->ordered_events);
}

/* Prints the report and complains of what is missing. @took, @ending: seconds. */
void report(double took, double ending)
{
	uint64_t calls = all_calls();

	report_calls();
	report_outcomes(calls, took);
	report_trail();
	printf("seed %llu: %llu calls in %.0f s; %u contexts, %u queues; ",
	       (unsigned long long)world->seed, (unsigned long long)calls, took,
	       world->ctxs, world->queues);
	printf("%u processes killed, %u children that died, %u descriptors passed; ",
	       world->kills, world->forks, world->passed);
	printf("the end took %.1f s\n", ending);
	for (uint32_t i = 0; i < world->complaints && i < COMPLAINTS; i++)
		printf("wrong: %s\n", world->complaint[i]);
	if (world->complaints > COMPLAINTS)
		printf("wrong: and %u more\n", world->complaints - COMPLAINTS);
}
