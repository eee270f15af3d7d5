// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The event ring of a channel, which the library maps after some events. It is found by the
 * descriptor of the channel, and used by all threads that read the channel, or destroy or move
 * its ids.
 *
 * Locking: a ring's lock for its mapping and position, never over a system call that sleeps.
 * rings_lock, outside of it, for the list of rings, and over fork(), with the locks of all rings.
 */
#include "core/ring.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fdtable.h"
#include "base/log.h"
#include "base/sys.h"

/**
 * struct rcl_ring - the ring of a queue
 * @next: in the list of all rings of open queues
 * @link: the pointer to this ring in that list
 * @refs: references of the queue and of its ids
 * @queue: result of the command that created the queue
 * @lock: protects the members below
 * @reads: events that were read by read()
 * @disabled: it is not mapped, and never will be
 * @process: number of the process that has mapped it
 * @map: the mapping of the records, or NULL
 * @head: the mapped head word
 * @pos: index of the next record
 * @entries: number of records of the ring; read from @map once, and checked
 * @offset: offset of the records; likewise
 */
struct rcl_ring {
	struct rcl_ring *next;
	struct rcl_ring **link;
	unsigned int refs;
	struct rdma_cm_alt_queue_create queue;

	pthread_mutex_t lock;
	unsigned int reads;
	bool disabled;
	__u32 process;
	const struct rdma_cm_alt_ring *map;
	__u32 *head;
	__u32 pos;
	__u32 entries;
	__u32 offset;
};

static pthread_mutex_t rings_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rcl_ring *rings;
static struct rcl_fdtable by_fd;
static unsigned int usable;	/* rings that are not disabled */

/*
 * Each process that maps rings has a number. It is stored in a page that is zero in a new
 * process, also after clone() without the handlers of fork() (MADV_WIPEONFORK): the mappings of
 * the old process do not exist there.
 */
static __u32 *process_page;
static __u32 last_process;

