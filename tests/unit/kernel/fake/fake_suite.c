// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What suites on the fake transport share. Their test->priv is the struct fake.
 */
#include "fake/fake_suite.h"

/**
 * fake_suite_init() - what happens before each test
 * @test: the test
 *
 * Return: 0.
 */
int fake_suite_init(struct kunit *test)
{
	test->priv = fake_create(test);
	return 0;
}

/**
 * fake_suite_exit() - what happens after each test: nothing is left of it
 * @test: the test
 */
void fake_suite_exit(struct kunit *test)
{
	struct fake *fake = test->priv;

	fake_destroy(fake);
	KUNIT_EXPECT_EQ(test, atomic_read(&fake->lowers), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&fake->groups), 0);
	KUNIT_EXPECT_TRUE(test, list_empty(&fake->dev.ids));
	KUNIT_EXPECT_EQ(test, refcount_read(&fake->dev.ref), 1);
}

/**
 * fake_expect_event() - an event is the next one, of an id with FAKE_COOKIE
 * @test: the test; it ends when there is none
 * @type: its type
 * @status: its status
 *
 * Return: the event, for more questions.
 */
struct rdma_cm_alt_event fake_expect_event(struct kunit *test, u32 type, int status)
{
	struct rdma_cm_alt_event rec;

	KUNIT_ASSERT_TRUE_MSG(test, fake_take_event(test->priv, &rec), "no event, %u wanted", type);
	KUNIT_EXPECT_EQ(test, rec.type, type);
	KUNIT_EXPECT_EQ(test, rec.status, status);
	KUNIT_EXPECT_EQ(test, rec.cookie, (u64)FAKE_COOKIE);
	return rec;
}

/**
 * fake_expect_no_event() - no event waits
 * @test: the test
 */
void fake_expect_no_event(struct kunit *test)
{
	struct rdma_cm_alt_event rec;

	KUNIT_EXPECT_FALSE_MSG(test, fake_take_event(test->priv, &rec), "event %u", rec.type);
}

/**
 * fake_expect_state() - an id is in a state; a failure tells both by name
 * @test: the test
 * @id: the id
 * @state: the state
 */
void fake_expect_state(struct kunit *test, struct rca_id *id, enum rca_state state)
{
	KUNIT_EXPECT_STREQ(test, rca_state_name(rca_id_state(id)), rca_state_name(state));
}
