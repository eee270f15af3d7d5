// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Common parts of suites on the fake transport. Their test->priv is the struct fake.
 */
#include "fake/fake_suite.h"

int fake_suite_init(struct kunit *test)
{
	test->priv = fake_create(test);
	return 0;
}

/* Checks that nothing is left of the test. */
void fake_suite_exit(struct kunit *test)
{
	struct fake *fake = test->priv;

	fake_destroy(fake);
	KUNIT_EXPECT_EQ(test, atomic_read(&fake->lowers), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&fake->groups), 0);
	KUNIT_EXPECT_TRUE(test, list_empty(&fake->dev.ids));
	KUNIT_EXPECT_EQ(test, refcount_read(&fake->dev.ref), 1);
}

/* Expects the next event, of an id with FAKE_COOKIE, and returns it. */
struct rdma_cm_alt_event fake_expect_event(struct kunit *test, u32 type, int status)
{
	struct rdma_cm_alt_event rec;

	KUNIT_ASSERT_TRUE_MSG(test, fake_take_event(test->priv, &rec), "no event, %u wanted", type);
	KUNIT_EXPECT_EQ(test, rec.type, type);
	KUNIT_EXPECT_EQ(test, rec.status, status);
	KUNIT_EXPECT_EQ(test, rec.cookie, (u64)FAKE_COOKIE);
	return rec;
}

void fake_expect_no_event(struct kunit *test)
{
	struct rdma_cm_alt_event rec;

	KUNIT_EXPECT_FALSE_MSG(test, fake_take_event(test->priv, &rec), "event %u", rec.type);
}

/* A failure prints both states by name. */
void fake_expect_state(struct kunit *test, struct rca_id *id, enum rca_state state)
{
	KUNIT_EXPECT_STREQ(test, rca_state_name(rca_id_state(id)), rca_state_name(state));
}
