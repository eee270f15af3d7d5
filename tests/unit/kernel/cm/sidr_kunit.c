// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of kernel/cm/sidr.c on a fake transport: answers that arrive early, late, twice or
 * never, and ids that end at any time.
 *
 * Locking: none.
 */
#include <kunit/test.h>
#include <linux/slab.h>
#include <rdma/ib_cm.h>

#include "cm/internal.h"
#include "fake/fake_suite.h"
#include "lib/testing.h"
#include "lib/wire.h"

#define OTHER_QKEY 0x0badcafe

static struct rca_tp_conn params(u8 len)
{
	static const u8 data[U8_MAX] = { 0xaa, 0xbb };

	return (struct rca_tp_conn){ .qp_num = 42, .private_data = data, .private_data_len = len };
}

static struct rca_id *asking(struct kunit *test)
{
	struct rca_id *id = fake_active_datagram(test, test->priv, FAKE_COOKIE);
	struct rca_tp_conn conn = params(4);

	KUNIT_ASSERT_EQ(test, rca_connect(id, &conn), 0);
	fake_expect_state(test, id, RCA_ST_SIDR_SENT);
	return id;
}

static struct rca_id *answered(struct kunit *test)
{
	struct rca_id *id = asking(test);

	fake_message(id, RCA_IN_REP, 0);
	fake_expect_state(test, id, RCA_ST_SIDR_DONE);
	return id;
}

static struct rca_id *accepted(struct kunit *test)
{
	struct rca_id *id = fake_datagram_child(test, test->priv);
	struct rca_tp_conn conn = params(0);

	KUNIT_ASSERT_EQ(test, rca_accept(id, FAKE_COOKIE, &conn), 0);
	fake_expect_state(test, id, RCA_ST_SIDR_DONE);
	return id;
}

static int settle(struct rca_id *id, u32 qkey)
{
	unsigned long flags;
	int ret;

	spin_lock_irqsave(&id->lock, flags);
	ret = rca_qkey_settle_locked(id, qkey);
	spin_unlock_irqrestore(&id->lock, flags);
	return ret;
}

/* Destroy one id at a time: destruction may not wait for the work of another id. */
static void destroy(struct kunit *test, struct rca_id *id)
{
	struct fake *fake = test->priv;
	u32 reported;

	KUNIT_EXPECT_EQ(test, rca_destroy(fake->ctx, id->obj.handle, &reported), 0);
}

static void request_has_header_and_private_data(struct kunit *test)
{
	struct fake *fake = test->priv;
	union rca_addr src, dst;

	asking(test);

	KUNIT_EXPECT_EQ(test, fake->sidr_requests, 1);
	KUNIT_EXPECT_EQ(test, fake->connects, 0);
	KUNIT_EXPECT_EQ(test, (int)fake->last_req_len, RCA_WIRE_HDR_LEN + 4);
	KUNIT_EXPECT_EQ(test, rca_wire_get_hdr(fake->last_req, RCA_WIRE_HDR_LEN,
					       cpu_to_be16(7471), &src, &dst), 0);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(dst.in.sin_addr.s_addr), 0x0a090002);
	KUNIT_EXPECT_EQ(test, (int)fake->last_req[RCA_WIRE_HDR_LEN], 0xaa);
}

static void request_private_data_limit_is_180(struct kunit *test)
{
	struct rca_id *id = fake_active_datagram(test, test->priv, FAKE_COOKIE);
	struct rca_tp_conn conn = params(181);
	struct fake *fake = test->priv;

	KUNIT_EXPECT_EQ(test, rca_connect(id, &conn), -EINVAL);
	fake_expect_state(test, id, RCA_ST_ROUTE_RESOLVED);
	conn = params(180);
	KUNIT_EXPECT_EQ(test, rca_connect(id, &conn), 0);
	KUNIT_EXPECT_EQ(test, (int)fake->last_req_len, 216);
}

