// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Memory of an event ring: a header and records in pages that user space maps read-only, a head
 * word in a page that it may write, and the owner of each record. A bad head word can only
 * affect the events of the process that has written it.
 *
 * Locking: by the caller, see struct rca_ring. Words that both sides access are read with acquire
 * and written with release semantics.
 */
#include "event/queue.h"

#include <asm/barrier.h>
#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <rdma/rdma_cm_alt.h>

#include "ctx/ctx.h"

/* The records follow the header. */
#define RECORDS_OFFSET sizeof(struct rdma_cm_alt_ring)
static_assert(RECORDS_OFFSET % 8 == 0);

/* The page of the head word. */
#define HEAD_PAGES 1

/* Charged to the process that maps the ring; not highmem, because callbacks write records. */
#define RING_PAGE (GFP_KERNEL_ACCOUNT | __GFP_ZERO)

/* Size of the mapping of the records, in whole pages. */
size_t rca_ring_bytes(u32 entries, u32 record_size)
{
	return PAGE_ALIGN(RECORDS_OFFSET + (size_t)entries * record_size);
}

/**
 * rca_ring_alloc() - allocate a ring that is not in use
 * @account: account that its pages are charged to; must outlive the ring
 * @entries: number of records, a power of two up to RCA_RING_MAX
 * @record_size: bytes per record, a multiple of 8
 *
 * Context: Process context. May sleep.
 * Return: the ring, for rca_ring_free(); -EDQUOT: too many pages; -ENOMEM.
 */
struct rca_ring *rca_ring_alloc(struct rca_account *account, u32 entries, u32 record_size)
{
	unsigned int i, num = rca_ring_bytes(entries, record_size) >> PAGE_SHIFT;
	struct rca_ring *ring;
	int ret;

	ret = rca_charge(account, RDMA_CM_ALT_RESOURCE_RING_PAGES, num + HEAD_PAGES);
	if (ret)
		return ERR_PTR(ret);
	ring = kvzalloc(struct_size(ring, slots, entries), GFP_KERNEL_ACCOUNT);
	if (!ring) {
		rca_uncharge(account, RDMA_CM_ALT_RESOURCE_RING_PAGES, num + HEAD_PAGES);
		return ERR_PTR(-ENOMEM);
	}
	ring->account = account;
	ring->charged = num + HEAD_PAGES;
	ring->entries = entries;
	ring->record_size = record_size;
	ring->pages = kvcalloc(num, sizeof(*ring->pages), GFP_KERNEL_ACCOUNT);
	ring->head_word = (u32 *)__get_free_page(RING_PAGE);
	if (!ring->pages || !ring->head_word)
		goto err_free;
	for (i = 0; i < num; i++) {
		ring->pages[i] = alloc_page(RING_PAGE);
		if (!ring->pages[i])
			goto err_free;
		ring->num_pages++;
	}
	ring->header = page_address(ring->pages[0]);
	return ring;

err_free:
	rca_ring_free(ring);
	return ERR_PTR(-ENOMEM);
}

/**
 * rca_ring_free() - free a ring
 * @ring: a ring that is not in use, or NULL; mappings hold references on their pages
 *
 * Context: Process context, without a spinlock.
 */
void rca_ring_free(struct rca_ring *ring)
{
	unsigned int i;

	if (!ring)
		return;
	WARN_ON_ONCE(ring->mm);
	for (i = 0; i < ring->num_pages; i++)
		__free_page(ring->pages[i]);
	free_page((unsigned long)ring->head_word);
	rca_uncharge(ring->account, RDMA_CM_ALT_RESOURCE_RING_PAGES, ring->charged);
	kvfree(ring->pages);
	kvfree(ring);
}

/* Empty a ring for its next mapping. */
void rca_ring_reset(struct rca_ring *ring)
{
	struct rdma_cm_alt_ring *header = ring->header;

	memset(ring->slots, 0, ring->entries * sizeof(ring->slots[0]));
	ring->head = 0;
	ring->tail = 0;
	WRITE_ONCE(ring->unread, 0);
	header->entries = ring->entries;
	header->record_size = ring->record_size;
	header->records_offset = RECORDS_OFFSET;
	WRITE_ONCE(header->tail, 0);
	WRITE_ONCE(*ring->head_word, 0);
}

static size_t record_offset(const struct rca_ring *ring, u32 pos)
{
	return RECORDS_OFFSET + (size_t)(pos & (ring->entries - 1)) * ring->record_size;
}

/*
 * Append a record of @len bytes to a ring that is not full: truncated to the size of its records,
 * or padded with zeros. @what, not NULL, is its owner.
 */
void rca_ring_put(struct rca_ring *ring, const void *data, u32 len, void *what, u32 type)
{
	size_t offset = record_offset(ring, ring->tail), left = ring->record_size;
	size_t in_page, part, filled;
	void *to;

	/* The pages are not contiguous in the kernel. */
	while (left) {
		in_page = offset_in_page(offset);
		part = min_t(size_t, left, PAGE_SIZE - in_page);
		filled = min_t(size_t, len, part);
		to = page_address(ring->pages[offset >> PAGE_SHIFT]) + in_page;
		memcpy(to, data, filled);
		memset(to + filled, 0, part - filled);
		data += filled;
		len -= filled;
		offset += part;
		left -= part;
	}
	*rca_ring_slot(ring, ring->tail) = (struct rca_ring_slot) { .what = what, .type = type };
	ring->tail++;
	WRITE_ONCE(ring->unread, ring->unread + 1);
	/* Complete the record before user space can see it. */
	smp_store_release(&ring->header->tail, ring->tail);
}

/*
 * Invalidate the record at a position, of which only the low bits count, that user space has not
 * taken. The record keeps its slot, and its type becomes RDMA_CM_ALT_EVENT_SKIP.
 */
void rca_ring_invalidate_at(struct rca_ring *ring, u32 pos)
{
	/* Records start at a multiple of 8, so the word does not cross a page. */
	size_t offset = record_offset(ring, pos) + offsetof(struct rdma_cm_alt_event, type);
	u32 *type = page_address(ring->pages[offset >> PAGE_SHIFT]) + offset_in_page(offset);

	rca_ring_slot(ring, pos)->what = NULL;
	WRITE_ONCE(ring->unread, ring->unread - 1);
	WRITE_ONCE(*type, RDMA_CM_ALT_EVENT_SKIP);
}

/*
 * Invalidate all records of an owner, which searches the whole ring. Records that user space has
 * taken were removed.
 */
void rca_ring_invalidate(struct rca_ring *ring, const void *what)
{
	u32 pos;

	for (pos = ring->head; pos != ring->tail; pos++) {
		if (rca_ring_slot(ring, pos)->what == what)
			rca_ring_invalidate_at(ring, pos);
	}
}
