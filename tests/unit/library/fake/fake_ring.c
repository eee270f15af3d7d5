// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Rings of the fake kernel's queues, as the uAPI describes them: memory that the library takes
 * for a mapping.
 *
 * Locking: that of the fake kernel.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "fake/fake_ring.h"

#define RINGS 16
#define HEAD_OFFSET 0x100000
#define HEADER sizeof(struct rdma_cm_alt_ring)

static struct ring {
	bool used;
	bool mapped;
	bool lies;
	int fd;
	__u32 entries;
	__u32 record_size;
	__u32 head;			/* our copies */
	__u32 tail;
	__u32 *head_word;
	struct rdma_cm_alt_ring *map;
} rings[RINGS];

static struct ring *find_ring(int fd)
{
	struct ring *ring;

	for (ring = rings; ring < rings + RINGS; ring++) {
		if (ring->used && ring->fd == fd)
			return ring;
	}
	return NULL;
}

static size_t bytes(const struct ring *ring)
{
	return HEADER + (size_t)ring->entries * ring->record_size;
}

static struct rdma_cm_alt_event *record(const struct ring *ring, __u32 pos)
{
	return (void *)((__u8 *)ring->map + HEADER +
			(size_t)(pos % ring->entries) * ring->record_size);
}

/* A kernel may have short records. */
static size_t record_bytes(const struct ring *ring)
{
	size_t most = sizeof(struct rdma_cm_alt_event);

	return ring->record_size < most ? ring->record_size : most;
}

static void load_record(const struct ring *ring, __u32 pos, struct rdma_cm_alt_event *event)
{
	memset(event, 0, sizeof(*event));
	memcpy(event, record(ring, pos), record_bytes(ring));
}

/* The owner is the id to which the event belongs. */
static __u32 owner_of(const struct rdma_cm_alt_event *event)
{
	return event->listen_id ? event->listen_id : event->id;
}

void fake_ring_create(struct rdma_cm_alt_queue_create *cmd, __u32 record_size)
{
	struct ring *ring = rings;

	fake_ring_close(cmd->out_fd);
	while (ring < rings + RINGS && ring->used)
		ring++;
	assert(ring < rings + RINGS);
	*ring = (struct ring) {
		.used = true, .fd = cmd->out_fd, .entries = cmd->ring_entries,
		.record_size = record_size,
	};
	ring->map = calloc(1, bytes(ring));
	ring->head_word = calloc(1, sizeof(*ring->head_word));
	assert(ring->map && ring->head_word);
	cmd->out_ring_bytes = (__u32)bytes(ring);
	cmd->out_head_offset = HEAD_OFFSET;
	cmd->out_record_size = record_size;
}

void *fake_ring_map(int fd, size_t len, __u64 offset)
{
	struct ring *ring = find_ring(fd);

	if (!ring)
		return NULL;
	if (offset == HEAD_OFFSET)
		return ring->head_word;
	if (offset || len != bytes(ring))
		return NULL;
	assert(!ring->mapped);
	ring->mapped = true;
	ring->head = 0;
	ring->tail = 0;
	*ring->head_word = 0;
	*ring->map = (struct rdma_cm_alt_ring) {
		.entries = ring->entries, .record_size = ring->record_size,
		.records_offset = HEADER,
	};
	return ring->map;
}

int fake_ring_owner(const void *map)
{
	struct ring *ring;

	for (ring = rings; ring < rings + RINGS; ring++) {
		if (ring->used && ring->map == map)
			return ring->fd;
	}
	return -1;
}

/* As if the record had been taken, although it was not. */
bool fake_ring_take_back(int fd, struct rdma_cm_alt_event *event)
{
	struct ring *ring = find_ring(fd);

	while (ring && ring->mapped && ring->head != ring->tail) {
		load_record(ring, ring->head++, event);
		if (event->type != RDMA_CM_ALT_EVENT_SKIP)
			return true;
	}
	return false;
}

void fake_ring_stop(int fd)
{
	find_ring(fd)->mapped = false;
}

void fake_ring_close(int fd)
{
	struct ring *ring = find_ring(fd);

	if (!ring)
		return;
	free(ring->map);
	free(ring->head_word);
	ring->used = false;
}

bool fake_ring_has_room(int fd)
{
	struct ring *ring = find_ring(fd);

	return ring && ring->mapped && ring->tail - ring->head < ring->entries;
}

bool fake_ring_put(int fd, const struct rdma_cm_alt_event *event)
{
	struct ring *ring = find_ring(fd);

	if (!fake_ring_has_room(fd))
		return false;
	memcpy(record(ring, ring->tail++), event, record_bytes(ring));
	__atomic_store_n(&ring->map->tail, ring->tail, __ATOMIC_RELEASE);
	return true;
}

bool fake_ring_reap(int fd, struct rdma_cm_alt_event *event)
{
	struct ring *ring = find_ring(fd);
	__u32 seen;

	if (!ring || !ring->mapped)
		return false;
	seen = __atomic_load_n(ring->head_word, __ATOMIC_ACQUIRE);
	if (seen - ring->head > ring->tail - ring->head) {
		assert(ring->lies);
		seen = (__s32)(seen - ring->head) < 0 ? ring->head : ring->tail;
	}
	while (ring->head != seen) {
		load_record(ring, ring->head++, event);
		if (event->type != RDMA_CM_ALT_EVENT_SKIP)
			return true;
	}
	return false;
}

bool fake_ring_unread(int fd)
{
	struct ring *ring = find_ring(fd);
	__u32 pos;

	if (!ring || !ring->mapped)
		return false;
	for (pos = ring->head; pos != ring->tail; pos++) {
		if (record(ring, pos)->type != RDMA_CM_ALT_EVENT_SKIP)
			return true;
	}
	return false;
}

/* Without atomics: the library must keep its own threads away meanwhile. */
void fake_ring_void(int fd, __u32 owner, __u32 member)
{
	struct ring *ring = find_ring(fd);
	__u32 pos;

	if (!ring || !ring->mapped)
		return;
	for (pos = ring->head; pos != ring->tail; pos++) {
		struct rdma_cm_alt_event *event = record(ring, pos);

		if (owner_of(event) == owner && (!member || event->member == member))
			__atomic_store_n(&event->type, RDMA_CM_ALT_EVENT_SKIP, __ATOMIC_RELAXED);
	}
}

struct rdma_cm_alt_ring *fake_ring_header(int fd)
{
	struct ring *ring = find_ring(fd);

	if (!ring || !ring->mapped)
		return NULL;
	ring->lies = true;
	return ring->map;
}

bool fake_ring_mapped(int fd)
{
	struct ring *ring = find_ring(fd);

	return ring && ring->mapped;
}
