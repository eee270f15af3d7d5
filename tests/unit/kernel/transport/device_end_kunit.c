// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of software RDMA devices that are removed while ids use them, and added again;
 * of multicast groups of a network device; of connections over iWARP.
 *
 * Locking: none; the work of both ends runs concurrently.
 */
#include <kunit/test.h>
#include <linux/inetdevice.h>
#include <rdma/rdma_user_cm.h>

#include "cm/cm.h"
#include "fake/addresses.h"
#include "fake/device_bench.h"
#include "fake/netrig.h"
#include "transport/transport.h"

#define GROUP	"239.77.0.1"
#define GROUP6	"ff05::77"

/*
 * Reads events until @wanted ids have reported the removal of their device. An id may
 * report before that its peer has disconnected.
 */
static int count_removals(struct kunit *test, int wanted)
{
	struct device_bench *bench = test->priv;
	int count = 0;

	while (count < wanted && rig_take_event(bench)) {
		if (bench->rec.type == RDMA_CM_ALT_EVENT_DEVICE_REMOVAL)
			count++;
		else
			KUNIT_EXPECT_EQ(test, bench->rec.type,
					(u32)RDMA_CM_ALT_EVENT_DISCONNECTED);
	}
	rig_expect_no_event(test);
	return count;
}

static void device_goes_in_every_state(struct kunit *test)
{
	struct rca_id *server = rig_listening(test, DEVICE_IP, RDMA_PS_TCP);
	struct rca_tp_conn conn = rig_params(test);
	struct rca_id *ids[8], *child;
	int i;

	rig_connected(test, server, DEVICE_IP, &ids[0], &ids[1]);
	ids[2] = rig_resolved(test, DEVICE_IP, rig_port_of(server), RDMA_PS_TCP);
	rig_connect(test, ids[2]);
	ids[3] = rig_requested(test);
	ids[4] = rig_resolved(test, DEVICE_IP, 1, RDMA_PS_UDP);
	ids[5] = rig_new_id(test, DEVICE_CLIENT, RDMA_PS_TCP);
	KUNIT_ASSERT_EQ(test, rig_bind(test, ids[5], DEVICE_IP), 0);
	ids[6] = server;
	/* In the middle of a disconnect. */
	rig_connected(test, server, DEVICE_IP, &ids[7], &child);
	rig_destroy(test, child);
	rig_expect_event(test, DEVICE_CLIENT, RDMA_CM_ALT_EVENT_DISCONNECTED, 0);

	KUNIT_ASSERT_EQ(test, netrig_delete_rdma(), 0);
	KUNIT_EXPECT_EQ(test, count_removals(test, ARRAY_SIZE(ids)), (int)ARRAY_SIZE(ids));
	for (i = 0; i < ARRAY_SIZE(ids); i++) {
		rig_expect_state(test, ids[i], RCA_ST_REMOVED);
		KUNIT_EXPECT_EQ(test, rca_connect(ids[i], &conn), -ENXIO);
	}
	KUNIT_ASSERT_EQ(test, netrig_add_rdma("rxe"), 0);
}

static void wildcard_listener_follows_the_devices(struct kunit *test)
{
	struct rca_id *server = rig_listening(test, "0.0.0.0", RDMA_PS_TCP);
	struct rca_id *client, *child;

	rig_connected(test, server, DEVICE_IP, &client, &child);
	KUNIT_ASSERT_EQ(test, netrig_delete_rdma(), 0);
	KUNIT_EXPECT_EQ(test, count_removals(test, 2), 2);
	rig_expect_state(test, server, RCA_ST_LISTEN);
	KUNIT_ASSERT_EQ(test, netrig_add_rdma("rxe"), 0);

	KUNIT_ASSERT_EQ(test, rig_bind_soon(test, rig_new_id(test, DEVICE_CLIENT, RDMA_PS_TCP),
					    DEVICE_IP), 0);
	rig_connected(test, server, DEVICE_IP, &client, &child);
}

static void device_goes_while_the_address_is_resolved(struct kunit *test)
{
	struct rca_id *id = rig_new_id(test, DEVICE_CLIENT, RDMA_PS_TCP);

	KUNIT_ASSERT_EQ(test, rig_bind_soon(test, id, DEVICE_IP), 0);
	KUNIT_ASSERT_EQ(test, rig_resolve(test, id, "10.78.0.9", 1, DEVICE_PATIENCE_MS), 0);
	rig_expect_state(test, id, RCA_ST_ADDR_QUERY);
	KUNIT_ASSERT_EQ(test, netrig_delete_rdma(), 0);
	KUNIT_EXPECT_EQ(test, count_removals(test, 1), 1);
	KUNIT_ASSERT_EQ(test, netrig_add_rdma("rxe"), 0);
}

static void group_of_a_network_device(struct kunit *test, const char *ip, const char *group)
{
	struct rca_id *id = rig_new_id(test, DEVICE_CLIENT, RDMA_PS_UDP);
	struct device_bench *bench = test->priv;
	struct rca_member *member;
	u32 handle, reported;

	KUNIT_ASSERT_EQ(test, rig_bind(test, id, ip), 0);
	member = rca_join(id, rca_test_addr(test, group, 0), false, 77);
	KUNIT_ASSERT_FALSE(test, IS_ERR(member));
	handle = rca_join_handle(member);
	KUNIT_ASSERT_EQ(test, rca_join_publish(member), 0);
	KUNIT_ASSERT_TRUE(test, rig_take_event(bench));
	KUNIT_EXPECT_EQ(test, bench->rec.type, (u32)RDMA_CM_ALT_EVENT_MULTICAST_JOIN);
	KUNIT_EXPECT_EQ(test, bench->rec.user_arg, 77ULL);
	KUNIT_EXPECT_EQ(test, bench->rec.qp_num, 0xffffffu);
	KUNIT_EXPECT_EQ(test, rca_leave(bench->ctx, handle, &reported), 0);
	KUNIT_EXPECT_EQ(test, reported, 1u);
	/* A member that does not leave. */
	member = rca_join(id, rca_test_addr(test, group, 0), true, 78);
	KUNIT_ASSERT_FALSE(test, IS_ERR(member));
	KUNIT_ASSERT_EQ(test, rca_join_publish(member), 0);
	KUNIT_ASSERT_TRUE(test, rig_take_event(bench));
	rig_destroy(test, id);
}

