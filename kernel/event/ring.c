// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The memory of an event ring: a header and records in pages that user space
 * maps read-only, a head word in a page that it may write, and for each record
 * whose it is. Nothing that user space writes is believed further than its own
 * events.
 *
 * Locking: the caller's; see struct rca_ring. The words that both sides touch are
 * read and written with acquire and release.
 */
#include "event/ring.h"

#include <asm/barrier.h>
#include <kunit/visibility.h>
#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <rdma/rdma_cm_alt.h>

#include "handle/limits.h"

/* The header has its place before the first record. */
#define RECORDS_OFFSET sizeof(struct rdma_cm_alt_ring)
static_assert(RECORDS_OFFSET % 8 == 0);

/* That of the head word. */
#define HEAD_PAGES 1

/* Charged to whoever maps the ring; in the kernel's own mapping, as callbacks write there. */
#define RING_PAGE (GFP_KERNEL_ACCOUNT | __GFP_ZERO)

/**
 * rca_ring_bytes() - size of the mapping of the records
 * @entries: records
 * @record_size: bytes of each
 *
 * Context: any.
 * Return: whole pages.
 */
size_t rca_ring_bytes(u32 entries, u32 record_size)
{
	return PAGE_ALIGN(RECORDS_OFFSET + (size_t)entries * record_size);
}
EXPORT_SYMBOL_IF_KUNIT(rca_ring_bytes);

/**
 * rca_ring_alloc() - memory for a ring that is not in use
 * @account: what its pages are charged to; lives longer
 * @entries: records, a power of two up to RCA_RING_MAX
 * @record_size: bytes of each, a multiple of 8
 *
 * Context: process context; may sleep.
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
	ring->head_page = alloc_page(RING_PAGE);
	if (!ring->pages || !ring->head_page)
		goto err_free;
	for (i = 0; i < num; i++) {
		ring->pages[i] = alloc_page(RING_PAGE);
		if (!ring->pages[i])
			goto err_free;
		ring->num_pages++;
	}
	return ring;

err_free:
	rca_ring_free(ring);
	return ERR_PTR(-ENOMEM);
}
EXPORT_SYMBOL_IF_KUNIT(rca_ring_alloc);

/**
 * rca_ring_free() - give the memory of a ring back
 * @ring: a ring that is not in use, or NULL; mappings have references on their pages
 *
 * Context: process context, without a spinlock.
 */
void rca_ring_free(struct rca_ring *ring)
{
	unsigned int i;

	if (!ring)
		return;
	WARN_ON_ONCE(ring->mm);
	for (i = 0; i < ring->num_pages; i++)
		__free_page(ring->pages[i]);
	if (ring->head_page)
		__free_page(ring->head_page);
	rca_uncharge(ring->account, RDMA_CM_ALT_RESOURCE_RING_PAGES, ring->charged);
	kvfree(ring->pages);
	kvfree(ring);
}
EXPORT_SYMBOL_IF_KUNIT(rca_ring_free);

static struct rdma_cm_alt_ring *ring_header(const struct rca_ring *ring)
{
	return page_address(ring->pages[0]);
}

static u32 *head_word(const struct rca_ring *ring)
{
	return page_address(ring->head_page);
}

static struct rca_ring_slot *ring_slot(struct rca_ring *ring, u32 pos)
{
	return &ring->slots[pos & (ring->entries - 1)];
}

/**
 * rca_ring_reset() - empty a ring, for whoever maps it next
 * @ring: the ring
 *
 * Context: any.
 */
void rca_ring_reset(struct rca_ring *ring)
{
	struct rdma_cm_alt_ring *header = ring_header(ring);

	memset(ring->slots, 0, ring->entries * sizeof(ring->slots[0]));
	ring->head = 0;
	ring->tail = 0;
	ring->unread = 0;
	header->entries = ring->entries;
	header->record_size = ring->record_size;
	header->records_offset = RECORDS_OFFSET;
	WRITE_ONCE(header->tail, 0);
	WRITE_ONCE(*head_word(ring), 0);
}
EXPORT_SYMBOL_IF_KUNIT(rca_ring_reset);

/**
 * rca_ring_full() - is there no room for a record?
 * @ring: the ring
 *
 * Context: any.
 * Return: true when there is none until user space has taken one.
 */
bool rca_ring_full(const struct rca_ring *ring)
{
	return ring->tail - ring->head >= ring->entries;
}
EXPORT_SYMBOL_IF_KUNIT(rca_ring_full);

