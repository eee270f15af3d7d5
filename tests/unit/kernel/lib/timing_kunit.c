// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of kernel/lib/timing.c: settings of an id and their retry intervals.
 */
#include <kunit/test.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <rdma/rdma_cm_alt.h>

#include "lib/timing.h"

#define OPT(name) RDMA_CM_ALT_OPTION_##name

static int set_byte(struct rca_timing *timing, u32 name, u8 value)
{
	return rca_timing_set(timing, name, &value, sizeof(value));
}

static int set_deadline(struct rca_timing *timing, u32 ms)
{
	return rca_timing_set(timing, OPT(DEADLINE), &ms, sizeof(ms));
}

static int get_byte(const struct rca_timing *timing, u32 name)
{
	u32 len = 1;
	u8 value;
	int ret = rca_timing_get(timing, name, &value, &len);

	return ret ?: value;
}

/* A client of the stock rdma_cm uses 4096 ms, which is the limit. */
static void farewell_is_long_enough_for_eight_requests(struct kunit *test)
{
	struct rca_timing timing = {};

	KUNIT_EXPECT_EQ(test, (int)rca_timing_repeat(96), 7);
	KUNIT_EXPECT_EQ(test, rca_timing_drep_timeout(&timing, rca_timing_repeat(2048)), 8 * 2048u);
	KUNIT_EXPECT_EQ(test, rca_timing_drep_timeout(&timing, rca_timing_repeat(4096)), 8 * 4096u);
	KUNIT_EXPECT_EQ(test, rca_timing_drep_timeout(&timing, rca_timing_repeat(U32_MAX)),
			8 * 4096u);
}

static void nothing_set_is_the_default(struct kunit *test)
{
	struct rca_timing timing = {};
	u32 ms = 1, len = sizeof(ms);

	KUNIT_EXPECT_EQ(test, get_byte(&timing, OPT(RESPONSE_TIMEOUT)), 13);
	KUNIT_EXPECT_EQ(test, get_byte(&timing, OPT(MAX_RETRIES)), 15);
	KUNIT_EXPECT_EQ(test, get_byte(&timing, OPT(MRA_TIMEOUT)), 24);
	KUNIT_EXPECT_EQ(test, rca_timing_get(&timing, OPT(DEADLINE), &ms, &len), 0);
	KUNIT_EXPECT_EQ(test, ms, 0u);
	KUNIT_EXPECT_EQ(test, rca_timing_drep_timeout(&timing, rca_timing_repeat(0)), 10000u);
	KUNIT_EXPECT_EQ(test, rca_timing_drep_timeout(&timing, rca_timing_repeat(1000)), 10000u);
	KUNIT_EXPECT_FALSE(test, rca_timing_once(&timing));
}

static void values_have_bounds(struct kunit *test)
{
	static const struct {
		u32 name;
		u8 max;
	} bytes[] = {
		{ OPT(RESPONSE_TIMEOUT), 31 }, { OPT(MAX_RETRIES), 15 }, { OPT(MRA_TIMEOUT), 24 },
	};
	struct rca_timing timing = {};
	unsigned int i, value;

	for (i = 0; i < ARRAY_SIZE(bytes); i++) {
		for (value = 0; value < 256; value++) {
			int ret = set_byte(&timing, bytes[i].name, value);

			KUNIT_EXPECT_EQ(test, ret, value <= bytes[i].max ? 0 : -EINVAL);
			KUNIT_EXPECT_EQ(test, get_byte(&timing, bytes[i].name),
					(int)min_t(u8, value, bytes[i].max));
		}
	}
	KUNIT_EXPECT_EQ(test, set_deadline(&timing, 86400000), 0);
	KUNIT_EXPECT_EQ(test, set_deadline(&timing, 86400001), -EINVAL);
	KUNIT_EXPECT_EQ(test, set_deadline(&timing, U32_MAX), -EINVAL);
	KUNIT_EXPECT_EQ(test, timing.deadline_ms, 86400000u);
}

static void lengths_are_exact(struct kunit *test)
{
	struct rca_timing timing = {};
	u8 val[8] = {};
	u32 len, want;

	for (len = 0; len <= sizeof(val); len++) {
		KUNIT_EXPECT_EQ(test, rca_timing_set(&timing, OPT(MAX_RETRIES), val, len),
				len == 1 ? 0 : -EINVAL);
		KUNIT_EXPECT_EQ(test, rca_timing_set(&timing, OPT(DEADLINE), val, len),
				len == 4 ? 0 : -EINVAL);
		want = len;
		KUNIT_EXPECT_EQ(test, rca_timing_get(&timing, OPT(DEADLINE), val, &want),
				len >= 4 ? 0 : -EINVAL);
		KUNIT_EXPECT_EQ(test, want, len >= 4 ? 4 : len);
	}
	len = 0;
	KUNIT_EXPECT_EQ(test, rca_timing_get(&timing, OPT(MAX_RETRIES), val, &len), -EINVAL);
	len = sizeof(val);
	KUNIT_EXPECT_EQ(test, rca_timing_set(&timing, OPT(GID_TYPE), val, 1), -ENOSYS);
	KUNIT_EXPECT_EQ(test, rca_timing_get(&timing, OPT(GID_TYPE), val, &len), -ENOSYS);
	KUNIT_EXPECT_EQ(test, rca_timing_set(&timing, 99, val, 1), -ENOSYS);
}

