// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The table of descriptors and files.
 *
 * Locking: table_lock for changes of the table. Lookups take none: they read a pointer, take a
 * reference unless there is none left, and look whether the pointer is still the same.
 */
#include "preload/file.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHUNK 1024U
#define CHUNKS 1024U

struct slot {
	struct rcl_file *_Atomic file;
	atomic_uint waits;
};

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static struct slot *_Atomic chunks[CHUNKS];
static struct rcl_file *free_files;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pid_t owner;
static bool inherited;

static struct slot *slot_of(int fd)
{
	struct slot *chunk;

	if ((unsigned int)fd >= CHUNK * CHUNKS)
		return NULL;
	chunk = atomic_load_explicit(&chunks[fd / CHUNK], memory_order_acquire);
	return chunk ? &chunk[fd % CHUNK] : NULL;
}

/* With table_lock. */
static struct slot *make_slot(int fd)
{
	struct slot *chunk;

	if ((unsigned int)fd >= CHUNK * CHUNKS)
		return NULL;
	if (!slot_of(fd)) {
		chunk = calloc(CHUNK, sizeof(*chunk));
		if (!chunk)
			return NULL;
		atomic_store_explicit(&chunks[fd / CHUNK], chunk, memory_order_release);
	}
	return slot_of(fd);
}

static void before_fork(void)
{
	pthread_mutex_lock(&table_lock);
}

static void in_parent(void)
{
	pthread_mutex_unlock(&table_lock);
}

/*
 * The child keeps the sockets that are TCP's still. Its other entries are dropped without a word to
 * the peers: queue pairs, threads and buffers are the parent's.
 */
static void in_child(void)
{
	struct rcl_file *file;
	struct slot *slot;
	int fd = -1;

	for (fd = 0; fd < (int)(CHUNK * CHUNKS); fd += slot_of(fd) ? 1 : CHUNK) {
		if (slot_of(fd))
			atomic_store(&slot_of(fd)->waits, 0);
	}
	fd = -1;
	while ((fd = rcl_file_next(fd + 1, INT_MAX)) >= 0) {
		slot = slot_of(fd);
		file = atomic_load(&slot->file);
		if (atomic_load(&file->kind) >= RCL_FILE_TCP_NEW) {
			pthread_mutex_init(&file->lock, NULL);
		} else {
			atomic_store(&slot->file, NULL);
			inherited = true;
		}
	}
	owner = getpid();
	pthread_mutex_unlock(&table_lock);
}

static void start(void)
{
	owner = getpid();
	pthread_atfork(before_fork, in_parent, in_child);
}

struct rcl_file *rcl_file_new(enum rcl_file_kind kind, int rs,
			      int (*release)(struct rcl_file *file))
{
	struct rcl_file *file;

	pthread_once(&once, start);
	pthread_mutex_lock(&table_lock);
	file = free_files;
	if (file)
		free_files = file->next;
	pthread_mutex_unlock(&table_lock);
	if (!file) {
		file = calloc(1, sizeof(*file));
		if (!file)
			return NULL;
		pthread_mutex_init(&file->lock, NULL);
	}
	file->rs = rs;
	file->release = release;
	file->domain = 0;
	file->datagram = false;
	file->bound_len = 0;
	file->peer_len = 0;
	file->epoll = NULL;
	atomic_store(&file->connect, RCL_CONNECT_NONE);
	atomic_store(&file->listening, false);
	atomic_store(&file->error, 0);
	atomic_store(&file->watches, 0);
	atomic_store(&file->kind, kind);
	atomic_store(&file->refs, 1);
	return file;
}

bool rcl_file_known(int fd)
{
	struct slot *slot = slot_of(fd);

	return slot && atomic_load(&slot->file);
}

atomic_uint *rcl_file_waits(int fd)
{
	struct slot *slot = slot_of(fd);

	if (!slot) {
		pthread_mutex_lock(&table_lock);
		slot = make_slot(fd);
		pthread_mutex_unlock(&table_lock);
	}
	return slot ? &slot->waits : NULL;
}

bool rcl_file_hold(struct rcl_file *file)
{
	unsigned int refs = atomic_load(&file->refs);

	do {
		if (!refs)
			return false;
	} while (!atomic_compare_exchange_weak(&file->refs, &refs, refs + 1));
	return true;
}

struct rcl_file *rcl_file_get(int fd)
{
	struct slot *slot = slot_of(fd);
	struct rcl_file *file;

	if (!slot)
		return NULL;
	for (;;) {
		file = atomic_load_explicit(&slot->file, memory_order_acquire);
		if (!file)
			return NULL;
		if (!rcl_file_hold(file))
			continue;
		if (atomic_load(&slot->file) == file)
			return file;
		rcl_file_put(file);
	}
}

int rcl_file_put(struct rcl_file *file)
{
	int ret;

	if (atomic_fetch_sub(&file->refs, 1) != 1)
		return 0;
	ret = file->release(file);
	pthread_mutex_lock(&table_lock);
	file->next = free_files;
	free_files = file;
	pthread_mutex_unlock(&table_lock);
	return ret;
}

/* A child of vfork() runs in its parent's memory, but closes descriptors of its own. */
static bool is_owner(void)
{
	return getpid() == owner;
}

bool rcl_file_install(int fd, struct rcl_file *file)
{
	struct rcl_file *old = NULL;
	struct slot *slot;

	if (!file && !rcl_file_known(fd))
		return true;
	if (!is_owner())
		return false;
	pthread_mutex_lock(&table_lock);
	slot = make_slot(fd);
	if (slot)
		old = atomic_exchange(&slot->file, file);
	pthread_mutex_unlock(&table_lock);
	if (old)
		rcl_file_put(old);
	return slot;
}

struct rcl_file *rcl_file_take(int fd)
{
	struct rcl_file *file;

	if (!rcl_file_known(fd) || !is_owner())
		return NULL;
	pthread_mutex_lock(&table_lock);
	file = atomic_exchange(&slot_of(fd)->file, NULL);
	pthread_mutex_unlock(&table_lock);
	return file;
}

int rcl_file_next(unsigned int first, unsigned int last)
{
	unsigned int fd;

	for (fd = first; fd <= last && fd < CHUNK * CHUNKS; fd++) {
		if (!slot_of(fd))
			fd |= CHUNK - 1;
		else if (rcl_file_known(fd))
			return fd;
	}
	return -1;
}

void rcl_file_forget(struct rcl_file *file)
{
	int fd = -1;

	pthread_mutex_lock(&table_lock);
	while ((fd = rcl_file_next(fd + 1, INT_MAX)) >= 0) {
		if (atomic_load(&slot_of(fd)->file) == file) {
			atomic_store(&slot_of(fd)->file, NULL);
			/* Not the last reference: the caller has one. */
			atomic_fetch_sub(&file->refs, 1);
		}
	}
	pthread_mutex_unlock(&table_lock);
}

bool rcl_file_inherited(void)
{
	return inherited;
}
