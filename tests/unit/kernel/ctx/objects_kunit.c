// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of kernel/ctx/objects.c: reserve, publish, look up and claim handles, also in races. */
#include <kunit/test.h>
#include <linux/err.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "ctx/ctx.h"
#include "fake/race.h"

#define ROUNDS 1000

struct widget {
	struct rca_obj obj;
	struct rcu_head rcu;
};

/* Number of released objects; the tests of a suite do not run in parallel. */
static atomic_t released;

static void widget_release(struct rca_obj *obj)
{
	struct widget *widget = container_of(obj, struct widget, obj);

	atomic_inc(&released);
	kfree_rcu(widget, rcu);
}

static const struct rca_obj_type types[] = {
	[RCA_KIND_ID] = { .kind = RCA_KIND_ID, .release = widget_release },
	[RCA_KIND_MEMBER] = { .kind = RCA_KIND_MEMBER, .release = widget_release },
};

static struct rca_obj *reserve(struct kunit *test, enum rca_kind kind)
{
	struct widget *widget = kzalloc(sizeof(*widget), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, widget);
	KUNIT_ASSERT_EQ(test, 0, rca_obj_reserve(&widget->obj, test->priv, &types[kind],
						 GFP_KERNEL));
	return &widget->obj;
}

static struct rca_obj *publish(struct kunit *test, enum rca_kind kind)
{
	struct rca_obj *obj = reserve(test, kind);

	rca_obj_publish(obj);
	return obj;
}

static int lookup_error(struct rca_ctx *ctx, u32 handle, enum rca_kind kind)
{
	struct rca_obj *obj = rca_obj_lookup(ctx, handle, kind);

	if (IS_ERR(obj))
		return PTR_ERR(obj);
	rca_obj_put(obj);
	return 0;
}

static int claim_error(struct rca_ctx *ctx, u32 handle, enum rca_kind kind)
{
	struct rca_obj *obj = rca_obj_claim_handle(ctx, handle, kind);

	if (IS_ERR(obj))
		return PTR_ERR(obj);
	rca_obj_put(obj);
	return 0;
}

/* Claim and put a published object, which must succeed. */
static void claim(struct kunit *test, struct rca_obj *obj)
{
	KUNIT_EXPECT_EQ(test, 0, claim_error(obj->ctx, obj->handle, obj->type->kind));
}

static int objects_init(struct kunit *test)
{
	struct rca_ctx *ctx = rca_ctx_create();

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, ctx);
	test->priv = ctx;
	atomic_set(&released, 0);
	return 0;
}

static void objects_exit(struct kunit *test)
{
	struct rca_ctx *ctx = test->priv;

	if (!ctx)
		return;
	/* Each test leaves the context empty and without other references. */
	KUNIT_EXPECT_TRUE(test, xa_empty(&ctx->table));
	KUNIT_EXPECT_EQ(test, 1U, refcount_read(&ctx->ref));
	rca_ctx_put(ctx);
}

static void reserve_unpublished_is_not_found(struct kunit *test)
{
	struct rca_obj *obj = reserve(test, RCA_KIND_ID);

	KUNIT_EXPECT_EQ(test, -ENOENT, lookup_error(test->priv, obj->handle, RCA_KIND_ID));
	KUNIT_EXPECT_EQ(test, -ENOENT, claim_error(test->priv, obj->handle, RCA_KIND_ID));
	KUNIT_EXPECT_FALSE(test, rca_obj_claim(obj));

	rca_obj_unreserve(obj);
	rca_obj_put(obj);
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&released));
}

static void reserve_first_handle_is_one(struct kunit *test)
{
	struct rca_obj *obj = reserve(test, RCA_KIND_ID);

	KUNIT_EXPECT_EQ(test, 1U, obj->handle);

	rca_obj_unreserve(obj);
	rca_obj_put(obj);
}

static void reserve_after_free_takes_another_handle(struct kunit *test)
{
	struct rca_obj *first = publish(test, RCA_KIND_ID), *second;
	u32 handle = first->handle;

	KUNIT_EXPECT_EQ(test, 0, claim_error(test->priv, handle, RCA_KIND_ID));
	second = publish(test, RCA_KIND_ID);

	KUNIT_EXPECT_NE(test, handle, second->handle);
	KUNIT_EXPECT_EQ(test, -ENOENT, lookup_error(test->priv, handle, RCA_KIND_ID));

	claim(test, second);
}

