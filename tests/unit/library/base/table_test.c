// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of the table of live objects. */
#include <pthread.h>
#include <stdatomic.h>

#include "fake/fixture.h"
#include "base/table.h"

TEST(get_after_kill_finds_nothing)
{
	int object;
	uint64_t cookie = rcl_table_add(RCL_KIND_ID, &object);

	assert_true(cookie != 0);
	assert_ptr_equal(rcl_table_get(RCL_KIND_ID, cookie), &object);
	assert_false(rcl_table_put(cookie));
	assert_true(rcl_table_kill(cookie));
	assert_null(rcl_table_get(RCL_KIND_ID, cookie));
	assert_false(rcl_table_kill(cookie));
}

TEST(kill_with_reference_outstanding_leaves_last_put_to_holder)
{
	int object;
	uint64_t cookie = rcl_table_add(RCL_KIND_ID, &object);

	rcl_table_get(RCL_KIND_ID, cookie);
	assert_false(rcl_table_kill(cookie));
	assert_null(rcl_table_get(RCL_KIND_ID, cookie));
	assert_true(rcl_table_put(cookie));
}

TEST(slot_used_again_has_another_cookie)
{
	int a, b;
	uint64_t first = rcl_table_add(RCL_KIND_ID, &a), second;

	rcl_table_kill(first);
	second = rcl_table_add(RCL_KIND_ID, &b);
	assert_true(first != second);
	assert_null(rcl_table_get(RCL_KIND_ID, first));
	assert_ptr_equal(rcl_table_get(RCL_KIND_ID, second), &b);
	rcl_table_put(second);
	rcl_table_kill(second);
}

TEST(wild_cookies_find_nothing)
{
	assert_null(rcl_table_get(RCL_KIND_ID, 0));
	assert_null(rcl_table_get(RCL_KIND_ID, UINT64_MAX));
	assert_null(rcl_table_get(RCL_KIND_ID, 1ULL << 32 | 0xfffff));
	assert_false(rcl_table_put(0));
	assert_false(rcl_table_kill(UINT64_MAX));
}

TEST(many_objects_are_all_found)
{
	static uint64_t cookies[5000];
	static int objects[5000];
	int i;

	for (i = 0; i < 5000; i++)
		cookies[i] = rcl_table_add(RCL_KIND_ID, &objects[i]);
	for (i = 0; i < 5000; i++) {
		assert_ptr_equal(rcl_table_get(RCL_KIND_ID, cookies[i]), &objects[i]);
		rcl_table_put(cookies[i]);
		assert_true(rcl_table_kill(cookies[i]));
	}
}

#define USERS 3
#define LAPS 20000

static _Atomic uint64_t current;
static atomic_int ends;

/* Each object says how often its last reference was dropped. */
static void *use_table(void *arg)
{
	atomic_int *object;
	uint64_t cookie;

	(void)arg;
	while ((cookie = atomic_load(&current)) != UINT64_MAX) {
		object = rcl_table_get(RCL_KIND_ID, cookie);
		if (!object)
			continue;
		assert_int_equal(atomic_load(object), 0);
		if (rcl_table_put(cookie)) {
			atomic_fetch_add(object, 1);
			atomic_fetch_add(&ends, 1);
		}
	}
	return NULL;
}

TEST(object_ends_once_however_many_threads_use_it)
{
	static atomic_int objects[LAPS];
	pthread_t users[USERS];
	uint64_t cookie;
	int i;

	for (i = 0; i < USERS; i++)
		pthread_create(&users[i], NULL, use_table, NULL);
	for (i = 0; i < LAPS; i++) {
		cookie = rcl_table_add(RCL_KIND_ID, &objects[i]);
		atomic_store(&current, cookie);
		if (i % 16 == 0)
			sched_yield();
		if (rcl_table_kill(cookie)) {
			atomic_fetch_add(&objects[i], 1);
			atomic_fetch_add(&ends, 1);
		}
	}
	atomic_store(&current, UINT64_MAX);
	for (i = 0; i < USERS; i++)
		pthread_join(users[i], NULL);
	assert_int_equal(atomic_load(&ends), LAPS);
	for (i = 0; i < LAPS; i++)
		assert_int_equal(atomic_load(&objects[i]), 1);
}

static void count_object(void *object, void *arg)
{
	(void)object;
	++*(int *)arg;
}

TEST(each_finds_objects_of_its_type_until_their_last_reference)
{
	int a, b, count = 0, before = 0;
	uint64_t id, member;

	rcl_table_each(RCL_KIND_ID, count_object, &before);
	id = rcl_table_add(RCL_KIND_ID, &a);
	member = rcl_table_add(RCL_KIND_MEMBER, &b);
	rcl_table_get(RCL_KIND_ID, id);
	assert_false(rcl_table_kill(id));
	rcl_table_each(RCL_KIND_ID, count_object, &count);
	assert_int_equal(count, before + 1);
	assert_true(rcl_table_put(id));
	assert_true(rcl_table_kill(member));
	count = 0;
	rcl_table_each(RCL_KIND_ID, count_object, &count);
	assert_int_equal(count, before);
}

RUN
