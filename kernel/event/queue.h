/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Event queues and their rings: for the front ends, which create and read them. */
#ifndef RCA_EVENT_QUEUE_H
#define RCA_EVENT_QUEUE_H

#include <asm/barrier.h>
#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/poll.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>

#include "event/event.h"

struct mm_struct;
struct page;
struct rdma_cm_alt_ring;

/**
 * DOC: Delivery
 *
 * An event is an item of one queue and of one source (its id). The item stays on
 * both lists until its record was copied to user space. A reader *peeks*, which
 * copies the record of the first item to kernel memory, then copies that to user
 * space, and then *consumes* the item. Readers of a queue take turns
 * (&rca_queue.reading). Nothing else waits for a reader: an item that was dropped
 * or moved while its record was copied is not consumed, and the reader takes the
 * next item in place of it. So the count of delivered events that destroy and move
 * return is exact.
 *
 * An event with data that an operation causes is a &struct rca_event, allocated by the
 * operation. An event without (established, disconnected, removal, ...) is a *notice*,
 * which is pending once for each type. The first one that is pending is an item of its
 * source; one that is posted meanwhile is a small &struct rca_event, so events are
 * delivered in the order in which they were posted, each with its own status.
 * Without memory it is merged into the item of the source, and its place in the
 * order is lost, but not the event.
 *
 * While user space has the ring of the queue mapped, the records of the next items
 * are also in the ring. Posting, polling and reading put them there. The items
 * remain queued until the head word has passed their records. The next call that
 * looks at the ring then *reaps* them, and they count as delivered. An item that is
 * dropped or moved before that has its records invalidated (&rca_item.placed). A
 * connection request is put into the ring only with the consume mutex held, because
 * its new id is published first. Nothing is put into the ring while a thread sleeps
 * in read() or copies a record: the thread gets the next event.
 *
 * Lock order: &rca_queue.reading, &rca_queue.consume (of two queues: by address),
 * the source's spinlock (rca_source_lock()), &rca_queue.lock.
 */

/**
 * struct rca_queue - an event queue
 * @ref: references: the file, each source
 * @ctx: the context (immutable; holds a reference)
 * @node: with a file: entry in &rca_ctx.queues (lock: rca_ctx.queues_lock)
 * @serial: with a file: serial number in the context, from 1 (immutable)
 * @netns: cookie of the network namespace of the process that created the queue; never reused
 *         (immutable)
 * @reading: serialises readers; held during copies to user space, so only readers take it
 * @consume: serialises the end of delivery, dropping and moving; never held while user memory is
 *           accessed
 * @lock: protects the lists; taken after the lock of a source
 * @items: undelivered items that are not, or not completely, in the ring, in order (lock: @lock)
 * @placed: undelivered items before @items, completely in the ring (lock: @lock)
 * @sources: the sources that post to the queue (lock: @lock)
 * @wait: readers and pollers
 * @record_size: bytes per record for read() (immutable)
 * @ring_entries: number of records in the ring; 0: no ring (immutable once the queue has a file)
 * @ring: allocated by the first mapping, NULL before (lock: @lock; also read without)
 * @readers: number of threads that wait in read() (lock: @lock)
 * @waiting: undelivered events, in the ring or not; each pending event of a notice counts (lock:
 *           @lock)
 * @num_sources: number of @sources (lock: @lock)
 * @held: the item whose record the holder of @reading copies; it is the first of @items, and
 *        must not be put into the ring. NULL: none, or it was dropped or moved (lock: @lock)
 * @closed: no further source may be attached (lock: @lock)
 * @has_file: user space has a file descriptor; else the private queue of one id (immutable)
 * @needs_cookie: events of a source without a cookie are dropped, except connection requests
 *                (set before the first source is attached)
 */
struct rca_queue {
	refcount_t ref;
	struct rca_ctx *ctx;
	struct list_head node;
	u32 serial;
	u64 netns;
	struct mutex reading;
	struct mutex consume;
	spinlock_t lock;
	struct list_head items;
	struct list_head placed;
	struct list_head sources;
	wait_queue_head_t wait;
	u32 record_size;
	u32 ring_entries;
	struct rca_ring *ring;
	unsigned int readers;
	u32 waiting;
	u32 num_sources;
	struct rca_item *held;
	bool closed;
	bool has_file;
	bool needs_cookie;
};