static void ipv4_group(struct kunit *test)
{
	group_of_a_network_device(test, DEVICE_IP, GROUP);
}

static void ipv6_group(struct kunit *test)
{
	group_of_a_network_device(test, DEVICE_IP6, GROUP6);
}

/* A LISTEN that has the device still, and comes after the end of all listening on it. */
static void listen_is_late_for_a_removal(struct kunit *test)
{
	struct rca_id *id = rig_new_id(test, DEVICE_SERVER, RDMA_PS_TCP);

	KUNIT_ASSERT_EQ(test, rig_bind(test, id, DEVICE_IP), 0);
	WRITE_ONCE(id->dev->removing, true);
	KUNIT_EXPECT_EQ(test, rca_listen(id, 1), -ENXIO);
	WRITE_ONCE(id->dev->removing, false);
	KUNIT_EXPECT_EQ(test, rca_listen(id, 1), 0);
	rig_destroy(test, id);
}

static struct kunit_case end_cases[] = {
	KUNIT_CASE(listen_is_late_for_a_removal),
	KUNIT_CASE(ipv4_group),
	KUNIT_CASE(ipv6_group),
	KUNIT_CASE(device_goes_in_every_state),
	KUNIT_CASE(wildcard_listener_follows_the_devices),
	KUNIT_CASE(device_goes_while_the_address_is_resolved),
	{}
};

DEVICE_SUITE(end_suite, roce, "device_end", end_cases, device_bench_exit);

static void iwarp_connection(struct kunit *test, const char *local)
{
	struct rca_id *server = rig_listening(test, local, RDMA_PS_TCP);
	struct rca_id *client, *child;

	rig_connected(test, server, DEVICE_IP, &client, &child);
	rig_expect_state(test, client, RCA_ST_CONNECTED);
	rig_expect_state(test, child, RCA_ST_CONNECTED);
	KUNIT_EXPECT_EQ(test, rca_disconnect(client), 0);
	rig_expect_both(test, RDMA_CM_ALT_EVENT_DISCONNECTED);
	rig_destroy(test, client);
	rig_destroy(test, child);
	rig_destroy(test, server);
	rig_expect_no_event(test);
}

static void iwarp_connection_to_an_address(struct kunit *test)
{
	iwarp_connection(test, DEVICE_IP);
}

static void iwarp_connection_to_a_wildcard(struct kunit *test)
{
	iwarp_connection(test, "0.0.0.0");
}

static void iwarp_request_is_rejected(struct kunit *test)
{
	struct rca_id *server = rig_listening(test, DEVICE_IP, RDMA_PS_TCP);
	struct rca_id *client = rig_resolved(test, DEVICE_IP, rig_port_of(server),
					     RDMA_PS_TCP);
	struct device_bench *bench = test->priv;

	rig_connect(test, client);
	KUNIT_EXPECT_EQ(test, rca_reject(rig_requested(test), 0, NULL, 0), 0);
	KUNIT_ASSERT_TRUE(test, rig_take_event(bench));
	KUNIT_EXPECT_EQ(test, bench->rec.type, (u32)RDMA_CM_ALT_EVENT_REJECTED);
}

static void iwarp_nobody_listens(struct kunit *test)
{
	struct rca_id *client = rig_resolved(test, DEVICE_IP, 1, RDMA_PS_TCP);
	struct rca_tp_conn conn = rig_params(test);
	struct device_bench *bench = test->priv;
	int ret = rca_connect(client, &conn);

	if (ret)
		return;
	KUNIT_ASSERT_TRUE(test, rig_take_event(bench));
	KUNIT_EXPECT_NE(test, bench->rec.status, 0);
}

static void iwarp_has_no_datagrams(struct kunit *test)
{
	struct rca_id *id = rig_new_id(test, DEVICE_SERVER, RDMA_PS_UDP);

	KUNIT_ASSERT_EQ(test, rig_bind(test, id, DEVICE_IP), 0);
	KUNIT_EXPECT_EQ(test, rca_listen(id, 1), -EOPNOTSUPP);
}

static void iwarp_loopback_address(struct kunit *test)
{
	struct rca_id *id = rig_resolved(test, "127.0.0.1", 1, RDMA_PS_TCP);

	KUNIT_EXPECT_FALSE(test, rca_addr_is_loopback(&id->dst));
}

static struct kunit_case iwarp_cases[] = {
	KUNIT_CASE(iwarp_connection_to_an_address),
	KUNIT_CASE(iwarp_connection_to_a_wildcard),
	KUNIT_CASE(iwarp_request_is_rejected),
	KUNIT_CASE(iwarp_nobody_listens),
	KUNIT_CASE(iwarp_has_no_datagrams),
	KUNIT_CASE(iwarp_loopback_address),
	{}
};

DEVICE_SUITE(iwarp_suite, iwarp, "iwarp", iwarp_cases, device_bench_exit);
kunit_test_suites(&end_suite, &iwarp_suite);
