// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of kernel/event/source.c: attach, move, detach; no event is lost or delivered twice. */
#include <kunit/test.h>
#include <linux/atomic.h>
#include <linux/errno.h>
#include <linux/sched.h>

#include "event/queue.h"
#include "event/events_fixture.h"
#include "fake/race.h"

#define ROUNDS 500

static void consume_request_after_move_attaches_to_the_new_queue(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *node = new_node(test, t->a);
	struct event_node *child = post_request(test, node);

	KUNIT_EXPECT_EQ(test, 0, rca_source_move(&node->src, t->b, NULL, NULL));

	expect_request(test, t->b, node, child);
	KUNIT_EXPECT_PTR_EQ(test, t->b, child->src.queue);
}

static void detach_hands_requests_to_the_caller(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *node = new_node(test, t->a);
	struct event_node *first = post_request(test, node), *second;
	struct rca_event *ev;
	LIST_HEAD(requests);

	post(test, node, USER);
	second = post_request(test, node);

	KUNIT_EXPECT_EQ(test, 0U, rca_source_detach(&node->src, &requests));

	KUNIT_EXPECT_EQ(test, 2U, refcount_read(&node->obj.ref));
	ev = list_first_entry_or_null(&requests, struct rca_event, item.qnode);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, ev);
	KUNIT_EXPECT_PTR_EQ(test, &first->obj, ev->child);
	ev = list_last_entry(&requests, struct rca_event, item.qnode);
	KUNIT_EXPECT_PTR_EQ(test, &second->obj, ev->child);
	KUNIT_EXPECT_FALSE(test, is_published(test, first));

	drop_requests(&requests);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&t->credit));
	KUNIT_EXPECT_EQ(test, 1U, refcount_read(&first->obj.ref));
	expect_none(test, t->a);
}

static void move_keeps_the_order_of_notices(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *node = new_node(test, t->a);

	notice(node, CHANGE, 0);
	notice(node, REMOVAL, 0);
	post(test, node, USER);
	notice(node, DISCONNECTED, 0);
	expect(test, t->a, node, CHANGE);

	KUNIT_EXPECT_EQ(test, 0, rca_source_move(&node->src, t->b, NULL, NULL));

	notice(node, CHANGE, 0);
	expect(test, t->b, node, REMOVAL);
	expect(test, t->b, node, USER);
	expect(test, t->b, node, DISCONNECTED);
	expect(test, t->b, node, CHANGE);
	expect_none(test, t->b);
}

static void attach_twice_is_einval(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *node = new_node(test, t->a);

	KUNIT_EXPECT_EQ(test, -EINVAL, rca_source_attach(&node->src, t->b));
	KUNIT_EXPECT_PTR_EQ(test, t->a, node->src.queue);
}

static void attach_to_closed_queue_is_einval(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *node = new_node(test, NULL);

	rca_queue_mark_closed(t->a);

	KUNIT_EXPECT_EQ(test, -EINVAL, rca_source_attach(&node->src, t->a));
	KUNIT_EXPECT_NULL(test, rca_source_queue(&node->src));
}

static void source_queue_takes_a_reference(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *node = new_node(test, t->a);
	struct rca_queue *queue = rca_source_queue(&node->src);

	KUNIT_ASSERT_PTR_EQ(test, t->a, queue);
	KUNIT_EXPECT_EQ(test, 3U, refcount_read(&queue->ref));
	rca_queue_put(queue);
}

