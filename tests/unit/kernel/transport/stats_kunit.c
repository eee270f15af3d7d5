// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of kernel/transport/stats.c: counters and durations.
 *
 * Locking: none of their own.
 */
#include <kunit/test.h>
#include <linux/slab.h>

#include "transport/transport.h"

struct bench {
	struct rca_stats __percpu *stats;
	struct rca_stats sum;
};

static int stats_init(struct kunit *test)
{
	struct bench *bench = kunit_kzalloc(test, sizeof(*bench), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, bench);
	bench->stats = alloc_percpu(struct rca_stats);
	/* Newer compilers do not compare it with NULL. */
	KUNIT_ASSERT_TRUE(test, !!bench->stats);
	test->priv = bench;
	return 0;
}

static void stats_exit(struct kunit *test)
{
	struct bench *bench = test->priv;

	if (bench)
		free_percpu(bench->stats);
}

static const struct rca_stats *sum(struct kunit *test)
{
	struct bench *bench = test->priv;

	rca_stats_sum(bench->stats, &bench->sum);
	return &bench->sum;
}

static unsigned long spans(const struct rca_stats *stats)
{
	unsigned long count = 0;
	int span, i;

	for (span = 0; span < RCA_SPANS; span++)
		for (i = 0; i < RCA_BUCKETS; i++)
			count += stats->took[span][i];
	return count;
}

/* Ends a span after @us with the awaited answer. */
static void end_connect_span(struct kunit *test, u64 us)
{
	struct bench *bench = test->priv;
	ktime_t since = ktime_sub_us(ktime_get(), us);

	rca_stats_step(bench->stats, RCA_ST_REQ_SENT, RCA_IN_REP, RCA_ST_REP_RCVD, &since);
}

static void each_step_counts(struct kunit *test)
{
	struct bench *bench = test->priv;
	ktime_t since = 0;
	int i;

	for (i = 0; i < 3; i++)
		rca_stats_step(bench->stats, RCA_ST_IDLE, RCA_IN_BIND, RCA_ST_BOUND, &since);
	KUNIT_EXPECT_EQ(test, sum(test)->inputs[RCA_IN_BIND], 3UL);
	KUNIT_EXPECT_EQ(test, sum(test)->inputs[RCA_IN_LISTEN], 0UL);
	KUNIT_EXPECT_EQ(test, spans(sum(test)), 0UL);
}

static void counts_of_all_processors_are_one(struct kunit *test)
{
	struct bench *bench = test->priv;
	unsigned long count = 0;
	int cpu;

	for_each_possible_cpu(cpu) {
		per_cpu_ptr(bench->stats, cpu)->inputs[RCA_IN_REP] = 2;
		per_cpu_ptr(bench->stats, cpu)->took[RCA_SPAN_ROUTE][5] = 1;
		per_cpu_ptr(bench->stats, cpu)->us[RCA_SPAN_ROUTE] = 20;
		count++;
	}
	KUNIT_EXPECT_EQ(test, sum(test)->inputs[RCA_IN_REP], 2 * count);
	KUNIT_EXPECT_EQ(test, sum(test)->took[RCA_SPAN_ROUTE][5], count);
	KUNIT_EXPECT_EQ(test, sum(test)->us[RCA_SPAN_ROUTE], 20ULL * count);
}

/* The test itself takes some time, too, which is much less. */
static void bucket_is_the_power_of_two(struct kunit *test)
{
	const struct rca_stats *stats;

	end_connect_span(test, 1000 * 1000);		/* less than 2^20 us, not less than 2^19 */
	end_connect_span(test, 3000 * 1000);
	stats = sum(test);
	KUNIT_EXPECT_EQ(test, stats->took[RCA_SPAN_CONNECT][20], 1UL);
	KUNIT_EXPECT_EQ(test, stats->took[RCA_SPAN_CONNECT][22], 1UL);
	KUNIT_EXPECT_EQ(test, spans(stats), 2UL);
	KUNIT_EXPECT_GE(test, stats->us[RCA_SPAN_CONNECT], 4000000ULL);
}

static void longest_ones_are_in_the_last_bucket(struct kunit *test)
{
	end_connect_span(test, 3600ULL * 1000 * 1000);
	KUNIT_EXPECT_EQ(test, sum(test)->took[RCA_SPAN_CONNECT][RCA_BUCKETS - 1], 1UL);
}

/* A clock that goes backwards does not count as a negative duration. */
static void nothing_takes_less_than_no_time(struct kunit *test)
{
	struct bench *bench = test->priv;
	ktime_t since = ktime_add_us(ktime_get(), 1000000);

	rca_stats_step(bench->stats, RCA_ST_DREQ_SENT, RCA_IN_DREP, RCA_ST_DISCONNECTED, &since);
	KUNIT_EXPECT_EQ(test, sum(test)->took[RCA_SPAN_DISCONNECT][0], 1UL);
	KUNIT_EXPECT_EQ(test, sum(test)->us[RCA_SPAN_DISCONNECT], 0ULL);
}