static void request_that_cannot_be_sent_changes_nothing(struct kunit *test)
{
	struct rca_id *id = fake_active_datagram(test, test->priv, FAKE_COOKIE);
	struct rca_tp_conn conn = params(0);
	struct fake *fake = test->priv;

	fake->fail = -ENOMEM;
	KUNIT_EXPECT_EQ(test, rca_connect(id, &conn), -ENOMEM);
	fake_expect_state(test, id, RCA_ST_ROUTE_RESOLVED);
	KUNIT_EXPECT_EQ(test, atomic_read(&fake->lowers), 0);
	KUNIT_EXPECT_NULL(test, id->reserved);
	fake_expect_no_event(test);
	KUNIT_EXPECT_EQ(test, rca_connect(id, &conn), 0);
}

static void request_without_a_way_is_not_sent(struct kunit *test)
{
	struct rca_id *id = fake_active_datagram(test, test->priv, FAKE_COOKIE);
	struct rca_tp_conn conn = params(0);
	struct fake *fake = test->priv;

	fake->no_way = true;
	KUNIT_EXPECT_EQ(test, rca_connect(id, &conn), -EINVAL);
	fake_expect_state(test, id, RCA_ST_ROUTE_RESOLVED);
	KUNIT_EXPECT_EQ(test, fake->sidr_requests, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&fake->lowers), 0);
}

static void reply_is_established(struct kunit *test)
{
	struct rca_id *id = answered(test);
	struct rdma_cm_alt_event rec;
	struct fake *fake = test->priv;

	rec = fake_expect_event(test, RDMA_CM_ALT_EVENT_ESTABLISHED, 0);
	KUNIT_EXPECT_EQ(test, rec.flags,
			(u32)(RDMA_CM_ALT_EVENT_F_UD | RDMA_CM_ALT_EVENT_F_ROUTE));
	KUNIT_EXPECT_EQ(test, rec.qp_num, 77u);
	KUNIT_EXPECT_EQ(test, rec.qkey, (u32)FAKE_QKEY);
	KUNIT_EXPECT_EQ(test, (int)rec.ah_attr.sl, FAKE_SL);
	KUNIT_EXPECT_EQ(test, (int)rec.private_data_len, 4);
	KUNIT_EXPECT_EQ(test, (int)rec.private_data[3], 4);
	rca_id_flush_work(id);
	KUNIT_EXPECT_EQ(test, atomic_read(&fake->lowers), 0);
	KUNIT_EXPECT_EQ(test, rca_disconnect(id), 0);
	KUNIT_EXPECT_EQ(test, rca_notify(id, IB_EVENT_COMM_EST), -EINVAL);
	KUNIT_EXPECT_EQ(test, fake->disconnects, 0);
}

static void reply_during_send(struct fake *fake, void *lower)
{
	fake->during = NULL;
	fake_message(((struct fake_lower *)lower)->owner, RCA_IN_REP, 0);
}

static void reply_may_come_before_connect_returns(struct kunit *test)
{
	struct rca_id *id = fake_active_datagram(test, test->priv, FAKE_COOKIE);
	struct rca_tp_conn conn = params(0);
	struct fake *fake = test->priv;

	fake->during = reply_during_send;
	KUNIT_EXPECT_EQ(test, rca_connect(id, &conn), 0);
	fake_expect_state(test, id, RCA_ST_SIDR_DONE);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_ESTABLISHED, 0);
	rca_id_flush_work(id);
	KUNIT_EXPECT_EQ(test, atomic_read(&fake->lowers), 0);
}

static void refusal_is_unreachable_with_its_status(struct kunit *test)
{
	struct rca_id *id = asking(test);
	struct rca_tp_conn conn = params(0);
	struct rdma_cm_alt_event rec;

	fake_message(id, RCA_IN_REJ, IB_SIDR_REJECT);
	rec = fake_expect_event(test, RDMA_CM_ALT_EVENT_UNREACHABLE, IB_SIDR_REJECT);
	KUNIT_EXPECT_EQ(test, rec.qp_num, 0u);
	KUNIT_EXPECT_EQ(test, (int)rec.ah_attr.sl, 0);
	KUNIT_EXPECT_EQ(test, (int)rec.private_data[3], 4);
	fake_expect_state(test, id, RCA_ST_FAILED);
	KUNIT_EXPECT_EQ(test, rca_connect(id, &conn), -EINVAL);
	KUNIT_EXPECT_EQ(test, rca_disconnect(id), 0);
}

