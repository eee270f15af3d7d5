// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of connections and datagrams over a software RDMA device, with both ends ours:
 * what the fake transport leaves out.
 *
 * Locking: none; the work of both ends runs concurrently.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/rdma_cm_ib.h>
#include <rdma/rdma_user_cm.h>

#include "cm/cm.h"
#include "fake/addresses.h"
#include "fake/device_bench.h"
#include "transport/transport.h"

#define BEHIND		"10.78.0.9"	/* through a gateway that never answers */

static void connection_from_address_to_end(struct kunit *test, const char *local,
					   const char *peer)
{
	struct rca_id *server = rig_listening(test, local, RDMA_PS_TCP);
	struct rca_id *client, *child;

	rig_connected(test, server, peer, &client, &child);
	KUNIT_EXPECT_TRUE(test, rca_addr_same_ip(&client->dst, &child->local));
	KUNIT_EXPECT_TRUE(test, rca_addr_same_ip(&client->local, &child->dst));
	KUNIT_EXPECT_EQ(test, rca_disconnect(client), 0);
	rig_expect_both(test, RDMA_CM_ALT_EVENT_DISCONNECTED);
	rig_expect_state(test, child, RCA_ST_DISCONNECTED);
	rig_destroy(test, client);
	rig_destroy(test, child);
	rig_destroy(test, server);
	rig_expect_no_event(test);
}

static void ipv4_connection(struct kunit *test)
{
	connection_from_address_to_end(test, DEVICE_IP, DEVICE_IP);
}

static void ipv6_connection(struct kunit *test)
{
	connection_from_address_to_end(test, DEVICE_IP6, DEVICE_IP6);
}

static void connection_to_a_wildcard_listener(struct kunit *test)
{
	connection_from_address_to_end(test, "0.0.0.0", DEVICE_IP);
}

static void ipv6_wildcard_takes_ipv4(struct kunit *test)
{
	connection_from_address_to_end(test, "::", DEVICE_IP);
}

static void loopback_address_is_that_of_a_device(struct kunit *test)
{
	struct rca_id *id = rig_resolved(test, "127.0.0.1", 7471, RDMA_PS_TCP);

	KUNIT_EXPECT_FALSE(test, rca_addr_is_loopback(&id->dst));
	KUNIT_EXPECT_TRUE(test, rca_addr_same_ip(&id->dst, &id->local));
	id = rig_resolved(test, "::1", 7471, RDMA_PS_TCP);
	KUNIT_EXPECT_FALSE(test, rca_addr_is_loopback(&id->dst));
}

static void request_is_rejected(struct kunit *test)
{
	struct rca_id *server = rig_listening(test, DEVICE_IP, RDMA_PS_TCP);
	struct rca_id *client = rig_resolved(test, DEVICE_IP, rig_port_of(server), RDMA_PS_TCP);
	struct device_bench *bench = test->priv;

	rig_connect(test, client);
	KUNIT_EXPECT_EQ(test, rca_reject(rig_requested(test), 28, "no", 2), 0);
	rig_expect_event(test, DEVICE_CLIENT, RDMA_CM_ALT_EVENT_REJECTED, 28);
	KUNIT_EXPECT_EQ(test, memcmp(bench->rec.private_data, "no", 2), 0);
}

static void nobody_listens(struct kunit *test)
{
	struct rca_id *server = rig_listening(test, DEVICE_IP, RDMA_PS_TCP);
	struct rca_id *client = rig_resolved(test, DEVICE_IP, rig_port_of(server), RDMA_PS_TCP);

	rig_destroy(test, server);
	rig_connect(test, client);
	rig_expect_event(test, DEVICE_CLIENT, RDMA_CM_ALT_EVENT_REJECTED,
			 IB_CM_REJ_INVALID_SERVICE_ID);
}

/* The service ID is in use for another address: the request reaches the device, but no listener. */
static void other_address_listens(struct kunit *test)
{
	struct rca_id *server = rig_listening(test, DEVICE_IP6, RDMA_PS_TCP);
	struct rca_id *client = rig_resolved(test, DEVICE_IP, rig_port_of(server), RDMA_PS_TCP);

	rig_connect(test, client);
	KUNIT_ASSERT_TRUE(test, rig_take_event(test->priv));
	rig_expect_state(test, client, RCA_ST_FAILED);
}

static void request_of_a_destroyed_client_fails(struct kunit *test)
{
	struct rca_id *server = rig_listening(test, DEVICE_IP, RDMA_PS_TCP);
	struct rca_id *client = rig_resolved(test, DEVICE_IP, rig_port_of(server), RDMA_PS_TCP);
	struct rca_tp_conn conn = rig_params(test);
	struct rca_id *child;
	int i;

	rig_connect(test, client);
	child = rig_requested(test);
	rig_destroy(test, client);
	for (i = 0; i < DEVICE_PATIENCE_MS && rca_id_state(child) == RCA_ST_REQ_RCVD; i++)
		usleep_range(500, 1000);
	KUNIT_EXPECT_EQ(test, rca_accept(child, DEVICE_CHILD, &conn), -ECONNRESET);
}

