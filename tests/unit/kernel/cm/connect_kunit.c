// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of connections from request to teardown on a fake transport: orders of messages that real
 * peers rarely produce.
 *
 * Locking: none.
 */
#include <kunit/test.h>
#include <rdma/ib_cm.h>

#include "cm/cm.h"
#include "event/queue.h"
#include "fake/fake_suite.h"
#include "lib/testing.h"
#include "lib/wire.h"

static struct rca_tp_conn params(u8 len)
{
	static const u8 data[255] = { 0xaa, 0xbb };

	return (struct rca_tp_conn){
		.qp_num = 42,
		.retry_count = 9,
		.private_data = data,
		.private_data_len = len,
	};
}

static struct rca_id *connecting(struct kunit *test)
{
	struct rca_id *id = fake_active_id(test, test->priv, FAKE_COOKIE);
	struct rca_tp_conn conn = params(4);

	KUNIT_ASSERT_EQ(test, rca_connect(id, &conn), 0);
	fake_expect_state(test, id, RCA_ST_REQ_SENT);
	return id;
}

/* ib_cm may report the timeout of a cm_id that the id has replaced. */
static void late_report_of_another_cm_id(struct kunit *test)
{
	struct rca_tp_event late = { .input = RCA_IN_REJ, .status = IB_CM_REJ_TIMEOUT };
	struct rca_id *id = connecting(test);

	KUNIT_EXPECT_EQ(test, rca_cm_event(id, &late, &late), 0);
	fake_expect_state(test, id, RCA_ST_REQ_SENT);
}

static struct rca_id *connected(struct kunit *test)
{
	struct rca_id *id = connecting(test);

	fake_message(id, RCA_IN_REP, 0);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_CONNECT_RESPONSE, 0);
	KUNIT_ASSERT_EQ(test, rca_establish(id), 0);
	fake_expect_state(test, id, RCA_ST_CONNECTED);
	return id;
}

static struct rca_id *accepted(struct kunit *test)
{
	struct rca_id *id = fake_child(test, test->priv);
	struct rca_tp_conn conn = params(196);

	KUNIT_ASSERT_EQ(test, rca_accept(id, FAKE_COOKIE, &conn), 0);
	fake_expect_state(test, id, RCA_ST_REP_SENT);
	return id;
}

static void connect_sends_header_and_private_data(struct kunit *test)
{
	struct fake *fake = test->priv;
	union rca_addr src, dst;

	connecting(test);

	KUNIT_EXPECT_EQ(test, fake->connects, 1);
	KUNIT_EXPECT_EQ(test, (int)fake->last_req_len, RCA_WIRE_HDR_LEN + 4);
	KUNIT_EXPECT_EQ(test, rca_wire_get_hdr(fake->last_req, RCA_WIRE_HDR_LEN,
					       cpu_to_be16(7471), &src, &dst), 0);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(src.in.sin_addr.s_addr), 0x0a090001);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(src.in.sin_port), 5000);
	KUNIT_EXPECT_EQ(test, (int)fake->last_req[RCA_WIRE_HDR_LEN], 0xaa);
}

static void connect_private_data_limit_is_56(struct kunit *test)
{
	struct rca_id *id = fake_active_id(test, test->priv, FAKE_COOKIE);
	struct rca_tp_conn conn = params(57);

	KUNIT_EXPECT_EQ(test, rca_connect(id, &conn), -EINVAL);
	fake_expect_state(test, id, RCA_ST_ROUTE_RESOLVED);
	conn = params(56);
	KUNIT_EXPECT_EQ(test, rca_connect(id, &conn), 0);
}

static void connect_send_failure_changes_nothing(struct kunit *test)
{
	struct rca_id *id = fake_active_id(test, test->priv, FAKE_COOKIE);
	struct rca_tp_conn conn = params(0);
	struct fake *fake = test->priv;

	fake->fail = -ENOMEM;
	KUNIT_EXPECT_EQ(test, rca_connect(id, &conn), -ENOMEM);
	fake_expect_state(test, id, RCA_ST_ROUTE_RESOLVED);
	KUNIT_EXPECT_EQ(test, atomic_read(&fake->lowers), 0);
	fake_expect_no_event(test);
	KUNIT_EXPECT_EQ(test, rca_connect(id, &conn), 0);
}