static void reserve_after_the_last_handle_wraps(struct kunit *test)
{
	struct rca_ctx *ctx = test->priv;
	struct rca_obj *last, *first;

	ctx->next = INT_MAX;
	last = publish(test, RCA_KIND_ID);
	first = publish(test, RCA_KIND_ID);

	KUNIT_EXPECT_EQ(test, (u32)INT_MAX, last->handle);
	KUNIT_EXPECT_EQ(test, 1U, first->handle);
	KUNIT_EXPECT_EQ(test, 0, lookup_error(ctx, INT_MAX, RCA_KIND_ID));

	claim(test, last);
	claim(test, first);
}

static void lookup_published_takes_a_reference(struct kunit *test)
{
	struct rca_obj *obj = publish(test, RCA_KIND_MEMBER);
	struct rca_obj *found = rca_obj_lookup(test->priv, obj->handle, RCA_KIND_MEMBER);

	KUNIT_ASSERT_PTR_EQ(test, obj, found);
	KUNIT_EXPECT_EQ(test, 2U, refcount_read(&obj->ref));

	rca_obj_put(found);
	claim(test, obj);
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&released));
}

static void lookup_unknown_handle_is_enoent(struct kunit *test)
{
	static const u32 handles[] = { 0, 2, INT_MAX, (u32)INT_MAX + 1, U32_MAX };
	struct rca_obj *obj = publish(test, RCA_KIND_ID);
	int i;

	for (i = 0; i < ARRAY_SIZE(handles); i++) {
		KUNIT_EXPECT_EQ(test, -ENOENT, lookup_error(test->priv, handles[i], RCA_KIND_ID));
		KUNIT_EXPECT_EQ(test, -ENOENT, claim_error(test->priv, handles[i], RCA_KIND_ID));
	}

	claim(test, obj);
}

static void lookup_in_other_context_is_enoent(struct kunit *test)
{
	struct rca_obj *obj = publish(test, RCA_KIND_ID);
	struct rca_ctx *other = rca_ctx_create();

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, other);

	KUNIT_EXPECT_EQ(test, -ENOENT, lookup_error(other, obj->handle, RCA_KIND_ID));

	rca_ctx_put(other);
	claim(test, obj);
}

static void lookup_wrong_kind_is_einval(struct kunit *test)
{
	struct rca_obj *obj = publish(test, RCA_KIND_MEMBER);

	KUNIT_EXPECT_EQ(test, -EINVAL, lookup_error(test->priv, obj->handle, RCA_KIND_ID));
	KUNIT_EXPECT_EQ(test, 1U, refcount_read(&obj->ref));

	claim(test, obj);
}

static void lookup_dying_object_is_enoent(struct kunit *test)
{
	struct rca_obj *obj = publish(test, RCA_KIND_ID);

	refcount_set(&obj->ref, 0);

	KUNIT_EXPECT_EQ(test, -ENOENT, lookup_error(test->priv, obj->handle, RCA_KIND_ID));
	KUNIT_EXPECT_FALSE(test, rca_obj_tryget(obj));

	refcount_set(&obj->ref, 1);
	claim(test, obj);
}

static void take_wrong_kind_is_einval_and_leaves_it(struct kunit *test)
{
	struct rca_obj *obj = publish(test, RCA_KIND_ID);

	KUNIT_EXPECT_EQ(test, -EINVAL, claim_error(test->priv, obj->handle, RCA_KIND_MEMBER));

	KUNIT_EXPECT_EQ(test, 0, lookup_error(test->priv, obj->handle, RCA_KIND_ID));
	claim(test, obj);
}

static void take_twice_is_enoent(struct kunit *test)
{
	struct rca_obj *obj = publish(test, RCA_KIND_ID);
	u32 handle = obj->handle;

	KUNIT_EXPECT_EQ(test, 0, claim_error(test->priv, handle, RCA_KIND_ID));

	KUNIT_EXPECT_EQ(test, -ENOENT, claim_error(test->priv, handle, RCA_KIND_ID));
	KUNIT_EXPECT_EQ(test, -ENOENT, lookup_error(test->priv, handle, RCA_KIND_ID));
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&released));
}