static void move_takes_own_events_in_order_to_the_end(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *x = new_node(test, t->a), *y = new_node(test, t->a);
	struct event_node *z = new_node(test, t->b);
	u32 reported = 0;
	u64 cookie = 77;

	post(test, x, ADDR);
	expect(test, t->a, x, ADDR);
	post(test, x, ROUTE);
	post(test, y, ADDR);
	notice(x, DISCONNECTED, 0);
	post(test, x, USER);
	post(test, z, ADDR);

	KUNIT_EXPECT_EQ(test, 0, rca_source_move(&x->src, t->b, &cookie, &reported));

	KUNIT_EXPECT_EQ(test, 1U, reported);
	KUNIT_EXPECT_EQ(test, cookie, x->src.cookie);
	expect(test, t->a, y, ADDR);
	expect_none(test, t->a);
	post(test, x, ESTABLISHED);
	expect(test, t->b, z, ADDR);
	expect(test, t->b, x, ROUTE);
	expect(test, t->b, x, DISCONNECTED);
	expect(test, t->b, x, USER);
	expect(test, t->b, x, ESTABLISHED);
	expect_none(test, t->b);
	KUNIT_EXPECT_EQ(test, 5U, x->src.reported);
	KUNIT_EXPECT_EQ(test, 2U, refcount_read(&t->a->ref));
	KUNIT_EXPECT_EQ(test, 3U, refcount_read(&t->b->ref));
}

static void move_back_keeps_the_order(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *node = new_node(test, t->b);

	post(test, node, ADDR);
	post(test, node, ROUTE);

	KUNIT_EXPECT_EQ(test, 0, rca_source_move(&node->src, t->a, NULL, NULL));
	KUNIT_EXPECT_EQ(test, 0, rca_source_move(&node->src, t->b, NULL, NULL));

	expect(test, t->b, node, ADDR);
	expect(test, t->b, node, ROUTE);
}

static void move_to_closed_queue_is_einval_and_changes_nothing(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *node = new_node(test, t->a);
	u32 reported = 55;
	u64 cookie = 77;

	post(test, node, ADDR);
	rca_queue_mark_closed(t->b);

	KUNIT_EXPECT_EQ(test, -EINVAL, rca_source_move(&node->src, t->b, &cookie, &reported));

	KUNIT_EXPECT_EQ(test, 55U, reported);
	KUNIT_EXPECT_EQ(test, (u64)COOKIE, node->src.cookie);
	KUNIT_EXPECT_EQ(test, 1U, refcount_read(&t->b->ref));
	expect(test, t->a, node, ADDR);
}

static void move_to_the_same_queue_changes_the_cookie(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *x = new_node(test, t->a), *y = new_node(test, t->a);
	u32 reported = 55;
	u64 cookie = 77;

	post(test, x, ADDR);
	post(test, y, ADDR);

	KUNIT_EXPECT_EQ(test, 0, rca_source_move(&x->src, t->a, &cookie, &reported));

	KUNIT_EXPECT_EQ(test, 0U, reported);
	KUNIT_EXPECT_EQ(test, cookie, x->src.cookie);
	KUNIT_EXPECT_EQ(test, 3U, refcount_read(&t->a->ref));
	expect(test, t->a, x, ADDR);
	expect(test, t->a, y, ADDR);
}

static void move_to_the_same_closed_queue_is_einval(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *node = new_node(test, t->a);

	rca_queue_mark_closed(t->a);

	KUNIT_EXPECT_EQ(test, -EINVAL, rca_source_move(&node->src, t->a, NULL, NULL));
}

static void move_after_detach_is_enoent(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *node = new_node(test, t->a);

	rca_source_detach(&node->src, NULL);

	KUNIT_EXPECT_EQ(test, -ENOENT, rca_source_move(&node->src, t->b, NULL, NULL));
	KUNIT_EXPECT_NULL(test, node->src.queue);
	KUNIT_EXPECT_EQ(test, 1U, refcount_read(&t->b->ref));
}

/* No other source posts there, so a reader would wait forever. */
static void move_closes_the_private_queue(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct rca_queue *own = rca_queue_create(t->ctx, sizeof(t->rec), false);
	struct event_node *node;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, own);
	node = new_node(test, own);
	post(test, node, ADDR);

	KUNIT_EXPECT_EQ(test, 0, rca_source_move(&node->src, t->a, NULL, NULL));

	KUNIT_EXPECT_TRUE(test, own->closed);
	KUNIT_EXPECT_FALSE(test, t->a->closed);
	expect(test, t->a, node, ADDR);
	rca_queue_put(own);
}

