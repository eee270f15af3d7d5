// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of requests and replies over ib_cm that name the QP of a connection of another transport:
 * what ib_cm and the peer do with the reject, and with the end of the other connection.
 *
 * The other connection is one over ib_cm, too. The index is made to believe that it has the QP, of
 * which ib_cm knows nothing, and that ib_cm does not find stale connections.
 *
 * Locking: none; the work of both ends runs concurrently.
 */
#include <kunit/test.h>
#include <rdma/ib_cm.h>
#include <rdma/rdma_user_cm.h>

#include "cm/cm.h"
#include "fake/device_bench.h"
#include "fake/fake_transport.h"
#include "id/id.h"
#include "lib/testing.h"
#include "transport/transport.h"

/* The operations of the device, and a copy of them. */
static const struct rca_tp_ops *ib_ops;
static struct rca_tp_ops ops;
static struct rca_device *the_dev;

/* Number of events of a kind that expect_events() has read, by the cookie of the id. */
struct tally {
	int client_disconnected;
	int child_disconnected;
	int child_rejected;
	struct rca_id *request;
};

static struct rca_id *listening(struct kunit *test)
{
	struct rca_id *server = rig_listening(test, DEVICE_IP, RDMA_PS_TCP);

	the_dev = server->dev;
	ib_ops = the_dev->tp;
	ops = *ib_ops;
	ops.finds_stale = false;
	the_dev->tp = &ops;
	return server;
}

/* A connection has the QP @qp_num at its peer, as far as the index knows, and is not over ib_cm. */
static void pretend(struct kunit *test, struct rca_id *id, u32 qp_num)
{
	id->tp = &ops;
	KUNIT_ASSERT_TRUE(test, rca_peer_qp_claim(id, the_dev->ibdev->node_guid, qp_num));
	KUNIT_ASSERT_TRUE(test, id->peer_qp.listed);
}

/* Both ends of the old connection are disconnected, and the new request arrives, in any order. */
static struct tally expect_events(struct kunit *test, int rejected)
{
	struct device_bench *bench = test->priv;
	struct tally tally = {};
	int i;

	for (i = 0; i < 3 + rejected; i++) {
		KUNIT_ASSERT_TRUE_MSG(test, rig_take_event(bench), "%d events", i);
		switch (bench->rec.type) {
		case RDMA_CM_ALT_EVENT_CONNECT_REQUEST:
			tally.request = rig_read_request(test);
			break;
		case RDMA_CM_ALT_EVENT_DISCONNECTED:
			KUNIT_EXPECT_EQ(test, bench->rec.status, 0);
			tally.client_disconnected += bench->rec.cookie == DEVICE_CLIENT;
			tally.child_disconnected += bench->rec.cookie == DEVICE_CHILD;
			break;
		case RDMA_CM_ALT_EVENT_REJECTED:
			KUNIT_EXPECT_EQ(test, bench->rec.status, IB_CM_REJ_STALE_CONN);
			tally.child_rejected += bench->rec.cookie == DEVICE_CHILD;
			break;
		default:
			KUNIT_FAIL(test, "event %u", bench->rec.type);
		}
	}
	KUNIT_EXPECT_EQ(test, tally.client_disconnected, 1);
	KUNIT_EXPECT_EQ(test, tally.child_disconnected, 1);
	KUNIT_EXPECT_EQ(test, tally.child_rejected, rejected);
	KUNIT_ASSERT_NOT_NULL(test, tally.request);
	return tally;
}

/* Reads the end of a timewait that may have come meanwhile. */
static void expect_established(struct kunit *test, struct rca_id *client)
{
	struct device_bench *bench = test->priv;
	bool responded = false;

	while (rig_take_event(bench)) {
		if (bench->rec.type == RDMA_CM_ALT_EVENT_TIMEWAIT_EXIT)
			continue;
		if (bench->rec.type == RDMA_CM_ALT_EVENT_ESTABLISHED)
			break;
		KUNIT_ASSERT_EQ(test, bench->rec.type, (u32)RDMA_CM_ALT_EVENT_CONNECT_RESPONSE);
		KUNIT_ASSERT_FALSE(test, responded);
		responded = true;
		KUNIT_ASSERT_EQ(test, rca_establish(client), 0);
	}
	KUNIT_EXPECT_TRUE(test, responded);
	rig_expect_state(test, client, RCA_ST_CONNECTED);
}

static void request_names_the_qp_of_another_connection(struct kunit *test)
{
	struct rca_id *server = listening(test);
	struct rca_tp_conn conn = rig_params(test);
	struct rca_id *old_client, *old_child, *client;
	struct tally tally;

	rig_connected(test, server, DEVICE_IP, &old_client, &old_child);
	pretend(test, old_child, conn.qp_num);
	client = rig_resolved(test, DEVICE_IP, rig_port_of(server), RDMA_PS_TCP);
	KUNIT_ASSERT_EQ(test, rca_connect(client, &conn), 0);
	tally = expect_events(test, 0);
	rig_accept(test, tally.request);
	expect_established(test, client);
	KUNIT_EXPECT_TRUE(test, tally.request->peer_qp.listed);
	KUNIT_EXPECT_EQ(test, tally.request->peer_qp.qp_num, conn.qp_num);
	KUNIT_EXPECT_NULL(test, old_child->lower);
}

static void reply_names_the_qp_of_another_connection(struct kunit *test)
{
	struct rca_id *server = listening(test);
	struct rca_tp_conn reply = rig_params(test);
	struct rca_id *old_client, *old_child, *client;
	struct tally tally;

	rig_connected(test, server, DEVICE_IP, &old_client, &old_child);
	pretend(test, old_client, reply.qp_num);
	client = rig_resolved(test, DEVICE_IP, rig_port_of(server), RDMA_PS_TCP);
	rig_connect(test, client);
	KUNIT_ASSERT_EQ(test, rca_accept(rig_requested(test), DEVICE_CHILD, &reply), 0);
	/* The other end learns that its reply was rejected, and gets another request. */
	tally = expect_events(test, 1);
	KUNIT_ASSERT_EQ(test, rca_accept(tally.request, DEVICE_CHILD, &reply), 0);
	expect_established(test, client);
	KUNIT_EXPECT_TRUE(test, client->peer_qp.listed);
	KUNIT_EXPECT_EQ(test, client->peer_qp.qp_num, reply.qp_num);
	KUNIT_EXPECT_NULL(test, old_client->lower);
}

static const struct rca_trunk_ops *former_trunks;

static int begin(struct kunit *test)
{
	former_trunks = fake_trunks(&fake_trunk_ops);
	return device_bench_init(test);
}

static void end(struct kunit *test)
{
	fake_trunks(former_trunks);
	device_bench_exit(test);
	if (the_dev)
		the_dev->tp = ib_ops;
	the_dev = NULL;
}

static struct kunit_case stale_cases[] = {
	KUNIT_CASE(request_names_the_qp_of_another_connection),
	KUNIT_CASE(reply_names_the_qp_of_another_connection),
	{}
};

static struct kunit_suite stale_suite = {
	.name = "rdma_cm_alt_stale",
	.suite_init = device_bench_roce_init,
	.suite_exit = device_bench_suite_exit,
	.init = begin,
	.exit = end,
	.test_cases = stale_cases,
};

kunit_test_suite(stale_suite);
