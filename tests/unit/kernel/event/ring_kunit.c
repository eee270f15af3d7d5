// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of kernel/event/ring.c and queue.c: records in a ring for any value of the head
 * word, and when ids move and are destroyed.
 */
#include <kunit/test.h>

#include "event/queue.h"
#include "event/ring_fixture.h"

static noinline void expect_types(struct kunit *test, struct ring_user *user, const int *types,
				  unsigned int count)
{
	while (count--)
		KUNIT_EXPECT_EQ(test, *types++, take(user));
}

/* Take events of these types. */
#define expect_taken(test, user, ...)						\
	do {									\
		static const int types[] = { __VA_ARGS__ };			\
										\
		expect_types(test, user, types, ARRAY_SIZE(types));		\
	} while (0)

/* A ring without a queue. */
static struct rca_ring *make_ring(struct kunit *test, u32 record_size)
{
	struct events_test *t = test->priv;
	struct rca_ring *ring = rca_ring_alloc(&t->ctx->account, ENTRIES, record_size);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, ring);
	return ring;
}

static void put_number(struct rca_ring *ring, u32 number)
{
	struct rdma_cm_alt_event rec = { .length = sizeof(rec), .type = number };

	rca_ring_put(ring, &rec, sizeof(rec), ring, number);
}

static void records_go_round_and_keep_their_order(struct kunit *test)
{
	/* An odd multiple of 8, so that records cross pages. */
	struct rca_ring *ring = make_ring(test, 1000);
	struct ring_user user = { .ring = ring };
	u32 i, type, taken = 0;

	rca_ring_reset(ring);
	for (i = 0; i < 20 * ENTRIES; i++) {
		put_number(ring, i);
		if (i % 5 != 4)
			continue;
		while (taken <= i)
			KUNIT_EXPECT_EQ(test, (int)taken++, take(&user));
		while (rca_ring_next(ring, rca_ring_seen(ring), &type))
			;
		KUNIT_EXPECT_EQ(test, i, type);
		KUNIT_EXPECT_EQ(test, 0U, ring->unread);
	}
	rca_ring_free(ring);
}

static void zeros_follow_a_shorter_record(struct kunit *test)
{
	/* Records cross pages, with the end of the data before and behind the boundary. */
	struct rca_ring *ring = make_ring(test, 1000);
	struct rdma_cm_alt_event *long_rec = kunit_kzalloc(test, sizeof(*long_rec), GFP_KERNEL);
	struct ring_user user = { .ring = ring };
	u32 i, type, len;

	KUNIT_ASSERT_NOT_NULL(test, long_rec);
	rca_ring_reset(ring);
	memset(long_rec, 0xff, sizeof(*long_rec));
	for (i = 0; i < 6 * ENTRIES; i++) {
		len = i / ENTRIES % 2 ? 8 + i * 16 : sizeof(*long_rec);
		long_rec->type = i;
		rca_ring_put(ring, long_rec, len, ring, i);
		KUNIT_EXPECT_EQ(test, (int)i, take(&user));
		KUNIT_EXPECT_PTR_EQ(test, memchr_inv(&user.rec, 0xff, 4), NULL);
		KUNIT_EXPECT_PTR_EQ(test, memchr_inv((u8 *)&user.rec + 8, 0xff, len - 8), NULL);
		KUNIT_EXPECT_PTR_EQ(test, memchr_inv((u8 *)&user.rec + len, 0,
						     sizeof(user.rec) - len), NULL);
		KUNIT_EXPECT_PTR_EQ(test, rca_ring_next(ring, rca_ring_seen(ring), &type),
				    (void *)ring);
	}
	rca_ring_free(ring);
}