static void untable_published_succeeds_once(struct kunit *test)
{
	struct rca_obj *obj = rca_obj_get(publish(test, RCA_KIND_ID));

	KUNIT_EXPECT_TRUE(test, rca_obj_claim(obj));
	rca_obj_put(obj); /* the reference of the table */
	KUNIT_EXPECT_FALSE(test, rca_obj_claim(obj));
	KUNIT_EXPECT_EQ(test, -ENOENT, lookup_error(test->priv, obj->handle, RCA_KIND_ID));

	rca_obj_put(obj);
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&released));
}

static void untable_leaves_another_object_of_the_handle(struct kunit *test)
{
	struct rca_ctx *ctx = test->priv;
	struct rca_obj *old = rca_obj_get(publish(test, RCA_KIND_ID)), *new;

	claim(test, old);
	ctx->next = old->handle;
	new = publish(test, RCA_KIND_ID);
	KUNIT_ASSERT_EQ(test, old->handle, new->handle);

	KUNIT_EXPECT_FALSE(test, rca_obj_claim(old));

	claim(test, new);
	rca_obj_put(old);
}

static void put_last_gives_the_context_back(struct kunit *test)
{
	struct rca_ctx *ctx = test->priv;
	struct rca_obj *obj = publish(test, RCA_KIND_ID);

	KUNIT_EXPECT_EQ(test, 2U, refcount_read(&ctx->ref));

	claim(test, obj);

	KUNIT_EXPECT_EQ(test, 1U, refcount_read(&ctx->ref));
}

static void next_walks_what_is_published_in_order(struct kunit *test)
{
	struct rca_obj *first = publish(test, RCA_KIND_ID);
	struct rca_obj *hidden = reserve(test, RCA_KIND_ID);
	struct rca_obj *second = publish(test, RCA_KIND_MEMBER);
	struct rca_obj *dying = publish(test, RCA_KIND_ID);
	struct rca_obj *third = publish(test, RCA_KIND_ID);
	struct rca_obj *fourth = publish(test, RCA_KIND_ID);
	struct rca_obj *want[] = { first, second, third, fourth, NULL };
	unsigned long pos = 0;
	int i;

	refcount_set(&dying->ref, 0);

	for (i = 0; i < ARRAY_SIZE(want); i++) {
		struct rca_obj *obj = rca_obj_next(test->priv, &pos);

		KUNIT_ASSERT_PTR_EQ(test, want[i], obj);
		if (!obj)
			continue;
		KUNIT_EXPECT_EQ(test, 2U, refcount_read(&obj->ref));
		rca_obj_put(obj);
		KUNIT_EXPECT_TRUE(test, rca_obj_claim(obj));
		rca_obj_put(obj);
	}

	refcount_set(&dying->ref, 1);
	claim(test, dying);
	rca_obj_unreserve(hidden);
	rca_obj_put(hidden);
}

static void next_reaches_the_last_handle(struct kunit *test)
{
	struct rca_ctx *ctx = test->priv;
	unsigned long pos = 0;
	struct rca_obj *obj;

	ctx->next = INT_MAX;
	publish(test, RCA_KIND_ID);

	obj = rca_obj_next(ctx, &pos);
	KUNIT_ASSERT_NOT_NULL(test, obj);
	KUNIT_EXPECT_NULL(test, rca_obj_next(ctx, &pos));

	claim(test, obj);
	rca_obj_put(obj);
}

struct take_race {
	struct rca_ctx *ctx;
	struct rca_obj *objs[ROUNDS];
	atomic_t winners[ROUNDS];
	atomic_t wrong;
};

static void take_race_once(struct take_race *race, struct rca_obj *want, unsigned int n,
			   atomic_t *winners)
{
	struct rca_obj *obj;

	switch (n % 3) {
	case 0:
		obj = rca_obj_claim_handle(race->ctx, want->handle, RCA_KIND_ID);
		break;
	case 1:
		obj = rca_obj_claim(want) ? want : ERR_PTR(-ENOENT);
		break;
	default:
		if (lookup_error(race->ctx, want->handle, RCA_KIND_ID) == -EINVAL)
			atomic_inc(&race->wrong);
		return;
	}
	if (obj == want) {
		atomic_inc(winners);
		rca_obj_put(obj); /* the reference of the table */
	} else if (obj != ERR_PTR(-ENOENT)) {
		atomic_inc(&race->wrong);
	}
}

