// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of operations whose id changes its state after the check of the state, and before the step
 * from it: the device is removed, or the peer gives up.
 *
 * Locking: none; the transport makes the change while an operation calls it.
 */
#include <kunit/test.h>
#include <rdma/ib_cm.h>

#include "cm/cm.h"
#include "fake/fake_suite.h"

static const struct rca_tp_conn the_conn = { .qp_num = 42 };

static void remove_device(struct rca_id *id)
{
	rca_id_step(id, RCA_IN_REMOVE);
}

static void peer_gives_up(struct rca_id *id)
{
	fake_message(id, RCA_IN_REJ, IB_CM_REJ_CONSUMER_DEFINED);
}

static void expect_no_request(struct kunit *test, struct rca_id *id)
{
	struct fake *fake = test->priv;

	fake->busy_id = id;
	fake->meanwhile = remove_device;
	KUNIT_EXPECT_EQ(test, rca_connect(id, &the_conn), -ENXIO);
	KUNIT_EXPECT_NULL(test, fake->meanwhile);
	KUNIT_EXPECT_EQ(test, fake->connects + fake->sidr_requests, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&fake->lowers), 0);
	KUNIT_EXPECT_NULL(test, id->lower);
	KUNIT_EXPECT_NULL(test, id->reserved);
	KUNIT_EXPECT_NULL(test, id->setup->retry);
	fake_expect_state(test, id, RCA_ST_REMOVED);
}

static void device_goes_before_the_request(struct kunit *test)
{
	expect_no_request(test, fake_active_id(test, test->priv, FAKE_COOKIE));
}

static void device_goes_before_the_request_of_datagrams(struct kunit *test)
{
	expect_no_request(test, fake_active_datagram(test, test->priv, FAKE_COOKIE));
}

static void expect_no_reply(struct kunit *test, void (*meanwhile)(struct rca_id *id), int ret,
			    enum rca_state state)
{
	struct fake *fake = test->priv;

	fake->busy_id = fake_child(test, fake);
	fake->meanwhile = meanwhile;
	KUNIT_EXPECT_EQ(test, rca_accept(fake->busy_id, FAKE_COOKIE, &the_conn), ret);
	KUNIT_EXPECT_EQ(test, fake->replies, 0);
	KUNIT_EXPECT_NULL(test, fake->busy_id->reserved);
	fake_expect_state(test, fake->busy_id, state);
}

static void device_goes_before_the_reply(struct kunit *test)
{
	expect_no_reply(test, remove_device, -ENXIO, RCA_ST_REMOVED);
}

static void peer_gives_up_before_the_reply(struct kunit *test)
{
	expect_no_reply(test, peer_gives_up, -ECONNRESET, RCA_ST_FAILED);
}

static struct kunit_case meanwhile_cases[] = {
	KUNIT_CASE(device_goes_before_the_request),
	KUNIT_CASE(device_goes_before_the_request_of_datagrams),
	KUNIT_CASE(device_goes_before_the_reply),
	KUNIT_CASE(peer_gives_up_before_the_reply),
	{}
};

static struct kunit_suite meanwhile_suite = {
	.name = "rdma_cm_alt_meanwhile",
	.init = fake_suite_init,
	.exit = fake_suite_exit,
	.test_cases = meanwhile_cases,
};
kunit_test_suite(meanwhile_suite);
