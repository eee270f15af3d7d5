// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of kernel/trunk/trunk.c: counters of trunks, and reasons of their ends.
 * tests/unit/kernel/run reads the tracepoint, where the kernel has tracing.
 *
 * Locking: none.
 */
#include "fake/device_bench.h"
#include "transport/transport.h"
#include "trunk/conn_bench.h"
#include "trunk/trunk.h"

static unsigned long count(struct kunit *test, enum rca_trunk_stat stat)
{
	struct rca_trunk *trunk = conn_bench->trunk;
	struct rca_stats *sum = kunit_kzalloc(test, sizeof(*sum), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, sum);
	rca_stats_sum(trunk->dev->stats[trunk->key.peer.port_num], sum);
	return sum->trunks[stat];
}

static void requests_are_counted(struct kunit *test)
{
	unsigned long before = count(test, RCA_STAT_REQUEST);
	struct rca_trunk_conn *conn = conn_in(test, RCA_CONN_REQ_RCVD);

	KUNIT_EXPECT_EQ(test, count(test, RCA_STAT_REQUEST), before + 1);
	KUNIT_EXPECT_EQ(test, count(test, RCA_STAT_CONNECT), 0UL);
	conn_destroy(conn);
}

static void links_are_counted(struct kunit *test)
{
	unsigned long opened = count(test, RCA_STAT_OPENED);
	unsigned long failed = count(test, RCA_STAT_FAILED);
	struct rca_trunk *trunk = conn_bench->trunk;

	rca_trunk_opening(trunk);
	rca_trunk_opened(trunk);
	rca_trunk_closed(trunk, false, false);
	KUNIT_EXPECT_EQ(test, count(test, RCA_STAT_OPENED), opened + 1);
	KUNIT_EXPECT_EQ(test, count(test, RCA_STAT_FAILED), failed);
	rca_trunk_opening(trunk);
	rca_trunk_closed(trunk, true, false);
	KUNIT_EXPECT_EQ(test, count(test, RCA_STAT_OPENED), opened + 1);
	KUNIT_EXPECT_EQ(test, count(test, RCA_STAT_FAILED), failed + 1);
}

/* A later reason follows from the first one; the next link has its own. */
static void first_reason_counts(struct kunit *test)
{
	struct rca_trunk *trunk = conn_bench->trunk;

	rca_trunk_opening(trunk);
	rca_trunk_because(trunk, "first");
	rca_trunk_because(trunk, "second");
	KUNIT_EXPECT_STREQ(test, trunk->why, "first");
	rca_trunk_closed(trunk, false, false);
	KUNIT_EXPECT_NULL(test, trunk->why);
	rca_trunk_because(trunk, "late");
	rca_trunk_opening(trunk);
	KUNIT_EXPECT_NULL(test, trunk->why);
}

/* The link and the session end for the same reason. */
static void session_is_lost_with_its_link(struct kunit *test)
{
	unsigned long lost = count(test, RCA_STAT_LOST);
	struct rca_trunk *trunk = conn_bench->trunk;

	rca_trunk_because(trunk, "both");
	rca_trunk_closed(trunk, false, true);
	KUNIT_EXPECT_STREQ(test, trunk->why, "both");
	rca_trunk_lost(trunk, 1, true);
	KUNIT_EXPECT_NULL(test, trunk->why);
	KUNIT_EXPECT_EQ(test, count(test, RCA_STAT_LOST), lost + 1);
}

/* A session without connections ends; the next one has its own reason. */
static void session_without_connections_is_not_lost(struct kunit *test)
{
	unsigned long lost = count(test, RCA_STAT_LOST);
	struct rca_trunk *trunk = conn_bench->trunk;

	rca_trunk_because(trunk, "nobody needs it");
	rca_trunk_lost(trunk, 1, false);
	KUNIT_EXPECT_NULL(test, trunk->why);
	KUNIT_EXPECT_EQ(test, count(test, RCA_STAT_LOST), lost);
}

/* A frame is longer than its recorded part, or shorter. */
static void frames_are_traced(struct kunit *test)
{
	struct rca_trunk_link *link = kunit_kzalloc(test, sizeof(*link), GFP_KERNEL);
	u8 *data = kunit_kzalloc(test, RCA_FRAME_MAX, GFP_KERNEL);
	struct ib_qp *qp = kunit_kzalloc(test, sizeof(*qp), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, link);
	KUNIT_ASSERT_NOT_NULL(test, data);
	KUNIT_ASSERT_NOT_NULL(test, qp);
	link->trunk = conn_bench->trunk;
	link->qp = qp;
	rca_trunk_trace_frame(link, true, data, RCA_FRAME_MAX);
	rca_trunk_trace_frame(link, false, data, 1);
}

static void each_counter_has_a_name(struct kunit *test)
{
	int one, two;

	for (one = 0; one < RCA_TRUNK_STATS; one++) {
		KUNIT_ASSERT_NOT_NULL(test, rca_stats_trunk_name(one));
		for (two = 0; two < one; two++)
			KUNIT_EXPECT_STRNEQ(test, rca_stats_trunk_name(one),
					    rca_stats_trunk_name(two));
	}
}

static struct kunit_case seen_cases[] = {
	KUNIT_CASE(requests_are_counted),
	KUNIT_CASE(links_are_counted),
	KUNIT_CASE(first_reason_counts),
	KUNIT_CASE(session_is_lost_with_its_link),
	KUNIT_CASE(session_without_connections_is_not_lost),
	KUNIT_CASE(frames_are_traced),
	KUNIT_CASE(each_counter_has_a_name),
	{}
};

CONN_SUITE(seen_suite, "trunk_seen", seen_cases);

kunit_test_suite(seen_suite);
