/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Event queues with a mapped ring, used as user space should. */
#ifndef RCA_RING_TEST_H
#define RCA_RING_TEST_H

#include "rca_test.h"

/**
 * struct ring - a queue and its ring
 * @geometry: the result of QUEUE_CREATE
 * @queue: the queue's descriptor
 * @map: the mapping of the records; NULL: not mapped
 * @head: the head word; NULL: not mapped
 * @pos: number of the next record
 */
struct ring {
	struct rdma_cm_alt_queue_create geometry;
	int queue;
	const struct rdma_cm_alt_ring *map;
	uint32_t *head;
	uint32_t pos;
};

/* Create a queue with the kernel's record size. Its ring is not mapped yet. */
void ring_create(int ctx, struct ring *ring, uint32_t entries);
/* Map the records, and the head. */
void ring_map(struct ring *ring);
/* Unmap the records. */
void ring_unmap(struct ring *ring);
/* A queue with its ring mapped. */
struct ring get_ring(int ctx, uint32_t entries);
/* The next event of the ring; false: there is none. The second function stores the head. */
bool ring_look(struct ring *ring, event_t *ev);
bool ring_take(struct ring *ring, event_t *ev);
/* The next event, from the ring or by read(). Fails the test when none comes in time. */
void ring_event(struct ring *ring, event_t *ev);

/* Post a user event with this number as its argument. */
int post_number(int ctx, uint32_t id, uint64_t number);
/* The same for @count numbers from @first on. */
void post_numbers(int ctx, uint32_t id, int first, int count);
/* The next event is in the ring and has this number; the ring is empty. */
void expect_number(struct ring *ring, uint32_t id, int number);
void expect_empty(struct ring *ring);
/* read() returns this event; the queue has no event. The second makes the queue non-blocking. */
void expect_read(int queue, uint32_t id, int number);
void expect_nothing(int queue);

#endif /* RCA_RING_TEST_H */
