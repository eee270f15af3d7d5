// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of kernel/trunk/link_path.c: the path of a link has nothing of the request of a user that
 * led to the link.
 *
 * Locking: none.
 */
#include <linux/string.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_sa.h>

#include "fake/device_bench.h"
#include "lib/testing.h"
#include "trunk/conn_bench.h"
#include "trunk/trunk.h"

#define FLOW_LABEL	0x12345
#define LID		7

/**
 * struct path_bench - a link that is beginning
 * @trunk: its trunk, which is not in the table, and whose work does nothing
 * @link: the link, with the path of a request
 */
struct path_bench {
	struct rca_trunk trunk;
	struct rca_trunk_link link;
};

static void work(struct work_struct *work)
{
	rca_trunk_put(container_of(to_delayed_work(work), struct rca_trunk, work));
}

static struct path_bench *make_bench(struct kunit *test)
{
	struct path_bench *bench = kunit_kzalloc(test, sizeof(*bench), GFP_KERNEL);
	struct rca_trunk *trunk = &bench->trunk;

	KUNIT_ASSERT_NOT_NULL(test, bench);
	refcount_set(&trunk->ref, 1);
	spin_lock_init(&trunk->lock);
	INIT_DELAYED_WORK(&trunk->work, work);
	trunk->key = conn_bench->trunk->key;
	trunk->dev = conn_bench->trunk->dev;
	trunk->sgid_attr = conn_bench->trunk->sgid_attr;
	trunk->link = &bench->link;
	refcount_set(&bench->link.ref, 2);
	bench->link.trunk = trunk;
	bench->link.path = conn_bench->path;
	bench->link.path.traffic_class = 0x20;
	bench->link.path.flow_label = cpu_to_be32(FLOW_LABEL);
	bench->link.path.sl = 5;
	bench->link.path.hop_limit = 3;
	bench->link.path.mtu = IB_MTU_256;
	bench->link.path.rate = IB_RATE_2_5_GBPS;
	bench->link.path.packet_life_time = 31;
	return bench;
}

/* Neither type of service, MTU nor the rest of a user's request is that of the trunk. */
static void nothing_of_the_request_is_left(struct kunit *test)
{
	struct path_bench *bench = make_bench(test);
	const struct sa_path_rec *path = &bench->link.path;

	KUNIT_ASSERT_EQ(test, rca_link_find_path(&bench->link), 0);
	KUNIT_EXPECT_TRUE(test, test_bit(RCA_LINK_PATH, &bench->link.news));
	KUNIT_EXPECT_EQ(test, (int)path->traffic_class, 0);
	KUNIT_EXPECT_EQ(test, (int)path->sl, 0);
	KUNIT_EXPECT_EQ(test, (int)path->hop_limit, 64);
	KUNIT_EXPECT_EQ(test, (int)path->mtu, (int)IB_MTU_1024);
	KUNIT_EXPECT_EQ(test, (int)path->rate, (int)IB_RATE_PORT_CURRENT);
	KUNIT_EXPECT_EQ(test, (int)path->packet_life_time, RCA_LINK_TIMEOUT - 1);
	KUNIT_EXPECT_EQ(test, memcmp(&path->dgid, &conn_bench->path.dgid, sizeof(path->dgid)), 0);
}

static void class_and_level_are_parameters(struct kunit *test)
{
	struct path_bench *bench = make_bench(test);

	rca_trunk_traffic_class = 0x68;
	rca_trunk_sl = 3;
	KUNIT_EXPECT_EQ(test, rca_link_find_path(&bench->link), 0);
	rca_trunk_traffic_class = 0;
	rca_trunk_sl = 0;
	KUNIT_EXPECT_EQ(test, (int)bench->link.path.traffic_class, 0x68);
	KUNIT_EXPECT_EQ(test, (int)bench->link.path.sl, 3);
}

/* Of three random labels, two may be equal, but not all. */
static void each_link_has_a_flow_label(struct kunit *test)
{
	struct path_bench *bench = make_bench(test);
	__be32 labels[3];
	int i;

	for (i = 0; i < ARRAY_SIZE(labels); i++) {
		KUNIT_ASSERT_EQ(test, rca_link_find_path(&bench->link), 0);
		labels[i] = bench->link.path.flow_label;
		KUNIT_EXPECT_EQ(test, be32_to_cpu(labels[i]) >> 20, 0u);
	}
	KUNIT_EXPECT_TRUE(test, labels[0] != labels[1] || labels[0] != labels[2]);
}

/* The answer of a subnet administrator, or of a resolver in user space, which gives several. */
static void path_of_the_administrator(struct kunit *test)
{
	struct path_bench *bench = make_bench(test);
	struct sa_path_rec recs[2] = {
		{ .rec_type = SA_PATH_REC_TYPE_IB, .flags = IB_PATH_INBOUND, .sl = 1 },
		{ .rec_type = SA_PATH_REC_TYPE_IB, .flags = IB_PATH_GMP, .sl = 2,
		  .traffic_class = 0x20, .mtu = IB_MTU_2048 },
	};
	const struct sa_path_rec *path = &bench->link.path;

	sa_path_set_dlid(&recs[1], LID);
	rca_link_path_found(0, recs, ARRAY_SIZE(recs), &bench->link);
	flush_delayed_work(&bench->trunk.work);
	KUNIT_EXPECT_TRUE(test, test_bit(RCA_LINK_PATH, &bench->link.news));
	KUNIT_EXPECT_EQ(test, be32_to_cpu(sa_path_get_dlid((struct sa_path_rec *)path)), LID);
	KUNIT_EXPECT_EQ(test, (int)path->sl, 2);
	KUNIT_EXPECT_EQ(test, (int)path->mtu, (int)IB_MTU_2048);
	KUNIT_EXPECT_EQ(test, (int)path->traffic_class, 0);
	KUNIT_EXPECT_EQ(test, refcount_read(&bench->link.ref), 1u);
}

static void administrator_does_not_answer(struct kunit *test)
{
	struct path_bench *bench = make_bench(test);

	rca_link_path_found(-ETIMEDOUT, NULL, 0, &bench->link);
	flush_delayed_work(&bench->trunk.work);
	KUNIT_EXPECT_TRUE(test, test_bit(RCA_LINK_END, &bench->link.news));
	KUNIT_EXPECT_FALSE(test, test_bit(RCA_LINK_PATH, &bench->link.news));
	KUNIT_EXPECT_STREQ(test, bench->trunk.why, "the subnet administrator tells no path");
}

static struct kunit_case path_cases[] = {
	KUNIT_CASE(nothing_of_the_request_is_left),
	KUNIT_CASE(class_and_level_are_parameters),
	KUNIT_CASE(each_link_has_a_flow_label),
	KUNIT_CASE(path_of_the_administrator),
	KUNIT_CASE(administrator_does_not_answer),
	{}
};

CONN_SUITE(path_suite, "trunk_path", path_cases);

kunit_test_suite(path_suite);
