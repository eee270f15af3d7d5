// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of the transport that requests of ids use while there is a trunk to their peer, of their
 * private data, and of the limits of the answers.
 *
 * Locking: none.
 */
#include <linux/string.h>
#include <linux/xarray.h>
#include <rdma/ib_cm.h>
#include <rdma/rdma_cm_alt.h>
#include <rdma/rdma_user_cm.h>

#include "cm/cm.h"
#include "fake/addresses.h"
#include "fake/device_bench.h"
#include "fake/fake_transport.h"
#include "lib/testing.h"
#include "lib/wire.h"
#include "transport/transport.h"
#include "trunk/conn_bench.h"

/* A port without a listener. */
#define NO_PORT		4711

/* The number of the first request of the peer. */
#define PEER_NUMBER	1

/* Private data that ib_cm carries in a request over IP. */
#define SHORT		(IB_CM_REQ_PRIVATE_DATA_SIZE - RCA_WIRE_HDR_LEN)

#define WHOLE		(RCA_WIRE_HDR_LEN + RCA_WIRE_USER_MAX)

static const u8 *pattern(void)
{
	static u8 data[RCA_WIRE_USER_MAX + 1];
	int i;

	for (i = 0; i < sizeof(data); i++)
		data[i] = i * 7 + 1;
	return data;
}

static struct rca_tp_conn params(struct kunit *test, u16 len)
{
	struct rca_tp_conn conn = rig_params(test);

	conn.private_data = pattern();
	conn.private_data_len = len;
	return conn;
}

static int try_connect(struct kunit *test, struct rca_id *id, u16 len)
{
	struct rca_tp_conn conn = params(test, len);
	int ret = rca_connect(id, &conn);

	if (ret) {
		rig_expect_state(test, id, RCA_ST_ROUTE_RESOLVED);
		KUNIT_EXPECT_NULL(test, id->lower);
		KUNIT_EXPECT_NULL(test, id->setup->retry);
		rig_expect_no_event(test);
	}
	return ret;
}

/* An id with a route to the peer of the trunk, which is open, and the option. */
static struct rca_id *routed(struct kunit *test, u8 option)
{
	struct rca_id *id = rig_resolved(test, DEVICE_IP, NO_PORT, RDMA_PS_TCP);

	KUNIT_ASSERT_EQ(test, rca_set_option(id, RDMA_CM_ALT_OPTION, RDMA_CM_ALT_OPTION_TRUNK,
					     &option, sizeof(option)), 0);
	conn_bench->trunk->up = true;
	return id;
}

static void expect_request(struct kunit *test, u16 len)
{
	const struct rca_trunk_record *record = &conn_bench->record;

	KUNIT_ASSERT_EQ(test, conn_bench_take(), 1u);
	KUNIT_ASSERT_EQ(test, (int)record->type, (int)RCA_RECORD_REQ);
	KUNIT_ASSERT_EQ(test, (int)record->private_len, RCA_WIRE_HDR_LEN + len);
	KUNIT_EXPECT_EQ(test, memcmp(record->private_data + RCA_WIRE_HDR_LEN, pattern(), len), 0);
}

/* An id whose request was sent over the trunk. Events of the trunk go to the module. */
static struct rca_id *requested(struct kunit *test, u8 option, u16 len)
{
	struct rca_id *id = routed(test, option);

	rca_conn_init(conn_bench->module);
	KUNIT_ASSERT_EQ(test, try_connect(test, id, len), 0);
	KUNIT_ASSERT_PTR_EQ(test, id->tp, &rca_tp_trunk);
	expect_request(test, len);
	return id;
}

static void receive(struct kunit *test, struct rca_id *id, u8 type, u16 reason)
{
	const struct rca_trunk_conn *conn = id->lower;
	struct rca_trunk_record record = conn_bench_record(type, conn->number);

	record.reason = reason;
	KUNIT_ASSERT_EQ(test, conn_bench_receive(&record), 0);
}

/* Closes the trunk at once; it is not opened again. */
static void lose(void)
{
	conn_bench->trunk->up = false;
	conn_bench_lose();
	conn_bench->lost_count = 0;	/* ids own the connections, and destroy them */
}

