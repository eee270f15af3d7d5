/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Queues with a mapped ring, as user space is to use them, for tests of the ioctls. */
#ifndef RCA_RING_TEST_H
#define RCA_RING_TEST_H

#include "rca_test.h"

/**
 * struct ring - a queue and its ring
 * @geometry: what QUEUE_CREATE said
 * @queue: its descriptor
 * @map: the mapping of the records; NULL: not mapped
 * @head: the head word; NULL: not mapped
 * @pos: the next record
 */
struct ring {
	struct rdma_cm_alt_queue_create geometry;
	int queue;
	const struct rdma_cm_alt_ring *map;
	uint32_t *head;
	uint32_t pos;
};

/* A queue whose ring is not mapped yet; the kernel's record size. */
void ring_create(int ctx, struct ring *ring, uint32_t entries);
/* Maps both parts. */
void ring_map(struct ring *ring);
/* Unmaps the records. */
void ring_unmap(struct ring *ring);
/* A queue with its ring mapped. */
struct ring get_ring(int ctx, uint32_t entries);
/* The next record that is an event; false: there is none in the ring. Stores the head. */
bool ring_look(struct ring *ring, event_t *ev);
bool ring_take(struct ring *ring, event_t *ev);
/* The next event, wherever it is; fails the test when none comes in time. */
void ring_event(struct ring *ring, event_t *ev);

/* A user event, whose argument is a number that the test knows it by. */
int post_number(int ctx, uint32_t id, uint64_t number);
/* The same for @count numbers from @first on. */
void post_numbers(int ctx, uint32_t id, int first, int count);
/* The next event is in the ring and has this number, or there is none. */
void expect_number(struct ring *ring, uint32_t id, int number);
void expect_empty(struct ring *ring);
/* read() gives this event itself; or nothing waits anywhere: the queue does not block then. */
void expect_read(int queue, uint32_t id, int number);
void expect_nothing(int queue);

#endif /* RCA_RING_TEST_H */
