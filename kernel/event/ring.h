/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The memory of an event ring: pages that are shared with user space, and what lies there. */
#ifndef RCA_RING_H
#define RCA_RING_H

#include <linux/types.h>

struct mm_struct;
struct page;
struct rca_account;

/** RCA_RING_MAX - the most records that a ring may have */
#define RCA_RING_MAX 1024

/**
 * struct rca_ring_slot - what the kernel knows of a record that lies in the ring
 * @what: whose record it is; NULL: it was taken back, and says RDMA_CM_ALT_EVENT_SKIP
 * @type: the record's type
 */
struct rca_ring_slot {
	void *what;
	u32 type;
};

/**
 * struct rca_ring - a ring of records
 * @account: what its pages are charged to (immutable)
 * @charged: how many (immutable)
 * @entries: records that fit, a power of two (immutable)
 * @record_size: bytes from one record to the next (immutable)
 * @num_pages: pages of @pages (immutable)
 * @pages: struct rdma_cm_alt_ring and the records, which user space reads (immutable)
 * @head_page: has the head word, which user space writes (immutable)
 * @mm: who has the records mapped; NULL: nobody, the ring is not in use
 * @maps: mappings of the records; there are two for a moment when one is being moved
 * @head: how far user space has come: our copy of its word, which only advances
 * @tail: where the next record goes; both count on, their low bits are the slot
 * @unread: slots from @head to @tail that have a record of somebody
 * @slots: by the low bits of the position
 *
 * What is not immutable is protected by the lock of the queue that has the ring.
 */
struct rca_ring {
	struct rca_account *account;
	unsigned int charged;
	u32 entries;
	u32 record_size;
	unsigned int num_pages;
	struct page **pages;
	struct page *head_page;
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
bool rca_ring_full(const struct rca_ring *ring);
void rca_ring_put(struct rca_ring *ring, const void *data, u32 len, void *what, u32 type);
u32 rca_ring_seen(const struct rca_ring *ring);
void *rca_ring_next(struct rca_ring *ring, u32 seen, u32 *type);
void rca_ring_invalidate_at(struct rca_ring *ring, u32 pos);
void rca_ring_invalidate(struct rca_ring *ring, const void *what);

#endif /* RCA_RING_H */