static void request_is_as_long_as_its_transport_allows(struct kunit *test)
{
	struct rca_id *id = routed(test, RDMA_CM_ALT_TRUNK_AUTO);
	const struct rca_trunk_ops *trunks;

	conn_bench->trunk->up = false;
	KUNIT_EXPECT_EQ(test, try_connect(test, id, SHORT + 1), -EINVAL);
	conn_bench->trunk->up = true;
	KUNIT_EXPECT_EQ(test, try_connect(test, id, RCA_WIRE_USER_MAX + 1), -EINVAL);
	trunks = fake_trunks(NULL);
	KUNIT_EXPECT_EQ(test, try_connect(test, id, RCA_WIRE_USER_MAX), -EINVAL);
	fake_trunks(trunks);
	KUNIT_ASSERT_EQ(test, try_connect(test, id, RCA_WIRE_USER_MAX), 0);
	KUNIT_EXPECT_PTR_EQ(test, id->tp, &rca_tp_trunk);
	expect_request(test, RCA_WIRE_USER_MAX);
}

static void short_request_uses_what_there_is(struct kunit *test)
{
	struct rca_id *id = routed(test, RDMA_CM_ALT_TRUNK_AUTO);

	conn_bench->trunk->up = false;
	KUNIT_EXPECT_EQ(test, try_connect(test, id, SHORT), 0);
	KUNIT_EXPECT_PTR_EQ(test, id->tp, id->dev->tp);
	KUNIT_EXPECT_EQ(test, conn_bench_take(), 0u);
}

static void trunk_is_required(struct kunit *test)
{
	struct rca_id *id = routed(test, RDMA_CM_ALT_TRUNK_REQUIRE);
	const struct rca_trunk_ops *trunks;

	conn_bench->trunk->up = false;
	KUNIT_EXPECT_EQ(test, try_connect(test, id, 0), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, try_connect(test, id, RCA_WIRE_USER_MAX), -EOPNOTSUPP);
	trunks = fake_trunks(NULL);
	KUNIT_EXPECT_EQ(test, try_connect(test, id, 0), -EOPNOTSUPP);
	fake_trunks(trunks);
	conn_bench->trunk->up = true;
	KUNIT_ASSERT_EQ(test, try_connect(test, id, 4), 0);
	expect_request(test, 4);
}