/* All threads claim the same objects, each starting at another one. */
static void take_race_run(void *arg, unsigned int n)
{
	struct take_race *race = arg;
	unsigned int i, at;

	for (i = 0; i < ROUNDS; i++) {
		at = (i + n) % ROUNDS;
		take_race_once(race, race->objs[at], n, &race->winners[at]);
		if (i % 16 == 0)
			cond_resched();
	}
}

static void take_by_many_has_one_winner(struct kunit *test)
{
	struct take_race *race = kunit_kzalloc(test, sizeof(*race), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, race);
	race->ctx = test->priv;
	for (i = 0; i < ROUNDS; i++)
		race->objs[i] = rca_obj_get(publish(test, RCA_KIND_ID));

	rca_race(test, 6, take_race_run, race);

	for (i = 0; i < ROUNDS; i++) {
		KUNIT_EXPECT_EQ(test, 1, atomic_read(&race->winners[i]));
		KUNIT_EXPECT_EQ(test, 1U, refcount_read(&race->objs[i]->ref));
		rca_obj_put(race->objs[i]);
	}
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&race->wrong));
	KUNIT_EXPECT_EQ(test, ROUNDS, atomic_read(&released));
}

struct life_race {
	struct rca_ctx *ctx;
	atomic_t failed;
};

static bool life_of_one(struct rca_ctx *ctx, int round)
{
	struct widget *widget = kzalloc(sizeof(*widget), GFP_KERNEL);
	u32 handle;

	if (!widget || rca_obj_reserve(&widget->obj, ctx, &types[RCA_KIND_ID], GFP_KERNEL)) {
		kfree(widget);
		return false;
	}
	handle = widget->obj.handle;
	if (round % 4 == 0) {
		rca_obj_unreserve(&widget->obj);
		rca_obj_put(&widget->obj);
		return true;
	}
	rca_obj_publish(&widget->obj);
	return !claim_error(ctx, handle, RCA_KIND_ID);
}

/* The first thread iterates over the objects that the others publish and claim. */
static void life_race_run(void *arg, unsigned int n)
{
	struct life_race *race = arg;
	int round;

	if (n) {
		for (round = 0; round < ROUNDS; round++)
			if (!life_of_one(race->ctx, round))
				atomic_inc(&race->failed);
		return;
	}
	for (round = 0; round < ROUNDS; round++) {
		unsigned long pos = 0;
		struct rca_obj *obj;

		while ((obj = rca_obj_next(race->ctx, &pos)))
			rca_obj_put(obj);
		cond_resched();
	}
}

static void reserve_publish_take_by_many_leaves_nothing(struct kunit *test)
{
	struct life_race race = { .ctx = test->priv };

	rca_race(test, 4, life_race_run, &race);

	KUNIT_EXPECT_EQ(test, 0, atomic_read(&race.failed));
	KUNIT_EXPECT_EQ(test, 3 * ROUNDS, atomic_read(&released));
}

static void contexts_come_in_their_order(struct kunit *test)
{
	struct rca_ctx *one = test->priv, *two = rca_ctx_create(), *gone = rca_ctx_create();
	struct rca_ctx *three = rca_ctx_create(), *seen;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, two);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, gone);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, three);
	rca_ctx_put(gone);
	seen = rca_ctx_next(NULL, one->serial - 1);
	KUNIT_EXPECT_PTR_EQ(test, one, seen);
	seen = rca_ctx_next(seen, 0);
	KUNIT_EXPECT_PTR_EQ(test, two, seen);
	seen = rca_ctx_next(seen, 0);
	KUNIT_EXPECT_PTR_EQ(test, three, seen);
	KUNIT_EXPECT_NULL(test, rca_ctx_next(seen, 0));
	KUNIT_EXPECT_EQ(test, 1U, refcount_read(&one->ref));
	KUNIT_EXPECT_EQ(test, 1U, refcount_read(&three->ref));
	rca_ctx_put(three);
	rca_ctx_put(two);
	KUNIT_EXPECT_NULL(test, rca_ctx_next(NULL, one->serial));
}