static void detach_closes_the_private_queue(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct rca_queue *own = rca_queue_create(t->ctx, sizeof(t->rec), false);
	struct event_node *x, *y;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, own);
	x = new_node(test, own);
	y = new_node(test, t->a);

	rca_source_detach(&x->src, NULL);
	rca_source_detach(&y->src, NULL);

	KUNIT_EXPECT_TRUE(test, own->closed);
	KUNIT_EXPECT_FALSE(test, t->a->closed);
	rca_queue_put(own);
}

static void detach_drops_own_events_alone(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *x = new_node(test, t->a), *y = new_node(test, t->a);

	post(test, x, ADDR);
	expect(test, t->a, x, ADDR);
	post(test, x, ROUTE);
	post(test, y, ADDR);
	notice(x, DISCONNECTED, 0);
	notice(x, TIMEWAIT, 0);
	notice(x, REMOVAL, 0);
	KUNIT_EXPECT_EQ(test, 6U, refcount_read(&x->obj.ref));

	KUNIT_EXPECT_EQ(test, 1U, rca_source_detach(&x->src, NULL));

	KUNIT_EXPECT_EQ(test, 2U, refcount_read(&x->obj.ref));
	KUNIT_EXPECT_EQ(test, 2U, refcount_read(&t->a->ref));
	expect(test, t->a, y, ADDR);
	expect_none(test, t->a);
}

static void detach_twice_gives_the_same_count(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *node = new_node(test, t->a);

	post(test, node, ADDR);
	expect(test, t->a, node, ADDR);

	KUNIT_EXPECT_EQ(test, 1U, rca_source_detach(&node->src, NULL));
	KUNIT_EXPECT_EQ(test, 1U, rca_source_detach(&node->src, NULL));

	post(test, node, ROUTE);
	notice(node, DISCONNECTED, 0);
	expect_none(test, t->a);
	KUNIT_EXPECT_EQ(test, 1U, refcount_read(&t->a->ref));
}

static void expect_next_owner(struct kunit *test, struct rca_queue *queue, struct event_node *node)
{
	struct rca_obj *owner = rca_queue_next_owner(queue);

	KUNIT_EXPECT_PTR_EQ(test, &node->obj, owner);
	rca_obj_put(owner);
}

static void next_owner_walks_until_all_are_detached(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *x = new_node(test, t->a), *y = new_node(test, t->a);

	rca_queue_mark_closed(t->a);

	expect_next_owner(test, t->a, x);
	expect_next_owner(test, t->a, y);
	rca_source_detach(&x->src, NULL);
	expect_next_owner(test, t->a, y);
	rca_source_detach(&y->src, NULL);
	KUNIT_EXPECT_NULL(test, rca_queue_next_owner(t->a));
}

/* A reader takes the next event, as if it were in a page fault until end_copy(). */
static void begin_copy(struct kunit *test, struct rca_queue *queue)
{
	struct events_test *t = test->priv;

	mutex_lock(&queue->reading);
	KUNIT_ASSERT_TRUE(test, rca_queue_peek(queue, &t->dlv));
}

static bool end_copy(struct kunit *test, struct rca_queue *queue)
{
	struct events_test *t = test->priv;
	bool delivered = rca_queue_consume(queue, &t->dlv);

	mutex_unlock(&queue->reading);
	return delivered;
}

static void detach_does_not_wait_for_a_copy(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *x = new_node(test, t->a), *y = new_node(test, t->a);

	post(test, x, ADDR);
	post(test, y, ROUTE);
	begin_copy(test, t->a);
	KUNIT_EXPECT_EQ(test, 0U, rca_source_detach(&x->src, NULL));
	KUNIT_EXPECT_FALSE(test, end_copy(test, t->a));
	expect(test, t->a, y, ROUTE);
	expect_none(test, t->a);
}

