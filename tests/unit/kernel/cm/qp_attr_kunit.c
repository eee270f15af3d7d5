// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of QP attributes that the transport does not give: between two requests, when the ib_cm id
 * has changed its state meanwhile, and without a queue key.
 *
 * Locking: none.
 */
#include <kunit/test.h>
#include <rdma/ib_cm.h>
#include <rdma/rdma_user_cm.h>

#include "cm/cm.h"
#include "fake/fake_suite.h"

#define READS (IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC)

/* Operations of the fake transport that a test changes. */
static struct rca_tp_ops ops;
static enum ib_qp_state refused;

static int init(struct kunit *test)
{
	struct fake *fake;

	fake_suite_init(test);
	fake = test->priv;
	ops = *fake->dev.tp;
	fake_set_tp(fake, &ops);
	refused = IB_QPS_RESET;
	return 0;
}

static int qp_attr(void *lower, struct ib_qp_attr *attr, int *mask)
{
	if (attr->qp_state == refused)
		return -EINVAL;
	*mask = attr->qp_state == IB_QPS_RTR ? IB_QP_STATE | IB_QP_AV : IB_QP_STATE;
	return 0;
}

/* As ib_cm after a reject. */
static int no_qp_attr(void *lower, struct ib_qp_attr *attr, int *mask)
{
	return -EINVAL;
}

/* Remote access depends on the parameters of the request. */
static void peer_may_read_what_the_request_says(struct kunit *test)
{
	static const struct {
		u8 responder_resources;
		u32 access;
	} cases[] = { { 0, 0 }, { 1, READS } };
	struct ib_uverbs_qp_attr attr;
	struct rca_id *id;
	int i;

	ops.qp_attr = no_qp_attr;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct rca_tp_conn conn = {
			.qp_num = 42, .responder_resources = cases[i].responder_resources,
		};

		id = fake_active_id(test, test->priv, FAKE_COOKIE);
		KUNIT_ASSERT_EQ(test, rca_connect(id, &conn), 0);
		fake_message(id, RCA_IN_REJ, IB_CM_REJ_STALE_CONN);
		fake_expect_state(test, id, RCA_ST_REQ_WAIT);
		ops.over_tcp = true;	/* a device of the bench has no partitions */
		KUNIT_EXPECT_EQ(test, rca_qp_attr(id, IB_QPS_INIT, &attr), 0);
		KUNIT_EXPECT_EQ(test, rca_qp_attr(id, IB_QPS_RTR, &attr), -EINVAL);
		ops.over_tcp = false;
		KUNIT_EXPECT_TRUE(test, attr.qp_access_flags & IB_ACCESS_REMOTE_WRITE);
		KUNIT_EXPECT_EQ(test, attr.qp_access_flags & READS, cases[i].access);
	}
}

/* A message that ends the ib_cm id leaves the later transitions out of the event, and no others. */
static void reply_brings_the_attributes_that_there_are(struct kunit *test)
{
	static const enum ib_qp_state cases[] = { IB_QPS_INIT, IB_QPS_RTR, IB_QPS_RTS,
						  IB_QPS_RESET };
	struct rca_tp_conn conn = { .qp_num = 42 };
	struct rdma_cm_alt_event rec;
	struct rca_id *id;
	int i;

	ops.qp_attr = qp_attr;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		id = fake_active_id(test, test->priv, FAKE_COOKIE);
		KUNIT_ASSERT_EQ(test, rca_connect(id, &conn), 0);
		refused = cases[i];
		fake_message(id, RCA_IN_REP, 0);
		rec = fake_expect_event(test, RDMA_CM_ALT_EVENT_CONNECT_RESPONSE, 0);
		KUNIT_EXPECT_EQ(test, !!(rec.flags & RDMA_CM_ALT_EVENT_F_QP),
				refused != IB_QPS_INIT);
		KUNIT_EXPECT_EQ(test, !!rec.qp.init_mask, refused != IB_QPS_INIT);
		KUNIT_EXPECT_EQ(test, !!rec.qp.rtr_mask,
				refused != IB_QPS_INIT && refused != IB_QPS_RTR);
		KUNIT_EXPECT_EQ(test, !!rec.qp.rts_mask, refused == IB_QPS_RESET);
	}
}

