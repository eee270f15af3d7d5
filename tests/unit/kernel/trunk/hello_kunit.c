// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of kernel/cm/choose_transport.c: hellos in the RTU, at both ends of a connection.
 *
 * Locking: none.
 */
#include <kunit/test.h>

#include "cm/internal.h"
#include "fake/fake_suite.h"
#include "trunk/trunk.h"

/* The hello of the peer. */
static const struct rca_hello the_hello = {
	.version = RCA_TRUNK_VERSION,
	.oldest = RCA_TRUNK_OLDEST,
	.token = 0x1234,
	.features = 5,
};

static const union ib_gid peer_gid = { .raw = { 0xfe, 0x80, [15] = 2 } };

/* Ids of a fake device have no GID; the end of an id would put its reference. */
static const struct ib_gid_attr local_gid = { .gid.raw = { 0xfe, 0x80, [15] = 1 } };

static void connect_and_establish(struct kunit *test, bool path_given)
{
	struct rca_id *id = fake_active_id(test, test->priv, FAKE_COOKIE);
	struct rca_tp_conn conn = { .qp_num = 42 };

	KUNIT_ASSERT_EQ(test, rca_connect(id, &conn), 0);
	fake_message(id, RCA_IN_REP, 0);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_CONNECT_RESPONSE, 0);
	id->sgid_attr = &local_gid;
	id->setup->path_given = path_given;
	KUNIT_EXPECT_EQ(test, rca_establish(id), 0);
	id->sgid_attr = NULL;
}

static void first_rtus_have_a_hello(struct kunit *test)
{
	struct fake *fake = test->priv;
	struct rca_hello hello;
	int i;

	for (i = 0; i < 3; i++) {
		connect_and_establish(test, false);
		KUNIT_EXPECT_EQ(test, (int)fake->last_rtu_len, RCA_HELLO_LEN);
		KUNIT_ASSERT_EQ(test, rca_hello_unpack(fake->last_rtu, fake->last_rtu_len, &hello),
				0);
		KUNIT_EXPECT_EQ(test, hello.ca_guid, fake->ibdev->node_guid);
	}
	connect_and_establish(test, false);
	KUNIT_EXPECT_EQ(test, (int)fake->last_rtu_len, 0);
}

/* The program has set the path, which may lead to another host, or name one as its source. */
static void path_of_a_program_has_no_hello(struct kunit *test)
{
	struct fake *fake = test->priv;

	connect_and_establish(test, true);
	KUNIT_EXPECT_EQ(test, (int)fake->last_rtu_len, 0);
	connect_and_establish(test, false);
	KUNIT_EXPECT_EQ(test, (int)fake->last_rtu_len, RCA_HELLO_LEN);
}

/* An id that has accepted a request. */
static struct rca_id *accepted(struct kunit *test, const struct ib_gid_attr *sgid_attr)
{
	struct rca_id *id = fake_child(test, test->priv);
	struct rca_tp_conn conn = { .qp_num = 42 };

	memcpy(id->link.dgid, peer_gid.raw, sizeof(id->link.dgid));
	KUNIT_ASSERT_EQ(test, rca_accept(id, FAKE_COOKIE, &conn), 0);
	id->sgid_attr = sgid_attr;
	return id;
}

static void receive_rtu(struct rca_id *id, const u8 *data, u8 len)
{
	const struct rca_tp_event rtu = {
		.input = RCA_IN_RTU,
		.rtu_data = data,
		.rtu_len = len,
	};

	rca_cm_event(id, id->lower, &rtu);
	id->sgid_attr = NULL;
}

static unsigned int heard(struct kunit *test, struct rca_trunk_peer *found)
{
	struct fake *fake = test->priv;
	struct rhashtable_iter iter;
	struct rca_trunk_peer info;
	unsigned int count = 0;

	rca_peers_walk(&iter);
	while (rca_peers_next(&iter, &info)) {
		if (info.key.device != fake->dev.serial || !info.heard)
			continue;
		*found = info;
		count++;
	}
	rhashtable_walk_exit(&iter);
	return count;
}

static void hello_is_of_the_peer(struct kunit *test)
{
	struct rca_id *id = accepted(test, &local_gid);
	struct rca_trunk_peer info;
	u8 data[224] = {};

	rca_hello_pack(data, &the_hello);
	receive_rtu(id, data, sizeof(data));
	fake_expect_state(test, id, RCA_ST_CONNECTED);
	KUNIT_ASSERT_EQ(test, heard(test, &info), 1u);
	KUNIT_EXPECT_EQ(test, info.features, the_hello.features);
	KUNIT_EXPECT_EQ(test, memcmp(&info.key.dgid, &peer_gid, sizeof(peer_gid)), 0);
	KUNIT_EXPECT_EQ(test, memcmp(&info.key.sgid, &local_gid.gid, sizeof(peer_gid)), 0);
	KUNIT_EXPECT_EQ(test, (int)info.key.pkey, 0x7fff);
}

/* The partition is that of the request, without the membership bit. */
static void peer_on_infiniband_is_of_a_partition(struct kunit *test)
{
	struct rca_id *id = accepted(test, &local_gid);
	struct rca_trunk_peer info;
	u8 data[224] = {};

	id->link.ib = true;
	id->link.pkey = 0x8123;
	rca_hello_pack(data, &the_hello);
	receive_rtu(id, data, sizeof(data));
	KUNIT_ASSERT_EQ(test, heard(test, &info), 1u);
	KUNIT_EXPECT_EQ(test, (int)info.key.pkey, 0x0123);
}

/* The peer repeats its RTU, or sends one to an id that is not connecting. */
static void rtu_out_of_place_is_not_read(struct kunit *test)
{
	struct rca_id *id = accepted(test, &local_gid);
	struct rca_trunk_peer info;
	u8 data[224] = {};

	receive_rtu(id, data, sizeof(data));
	rca_hello_pack(data, &the_hello);
	id->sgid_attr = &local_gid;
	receive_rtu(id, data, sizeof(data));
	KUNIT_EXPECT_EQ(test, heard(test, &info), 0u);
}

/* The program has ended the id meanwhile, and its device is gone. */
static void id_without_a_gid(struct kunit *test)
{
	struct rca_id *id = accepted(test, NULL);
	struct rca_trunk_peer info;
	u8 data[224] = {};

	rca_hello_pack(data, &the_hello);
	receive_rtu(id, data, sizeof(data));
	KUNIT_EXPECT_EQ(test, heard(test, &info), 0u);
}

static struct kunit_case hello_cases[] = {
	KUNIT_CASE(first_rtus_have_a_hello),
	KUNIT_CASE(path_of_a_program_has_no_hello),
	KUNIT_CASE(hello_is_of_the_peer),
	KUNIT_CASE(peer_on_infiniband_is_of_a_partition),
	KUNIT_CASE(rtu_out_of_place_is_not_read),
	KUNIT_CASE(id_without_a_gid),
	{}
};

static struct kunit_suite hello_suite = {
	.name = "rdma_cm_alt_hello",
	.init = fake_suite_init,
	.exit = fake_suite_exit,
	.test_cases = hello_cases,
};

kunit_test_suite(hello_suite);
