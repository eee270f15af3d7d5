// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of kernel/cm/req_retransmit.c on a fake transport: requests that a peer rejects as
 * stale or does not answer; when they are retransmitted, and what ends the wait.
 *
 * Locking: none.
 */
#include <kunit/test.h>
#include <linux/jiffies.h>
#include <rdma/ib_cm.h>

#include "cm/internal.h"
#include "fake/fake_suite.h"
#include "id/id.h"
#include "lib/testing.h"
#include "lib/wire.h"

#define STALE ((int)IB_CM_REJ_STALE_CONN)

static const u8 data[] = { 0xaa, 0xbb, 0xcc };

static struct rca_tp_conn params(void)
{
	return (struct rca_tp_conn){
		.qp_num = 42,
		.private_data = data,
		.private_data_len = sizeof(data),
	};
}

/* An id whose request was rejected as stale once, and waits. */
static struct rca_id *waiting(struct kunit *test)
{
	struct rca_id *id = fake_active_id(test, test->priv, FAKE_COOKIE);
	struct rca_tp_conn conn = params();

	KUNIT_ASSERT_EQ(test, rca_connect(id, &conn), 0);
	fake_message(id, RCA_IN_REJ, STALE);
	fake_expect_no_event(test);
	fake_expect_state(test, id, RCA_ST_REQ_WAIT);
	KUNIT_EXPECT_TRUE(test, rca_id_work_pending(id));
	return id;
}

static void stale_request_is_sent_again(struct kunit *test)
{
	struct rca_id *id = waiting(test);
	struct fake *fake = test->priv;

	memset(fake->last_req, 0, sizeof(fake->last_req));
	KUNIT_EXPECT_EQ(test, fake->connects, 1);
	rca_id_flush_work(id);
	fake_expect_state(test, id, RCA_ST_REQ_SENT);
	KUNIT_EXPECT_EQ(test, fake->connects, 2);
	KUNIT_EXPECT_EQ(test, atomic_read(&fake->lowers), 1);
	KUNIT_EXPECT_EQ(test, (int)fake->last_req_len, RCA_WIRE_HDR_LEN + (int)sizeof(data));
	KUNIT_EXPECT_EQ(test, memcmp(fake->last_req + RCA_WIRE_HDR_LEN, data, sizeof(data)), 0);

	fake_message(id, RCA_IN_REP, 0);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_CONNECT_RESPONSE, 0);
	fake_expect_no_event(test);
	KUNIT_EXPECT_EQ(test, rca_establish(id), 0);
	KUNIT_EXPECT_NULL(test, id->setup);
}

/* An id whose peer has sent a REP and waits for the RTU. */
static struct rca_id *replied(struct kunit *test)
{
	struct rca_id *id = fake_active_id(test, test->priv, FAKE_COOKIE);
	struct rca_tp_conn conn = params();

	KUNIT_ASSERT_EQ(test, rca_connect(id, &conn), 0);
	KUNIT_EXPECT_FALSE(test, rca_id_work_pending(id));
	fake_message(id, RCA_IN_REP, 0);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_CONNECT_RESPONSE, 0);
	KUNIT_EXPECT_TRUE(test, rca_id_work_pending(id));
	return id;
}

static void peer_of_a_slow_program_is_told(struct kunit *test)
{
	struct rca_id *id = replied(test);
	struct fake *fake = test->priv;

	rca_id_flush_work(id);
	KUNIT_EXPECT_EQ(test, fake->patiences, 1);
	KUNIT_EXPECT_EQ(test, (int)fake->last_patience, 24);
	KUNIT_EXPECT_FALSE(test, rca_id_work_pending(id));
	fake_expect_state(test, id, RCA_ST_REP_RCVD);
	fake_expect_no_event(test);
	KUNIT_EXPECT_EQ(test, rca_establish(id), 0);
	fake_expect_state(test, id, RCA_ST_CONNECTED);
}

static void peer_of_a_quick_program_is_told_nothing(struct kunit *test)
{
	struct rca_id *id = replied(test);
	struct fake *fake = test->priv;

	KUNIT_EXPECT_EQ(test, rca_establish(id), 0);
	KUNIT_EXPECT_FALSE(test, rca_id_work_pending(id));
	KUNIT_EXPECT_EQ(test, fake->patiences, 0);

	/* The same for a REP that was rejected, or whose peer has given up. */
	id = replied(test);
	KUNIT_EXPECT_EQ(test, rca_reject(id, 0, NULL, 0), 0);
	rca_id_flush_work(id);
	id = replied(test);
	fake_message(id, RCA_IN_REJ, IB_CM_REJ_TIMEOUT);
	rca_id_flush_work(id);
	KUNIT_EXPECT_EQ(test, fake->patiences, 0);
}

