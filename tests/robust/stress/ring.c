// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Rings of queues, well used and badly. Only processes of the group that may die map them: records
 * change while others destroy their ids, so nobody's accounts can be exact.
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stress.h"

#define RINGS 8
#define RING_ENTRIES 16

/* A ring of this process, under the lock: threads must not touch what another one unmaps. */
static struct {
	uint32_t queue;
	const struct rdma_cm_alt_ring *map;
	size_t bytes;
	uint32_t *head;
} rings[RINGS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pid_t owner;

static void ring_forget(int n)
{
	munmap((void *)rings[n].map, rings[n].bytes);
	munmap(rings[n].head, sizeof(__u32));
	rings[n].map = NULL;
}

static void ring_make(struct hand *hand, int n, uint32_t ctx)
{
	struct rdma_cm_alt_queue_create cmd = {
		.size = sizeof(cmd), .flags = RDMA_CM_ALT_QUEUE_NONBLOCK,
		.ring_entries = RING_ENTRIES,
	};
	uint32_t serial;
	int fd;

	if (call_ioctl(hand, CTX_FD(ctx), RDMA_CM_ALT_QUEUE_CREATE, &cmd))
		return;
	serial = __atomic_add_fetch(&world->queues, 1, __ATOMIC_RELAXED);
	if (serial >= MAX_QUEUES || dup3(cmd.out_fd, QUEUE_FD(serial), 0) < 0) {
		close(cmd.out_fd);
		return;
	}
	close(cmd.out_fd);
	world->queue_ctx[serial] = ctx;
	fd = QUEUE_FD(serial);
	rings[n].queue = serial;
	rings[n].bytes = cmd.out_ring_bytes;
	rings[n].head = mmap(NULL, sizeof(__u32), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			     cmd.out_head_offset);
	rings[n].map = mmap(NULL, cmd.out_ring_bytes, PROT_READ, MAP_SHARED, fd,
			    cmd.out_ring_offset);
	if (rings[n].head == MAP_FAILED || rings[n].map == MAP_FAILED) {
		complain("a ring cannot be mapped: %m");
		rings[n].map = NULL;
		return;
	}
	world->queue_slots[DIRTY][serial % QUEUE_SLOTS] = serial;
}

static void ring_take(int n, uint32_t clock)
{
	const struct rdma_cm_alt_ring *map = rings[n].map;
	uint32_t pos = *rings[n].head, tail = __atomic_load_n(&map->tail, __ATOMIC_ACQUIRE);
	event_t ev;

	if (tail - pos > RING_ENTRIES)
		return;		/* it was given a bad head before */
	for (; pos != tail; pos++) {
		memcpy(&ev, (const char *)map + map->records_offset +
		       (size_t)(pos % RING_ENTRIES) * map->record_size, sizeof(ev));
		if (ev.type != RDMA_CM_ALT_EVENT_SKIP)
			oracle_seen(world->queue_ctx[rings[n].queue], &ev, clock, false);
	}
	__atomic_store_n(rings[n].head, tail, __ATOMIC_RELEASE);
}

void ring_random(struct hand *hand, uint32_t ctx, struct draw *draw)
{
	int n = draw->b % RINGS;

	/* After fork() the mappings are not there, and another thread may have had the lock. */
	if (pthread_mutex_trylock(&lock))
		return;
	if (owner != getpid()) {
		memset(rings, 0, sizeof(rings));
		owner = getpid();
	}
	if (!rings[n].map)
		ring_make(hand, n, ctx);
	else if (draw->c % 16 == 0)
		ring_forget(n);
	else if (draw->c % 16 == 1)
		__atomic_store_n(rings[n].head, draw->d, __ATOMIC_RELEASE);
	else
		ring_take(n, __atomic_load_n(&world->clock, __ATOMIC_SEQ_CST));
	pthread_mutex_unlock(&lock);
}
