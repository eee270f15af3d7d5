// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of tables indexed by file descriptor. */
#include <limits.h>
#include <pthread.h>

#include "fake/fixture.h"
#include "base/fdtable.h"

enum { FAR = 5 * RCL_FDTABLE_CHUNK + 3, THREADS = 4, CHUNKS = 200 };

TEST(empty_table_has_the_first_chunk)
{
	static struct rcl_fdtable table;

	assert_null(rcl_fdtable_find(&table, RCL_FDTABLE_CHUNK));
	assert_null(rcl_fdtable_find(&table, FAR));
	assert_int_equal(rcl_fdtable_next(&table, RCL_FDTABLE_CHUNK), -1);
}

TEST(slot_is_made_once_and_found)
{
	static struct rcl_fdtable table;
	struct rcl_fdslot *slot = rcl_fdtable_make(&table, FAR);

	assert_non_null(slot);
	assert_null(atomic_load(&slot->object));
	assert_int_equal(atomic_load(&slot->users), 0);
	atomic_store(&slot->object, &table);
	assert_ptr_equal(rcl_fdtable_find(&table, FAR), slot);
	assert_ptr_equal(rcl_fdtable_make(&table, FAR), slot);
	assert_ptr_equal(atomic_load(&slot->object), &table);
	assert_ptr_equal(rcl_fdtable_find(&table, FAR + 1), slot + 1);
	assert_null(atomic_load(&slot[1].object));
	assert_null(rcl_fdtable_find(&table, RCL_FDTABLE_CHUNK));
}

TEST(numbers_out_of_range_have_no_slot)
{
	static const int wrong[] = { -1, INT_MIN, RCL_FDTABLE_MAX, INT_MAX };
	static struct rcl_fdtable table;

	assert_non_null(rcl_fdtable_make(&table, 0));
	assert_non_null(rcl_fdtable_make(&table, RCL_FDTABLE_MAX - 1));
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_null(rcl_fdtable_make(&table, wrong[i]));
		assert_null(rcl_fdtable_find(&table, wrong[i]));
	}
	assert_int_equal(rcl_fdtable_next(&table, RCL_FDTABLE_MAX - 1), RCL_FDTABLE_MAX - 1);
	assert_int_equal(rcl_fdtable_next(&table, RCL_FDTABLE_MAX), -1);
	assert_int_equal(rcl_fdtable_next(&table, UINT_MAX), -1);
}

TEST(next_visits_the_slots_of_each_chunk)
{
	static struct rcl_fdtable table;
	unsigned int count = 0;

	rcl_fdtable_make(&table, FAR);
	assert_int_equal(rcl_fdtable_next(&table, RCL_FDTABLE_CHUNK), 5 * RCL_FDTABLE_CHUNK);
	assert_int_equal(rcl_fdtable_next(&table, FAR), FAR);
	assert_int_equal(rcl_fdtable_next(&table, 6 * RCL_FDTABLE_CHUNK), -1);
	rcl_fdtable_make(&table, 0);
	for (int fd = -1; (fd = rcl_fdtable_next(&table, fd + 1)) >= 0; count++)
		assert_non_null(rcl_fdtable_find(&table, fd));
	assert_int_equal(count, 2 * RCL_FDTABLE_CHUNK);
}

static struct rcl_fdtable shared;
static int objects[THREADS];

/* Each thread has a descriptor of its own in each chunk, and looks up those of the others. */
static void *fill(void *arg)
{
	int *own = arg, number = own - objects;

	for (int chunk = 0; chunk < CHUNKS; chunk++) {
		int first = chunk * RCL_FDTABLE_CHUNK;
		struct rcl_fdslot *slot = rcl_fdtable_make(&shared, first + number);

		atomic_store(&slot->object, own);
		for (int i = 0; i < THREADS; i++) {
			int *other = atomic_load(&rcl_fdtable_find(&shared, first + i)->object);

			if (other && other != &objects[i])
				return own;
		}
	}
	return NULL;
}

TEST(threads_that_make_a_chunk_share_it)
{
	pthread_t threads[THREADS];
	void *wrong;

	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, fill, &objects[i]), 0);
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], &wrong), 0);
		assert_null(wrong);
	}
	for (int chunk = 0; chunk < CHUNKS; chunk++) {
		struct rcl_fdslot *slot = rcl_fdtable_find(&shared, chunk * RCL_FDTABLE_CHUNK);

		for (int i = 0; i < THREADS; i++)
			assert_ptr_equal(atomic_load(&slot[i].object), &objects[i]);
	}
}

RUN