static void connect_twice_is_einval(struct kunit *test)
{
	struct rca_id *id = connecting(test);
	struct rca_tp_conn conn = params(0);

	KUNIT_EXPECT_EQ(test, rca_connect(id, &conn), -EINVAL);
	fake_expect_state(test, id, RCA_ST_REQ_SENT);
}

static void reject_during_send(struct fake *fake, void *lower)
{
	struct rca_tp_event event = { .input = RCA_IN_REJ, .status = 28 };

	rca_cm_event(((struct fake_lower *)lower)->owner, lower, &event);
}

static void connect_rejected_before_it_returns(struct kunit *test)
{
	struct rca_id *id = fake_active_id(test, test->priv, FAKE_COOKIE);
	struct rca_tp_conn conn = params(0);
	struct fake *fake = test->priv;

	fake->during = reject_during_send;
	KUNIT_EXPECT_EQ(test, rca_connect(id, &conn), 0);
	fake_expect_state(test, id, RCA_ST_FAILED);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_REJECTED, 28);
}

static void connect_timeout_is_unreachable(struct kunit *test)
{
	struct rca_id *id = connecting(test);

	fake_message(id, RCA_IN_REQ_TIMEOUT, -ETIMEDOUT);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_UNREACHABLE, -ETIMEDOUT);
	fake_message(id, RCA_IN_REP, 0);
	fake_expect_no_event(test);
	KUNIT_EXPECT_EQ(test, rca_disconnect(id), 0);
}

static void reply_swaps_depths_and_carries_attributes(struct kunit *test)
{
	struct rca_id *id = connecting(test);
	struct rdma_cm_alt_event rec;

	fake_message(id, RCA_IN_REP, 0);

	KUNIT_ASSERT_TRUE(test, fake_take_event(test->priv, &rec));
	KUNIT_EXPECT_EQ(test, (int)rec.responder_resources, 3);
	KUNIT_EXPECT_EQ(test, (int)rec.initiator_depth, 5);
	KUNIT_EXPECT_EQ(test, rec.qp_num, 77u);
	KUNIT_EXPECT_EQ(test, (int)rec.private_data_len, 4);
	KUNIT_EXPECT_EQ(test, (int)rec.private_data[3], 4);
	KUNIT_EXPECT_TRUE(test, rec.flags & RDMA_CM_ALT_EVENT_F_QP);
	KUNIT_EXPECT_EQ(test, rec.qp.attr.rq_psn, id->psn);
	KUNIT_EXPECT_NE(test, rec.qp.rtr_mask, 0u);
	KUNIT_EXPECT_NE(test, rec.qp.rts_mask, 0u);
}

static void duplicate_reply_is_ignored(struct kunit *test)
{
	struct rca_id *id = connected(test);

	fake_message(id, RCA_IN_REP, 0);
	fake_expect_no_event(test);
	fake_expect_state(test, id, RCA_ST_CONNECTED);
}

static void establish_twice_is_einval(struct kunit *test)
{
	struct rca_id *id = connected(test);

	KUNIT_EXPECT_EQ(test, rca_establish(id), -EINVAL);
}

static void establish_send_failure_fails_the_connection(struct kunit *test)
{
	struct rca_id *id = connecting(test);
	struct fake *fake = test->priv;

	fake_message(id, RCA_IN_REP, 0);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_CONNECT_RESPONSE, 0);
	fake->fail = -ENOMEM;
	KUNIT_EXPECT_EQ(test, rca_establish(id), -ENOMEM);
	fake_expect_state(test, id, RCA_ST_FAILED);
	KUNIT_EXPECT_EQ(test, fake->rejects, 1);
}

