// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Requests that a peer rejects as stale, on a transport without a wire: when
 * they are sent again, and what ends the waiting.
 *
 * Locking: none.
 */
#include "retry.h"

#include <kunit/test.h>
#include <linux/jiffies.h>
#include <rdma/ib_cm.h>

#include "connect.h"
#include "fake_transport.h"
#include "teardown.h"
#include "wire.h"

#define COOKIE 0x5eed
#define STALE ((int)IB_CM_REJ_STALE_CONN)

static int retry_init(struct kunit *test)
{
	test->priv = fake_create(test);
	return 0;
}

static void retry_exit(struct kunit *test)
{
	struct fake *fake = test->priv;

	fake_destroy(fake);
	KUNIT_EXPECT_EQ(test, fake->lowers, 0);
	KUNIT_EXPECT_TRUE(test, list_empty(&fake->dev.ids));
	KUNIT_EXPECT_EQ(test, refcount_read(&fake->dev.ref), 1);
}

static void expect_event(struct kunit *test, u32 type, int status)
{
	struct rdma_cm_alt_event rec;

	KUNIT_ASSERT_TRUE_MSG(test, fake_take_event(test->priv, &rec), "no event, %u wanted", type);
	KUNIT_EXPECT_EQ(test, rec.type, type);
	KUNIT_EXPECT_EQ(test, rec.status, status);
	KUNIT_EXPECT_EQ(test, rec.cookie, (u64)COOKIE);
}

static void expect_no_event(struct kunit *test)
{
	struct rdma_cm_alt_event rec;

	KUNIT_EXPECT_FALSE_MSG(test, fake_take_event(test->priv, &rec), "event %u", rec.type);
}

static void expect_state(struct kunit *test, struct rca_id *id, enum rca_state state)
{
	KUNIT_EXPECT_STREQ(test, rca_state_name(rca_id_state(id)), rca_state_name(state));
}

static const u8 data[] = { 0xaa, 0xbb, 0xcc };

static struct rca_tp_conn params(void)
{
	return (struct rca_tp_conn){
		.qp_num = 42,
		.private_data = data,
		.private_data_len = sizeof(data),
	};
}

/* Its request was rejected once, and waits. */
static struct rca_id *waiting(struct kunit *test)
{
	struct rca_id *id = fake_active_id(test, test->priv, COOKIE);
	struct rca_tp_conn conn = params();

	KUNIT_ASSERT_EQ(test, rca_connect(id, &conn), 0);
	fake_message(id, RCA_IN_REJ, STALE);
	expect_no_event(test);
	expect_state(test, id, RCA_ST_REQ_WAIT);
	KUNIT_EXPECT_TRUE(test, delayed_work_pending(&id->work));
	return id;
}

static void stale_request_is_sent_again(struct kunit *test)
{
	struct rca_id *id = waiting(test);
	struct fake *fake = test->priv;

	memset(fake->last_req, 0, sizeof(fake->last_req));
	KUNIT_EXPECT_EQ(test, fake->connects, 1);
	flush_delayed_work(&id->work);
	expect_state(test, id, RCA_ST_REQ_SENT);
	KUNIT_EXPECT_EQ(test, fake->connects, 2);
	KUNIT_EXPECT_EQ(test, fake->lowers, 1);
	KUNIT_EXPECT_EQ(test, (int)fake->last_req_len, RCA_WIRE_HDR_LEN + (int)sizeof(data));
	KUNIT_EXPECT_EQ(test, memcmp(fake->last_req + RCA_WIRE_HDR_LEN, data, sizeof(data)), 0);

	fake_message(id, RCA_IN_REP, 0);
	expect_event(test, RDMA_CM_ALT_EVENT_CONNECT_RESPONSE, 0);
	expect_no_event(test);
	KUNIT_EXPECT_EQ(test, rca_establish(id), 0);
	KUNIT_EXPECT_NULL(test, id->retry);
}

static void other_rejects_are_told(struct kunit *test)
{
	struct rca_id *id = fake_active_id(test, test->priv, COOKIE);
	struct rca_tp_conn conn = params();
	struct fake *fake = test->priv;

	KUNIT_ASSERT_EQ(test, rca_connect(id, &conn), 0);
	fake_message(id, RCA_IN_REJ, IB_CM_REJ_CONSUMER_DEFINED);
	expect_event(test, RDMA_CM_ALT_EVENT_REJECTED, IB_CM_REJ_CONSUMER_DEFINED);
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&id->work));
	KUNIT_EXPECT_EQ(test, fake->connects, 1);
}

static void stale_reply_is_told(struct kunit *test)
{
	struct rca_id *id = fake_child(test, test->priv);
	struct rca_tp_conn conn = params();

	KUNIT_ASSERT_EQ(test, rca_accept(id, COOKIE, &conn), 0);
	fake_message(id, RCA_IN_REJ, STALE);
	expect_event(test, RDMA_CM_ALT_EVENT_REJECTED, STALE);
	expect_state(test, id, RCA_ST_FAILED);
}

static void waits_twice_as_long_each_time(struct kunit *test)
{
	struct rca_id *id = waiting(test);
	unsigned long delay = msecs_to_jiffies(20), longest = msecs_to_jiffies(4000);
	int i;

	for (i = 0; i < 12; i++) {
		delay = min(2 * delay, longest);
		KUNIT_EXPECT_EQ(test, id->retry->delay, delay);
		flush_delayed_work(&id->work);
		fake_message(id, RCA_IN_REJ, STALE);
		expect_state(test, id, RCA_ST_REQ_WAIT);
	}
	expect_no_event(test);
	/* The last one is the one that counts. */
	flush_delayed_work(&id->work);
	fake_message(id, RCA_IN_REJ, IB_CM_REJ_INVALID_SERVICE_ID);
	expect_event(test, RDMA_CM_ALT_EVENT_REJECTED, IB_CM_REJ_INVALID_SERVICE_ID);
}