static void timeout_is_unreachable(struct kunit *test)
{
	struct rca_id *id = asking(test);
	struct rdma_cm_alt_event rec;

	fake_message(id, RCA_IN_REQ_TIMEOUT, -ETIMEDOUT);
	rec = fake_expect_event(test, RDMA_CM_ALT_EVENT_UNREACHABLE, -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, rec.flags, (u32)RDMA_CM_ALT_EVENT_F_ROUTE);
	KUNIT_EXPECT_EQ(test, (int)rec.ah_attr.sl, 0);
	fake_expect_state(test, id, RCA_ST_FAILED);
}

static void late_and_duplicate_answers_are_ignored(struct kunit *test)
{
	static const enum rca_input late[] = { RCA_IN_REP, RCA_IN_REJ, RCA_IN_REQ_TIMEOUT };
	struct rca_id *done = answered(test), *failed = asking(test);
	int i;

	fake_expect_event(test, RDMA_CM_ALT_EVENT_ESTABLISHED, 0);
	fake_message(failed, RCA_IN_REQ_TIMEOUT, -ETIMEDOUT);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_UNREACHABLE, -ETIMEDOUT);
	for (i = 0; i < ARRAY_SIZE(late); i++) {
		fake_message(done, late[i], 1);
		fake_message(failed, late[i], 1);
	}
	fake_expect_no_event(test);
	fake_expect_state(test, done, RCA_ST_SIDR_DONE);
	fake_expect_state(test, failed, RCA_ST_FAILED);
	/* A late answer settles no queue key. */
	KUNIT_EXPECT_EQ(test, failed->qkey, 0u);
}

static void reply_with_another_queue_key_is_an_address_error(struct kunit *test)
{
	struct rca_id *id = asking(test);
	struct rdma_cm_alt_event rec;

	KUNIT_EXPECT_EQ(test, settle(id, OTHER_QKEY), 0);
	fake_message(id, RCA_IN_REP, 0);
	rec = fake_expect_event(test, RDMA_CM_ALT_EVENT_ADDR_ERROR, -EINVAL);
	KUNIT_EXPECT_EQ(test, rec.qp_num, 0u);
	KUNIT_EXPECT_EQ(test, rec.qkey, 0u);
	KUNIT_EXPECT_EQ(test, (int)rec.ah_attr.sl, 0);
	fake_expect_state(test, id, RCA_ST_FAILED);
}