/* The cm_id has received the reject, which is reported when the program tries to continue. */
static void establish_that_crosses_a_reject_loses_no_event(struct kunit *test)
{
	struct rca_id *id = connecting(test);
	struct fake *fake = test->priv;

	fake_message(id, RCA_IN_REP, 0);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_CONNECT_RESPONSE, 0);
	fake->fail = -ECONNRESET;
	KUNIT_EXPECT_EQ(test, rca_establish(id), -EINVAL);
	KUNIT_EXPECT_EQ(test, fake->rejects, 0);
	fake_message(id, RCA_IN_REJ, 28);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_REJECTED, 28);
	fake_expect_state(test, id, RCA_ST_FAILED);
}

static void accept_that_crosses_a_reject_says_so(struct kunit *test)
{
	struct rca_id *id = fake_child(test, test->priv);
	struct rca_tp_conn conn = params(0);
	struct fake *fake = test->priv;

	fake->fail = -ECONNRESET;
	KUNIT_EXPECT_EQ(test, rca_accept(id, FAKE_COOKIE, &conn), -ECONNRESET);
	fake_message(id, RCA_IN_REJ, 28);
	fake_expect_no_event(test);
	fake_expect_state(test, id, RCA_ST_FAILED);
}

static void quiet_accept_tells_of_the_end_alone(struct kunit *test)
{
	struct rca_id *id = fake_child(test, test->priv);
	struct rca_tp_conn conn = params(0);

	KUNIT_ASSERT_EQ(test, rca_accept_as(id, FAKE_COOKIE, &conn, true), 0);
	fake_message(id, RCA_IN_RTU, 0);
	fake_expect_state(test, id, RCA_ST_CONNECTED);
	fake_expect_no_event(test);
	fake_message(id, RCA_IN_DREQ, 0);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_DISCONNECTED, 0);
}

static void quiet_accept_tells_of_a_failure(struct kunit *test)
{
	struct rca_id *id = fake_child(test, test->priv);
	struct rca_tp_conn conn = params(0);

	KUNIT_ASSERT_EQ(test, rca_accept_as(id, FAKE_COOKIE, &conn, true), 0);
	fake_message(id, RCA_IN_REP_TIMEOUT, -ETIMEDOUT);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_UNREACHABLE, -ETIMEDOUT);
}

static void disconnect_is_answered(struct kunit *test)
{
	struct rca_id *id = connected(test);

	KUNIT_EXPECT_EQ(test, rca_disconnect(id), 0);
	fake_expect_no_event(test);
	fake_message(id, RCA_IN_DREP, 0);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_DISCONNECTED, 0);
	fake_message(id, RCA_IN_TIMEWAIT_EXIT, 0);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_TIMEWAIT_EXIT, 0);
	KUNIT_EXPECT_EQ(test, rca_disconnect(id), 0);
	fake_expect_no_event(test);
}

static void disconnect_times_out(struct kunit *test)
{
	struct rca_id *id = connected(test);

	KUNIT_EXPECT_EQ(test, rca_disconnect(id), 0);
	fake_message(id, RCA_IN_DREQ_TIMEOUT, -ETIMEDOUT);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_DISCONNECTED, -ETIMEDOUT);
}

static void disconnect_send_failure_still_ends(struct kunit *test)
{
	struct rca_id *id = connected(test);
	struct fake *fake = test->priv;

	fake->fail = -ENOMEM;
	KUNIT_EXPECT_EQ(test, rca_disconnect(id), 0);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_DISCONNECTED, 0);
}

/* A transport that has told the peer at once: no answer comes, and nobody waits for one. */
static void disconnect_needs_no_answer(struct kunit *test)
{
	struct rca_id *id = connected(test);
	struct fake *fake = test->priv;
	u32 reported;

	fake->fail_after = 1;
	KUNIT_EXPECT_EQ(test, rca_disconnect(id), 0);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_DISCONNECTED, 0);
	KUNIT_EXPECT_EQ(test, fake->disconnects, 1);
	fake_message(id, RCA_IN_TIMEWAIT_EXIT, 0);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_TIMEWAIT_EXIT, 0);

	fake->fail_after = 0;
	id = connected(test);
	fake->fail_after = 1;
	KUNIT_EXPECT_EQ(test, rca_destroy(fake->ctx, id->obj.handle, &reported), 0);
	KUNIT_EXPECT_EQ(test, fake->disconnects, 2);
	KUNIT_EXPECT_EQ(test, atomic_read(&fake->lowers), 1);
	fake->fail_after = 0;
}