static size_t head_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* Several threads may create the page at the same time: one of them succeeds. */
static __u32 *get_process_page(void)
{
	size_t size = head_bytes();
	__u32 *page, *none = NULL;

	page = __atomic_load_n(&process_page, __ATOMIC_ACQUIRE);
	if (page)
		return page;
	page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return NULL;
	if (!madvise(page, size, MADV_WIPEONFORK) &&
	    __atomic_compare_exchange_n(&process_page, &none, page, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return page;
	munmap(page, size);
	return none;
}

static __u32 current_process(void)
{
	const __u32 *page = __atomic_load_n(&process_page, __ATOMIC_ACQUIRE);

	return page ? __atomic_load_n(page, __ATOMIC_ACQUIRE) : 0;
}

/* The number of this process; 0: there is no page for it. */
static __u32 number_process(void)
{
	__u32 *page = get_process_page(), none = 0, next;

	if (!page)
		return 0;
	if (!current_process()) {
		next = __atomic_add_fetch(&last_process, 1, __ATOMIC_RELAXED);
		__atomic_compare_exchange_n(page, &none, next, false, __ATOMIC_ACQ_REL,
					    __ATOMIC_ACQUIRE);
	}
	return current_process();
}

/* With the lock held. */
static void disable_ring(struct rcl_ring *ring)
{
	ring->map = NULL;
	ring->head = NULL;
	if (!ring->disabled)
		__atomic_sub_fetch(&usable, 1, __ATOMIC_RELAXED);
	ring->disabled = true;
}

/* With the lock held. A child of clone() has a copy of @map, but not the mapping. */
static bool is_mapped(struct rcl_ring *ring)
{
	if (ring->map && ring->process != current_process())
		disable_ring(ring);
	return ring->map;
}

/* With the lock held. */
static void unmap_ring(struct rcl_ring *ring)
{
	if (is_mapped(ring)) {
		rcl_sys->munmap((void *)(uintptr_t)ring->map, ring->queue.out_ring_bytes);
		rcl_sys->munmap(ring->head, head_bytes());
	}
	disable_ring(ring);
}

/* Reads the geometry of a ring once, and checks it: the records must be inside of the mapping. */
static bool read_geometry(struct rcl_ring *ring, const struct rdma_cm_alt_ring *map)
{
	size_t size = ring->queue.out_record_size, bytes = ring->queue.out_ring_bytes;

	ring->entries = __atomic_load_n(&map->entries, __ATOMIC_RELAXED);
	ring->offset = __atomic_load_n(&map->records_offset, __ATOMIC_RELAXED);
	/* Positions are masked, so the number must be a power of two. */
	if (!ring->entries || ring->entries & (ring->entries - 1))
		return false;
	if (ring->offset < sizeof(*map) || ring->offset % sizeof(__u64) || ring->offset > bytes)
		return false;
	return __atomic_load_n(&map->record_size, __ATOMIC_RELAXED) == size &&
	       (bytes - ring->offset) / size >= ring->entries;
}

/* With the lock held. The first record has the index 0. */
static void map_ring(struct rcl_ring *ring)
{
	const struct rdma_cm_alt_queue_create *queue = &ring->queue;
	void *head, *records;

	ring->process = number_process();
	if (!ring->process) {
		disable_ring(ring);
		return;
	}
	/* The head first: mapping the records makes the kernel use the ring. */
	head = rcl_sys->mmap(head_bytes(), PROT_READ | PROT_WRITE, queue->out_fd,
			     (off_t)queue->out_head_offset);
	if (head == MAP_FAILED) {
		disable_ring(ring);
		return;
	}
	records = rcl_sys->mmap(queue->out_ring_bytes, PROT_READ, queue->out_fd,
				(off_t)queue->out_ring_offset);
	if (records == MAP_FAILED) {
		rcl_sys->munmap(head, head_bytes());
		disable_ring(ring);
		return;
	}
	ring->head = head;
	ring->map = records;
	ring->pos = 0;
	if (!read_geometry(ring, records))
		unmap_ring(ring);
}

void rcl_ring_add(const struct rdma_cm_alt_queue_create *queue)
{
	struct rcl_fdslot *slot;
	struct rcl_ring *ring;

	rcl_ring_remove(queue->out_fd);
	if (queue->out_ring_bytes < sizeof(struct rdma_cm_alt_ring))
		return;
	slot = rcl_fdtable_make(&by_fd, queue->out_fd);
	if (!slot)
		return;
	ring = calloc(1, sizeof(*ring));
	if (!ring)
		return;
	ring->refs = 1;
	ring->queue = *queue;
	pthread_mutex_init(&ring->lock, NULL);
	pthread_mutex_lock(&rings_lock);
	ring->next = rings;
	ring->link = &rings;
	if (rings)
		rings->link = &ring->next;
	rings = ring;
	atomic_store_explicit(&slot->object, ring, memory_order_release);
	__atomic_add_fetch(&usable, 1, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&rings_lock);
}

void rcl_ring_remove(int fd)
{
	struct rcl_ring *ring;

	pthread_mutex_lock(&rings_lock);
	ring = rcl_ring_of(fd);
	if (ring) {
		atomic_store_explicit(&rcl_fdtable_find(&by_fd, fd)->object, NULL,
				      memory_order_release);
		*ring->link = ring->next;
		if (ring->next)
			ring->next->link = ring->link;
		pthread_mutex_lock(&ring->lock);
		unmap_ring(ring);
		pthread_mutex_unlock(&ring->lock);
	}
	pthread_mutex_unlock(&rings_lock);
	rcl_ring_put(ring);
}

struct rcl_ring *rcl_ring_of(int fd)
{
	struct rcl_fdslot *slot = rcl_fdtable_find(&by_fd, fd);

	return slot ? atomic_load_explicit(&slot->object, memory_order_acquire) : NULL;
}

struct rcl_ring *rcl_ring_get(int fd)
{
	return rcl_ring_hold(rcl_ring_of(fd));
}

struct rcl_ring *rcl_ring_hold(struct rcl_ring *ring)
{
	if (ring)
		__atomic_add_fetch(&ring->refs, 1, __ATOMIC_RELAXED);
	return ring;
}

void rcl_ring_put(struct rcl_ring *ring)
{
	if (!ring || __atomic_sub_fetch(&ring->refs, 1, __ATOMIC_ACQ_REL))
		return;
	pthread_mutex_destroy(&ring->lock);
	free(ring);
}

void rcl_ring_lock(struct rcl_ring *ring)
{
	if (ring)
		pthread_mutex_lock(&ring->lock);
}

void rcl_ring_unlock(struct rcl_ring *ring)
{
	if (ring)
		pthread_mutex_unlock(&ring->lock);
}

/* With the lock held. A tail beyond the records of the ring is invalid: the ring is disabled. */
static bool has_record(struct rcl_ring *ring)
{
	__u32 count = __atomic_load_n(&ring->map->tail, __ATOMIC_ACQUIRE) - ring->pos;

	if (count <= ring->entries)
		return count;
	rcl_log("channel fd %d: its event ring of %u records claims %u; it is not used any more",
		ring->queue.out_fd, ring->entries, count);
	unmap_ring(ring);
	return false;
}

/* With the lock held. */
static const __u8 *next_record(const struct rcl_ring *ring)
{
	return (const __u8 *)ring->map + ring->offset +
	       (ring->pos & (ring->entries - 1)) * (size_t)ring->queue.out_record_size;
}

/* The kernel writes it when it takes the record back, and nothing else of a record in the ring. */
static __u32 next_type(const struct rcl_ring *ring)
{
	const __u8 *type = next_record(ring) + offsetof(struct rdma_cm_alt_event, type);

	return __atomic_load_n((const __u32 *)(const void *)type, __ATOMIC_RELAXED);
}

static void copy_record(const struct rcl_ring *ring, union rcl_record *record)
{
	const size_t type = offsetof(struct rdma_cm_alt_event, type);
	const size_t rest = type + sizeof(record->event.type);
	size_t size = ring->queue.out_record_size;
	const __u8 *from = next_record(ring);

	memcpy(record->bytes, from, type);
	record->event.type = next_type(ring);
	memcpy(record->bytes + rest, from + rest, size - rest);
	if (size < sizeof(record->event))
		memset(record->bytes + size, 0, sizeof(record->event) - size);
}

bool rcl_ring_peek(struct rcl_ring *ring, union rcl_record *record)
{
	pthread_mutex_lock(&ring->lock);
	while (is_mapped(ring) && has_record(ring)) {
		copy_record(ring, record);
		if (record->event.type != RDMA_CM_ALT_EVENT_SKIP)
			return true;
		__atomic_store_n(ring->head, ++ring->pos, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&ring->lock);
	return false;
}

bool rcl_ring_taken_back(const struct rcl_ring *ring)
{
	return next_type(ring) == RDMA_CM_ALT_EVENT_SKIP;
}

void rcl_ring_done(struct rcl_ring *ring)
{
	if (!ring)
		return;
	__atomic_store_n(ring->head, ++ring->pos, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&ring->lock);
}

__u32 rcl_ring_position(int fd)
{
	struct rcl_ring *ring = rcl_ring_get(fd);
	__u32 pos = 0;

	if (ring) {
		pthread_mutex_lock(&ring->lock);
		pos = ring->pos;
		pthread_mutex_unlock(&ring->lock);
	}
	rcl_ring_put(ring);
	return pos;
}

void rcl_ring_count_reads(struct rcl_ring *ring, unsigned int count)
{
	bool tried, mapped;

	pthread_mutex_lock(&ring->lock);
	ring->reads += count;
	tried = !ring->map && !ring->disabled && ring->reads >= RCL_RING_AFTER;
	if (tried)
		map_ring(ring);
	mapped = ring->map;
	pthread_mutex_unlock(&ring->lock);
	if (tried && !mapped)
		rcl_log("channel fd %d: its event ring is not mapped", ring->queue.out_fd);
}

void rcl_ring_check_channel(const struct rdma_event_channel *channel)
{
	if (channel && !rcl_ring_of(channel->fd))
		rcl_rings_disable();
}

void rcl_rings_disable(void)
{
	if (!__atomic_load_n(&usable, __ATOMIC_RELAXED))
		return;
	rcl_rings_lock();
	rcl_rings_unlock();
}

void rcl_rings_lock(void)
{
	struct rcl_ring *ring;

	pthread_mutex_lock(&rings_lock);
	for (ring = rings; ring; ring = ring->next) {
		pthread_mutex_lock(&ring->lock);
		unmap_ring(ring);
	}
}

void rcl_rings_unlock(void)
{
	struct rcl_ring *ring;

	for (ring = rings; ring; ring = ring->next)
		pthread_mutex_unlock(&ring->lock);
	pthread_mutex_unlock(&rings_lock);
}