static void trunk_is_refused(struct kunit *test)
{
	struct rca_id *id = routed(test, RDMA_CM_ALT_TRUNK_NEVER);

	KUNIT_EXPECT_EQ(test, try_connect(test, id, SHORT + 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, try_connect(test, id, SHORT), 0);
	KUNIT_EXPECT_PTR_EQ(test, id->tp, id->dev->tp);
	KUNIT_EXPECT_EQ(test, conn_bench_take(), 0u);
}

/* The request must not be cut, nor go over ib_cm. */
static void expect_unreachable(struct kunit *test, struct rca_id *id)
{
	lose();
	rig_expect_event(test, DEVICE_CLIENT, RDMA_CM_ALT_EVENT_UNREACHABLE, -ETIMEDOUT);
	rig_expect_state(test, id, RCA_ST_FAILED);
}

static void session_of_a_long_request_is_lost(struct kunit *test)
{
	expect_unreachable(test, requested(test, RDMA_CM_ALT_TRUNK_AUTO, RCA_WIRE_USER_MAX));
}

static void session_of_a_request_that_requires_it_is_lost(struct kunit *test)
{
	expect_unreachable(test, requested(test, RDMA_CM_ALT_TRUNK_REQUIRE, 4));
}

/* The peer has asked to repeat the request when the session is lost. */
static void session_of_a_held_request_is_lost(struct kunit *test)
{
	struct rca_id *id = requested(test, RDMA_CM_ALT_TRUNK_REQUIRE, 4);

	receive(test, id, RCA_RECORD_HELD, 0);
	expect_unreachable(test, id);
}

/* Any other request goes over ib_cm, where the port has no listener. */
static void session_of_a_short_request_is_lost(struct kunit *test)
{
	struct rca_id *id = requested(test, RDMA_CM_ALT_TRUNK_AUTO, SHORT);

	lose();
	rig_expect_event(test, DEVICE_CLIENT, RDMA_CM_ALT_EVENT_REJECTED,
			 IB_CM_REJ_INVALID_SERVICE_ID);
	KUNIT_EXPECT_PTR_EQ(test, id->tp, id->dev->tp);
}

/* Only the peer's module may answer. */
static void expect_its_answer(struct kunit *test, struct rca_id *id)
{
	receive(test, id, RCA_RECORD_REJ, IB_CM_REJ_INVALID_SERVICE_ID);
	rig_expect_event(test, DEVICE_CLIENT, RDMA_CM_ALT_EVENT_REJECTED,
			 IB_CM_REJ_INVALID_SERVICE_ID);
	KUNIT_EXPECT_EQ(test, (int)id->no_trunk, (int)RCA_NO_TRUNK_NONE);
}

static void peer_has_no_listener_for_a_long_request(struct kunit *test)
{
	expect_its_answer(test, requested(test, RDMA_CM_ALT_TRUNK_AUTO, RCA_WIRE_USER_MAX));
}

static void peer_has_no_listener_for_one_that_requires_the_trunk(struct kunit *test)
{
	expect_its_answer(test, requested(test, RDMA_CM_ALT_TRUNK_REQUIRE, 4));
}

/* The request is repeated with all of its data. */
static void long_request_is_held(struct kunit *test)
{
	struct rca_id *id = requested(test, RDMA_CM_ALT_TRUNK_AUTO, RCA_WIRE_USER_MAX);

	receive(test, id, RCA_RECORD_HELD, 0);
	rig_expect_state(test, id, RCA_ST_REQ_WAIT);
	rca_id_flush_work(id);
	rig_expect_state(test, id, RCA_ST_REQ_SENT);
	expect_request(test, RCA_WIRE_USER_MAX);
	receive(test, id, RCA_RECORD_REJ, IB_CM_REJ_CONSUMER_DEFINED);
	rig_expect_event(test, DEVICE_CLIENT, RDMA_CM_ALT_EVENT_REJECTED,
			 IB_CM_REJ_CONSUMER_DEFINED);
}

/* The QP number differs from that of the last request, which would make this one stale. */
static void set_request(struct kunit *test, struct rca_id *server, u32 number, u8 *data,
			struct rca_trunk_record *record)
{
	*record = conn_bench_record(RCA_RECORD_REQ, number);
	record->service_id = rca_wire_service_id(RDMA_PS_TCP, rca_addr_port(&server->local));
	record->qp.qp_num += number;
	rca_wire_put_hdr(data, rca_test_addr(test, DEVICE_IP, 5000), &server->local);
	memcpy(data + RCA_WIRE_HDR_LEN, pattern(), RCA_WIRE_USER_MAX);
	record->private_data = data;
	record->private_len = WHOLE;
}

/* The id of a long request that was received over the trunk. */
static struct rca_id *accepting(struct kunit *test, struct rca_id *server, u32 number)
{
	struct device_bench *bench = test->priv;
	struct rca_trunk_record record;
	struct rca_id *child;
	u8 data[WHOLE];

	rca_conn_init(conn_bench->module);
	set_request(test, server, number, data, &record);
	KUNIT_ASSERT_EQ(test, conn_bench_receive(&record), 0);
	rig_expect_event(test, DEVICE_SERVER, RDMA_CM_ALT_EVENT_CONNECT_REQUEST, 0);
	KUNIT_EXPECT_EQ(test, (int)bench->rec.private_data_len, RCA_WIRE_USER_MAX);
	KUNIT_EXPECT_EQ(test, memcmp(bench->rec.private_data, pattern(), RCA_WIRE_USER_MAX), 0);
	child = rca_id_lookup(bench->ctx, bench->rec.id);
	KUNIT_ASSERT_FALSE(test, IS_ERR_OR_NULL(child));
	rca_id_put(child);
	KUNIT_ASSERT_PTR_EQ(test, child->tp, &rca_tp_trunk);
	return child;
}

static void expect_answer(struct kunit *test, u8 type)
{
	KUNIT_ASSERT_EQ(test, conn_bench_take(), 1u);
	KUNIT_EXPECT_EQ(test, (int)conn_bench->record.type, (int)type);
	KUNIT_ASSERT_EQ(test, (int)conn_bench->record.private_len, RCA_WIRE_USER_MAX);
	KUNIT_EXPECT_EQ(test, memcmp(conn_bench->record.private_data, pattern(),
				     RCA_WIRE_USER_MAX), 0);
}

static void answers_are_as_long_as_the_trunk_allows(struct kunit *test)
{
	struct rca_id *server = rig_listening(test, DEVICE_IP, RDMA_PS_TCP);
	struct rca_tp_conn conn = params(test, RCA_WIRE_USER_MAX + 1);
	struct rca_id *child = accepting(test, server, PEER_NUMBER);

	KUNIT_EXPECT_EQ(test, rca_accept(child, DEVICE_CHILD, &conn), -EINVAL);
	KUNIT_EXPECT_EQ(test, rca_reject(child, 0, pattern(), RCA_WIRE_USER_MAX + 1), -EINVAL);
	rig_expect_state(test, child, RCA_ST_REQ_RCVD);
	conn.private_data_len = RCA_WIRE_USER_MAX;
	KUNIT_ASSERT_EQ(test, rca_accept(child, DEVICE_CHILD, &conn), 0);
	expect_answer(test, RCA_RECORD_REP);
	child = accepting(test, server, PEER_NUMBER + 2);
	KUNIT_ASSERT_EQ(test, rca_reject(child, 0, pattern(), RCA_WIRE_USER_MAX), 0);
	expect_answer(test, RCA_RECORD_REJ);
}

/* Like a listener on GIDs, which gets the header of a request over IP as data. */
static void request_beyond_the_event_is_refused(struct kunit *test)
{
	struct rca_id *server = rig_listening(test, DEVICE_IP, RDMA_PS_TCP);
	const struct rca_trunk *trunk = conn_bench->trunk;
	struct rca_tp_request req = {
		.tp = &rca_tp_trunk,
		.conn = params(test, 0),
		.service_id = rca_wire_service_id(RDMA_PS_TCP, rca_addr_port(&server->local)),
		.port_num = trunk->key.peer.port_num,
		.path = &conn_bench->path,
		.sgid_attr = trunk->sgid_attr,
		.pkey = trunk->key.peer.pkey,
	};
	u8 *data = kunit_kzalloc(test, WHOLE + 1, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, data);
	rca_wire_put_hdr(data, rca_test_addr(test, DEVICE_IP, 5000), &server->local);
	req.conn.qp_type = IB_QPT_RC;
	req.conn.private_data = data;
	req.conn.private_data_len = WHOLE + 1;
	KUNIT_EXPECT_EQ(test, rca_req_handler_for(trunk->dev, NULL, &req), -EMSGSIZE);
	rig_expect_no_event(test);
}

static struct kunit_case choice_cases[] = {
	KUNIT_CASE(request_is_as_long_as_its_transport_allows),
	KUNIT_CASE(short_request_uses_what_there_is),
	KUNIT_CASE(trunk_is_required),
	KUNIT_CASE(trunk_is_refused),
	KUNIT_CASE(session_of_a_long_request_is_lost),
	KUNIT_CASE(session_of_a_request_that_requires_it_is_lost),
	KUNIT_CASE(session_of_a_held_request_is_lost),
	KUNIT_CASE(session_of_a_short_request_is_lost),
	KUNIT_CASE(peer_has_no_listener_for_a_long_request),
	KUNIT_CASE(peer_has_no_listener_for_one_that_requires_the_trunk),
	KUNIT_CASE(long_request_is_held),
	KUNIT_CASE(answers_are_as_long_as_the_trunk_allows),
	KUNIT_CASE(request_beyond_the_event_is_refused),
	{}
};

/* Ids own the connections, and destroy them. */
static void end(struct kunit *test)
{
	struct rca_trunk_conn *conn;
	unsigned long number;

	if (conn_bench && conn_bench->trunk)
		xa_for_each(&conn_bench->trunk->conns, number, conn)
			rig_destroy(test, conn->owner);
	conn_bench_exit(test);
}

static struct kunit_suite choice_suite = {
	.name = "rdma_cm_alt_conn_choice",
	.suite_init = device_bench_roce_init,
	.suite_exit = device_bench_suite_exit,
	.init = conn_bench_init,
	.exit = end,
	.test_cases = choice_cases,
};

kunit_test_suite(choice_suite);