static void ring_is_full_until_the_head_moves(struct kunit *test)
{
	struct rca_ring *ring = make_ring(test, 64);
	u32 i, type;

	rca_ring_reset(ring);
	for (i = 0; i < ENTRIES; i++) {
		KUNIT_EXPECT_FALSE(test, rca_ring_full(ring));
		put_number(ring, i);
	}
	KUNIT_EXPECT_TRUE(test, rca_ring_full(ring));
	store_head(ring, 1);
	KUNIT_EXPECT_PTR_EQ(test, (void *)ring, rca_ring_next(ring, rca_ring_seen(ring), &type));
	KUNIT_EXPECT_EQ(test, 0U, type);
	KUNIT_EXPECT_FALSE(test, rca_ring_full(ring));
	rca_ring_free(ring);
}

static void head_is_clamped(struct kunit *test)
{
	struct rca_ring *ring = make_ring(test, 64);
	u32 type;

	rca_ring_reset(ring);
	/* Across the end of the numbers. */
	ring->head = 0xfffffffe;
	ring->tail = ring->head;
	store_head(ring, ring->head);
	put_number(ring, 1);
	put_number(ring, 2);
	put_number(ring, 3);
	KUNIT_EXPECT_EQ(test, 1U, header(ring)->tail);
	store_head(ring, 0xfffffffd);
	KUNIT_EXPECT_EQ(test, 0xfffffffe, rca_ring_seen(ring));
	store_head(ring, 0x80000000);
	KUNIT_EXPECT_EQ(test, 0xfffffffe, rca_ring_seen(ring));
	store_head(ring, 2);
	KUNIT_EXPECT_EQ(test, 1U, rca_ring_seen(ring));
	store_head(ring, 0x7ffffffd);
	KUNIT_EXPECT_EQ(test, 1U, rca_ring_seen(ring));
	store_head(ring, 0);
	KUNIT_EXPECT_EQ(test, 0U, rca_ring_seen(ring));
	while (rca_ring_next(ring, rca_ring_seen(ring), &type))
		;
	KUNIT_EXPECT_EQ(test, 2U, type);
	KUNIT_EXPECT_EQ(test, 1U, ring->unread);
	rca_ring_free(ring);
}

static void taken_events_count_when_they_are_reaped(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *node = new_node(test, t->a);
	struct ring_user user = map_ring(test, t->a);

	post(test, node, ADDR);
	post(test, node, ROUTE);
	KUNIT_EXPECT_TRUE(test, rca_queue_ready(t->a));
	expect_taken(test, &user, ADDR);
	KUNIT_EXPECT_EQ(test, node->src.cookie, user.rec.cookie);
	KUNIT_EXPECT_EQ(test, node->obj.handle, user.rec.id);
	KUNIT_EXPECT_EQ(test, 0U, node->src.reported);
	KUNIT_EXPECT_EQ(test, 4U, refcount_read(&node->obj.ref));
	KUNIT_EXPECT_TRUE(test, rca_queue_ready(t->a));
	KUNIT_EXPECT_EQ(test, 1U, node->src.reported);
	KUNIT_EXPECT_EQ(test, 3U, refcount_read(&node->obj.ref));
	expect_taken(test, &user, ROUTE);
	KUNIT_EXPECT_FALSE(test, rca_queue_ready(t->a));
	KUNIT_EXPECT_EQ(test, 2U, node->src.reported);
}

static void full_ring_leaves_the_rest_to_the_queue(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *node = new_node(test, t->a);
	struct ring_user user = map_ring(test, t->a);
	int i;

	for (i = 0; i < ENTRIES + 3; i++)
		post(test, node, i);
	for (i = 0; i < ENTRIES; i++)
		KUNIT_EXPECT_EQ(test, i, take(&user));
	expect_taken(test, &user, NO_EVENT);
	/* A new event is put behind those that wait. */
	post(test, node, i + 3);
	for (; i < ENTRIES + 4; i++)
		KUNIT_EXPECT_EQ(test, i, take(&user));
	rca_queue_unread(t->a);
}

static void nothing_is_put_in_while_somebody_reads(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *node = new_node(test, t->a);
	struct ring_user user = map_ring(test, t->a);

	t->a->readers = 1;
	post(test, node, ADDR);
	expect_taken(test, &user, NO_EVENT);
	expect(test, t->a, node, ADDR);
	t->a->readers = 0;
}

