// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of kernel/id/port_places.h in the send window, on a fake transport: requests to peers that
 * do not answer leave places of the port to others.
 *
 * Locking: none.
 */
#include "id/port_places.h"

#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/jiffies.h>

#include "connect/connect.h"
#include "fake/fake_suite.h"
#include "id/send_window.h"
#include "ops/teardown.h"

#define PLACES		32
#define HALF		16
#define WINDOW		24
#define SILENCE_MS	50
#define NEVER_MS	3600000
#define DEAD		0x0a090100	/* 10.9.1.0 and the addresses after it */
#define ALIVE		0x0a090200

/* Longer than a message counts, and than a peer waits until it looks for a place again. */
#define LONG_ENOUGH_MS	500

static int places_init(struct kunit *test)
{
	int ret = fake_suite_init(test);
	struct fake *fake = test->priv;

	if (ret)
		return ret;
	fake->dev.silent = kunit_kcalloc(test, 4, sizeof(atomic_t), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, fake->dev.silent);
	rca_places = PLACES;
	rca_window_timeout_ms = NEVER_MS;
	return 0;
}

static int taken(struct kunit *test)
{
	struct fake *fake = test->priv;
	int i, sum = 0;

	for (i = 0; i < 4; i++)
		sum += atomic_read(&fake->dev.silent[i]);
	return sum;
}

static void places_exit(struct kunit *test)
{
	fake_suite_exit(test);
	KUNIT_EXPECT_EQ(test, taken(test), 0);
	rca_places = RCA_PORT_PLACES;
	rca_window_timeout_ms = SILENCE_MS;
}

static struct rca_id *connecting_to(struct kunit *test, u32 ip)
{
	struct rca_id *id = fake_active_id(test, test->priv, FAKE_COOKIE);
	struct rca_tp_conn conn = { .qp_num = 42 };

	id->dst.in.sin_addr.s_addr = cpu_to_be32(ip);
	KUNIT_ASSERT_EQ(test, rca_connect(id, &conn), 0);
	return id;
}

/* Sends @count requests to one dead peer; returns the first. */
static struct rca_id *flood(struct kunit *test, u32 ip, int count)
{
	struct rca_id *first = connecting_to(test, ip);

	while (--count)
		connecting_to(test, ip);
	return first;
}

static void dead_peer_leaves_half_of_the_places(struct kunit *test)
{
	struct fake *fake = test->priv;
	struct rca_id *id;

	flood(test, DEAD, 2 * PLACES);
	KUNIT_EXPECT_EQ(test, fake->connects, HALF);
	KUNIT_EXPECT_EQ(test, taken(test), HALF);
	/* Another peer may be alive. */
	id = connecting_to(test, ALIVE);
	fake_expect_state(test, id, RCA_ST_REQ_SENT);
	id = connecting_to(test, ALIVE);
	fake_expect_state(test, id, RCA_ST_REQ_WAIT);
}

/* Each may be alive; ib_mad keeps them in order. */
static void first_request_to_each_peer_is_sent(struct kunit *test)
{
	struct fake *fake = test->priv;
	int i;

	for (i = 0; i < 2 * PLACES; i++)
		connecting_to(test, DEAD + i);
	KUNIT_EXPECT_EQ(test, fake->connects, 2 * PLACES);
	connecting_to(test, DEAD);
	KUNIT_EXPECT_EQ(test, fake->connects, 2 * PLACES);
}

static void peer_that_answers_does_not_wait_for_places(struct kunit *test)
{
	struct rca_id *id = connecting_to(test, ALIVE);
	struct fake *fake = test->priv;

	KUNIT_EXPECT_EQ(test, taken(test), 1);
	fake_message(id, RCA_IN_REJ, 8);
	KUNIT_EXPECT_EQ(test, taken(test), 0);
	flood(test, DEAD, 2 * PLACES);
	KUNIT_EXPECT_EQ(test, fake->connects, 1 + HALF);
	flood(test, ALIVE, 2 * PLACES);
	KUNIT_EXPECT_EQ(test, fake->connects, 1 + HALF + WINDOW);
	KUNIT_EXPECT_EQ(test, taken(test), HALF);
}

static void first_answer_lets_the_others_go(struct kunit *test)
{
	struct rca_id *first = flood(test, ALIVE, HALF), *next = connecting_to(test, ALIVE);
	struct fake *fake = test->priv;

	fake_expect_state(test, next, RCA_ST_REQ_WAIT);
	fake_message(first, RCA_IN_REJ, 8);
	rca_id_flush_work(next);
	fake_expect_state(test, next, RCA_ST_REQ_SENT);
	KUNIT_EXPECT_EQ(test, fake->connects, HALF + 1);
	KUNIT_EXPECT_EQ(test, taken(test), 0);
}

