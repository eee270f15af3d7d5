// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of rca_notify(): a connection whose QP has received before the RTU of the peer arrived, and
 * a DREQ that has to wait for the RTU.
 *
 * Locking: none; work runs when a test flushes it.
 */
#include <kunit/test.h>
#include <linux/jiffies.h>
#include <rdma/ib_cm.h>
#include <rdma/rdma_user_cm.h>

#include "cm/cm.h"
#include "fake/fake_suite.h"
#include "lib/testing.h"

static void expect_event(struct kunit *test, u32 type)
{
	fake_expect_event(test, type, 0);
	fake_expect_no_event(test);
}

static struct rca_id *accepted(struct kunit *test, bool quiet)
{
	struct rca_id *id = fake_child(test, test->priv);
	struct rca_tp_conn conn = { .qp_num = 42 };

	KUNIT_ASSERT_EQ(test, rca_accept_as(id, FAKE_COOKIE, &conn, quiet), 0);
	return id;
}

static struct rca_id *notified(struct kunit *test)
{
	struct rca_id *id = accepted(test, false);

	KUNIT_ASSERT_EQ(test, rca_notify(id, IB_EVENT_COMM_EST), 0);
	expect_event(test, RDMA_CM_ALT_EVENT_ESTABLISHED);
	fake_expect_state(test, id, RCA_ST_CONNECTED);
	return id;
}

static void it_is_established_once(struct kunit *test)
{
	struct rca_id *id = notified(test);

	KUNIT_EXPECT_EQ(test, rca_notify(id, IB_EVENT_COMM_EST), -EISCONN);
	fake_message(id, RCA_IN_RTU, 0);
	fake_expect_no_event(test);
	fake_expect_state(test, id, RCA_ST_CONNECTED);
	KUNIT_EXPECT_FALSE(test, rca_id_work_pending(id));
}

static void quiet_accept_stays_quiet(struct kunit *test)
{
	struct rca_id *id = accepted(test, true);

	KUNIT_EXPECT_EQ(test, rca_notify(id, IB_EVENT_COMM_EST), 0);
	fake_expect_no_event(test);
	fake_expect_state(test, id, RCA_ST_CONNECTED);
}

static void only_who_waits_for_it_may_say_so(struct kunit *test)
{
	struct rca_id *id = fake_child(test, test->priv);

	KUNIT_EXPECT_EQ(test, rca_notify(id, IB_EVENT_COMM_EST), -EINVAL);
	KUNIT_EXPECT_EQ(test, rca_notify(id, IB_EVENT_QP_FATAL), -EINVAL);
	KUNIT_EXPECT_EQ(test, rca_notify(id, IB_EVENT_PATH_MIG), -EINVAL);
	fake_expect_no_event(test);
}

static void no_path_is_there_to_migrate_to(struct kunit *test)
{
	struct rca_id *id = notified(test);

	KUNIT_EXPECT_EQ(test, rca_notify(id, IB_EVENT_PATH_MIG), -EINVAL);
	fake_expect_no_event(test);
	fake_expect_state(test, id, RCA_ST_CONNECTED);
}

/* The peer has died without disconnecting. */
static void silence_ends_it(struct kunit *test)
{
	struct rca_id *id = notified(test);

	fake_message(id, RCA_IN_REP_TIMEOUT, -ETIMEDOUT);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_DISCONNECTED, -ETIMEDOUT);
	fake_expect_no_event(test);
	fake_expect_state(test, id, RCA_ST_CLOSED);
}

static void disconnect_waits_for_the_ready_to_use(struct kunit *test)
{
	struct rca_id *id = notified(test);
	struct fake *fake = test->priv;

	fake->fail = -EAGAIN;
	KUNIT_EXPECT_EQ(test, rca_disconnect(id), 0);
	KUNIT_EXPECT_EQ(test, fake->disconnects, 0);
	fake_expect_state(test, id, RCA_ST_DREQ_SENT);
	fake_expect_no_event(test);

	fake_message(id, RCA_IN_RTU, 0);
	rca_id_flush_work(id);
	KUNIT_EXPECT_EQ(test, fake->disconnects, 1);
	fake_expect_state(test, id, RCA_ST_DREQ_SENT);
	fake_message(id, RCA_IN_DREP, 0);
	expect_event(test, RDMA_CM_ALT_EVENT_DISCONNECTED);
}