static void nothing_is_put_in_while_somebody_moves_events(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *node = new_node(test, t->a);
	struct ring_user user = map_ring(test, t->a);

	post(test, node, ADDR);
	mutex_lock(&t->a->consume);
	post(test, node, ROUTE);
	notice(node, DISCONNECTED, 0);
	/* What was put in before is taken, and reaped, all the same. */
	expect_taken(test, &user, ADDR, NO_EVENT);
	notice(node, TIMEWAIT, 0);
	KUNIT_EXPECT_EQ(test, 1U, node->src.reported);
	mutex_unlock(&t->a->consume);
	expect_taken(test, &user, NO_EVENT);
	post(test, node, USER);
	expect_taken(test, &user, ROUTE, DISCONNECTED, TIMEWAIT, USER, NO_EVENT);
	KUNIT_EXPECT_FALSE(test, rca_queue_ready(t->a));
}

/* The reader has copied the event already when another one is posted. */
static void event_that_is_being_delivered_is_not_put_in(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *node = new_node(test, t->a);
	struct ring_user user;

	post(test, node, ADDR);
	user = map_ring(test, t->a);
	mutex_lock(&t->a->reading);
	KUNIT_EXPECT_TRUE(test, rca_queue_peek(t->a, &t->dlv));
	post(test, node, ROUTE);
	expect_taken(test, &user, NO_EVENT);
	rca_queue_consume(t->a, &t->dlv);
	KUNIT_EXPECT_TRUE(test, rca_queue_peek(t->a, &t->dlv));
	rca_queue_release(t->a);
	mutex_unlock(&t->a->reading);
	rca_queue_fill(t->a);
	expect_taken(test, &user, ROUTE, NO_EVENT);
}

static void peek_finds_nothing_while_there_are_records(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *node = new_node(test, t->a);
	struct ring_user user = map_ring(test, t->a);

	post(test, node, ADDR);
	mutex_lock(&t->a->reading);
	KUNIT_EXPECT_FALSE(test, rca_queue_peek(t->a, &t->dlv));
	KUNIT_EXPECT_TRUE(test, t->dlv.in_ring);
	expect_taken(test, &user, ADDR);
	KUNIT_EXPECT_FALSE(test, rca_queue_peek(t->a, &t->dlv));
	KUNIT_EXPECT_FALSE(test, t->dlv.in_ring);
	mutex_unlock(&t->a->reading);
}

static void notice_has_one_record_an_event(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *node = new_node(test, t->a);
	struct ring_user user = map_ring(test, t->a);

	notice(node, DISCONNECTED, -5);
	notice(node, DISCONNECTED, -6);	/* waits already, and keeps its status */
	notice(node, TIMEWAIT, 0);
	post(test, node, USER);
	expect_taken(test, &user, DISCONNECTED);
	KUNIT_EXPECT_EQ(test, -5, user.rec.status);
	/* The first one was taken, so another one is posted. */
	notice(node, DISCONNECTED, -7);
	expect_taken(test, &user, TIMEWAIT, USER, DISCONNECTED);
	KUNIT_EXPECT_EQ(test, -7, user.rec.status);
	expect_taken(test, &user, NO_EVENT);
	KUNIT_EXPECT_FALSE(test, rca_queue_ready(t->a));
	KUNIT_EXPECT_EQ(test, 4U, node->src.reported);
}

static void notice_that_does_not_fit_waits_with_its_rest(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *node = new_node(test, t->a);
	struct ring_user user;
	int i;

	for (i = 0; i < ENTRIES - 1; i++)
		post(test, node, USER);
	rca_no_notices = true;
	notice(node, REMOVAL, 0);
	notice(node, CHANGE, 0);
	user = map_ring(test, t->a);
	rca_queue_fill(t->a);
	KUNIT_EXPECT_TRUE(test, rca_ring_full(user.ring));
	for (i = 0; i < ENTRIES - 1; i++)
		KUNIT_EXPECT_EQ(test, (int)USER, take(&user));
	expect_taken(test, &user, REMOVAL, NO_EVENT);
	expect(test, t->a, node, CHANGE);
	expect_none(test, t->a);
}

