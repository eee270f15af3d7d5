// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of kernel/ctx/fair_queue.c: who is served next, with made-up users and contexts.
 *
 * Locking: none.
 */
#include <kunit/test.h>
#include <linux/slab.h>

#include "ctx/ctx.h"

#define CROWD	1000

/* An entry that waits. */
struct waiter {
	struct list_head node;
	struct rca_ctx *ctx;
};

struct turns_test {
	struct rca_turns turns;
	struct rca_ctx *ctx[4];
	struct waiter waiters[8];
	u8 users[2];	/* an address for each */
};

static struct rca_ctx *make_ctx(struct kunit *test, unsigned int user)
{
	struct turns_test *t = test->priv;
	struct rca_ctx *ctx = kunit_kzalloc(test, sizeof(*ctx), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, ctx);
	ctx->account.user = (struct rca_user *)&t->users[user];
	return ctx;
}

static bool add(struct rca_turns *turns, struct rca_ctx *ctx, struct waiter *waiter, bool memory)
{
	struct rca_turns_spare spare = {};
	bool added;

	if (memory)
		rca_turns_prepare(&spare);
	waiter->ctx = ctx;
	added = rca_turns_add(turns, ctx, &waiter->node, &spare);
	rca_turns_finish(&spare);
	return added;
}

/* The waiter @number is of the context @ctx. */
static void wait(struct kunit *test, unsigned int ctx, unsigned int number)
{
	struct turns_test *t = test->priv;

	KUNIT_ASSERT_TRUE(test, add(&t->turns, t->ctx[ctx], &t->waiters[number], true));
}

static void expect_next(struct kunit *test, unsigned int number)
{
	struct turns_test *t = test->priv;

	KUNIT_ASSERT_PTR_EQ(test, rca_turns_first(&t->turns), &t->waiters[number].node);
	rca_turns_serve_first(&t->turns);
	KUNIT_EXPECT_TRUE(test, list_empty(&t->waiters[number].node));
}

/* The rest is served in this order, and nothing waits then. */
static void expect_order(struct kunit *test, const u8 *numbers, unsigned int count)
{
	struct turns_test *t = test->priv;

	while (count--)
		expect_next(test, *numbers++);
	KUNIT_EXPECT_NULL(test, rca_turns_first(&t->turns));
	KUNIT_EXPECT_TRUE(test, rca_turns_empty(&t->turns));
	KUNIT_EXPECT_TRUE(test, RB_EMPTY_ROOT(&t->turns.tree));
}

#define expect_rest(test, ...)							\
	do {									\
		static const u8 numbers[] = { __VA_ARGS__ };			\
										\
		expect_order(test, numbers, ARRAY_SIZE(numbers));		\
	} while (0)

static void expect_none(struct kunit *test)
{
	expect_order(test, NULL, 0);
}

static int turns_init(struct kunit *test)
{
	struct turns_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, t);
	test->priv = t;
	rca_turns_init(&t->turns);
	for (i = 0; i < ARRAY_SIZE(t->ctx); i++)
		t->ctx[i] = make_ctx(test, i == 3);
	return 0;
}

static void turns_exit(struct kunit *test)
{
	struct turns_test *t = test->priv;

	if (!t)
		return;
	while (rca_turns_first(&t->turns))
		rca_turns_serve_first(&t->turns);
}

static void context_has_its_order(struct kunit *test)
{
	wait(test, 0, 0);
	wait(test, 0, 1);
	wait(test, 0, 2);
	expect_next(test, 0);
	wait(test, 0, 3);
	expect_rest(test, 1, 2, 3);
}

/* Contexts 0 to 2 are of one user, 3 is of the other one. */
static void users_take_turns_and_then_contexts(struct kunit *test)
{
	wait(test, 0, 0);
	wait(test, 0, 1);
	wait(test, 1, 2);
	wait(test, 2, 3);
	wait(test, 3, 4);
	wait(test, 3, 5);
	wait(test, 3, 6);
	expect_rest(test, 0, 4, 2, 5, 3, 6, 1);
}

