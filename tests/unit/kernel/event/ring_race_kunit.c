// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Races of kernel/event/queue.c: several threads post, take, read and move at a time, with
 * a user space that reports its head correctly, and with one that does not.
 *
 * Locking: as events.h says.
 */
#include <kunit/test.h>
#include <linux/random.h>

#include "event/queue.h"
#include "event/ring_fixture.h"
#include "fake/race.h"

#define ROUNDS 2000

/* One thread posts, one takes, one reads and polls, one moves an id back and forth. */
struct ring_race {
	struct events_test *t;
	struct ring_user user;
	struct mutex lock; /* who takes records, and who makes the kernel take some back */
	struct event_node *nodes[2];
	atomic_t posters;
	atomic_t delivered;
	atomic_t failed;
	bool lies;
};

static void race_post(struct ring_race *race)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		struct event_node *node = race->nodes[i % 2];
		struct rca_event *ev = rca_event_alloc(node->obj.ctx, GFP_KERNEL);

		if (IS_ERR(ev)) {
			atomic_inc(&race->failed);
			break;
		}
		ev->rec.type = USER;
		post_event(node, ev);
		cond_resched();
	}
	atomic_dec(&race->posters);
}

/* An event that moves after it was copied is not delivered: the next reader finds it. */
static bool race_read(struct ring_race *race, struct rca_queue *queue)
{
	struct rca_delivery dlv;
	bool found;

	mutex_lock(&queue->reading);
	found = rca_queue_peek(queue, &dlv);
	if (found && rca_queue_consume(queue, &dlv))
		atomic_inc(&race->delivered);
	mutex_unlock(&queue->reading);
	return found;
}

static bool race_take(struct ring_race *race)
{
	int type;

	mutex_lock(&race->lock);
	type = take(&race->user);
	mutex_unlock(&race->lock);
	if (type >= 0)
		atomic_inc(&race->delivered);
	return type >= 0;
}

/* The head has an arbitrary value at any time. */
static void race_lie(struct ring_race *race)
{
	while (atomic_read(&race->posters)) {
		store_head(race->user.ring, get_random_u32() & (get_random_u32() % 2 ? ~0U : 15));
		cond_resched();
	}
}

static void race_run(void *arg, unsigned int n)
{
	struct ring_race *race = arg;
	struct events_test *t = race->t;
	int i;

	switch (n) {
	case 0:
		race_post(race);
		break;
	case 1:
		if (race->lies) {
			race_lie(race);
			break;
		}
		while (race_take(race) || atomic_read(&race->posters))
			cond_resched();
		break;
	case 2:
		while (race_read(race, t->a) || race_read(race, t->b) ||
		       atomic_read(&race->posters)) {
			rca_queue_fill(t->a);
			cond_resched();
		}
		break;
	default:
		for (i = 0; atomic_read(&race->posters); i++) {
			mutex_lock(&race->lock);
			if (rca_source_move(&race->nodes[1]->src, i % 2 ? t->a : t->b, NULL, NULL))
				atomic_inc(&race->failed);
			mutex_unlock(&race->lock);
			cond_resched();
		}
	}
}

static struct ring_race *new_race(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct ring_race *race = kunit_kzalloc(test, sizeof(*race), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, race);
	race->t = t;
	race->user = map_ring(test, t->a);
	race->nodes[0] = new_node(test, t->a);
	race->nodes[1] = new_node(test, t->a);
	mutex_init(&race->lock);
	atomic_set(&race->posters, 1);
	return race;
}

static void ring_loses_nothing_when_many_work_on_it(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct ring_race *race = new_race(test);

	rca_race(test, 4, race_run, race);

	while (race_take(race) || race_read(race, t->a) || race_read(race, t->b))
		;
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&race->failed));
	KUNIT_EXPECT_EQ(test, ROUNDS, atomic_read(&race->delivered));
	KUNIT_EXPECT_FALSE(test, rca_queue_ready(t->a));
	KUNIT_EXPECT_EQ(test, (u32)ROUNDS,
			race->nodes[0]->src.reported + race->nodes[1]->src.reported);
}

/* Each event is delivered or pending, whatever user space reports of it. */
static void head_that_lies_harms_nothing_but_its_events(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct ring_race *race = new_race(test);
	struct rca_ring *ring = race->user.ring;
	u32 reported;

	race->lies = true;
	rca_race(test, 4, race_run, race);

	KUNIT_EXPECT_EQ(test, 0, atomic_read(&race->failed));
	KUNIT_EXPECT_LE(test, ring->tail - ring->head, (u32)ENTRIES);
	KUNIT_EXPECT_LE(test, ring->unread, ring->tail - ring->head);
	rca_queue_ring_close(t->a);
	while (race_read(race, t->a) || race_read(race, t->b))
		;
	reported = race->nodes[0]->src.reported + race->nodes[1]->src.reported;
	KUNIT_EXPECT_EQ(test, (u32)ROUNDS, reported);
	KUNIT_EXPECT_LE(test, (u32)atomic_read(&race->delivered), reported);
}

/*
 * User space takes each record at once, as another thread may do all the time: poll() and read(),
 * which fill the ring, end nevertheless.
 */
static void filling_ends_while_records_are_taken(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *node = new_node(test, t->a);
	u32 i, entries = 64, most = entries * 16;

	for (i = 0; i < 2 * most; i++)
		post(test, node, USER);
	t->a->ring = rca_ring_alloc(&t->ctx->account, entries, t->a->record_size);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, t->a->ring);
	map_ring(test, t->a);
	t->a->ring_entries = entries;
	store_head(t->a->ring, INT_MAX);
	rca_queue_fill(t->a);
	KUNIT_EXPECT_GE(test, node->src.reported, entries);
	KUNIT_EXPECT_LE(test, node->src.reported, most);
	KUNIT_EXPECT_TRUE(test, rca_queue_ready(t->a));
}

static struct kunit_case cases[] = {
	KUNIT_CASE(filling_ends_while_records_are_taken),
	KUNIT_CASE(ring_loses_nothing_when_many_work_on_it),
	KUNIT_CASE(head_that_lies_harms_nothing_but_its_events),
	{}
};

static struct kunit_suite ring_race_suite = {
	.name = "rdma_cm_alt_ring_race",
	.init = events_init,
	.exit = events_exit,
	.test_cases = cases,
};

kunit_test_suite(ring_race_suite);