static void merged_notices_are_put_in_at_once(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *node = new_node(test, t->a);
	struct ring_user user;

	rca_no_notices = true;
	notice(node, CHANGE, 0);
	post(test, node, USER);
	notice(node, REMOVAL, 0);
	user = map_ring(test, t->a);
	rca_queue_fill(t->a);
	expect_taken(test, &user, REMOVAL, CHANGE, USER, NO_EVENT);
	KUNIT_EXPECT_FALSE(test, rca_queue_ready(t->a));
	KUNIT_EXPECT_EQ(test, 3U, node->src.reported);
}

/* Without memory a notice gets another event while a record of it is in the ring. */
static void merged_notice_is_put_in_when_it_is_posted(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *node = new_node(test, t->a);
	struct ring_user user = map_ring(test, t->a);

	rca_no_notices = true;
	notice(node, CHANGE, 0);
	notice(node, REMOVAL, 0);
	expect_taken(test, &user, CHANGE, REMOVAL, NO_EVENT);
	KUNIT_EXPECT_FALSE(test, rca_queue_ready(t->a));
	KUNIT_EXPECT_EQ(test, 2U, node->src.reported);
}

/* Through the ring as by read(), see notices_keep_their_order_and_status(). */
static void notices_are_put_in_in_order(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *node = new_node(test, t->a);
	struct ring_user user;

	notice(node, TIMEWAIT, 0);
	post(test, node, USER);
	notice(node, CHANGE, 0);
	notice(node, REMOVAL, 0);
	user = map_ring(test, t->a);
	rca_queue_fill(t->a);
	notice(node, DISCONNECTED, -5);
	expect_taken(test, &user, TIMEWAIT, USER, CHANGE, REMOVAL, DISCONNECTED);
	KUNIT_EXPECT_EQ(test, -5, user.rec.status);
	expect_taken(test, &user, NO_EVENT);
	KUNIT_EXPECT_FALSE(test, rca_queue_ready(t->a));
	KUNIT_EXPECT_EQ(test, 5U, node->src.reported);
}

static void move_takes_records_back_in_order(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *node = new_node(test, t->a), *other = new_node(test, t->a);
	struct ring_user user = map_ring(test, t->a);
	u32 reported;

	post(test, node, ADDR);
	post(test, other, USER);
	post(test, node, ROUTE);
	notice(node, DISCONNECTED, 0);
	expect_taken(test, &user, ADDR);
	KUNIT_EXPECT_EQ(test, 0, rca_source_move(&node->src, t->b, NULL, &reported));
	KUNIT_EXPECT_EQ(test, 1U, reported);
	expect(test, t->b, node, ROUTE);
	expect(test, t->b, node, DISCONNECTED);
	expect_none(test, t->b);
	expect_taken(test, &user, USER, NO_EVENT);
	KUNIT_EXPECT_FALSE(test, rca_queue_ready(t->a));
}

static void detach_takes_records_back(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *node = new_node(test, t->a);
	struct ring_user user = map_ring(test, t->a);

	post(test, node, ADDR);
	post(test, node, ROUTE);
	notice(node, REMOVAL, 0);
	expect_taken(test, &user, ADDR);
	KUNIT_EXPECT_EQ(test, 1U, rca_source_detach(&node->src, NULL));
	KUNIT_EXPECT_EQ(test, 2U, refcount_read(&node->obj.ref));
	KUNIT_EXPECT_FALSE(test, rca_queue_ready(t->a));
	expect_taken(test, &user, NO_EVENT);
}

