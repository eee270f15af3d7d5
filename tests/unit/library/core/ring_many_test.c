// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of calls for many events, or ids, on channels whose event ring is mapped. */
#include <pthread.h>
#include <stdatomic.h>
#include <rdma/rdma_cma_alt.h>

#include "fake/ring_fixture.h"

static void take_many(struct rdma_event_channel *ch, struct rdma_cm_id *id, int first, int count)
{
	struct rdma_cm_event *events[16];
	int i;

	assert_int_equal(rdma_alt_get_cm_events(ch, events, count), count);
	for (i = 0; i < count; i++) {
		assert_ptr_equal(events[i]->id, id);
		assert_int_equal(events[i]->status, first + i);
		assert_int_equal(rdma_ack_cm_event(events[i]), 0);
	}
}

TEST(all_events_come_by_the_ring)
{
	struct rdma_event_channel *ch = new_channel();
	struct rdma_cm_id *id = warm_up(ch);
	struct rdma_cm_event *event;
	int i;

	for (i = 0; i < 5; i++)
		post(id, i);
	take_many(ch, id, 0, 3);
	take_many(ch, id, 3, 2);
	assert_int_equal(fake.reads, 0);
	nonblock(ch);
	assert_fails(EAGAIN, rdma_alt_get_cm_events(ch, &event, 1));
	assert_int_equal(fake.reads, 1);
	cool_down(ch, id);
}

TEST(each_event_of_a_read_counts)
{
	struct rdma_event_channel *ch = new_channel();
	struct rdma_cm_id *id = new_id(ch);
	int i;

	for (i = 0; i < RCL_RING_AFTER; i++)
		post(id, i);
	take_many(ch, id, 0, RCL_RING_AFTER);
	assert_int_equal(fake.reads, 1);
	assert_true(fake_ring_mapped(ch->fd));
	post(id, 0);
	take_many(ch, id, 0, 1);
	assert_int_equal(fake.reads, 1);
	cool_down(ch, id);
}

/*
 * Events that follow a request have no cookie: the handle identifies the id once the request
 * was read.
 */
TEST(request_and_what_follows_come_together)
{
	struct rdma_event_channel *ch = new_channel();
	struct rdma_cm_id *id = warm_up(ch), *l = listener(ch), *child;
	struct rdma_cm_event *events[4];
	struct rdma_cm_alt_event next;

	next = fake_event(RDMA_CM_ALT_EVENT_USER, fake_request(handle_of(l)));
	fake_post(&next);
	assert_int_equal(rdma_alt_get_cm_events(ch, events, 4), 2);
	assert_int_equal(events[0]->event, RDMA_CM_EVENT_CONNECT_REQUEST);
	child = events[0]->id;
	assert_ptr_equal(events[1]->id, child);
	rdma_ack_cm_event(events[0]);
	rdma_ack_cm_event(events[1]);
	assert_int_equal(rdma_destroy_id(child), 0);
	assert_int_equal(rdma_destroy_id(l), 0);
	cool_down(ch, id);
}

TEST(destroyed_ids_leave_nothing_in_any_ring)
{
	struct rdma_event_channel *a = new_channel(), *b = new_channel();
	struct rdma_cm_id *in_a = warm_up(a), *in_b = warm_up(b);
	struct rdma_cm_id *dead[] = { new_id(a), new_id(b), NULL, new_id(a), new_id(b) };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(dead); i++) {
		if (dead[i])
			post(dead[i], 100);
	}
	post(in_a, 1);
	post(in_b, 2);
	assert_int_equal(rdma_alt_destroy_many(dead, ARRAY_SIZE(dead), NULL), 4);
	take_many(a, in_a, 1, 1);
	assert_int_equal(take_number(b, in_b), 2);
	assert_int_equal(fake.reads, 0);
	cool_down(a, in_a);
	cool_down(b, in_b);
}

TEST(ids_of_closed_channels_are_destroyed_with_others)
{
	struct rdma_event_channel *gone = new_channel(), *ch = new_channel();
	struct rdma_cm_id *in_gone = warm_up(gone), *id = warm_up(ch);
	struct rdma_cm_id *ids[] = { in_gone, new_id(ch) };

	post(ids[1], 1);
	fake.ids[handle_of(in_gone)].alive = false;	/* goes with its queue */
	rdma_destroy_event_channel(gone);
	assert_int_equal(rdma_alt_destroy_many(ids, 2, NULL), 2);
	post(id, 2);
	assert_int_equal(take_number(ch, id), 2);
	cool_down(ch, id);
}

#define ROUNDS 50

struct pair {
	struct rdma_event_channel *first;
	struct rdma_event_channel *second;
};

static void *destroy_pairs(void *arg)
{
	const struct pair *pair = arg;
	struct rdma_cm_id *ids[2];
	int i;

	for (i = 0; i < ROUNDS; i++) {
		ids[0] = new_id(pair->first);
		ids[1] = new_id(pair->second);
		post(ids[0], i);
		post(ids[1], i);
		assert_int_equal(rdma_alt_destroy_many(ids, 2, NULL), 2);
	}
	return NULL;
}

static void *take_until_negative(void *arg)
{
	struct rdma_cm_event *events[8];
	bool end = false;
	int i, n;

	while (!end) {
		n = rdma_alt_get_cm_events(arg, events, 8);
		for (i = 0; i < n; i++) {
			end |= events[i]->status < 0;
			rdma_ack_cm_event(events[i]);
		}
	}
	return NULL;
}

/* Other threads read the channels, and create more of them, meanwhile. */
TEST(pairs_end_in_either_order)
{
	struct rdma_event_channel *a = new_channel(), *b = new_channel();
	struct rdma_cm_id *in_a = warm_up(a), *in_b = warm_up(b);
	struct pair ab = { a, b }, ba = { b, a };
	pthread_t threads[4];
	int i;

	pthread_create(&threads[0], NULL, destroy_pairs, &ab);
	pthread_create(&threads[1], NULL, destroy_pairs, &ba);
	pthread_create(&threads[2], NULL, take_until_negative, a);
	pthread_create(&threads[3], NULL, take_until_negative, b);
	for (i = 0; i < ROUNDS; i++)
		rdma_destroy_event_channel(new_channel());
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	post(in_a, -1);
	post(in_b, -1);
	for (i = 2; i < 4; i++)
		pthread_join(threads[i], NULL);
	cool_down(a, in_a);
	cool_down(b, in_b);
}

RUN