/**
 * struct rca_delivery - an event that is being delivered
 * @rec: its record
 * @len: bytes of @rec to copy to user space; the rest of the record is zero
 * @item: the item, for comparison only: it may be dropped and freed meanwhile
 * @child_queue: queue for a new id; NULL: the queue of the event
 * @has_child: the event has a new id that is not published yet
 * @in_ring: nothing to deliver, because the next event is in the ring
 */
struct rca_delivery {
	struct rdma_cm_alt_event rec;
	u32 len;
	struct rca_item *item;
	struct rca_queue *child_queue;
	bool has_child;
	bool in_ring;
};

/**
 * struct rca_queue_stat - the state of a queue
 * @ids: number of sources
 * @waiting: number of undelivered events, in the ring or not
 * @ring: number of records in the ring; 0: it was never mapped
 * @readers: number of threads that wait in read()
 */
struct rca_queue_stat {
	u32 ids;
	u32 waiting;
	u32 ring;
	u32 readers;
};

struct rca_queue *rca_queue_create(struct rca_ctx *ctx, u32 record_size, bool has_file);
bool rca_queue_ready(struct rca_queue *queue);
__poll_t rca_queue_poll(struct rca_queue *queue, struct file *file, poll_table *wait);
void rca_queue_release(struct rca_queue *queue);
void rca_queue_mark_closed(struct rca_queue *queue);
struct rca_queue *rca_queue_next(struct rca_ctx *ctx, struct rca_queue *prev, u32 after);
void rca_queue_stat(struct rca_queue *queue, struct rca_queue_stat *look);
struct rca_queue *rca_source_queue(struct rca_source *src);
int rca_source_move(struct rca_source *src, struct rca_queue *queue, const u64 *cookie,
		    u32 *reported);

int rca_queue_wait(struct rca_queue *queue);
bool rca_queue_peek(struct rca_queue *queue, struct rca_delivery *dlv);
bool rca_queue_consume(struct rca_queue *queue, struct rca_delivery *dlv);
void rca_queue_fill(struct rca_queue *queue);

int rca_queue_ring_start(struct rca_queue *queue, struct rca_ring *ring, struct mm_struct *mm);
void rca_queue_ring_open(struct rca_queue *queue);
void rca_queue_ring_close(struct rca_queue *queue);
bool rca_queue_ring_foreign(struct rca_queue *queue, const struct mm_struct *mm);

/* Memory of an event ring: pages that are shared with user space, and the owners of records. */

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

/* The position that user space has reached: from head to tail, for any value of the head word. */
static inline u32 rca_ring_seen(const struct rca_ring *ring)
{
	/* Slots that user space has read before it stored the head may be reused after this. */
	u32 gone = smp_load_acquire(ring->head_word) - ring->head;

	if ((s32)gone < 0)
		return ring->head;	/* the word went backwards */
	return ring->head + min(gone, ring->tail - ring->head);
}

/*
 * Remove the next record up to @seen, which is from rca_ring_seen(). Returns its owner and its
 * type; NULL: there is none.
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

/* Shared by the files of this folder only. */

bool rca_queue_reap_locked(struct rca_queue *queue);
bool rca_queue_unread(struct rca_queue *queue);

static inline struct rca_event *rca_item_event(struct rca_item *item)
{
	return container_of(item, struct rca_event, item);
}

/* The id of a source; each queued item of the source holds a reference. */
static inline struct rca_obj *rca_source_owner(struct rca_source *src)
{
	return (void *)src - src->owner_at;
}

/* The state lock of the id; held to post and to change the queue. */
static inline spinlock_t *rca_source_lock(struct rca_source *src)
{
	return (void *)src + src->lock_at;
}

/* Mostly nobody sleeps: pairs with wait_event_interruptible(), and with rca_queue_poll(). */
static inline void rca_queue_wake(struct rca_queue *queue)
{
	if (wq_has_sleeper(&queue->wait))
		wake_up_interruptible_poll(&queue->wait, EPOLLIN | EPOLLRDNORM);
}

#endif
