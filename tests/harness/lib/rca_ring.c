// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Queues with a mapped ring, for tests of the ioctls. */
#include "rca_ring.h"

void ring_create(int ctx, struct ring *ring, uint32_t entries)
{
	*ring = (struct ring) {
		.geometry = { .size = sizeof(ring->geometry), .ring_entries = entries },
	};
	EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_QUEUE_CREATE, &ring->geometry), 0);
	ring->queue = ring->geometry.out_fd;
}

void ring_map(struct ring *ring)
{
	const struct rdma_cm_alt_queue_create *geo = &ring->geometry;

	if (!ring->head)
		ring->head = MUST(mmap(NULL, sizeof(__u32), PROT_READ | PROT_WRITE, MAP_SHARED,
				       ring->queue, geo->out_head_offset));
	ring->map = MUST(mmap(NULL, geo->out_ring_bytes, PROT_READ, MAP_SHARED, ring->queue,
			      geo->out_ring_offset));
	ring->pos = 0;
}

void ring_unmap(struct ring *ring)
{
	MUST(munmap((void *)ring->map, ring->geometry.out_ring_bytes));
	ring->map = NULL;
}

struct ring get_ring(int ctx, uint32_t entries)
{
	struct ring ring;

	ring_create(ctx, &ring, entries);
	ring_map(&ring);
	return ring;
}

/* Skips records that the kernel has taken back. The caller stores the head. */
static bool next_record(struct ring *ring, event_t *ev)
{
	const struct rdma_cm_alt_ring *map = ring->map;
	const uint8_t *records = (const uint8_t *)map + map->records_offset;

	while (ring->pos != __atomic_load_n(&map->tail, __ATOMIC_ACQUIRE)) {
		memcpy(ev, records + ring->pos % map->entries * map->record_size, sizeof(*ev));
		if (ev->type != RDMA_CM_ALT_EVENT_SKIP)
			return true;
		ring->pos++;
	}
	return false;
}

bool ring_look(struct ring *ring, event_t *ev)
{
	return next_record(ring, ev);
}

bool ring_take(struct ring *ring, event_t *ev)
{
	bool found = next_record(ring, ev);

	ring->pos += found;
	__atomic_store_n(ring->head, ring->pos, __ATOMIC_RELEASE);
	return found;
}

void ring_event(struct ring *ring, event_t *ev)
{
	ssize_t len;

	while (!ring_take(ring, ev)) {
		if (!event_comes(ring->queue, PATIENCE))
			ktap_fail(__FILE__, __LINE__, "no event came");
		len = MUST(read(ring->queue, ev, sizeof(*ev)));
		if (len)
			return;
	}
}

int post_number(int ctx, uint32_t id, uint64_t number)
{
	struct rdma_cm_alt_post_event cmd = {
		.size = sizeof(cmd), .id = id, .type = RDMA_CM_ALT_EVENT_USER, .arg = number,
	};

	return rca_call(ctx, RDMA_CM_ALT_POST_EVENT, &cmd);
}

void post_numbers(int ctx, uint32_t id, int first, int count)
{
	for (int i = first; i < first + count; i++)
		EXPECT_EQ(post_number(ctx, id, i), 0);
}

void expect_number(struct ring *ring, uint32_t id, int number)
{
	event_t ev;

	EXPECT(ring_take(ring, &ev));
	EXPECT_EQ(ev.type, RDMA_CM_ALT_EVENT_USER);
	EXPECT_EQ(ev.id, id);
	EXPECT_EQ(ev.user_arg, number);
}

void expect_empty(struct ring *ring)
{
	event_t ev;

	EXPECT(!ring_take(ring, &ev));
}

void expect_read(int queue, uint32_t id, int number)
{
	event_t ev;

	EXPECT_EQ(MUST(read(queue, &ev, sizeof(ev))), sizeof(ev));
	EXPECT_EQ(ev.type, RDMA_CM_ALT_EVENT_USER);
	EXPECT_EQ(ev.id, id);
	EXPECT_EQ(ev.user_arg, number);
}

static void set_nonblock(int queue)
{
	MUST(fcntl(queue, F_SETFL, MUST(fcntl(queue, F_GETFL)) | O_NONBLOCK));
}

void expect_nothing(int queue)
{
	event_t ev;

	EXPECT(!event_waits(queue));
	set_nonblock(queue);
	EXPECT_EQ(read(queue, &ev, sizeof(ev)), -1);
	EXPECT_EQ(errno, EAGAIN);
}
