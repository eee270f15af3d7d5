/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Memory for the buffers of sockets. */
#ifndef RCL_RSOCKET_PAGES_H
#define RCL_RSOCKET_PAGES_H

#include <stdbool.h>
#include <stddef.h>

/**
 * struct rcl_pages - whole pages, which a child of fork() does not have
 * @start: the first byte; NULL: there are none
 * @len: their bytes
 * @used: they hold bytes of an earlier socket; otherwise they are zero
 */
struct rcl_pages {
	void *start;
	size_t len;
	bool used;
};

/**
 * rcl_pages_get - allocate pages
 * @pages: filled in
 * @len: bytes that are needed
 *
 * Pages may come from the cache, see @pages->used.
 *
 * Context: Any thread.
 * Return: 0 or -ENOMEM
 */
int rcl_pages_get(struct rcl_pages *pages, size_t len);

/**
 * rcl_pages_put - free pages
 * @pages: filled in by rcl_pages_get(), or zero; zeroed
 *
 * No adapter may have access to them any more.
 *
 * Context: Any thread.
 */
void rcl_pages_put(struct rcl_pages *pages);

#endif /* RCL_RSOCKET_PAGES_H */
