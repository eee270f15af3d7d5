// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of requests over a transport that repeats nothing by itself: the peer holds them, has no
 * listener, or loses its connections.
 *
 * Locking: none.
 */
#include <kunit/test.h>
#include <linux/jiffies.h>
#include <rdma/ib_cm.h>

#include "cm/cm.h"
#include "fake/fake_suite.h"
#include "id/id.h"
#include "lib/testing.h"

static const struct rca_tp_conn the_conn = { .qp_num = 42 };
static struct rca_tp_ops reliable;

/* An id whose request was sent over a reliable transport. */
static struct rca_id *requested(struct kunit *test)
{
	struct fake *fake = test->priv;
	struct rca_id *id = fake_active_id(test, fake, FAKE_COOKIE);

	reliable = *fake->dev.tp;
	reliable.reliable = true;
	id->tp = &reliable;
	KUNIT_ASSERT_EQ(test, rca_connect(id, &the_conn), 0);
	id->tp = &reliable;	/* in place of that of the device */
	rca_window_release(id);
	return id;
}

static void expect_wait(struct kunit *test, struct rca_id *id, enum rca_input why)
{
	fake_expect_no_event(test);
	fake_expect_state(test, id, RCA_ST_REQ_WAIT);
	KUNIT_EXPECT_EQ(test, (int)id->setup->retry->why, (int)why);
	KUNIT_EXPECT_TRUE(test, rca_id_work_pending(id));
}

static void expect_sent_again(struct kunit *test, struct rca_id *id)
{
	struct fake *fake = test->priv;

	rca_id_flush_work(id);
	fake_expect_state(test, id, RCA_ST_REQ_SENT);
	KUNIT_EXPECT_EQ(test, fake->connects, 2);
	KUNIT_EXPECT_EQ(test, atomic_read(&fake->lowers), 1);
}

static void held_request_is_sent_again(struct kunit *test)
{
	struct rca_id *id = requested(test);

	fake_message(id, RCA_IN_HELD, 0);
	expect_wait(test, id, RCA_IN_HELD);
	expect_sent_again(test, id);
	KUNIT_EXPECT_PTR_EQ(test, id->tp, (const struct rca_tp_ops *)&reliable);
}

static void request_is_held_too_long(struct kunit *test)
{
	struct rca_id *id = requested(test);

	id->setup->retry->deadline = jiffies - 1;
	fake_message(id, RCA_IN_HELD, 0);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_UNREACHABLE, -ETIMEDOUT);
	fake_expect_state(test, id, RCA_ST_FAILED);
}

/* The request goes another way, and takes a slot of the send window there. */
static void held_request_is_lost(struct kunit *test)
{
	struct rca_id *id = requested(test);
	struct fake *fake = test->priv;

	fake_message(id, RCA_IN_HELD, 0);
	fake_message(id, RCA_IN_REJ, IB_CM_REJ_STALE_CONN);
	expect_wait(test, id, RCA_IN_STALE);
	expect_sent_again(test, id);
	KUNIT_EXPECT_PTR_EQ(test, id->tp, fake->dev.tp);
	KUNIT_EXPECT_NOT_NULL(test, id->setup->slot.gate);
}

static void listener_is_elsewhere(struct kunit *test)
{
	const struct rca_tp_event event = {
		.input = RCA_IN_REJ,
		.status = IB_CM_REJ_INVALID_SERVICE_ID,
		.elsewhere = true,
	};
	struct rca_id *id = requested(test);

	rca_cm_event(id, id->lower, &event);
	expect_wait(test, id, RCA_IN_STALE);
	KUNIT_EXPECT_TRUE(test, id->setup->retry->elsewhere);
	expect_sent_again(test, id);
	/* That answer counts. */
	fake_message(id, RCA_IN_REJ, IB_CM_REJ_INVALID_SERVICE_ID);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_REJECTED, IB_CM_REJ_INVALID_SERVICE_ID);
}

static struct kunit_case held_cases[] = {
	KUNIT_CASE(held_request_is_sent_again),
	KUNIT_CASE(request_is_held_too_long),
	KUNIT_CASE(held_request_is_lost),
	KUNIT_CASE(listener_is_elsewhere),
	{}
};

static struct kunit_suite held_suite = {
	.name = "rdma_cm_alt_held",
	.init = fake_suite_init,
	.exit = fake_suite_exit,
	.test_cases = held_cases,
};
kunit_test_suite(held_suite);