static void other_rejects_are_told(struct kunit *test)
{
	struct rca_id *id = fake_active_id(test, test->priv, FAKE_COOKIE);
	struct rca_tp_conn conn = params();
	struct fake *fake = test->priv;

	KUNIT_ASSERT_EQ(test, rca_connect(id, &conn), 0);
	fake_message(id, RCA_IN_REJ, IB_CM_REJ_CONSUMER_DEFINED);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_REJECTED, IB_CM_REJ_CONSUMER_DEFINED);
	KUNIT_EXPECT_FALSE(test, rca_id_work_pending(id));
	KUNIT_EXPECT_EQ(test, fake->connects, 1);
}

static void stale_reply_is_told(struct kunit *test)
{
	struct rca_id *id = fake_child(test, test->priv);
	struct rca_tp_conn conn = params();

	KUNIT_ASSERT_EQ(test, rca_accept(id, FAKE_COOKIE, &conn), 0);
	fake_message(id, RCA_IN_REJ, STALE);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_REJECTED, STALE);
	fake_expect_state(test, id, RCA_ST_FAILED);
}

static void waits_twice_as_long_each_time(struct kunit *test)
{
	struct rca_id *id = waiting(test);
	unsigned long delay = msecs_to_jiffies(20), longest = msecs_to_jiffies(4000);
	int i;

	for (i = 0; i < 12; i++) {
		delay = min(2 * delay, longest);
		KUNIT_EXPECT_EQ(test, id->setup->retry->delay, delay);
		rca_id_flush_work(id);
		fake_message(id, RCA_IN_REJ, STALE);
		fake_expect_state(test, id, RCA_ST_REQ_WAIT);
	}
	fake_expect_no_event(test);
	/* The last delay is the maximum. */
	rca_id_flush_work(id);
	fake_message(id, RCA_IN_REJ, IB_CM_REJ_INVALID_SERVICE_ID);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_REJECTED, IB_CM_REJ_INVALID_SERVICE_ID);
}

static void deadline_ends_it(struct kunit *test)
{
	struct rca_id *id = waiting(test);
	struct fake *fake = test->priv;

	rca_id_flush_work(id);
	id->setup->retry->deadline = jiffies + 1;
	fake_message(id, RCA_IN_REJ, STALE);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_REJECTED, STALE);
	fake_expect_state(test, id, RCA_ST_FAILED);
	KUNIT_EXPECT_FALSE(test, rca_id_work_pending(id));
	KUNIT_EXPECT_EQ(test, fake->connects, 2);
}

static void deadline_is_not_shorter_than_that_of_stock(struct kunit *test)
{
	struct rca_id *id = fake_active_id(test, test->priv, FAKE_COOKIE);
	struct rca_tp_conn conn = params();

	id->setup->path.packet_life_time = 16;
	KUNIT_ASSERT_EQ(test, rca_connect(id, &conn), 0);
	/*
	 * Sixteen requests, each 2 * 2^16 and 2^20 times 4.096 us, and the time of the test itself.
	 */
	KUNIT_EXPECT_GT(test, id->setup->retry->deadline, jiffies + msecs_to_jiffies(70000));
	KUNIT_EXPECT_LE(test, id->setup->retry->deadline, jiffies + msecs_to_jiffies(73728));
}

/* Pretend that the retry interval is over, and time out. */
static void no_answer(struct rca_id *id)
{
	id->setup->retry->sent = jiffies - id->setup->retry->interval - 1;
	fake_message(id, RCA_IN_REQ_TIMEOUT, -ETIMEDOUT);
}