static void what_fails_is_not_fast(struct kunit *test)
{
	static const enum rca_input ends[] = {
		RCA_IN_REJ, RCA_IN_REQ_TIMEOUT, RCA_IN_ERROR, RCA_IN_DESTROY, RCA_IN_REMOVE,
	};
	struct bench *bench = test->priv;
	ktime_t since = ktime_get();
	int i;

	for (i = 0; i < ARRAY_SIZE(ends); i++)
		rca_stats_step(bench->stats, RCA_ST_REQ_SENT, ends[i], RCA_ST_FAILED, &since);
	KUNIT_EXPECT_EQ(test, spans(sum(test)), 0UL);
	KUNIT_EXPECT_EQ(test, sum(test)->inputs[RCA_IN_REJ], 1UL);
}

/* Each input in the first state of each span: only the answers end the span. */
static void answers_are_those_of_the_span(struct kunit *test)
{
	static const struct {
		enum rca_state state;
		enum rca_input answers[2];
	} rows[RCA_SPANS] = {
		[RCA_SPAN_ADDR] = { RCA_ST_ADDR_QUERY, { RCA_IN_ADDR_OK, RCA_IN_ADDR_OK } },
		[RCA_SPAN_ROUTE] = { RCA_ST_ROUTE_QUERY, { RCA_IN_ROUTE_OK, RCA_IN_ROUTE_OK } },
		[RCA_SPAN_CONNECT] = { RCA_ST_REQ_SENT, { RCA_IN_REP, RCA_IN_UP } },
		[RCA_SPAN_ACCEPT] = { RCA_ST_REP_SENT, { RCA_IN_RTU, RCA_IN_UP } },
		[RCA_SPAN_LOOKUP] = { RCA_ST_SIDR_SENT, { RCA_IN_REP, RCA_IN_REP } },
		[RCA_SPAN_DISCONNECT] = { RCA_ST_DREQ_SENT, { RCA_IN_DREP, RCA_IN_DREQ } },
	};
	struct bench *bench = test->priv;
	ktime_t since = ktime_get();
	unsigned long before;
	int span, input;
	bool wanted;

	for (span = 0; span < RCA_SPANS; span++) {
		for (input = 0; input < RCA_IN_COUNT; input++) {
			wanted = input == rows[span].answers[0] || input == rows[span].answers[1];
			before = spans(sum(test));
			rca_stats_step(bench->stats, rows[span].state, input, RCA_ST_FAILED,
				       &since);
			KUNIT_EXPECT_EQ_MSG(test, spans(sum(test)) - before,
					    (unsigned long)wanted, "%s: %s",
					    rca_stats_span_name(span), rca_input_name(input));
		}
	}
}

/* The span begins with the first request, even if it is sent again. */
static void waiting_to_ask_again_is_the_same_span(struct kunit *test)
{
	struct bench *bench = test->priv;
	ktime_t began = ktime_sub_us(ktime_get(), 1000 * 1000), since = began;

	rca_stats_step(bench->stats, RCA_ST_REQ_SENT, RCA_IN_STALE, RCA_ST_REQ_WAIT, &since);
	rca_stats_step(bench->stats, RCA_ST_REQ_WAIT, RCA_IN_RETRY, RCA_ST_REQ_SENT, &since);
	KUNIT_EXPECT_EQ(test, ktime_compare(since, began), 0);
	rca_stats_step(bench->stats, RCA_ST_REQ_SENT, RCA_IN_REP, RCA_ST_REP_RCVD, &since);
	KUNIT_EXPECT_EQ(test, sum(test)->took[RCA_SPAN_CONNECT][20], 1UL);
}

static void next_span_begins_when_its_state_does(struct kunit *test)
{
	struct bench *bench = test->priv;
	ktime_t began = ktime_sub_us(ktime_get(), 1000 * 1000), since = began;

	rca_stats_step(bench->stats, RCA_ST_ADDR_RESOLVED, RCA_IN_RESOLVE_ROUTE,
		       RCA_ST_ROUTE_QUERY, &since);
	KUNIT_EXPECT_GT(test, ktime_compare(since, began), 0);
	KUNIT_EXPECT_EQ(test, spans(sum(test)), 0UL);
}

static void spans_have_names(struct kunit *test)
{
	int state, span;

	for (span = 0; span < RCA_SPANS; span++)
		KUNIT_EXPECT_NOT_NULL(test, rca_stats_span_name(span));
	for (state = 0; state < RCA_ST_COUNT; state++)
		KUNIT_EXPECT_LE(test, (int)rca_stats_span(state), (int)RCA_SPAN_NONE);
	KUNIT_EXPECT_EQ(test, (int)rca_stats_span(RCA_ST_CONNECTED), (int)RCA_SPAN_NONE);
}

static struct kunit_case stats_cases[] = {
	KUNIT_CASE(each_step_counts),
	KUNIT_CASE(counts_of_all_processors_are_one),
	KUNIT_CASE(bucket_is_the_power_of_two),
	KUNIT_CASE(longest_ones_are_in_the_last_bucket),
	KUNIT_CASE(nothing_takes_less_than_no_time),
	KUNIT_CASE(what_fails_is_not_fast),
	KUNIT_CASE(answers_are_those_of_the_span),
	KUNIT_CASE(waiting_to_ask_again_is_the_same_span),
	KUNIT_CASE(next_span_begins_when_its_state_does),
	KUNIT_CASE(spans_have_names),
	{}
};

static struct kunit_suite stats_suite = {
	.name = "rdma_cm_alt_stats",
	.init = stats_init,
	.exit = stats_exit,
	.test_cases = stats_cases,
};
kunit_test_suite(stats_suite);
