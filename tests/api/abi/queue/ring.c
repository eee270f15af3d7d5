// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The mapped event ring of a queue, with read() and poll(). What lies in a ring that is full, has
 * gone round or has a wrong head is in tests/unit/kernel/event/ring_kunit.c and robust/fuzz/ring.
 */
#include "rca_ring.h"

#define PAGE 4096

TEST(geometry_is_told)
{
	int ctx = get_ctx();
	struct ring ring = get_ring(ctx, 8);

	EXPECT_EQ(ring.geometry.out_record_size, sizeof(event_t));
	EXPECT(ring.geometry.out_ring_bytes % PAGE == 0);
	EXPECT(ring.geometry.out_ring_bytes >= 8 * sizeof(event_t));
	EXPECT_EQ(ring.map->entries, 8);
	EXPECT_EQ(ring.map->record_size, sizeof(event_t));
	EXPECT(ring.map->records_offset + 8 * sizeof(event_t) <= ring.geometry.out_ring_bytes);
	EXPECT_EQ(ring.map->tail, 0);
	EXPECT_EQ(*ring.head, 0);
}

TEST(queue_without_a_ring_says_so)
{
	struct rdma_cm_alt_queue_create cmd = { .size = sizeof(cmd) };
	int ctx = get_ctx();

	EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_QUEUE_CREATE, &cmd), 0);
	EXPECT_EQ(cmd.out_ring_bytes, 0);
	EXPECT(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, cmd.out_fd, 0) == MAP_FAILED);
	EXPECT_EQ(errno, ENODEV);
}

TEST(bad_numbers_of_entries_are_einval)
{
	static const uint32_t counts[] = { 3, 6, 1023, 1025, 2048, 0x80000000, 0xffffffff };
	int ctx = get_ctx();

	for (int i = 0; i < 7; i++) {
		struct rdma_cm_alt_queue_create cmd = {
			.size = sizeof(cmd), .ring_entries = counts[i],
		};

		EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_QUEUE_CREATE, &cmd), -EINVAL);
	}
}

TEST(events_lie_in_the_ring_without_a_call)
{
	int ctx = get_ctx();
	struct ring ring = get_ring(ctx, 8);
	uint32_t id = get_id(ctx, ring.queue, 77);
	event_t ev;

	post_numbers(ctx, id, 0, 3);
	for (int i = 0; i < 3; i++) {
		EXPECT(ring_take(&ring, &ev));
		EXPECT_EQ(ev.length, sizeof(ev));
		EXPECT_EQ(ev.cookie, 77);
		EXPECT_EQ(ev.id, id);
		EXPECT_EQ(ev.user_arg, i);
	}
	expect_empty(&ring);
	expect_nothing(ring.queue);
}

TEST(poll_tells_of_the_ring_until_the_head_is_stored)
{
	int ctx = get_ctx();
	struct ring ring = get_ring(ctx, 8);
	event_t ev;

	post_numbers(ctx, get_id(ctx, ring.queue, 0), 0, 2);
	EXPECT(ring_look(&ring, &ev));
	EXPECT(event_waits(ring.queue));
	EXPECT(ring_take(&ring, &ev));
	EXPECT(event_waits(ring.queue));
	EXPECT(ring_take(&ring, &ev));
	EXPECT(!event_waits(ring.queue));
}

TEST(read_is_0_while_there_are_records)
{
	int ctx = get_ctx();
	struct ring ring = get_ring(ctx, 8);
	uint32_t id = get_id(ctx, ring.queue, 0);
	event_t ev;

	post_numbers(ctx, id, 0, 1);
	EXPECT_EQ(MUST(read(ring.queue, &ev, sizeof(ev))), 0);
	expect_number(&ring, id, 0);
	expect_nothing(ring.queue);
}

TEST(read_fills_its_buffer_and_then_the_ring)
{
	int ctx = get_ctx();
	struct ring ring;
	event_t evs[3];
	uint32_t id;

	ring_create(ctx, &ring, 4);
	id = get_id(ctx, ring.queue, 0);
	post_numbers(ctx, id, 0, 9);
	ring_map(&ring);
	EXPECT_EQ(MUST(read(ring.queue, evs, sizeof(evs))), sizeof(evs));
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(evs[i].user_arg, i);
	for (int i = 3; i < 7; i++)
		expect_number(&ring, id, i);
	expect_read(ring.queue, id, 7);
	expect_number(&ring, id, 8);
}

TEST(small_and_large_records)
{
	static const uint32_t sizes[] = { 64, 72, 808, 1000, 4096 };
	int ctx = get_ctx();

	for (int i = 0; i < 5; i++) {
		struct ring ring = {
			.geometry = {
				.size = sizeof(ring.geometry),
				.ring_entries = 8,
				.record_size = sizes[i],
			},
		};
		const event_t *ev;
		uint32_t id;

		EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_QUEUE_CREATE, &ring.geometry), 0);
		ring.queue = ring.geometry.out_fd;
		ring_map(&ring);
		EXPECT_EQ(ring.map->record_size, sizes[i]);
		id = get_id(ctx, ring.queue, i);
		post_numbers(ctx, id, 100, 8);
		for (int j = 0; j < 8; j++) {
			ev = (const void *)((const uint8_t *)ring.map + ring.map->records_offset +
					    j * sizes[i]);
			EXPECT_EQ(ev->cookie, i);
			EXPECT_EQ(ev->id, id);
			EXPECT_EQ(ev->user_arg, 100 + j);
		}
	}
}

TEST(sleeping_read_gets_the_event_itself)
{
	int ctx = get_ctx();
	struct ring ring = get_ring(ctx, 4);
	uint32_t id = get_id(ctx, ring.queue, 0);
	struct reader reader;

	start_reader(&reader, ring.queue);
	post_numbers(ctx, id, 0, 1);
	EXPECT_EQ(pthread_join(reader.thread, NULL), 0);
	EXPECT_EQ(reader.ret, sizeof(event_t));
	EXPECT_EQ(reader.ev.user_arg, 0);
	expect_empty(&ring);
	expect_nothing(ring.queue);
}

TEST(every_sleeping_read_gets_one)
{
	int ctx = get_ctx();
	int sum = 0;
	struct ring ring = get_ring(ctx, 8);
	uint32_t id = get_id(ctx, ring.queue, 0);
	struct reader readers[3];

	for (int i = 0; i < 3; i++)
		start_reader(&readers[i], ring.queue);
	post_numbers(ctx, id, 1, 4);
	/* A reader that is late finds its event in the ring. */
	for (int i = 0; i < 3; i++) {
		event_t ev;

		EXPECT_EQ(pthread_join(readers[i].thread, NULL), 0);
		EXPECT(readers[i].ret >= 0);
		if (!readers[i].ret)
			ring_event(&ring, &ev);
		sum += readers[i].ret ? readers[i].ev.user_arg : ev.user_arg;
	}
	EXPECT(event_waits(ring.queue));
	for (event_t ev; event_waits(ring.queue); sum += ev.user_arg)
		ring_event(&ring, &ev);
	EXPECT_EQ(sum, 1 + 2 + 3 + 4);
}

KTAP_MAIN