static void who_comes_again_is_served_last(struct kunit *test)
{
	wait(test, 0, 0);
	wait(test, 3, 1);
	expect_next(test, 0);
	wait(test, 0, 0);
	expect_rest(test, 1, 0);
}

static void removal_ends_empty_turns(struct kunit *test)
{
	struct turns_test *t = test->priv;

	wait(test, 0, 0);
	wait(test, 1, 1);
	wait(test, 1, 2);
	wait(test, 3, 3);
	rca_turns_remove(&t->turns, t->ctx[0], &t->waiters[0].node);
	rca_turns_remove(&t->turns, t->ctx[1], &t->waiters[1].node);
	KUNIT_EXPECT_TRUE(test, list_empty(&t->waiters[1].node));
	expect_next(test, 2);
	rca_turns_remove(&t->turns, t->ctx[3], &t->waiters[3].node);
	expect_none(test);
	wait(test, 3, 3);
	expect_rest(test, 3);
}

/* Memory is needed for the first entry of a user or a context. Without it nothing changes. */
static void entry_without_memory(struct kunit *test)
{
	struct rca_turns_spare spare = {};
	struct turns_test *t = test->priv;

	KUNIT_EXPECT_FALSE(test, add(&t->turns, t->ctx[0], &t->waiters[0], false));
	expect_none(test);
	/* There is memory for the user only. */
	rca_turns_prepare(&spare);
	kfree(spare.context);
	spare.context = NULL;
	KUNIT_EXPECT_FALSE(test, rca_turns_add(&t->turns, t->ctx[0], &t->waiters[0].node, &spare));
	rca_turns_finish(&spare);
	expect_none(test);
	wait(test, 0, 0);
	KUNIT_EXPECT_FALSE(test, add(&t->turns, t->ctx[1], &t->waiters[1], false));
	KUNIT_EXPECT_FALSE(test, add(&t->turns, t->ctx[3], &t->waiters[1], false));
	KUNIT_EXPECT_TRUE(test, add(&t->turns, t->ctx[0], &t->waiters[1], false));
	expect_rest(test, 0, 1);
}

/* However many contexts a user has, another user is next but one. */
static void crowd_of_contexts(struct kunit *test)
{
	struct turns_test *t = test->priv;
	struct waiter *crowd = kunit_kcalloc(test, CROWD, sizeof(*crowd), GFP_KERNEL);
	struct waiter *served;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, crowd);
	for (i = 0; i < CROWD; i++)
		KUNIT_ASSERT_TRUE(test, add(&t->turns, make_ctx(test, 0), &crowd[i], true));
	wait(test, 3, 0);
	KUNIT_EXPECT_PTR_EQ(test, rca_turns_first(&t->turns), &crowd[0].node);
	rca_turns_serve_first(&t->turns);
	expect_next(test, 0);
	/* From both ends and from the middle. */
	for (i = 3; i < CROWD; i += 3)
		rca_turns_remove(&t->turns, crowd[i].ctx, &crowd[i].node);
	for (i = 1; i < CROWD; i++) {
		if (i % 3 == 0)
			continue;
		served = list_entry(rca_turns_first(&t->turns), struct waiter, node);
		KUNIT_EXPECT_PTR_EQ(test, served, &crowd[i]);
		rca_turns_serve_first(&t->turns);
	}
	expect_none(test);
}

static struct kunit_case turns_cases[] = {
	KUNIT_CASE(context_has_its_order),
	KUNIT_CASE(users_take_turns_and_then_contexts),
	KUNIT_CASE(who_comes_again_is_served_last),
	KUNIT_CASE(removal_ends_empty_turns),
	KUNIT_CASE(entry_without_memory),
	KUNIT_CASE(crowd_of_contexts),
	{}
};

static struct kunit_suite turns_suite = {
	.name = "rdma_cm_alt_turns",
	.init = turns_init,
	.exit = turns_exit,
	.test_cases = turns_cases,
};
kunit_test_suite(turns_suite);