static void peer_disconnects_and_is_answered(struct kunit *test)
{
	struct rca_id *id = connected(test);

	KUNIT_EXPECT_EQ(test, (int)fake_message(id, RCA_IN_DREQ, 0), (int)RCA_ACT_DREP);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_DISCONNECTED, 0);
	KUNIT_EXPECT_EQ(test, rca_disconnect(id), 0);
	/* A repeated DREQ is answered, and not reported again. */
	KUNIT_EXPECT_EQ(test, (int)fake_message(id, RCA_IN_DREQ, 0), (int)RCA_ACT_DREP);
	fake_expect_no_event(test);
}

static void both_disconnect_at_once(struct kunit *test)
{
	struct rca_id *id = connected(test);

	KUNIT_EXPECT_EQ(test, rca_disconnect(id), 0);
	KUNIT_EXPECT_EQ(test, (int)fake_message(id, RCA_IN_DREQ, 0), (int)RCA_ACT_DREP);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_DISCONNECTED, 0);
	fake_message(id, RCA_IN_DREP, 0);
	fake_expect_no_event(test);
}

/* ib_cm disconnects by itself when a new connection shows that the peer has dropped this one. */
static void stale_connection_ends_with_its_events(struct kunit *test)
{
	struct rca_id *id = connected(test);
	struct fake *fake = test->priv;

	fake_message(id, RCA_IN_DREP, 0);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_DISCONNECTED, 0);
	fake_message(id, RCA_IN_TIMEWAIT_EXIT, 0);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_TIMEWAIT_EXIT, 0);
	KUNIT_EXPECT_EQ(test, rca_disconnect(id), 0);
	KUNIT_EXPECT_EQ(test, fake->disconnects, 0);

	id = connected(test);
	fake_message(id, RCA_IN_DREQ_TIMEOUT, -ETIMEDOUT);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_DISCONNECTED, -ETIMEDOUT);
	fake_expect_no_event(test);
}

static void disconnect_before_establish_arrives(struct kunit *test)
{
	struct rca_id *id = connecting(test);

	fake_message(id, RCA_IN_REP, 0);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_CONNECT_RESPONSE, 0);
	KUNIT_EXPECT_EQ(test, (int)fake_message(id, RCA_IN_DREQ, 0), (int)RCA_ACT_DREP);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_DISCONNECTED, 0);
	KUNIT_EXPECT_EQ(test, rca_establish(id), -EINVAL);
}

static void accept_is_established(struct kunit *test)
{
	struct rca_id *id = accepted(test);
	struct fake *fake = test->priv;

	KUNIT_EXPECT_EQ(test, fake->replies, 1);
	fake_message(id, RCA_IN_RTU, 0);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_ESTABLISHED, 0);
	fake_message(id, RCA_IN_RTU, 0);
	fake_expect_no_event(test);
}

static void accept_private_data_limit_is_196(struct kunit *test)
{
	struct rca_id *id = fake_child(test, test->priv);
	struct rca_tp_conn conn = params(197);

	KUNIT_EXPECT_EQ(test, rca_accept(id, FAKE_COOKIE, &conn), -EINVAL);
	fake_expect_state(test, id, RCA_ST_REQ_RCVD);
}

static void accept_twice_is_einval(struct kunit *test)
{
	struct rca_id *id = accepted(test);
	struct rca_tp_conn conn = params(0);

	KUNIT_EXPECT_EQ(test, rca_accept(id, FAKE_COOKIE, &conn), -EINVAL);
}

static void accept_send_failure_rejects(struct kunit *test)
{
	struct rca_id *id = fake_child(test, test->priv);
	struct rca_tp_conn conn = params(0);
	struct fake *fake = test->priv;

	fake->fail = -ENOMEM;
	KUNIT_EXPECT_EQ(test, rca_accept(id, FAKE_COOKIE, &conn), -ENOMEM);
	KUNIT_EXPECT_EQ(test, fake->rejects, 1);
	KUNIT_EXPECT_EQ(test, fake->last_reason, (int)IB_CM_REJ_CONSUMER_DEFINED);
	fake_expect_state(test, id, RCA_ST_FAILED);
}

