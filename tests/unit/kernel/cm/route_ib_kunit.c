// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of kernel/cm/route.c without a subnet administrator: the paths of
 * an answer, ids whose cached path is in doubt, Omni-Path records.
 *
 * Locking: rca_id.op, which the functions expect to be held.
 */
#include <kunit/test.h>

#include "cm/internal.h"
#include "fake/fake_suite.h"
#include "lib/testing.h"

/* Of the paths; they have no other differences. */
enum { OLD_SL = 3, NEW_SL, IN_SL, OUT_SL };

/* Ids of a fake device have none; the end of an id would put its reference. */
static const struct ib_gid_attr local_gid = { .gid.raw = { 0xfe, 0x80, [15] = 1 } };

static void one_path_has_no_direction(struct kunit *test)
{
	const struct sa_path_rec rec = { .sl = OLD_SL, .flags = IB_PATH_OUTBOUND };
	struct rca_path_answer answer = {};

	KUNIT_EXPECT_EQ(test, rca_path_sort(&rec, 1, &answer), 0);
	KUNIT_EXPECT_EQ(test, (int)answer.path.sl, OLD_SL);
	KUNIT_EXPECT_EQ(test, answer.path.flags, 0u);
	KUNIT_EXPECT_EQ(test, answer.inbound.flags, 0u);
	KUNIT_EXPECT_EQ(test, answer.outbound.flags, 0u);
}

static void paths_are_sorted_by_direction(struct kunit *test)
{
	const struct sa_path_rec recs[] = {
		{ .sl = OUT_SL, .flags = IB_PATH_OUTBOUND },
		{ .sl = OLD_SL, .flags = IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL },
		{ .sl = IN_SL, .flags = IB_PATH_INBOUND | IB_PATH_PRIMARY },
	};
	struct rca_path_answer answer = {};

	KUNIT_EXPECT_EQ(test, rca_path_sort(recs, ARRAY_SIZE(recs), &answer), 0);
	KUNIT_EXPECT_EQ(test, (int)answer.path.sl, OLD_SL);
	KUNIT_EXPECT_EQ(test, (int)answer.inbound.sl, IN_SL);
	KUNIT_EXPECT_EQ(test, (int)answer.outbound.sl, OUT_SL);
	KUNIT_EXPECT_NE(test, answer.inbound.flags, 0u);
	KUNIT_EXPECT_NE(test, answer.outbound.flags, 0u);
}

static void answers_that_are_of_no_use(struct kunit *test)
{
	const struct sa_path_rec directions[] = {
		{ .flags = IB_PATH_OUTBOUND }, { .flags = IB_PATH_INBOUND },
	};
	const struct sa_path_rec unknown[] = { { .sl = OLD_SL }, { .flags = IB_PATH_PRIMARY } };
	struct rca_path_answer answer = {};

	KUNIT_EXPECT_EQ(test, rca_path_sort(directions, 2, &answer), -EINVAL);
	KUNIT_EXPECT_EQ(test, rca_path_sort(unknown, 2, &answer), -EINVAL);
	KUNIT_EXPECT_EQ(test, rca_path_sort(NULL, 0, &answer), -EINVAL);
}

/* The key of the question that an id asks. */
static struct rca_path_key question_of(const struct rca_id *id)
{
	const u32 user = __kuid_val(rca_account_uid(&id->obj.ctx->account));
	struct rca_path_key key;
	struct sa_path_rec rec;
	ib_sa_comp_mask mask;

	mask = rca_route_ib_question(id, false, &rec);
	rca_path_key(&key, user, id->dev->serial, id->port_num, &rec, mask);
	return key;
}

static void add_path(struct rca_id *id, u8 sl)
{
	const struct sa_path_rec path = { .sl = sl };
	const struct rca_path_key key = question_of(id);

	rca_path_cache_add(&key, atomic_read(&id->dev->path_epoch), &path);
}

/* The version of the path of an id in the cache, or 0. */
static u32 cached_version(const struct rca_id *id)
{
	const struct rca_path_key key = question_of(id);
	struct sa_path_rec path;

	return rca_path_cache_find(&key, atomic_read(&id->dev->path_epoch), 60, &path);
}

/* Returns an id with a path that is in the cache; its op mutex is held. */
static struct rca_id *id_with_cached_path(struct kunit *test)
{
	struct rca_id *id = fake_active_id(test, test->priv, FAKE_COOKIE);