static void disconnect_does_not_wait_for_ever(struct kunit *test)
{
	struct rca_id *id = notified(test);
	struct fake *fake = test->priv;

	fake->fail = -EAGAIN;
	KUNIT_EXPECT_EQ(test, rca_disconnect(id), 0);
	id->setup->drep_deadline = jiffies;
	fake->fail = -EAGAIN;
	rca_id_flush_work(id);
	expect_event(test, RDMA_CM_ALT_EVENT_DISCONNECTED);
	rca_id_flush_work(id);
	expect_event(test, RDMA_CM_ALT_EVENT_TIMEWAIT_EXIT);
	KUNIT_EXPECT_EQ(test, fake->disconnects, 0);
}

static void destroyed_id_asks_when_it_can(struct kunit *test)
{
	struct rca_id *id = rca_id_get(notified(test));
	struct fake *fake = test->priv;
	u32 reported;

	fake->fail = -EAGAIN;
	KUNIT_EXPECT_EQ(test, rca_destroy(fake->ctx, id->obj.handle, &reported), 0);
	KUNIT_EXPECT_EQ(test, fake->disconnects, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&fake->lowers), 1);

	fake_message(id, RCA_IN_RTU, 0);
	flush_work(&id->work);
	KUNIT_EXPECT_EQ(test, fake->disconnects, 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&fake->lowers), 1);
	fake_message(id, RCA_IN_DREP, 0);
	flush_work(&id->work);
	KUNIT_EXPECT_EQ(test, atomic_read(&fake->lowers), 0);
	rca_id_put(id);
}

static void destroyed_id_does_not_wait_for_ever(struct kunit *test)
{
	struct rca_id *id = rca_id_get(notified(test));
	struct fake *fake = test->priv;
	u32 reported;

	fake->fail = -EAGAIN;
	KUNIT_EXPECT_EQ(test, rca_destroy(fake->ctx, id->obj.handle, &reported), 0);
	KUNIT_ASSERT_NOT_NULL(test, id->setup);
	id->setup->drep_deadline = jiffies;
	rca_id_flush_work(id);
	KUNIT_EXPECT_EQ(test, atomic_read(&fake->lowers), 0);
	KUNIT_EXPECT_EQ(test, fake->disconnects, 0);
	rca_id_put(id);
}

/* The RTU never arrives, because the peer has died. */
static void destroyed_id_ends_with_a_reject(struct kunit *test)
{
	struct rca_id *id = rca_id_get(notified(test));
	struct fake *fake = test->priv;
	u32 reported;

	fake->fail = -EAGAIN;
	KUNIT_EXPECT_EQ(test, rca_destroy(fake->ctx, id->obj.handle, &reported), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&fake->lowers), 1);
	fake->fail = -EAGAIN;
	fake_message(id, RCA_IN_REJ, IB_CM_REJ_CONSUMER_DEFINED);
	flush_work(&id->work);
	KUNIT_EXPECT_EQ(test, atomic_read(&fake->lowers), 0);
	KUNIT_EXPECT_EQ(test, fake->disconnects, 0);
	rca_id_put(id);
}

static struct kunit_case notify_cases[] = {
	KUNIT_CASE(it_is_established_once),
	KUNIT_CASE(quiet_accept_stays_quiet),
	KUNIT_CASE(only_who_waits_for_it_may_say_so),
	KUNIT_CASE(no_path_is_there_to_migrate_to),
	KUNIT_CASE(silence_ends_it),
	KUNIT_CASE(disconnect_waits_for_the_ready_to_use),
	KUNIT_CASE(disconnect_does_not_wait_for_ever),
	KUNIT_CASE(destroyed_id_asks_when_it_can),
	KUNIT_CASE(destroyed_id_does_not_wait_for_ever),
	KUNIT_CASE(destroyed_id_ends_with_a_reject),
	{}
};

static struct kunit_suite notify_suite = {
	.name = "rdma_cm_alt_notify",
	.init = fake_suite_init,
	.exit = fake_suite_exit,
	.test_cases = notify_cases,
};
kunit_test_suite(notify_suite);