static void records_that_went_round_are_taken_back(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *node = new_node(test, t->a), *other = new_node(test, t->a);
	struct ring_user user = map_ring(test, t->a);
	int i;

	for (i = 0; i < ENTRIES - 3; i++)
		post(test, node, i);
	while (take(&user) >= 0)
		;
	for (i = 0; i < ENTRIES / 2; i++) {
		post(test, node, ADDR);
		post(test, other, i);
	}
	KUNIT_EXPECT_TRUE(test, rca_ring_full(user.ring));
	KUNIT_EXPECT_EQ(test, (u32)ENTRIES - 3, rca_source_detach(&node->src, NULL));
	KUNIT_EXPECT_EQ(test, (u32)ENTRIES / 2, user.ring->unread);
	for (i = 0; i < ENTRIES / 2; i++) {
		KUNIT_EXPECT_EQ(test, i, take(&user));
		KUNIT_EXPECT_EQ(test, other->obj.handle, user.rec.id);
	}
	expect_taken(test, &user, NO_EVENT);
	KUNIT_EXPECT_FALSE(test, rca_queue_ready(t->a));
}

static void close_of_the_ring_gives_everything_back(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *node = new_node(test, t->a);
	struct ring_user user = map_ring(test, t->a);
	int i;

	post(test, node, ADDR);
	notice(node, DISCONNECTED, 0);
	notice(node, TIMEWAIT, 0);
	for (i = 0; i < ENTRIES; i++)
		post(test, node, USER);
	expect_taken(test, &user, ADDR);
	rca_queue_ring_close(t->a);
	KUNIT_EXPECT_EQ(test, 1U, node->src.reported);
	expect(test, t->a, node, DISCONNECTED);
	expect(test, t->a, node, TIMEWAIT);
	for (i = 0; i < ENTRIES; i++)
		expect(test, t->a, node, USER);
	expect_none(test, t->a);
}

/* The second event is merged when the record of the first one is in the ring already. */
static void close_of_the_ring_keeps_the_order_of_records(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *node = new_node(test, t->a), *other = new_node(test, t->a);
	int i;

	rca_no_notices = true;
	map_ring(test, t->a);
	notice(node, DISCONNECTED, 0);
	for (i = 0; i < ENTRIES; i++)
		post(test, other, i);
	notice(node, TIMEWAIT, 0);
	rca_queue_ring_close(t->a);
	expect(test, t->a, node, DISCONNECTED);
	expect(test, t->a, node, TIMEWAIT);
	for (i = 0; i < ENTRIES; i++)
		expect(test, t->a, other, i);
	expect_none(test, t->a);
}

/* The first record of a notice determines its position. */
static void close_of_the_ring_takes_all_records_of_a_notice_back(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *node = new_node(test, t->a), *other = new_node(test, t->a);

	rca_no_notices = true;
	map_ring(test, t->a);
	notice(node, DISCONNECTED, 0);
	post(test, other, USER);
	notice(node, TIMEWAIT, 0);
	rca_queue_ring_close(t->a);
	expect(test, t->a, node, DISCONNECTED);
	expect(test, t->a, node, TIMEWAIT);
	expect(test, t->a, other, USER);
	expect_none(test, t->a);
}

static void request_is_put_in_by_who_may_publish(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *node = new_node(test, t->a);
	struct ring_user user = map_ring(test, t->a);
	struct event_node *child = post_request(test, node);

	post(test, node, USER);
	expect_taken(test, &user, NO_EVENT);
	KUNIT_EXPECT_FALSE(test, is_published(test, child));
	rca_queue_fill(t->a);
	KUNIT_EXPECT_TRUE(test, is_published(test, child));
	KUNIT_EXPECT_PTR_EQ(test, t->a, child->src.queue);
	expect_taken(test, &user, REQUEST);
	KUNIT_EXPECT_EQ(test, child->obj.handle, user.rec.id);
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&t->credit));
	expect_taken(test, &user, USER);
	rca_queue_unread(t->a);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&t->credit));
	KUNIT_EXPECT_EQ(test, 2U, refcount_read(&child->obj.ref));
}