static void accept_after_client_went_is_econnreset(struct kunit *test)
{
	struct rca_id *id = fake_child(test, test->priv);
	struct rca_tp_conn conn = params(0);

	fake_message(id, RCA_IN_REJ, 4);
	fake_expect_no_event(test);
	KUNIT_EXPECT_EQ(test, rca_accept(id, FAKE_COOKIE, &conn), -ECONNRESET);
}

static void accept_lost_ready_then_data_then_disconnect(struct kunit *test)
{
	struct rca_id *id = accepted(test);

	KUNIT_EXPECT_EQ(test, (int)fake_message(id, RCA_IN_DREQ, 0), (int)RCA_ACT_DREP);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_DISCONNECTED, 0);
	fake_message(id, RCA_IN_REP_TIMEOUT, -ETIMEDOUT);
	fake_expect_no_event(test);
}

static void reject_checks_reason_length_and_state(struct kunit *test)
{
	struct rca_id *id = fake_child(test, test->priv);
	struct fake *fake = test->priv;
	static const u8 data[149];

	KUNIT_EXPECT_EQ(test, rca_reject(id, 8, NULL, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, rca_reject(id, 0, data, 149), -EINVAL);
	KUNIT_EXPECT_EQ(test, fake->rejects, 0);
	KUNIT_EXPECT_EQ(test, rca_reject(id, 0, data, 148), 0);
	KUNIT_EXPECT_EQ(test, fake->last_reason, (int)IB_CM_REJ_CONSUMER_DEFINED);
	KUNIT_EXPECT_EQ(test, rca_reject(id, 0, NULL, 0), -EINVAL);
}

static void destroy_connected_waits_for_the_answer(struct kunit *test)
{
	struct rca_id *id = connected(test);
	struct fake *fake = test->priv;
	u32 reported;

	rca_id_get(id);
	KUNIT_EXPECT_EQ(test, rca_destroy(fake->ctx, id->obj.handle, &reported), 0);
	KUNIT_EXPECT_EQ(test, reported, 1u);
	KUNIT_EXPECT_EQ(test, fake->disconnects, 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&fake->lowers), 1);
	KUNIT_EXPECT_EQ(test, rca_destroy(fake->ctx, id->obj.handle, &reported), -ENOENT);
	fake_message(id, RCA_IN_DREP, 0);
	rca_id_flush_work(id);
	KUNIT_EXPECT_EQ(test, atomic_read(&fake->lowers), 0);
	fake_expect_no_event(test);
	rca_id_put(id);
}

static void destroy_connected_then_removal_leaves_no_timer(struct kunit *test)
{
	struct rca_id *id = connected(test);
	struct fake *fake = test->priv;
	u32 reported;

	rca_id_get(id);
	KUNIT_EXPECT_EQ(test, rca_destroy(fake->ctx, id->obj.handle, &reported), 0);
	KUNIT_EXPECT_TRUE(test, rca_id_work_pending(id));
	fake->dev.removing = true;
	rca_teardown_device(&fake->dev);
	KUNIT_EXPECT_FALSE(test, rca_id_work_pending(id));
	KUNIT_EXPECT_EQ(test, atomic_read(&fake->lowers), 0);
	KUNIT_EXPECT_EQ(test, refcount_read(&id->obj.ref), 1u);
	rca_id_put(id);
}

