// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The table of descriptors and files.
 *
 * Locking: table_lock for changes of the table. Lookups take no lock: they read the pointer to the
 * file, take a reference unless the last one is gone, and then check that the pointer is unchanged.
 */
#include "preload/file.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fdtable.h"
#include "preload/libc.h"

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rcl_fdtable files;
static struct rcl_file *free_files;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pid_t owner;
static bool inherited;
static int (*lend)(void);
static int lender = -1;		/* of the child that fork() makes */
static atomic_bool numbers_are_channels;

static void before_fork(void)
{
	pthread_mutex_lock(&table_lock);
	if (lend)
		lender = lend();
}

static void in_parent(void)
{
	pthread_mutex_unlock(&table_lock);
}

bool rcl_file_may_lend(struct rcl_file *file)
{
	return atomic_load(&file->kind) == RCL_FILE_RSOCKET && !file->datagram &&
	       file->domain != AF_IB && (atomic_load(&file->listening) ||
					 atomic_load(&file->connect) == RCL_CONNECT_DONE);
}

/* A child gets the file from its parent at the other end of @lender. */
static void inherit(struct rcl_file *file)
{
	pthread_mutex_init(&file->lock, NULL);
	atomic_store(&file->kind, RCL_FILE_LENT);
	atomic_store(&file->watches, 0);
	file->lender = lender;
	/* Calls of threads that the child does not have may be counted. */
	atomic_store(&file->refs, 0);
}

/*
 * The child keeps the sockets that are still TCP sockets, and those that its parent lends. Its
 * other entries are dropped without notifying the peers, as queue pairs, threads and buffers belong
 * to the parent.
 */
static void in_child(void)
{
	struct rcl_fdslot *slot;
	struct rcl_file *file;
	int fd = -1;

	while ((fd = rcl_fdtable_next(&files, fd + 1)) >= 0) {
		slot = rcl_fdtable_find(&files, fd);
		atomic_store(&slot->users, 0);
		file = atomic_load(&slot->object);
		if (!file)
			continue;
		inherited |= atomic_load(&file->kind) < RCL_FILE_TCP_NEW;
		if (atomic_load(&file->kind) == RCL_FILE_RSOCKET &&
		    atomic_load(&numbers_are_channels))
			rcl_libc()->close(file->rs);
		if (lender >= 0 && rcl_file_may_lend(file))
			inherit(file);
		if (atomic_load(&file->kind) == RCL_FILE_LENT && file->lender == lender)
			atomic_fetch_add(&file->refs, 1);
		else if (atomic_load(&file->kind) >= RCL_FILE_TCP_NEW)
			pthread_mutex_init(&file->lock, NULL);
		else
			atomic_store(&slot->object, NULL);
	}
	lender = -1;
	owner = getpid();
	pthread_mutex_unlock(&table_lock);
}

void rcl_file_on_fork(int (*function)(void))
{
	pthread_mutex_lock(&table_lock);
	lend = function;
	pthread_mutex_unlock(&table_lock);
}

void rcl_file_close_in_children(void)
{
	atomic_store(&numbers_are_channels, true);
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
	file->reserved = false;
	file->accepted = false;
	file->named = false;
	file->lender = -1;
	file->bound_len = 0;
	file->peer_len = 0;
	file->epoll = NULL;
	atomic_store(&file->connect, RCL_CONNECT_NONE);
	atomic_store(&file->listening, false);
	atomic_store(&file->error, 0);
	atomic_store(&file->reset, false);
	atomic_store(&file->watches, 0);
	atomic_store(&file->kind, kind);
	atomic_store(&file->refs, 1);
	return file;
}

bool rcl_file_known(int fd)
{
	struct rcl_fdslot *slot = rcl_fdtable_find(&files, fd);

	return slot && atomic_load(&slot->object);
}

atomic_uint *rcl_file_waits(int fd)
{
	struct rcl_fdslot *slot = rcl_fdtable_make(&files, fd);

	return slot ? &slot->users : NULL;
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
	struct rcl_fdslot *slot = rcl_fdtable_find(&files, fd);
	struct rcl_file *file;

	if (!slot)
		return NULL;
	for (;;) {
		file = atomic_load_explicit(&slot->object, memory_order_acquire);
		if (!file)
			return NULL;
		if (!rcl_file_hold(file))
			continue;
		if (atomic_load(&slot->object) == file)
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

bool rcl_file_is_owner(void)
{
	return getpid() == owner;
}

bool rcl_file_install(int fd, struct rcl_file *file)
{
	struct rcl_file *old = NULL;
	struct rcl_fdslot *slot;

	if (!file && !rcl_file_known(fd))
		return true;
	if (!rcl_file_is_owner())
		return false;
	pthread_mutex_lock(&table_lock);
	slot = rcl_fdtable_make(&files, fd);
	if (slot)
		old = atomic_exchange(&slot->object, file);
	pthread_mutex_unlock(&table_lock);
	if (old)
		rcl_file_put(old);
	return slot;
}

struct rcl_file *rcl_file_take(int fd)
{
	struct rcl_file *file;

	if (!rcl_file_known(fd) || !rcl_file_is_owner())
		return NULL;
	pthread_mutex_lock(&table_lock);
	file = atomic_exchange(&rcl_fdtable_find(&files, fd)->object, NULL);
	pthread_mutex_unlock(&table_lock);
	return file;
}

int rcl_file_next(unsigned int first, unsigned int last)
{
	int fd = rcl_fdtable_next(&files, first);

	while (fd >= 0 && (unsigned int)fd <= last) {
		if (rcl_file_known(fd))
			return fd;
		fd = rcl_fdtable_next(&files, fd + 1);
	}
	return -1;
}

int rcl_file_descriptor(const struct rcl_file *file)
{
	int fd = -1;

	while ((fd = rcl_file_next((unsigned int)fd + 1, INT_MAX)) >= 0) {
		if (atomic_load(&rcl_fdtable_find(&files, fd)->object) == file)
			return fd;
	}
	return -1;
}

void rcl_file_forget(struct rcl_file *file)
{
	struct rcl_fdslot *slot;
	int fd = -1;

	pthread_mutex_lock(&table_lock);
	while ((fd = rcl_file_next(fd + 1, INT_MAX)) >= 0) {
		slot = rcl_fdtable_find(&files, fd);
		if (atomic_load(&slot->object) == file) {
			atomic_store(&slot->object, NULL);
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