static int find_error(u32 handle, enum rca_kind kind)
{
	struct rca_obj *obj = rca_obj_find(handle, kind);

	if (IS_ERR(obj))
		return PTR_ERR(obj);
	rca_obj_put(obj);
	return 0;
}

/* Contexts whose handles differ: each object is found in its context, and by its handle alone. */
static void shared_handles_differ_and_are_found(struct kunit *test)
{
	struct rca_ctx *one = test->priv, *two = rca_ctx_create();
	struct rca_obj *here, *hidden, *there;
	u32 gone;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, two);
	KUNIT_EXPECT_EQ(test, -ENOENT, find_error(0, RCA_KIND_ID));
	one->shared = true;
	two->shared = true;
	here = publish(test, RCA_KIND_ID);
	hidden = reserve(test, RCA_KIND_ID);
	test->priv = two;
	there = publish(test, RCA_KIND_MEMBER);
	KUNIT_EXPECT_NE(test, here->handle, there->handle);
	KUNIT_EXPECT_NE(test, hidden->handle, there->handle);

	KUNIT_EXPECT_EQ(test, 0, find_error(here->handle, RCA_KIND_ID));
	KUNIT_EXPECT_EQ(test, 0, lookup_error(one, here->handle, RCA_KIND_ID));
	KUNIT_EXPECT_EQ(test, -ENOENT, lookup_error(two, here->handle, RCA_KIND_ID));
	KUNIT_EXPECT_EQ(test, -EINVAL, find_error(there->handle, RCA_KIND_ID));
	KUNIT_EXPECT_EQ(test, 0, find_error(there->handle, RCA_KIND_MEMBER));
	KUNIT_EXPECT_EQ(test, -ENOENT, find_error(hidden->handle, RCA_KIND_ID));

	gone = there->handle;
	claim(test, there);
	KUNIT_EXPECT_EQ(test, -ENOENT, find_error(gone, RCA_KIND_MEMBER));
	rca_obj_unreserve(hidden);
	rca_obj_put(hidden);
	test->priv = one;
	claim(test, here);
	rca_ctx_put(two);
}

/* Handles of other contexts are their own. */
static void unshared_handles_are_not_found(struct kunit *test)
{
	struct rca_obj *obj = publish(test, RCA_KIND_ID);

	KUNIT_EXPECT_EQ(test, -ENOENT, find_error(obj->handle, RCA_KIND_ID));
	claim(test, obj);
}

static void objects_suite_exit(struct kunit_suite *suite)
{
	/* Wait until the last objects are freed, so that leaks are found. */
	rcu_barrier();
}

static struct kunit_case objects_cases[] = {
	KUNIT_CASE(reserve_unpublished_is_not_found),
	KUNIT_CASE(reserve_first_handle_is_one),
	KUNIT_CASE(reserve_after_free_takes_another_handle),
	KUNIT_CASE(reserve_after_the_last_handle_wraps),
	KUNIT_CASE(lookup_published_takes_a_reference),
	KUNIT_CASE(lookup_unknown_handle_is_enoent),
	KUNIT_CASE(lookup_in_other_context_is_enoent),
	KUNIT_CASE(lookup_wrong_kind_is_einval),
	KUNIT_CASE(lookup_dying_object_is_enoent),
	KUNIT_CASE(take_wrong_kind_is_einval_and_leaves_it),
	KUNIT_CASE(take_twice_is_enoent),
	KUNIT_CASE(untable_published_succeeds_once),
	KUNIT_CASE(untable_leaves_another_object_of_the_handle),
	KUNIT_CASE(put_last_gives_the_context_back),
	KUNIT_CASE(next_walks_what_is_published_in_order),
	KUNIT_CASE(next_reaches_the_last_handle),
	KUNIT_CASE(take_by_many_has_one_winner),
	KUNIT_CASE(reserve_publish_take_by_many_leaves_nothing),
	KUNIT_CASE(contexts_come_in_their_order),
	KUNIT_CASE(shared_handles_differ_and_are_found),
	KUNIT_CASE(unshared_handles_are_not_found),
	{}
};

static struct kunit_suite objects_suite = {
	.name = "rdma_cm_alt_objects",
	.init = objects_init,
	.exit = objects_exit,
	.suite_exit = objects_suite_exit,
	.test_cases = objects_cases,
};

kunit_test_suite(objects_suite);
