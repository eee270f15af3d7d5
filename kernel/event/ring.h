/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Memory of an event ring: pages that are shared with user space, and the owners of records. */
#ifndef RCA_RING_H
#define RCA_RING_H

#include <asm/barrier.h>
#include <linux/minmax.h>
#include <linux/types.h>

struct mm_struct;
struct page;
struct rca_account;
struct rdma_cm_alt_ring;

/** RCA_RING_MAX - most records of a ring */
#define RCA_RING_MAX 1024

/**
 * struct rca_ring_slot - a slot of the ring, as the kernel keeps it
 * @what: owner of the record; NULL: the record was invalidated (RDMA_CM_ALT_EVENT_SKIP)
 * @type: type of the record
 */
struct rca_ring_slot {
	void *what;
	u32 type;
};

/**
 * struct rca_ring - a ring of records
 * @account: account that its pages are charged to (immutable)
 * @charged: number of charged pages (immutable)
 * @entries: number of slots, a power of two (immutable)
 * @record_size: bytes per record (immutable)
 * @num_pages: number of @pages (immutable)
 * @pages: struct rdma_cm_alt_ring and the records; read by user space (immutable)
 * @header: the start of the first of @pages (immutable)
 * @head_word: a page that starts with the head word; written by user space (immutable)
 * @mm: address space that has the records mapped; NULL: the ring is not in use (also read without
 *      the lock)
 * @maps: mappings of the records; briefly two while one is moved
 * @head: position that user space has reached: a checked copy of its word, which only advances
 * @tail: position of the next record; positions count up, their low bits are the slot
 * @unread: slots from @head to @tail whose record is valid (also read without the lock)
 * @slots: indexed by the low bits of the position
 *
 * Members that are not immutable are protected by the lock of the queue.
 */
struct rca_ring {
	struct rca_account *account;
	unsigned int charged;
	u32 entries;
	u32 record_size;
	unsigned int num_pages;
	struct page **pages;
	struct rdma_cm_alt_ring *header;
	u32 *head_word;
	struct mm_struct *mm;
	unsigned int maps;
	u32 head;
	u32 tail;
	u32 unread;
	struct rca_ring_slot slots[] __counted_by(entries);
};

size_t rca_ring_bytes(u32 entries, u32 record_size);
struct rca_ring *rca_ring_alloc(struct rca_account *account, u32 entries, u32 record_size);
void rca_ring_free(struct rca_ring *ring);
void rca_ring_reset(struct rca_ring *ring);
void rca_ring_put(struct rca_ring *ring, const void *data, u32 len, void *what, u32 type);
void rca_ring_invalidate_at(struct rca_ring *ring, u32 pos);
void rca_ring_invalidate(struct rca_ring *ring, const void *what);

static inline struct rca_ring_slot *rca_ring_slot(struct rca_ring *ring, u32 pos)
{
	return &ring->slots[pos & (ring->entries - 1)];
}

/* Is there no free slot until user space takes a record? */
static inline bool rca_ring_full(const struct rca_ring *ring)
{
	return ring->tail - ring->head >= ring->entries;
}

/**
 * rca_ring_seen() - read the position that user space has reached
 * @ring: the ring
 *
 * Context: Any context.
 * Return: a position from rca_ring.head to rca_ring.tail, for any value of the head word.
 */
static inline u32 rca_ring_seen(const struct rca_ring *ring)
{
	/* Slots that user space has read before it stored the head may be reused after this. */
	u32 gone = smp_load_acquire(ring->head_word) - ring->head;

	if ((s32)gone < 0)
		return ring->head;	/* the word went backwards */
	return ring->head + min(gone, ring->tail - ring->head);
}

/**
 * rca_ring_next() - remove the next record that user space has taken
 * @ring: the ring
 * @seen: from rca_ring_seen()
 * @type: set to the type of the record
 *
 * Context: Any context.
 * Return: owner of the record; NULL: no more records up to @seen.
 */
static inline void *rca_ring_next(struct rca_ring *ring, u32 seen, u32 *type)
{
	while (ring->head != seen) {
		struct rca_ring_slot *slot = rca_ring_slot(ring, ring->head++);
		void *what = slot->what;

		slot->what = NULL;
		if (what) {
			*type = slot->type;
			WRITE_ONCE(ring->unread, ring->unread - 1);
			return what;
		}
	}
	return NULL;
}

#endif /* RCA_RING_H */