static void queue_key_is_settled_once(struct kunit *test)
{
	struct rca_id *id = fake_active_datagram(test, test->priv, FAKE_COOKIE);

	KUNIT_EXPECT_EQ(test, rca_qkey(id), (u32)FAKE_QKEY);
	KUNIT_EXPECT_EQ(test, settle(id, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, settle(id, OTHER_QKEY), 0);
	KUNIT_EXPECT_EQ(test, settle(id, OTHER_QKEY), 0);
	KUNIT_EXPECT_EQ(test, settle(id, FAKE_QKEY), -EINVAL);
	KUNIT_EXPECT_EQ(test, rca_qkey(id), (u32)OTHER_QKEY);
}

static void accept_tells_the_qp_and_needs_no_lower_id(struct kunit *test)
{
	struct rca_id *id = accepted(test);
	struct rca_tp_conn conn = params(0);
	struct fake *fake = test->priv;

	KUNIT_EXPECT_EQ(test, fake->sidr_replies, 1);
	KUNIT_EXPECT_EQ(test, fake->last_status, (int)IB_SIDR_SUCCESS);
	KUNIT_EXPECT_EQ(test, fake->last_qkey, (u32)FAKE_QKEY);
	KUNIT_EXPECT_EQ(test, atomic_read(&fake->lowers), 0);
	fake_expect_no_event(test);
	KUNIT_EXPECT_EQ(test, rca_accept(id, FAKE_COOKIE, &conn), -EINVAL);
	KUNIT_EXPECT_EQ(test, rca_reject(id, 0, NULL, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, rca_establish(id), -EINVAL);
	KUNIT_EXPECT_EQ(test, rca_disconnect(id), 0);
	KUNIT_EXPECT_EQ(test, fake->sidr_replies, 1);
}

static void accept_private_data_limit_is_136(struct kunit *test)
{
	struct rca_id *id = fake_datagram_child(test, test->priv);
	struct rca_tp_conn conn = params(137);

	KUNIT_EXPECT_EQ(test, rca_accept(id, FAKE_COOKIE, &conn), -EINVAL);
	fake_expect_state(test, id, RCA_ST_SIDR_RCVD);
	conn = params(136);
	KUNIT_EXPECT_EQ(test, rca_accept(id, FAKE_COOKIE, &conn), 0);
}

static void accept_with_a_queue_key(struct kunit *test)
{
	struct rca_id *id = fake_datagram_child(test, test->priv);
	struct rca_tp_conn conn = params(0);
	struct fake *fake = test->priv;

	KUNIT_EXPECT_EQ(test, settle(id, OTHER_QKEY), 0);
	conn.qkey = FAKE_QKEY;
	KUNIT_EXPECT_EQ(test, rca_accept(id, FAKE_COOKIE, &conn), -EINVAL);
	fake_expect_state(test, id, RCA_ST_SIDR_RCVD);
	KUNIT_EXPECT_EQ(test, fake->sidr_replies, 0);
	conn.qkey = 0;
	KUNIT_EXPECT_EQ(test, rca_accept(id, FAKE_COOKIE, &conn), 0);
	KUNIT_EXPECT_EQ(test, fake->last_qkey, (u32)OTHER_QKEY);
}

static void accept_that_cannot_be_sent_fails_the_id(struct kunit *test)
{
	struct rca_id *id = fake_datagram_child(test, test->priv);
	struct rca_tp_conn conn = params(0);
	struct fake *fake = test->priv;

	fake->fail = -ENOMEM;
	KUNIT_EXPECT_EQ(test, rca_accept(id, FAKE_COOKIE, &conn), -ENOMEM);
	fake_expect_state(test, id, RCA_ST_FAILED);
	/* Destroying the cm_id refuses the request. */
	KUNIT_EXPECT_EQ(test, atomic_read(&fake->lowers), 0);
	KUNIT_EXPECT_EQ(test, rca_accept(id, FAKE_COOKIE, &conn), -EINVAL);
	fake_expect_no_event(test);
}

static void accept_with_a_qp_of_somebody_else(struct kunit *test)
{
	struct rca_id *id = fake_datagram_child(test, test->priv);
	struct rca_tp_conn conn = params(0);
	struct fake *fake = test->priv;

	conn.qp_num = FAKE_FOREIGN_QP;
	KUNIT_EXPECT_EQ(test, rca_accept(id, FAKE_COOKIE, &conn), -EPERM);
	fake_expect_state(test, id, RCA_ST_SIDR_RCVD);
	KUNIT_EXPECT_EQ(test, fake->sidr_replies, 0);
	conn = params(0);
	KUNIT_EXPECT_EQ(test, rca_accept(id, FAKE_COOKIE, &conn), 0);
}

static void reject_is_status_2(struct kunit *test)
{
	static const u8 data[137];
	struct rca_id *id = fake_datagram_child(test, test->priv);
	struct rca_tp_conn conn = params(0);
	struct fake *fake = test->priv;

	KUNIT_EXPECT_EQ(test, rca_reject(id, 5, NULL, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, rca_reject(id, 0, data, 137), -EINVAL);
	fake_expect_state(test, id, RCA_ST_SIDR_RCVD);
	KUNIT_EXPECT_EQ(test, rca_reject(id, 0, data, 136), 0);
	KUNIT_EXPECT_EQ(test, fake->last_status, (int)IB_SIDR_REJECT);
	KUNIT_EXPECT_EQ(test, fake->rejects, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&fake->lowers), 0);
	fake_expect_state(test, id, RCA_ST_FAILED);
	KUNIT_EXPECT_EQ(test, rca_reject(id, 0, NULL, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, rca_accept(id, FAKE_COOKIE, &conn), -EINVAL);
	KUNIT_EXPECT_EQ(test, rca_disconnect(id), 0);
}

static void destroy_in_each_state_is_immediate(struct kunit *test)
{
	struct fake *fake = test->priv;

	destroy(test, fake_active_datagram(test, fake, FAKE_COOKIE));
	destroy(test, asking(test));
	destroy(test, fake_datagram_child(test, fake));
	destroy(test, accepted(test));
	destroy(test, answered(test));
	KUNIT_EXPECT_EQ(test, atomic_read(&fake->lowers), 0);
	KUNIT_EXPECT_EQ(test, fake->disconnects, 0);
	fake_expect_no_event(test);
}

static void answer_during_destroy(struct kunit *test)
{
	static const enum rca_input inputs[] = {
		RCA_IN_REP, RCA_IN_REJ, RCA_IN_REQ_TIMEOUT, RCA_IN_BAD_QKEY,
	};
	struct rca_id *id;
	int i;

	/* The answer arrives in the state in which destroy waits for it. */
	for (i = 0; i < ARRAY_SIZE(inputs); i++) {
		id = asking(test);
		rca_id_get(id);
		rca_id_step(id, RCA_IN_DESTROY);
		fake_message(id, inputs[i], 0);
		destroy(test, id);
		rca_id_flush_work(id);
		fake_expect_no_event(test);
		rca_id_put(id);
	}
}

static void timeout_after_the_last_reference(struct kunit *test)
{
	struct rca_id *id = rca_id_get(asking(test));

	/* ib_cm may report the timeout after destroy has returned; only RCU keeps the id then. */
	destroy(test, id);
	rca_id_flush_work(id);
	rcu_read_lock();
	rca_id_put(id);
	KUNIT_EXPECT_EQ(test, fake_message(id, RCA_IN_REQ_TIMEOUT, -ETIMEDOUT), 0);
	KUNIT_EXPECT_EQ(test, refcount_read(&id->obj.ref), 0u);
	rcu_read_unlock();
	fake_expect_no_event(test);
}

static noinline_for_stack void expect_removal_without_cookie(struct kunit *test)
{
	struct rdma_cm_alt_event rec;

	KUNIT_ASSERT_TRUE(test, fake_take_event(test->priv, &rec));
	KUNIT_EXPECT_EQ(test, rec.type, (u32)RDMA_CM_ALT_EVENT_DEVICE_REMOVAL);
	KUNIT_EXPECT_EQ(test, rec.cookie, (u64)0);
}

static void removal_in_each_state_tells_and_gives_all_back(struct kunit *test)
{
	struct fake *fake = test->priv;
	struct rca_id *ids[] = { asking(test), answered(test), accepted(test) };
	struct rca_id *read = fake_datagram_child(test, fake);
	struct rca_tp_conn conn = params(0);
	struct ib_uverbs_qp_attr attr;
	int i;

	fake_expect_event(test, RDMA_CM_ALT_EVENT_ESTABLISHED, 0);
	fake->dev.removing = true;
	rca_teardown_device(&fake->dev);
	KUNIT_EXPECT_EQ(test, atomic_read(&fake->lowers), 0);
	for (i = 0; i < ARRAY_SIZE(ids); i++) {
		fake_expect_event(test, RDMA_CM_ALT_EVENT_DEVICE_REMOVAL, 0);
		fake_expect_state(test, ids[i], RCA_ST_REMOVED);
		KUNIT_EXPECT_EQ(test, rca_connect(ids[i], &conn), -ENXIO);
		KUNIT_EXPECT_EQ(test, rca_disconnect(ids[i]), -ENXIO);
		KUNIT_EXPECT_EQ(test, rca_qp_attr(ids[i], IB_QPS_INIT, &attr), -ENXIO);
	}
	/* A request that was read and not accepted gets the event, too; it has no cookie yet. */
	expect_removal_without_cookie(test);
	fake_expect_state(test, read, RCA_ST_REMOVED);
	KUNIT_EXPECT_EQ(test, rca_accept(read, FAKE_COOKIE, &conn), -ENXIO);
	KUNIT_EXPECT_EQ(test, rca_reject(read, 0, NULL, 0), -ENXIO);
	fake_expect_no_event(test);
}

static void request_with_a_bad_header_is_refused(struct kunit *test)
{
	u8 data[IB_CM_SIDR_REQ_PRIVATE_DATA_SIZE] = {};
	struct rca_tp_request req = {
		.service_id = rca_wire_service_id(0x0111, cpu_to_be16(7471)),
		.port_num = 1,
		.conn.qp_type = IB_QPT_UD,
		.conn.private_data = data,
		.conn.private_data_len = sizeof(data),
	};
	struct fake *fake = test->priv;
	struct rca_demux demux = { .dev = &fake->dev };

	INIT_LIST_HEAD(&demux.slots);
	data[1] = 5 << 4;
	KUNIT_EXPECT_EQ(test, rca_req_handler(&demux, NULL, &req), -EINVAL);
	data[0] = 1;
	data[1] = 4 << 4;
	KUNIT_EXPECT_EQ(test, rca_req_handler(&demux, NULL, &req), -EINVAL);
	data[0] = 0;
	req.conn.private_data_len = RCA_WIRE_HDR_LEN - 1;
	KUNIT_EXPECT_EQ(test, rca_req_handler(&demux, NULL, &req), -EINVAL);
	/* A valid request, but the destination GID does not exist. */
	req.conn.private_data_len = sizeof(data);
	KUNIT_EXPECT_EQ(test, rca_req_handler(&demux, NULL, &req), -ENODEV);
}

static struct kunit_case datagram_cases[] = {
	KUNIT_CASE(request_has_header_and_private_data),
	KUNIT_CASE(request_private_data_limit_is_180),
	KUNIT_CASE(request_that_cannot_be_sent_changes_nothing),
	KUNIT_CASE(request_without_a_way_is_not_sent),
	KUNIT_CASE(reply_is_established),
	KUNIT_CASE(reply_may_come_before_connect_returns),
	KUNIT_CASE(refusal_is_unreachable_with_its_status),
	KUNIT_CASE(timeout_is_unreachable),
	KUNIT_CASE(late_and_duplicate_answers_are_ignored),
	KUNIT_CASE(reply_with_another_queue_key_is_an_address_error),
	KUNIT_CASE(queue_key_is_settled_once),
	KUNIT_CASE(accept_tells_the_qp_and_needs_no_lower_id),
	KUNIT_CASE(accept_private_data_limit_is_136),
	KUNIT_CASE(accept_with_a_queue_key),
	KUNIT_CASE(accept_that_cannot_be_sent_fails_the_id),
	KUNIT_CASE(accept_with_a_qp_of_somebody_else),
	KUNIT_CASE(reject_is_status_2),
	KUNIT_CASE(destroy_in_each_state_is_immediate),
	KUNIT_CASE(answer_during_destroy),
	KUNIT_CASE(timeout_after_the_last_reference),
	KUNIT_CASE(removal_in_each_state_tells_and_gives_all_back),
	KUNIT_CASE(request_with_a_bad_header_is_refused),
	{}
};

static struct kunit_suite datagram_suite = {
	.name = "rdma_cm_alt_datagram",
	.init = fake_suite_init,
	.exit = fake_suite_exit,
	.test_cases = datagram_cases,
};
kunit_test_suite(datagram_suite);
