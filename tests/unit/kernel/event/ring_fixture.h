/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A mapped ring and its user, for the tests of rings. */
#ifndef RCA_RING_FIXTURE_H
#define RCA_RING_FIXTURE_H
#include <kunit/test.h>
#include <linux/mm.h>

#include "event/queue.h"
#include "event/events_fixture.h"

#define ENTRIES 8
#define NO_EVENT (-1)

/* The user space side of a ring. */
struct ring_user {
	struct rca_ring *ring;
	u32 pos;
	struct rdma_cm_alt_event rec;
};

static inline const struct rdma_cm_alt_ring *header(const struct rca_ring *ring)
{
	return page_address(ring->pages[0]);
}

static inline void store_head(struct rca_ring *ring, u32 head)
{
	/* Pairs with rca_ring_seen(). */
	smp_store_release(ring->head_word, head);
}

static inline void read_record(struct ring_user *user)
{
	struct rca_ring *ring = user->ring;
	size_t offset = header(ring)->records_offset +
			(size_t)(user->pos % ring->entries) * ring->record_size;
	size_t i;

	for (i = 0; i < sizeof(user->rec) && i < ring->record_size; i++, offset++)
		((u8 *)&user->rec)[i] = *((u8 *)page_address(ring->pages[offset >> PAGE_SHIFT]) +
					  offset_in_page(offset));
}

/* Take the next event, and store the head. Returns the type of the event, or NO_EVENT. */
static noinline int take(struct ring_user *user)
{
	int type = NO_EVENT;

	/* Pairs with rca_ring_put(). */
	while (type < 0 && user->pos != smp_load_acquire(&header(user->ring)->tail)) {
		read_record(user);
		user->pos++;
		if (user->rec.type != RDMA_CM_ALT_EVENT_SKIP)
			type = user->rec.type;
	}
	store_head(user->ring, user->pos);
	return type;
}

/* Not inline, as take(): with KASAN each copy would have its own space in the frame of a test. */
static noinline struct ring_user map_ring(struct kunit *test, struct rca_queue *queue)
{
	queue->ring_entries = ENTRIES;
	if (!queue->ring)
		queue->ring = rca_ring_alloc(&queue->ctx->account, ENTRIES, queue->record_size);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, queue->ring);
	KUNIT_ASSERT_EQ(test, 0, rca_queue_ring_start(queue, queue->ring, current->mm ?:
						      (void *)queue));
	return (struct ring_user) { .ring = queue->ring };
}

#endif /* RCA_RING_FIXTURE_H */