static void peer_that_stops_answering_is_silent(struct kunit *test)
{
	struct rca_id *id = connecting_to(test, ALIVE);

	fake_message(id, RCA_IN_REJ, 8);
	flood(test, ALIVE, 10);
	KUNIT_EXPECT_EQ(test, taken(test), 0);
	rca_window_timeout_ms = SILENCE_MS;
	msleep(LONG_ENOUGH_MS);
	connecting_to(test, ALIVE);
	KUNIT_EXPECT_EQ(test, taken(test), 11);
}

static void time_out(struct rca_id *id)
{
	id->setup->retry->once = true;
	fake_message(id, RCA_IN_REQ_TIMEOUT, -ETIMEDOUT);
}

/* A forgotten message frees no place, as ib_mad still has it; one that has ended does. */
static void place_is_free_when_the_request_has_ended(struct kunit *test)
{
	struct rca_id *first = connecting_to(test, DEAD);
	struct rca_id *second = flood(test, DEAD, HALF - 1);
	struct rca_id *id;

	connecting_to(test, ALIVE);
	rca_window_timeout_ms = SILENCE_MS;
	id = connecting_to(test, ALIVE);
	msleep(LONG_ENOUGH_MS);
	fake_expect_state(test, id, RCA_ST_REQ_WAIT);
	KUNIT_EXPECT_EQ(test, taken(test), HALF + 1);
	time_out(first);
	time_out(second);
	msleep(LONG_ENOUGH_MS);
	rca_id_flush_work(id);
	fake_expect_state(test, id, RCA_ST_REQ_SENT);
}

/* Pretend that two minutes have passed while a request waits. Was it sent before? */
static struct rca_id *wait_for_minutes(struct kunit *test, bool sent)
{
	struct rca_id *first = flood(test, DEAD, HALF), *id = connecting_to(test, DEAD);

	if (sent)
		id->setup->retry->sent = id->setup->retry->since;
	id->setup->retry->since -= 120 * HZ;
	id->setup->retry->deadline -= 120 * HZ;
	time_out(first);
	rca_id_flush_work(id);
	fake_expect_state(test, id, RCA_ST_REQ_SENT);
	return id;
}

/* Otherwise the requests to a dead peer would last for ever. */
static void wait_for_a_silent_peer_is_silence(struct kunit *test)
{
	struct rca_id *id = wait_for_minutes(test, true);

	KUNIT_EXPECT_TRUE(test, time_before(id->setup->retry->deadline, jiffies));
}

static void wait_before_the_first_request_is_no_silence(struct kunit *test)
{
	struct rca_id *id = wait_for_minutes(test, false);
	struct fake *fake = test->priv;

	KUNIT_EXPECT_TRUE(test, time_after(id->setup->retry->deadline, jiffies));
	KUNIT_EXPECT_EQ(test, (int)fake->last_timers.retries, 15);
}

static void disconnect_does_not_wait_for_places(struct kunit *test)
{
	struct rca_id *id = connecting_to(test, ALIVE);
	struct fake *fake = test->priv;

	fake_message(id, RCA_IN_REP, 0);
	KUNIT_ASSERT_EQ(test, rca_establish(id), 0);
	rca_window_timeout_ms = SILENCE_MS;
	msleep(LONG_ENOUGH_MS);
	/* The last of these wait for a place. */
	flood(test, ALIVE, HALF + 1);
	KUNIT_EXPECT_TRUE(test, rca_window_silent(id) || !id->setup);
	KUNIT_EXPECT_EQ(test, rca_disconnect(id), 0);
	KUNIT_EXPECT_EQ(test, fake->disconnects, 1);
}

static void no_limit_without_counters(struct kunit *test)
{
	struct fake *fake = test->priv;

	rca_places = 0;
	flood(test, DEAD, 2 * PLACES);
	KUNIT_EXPECT_EQ(test, fake->connects, 2 * PLACES);
	KUNIT_EXPECT_EQ(test, (int)fake->last_timers.retries, 15);
	KUNIT_EXPECT_EQ(test, taken(test), 0);
}

static struct kunit_case places_cases[] = {
	KUNIT_CASE(dead_peer_leaves_half_of_the_places),
	KUNIT_CASE(first_request_to_each_peer_is_sent),
	KUNIT_CASE(peer_that_answers_does_not_wait_for_places),
	KUNIT_CASE(first_answer_lets_the_others_go),
	KUNIT_CASE(peer_that_stops_answering_is_silent),
	KUNIT_CASE(place_is_free_when_the_request_has_ended),
	KUNIT_CASE(wait_for_a_silent_peer_is_silence),
	KUNIT_CASE(wait_before_the_first_request_is_no_silence),
	KUNIT_CASE(disconnect_does_not_wait_for_places),
	KUNIT_CASE(no_limit_without_counters),
	{}
};

static struct kunit_suite places_suite = {
	.name = "rdma_cm_alt_places",
	.init = places_init,
	.exit = places_exit,
	.test_cases = places_cases,
};
kunit_test_suite(places_suite);