static void silence_begins_another_round(struct kunit *test)
{
	struct rca_id *id = fake_active_id(test, test->priv, FAKE_COOKIE);
	struct rca_tp_conn conn = params();
	struct fake *fake = test->priv;
	void *lower;
	int i;

	id->setup->path.packet_life_time = 16;
	KUNIT_ASSERT_EQ(test, rca_connect(id, &conn), 0);
	KUNIT_EXPECT_EQ(test, (int)fake->last_timers.retries, 15);
	KUNIT_EXPECT_EQ(test, (int)fake->last_timers.remote, 13);
	KUNIT_EXPECT_EQ(test, (int)fake->last_timers.local, 17);
	lower = id->lower;
	for (i = 1; i < 10; i++) {
		no_answer(id);
		fake_expect_state(test, id, RCA_ST_REQ_WAIT);
		KUNIT_EXPECT_TRUE(test, rca_id_work_pending(id));
		rca_id_flush_work(id);
		fake_expect_state(test, id, RCA_ST_REQ_SENT);
		KUNIT_EXPECT_EQ(test, fake->connects, 1 + i);
		KUNIT_EXPECT_EQ(test, (int)fake->last_timers.remote, min(13 + i, 20));
		KUNIT_EXPECT_EQ(test, (int)fake->last_timers.local, min(17 + i, 20));
	}
	/* The peer identifies the request by its cm_id. */
	KUNIT_EXPECT_PTR_EQ(test, id->lower, lower);
	KUNIT_EXPECT_EQ(test, (int)fake->last_req_len, RCA_WIRE_HDR_LEN + (int)sizeof(data));
	fake_expect_no_event(test);
	fake_message(id, RCA_IN_REP, 0);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_CONNECT_RESPONSE, 0);
}

static void last_round_ends_with_the_patience(struct kunit *test)
{
	struct rca_id *id = fake_active_id(test, test->priv, FAKE_COOKIE);
	struct rca_tp_conn conn = params();
	struct fake *fake = test->priv;

	id->setup->path.packet_life_time = 16;
	KUNIT_ASSERT_EQ(test, rca_connect(id, &conn), 0);
	id->setup->retry->deadline = jiffies + msecs_to_jiffies(1500);
	no_answer(id);
	rca_id_flush_work(id);
	/* 576 ms each: two of them, or three if the work was quick. */
	KUNIT_EXPECT_GE(test, (int)fake->last_timers.retries, 1);
	KUNIT_EXPECT_LE(test, (int)fake->last_timers.retries, 2);
	id->setup->retry->deadline = jiffies;
	no_answer(id);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_UNREACHABLE, -ETIMEDOUT);
	fake_expect_state(test, id, RCA_ST_FAILED);
	KUNIT_EXPECT_FALSE(test, rca_id_work_pending(id));
}

/* The work may run late: the request then has the shortest timeout. */
static void round_that_begins_too_late_is_short(struct kunit *test)
{
	struct rca_id *id = fake_active_id(test, test->priv, FAKE_COOKIE);
	struct rca_tp_conn conn = params();
	struct fake *fake = test->priv;

	id->setup->path.packet_life_time = 16;
	KUNIT_ASSERT_EQ(test, rca_connect(id, &conn), 0);
	no_answer(id);
	id->setup->retry->deadline = jiffies - 1;
	rca_id_flush_work(id);
	fake_expect_state(test, id, RCA_ST_REQ_SENT);
	KUNIT_EXPECT_EQ(test, (int)fake->last_timers.retries, 0);
}

static void no_round_begins_after_the_patience(struct kunit *test)
{
	struct rca_id *id = fake_active_id(test, test->priv, FAKE_COOKIE);
	struct rca_tp_conn conn = params();

	KUNIT_ASSERT_EQ(test, rca_connect(id, &conn), 0);
	/* The delay before it, which is never 0, would exceed the deadline. */
	id->setup->retry->deadline = jiffies + 1;
	no_answer(id);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_UNREACHABLE, -ETIMEDOUT);
	fake_expect_state(test, id, RCA_ST_FAILED);
}

/* A request that ib_cm cannot send fails at once, and so would the next one. */
static void failure_is_no_silence(struct kunit *test)
{
	struct rca_id *id = fake_active_id(test, test->priv, FAKE_COOKIE);
	struct rca_tp_conn conn = params();

	id->setup->path.packet_life_time = 16;
	KUNIT_ASSERT_EQ(test, rca_connect(id, &conn), 0);
	fake_message(id, RCA_IN_REQ_TIMEOUT, -ETIMEDOUT);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_UNREACHABLE, -ETIMEDOUT);
	fake_expect_state(test, id, RCA_ST_FAILED);
}

