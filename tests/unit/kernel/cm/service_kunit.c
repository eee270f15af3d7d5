// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of kernel/cm/sa.c without a subnet administrator: the question, and the records
 * of an answer.
 *
 * Locking: none.
 */
#include <kunit/test.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <rdma/ib_sa.h>

#include "cm/cm.h"
#include "lib/testing.h"

static void question_has_what_is_wanted(struct kunit *test)
{
	struct rca_service_wanted wanted = { .service_id = 0x1122334455667788ULL };
	struct sa_service_rec rec, none = {};

	memcpy(wanted.name, "a name", 6);
	/* Neither is named as wanted: all records. */
	KUNIT_EXPECT_EQ(test, (__force u64)rca_service_question(&wanted, &rec), 0ULL);
	KUNIT_EXPECT_EQ(test, memcmp(&rec, &none, sizeof(rec)), 0);
	wanted.has_id = true;
	KUNIT_EXPECT_TRUE(test,
			  rca_service_question(&wanted, &rec) == IB_SA_SERVICE_REC_SERVICE_ID);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(rec.id), wanted.service_id);
	KUNIT_EXPECT_EQ(test, (int)rec.name[0], 0);
	wanted.name_len = 6;
	KUNIT_EXPECT_TRUE(test, rca_service_question(&wanted, &rec) ==
			  (IB_SA_SERVICE_REC_SERVICE_ID | IB_SA_SERVICE_REC_SERVICE_NAME));
	KUNIT_EXPECT_EQ(test, memcmp(rec.name, wanted.name, sizeof(rec.name)), 0);
	wanted.has_id = false;
	KUNIT_EXPECT_TRUE(test,
			  rca_service_question(&wanted, &rec) == IB_SA_SERVICE_REC_SERVICE_NAME);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(rec.id), 0ULL);
}

/* Each byte of a record has its place. */
static void records_are_converted(struct kunit *test)
{
	struct sa_service_rec rec = { .id = cpu_to_be64(0x1122334455667788ULL),
				      .pkey = cpu_to_be16(0x8001), .lease = cpu_to_be32(60) };
	const struct rdma_cm_alt_service *kept;
	struct rca_services *services = NULL;
	u8 *data = (u8 *)&rec + offsetof(struct sa_service_rec, data_8);
	int i;

	memset(rec.gid, 0x47, sizeof(rec.gid));
	memset(rec.name, 'n', sizeof(rec.name));
	for (i = 0; i < 64; i++)
		data[i] = i;
	KUNIT_ASSERT_EQ(test, rca_services_keep(&services, &rec, 1), 0);
	KUNIT_ASSERT_EQ(test, services->count, 1U);
	kept = services->list;
	KUNIT_EXPECT_EQ(test, kept->service_id, 0x1122334455667788ULL);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(kept->pkey), 0x8001);
	KUNIT_EXPECT_EQ(test, kept->lease_s, 60U);
	KUNIT_EXPECT_EQ(test, memcmp(kept->gid, rec.gid, sizeof(rec.gid)), 0);
	KUNIT_EXPECT_EQ(test, memcmp(kept->name, rec.name, sizeof(rec.name)), 0);
	for (i = 0; i < 64; i++)
		KUNIT_EXPECT_EQ(test, (int)kept->data[i], i);
	kfree(services);
}

static void only_so_many_records_are_kept(struct kunit *test)
{
	const unsigned int sent = 70, most = 64;
	struct sa_service_rec *recs = kunit_kcalloc(test, sent, sizeof(*recs), GFP_KERNEL);
	struct rca_services *services = NULL;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, recs);
	for (i = 0; i < sent; i++)
		recs[i].id = cpu_to_be64(i);
	KUNIT_ASSERT_EQ(test, rca_services_keep(&services, recs, sent), 0);
	KUNIT_EXPECT_EQ(test, services->count, most);
	for (i = 0; i < services->count; i++)
		KUNIT_EXPECT_EQ(test, services->list[i].service_id, (u64)i);
	kfree(services);
	services = NULL;
	KUNIT_EXPECT_EQ(test, rca_services_keep(&services, recs, 0), -ENOENT);
	KUNIT_EXPECT_NULL(test, services);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(question_has_what_is_wanted),
	KUNIT_CASE(records_are_converted),
	KUNIT_CASE(only_so_many_records_are_kept),
	{}
};

static struct kunit_suite suite = {
	.name = "rdma_cm_alt_service",
	.test_cases = cases,
};
kunit_test_suite(suite);
