// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Memory for the buffers of sockets.
 *
 * Getting new pages from the kernel takes longer than the rest of creating a connection, so some
 * freed pages are cached.
 *
 * A child of fork() does not get the pages, so it can neither see nor change what its parent sends
 * and receives, and the adapter goes on with those of the parent. libibverbs with RDMAV_FORK_SAFE
 * gives the child pages that are not registered any more: it then has copies of the cached ones.
 *
 * Locking: one mutex, which protects the cache.
 */
#include "rsocket/pages.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

/* The buffers of 16 sockets that have the default sizes. */
#define KEPT_MOST 32
#define KEPT_BYTES (4U << 20)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct rcl_pages kept[KEPT_MOST];
static unsigned int kept_count;
static size_t kept_bytes;

static void before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void in_parent(void)
{
	pthread_mutex_unlock(&lock);
}

static void in_child(void)
{
	kept_count = 0;
	kept_bytes = 0;
	pthread_mutex_unlock(&lock);
}

static void follow_forks(void)
{
	pthread_atfork(before_fork, in_parent, in_child);
}

static bool take(struct rcl_pages *pages, size_t len)
{
	unsigned int i;

	for (i = kept_count; i; i--) {
		if (kept[i - 1].len != len)
			continue;
		*pages = kept[i - 1];
		kept[i - 1] = kept[--kept_count];
		kept_bytes -= len;
		return true;
	}
	return false;
}

int rcl_pages_get(struct rcl_pages *pages, size_t len)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	bool found;

	len = (len + page - 1) / page * page;
	pthread_once(&once, follow_forks);
	pthread_mutex_lock(&lock);
	found = take(pages, len);
	pthread_mutex_unlock(&lock);
	pages->used = found;
	if (!found) {
		pages->len = len;
		pages->start = mmap(NULL, len, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	}
	/* Also pages that were registered: with RDMAV_FORK_SAFE libibverbs has undone it. */
	if (pages->start != MAP_FAILED && !madvise(pages->start, len, MADV_DONTFORK))
		return 0;
	if (pages->start != MAP_FAILED)
		munmap(pages->start, len);
	*pages = (struct rcl_pages){ 0 };
	return -ENOMEM;
}

void rcl_pages_put(struct rcl_pages *pages)
{
	bool keep;

	if (!pages->start)
		return;
	pthread_mutex_lock(&lock);
	keep = kept_count < KEPT_MOST && pages->len <= KEPT_BYTES - kept_bytes;
	if (keep) {
		kept[kept_count++] = *pages;
		kept_bytes += pages->len;
	}
	pthread_mutex_unlock(&lock);
	if (!keep)
		munmap(pages->start, pages->len);
	*pages = (struct rcl_pages){ 0 };
}
