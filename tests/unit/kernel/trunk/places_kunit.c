// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of kernel/trunk/keepalive.c: how many trunks may have a link, and whose link ends for
 * another one. The trunks are not in the table, and their work only counts its runs.
 *
 * Locking: rca_trunk.lock.
 */
#include <kunit/test.h>
#include <linux/jiffies.h>

#include "lib/testing.h"
#include "trunk/trunk.h"

#define COUNT	4
#define PLACES	2

/**
 * struct place - a trunk
 * @trunk: the trunk
 * @link: its link
 * @runs: how often its work has run
 */
struct place {
	struct rca_trunk trunk;
	struct rca_trunk_link link;
	unsigned int runs;
};

/* Trunks of the running test. The first PLACES have a place. */
static struct place *places;

/* The link of a trunk was idle for so long at the time @now, in jiffies; 0: it is in use. */
static void set_idle(unsigned int number, unsigned long now, unsigned long idle)
{
	places[number].link.ready = idle;
	places[number].link.used_at = now - idle;
}

static void work(struct work_struct *work)
{
	struct rca_trunk *trunk = container_of(to_delayed_work(work), struct rca_trunk, work);

	container_of(trunk, struct place, trunk)->runs++;
	rca_trunk_put(trunk);	/* got in rca_trunk_run() */
}

static enum rca_place take(unsigned int number)
{
	return rca_link_take_place(&places[number].trunk);
}

static void leave(unsigned int number)
{
	rca_link_leave_place(&places[number].trunk);
}

static bool ends(unsigned int number)
{
	return test_bit(RCA_LINK_END, &places[number].link.news);
}

static unsigned int runs(unsigned int number)
{
	flush_delayed_work(&places[number].trunk.work);
	return places[number].runs;
}

static int places_init(struct kunit *test)
{
	unsigned int i;

	places = kunit_kcalloc(test, COUNT, sizeof(*places), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, places);
	for (i = 0; i < COUNT; i++) {
		struct rca_trunk *trunk = &places[i].trunk;

		refcount_set(&trunk->ref, 1);
		spin_lock_init(&trunk->lock);
		INIT_LIST_HEAD(&trunk->place);
		INIT_DELAYED_WORK(&trunk->work, work);
		trunk->link = &places[i].link;
		trunk->up = true;
		places[i].link.trunk = trunk;
	}
	rca_trunk_max = PLACES;
	for (i = 0; i < PLACES; i++)
		KUNIT_EXPECT_EQ(test, take(i), RCA_PLACE_TAKEN);
	return 0;
}

static void places_exit(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < COUNT; i++)
		leave(i);
	for (i = 0; i < COUNT; i++)
		flush_delayed_work(&places[i].trunk.work);
	rca_trunk_max = 512;
}

/* A link that was idle for less than a second stays. */
static void there_are_so_many(struct kunit *test)
{
	unsigned long now;
	enum rca_place had;

	KUNIT_EXPECT_EQ(test, take(0), RCA_PLACE_TAKEN);
	/* Again if a second was over meanwhile. */
	do {
		leave(2);
		clear_bit(RCA_LINK_END, &places[0].link.news);
		now = jiffies;
		set_idle(0, now, HZ - 1);
		had = take(2);
	} while (time_after(jiffies, now));
	KUNIT_EXPECT_EQ(test, had, RCA_PLACE_NONE);
	KUNIT_EXPECT_FALSE(test, ends(0));
	leave(0);
	KUNIT_EXPECT_EQ(test, take(2), RCA_PLACE_TAKEN);
	KUNIT_EXPECT_EQ(test, take(0), RCA_PLACE_NONE);
}

static void oldest_ends(struct kunit *test)
{
	set_idle(0, jiffies, HZ);
	set_idle(1, jiffies, 2 * HZ);
	KUNIT_EXPECT_EQ(test, take(2), RCA_PLACE_WAITS);
	KUNIT_EXPECT_EQ(test, take(2), RCA_PLACE_WAITS);
	KUNIT_EXPECT_FALSE(test, ends(0));
	KUNIT_EXPECT_TRUE(test, ends(1));
	KUNIT_EXPECT_EQ(test, runs(1), 1U);
	KUNIT_EXPECT_EQ(test, runs(2), 0U);
	leave(1);
	KUNIT_EXPECT_EQ(test, runs(2), 1U);
	KUNIT_EXPECT_EQ(test, take(2), RCA_PLACE_TAKEN);
}