/* A deadline of an hour holds the device and the namespace no longer than none. */
static void destroy_waits_for_seconds(struct kunit *test)
{
	struct rca_id *ids[] = { connected(test), connected(test) };
	struct fake *fake = test->priv;
	u32 reported, hour = 3600000;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ids); i++) {
		KUNIT_ASSERT_EQ(test, rca_set_option(ids[i], RDMA_CM_ALT_OPTION,
						     RDMA_CM_ALT_OPTION_DEADLINE, &hour,
						     sizeof(hour)), 0);
		rca_id_get(ids[i]);
	}
	KUNIT_EXPECT_EQ(test, rca_disconnect(ids[1]), 0);
	for (i = 0; i < ARRAY_SIZE(ids); i++) {
		KUNIT_EXPECT_EQ(test, rca_destroy(fake->ctx, ids[i]->obj.handle, &reported), 0);
		KUNIT_EXPECT_TRUE(test, rca_id_work_pending(ids[i]));
		KUNIT_EXPECT_TRUE(test, time_before_eq(ids[i]->setup->timer.expires,
						       jiffies + 10 * HZ));
		KUNIT_EXPECT_TRUE(test, time_before_eq(ids[i]->setup->drep_deadline,
						       jiffies + 10 * HZ));
		fake_message(ids[i], RCA_IN_DREP, 0);
		rca_id_flush_work(ids[i]);
		rca_id_put(ids[i]);
	}
	KUNIT_EXPECT_EQ(test, atomic_read(&fake->lowers), 0);
}

static void answer_during_send(struct fake *fake, void *lower)
{
	struct rca_tp_event event = { .input = RCA_IN_DREP };

	rca_cm_event(((struct fake_lower *)lower)->owner, lower, &event);
}

static void destroy_answered_before_it_waits_leaves_no_timer(struct kunit *test)
{
	struct rca_id *id = connected(test);
	struct fake *fake = test->priv;
	u32 reported;

	rca_id_get(id);
	fake->during = answer_during_send;
	KUNIT_EXPECT_EQ(test, rca_destroy(fake->ctx, id->obj.handle, &reported), 0);
	rca_id_flush_work(id);
	KUNIT_EXPECT_FALSE(test, rca_id_work_pending(id));
	KUNIT_EXPECT_EQ(test, atomic_read(&fake->lowers), 0);
	rca_id_put(id);
}

static void accept_overtaken_by_a_reject_is_told_once(struct kunit *test)
{
	struct rca_id *id = fake_child(test, test->priv);
	struct rca_tp_conn conn = params(0);
	struct fake *fake = test->priv;

	fake->during = reject_during_send;
	fake->fail_after = -EINVAL;
	KUNIT_EXPECT_EQ(test, rca_accept(id, FAKE_COOKIE, &conn), 0);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_REJECTED, 28);
	KUNIT_EXPECT_EQ(test, fake->rejects, 0);
}

static void set_queue_after_destroy_attaches_nothing(struct kunit *test)
{
	struct rca_id *id = fake_active_id(test, test->priv, FAKE_COOKIE);
	struct fake *fake = test->priv;
	u32 reported;

	rca_id_get(id);
	KUNIT_EXPECT_EQ(test, rca_destroy(fake->ctx, id->obj.handle, &reported), 0);
	KUNIT_EXPECT_EQ(test, rca_source_move(&id->src, fake->queue, NULL, NULL), -ENOENT);
	KUNIT_EXPECT_NULL(test, id->src.queue);
	rca_id_put(id);
}

static void destroy_pending_request_is_immediate(struct kunit *test)
{
	struct rca_id *id = fake_child(test, test->priv);
	struct fake *fake = test->priv;
	u32 reported;

	KUNIT_EXPECT_EQ(test, rca_destroy(fake->ctx, id->obj.handle, &reported), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&fake->lowers), 0);
}

static void destroy_drops_undelivered_events(struct kunit *test)
{
	struct rca_id *id = connecting(test);
	struct fake *fake = test->priv;
	u32 reported;

	fake_message(id, RCA_IN_REP, 0);
	KUNIT_EXPECT_EQ(test, rca_destroy(fake->ctx, id->obj.handle, &reported), 0);
	KUNIT_EXPECT_EQ(test, reported, 0u);
	fake_expect_no_event(test);
}

static void removal_in_each_state_tells_once_and_gives_all_back(struct kunit *test)
{
	struct rca_id *ids[3] = { connecting(test), connected(test), accepted(test) };
	struct rca_tp_conn conn = params(0);
	struct fake *fake = test->priv;
	int i;

	fake->dev.removing = true;
	rca_teardown_device(&fake->dev);
	KUNIT_EXPECT_EQ(test, atomic_read(&fake->lowers), 0);
	for (i = 0; i < ARRAY_SIZE(ids); i++) {
		fake_expect_event(test, RDMA_CM_ALT_EVENT_DEVICE_REMOVAL, 0);
		fake_expect_state(test, ids[i], RCA_ST_REMOVED);
		KUNIT_EXPECT_EQ(test, rca_connect(ids[i], &conn), -ENXIO);
		KUNIT_EXPECT_EQ(test, rca_disconnect(ids[i]), -ENXIO);
	}
	fake_expect_no_event(test);
}