static void datagrams(struct kunit *test)
{
	struct rca_id *server = rig_listening(test, DEVICE_IP, RDMA_PS_UDP);
	struct rca_id *client = rig_resolved(test, DEVICE_IP, rig_port_of(server), RDMA_PS_UDP);
	struct device_bench *bench = test->priv;

	rig_connect(test, client);
	rig_accept(test, rig_requested(test));
	rig_expect_event(test, DEVICE_CLIENT, RDMA_CM_ALT_EVENT_ESTABLISHED, 0);
	KUNIT_EXPECT_GE(test, bench->rec.qp_num, (u32)DEVICE_FIRST_QP);
	KUNIT_EXPECT_EQ(test, bench->rec.qkey, (u32)RDMA_UDP_QKEY);

	client = rig_resolved(test, DEVICE_IP, rig_port_of(server), RDMA_PS_UDP);
	rig_connect(test, client);
	KUNIT_EXPECT_EQ(test, rca_reject(rig_requested(test), 28, NULL, 0), 0);
	KUNIT_ASSERT_TRUE(test, rig_take_event(bench));
	KUNIT_EXPECT_EQ(test, bench->rec.type, (u32)RDMA_CM_ALT_EVENT_UNREACHABLE);
	rig_expect_state(test, client, RCA_ST_FAILED);
}

/* An unread request uses the backlog. The next request gets no answer, and is sent again. */
static void backlog_is_a_bound(struct kunit *test)
{
	struct rca_id *server = rig_new_id(test, DEVICE_SERVER, RDMA_PS_TCP);
	struct device_bench *bench = test->priv;
	struct rca_id *clients[2];
	int i, answers = 0;

	KUNIT_ASSERT_EQ(test, rig_bind(test, server, DEVICE_IP), 0);
	KUNIT_ASSERT_EQ(test, rca_listen(server, 1), 0);
	for (i = 0; i < ARRAY_SIZE(clients); i++)
		clients[i] = rig_resolved(test, DEVICE_IP, rig_port_of(server), RDMA_PS_TCP);
	for (i = 0; i < ARRAY_SIZE(clients); i++)
		rig_connect(test, clients[i]);
	rig_accept(test, rig_requested(test));
	/* The backlog is free again. The other request may arrive before the first answer. */
	while (answers < ARRAY_SIZE(clients)) {
		KUNIT_ASSERT_TRUE(test, rig_take_event(bench));
		if (bench->rec.type == RDMA_CM_ALT_EVENT_CONNECT_REQUEST)
			rig_accept(test, rig_read_request(test));
		else
			answers++;
	}
	for (i = 0; i < ARRAY_SIZE(clients); i++)
		rig_expect_state(test, clients[i], RCA_ST_REP_RCVD);
}

static void addresses_that_cannot_be(struct kunit *test)
{
	struct rca_id *id = rig_new_id(test, DEVICE_CLIENT, RDMA_PS_TCP);

	KUNIT_EXPECT_LT(test, rig_bind(test, id, "192.0.2.1"), 0);
	KUNIT_EXPECT_EQ(test, rig_bind(test, id, "fe80::1"), -EINVAL);
	rig_expect_state(test, id, RCA_ST_IDLE);
	KUNIT_EXPECT_EQ(test, rig_bind(test, id, DEVICE_IP), 0);
	KUNIT_EXPECT_EQ(test, rig_bind(test, id, DEVICE_IP), -EINVAL);
	/* The families of both addresses must match. */
	KUNIT_EXPECT_EQ(test, rig_resolve(test, id, DEVICE_IP6, 7471, DEVICE_PATIENCE_MS), -EINVAL);
	rig_expect_state(test, id, RCA_ST_BOUND);
	rig_expect_no_event(test);
}

/* As over IP: the ports of a namespace do not limit who connects. The rig has no InfiniBand. */
static void af_ib_id_that_connects_owns_no_port(struct kunit *test)
{
	struct rca_id *id = rig_new_id(test, DEVICE_CLIENT, RDMA_PS_TCP);
	struct rca_pipeline pipe = { .steps = RDMA_CM_ALT_STEP_ADDR, .timeout_ms = 1000 };
	u32 done = 0;

	pipe.dst = *rca_test_addr(test, "ib:fe80::1:2", 7471);
	KUNIT_EXPECT_EQ(test, rca_resolve(id, &pipe, &done), -ENODEV);
	rig_expect_state(test, id, RCA_ST_BOUND);
	KUNIT_EXPECT_FALSE(test, rca_id_bound(id));
	KUNIT_EXPECT_EQ(test, be64_to_cpu(id->local.ib.sib_sid) >> 16, (u64)RDMA_PS_TCP);
	KUNIT_EXPECT_NE(test, be16_to_cpu(rca_addr_port(&id->local)), 0);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(id->local.ib.sib_sid_mask), U64_MAX);
	/* Who listens, or binds, needs one. */
	KUNIT_EXPECT_EQ(test, rca_listen(id, 0), 0);
	KUNIT_EXPECT_TRUE(test, rca_id_bound(id));
	rig_expect_no_event(test);
}