/* Pages that follow each other in the mapping do not do so here. @data NULL: zeros. */
static void ring_write(struct rca_ring *ring, size_t offset, const void *data, size_t len)
{
	while (len) {
		size_t in_page = offset_in_page(offset);
		size_t part = min_t(size_t, len, PAGE_SIZE - in_page);
		void *to = page_address(ring->pages[offset >> PAGE_SHIFT]) + in_page;

		if (data) {
			memcpy(to, data, part);
			data += part;
		} else {
			memset(to, 0, part);
		}
		offset += part;
		len -= part;
	}
}

static size_t record_offset(const struct rca_ring *ring, u32 pos)
{
	return RECORDS_OFFSET + (size_t)(pos & (ring->entries - 1)) * ring->record_size;
}

/**
 * rca_ring_put() - append a record
 * @ring: a ring that is not full
 * @data: the record
 * @len: bytes at @data; a longer one is cut off, a shorter one is filled up with zeros
 * @what: whose it is; not NULL
 * @type: its type
 *
 * Context: any.
 */
void rca_ring_put(struct rca_ring *ring, const void *data, u32 len, void *what, u32 type)
{
	size_t offset = record_offset(ring, ring->tail);

	len = min(len, ring->record_size);
	ring_write(ring, offset, data, len);
	ring_write(ring, offset + len, NULL, ring->record_size - len);
	*ring_slot(ring, ring->tail) = (struct rca_ring_slot) { .what = what, .type = type };
	ring->tail++;
	ring->unread++;
	/* The record is complete before user space sees that it is there. */
	smp_store_release(&ring_header(ring)->tail, ring->tail);
}
EXPORT_SYMBOL_IF_KUNIT(rca_ring_put);

/**
 * rca_ring_seen() - how far user space has come, as it says
 * @ring: the ring
 *
 * Context: any.
 * Return: a position from rca_ring.head to rca_ring.tail, whatever the head word says.
 */
u32 rca_ring_seen(const struct rca_ring *ring)
{
	/* What user space read before it stored the head is not overwritten after this. */
	u32 gone = smp_load_acquire(head_word(ring)) - ring->head;

	if ((s32)gone < 0)
		return ring->head;	/* it went back */
	return ring->head + min(gone, ring->tail - ring->head);
}
EXPORT_SYMBOL_IF_KUNIT(rca_ring_seen);

/**
 * rca_ring_next() - take the next record off that user space is done with
 * @ring: the ring
 * @seen: from rca_ring_seen()
 * @type: filled in: the record's type
 *
 * Context: any.
 * Return: whose record it was; NULL: there are no more up to @seen.
 */
void *rca_ring_next(struct rca_ring *ring, u32 seen, u32 *type)
{
	while (ring->head != seen) {
		struct rca_ring_slot *slot = ring_slot(ring, ring->head++);
		void *what = slot->what;

		slot->what = NULL;
		if (what) {
			*type = slot->type;
			ring->unread--;
			return what;
		}
	}
	return NULL;
}
EXPORT_SYMBOL_IF_KUNIT(rca_ring_next);

/**
 * rca_ring_invalidate_at() - take a record back that user space has not taken
 * @ring: the ring
 * @pos: its position, of which the low bits count
 *
 * It keeps its place and says RDMA_CM_ALT_EVENT_SKIP from now on.
 *
 * Context: any.
 */
void rca_ring_invalidate_at(struct rca_ring *ring, u32 pos)
{
	/* A record begins at a multiple of 8, so the word is in one page. */
	size_t offset = record_offset(ring, pos) + offsetof(struct rdma_cm_alt_event, type);
	u32 *type = page_address(ring->pages[offset >> PAGE_SHIFT]) + offset_in_page(offset);

	ring_slot(ring, pos)->what = NULL;
	ring->unread--;
	WRITE_ONCE(*type, RDMA_CM_ALT_EVENT_SKIP);
}
EXPORT_SYMBOL_IF_KUNIT(rca_ring_invalidate_at);

/**
 * rca_ring_invalidate() - rca_ring_invalidate_at() for all records of somebody
 * @ring: the ring; what user space is done with was taken off
 * @what: whose records
 *
 * Context: any. Looks at the whole ring.
 */
void rca_ring_invalidate(struct rca_ring *ring, const void *what)
{
	u32 pos;

	for (pos = ring->head; pos != ring->tail; pos++) {
		if (ring_slot(ring, pos)->what == what)
			rca_ring_invalidate_at(ring, pos);
	}
}
EXPORT_SYMBOL_IF_KUNIT(rca_ring_invalidate);