static void retries_that_were_set_are_all(struct kunit *test)
{
	struct rca_id *id = fake_active_id(test, test->priv, FAKE_COOKIE);
	struct rca_tp_conn conn = params();
	struct fake *fake = test->priv;
	const u8 retries = 3;

	KUNIT_ASSERT_EQ(test, rca_set_option(id, RDMA_CM_ALT_OPTION, RDMA_CM_ALT_OPTION_MAX_RETRIES,
					     &retries, sizeof(retries)), 0);
	KUNIT_ASSERT_EQ(test, rca_connect(id, &conn), 0);
	KUNIT_EXPECT_EQ(test, (int)fake->last_timers.retries, 3);
	no_answer(id);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_UNREACHABLE, -ETIMEDOUT);
}

static void next_round_that_cannot_be_sent(struct kunit *test)
{
	struct rca_id *id = fake_active_id(test, test->priv, FAKE_COOKIE);
	struct rca_tp_conn conn = params();
	struct fake *fake = test->priv;

	KUNIT_ASSERT_EQ(test, rca_connect(id, &conn), 0);
	no_answer(id);
	fake->fail = -ENOMEM;
	rca_id_flush_work(id);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_UNREACHABLE, -ENOMEM);
	fake_expect_state(test, id, RCA_ST_FAILED);
	KUNIT_EXPECT_EQ(test, rca_window_unanswered(id), 0u);
	fake_expect_no_event(test);
}

static void set_deadline(struct kunit *test, struct rca_id *id, u32 ms)
{
	KUNIT_ASSERT_EQ(test, rca_set_option(id, RDMA_CM_ALT_OPTION, RDMA_CM_ALT_OPTION_DEADLINE,
					     &ms, sizeof(ms)), 0);
}

static void reject_during_send(struct fake *fake, void *lower)
{
	struct fake_lower *own = lower;

	fake_message(own->owner, RCA_IN_REJ, IB_CM_REJ_INVALID_SERVICE_ID);
}

static void deadline_does_not_begin_after_the_answer(struct kunit *test)
{
	struct rca_id *id = fake_active_id(test, test->priv, FAKE_COOKIE);
	struct rca_tp_conn conn = params();
	struct fake *fake = test->priv;

	set_deadline(test, id, 60000);
	fake->during = reject_during_send;
	KUNIT_EXPECT_EQ(test, rca_connect(id, &conn), 0);
	fake->during = NULL;
	fake_expect_event(test, RDMA_CM_ALT_EVENT_REJECTED, IB_CM_REJ_INVALID_SERVICE_ID);
	fake_expect_state(test, id, RCA_ST_FAILED);
	KUNIT_EXPECT_FALSE(test, rca_id_work_pending(id));
}

/* Both while the peer does not answer and while the request waits for retransmission. */
static void deadline_of_the_id_ends_the_request(struct kunit *test)
{
	struct fake *fake = test->priv;
	int silent;

	for (silent = 0; silent < 2; silent++) {
		struct rca_id *id = fake_active_id(test, fake, FAKE_COOKIE);
		struct rca_tp_conn conn = params();

		set_deadline(test, id, 60000);
		KUNIT_ASSERT_EQ(test, rca_connect(id, &conn), 0);
		KUNIT_EXPECT_TRUE(test, rca_id_work_pending(id));
		/* Before the deadline nothing happens, and the timer is armed again. */
		rca_id_flush_work(id);
		fake_expect_state(test, id, RCA_ST_REQ_SENT);
		KUNIT_EXPECT_TRUE(test, rca_id_work_pending(id));
		if (silent)
			no_answer(id);
		id->setup->retry->deadline = jiffies;
		rca_id_flush_work(id);
		fake_expect_event(test, RDMA_CM_ALT_EVENT_UNREACHABLE, -ETIMEDOUT);
		fake_expect_state(test, id, RCA_ST_FAILED);
		KUNIT_EXPECT_NULL(test, id->lower);
		KUNIT_EXPECT_FALSE(test, rca_id_work_pending(id));
	}
	KUNIT_EXPECT_EQ(test, atomic_read(&fake->lowers), 0);
	fake_expect_no_event(test);
}

/*
 * End a retry interval one tick before the deadline. Returns false if the tick may have passed
 * meanwhile.
 */
static bool round_ends_before_the_deadline(struct rca_id *id)
{
	unsigned long now = jiffies;

	while (!time_after(jiffies, now))
		cpu_relax();
	id->setup->retry->deadline = jiffies + 1;
	no_answer(id);
	return time_before(jiffies, id->setup->retry->deadline);
}