static void timewait_exit_destroys_the_lower_id(struct kunit *test)
{
	struct rca_id *id = connected(test);
	struct fake *fake = test->priv;

	fake_message(id, RCA_IN_DREQ, 0);
	fake_message(id, RCA_IN_TIMEWAIT_EXIT, 0);
	rca_id_flush_work(id);
	KUNIT_EXPECT_EQ(test, atomic_read(&fake->lowers), 0);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_DISCONNECTED, 0);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_TIMEWAIT_EXIT, 0);
	KUNIT_EXPECT_EQ(test, rca_disconnect(id), 0);
}

static struct kunit_case connect_cases[] = {
	KUNIT_CASE(late_report_of_another_cm_id),
	KUNIT_CASE(connect_sends_header_and_private_data),
	KUNIT_CASE(connect_private_data_limit_is_56),
	KUNIT_CASE(connect_send_failure_changes_nothing),
	KUNIT_CASE(connect_twice_is_einval),
	KUNIT_CASE(quiet_accept_tells_of_the_end_alone),
	KUNIT_CASE(quiet_accept_tells_of_a_failure),
	KUNIT_CASE(connect_rejected_before_it_returns),
	KUNIT_CASE(connect_timeout_is_unreachable),
	KUNIT_CASE(reply_swaps_depths_and_carries_attributes),
	KUNIT_CASE(duplicate_reply_is_ignored),
	KUNIT_CASE(establish_twice_is_einval),
	KUNIT_CASE(establish_send_failure_fails_the_connection),
	KUNIT_CASE(establish_that_crosses_a_reject_loses_no_event),
	KUNIT_CASE(accept_that_crosses_a_reject_says_so),
	KUNIT_CASE(disconnect_is_answered),
	KUNIT_CASE(disconnect_times_out),
	KUNIT_CASE(disconnect_send_failure_still_ends),
	KUNIT_CASE(disconnect_needs_no_answer),
	KUNIT_CASE(peer_disconnects_and_is_answered),
	KUNIT_CASE(both_disconnect_at_once),
	KUNIT_CASE(stale_connection_ends_with_its_events),
	KUNIT_CASE(disconnect_before_establish_arrives),
	KUNIT_CASE(accept_is_established),
	KUNIT_CASE(accept_private_data_limit_is_196),
	KUNIT_CASE(accept_twice_is_einval),
	KUNIT_CASE(accept_send_failure_rejects),
	KUNIT_CASE(accept_after_client_went_is_econnreset),
	KUNIT_CASE(accept_lost_ready_then_data_then_disconnect),
	KUNIT_CASE(reject_checks_reason_length_and_state),
	KUNIT_CASE(destroy_connected_waits_for_the_answer),
	KUNIT_CASE(destroy_connected_then_removal_leaves_no_timer),
	KUNIT_CASE(destroy_waits_for_seconds),
	KUNIT_CASE(destroy_answered_before_it_waits_leaves_no_timer),
	KUNIT_CASE(accept_overtaken_by_a_reject_is_told_once),
	KUNIT_CASE(set_queue_after_destroy_attaches_nothing),
	KUNIT_CASE(destroy_pending_request_is_immediate),
	KUNIT_CASE(destroy_drops_undelivered_events),
	KUNIT_CASE(removal_in_each_state_tells_once_and_gives_all_back),
	KUNIT_CASE(timewait_exit_destroys_the_lower_id),
	{}
};

static struct kunit_suite connect_suite = {
	.name = "rdma_cm_alt_connect",
	.init = fake_suite_init,
	.exit = fake_suite_exit,
	.test_cases = connect_cases,
};
kunit_test_suite(connect_suite);