/* The queue key of RDMA_PS_IPOIB is that of a group, which only an IPoIB device has. */
static void id_of_ipoib_without_ipoib_has_no_queue_key(struct kunit *test)
{
	struct fake *fake = test->priv;
	struct ib_uverbs_qp_attr attr;
	struct rca_id *id = rca_id_create(fake->ctx, fake->queue, RDMA_PS_IPOIB, IB_QPT_UD,
					  FAKE_COOKIE);

	KUNIT_ASSERT_FALSE(test, IS_ERR(id));
	KUNIT_EXPECT_EQ(test, rca_qkey(id), 0u);
	KUNIT_ASSERT_EQ(test, rca_id_attach(id, &fake->dev, 1, NULL), 0);
	rca_id_step(id, RCA_IN_BIND);
	rca_id_publish(id);
	KUNIT_EXPECT_EQ(test, rca_qkey(id), 0u);
	ops.over_tcp = true;
	KUNIT_EXPECT_EQ(test, rca_qp_attr(id, IB_QPS_INIT, &attr), -EINVAL);
	ops.over_tcp = false;
}

/* A resolution may end when the device of its id is gone. */
static void id_without_a_device_has_no_attributes(struct kunit *test)
{
	struct fake *fake = test->priv;
	struct rdma_cm_alt_qp_attr attr = {};
	struct rca_id *id = rca_id_create(fake->ctx, fake->queue, RDMA_PS_TCP, IB_QPT_RC,
					  FAKE_COOKIE);

	KUNIT_ASSERT_FALSE(test, IS_ERR(id));
	mutex_lock(&id->op);
	KUNIT_EXPECT_FALSE(test, rca_qp_attr_fill_init(id, &attr));
	mutex_unlock(&id->op);
	KUNIT_EXPECT_EQ(test, attr.init_mask, 0u);
	rca_id_publish(id);
}

/* The event of a resolution and the ioctl give the same ones. */
static void attributes_before_a_connection_are_those_of_the_ioctl(struct kunit *test)
{
	struct fake *fake = test->priv;
	struct rdma_cm_alt_qp_attr event = {};
	struct ib_uverbs_qp_attr attr;
	struct rca_id *id = rca_id_create(fake->ctx, fake->queue, RDMA_PS_TCP, IB_QPT_RC,
					  FAKE_COOKIE);

	KUNIT_ASSERT_FALSE(test, IS_ERR(id));
	KUNIT_ASSERT_EQ(test, rca_id_attach(id, &fake->dev, 1, NULL), 0);
	rca_id_step(id, RCA_IN_BIND);
	rca_id_publish(id);
	ops.over_tcp = true;
	KUNIT_EXPECT_EQ(test, rca_qp_attr(id, IB_QPS_INIT, &attr), 0);
	mutex_lock(&id->op);
	KUNIT_EXPECT_TRUE(test, rca_qp_attr_fill_init(id, &event));
	mutex_unlock(&id->op);
	ops.over_tcp = false;
	KUNIT_EXPECT_EQ(test, attr.port_num, 1);
	KUNIT_EXPECT_EQ(test, event.init_mask, attr.qp_attr_mask);
	/* An event has a mask for each transition instead. */
	attr.qp_attr_mask = 0;
	attr.qp_state = 0;
	KUNIT_EXPECT_EQ(test, memcmp(&event.attr, &attr, sizeof(attr)), 0);
}

static struct kunit_case qpattr_cases[] = {
	KUNIT_CASE(peer_may_read_what_the_request_says),
	KUNIT_CASE(reply_brings_the_attributes_that_there_are),
	KUNIT_CASE(id_of_ipoib_without_ipoib_has_no_queue_key),
	KUNIT_CASE(id_without_a_device_has_no_attributes),
	KUNIT_CASE(attributes_before_a_connection_are_those_of_the_ioctl),
	{}
};

static struct kunit_suite qpattr_suite = {
	.name = "rdma_cm_alt_qpattr",
	.init = init,
	.exit = fake_suite_exit,
	.test_cases = qpattr_cases,
};
kunit_test_suite(qpattr_suite);