/* There is no time for another interval, but the request does not end before the deadline. */
static void verdict_comes_at_the_deadline(struct kunit *test)
{
	struct fake *fake = test->priv;
	struct rca_id *id;
	int tries = 0;

	do {
		struct rca_tp_conn conn = params();

		id = fake_active_id(test, fake, FAKE_COOKIE);
		set_deadline(test, id, 60000);
		KUNIT_ASSERT_EQ(test, rca_connect(id, &conn), 0);
		KUNIT_ASSERT_LT(test, tries++, 100);
		fake->connects = 0;
	} while (!round_ends_before_the_deadline(id) && rca_id_state(id) != RCA_ST_REQ_WAIT);
	fake_expect_state(test, id, RCA_ST_REQ_WAIT);
	msleep(20);
	rca_id_flush_work(id);
	fake_expect_state(test, id, RCA_ST_FAILED);
	KUNIT_EXPECT_EQ(test, fake->connects, 0);
}

static void deadline_ends_a_request_for_datagrams(struct kunit *test)
{
	struct rca_id *id = fake_active_datagram(test, test->priv, FAKE_COOKIE);
	struct rca_tp_conn conn = params();

	set_deadline(test, id, 60000);
	KUNIT_ASSERT_EQ(test, rca_connect(id, &conn), 0);
	rca_id_flush_work(id);
	fake_expect_state(test, id, RCA_ST_SIDR_SENT);
	id->setup->retry->deadline = jiffies;
	rca_id_flush_work(id);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_UNREACHABLE, -ETIMEDOUT);
	fake_expect_state(test, id, RCA_ST_FAILED);
	KUNIT_EXPECT_NULL(test, id->lower);
}

/* A connection that was established in time. */
static void deadline_does_not_count_once_connected(struct kunit *test)
{
	struct rca_id *id = fake_active_id(test, test->priv, FAKE_COOKIE);
	struct rca_tp_conn conn = params();

	set_deadline(test, id, 60000);
	KUNIT_ASSERT_EQ(test, rca_connect(id, &conn), 0);
	fake_message(id, RCA_IN_REP, 0);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_CONNECT_RESPONSE, 0);
	rca_id_flush_work(id);
	KUNIT_EXPECT_EQ(test, rca_establish(id), 0);
	rca_id_flush_work(id);
	fake_expect_state(test, id, RCA_ST_CONNECTED);
	fake_expect_no_event(test);
}

static void disconnect_ends_at_the_deadline(struct kunit *test)
{
	struct rca_id *id = fake_active_id(test, test->priv, FAKE_COOKIE);
	struct rca_tp_conn conn = params();
	struct fake *fake = test->priv;

	KUNIT_ASSERT_EQ(test, rca_connect(id, &conn), 0);
	fake_message(id, RCA_IN_REP, 0);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_CONNECT_RESPONSE, 0);
	KUNIT_ASSERT_EQ(test, rca_establish(id), 0);
	KUNIT_ASSERT_EQ(test, rca_disconnect(id), 0);
	KUNIT_EXPECT_TRUE(test, rca_id_work_pending(id));
	KUNIT_EXPECT_GT(test, id->setup->drep_deadline, jiffies + msecs_to_jiffies(5000));
	KUNIT_EXPECT_LE(test, id->setup->drep_deadline, jiffies + msecs_to_jiffies(10000));
	rca_id_flush_work(id);
	fake_expect_state(test, id, RCA_ST_DREQ_SENT);
	fake_expect_no_event(test);
	id->setup->drep_deadline = jiffies;
	rca_id_flush_work(id);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_DISCONNECTED, 0);
	fake_expect_state(test, id, RCA_ST_DISCONNECTED);
	KUNIT_EXPECT_EQ(test, atomic_read(&fake->lowers), 0);
	rca_id_flush_work(id);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_TIMEWAIT_EXIT, 0);
	fake_expect_state(test, id, RCA_ST_CLOSED);
	fake_expect_no_event(test);
}

static void request_that_cannot_be_sent_again_is_rejected(struct kunit *test)
{
	struct rca_id *id = waiting(test);
	struct fake *fake = test->priv;

	fake->fail = -ENOMEM;
	rca_id_flush_work(id);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_REJECTED, STALE);
	fake_expect_state(test, id, RCA_ST_FAILED);
	fake_expect_no_event(test);
}