	mutex_lock(&id->op);
	id->sgid_attr = &local_gid;
	add_path(id, OLD_SL);
	id->setup->path.sl = OLD_SL;
	id->setup->path_version = cached_version(id);
	KUNIT_EXPECT_NE(test, id->setup->path_version, 0u);
	return id;
}

static void release(struct rca_id *id)
{
	id->sgid_attr = NULL;
	mutex_unlock(&id->op);
}

static void newer_path_is_taken(struct kunit *test)
{
	struct rca_id *id = id_with_cached_path(test);

	add_path(id, NEW_SL);
	KUNIT_EXPECT_FALSE(test, rca_route_ib_renew(id));
	KUNIT_EXPECT_EQ(test, (int)id->setup->path.sl, NEW_SL);
	KUNIT_EXPECT_EQ(test, id->setup->path_version, cached_version(id));
	release(id);
}

static void path_that_another_id_renews_is_kept(struct kunit *test)
{
	struct rca_id *id = id_with_cached_path(test);
	const struct rca_path_key key = question_of(id);
	u32 version = id->setup->path_version;
	struct sa_path_rec path;

	KUNIT_EXPECT_EQ(test, (int)rca_path_cache_doubt(&key, atomic_read(&id->dev->path_epoch),
							&version, &path), (int)RCA_PATH_ASK);
	KUNIT_EXPECT_FALSE(test, rca_route_ib_renew(id));
	KUNIT_EXPECT_EQ(test, (int)id->setup->path.sl, OLD_SL);
	KUNIT_EXPECT_EQ(test, id->setup->path_version, version);
	release(id);
}

/* Only cached paths are renewed. */
static void path_of_the_user_is_kept(struct kunit *test)
{
	struct rca_id *id = id_with_cached_path(test);

	add_path(id, NEW_SL);
	id->setup->path_version = 0;
	KUNIT_EXPECT_FALSE(test, rca_route_ib_renew(id));
	KUNIT_EXPECT_EQ(test, (int)id->setup->path.sl, OLD_SL);
	rca_route_ib_forget(id);
	KUNIT_EXPECT_NE(test, cached_version(id), 0u);
	release(id);
}

static void path_of_an_id_that_gives_up_is_dropped(struct kunit *test)
{
	struct rca_id *id = id_with_cached_path(test);

	rca_route_ib_forget(id);
	KUNIT_EXPECT_EQ(test, cached_version(id), 0u);
	release(id);
}

static void omni_path_gets_its_own_records(struct kunit *test)
{
	struct rca_id *id = fake_active_id(test, test->priv, FAKE_COOKIE);
	struct sa_path_rec path = {
		.rec_type = SA_PATH_REC_TYPE_IB, .ib.dlid = cpu_to_be16(0x1234),
	};
	struct fake *fake = test->priv;

	mutex_lock(&id->op);
	rca_route_ib_set(id, &path);
	KUNIT_EXPECT_EQ(test, (int)id->setup->path.rec_type, (int)SA_PATH_REC_TYPE_IB);
	fake->ibdev->port_data[1].immutable.core_cap_flags = RDMA_CORE_CAP_OPA_AH;
	rca_route_ib_set(id, &path);
	fake->ibdev->port_data[1].immutable.core_cap_flags = 0;
	KUNIT_EXPECT_EQ(test, (int)id->setup->path.rec_type, (int)SA_PATH_REC_TYPE_OPA);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(id->setup->path.opa.dlid), 0x1234u);
	mutex_unlock(&id->op);
}

static void clear_cache(struct kunit *test)
{
	rca_lru_clear(&rca_paths);
	fake_suite_exit(test);
}

static struct kunit_case route_ib_cases[] = {
	KUNIT_CASE(one_path_has_no_direction),
	KUNIT_CASE(paths_are_sorted_by_direction),
	KUNIT_CASE(answers_that_are_of_no_use),
	KUNIT_CASE(newer_path_is_taken),
	KUNIT_CASE(path_that_another_id_renews_is_kept),
	KUNIT_CASE(path_of_the_user_is_kept),
	KUNIT_CASE(path_of_an_id_that_gives_up_is_dropped),
	KUNIT_CASE(omni_path_gets_its_own_records),
	{}
};

static struct kunit_suite route_ib_suite = {
	.name = "rdma_cm_alt_route_ib",
	.init = fake_suite_init,
	.exit = clear_cache,
	.test_cases = route_ib_cases,
};
kunit_test_suite(route_ib_suite);