static void request_that_moves_hides_its_id_again(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *node = new_node(test, t->a);
	struct ring_user user = map_ring(test, t->a);
	struct event_node *child = post_request(test, node);

	rca_queue_fill(t->a);
	notice(child, DISCONNECTED, 0);
	KUNIT_EXPECT_EQ(test, 0, rca_source_move(&node->src, t->b, NULL, NULL));
	KUNIT_EXPECT_FALSE(test, is_published(test, child));
	KUNIT_EXPECT_NULL(test, child->src.queue);
	expect_taken(test, &user, NO_EVENT);
	KUNIT_EXPECT_FALSE(test, rca_queue_ready(t->a));
	expect_request(test, t->b, node, child);
	KUNIT_EXPECT_TRUE(test, is_published(test, child));
	KUNIT_EXPECT_PTR_EQ(test, t->b, child->src.queue);
	KUNIT_EXPECT_EQ(test, 2U, refcount_read(&child->obj.ref));
	/* Nothing is pending from before. */
	KUNIT_EXPECT_TRUE(test, notice(child, DISCONNECTED, 0));
	expect(test, t->b, child, DISCONNECTED);
}

/* A thread that has guessed the handle destroys the id; the request moves nevertheless. */
static void request_that_moves_while_its_id_is_destroyed(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *node = new_node(test, t->a);
	struct event_node *child = post_request(test, node);

	map_ring(test, t->a);
	rca_queue_fill(t->a);
	KUNIT_ASSERT_TRUE(test, rca_obj_claim(&child->obj));
	rca_obj_put(&child->obj);	/* the table's */
	KUNIT_EXPECT_EQ(test, 0, rca_source_move(&node->src, t->b, NULL, NULL));
	/* Destroying the id detaches it from its queue. It is not published again. */
	KUNIT_EXPECT_PTR_EQ(test, t->a, child->src.queue);
	mutex_lock(&t->b->reading);
	KUNIT_EXPECT_TRUE(test, rca_queue_peek(t->b, &t->dlv));
	KUNIT_EXPECT_FALSE(test, t->dlv.has_child);
	rca_queue_release(t->b);
	mutex_unlock(&t->b->reading);
	expect_request(test, t->b, node, child);
	KUNIT_EXPECT_FALSE(test, is_published(test, child));
	KUNIT_EXPECT_EQ(test, 1U, refcount_read(&child->obj.ref));
}

/* The id was moved to another queue before, and stays there. */
static void request_that_moves_after_its_id(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *node = new_node(test, t->a);
	struct event_node *child = post_request(test, node);

	map_ring(test, t->a);
	rca_queue_fill(t->a);
	KUNIT_EXPECT_EQ(test, 0, rca_source_move(&child->src, t->b, NULL, NULL));
	KUNIT_EXPECT_EQ(test, 0, rca_source_move(&node->src, t->b, NULL, NULL));
	KUNIT_EXPECT_TRUE(test, is_published(test, child));
	KUNIT_EXPECT_PTR_EQ(test, t->b, child->src.queue);
	expect_request(test, t->b, node, child);
	KUNIT_EXPECT_PTR_EQ(test, t->b, child->src.queue);
	KUNIT_EXPECT_EQ(test, 2U, refcount_read(&child->obj.ref));
}

static void nothing_is_reaped_without_a_queue(struct kunit *test)
{
	struct event_node *node = new_node(test, NULL);

	rca_source_reap(&node->src);
	KUNIT_EXPECT_NULL(test, node->src.queue);
	KUNIT_EXPECT_EQ(test, 2U, refcount_read(&node->obj.ref));
}

static void request_that_goes_is_handed_to_the_caller(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *node = new_node(test, t->a);
	struct ring_user user = map_ring(test, t->a);
	struct event_node *child = post_request(test, node);
	LIST_HEAD(requests);

	rca_queue_fill(t->a);
	KUNIT_EXPECT_EQ(test, 0U, rca_source_detach(&node->src, &requests));
	KUNIT_EXPECT_FALSE(test, list_empty(&requests));
	drop_requests(&requests);
	KUNIT_EXPECT_FALSE(test, is_published(test, child));
	KUNIT_EXPECT_EQ(test, 1U, refcount_read(&child->obj.ref));
	expect_taken(test, &user, NO_EVENT);
}