static void gateway_that_is_silent(struct kunit *test)
{
	struct rca_id *id = rig_new_id(test, DEVICE_CLIENT, RDMA_PS_TCP);
	struct device_bench *bench = test->priv;

	KUNIT_ASSERT_EQ(test, rig_resolve(test, id, BEHIND, 7471, 200), 0);
	rig_expect_state(test, id, RCA_ST_ADDR_QUERY);
	KUNIT_ASSERT_TRUE(test, rig_take_event(bench));
	KUNIT_EXPECT_EQ(test, bench->rec.type, (u32)RDMA_CM_ALT_EVENT_ADDR_ERROR);
	KUNIT_EXPECT_NE(test, bench->rec.status, 0);
	rig_expect_state(test, id, RCA_ST_BOUND);
	/* A second attempt may be aborted by a destroy. */
	KUNIT_ASSERT_EQ(test, rig_resolve(test, id, BEHIND, 7471, DEVICE_PATIENCE_MS), 0);
	rig_destroy(test, id);
	rig_expect_no_event(test);
}

static void settings_of_an_id_and_of_its_port(struct kunit *test)
{
	struct rdma_cm_alt_port_default preset = {
		.port_num = 1, .gid_type = IB_UVERBS_GID_TYPE_ROCE_V2, .tos = 9,
	};
	struct rca_id *id = rig_resolved(test, DEVICE_IP, 7471, RDMA_PS_TCP);
	u8 v1 = IB_UVERBS_GID_TYPE_ROCE_V1, ib = IB_UVERBS_GID_TYPE_IB, tos = 0xff;
	u32 len = sizeof(tos);

	KUNIT_EXPECT_EQ(test, rca_get_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, &len),
			0);
	KUNIT_EXPECT_EQ(test, (int)tos, 0);
	preset.ibdev_index = id->dev->ibdev->index;
	KUNIT_EXPECT_EQ(test, rca_set_option(id, RDMA_CM_ALT_OPTION,
					     RDMA_CM_ALT_OPTION_PORT_DEFAULTS, &preset,
					     sizeof(preset)), -EINVAL);

	id = rig_new_id(test, DEVICE_CLIENT, RDMA_PS_TCP);
	KUNIT_EXPECT_EQ(test, rca_set_option(id, RDMA_CM_ALT_OPTION,
					     RDMA_CM_ALT_OPTION_PORT_DEFAULTS, &preset,
					     sizeof(preset)), 0);
	KUNIT_ASSERT_EQ(test, rig_bind(test, id, DEVICE_IP), 0);
	KUNIT_EXPECT_EQ(test, rca_get_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, &len),
			0);
	KUNIT_EXPECT_EQ(test, (int)tos, 9);

	/* Settings of the port of another device. */
	preset.ibdev_index++;
	id = rig_new_id(test, DEVICE_CLIENT, RDMA_PS_TCP);
	KUNIT_EXPECT_EQ(test, rca_set_option(id, RDMA_CM_ALT_OPTION,
					     RDMA_CM_ALT_OPTION_PORT_DEFAULTS, &preset,
					     sizeof(preset)), 0);
	KUNIT_ASSERT_EQ(test, rig_bind(test, id, DEVICE_IP), 0);
	KUNIT_EXPECT_EQ(test, rca_get_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, &len),
			0);
	KUNIT_EXPECT_EQ(test, (int)tos, 0);

	/* soft-RoCE has no GIDs of RoCE v1. */
	id = rig_new_id(test, DEVICE_CLIENT, RDMA_PS_TCP);
	KUNIT_EXPECT_EQ(test, rca_set_option(id, RDMA_CM_ALT_OPTION, RDMA_CM_ALT_OPTION_GID_TYPE,
					     &ib, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, rca_set_option(id, RDMA_CM_ALT_OPTION, RDMA_CM_ALT_OPTION_GID_TYPE,
					     &v1, 1), 0);
	KUNIT_EXPECT_EQ(test, rig_bind(test, id, DEVICE_IP), -ENODEV);
}

static struct kunit_case device_cases[] = {
	KUNIT_CASE(ipv4_connection),
	KUNIT_CASE(ipv6_connection),
	KUNIT_CASE(connection_to_a_wildcard_listener),
	KUNIT_CASE(ipv6_wildcard_takes_ipv4),
	KUNIT_CASE(loopback_address_is_that_of_a_device),
	KUNIT_CASE(request_is_rejected),
	KUNIT_CASE(nobody_listens),
	KUNIT_CASE(other_address_listens),
	KUNIT_CASE(request_of_a_destroyed_client_fails),
	KUNIT_CASE(datagrams),
	KUNIT_CASE(backlog_is_a_bound),
	KUNIT_CASE(addresses_that_cannot_be),
	KUNIT_CASE(af_ib_id_that_connects_owns_no_port),
	KUNIT_CASE(gateway_that_is_silent),
	KUNIT_CASE(settings_of_an_id_and_of_its_port),
	{}
};

DEVICE_SUITE(device_suite, roce, "device", device_cases, device_bench_exit);
kunit_test_suite(device_suite);