static void move_does_not_wait_for_a_copy(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *x = new_node(test, t->a);
	u32 reported;

	notice(x, DISCONNECTED, 0);
	post(test, x, ADDR);
	begin_copy(test, t->a);
	KUNIT_EXPECT_EQ(test, 0, rca_source_move(&x->src, t->b, NULL, &reported));
	KUNIT_EXPECT_EQ(test, 0U, reported);
	/* It is the same item when it has come back, but another delivery. */
	KUNIT_EXPECT_EQ(test, 0, rca_source_move(&x->src, t->a, NULL, NULL));
	KUNIT_EXPECT_FALSE(test, end_copy(test, t->a));
	KUNIT_EXPECT_EQ(test, 0U, x->src.reported);
	expect(test, t->a, x, DISCONNECTED);
	expect(test, t->a, x, ADDR);
}

/* The new id is published with the delivery from the other queue alone. */
static void request_that_moves_during_a_copy(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *node = new_node(test, t->a);
	struct event_node *child = post_request(test, node);

	begin_copy(test, t->a);
	KUNIT_EXPECT_TRUE(test, t->dlv.has_child);
	KUNIT_EXPECT_EQ(test, 0, rca_source_move(&node->src, t->b, NULL, NULL));
	KUNIT_EXPECT_FALSE(test, end_copy(test, t->a));
	KUNIT_EXPECT_FALSE(test, is_published(test, child));
	expect_request(test, t->b, node, child);
	KUNIT_EXPECT_PTR_EQ(test, t->b, child->src.queue);
}

#define RACE_NODES 2

struct queue_race {
	struct rca_queue *queues[2];
	struct event_node *nodes[RACE_NODES];
	struct mutex check; /* serialises the end of deliveries with their checks */
	atomic_t posters;
	atomic_t delivered;
	atomic_t wrong;
};

/* Delivers one event and checks that it is the next one of its source. */
static bool race_deliver(struct queue_race *race, struct rca_queue *queue)
{
	struct rca_delivery dlv;
	struct event_node *node;
	bool found;

	mutex_lock(&queue->reading);
	found = rca_queue_peek(queue, &dlv);
	if (found) {
		cond_resched();
		mutex_lock(&race->check);
		if (rca_queue_consume(queue, &dlv) && dlv.rec.type != CHANGE) {
			node = race->nodes[race->nodes[0]->src.cookie != dlv.rec.cookie];
			if (dlv.rec.user_arg != ++node->seen)
				atomic_inc(&race->wrong);
			atomic_inc(&race->delivered);
		}
		mutex_unlock(&race->check);
	}
	mutex_unlock(&queue->reading);
	return found;
}

static void race_post(struct queue_race *race, struct event_node *node)
{
	u64 number;

	for (number = 1; number <= ROUNDS; number++) {
		struct rca_event *ev = rca_event_alloc(node->obj.ctx, GFP_KERNEL);

		if (IS_ERR(ev)) {
			atomic_inc(&race->wrong);
			break;
		}
		ev->rec.user_arg = number;
		post_event(node, ev);
		if (number % 8 == 0)
			notice(node, CHANGE, 0);
	}
	atomic_dec(&race->posters);
}

/* Two threads post, two deliver, one moves the sources there and back. */
static void move_race_run(void *arg, unsigned int n)
{
	struct queue_race *race = arg;
	unsigned int i = 0;

	switch (n) {
	case 0:
	case 1:
		race_post(race, race->nodes[n]);
		break;
	case 2:
	case 3:
		while (atomic_read(&race->posters) || rca_queue_ready(race->queues[n - 2])) {
			race_deliver(race, race->queues[n - 2]);
			cond_resched();
		}
		break;
	default:
		for (; atomic_read(&race->posters); i++) {
			if (rca_source_move(&race->nodes[i % RACE_NODES]->src,
					    race->queues[i / RACE_NODES % 2], NULL, NULL))
				atomic_inc(&race->wrong);
			cond_resched();
		}
	}
}

