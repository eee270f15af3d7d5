/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Memory of an event ring: pages that are shared with user space, and the owners of records. */
#ifndef RCA_RING_H
#define RCA_RING_H

#include <linux/types.h>

struct mm_struct;
struct page;
struct rca_account;

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
 * @head_page: the head word; written by user space (immutable)
 * @mm: address space that has the records mapped; NULL: the ring is not in use
 * @maps: mappings of the records; briefly two while one is moved
 * @head: position that user space has reached: a checked copy of its word, which only advances
 * @tail: position of the next record; positions count up, their low bits are the slot
 * @unread: slots from @head to @tail whose record is valid
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
