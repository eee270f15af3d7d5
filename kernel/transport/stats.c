// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Counters and durations of ports.
 *
 * Each event of an id is a step of its state machine (lib/fsm.c), so all are counted in
 * one place. A span is the time that an id spends in a state, or in states that wait for
 * the same answer. It is recorded when that answer ends it.
 *
 * Locking: none; the counters are per CPU, and a reader adds them up.
 */
#include "transport/stats.h"

#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/string.h>

DEFINE_PER_CPU(struct rca_stats, rca_stats_elsewhere);

/* Span + 1 of each state; 0: none. */
static const u8 span_of[RCA_ST_COUNT] = {
	[RCA_ST_ADDR_QUERY] = 1 + RCA_SPAN_ADDR,
	[RCA_ST_ROUTE_QUERY] = 1 + RCA_SPAN_ROUTE,
	[RCA_ST_REQ_SENT] = 1 + RCA_SPAN_CONNECT,
	[RCA_ST_REQ_WAIT] = 1 + RCA_SPAN_CONNECT,
	[RCA_ST_REP_SENT] = 1 + RCA_SPAN_ACCEPT,
	[RCA_ST_SIDR_SENT] = 1 + RCA_SPAN_LOOKUP,
	[RCA_ST_DREQ_SENT] = 1 + RCA_SPAN_DISCONNECT,
};

static const char * const names[RCA_SPANS] = {
	[RCA_SPAN_ADDR] = "address",
	[RCA_SPAN_ROUTE] = "route",
	[RCA_SPAN_CONNECT] = "connect",
	[RCA_SPAN_ACCEPT] = "accept",
	[RCA_SPAN_LOOKUP] = "lookup",
	[RCA_SPAN_DISCONNECT] = "disconnect",
};

static const char * const trunk_names[RCA_TRUNK_STATS] = {
	[RCA_STAT_CONNECT] = "trunk-connect",
	[RCA_STAT_REQUEST] = "trunk-request",
	[RCA_STAT_OPENED] = "trunk-open",
	[RCA_STAT_FAILED] = "trunk-failed",
	[RCA_STAT_REPLACED] = "trunk-replaced",
	[RCA_STAT_LOST] = "trunk-lost",
	[RCA_STAT_NO_TOKEN] = "trunk-refused",
	[RCA_STAT_HELLO_SENT] = "hello-sent",
	[RCA_STAT_HELLO_RECEIVED] = "hello-received",
};

/* A span that ends otherwise measures a timeout, not the speed of a peer or fabric. */
static bool is_answer(enum rca_span span, enum rca_input input)
{
	static_assert(RCA_IN_COUNT <= 64);
	static const u64 answers[RCA_SPANS] = {
		[RCA_SPAN_ADDR] = BIT_ULL(RCA_IN_ADDR_OK),
		[RCA_SPAN_ROUTE] = BIT_ULL(RCA_IN_ROUTE_OK),
		[RCA_SPAN_CONNECT] = BIT_ULL(RCA_IN_REP) | BIT_ULL(RCA_IN_UP),
		[RCA_SPAN_ACCEPT] = BIT_ULL(RCA_IN_RTU) | BIT_ULL(RCA_IN_UP),
		[RCA_SPAN_LOOKUP] = BIT_ULL(RCA_IN_REP),
		/* A peer that disconnects at the same time answers with its own DREQ. */
		[RCA_SPAN_DISCONNECT] = BIT_ULL(RCA_IN_DREP) | BIT_ULL(RCA_IN_DREQ),
	};

	return answers[span] & BIT_ULL(input);
}

/* The span that is measured in a state, or RCA_SPAN_NONE. */
enum rca_span rca_stats_span(enum rca_state state)
{
	return span_of[state] ? span_of[state] - 1 : RCA_SPAN_NONE;
}

const char *rca_stats_span_name(enum rca_span span)
{
	return names[span];
}

/* Not inline: most steps change no span. */
static noinline void change_span(struct rca_stats __percpu *stats, enum rca_span was,
				 enum rca_input input, ktime_t *since)
{
	ktime_t now = ktime_get();
	u64 us;

	if (was != RCA_SPAN_NONE && is_answer(was, input)) {
		us = max_t(s64, ktime_us_delta(now, *since), 0);
		this_cpu_inc(stats->took[was][min_t(unsigned int, fls64(us), RCA_BUCKETS - 1)]);
		this_cpu_add(stats->us[was], us);
	}
	*since = now;
}

/**
 * rca_stats_step() - count a step of an id
 * @stats: counters of its port
 * @old: state before
 * @input: input that was accepted
 * @now: state after
 * @since: start of the current span of the id; set when one begins or ends
 *
 * Context: Any context. The caller holds the lock of the id's state.
 */
void rca_stats_step(struct rca_stats __percpu *stats, enum rca_state old, enum rca_input input,
		    enum rca_state now, ktime_t *since)
{
	this_cpu_inc(stats->inputs[input]);
	if (span_of[old] != span_of[now])
		change_span(stats, rca_stats_span(old), input, since);
}

/* Counts a request of a peer for which no id was created. Any context. */
void rca_stats_refused(struct rca_stats __percpu *stats)
{
	this_cpu_inc(stats->refused);
}

/* Counts a route of InfiniBand that needed no query. Any context. */
void rca_stats_cached_path(struct rca_stats __percpu *stats)
{
	this_cpu_inc(stats->cached_paths);
}

/* Counts what has happened to a trunk, or because of it. Any context. */
void rca_stats_trunk(struct rca_stats __percpu *stats, enum rca_trunk_stat stat)
{
	this_cpu_inc(stats->trunks[stat]);
}

const char *rca_stats_trunk_name(enum rca_trunk_stat stat)
{
	return trunk_names[stat];
}

/* Adds up the counters of all CPUs, which are not read at one moment. Any context. */
void rca_stats_sum(const struct rca_stats __percpu *stats, struct rca_stats *sum)
{
	int cpu, i, n;

	memset(sum, 0, sizeof(*sum));
	for_each_possible_cpu(cpu) {
		const struct rca_stats *one = per_cpu_ptr(stats, cpu);

		sum->refused += READ_ONCE(one->refused);
		sum->cached_paths += READ_ONCE(one->cached_paths);
		for (i = 0; i < RCA_IN_COUNT; i++)
			sum->inputs[i] += READ_ONCE(one->inputs[i]);
		for (i = 0; i < RCA_TRUNK_STATS; i++)
			sum->trunks[i] += READ_ONCE(one->trunks[i]);
		for (i = 0; i < RCA_SPANS; i++) {
			sum->us[i] += READ_ONCE(one->us[i]);
			for (n = 0; n < RCA_BUCKETS; n++)
				sum->took[i][n] += READ_ONCE(one->took[i][n]);
		}
	}
}