/* The duration of all retry intervals without an answer. */
static u32 total_ms(struct kunit *test, const struct rca_timing *timing, u8 lifetime)
{
	u32 patience = rca_timing_total(timing, lifetime), total = 0;
	struct rca_req_timers round;
	unsigned int i;

	for (i = 0; total < patience; i++) {
		KUNIT_ASSERT_LT(test, i, 100u);
		rca_timing_req(timing, lifetime, i, 1, patience - total, &round);
		total += (round.retries + 1) * round.interval_ms;
	}
	KUNIT_EXPECT_LT(test, total, patience + round.interval_ms);
	return total;
}

/* A lost message costs one interval; the total time is at least that of the stock rdma_cm. */
static void lost_message_is_cheap_and_patience_that_of_stock(struct kunit *test)
{
	static const struct {
		u8 lifetime;
		u32 interval_ms;
		u8 local;
		u32 stock_ms;
	} paths[] = {
		{ 16, 544, 17, 73728 },	/* RoCE */
		{ 14, 160, 15, 67584 },
		{ 18, 2080, 19, 98304 },
		{ 0, 34, 13, 65568 },
	};
	struct rca_timing timing = {};
	struct rca_req_timers round;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(paths); i++) {
		rca_timing_req(&timing, paths[i].lifetime, 0, 1, U32_MAX, &round);
		KUNIT_EXPECT_EQ(test, round.interval_ms, paths[i].interval_ms);
		KUNIT_EXPECT_EQ(test, round.local, paths[i].local);
		KUNIT_EXPECT_EQ(test, (int)round.retries, 15);
		KUNIT_EXPECT_GE(test, total_ms(test, &timing, paths[i].lifetime),
				paths[i].stock_ms);
	}
}

static void settings_make_the_rounds(struct kunit *test)
{
	struct rca_timing timing = {};
	struct rca_req_timers round;

	KUNIT_ASSERT_EQ(test, set_byte(&timing, OPT(RESPONSE_TIMEOUT), 10), 0);
	KUNIT_ASSERT_EQ(test, set_byte(&timing, OPT(MAX_RETRIES), 2), 0);
	KUNIT_EXPECT_TRUE(test, rca_timing_once(&timing));
	rca_timing_req(&timing, 10, 0, 1, U32_MAX, &round);
	KUNIT_EXPECT_EQ(test, (int)round.remote, 10);
	KUNIT_EXPECT_EQ(test, (int)round.local, 11);
	KUNIT_EXPECT_EQ(test, (int)round.retries, 2);
	KUNIT_EXPECT_EQ(test, round.interval_ms, 12u);
	/* With a deadline there are several retry intervals, which end soon after it. */
	KUNIT_ASSERT_EQ(test, set_deadline(&timing, 100), 0);
	KUNIT_EXPECT_FALSE(test, rca_timing_once(&timing));
	KUNIT_EXPECT_EQ(test, rca_timing_total(&timing, 10), 100u);
	KUNIT_EXPECT_EQ(test, rca_timing_drep_timeout(&timing, rca_timing_repeat(4096)), 100u);
	KUNIT_EXPECT_EQ(test, rca_timing_linger(&timing, rca_timing_repeat(4096)), 100u);
	KUNIT_EXPECT_GE(test, total_ms(test, &timing, 10), 100u);
	rca_timing_req(&timing, 10, 0, 1, 13, &round);
	KUNIT_EXPECT_EQ(test, (int)round.retries, 1);
	rca_timing_req(&timing, 10, 0, 1, 0, &round);
	KUNIT_EXPECT_EQ(test, (int)round.retries, 0);
	/* A deadline does not extend the wait of an id that is destroyed. */
	KUNIT_ASSERT_EQ(test, set_deadline(&timing, 3600000), 0);
	KUNIT_EXPECT_EQ(test, rca_timing_linger(&timing, rca_timing_repeat(0)), 10000u);
	KUNIT_EXPECT_EQ(test, rca_timing_linger(&timing, rca_timing_repeat(4096)), 8 * 4096u);
}