static void move_by_many_loses_nothing(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct queue_race race = {
		.queues = { t->a, t->b },
		.nodes = { new_node(test, t->a), new_node(test, t->b) },
		.posters = ATOMIC_INIT(2),
	};

	mutex_init(&race.check);
	rca_race(test, 5, move_race_run, &race);
	/* Events that the last move queued behind a reader that had finished. */
	while (race_deliver(&race, t->a) || race_deliver(&race, t->b))
		;

	KUNIT_EXPECT_EQ(test, 0, atomic_read(&race.wrong));
	KUNIT_EXPECT_EQ(test, 2 * ROUNDS, atomic_read(&race.delivered));
	KUNIT_EXPECT_EQ(test, 2U, refcount_read(&race.nodes[0]->obj.ref));
	KUNIT_EXPECT_EQ(test, 2U, refcount_read(&race.nodes[1]->obj.ref));
}

/* Detach while other threads deliver: the count that detach returns is final. */
static void detach_race_run(void *arg, unsigned int n)
{
	struct queue_race *race = arg;
	struct event_node *node = race->nodes[0];
	u32 reported;

	switch (n) {
	case 0:
		race_post(race, node);
		break;
	case 1:
	case 2:
		while (atomic_read(&race->posters)) {
			race_deliver(race, race->queues[0]);
			cond_resched();
		}
		break;
	default:
		while (READ_ONCE(node->src.reported) < ROUNDS / 4 && atomic_read(&race->posters))
			cond_resched();
		reported = rca_source_detach(&node->src, NULL);
		if (rca_queue_ready(race->queues[0]))
			atomic_inc(&race->wrong);
		cond_resched();
		if (rca_source_detach(&node->src, NULL) != reported)
			atomic_inc(&race->wrong);
	}
}

static void detach_by_many_gives_the_final_count(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct queue_race race = {
		.queues = { t->a, t->b },
		.nodes = { new_node(test, t->a) },
		.posters = ATOMIC_INIT(1),
	};

	mutex_init(&race.check);
	rca_race(test, 5, detach_race_run, &race);

	KUNIT_EXPECT_EQ(test, 0, atomic_read(&race.wrong));
	KUNIT_EXPECT_GE(test, race.nodes[0]->src.reported, (u32)atomic_read(&race.delivered));
	KUNIT_EXPECT_EQ(test, 2U, refcount_read(&race.nodes[0]->obj.ref));
	expect_none(test, t->a);
}

static struct kunit_case move_cases[] = {
	KUNIT_CASE(consume_request_after_move_attaches_to_the_new_queue),
	KUNIT_CASE(detach_hands_requests_to_the_caller),
	KUNIT_CASE(move_keeps_the_order_of_notices),
	KUNIT_CASE(attach_twice_is_einval),
	KUNIT_CASE(attach_to_closed_queue_is_einval),
	KUNIT_CASE(source_queue_takes_a_reference),
	KUNIT_CASE(move_takes_own_events_in_order_to_the_end),
	KUNIT_CASE(move_back_keeps_the_order),
	KUNIT_CASE(move_to_closed_queue_is_einval_and_changes_nothing),
	KUNIT_CASE(move_to_the_same_queue_changes_the_cookie),
	KUNIT_CASE(move_to_the_same_closed_queue_is_einval),
	KUNIT_CASE(move_after_detach_is_enoent),
	KUNIT_CASE(move_closes_the_private_queue),
	KUNIT_CASE(detach_closes_the_private_queue),
	KUNIT_CASE(detach_drops_own_events_alone),
	KUNIT_CASE(detach_twice_gives_the_same_count),
	KUNIT_CASE(next_owner_walks_until_all_are_detached),
	KUNIT_CASE(detach_does_not_wait_for_a_copy),
	KUNIT_CASE(move_does_not_wait_for_a_copy),
	KUNIT_CASE(request_that_moves_during_a_copy),
	KUNIT_CASE(move_by_many_loses_nothing),
	KUNIT_CASE(detach_by_many_gives_the_final_count),
	{}
};

static struct kunit_suite move_suite = {
	.name = "rdma_cm_alt_events_move",
	.init = events_init,
	.exit = events_exit,
	.test_cases = move_cases,
};

kunit_test_suite(move_suite);