/* A link that ends for another reason is enough, but for one trunk. */
static void place_of_a_link_that_ends(struct kunit *test)
{
	set_bit(RCA_LINK_LOST, &places[1].link.news);
	set_idle(0, jiffies, HZ);
	KUNIT_EXPECT_EQ(test, take(2), RCA_PLACE_WAITS);
	KUNIT_EXPECT_FALSE(test, ends(0));
	KUNIT_EXPECT_EQ(test, take(3), RCA_PLACE_WAITS);
	KUNIT_EXPECT_TRUE(test, ends(0));
	leave(1);
	KUNIT_EXPECT_EQ(test, runs(2), 1U);
	KUNIT_EXPECT_EQ(test, runs(3), 0U);
	leave(0);
	KUNIT_EXPECT_EQ(test, runs(3), 1U);
}

/* If a trunk gives up while it waits, the place of the link that ends goes to the next one. */
static void waiting_ends(struct kunit *test)
{
	set_idle(0, jiffies, HZ);
	KUNIT_EXPECT_EQ(test, take(2), RCA_PLACE_WAITS);
	leave(2);
	set_idle(0, jiffies, 0);
	KUNIT_EXPECT_EQ(test, take(3), RCA_PLACE_WAITS);
	leave(0);
	KUNIT_EXPECT_EQ(test, runs(2), 0U);
	KUNIT_EXPECT_EQ(test, runs(3), 1U);
	leave(1);
	KUNIT_EXPECT_EQ(test, take(2), RCA_PLACE_TAKEN);
}

/* A link without connections that is not open yet ends for a trunk with connections alone. */
static void used_before_unused(struct kunit *test)
{
	places[0].trunk.up = false;
	KUNIT_EXPECT_EQ(test, take(2), RCA_PLACE_NONE);
	KUNIT_EXPECT_FALSE(test, ends(0));
	places[2].trunk.users = 1;
	places[0].trunk.users = 1;
	KUNIT_EXPECT_EQ(test, take(2), RCA_PLACE_NONE);
	places[0].trunk.users = 0;
	set_idle(1, jiffies, 2 * HZ);
	KUNIT_EXPECT_EQ(test, take(2), RCA_PLACE_WAITS);
	KUNIT_EXPECT_TRUE(test, ends(0));
	KUNIT_EXPECT_FALSE(test, places[0].link.idle);
	KUNIT_EXPECT_FALSE(test, ends(1));
	leave(0);
	KUNIT_EXPECT_EQ(test, take(2), RCA_PLACE_TAKEN);
}

/* Of the trunks that wait, one with connections gets the first place. */
static void used_do_not_wait_for_unused(struct kunit *test)
{
	set_idle(0, jiffies, 2 * HZ);
	set_idle(1, jiffies, 2 * HZ);
	places[3].trunk.users = 1;
	KUNIT_EXPECT_EQ(test, take(2), RCA_PLACE_WAITS);
	KUNIT_EXPECT_EQ(test, take(3), RCA_PLACE_WAITS);
	leave(0);
	KUNIT_EXPECT_EQ(test, runs(2), 0U);
	KUNIT_EXPECT_EQ(test, runs(3), 1U);
	leave(1);
	KUNIT_EXPECT_EQ(test, runs(2), 1U);
}

/* Links end one at a time, until there are few enough. */
static void fewer(struct kunit *test)
{
	rca_trunk_max = 1;
	set_idle(0, jiffies, HZ);
	KUNIT_EXPECT_EQ(test, take(2), RCA_PLACE_NONE);
	KUNIT_EXPECT_TRUE(test, ends(0));
	leave(0);
	KUNIT_EXPECT_EQ(test, take(2), RCA_PLACE_NONE);
	set_idle(1, jiffies, HZ);
	KUNIT_EXPECT_EQ(test, take(2), RCA_PLACE_WAITS);
}

static struct kunit_case places_cases[] = {
	KUNIT_CASE(there_are_so_many),
	KUNIT_CASE(oldest_ends),
	KUNIT_CASE(place_of_a_link_that_ends),
	KUNIT_CASE(waiting_ends),
	KUNIT_CASE(used_before_unused),
	KUNIT_CASE(used_do_not_wait_for_unused),
	KUNIT_CASE(fewer),
	{}
};

static struct kunit_suite places_suite = {
	.name = "rdma_cm_alt_trunk_places",
	.init = places_init,
	.exit = places_exit,
	.test_cases = places_cases,
};

kunit_test_suite(places_suite);