static void stale_again_before_send_returns(struct fake *fake, void *lower)
{
	struct rca_tp_event event = { .input = RCA_IN_REJ, .status = IB_CM_REJ_STALE_CONN };

	if (fake->connects < 4)
		rca_cm_event(((struct fake_lower *)lower)->owner, lower, &event);
}

static void reject_may_come_before_send_returns(struct kunit *test)
{
	struct rca_id *id = fake_active_id(test, test->priv, FAKE_COOKIE);
	struct rca_tp_conn conn = params();
	struct fake *fake = test->priv;
	int i;

	fake->during = stale_again_before_send_returns;
	KUNIT_ASSERT_EQ(test, rca_connect(id, &conn), 0);
	for (i = 0; i < 3; i++)
		rca_id_flush_work(id);
	KUNIT_EXPECT_EQ(test, fake->connects, 4);
	KUNIT_EXPECT_EQ(test, atomic_read(&fake->lowers), 1);
	fake_expect_state(test, id, RCA_ST_REQ_SENT);
	fake_expect_no_event(test);
}

static void destroy_while_it_waits_leaves_nothing(struct kunit *test)
{
	struct rca_id *id = waiting(test);
	struct fake *fake = test->priv;
	u32 reported;

	rca_id_get(id);
	KUNIT_EXPECT_EQ(test, rca_destroy(fake->ctx, id->obj.handle, &reported), 0);
	KUNIT_EXPECT_FALSE(test, rca_id_work_pending(id));
	KUNIT_EXPECT_EQ(test, atomic_read(&fake->lowers), 0);
	KUNIT_EXPECT_EQ(test, fake->disconnects, 0);
	KUNIT_EXPECT_EQ(test, refcount_read(&id->obj.ref), 1u);
	rca_id_put(id);
	fake_expect_no_event(test);
}

static void removal_while_it_waits_is_told(struct kunit *test)
{
	struct rca_id *id = waiting(test);
	struct fake *fake = test->priv;

	fake->dev.removing = true;
	rca_teardown_device(&fake->dev);
	KUNIT_EXPECT_FALSE(test, rca_id_work_pending(id));
	KUNIT_EXPECT_EQ(test, atomic_read(&fake->lowers), 0);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_DEVICE_REMOVAL, 0);
	fake_expect_state(test, id, RCA_ST_REMOVED);
	fake_expect_no_event(test);
}

static void operations_while_it_waits(struct kunit *test)
{
	struct rca_id *id = waiting(test);
	struct rca_tp_conn conn = params();

	KUNIT_EXPECT_EQ(test, rca_connect(id, &conn), -EINVAL);
	KUNIT_EXPECT_EQ(test, rca_accept(id, FAKE_COOKIE, &conn), -EINVAL);
	KUNIT_EXPECT_EQ(test, rca_establish(id), -EINVAL);
	KUNIT_EXPECT_EQ(test, rca_reject(id, 0, NULL, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, rca_disconnect(id), 0);
	fake_expect_state(test, id, RCA_ST_REQ_WAIT);
}

static struct kunit_case retry_cases[] = {
	KUNIT_CASE(stale_request_is_sent_again),
	KUNIT_CASE(peer_of_a_slow_program_is_told),
	KUNIT_CASE(peer_of_a_quick_program_is_told_nothing),
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
	KUNIT_CASE(silence_begins_another_round),
	KUNIT_CASE(last_round_ends_with_the_patience),
	KUNIT_CASE(failure_is_no_silence),
	KUNIT_CASE(retries_that_were_set_are_all),
	KUNIT_CASE(next_round_that_cannot_be_sent),
	KUNIT_CASE(round_that_begins_too_late_is_short),
	KUNIT_CASE(no_round_begins_after_the_patience),
	KUNIT_CASE(deadline_does_not_begin_after_the_answer),
	KUNIT_CASE(deadline_of_the_id_ends_the_request),
	KUNIT_CASE(verdict_comes_at_the_deadline),
	KUNIT_CASE(deadline_ends_a_request_for_datagrams),
	KUNIT_CASE(deadline_does_not_count_once_connected),
	KUNIT_CASE(disconnect_ends_at_the_deadline),
	{}
};

static struct kunit_suite retry_suite = {
	.name = "rdma_cm_alt_retry",
	.init = fake_suite_init,
	.exit = fake_suite_exit,
	.test_cases = retry_cases,
};
kunit_test_suite(retry_suite);