static void deadline_ends_it(struct kunit *test)
{
	struct rca_id *id = waiting(test);
	struct fake *fake = test->priv;

	flush_delayed_work(&id->work);
	id->retry->deadline = jiffies + 1;
	fake_message(id, RCA_IN_REJ, STALE);
	expect_event(test, RDMA_CM_ALT_EVENT_REJECTED, STALE);
	expect_state(test, id, RCA_ST_FAILED);
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&id->work));
	KUNIT_EXPECT_EQ(test, fake->connects, 2);
}

static void deadline_is_not_shorter_than_that_of_stock(struct kunit *test)
{
	struct rca_id *id = waiting(test);

	/* Sixteen requests, each 2 * 2^16 and 2^20 times 4.096 us; and what the test took. */
	KUNIT_EXPECT_GT(test, id->retry->deadline, jiffies + msecs_to_jiffies(70000));
	KUNIT_EXPECT_LE(test, id->retry->deadline, jiffies + msecs_to_jiffies(78000));
}

static void request_that_cannot_be_sent_again_is_rejected(struct kunit *test)
{
	struct rca_id *id = waiting(test);
	struct fake *fake = test->priv;

	fake->fail = -ENOMEM;
	flush_delayed_work(&id->work);
	expect_event(test, RDMA_CM_ALT_EVENT_REJECTED, STALE);
	expect_state(test, id, RCA_ST_FAILED);
	expect_no_event(test);
}

static void stale_again_before_send_returns(struct fake *fake, void *lower)
{
	struct rca_tp_event event = { .input = RCA_IN_REJ, .status = IB_CM_REJ_STALE_CONN };

	if (fake->connects < 4)
		rca_connect_event(((struct fake_lower *)lower)->owner, lower, &event);
}

static void reject_may_come_before_send_returns(struct kunit *test)
{
	struct rca_id *id = fake_active_id(test, test->priv, COOKIE);
	struct rca_tp_conn conn = params();
	struct fake *fake = test->priv;
	int i;

	fake->during = stale_again_before_send_returns;
	KUNIT_ASSERT_EQ(test, rca_connect(id, &conn), 0);
	for (i = 0; i < 3; i++)
		flush_delayed_work(&id->work);
	KUNIT_EXPECT_EQ(test, fake->connects, 4);
	KUNIT_EXPECT_EQ(test, fake->lowers, 1);
	expect_state(test, id, RCA_ST_REQ_SENT);
	expect_no_event(test);
}

static void destroy_while_it_waits_leaves_nothing(struct kunit *test)
{
	struct rca_id *id = waiting(test);
	struct fake *fake = test->priv;
	u32 reported;

	rca_id_get(id);
	KUNIT_EXPECT_EQ(test, rca_destroy(fake->ctx, id->obj.handle, &reported), 0);
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&id->work));
	KUNIT_EXPECT_EQ(test, fake->lowers, 0);
	KUNIT_EXPECT_EQ(test, fake->disconnects, 0);
	KUNIT_EXPECT_EQ(test, refcount_read(&id->obj.ref), 1u);
	rca_id_put(id);
	expect_no_event(test);
}

static void removal_while_it_waits_is_told(struct kunit *test)
{
	struct rca_id *id = waiting(test);
	struct fake *fake = test->priv;

	fake->dev.removing = true;
	rca_teardown_device(&fake->dev);
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&id->work));
	KUNIT_EXPECT_EQ(test, fake->lowers, 0);
	expect_event(test, RDMA_CM_ALT_EVENT_DEVICE_REMOVAL, 0);
	expect_state(test, id, RCA_ST_REMOVED);
	expect_no_event(test);
}

static void operations_while_it_waits(struct kunit *test)
{
	struct rca_id *id = waiting(test);
	struct rca_tp_conn conn = params();

	KUNIT_EXPECT_EQ(test, rca_connect(id, &conn), -EINVAL);
	KUNIT_EXPECT_EQ(test, rca_accept(id, COOKIE, &conn), -EINVAL);
	KUNIT_EXPECT_EQ(test, rca_establish(id), -EINVAL);
	KUNIT_EXPECT_EQ(test, rca_reject(id, 0, NULL, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, rca_disconnect(id), 0);
	expect_state(test, id, RCA_ST_REQ_WAIT);
}

static struct kunit_case retry_cases[] = {
	KUNIT_CASE(stale_request_is_sent_again),
	KUNIT_CASE(other_rejects_are_told),
	KUNIT_CASE(stale_reply_is_told),
	KUNIT_CASE(waits_twice_as_long_each_time),
	KUNIT_CASE(deadline_ends_it),
	KUNIT_CASE(deadline_is_not_shorter_than_that_of_stock),
	KUNIT_CASE(request_that_cannot_be_sent_again_is_rejected),
	KUNIT_CASE(reject_may_come_before_send_returns),
	KUNIT_CASE(destroy_while_it_waits_leaves_nothing),
	KUNIT_CASE(removal_while_it_waits_is_told),
	KUNIT_CASE(operations_while_it_waits),
	{}
};

static struct kunit_suite retry_suite = {
	.name = "rdma_cm_alt_retry",
	.init = retry_init,
	.exit = retry_exit,
	.test_cases = retry_cases,
};
kunit_test_suite(retry_suite);