/* A peer with many outstanding requests gets longer intervals, and fewer of them. */
static void many_requests_are_repeated_less_often(struct kunit *test)
{
	static const struct {
		unsigned int unanswered;
		u8 remote, retries;
	} loads[] = {
		{ 0, 13, 15 }, { 1, 13, 15 }, { 15, 13, 15 }, { 16, 14, 7 }, { 31, 14, 7 },
		{ 32, 15, 7 }, { 127, 16, 7 }, { 128, 17, 7 }, { 2048, 20, 7 }, { UINT_MAX, 20, 7 },
	};
	struct rca_timing timing = {};
	struct rca_req_timers round;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(loads); i++) {
		rca_timing_req(&timing, 14, 0, loads[i].unanswered, U32_MAX, &round);
		KUNIT_EXPECT_EQ(test, round.remote, loads[i].remote);
		KUNIT_EXPECT_EQ(test, (int)round.local, min(loads[i].remote + 2, 20));
		KUNIT_EXPECT_EQ(test, round.retries, loads[i].retries);
	}
	/* A quarter of its 8 REPs. */
	KUNIT_EXPECT_EQ(test, round.late_ms, 2 * 4096u);
	/* Settings apply independent of the load. */
	KUNIT_ASSERT_EQ(test, set_byte(&timing, OPT(MAX_RETRIES), 9), 0);
	rca_timing_req(&timing, 14, 0, 4096, U32_MAX, &round);
	KUNIT_EXPECT_EQ(test, (int)round.retries, 9);
	timing = (struct rca_timing) {};
	KUNIT_ASSERT_EQ(test, set_byte(&timing, OPT(RESPONSE_TIMEOUT), 13), 0);
	rca_timing_req(&timing, 14, 0, 4096, U32_MAX, &round);
	KUNIT_EXPECT_EQ(test, (int)round.remote, 13);
	KUNIT_EXPECT_EQ(test, (int)round.retries, 15);
}

/* Results fit into the fields of messages and the ints of ib_cm. */
static void extremes_fit(struct kunit *test)
{
	static const u8 lifetimes[] = { 0, 30, 31, 63, 255 };
	struct rca_timing timing = {};
	struct rca_req_timers round;
	unsigned int i, number;

	KUNIT_ASSERT_EQ(test, set_byte(&timing, OPT(RESPONSE_TIMEOUT), 31), 0);
	for (i = 0; i < ARRAY_SIZE(lifetimes); i++) {
		for (number = 0; number < 300; number++) {
			rca_timing_req(&timing, lifetimes[i], number, number, U32_MAX, &round);
			KUNIT_EXPECT_EQ(test, (int)round.remote, 31);
			KUNIT_EXPECT_EQ(test, (int)round.local, 31);
			KUNIT_EXPECT_LE(test, (int)round.retries, 15);
			KUNIT_EXPECT_LT(test, round.interval_ms, (u32)INT_MAX);
		}
	}
}

/* ib_cm is told no longer lifetime, whatever the path says. */
static void long_lifetimes_count_as_the_longest_that_is_told(struct kunit *test)
{
	static const u8 lifetimes[] = { 23, 31, 254 };
	struct rca_req_timers most, round;
	struct rca_timing timing = {};
	unsigned int i;

	rca_timing_req(&timing, RCA_MAX_LIFETIME, 0, 1, U32_MAX, &most);
	KUNIT_EXPECT_EQ(test, most.interval_ms, 2 * 16384 + 32u);
	for (i = 0; i < ARRAY_SIZE(lifetimes); i++) {
		rca_timing_req(&timing, lifetimes[i], 0, 1, U32_MAX, &round);
		KUNIT_EXPECT_EQ(test, round.interval_ms, most.interval_ms);
		KUNIT_EXPECT_EQ(test, (int)round.local, (int)most.local);
		KUNIT_EXPECT_EQ(test, rca_timing_total(&timing, lifetimes[i]),
				rca_timing_total(&timing, RCA_MAX_LIFETIME));
	}
}

static void datagrams_have_timers_when_asked(struct kunit *test)
{
	struct rca_timing timing = {};
	u8 retries;

	KUNIT_EXPECT_EQ(test, rca_timing_datagram(&timing, 16, &retries), 4096u);
	KUNIT_EXPECT_EQ(test, (int)retries, 15);
	KUNIT_ASSERT_EQ(test, set_byte(&timing, OPT(RESPONSE_TIMEOUT), 0), 0);
	KUNIT_ASSERT_EQ(test, set_byte(&timing, OPT(MAX_RETRIES), 1), 0);
	KUNIT_EXPECT_EQ(test, rca_timing_datagram(&timing, 16, &retries), 513u);
	KUNIT_EXPECT_EQ(test, (int)retries, 1);
}

static struct kunit_case timing_cases[] = {
	KUNIT_CASE(nothing_set_is_the_default),
	KUNIT_CASE(farewell_is_long_enough_for_eight_requests),
	KUNIT_CASE(values_have_bounds),
	KUNIT_CASE(lengths_are_exact),
	KUNIT_CASE(lost_message_is_cheap_and_patience_that_of_stock),
	KUNIT_CASE(settings_make_the_rounds),
	KUNIT_CASE(many_requests_are_repeated_less_often),
	KUNIT_CASE(extremes_fit),
	KUNIT_CASE(long_lifetimes_count_as_the_longest_that_is_told),
	KUNIT_CASE(datagrams_have_timers_when_asked),
	{}
};

static struct kunit_suite timing_suite = {
	.name = "rdma_cm_alt_timing",
	.test_cases = timing_cases,
};
kunit_test_suite(timing_suite);
