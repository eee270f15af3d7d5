// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of the table of live objects. */
#include "fake/fixture.h"
#include "base/table.h"

static void get_after_kill_finds_nothing(void **state)
{
	int object;
	uint64_t cookie = rcl_table_add(RCL_KIND_ID, &object);

	(void)state;
	assert_true(cookie != 0);
	assert_ptr_equal(rcl_table_get(RCL_KIND_ID, cookie), &object);
	assert_false(rcl_table_put(cookie));
	assert_true(rcl_table_kill(cookie));
	assert_null(rcl_table_get(RCL_KIND_ID, cookie));
	assert_false(rcl_table_kill(cookie));
}

static void kill_with_reference_outstanding_leaves_last_put_to_holder(void **state)
{
	int object;
	uint64_t cookie = rcl_table_add(RCL_KIND_ID, &object);

	(void)state;
	rcl_table_get(RCL_KIND_ID, cookie);
	assert_false(rcl_table_kill(cookie));
	assert_null(rcl_table_get(RCL_KIND_ID, cookie));
	assert_true(rcl_table_put(cookie));
}

static void slot_used_again_has_another_cookie(void **state)
{
	int a, b;
	uint64_t first = rcl_table_add(RCL_KIND_ID, &a), second;

	(void)state;
	rcl_table_kill(first);
	second = rcl_table_add(RCL_KIND_ID, &b);
	assert_true(first != second);
	assert_null(rcl_table_get(RCL_KIND_ID, first));
	assert_ptr_equal(rcl_table_get(RCL_KIND_ID, second), &b);
	rcl_table_put(second);
	rcl_table_kill(second);
}

static void wild_cookies_find_nothing(void **state)
{
	(void)state;
	assert_null(rcl_table_get(RCL_KIND_ID, 0));
	assert_null(rcl_table_get(RCL_KIND_ID, UINT64_MAX));
	assert_null(rcl_table_get(RCL_KIND_ID, 1ULL << 32 | 0xfffff));
	assert_false(rcl_table_put(0));
	assert_false(rcl_table_kill(UINT64_MAX));
}

static void many_objects_are_all_found(void **state)
{
	static uint64_t cookies[5000];
	static int objects[5000];
	int i;

	(void)state;
	for (i = 0; i < 5000; i++)
		cookies[i] = rcl_table_add(RCL_KIND_ID, &objects[i]);
	for (i = 0; i < 5000; i++) {
		assert_ptr_equal(rcl_table_get(RCL_KIND_ID, cookies[i]), &objects[i]);
		rcl_table_put(cookies[i]);
		assert_true(rcl_table_kill(cookies[i]));
	}
}

static const struct CMUnitTest tests[] = {
	TEST(get_after_kill_finds_nothing),
	TEST(kill_with_reference_outstanding_leaves_last_put_to_holder),
	TEST(slot_used_again_has_another_cookie),
	TEST(wild_cookies_find_nothing),
	TEST(many_objects_are_all_found),
};

RUN(tests)