static void ring_has_one_user(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct ring_user user = map_ring(test, t->a);

	KUNIT_EXPECT_EQ(test, -EBUSY, rca_queue_ring_start(t->a, user.ring, (void *)test));
	KUNIT_EXPECT_TRUE(test, rca_queue_ring_foreign(t->a, (void *)test));
	KUNIT_EXPECT_FALSE(test, rca_queue_ring_foreign(t->a, user.ring->mm));
	rca_queue_ring_open(t->a);
	rca_queue_ring_close(t->a);
	KUNIT_EXPECT_TRUE(test, rca_queue_ring_foreign(t->a, (void *)test));
	rca_queue_ring_close(t->a);
	KUNIT_EXPECT_FALSE(test, rca_queue_ring_foreign(t->a, (void *)test));
}

static void look_tells_of_the_ring(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct rca_queue_stat seen;

	map_ring(test, t->a);
	rca_queue_stat(t->a, &seen);
	KUNIT_EXPECT_EQ(test, (u32)ENTRIES, seen.ring);
}

/* Events that a program takes from the ring are not waiting. */
static void look_does_not_count_what_was_taken(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *node = new_node(test, t->a);
	struct ring_user user = map_ring(test, t->a);
	struct rca_queue_stat seen;

	post(test, node, ADDR);
	post(test, node, ROUTE);
	rca_queue_stat(t->a, &seen);
	KUNIT_EXPECT_EQ(test, seen.waiting, 2u);
	expect_taken(test, &user, ADDR);
	rca_queue_stat(t->a, &seen);
	KUNIT_EXPECT_EQ(test, seen.waiting, 1u);
	expect_taken(test, &user, ROUTE);
	rca_queue_stat(t->a, &seen);
	KUNIT_EXPECT_EQ(test, seen.waiting, 0u);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(records_go_round_and_keep_their_order),
	KUNIT_CASE(zeros_follow_a_shorter_record),
	KUNIT_CASE(ring_is_full_until_the_head_moves),
	KUNIT_CASE(head_is_clamped),
	KUNIT_CASE(taken_events_count_when_they_are_reaped),
	KUNIT_CASE(full_ring_leaves_the_rest_to_the_queue),
	KUNIT_CASE(nothing_is_put_in_while_somebody_reads),
	KUNIT_CASE(nothing_is_put_in_while_somebody_moves_events),
	KUNIT_CASE(event_that_is_being_delivered_is_not_put_in),
	KUNIT_CASE(peek_finds_nothing_while_there_are_records),
	KUNIT_CASE(notice_has_one_record_an_event),
	KUNIT_CASE(notice_that_does_not_fit_waits_with_its_rest),
	KUNIT_CASE(merged_notices_are_put_in_at_once),
	KUNIT_CASE(merged_notice_is_put_in_when_it_is_posted),
	KUNIT_CASE(notices_are_put_in_in_order),
	KUNIT_CASE(move_takes_records_back_in_order),
	KUNIT_CASE(detach_takes_records_back),
	KUNIT_CASE(records_that_went_round_are_taken_back),
	KUNIT_CASE(close_of_the_ring_gives_everything_back),
	KUNIT_CASE(close_of_the_ring_keeps_the_order_of_records),
	KUNIT_CASE(close_of_the_ring_takes_all_records_of_a_notice_back),
	KUNIT_CASE(request_is_put_in_by_who_may_publish),
	KUNIT_CASE(request_that_moves_hides_its_id_again),
	KUNIT_CASE(request_that_moves_while_its_id_is_destroyed),
	KUNIT_CASE(request_that_moves_after_its_id),
	KUNIT_CASE(nothing_is_reaped_without_a_queue),
	KUNIT_CASE(request_that_goes_is_handed_to_the_caller),
	KUNIT_CASE(ring_has_one_user),
	KUNIT_CASE(look_tells_of_the_ring),
	KUNIT_CASE(look_does_not_count_what_was_taken),
	{}
};

static struct kunit_suite ring_suite = {
	.name = "rdma_cm_alt_ring",
	.init = events_init,
	.exit = events_exit,
	.test_cases = cases,
};

kunit_test_suite(ring_suite);
