// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Locking: none. Chunks are published by compare-and-exchange. */
#include "base/fdtable.h"

#include <stdlib.h>

struct rcl_fdslot *rcl_fdtable_make(struct rcl_fdtable *table, int fd)
{
	struct rcl_fdslot *slot = rcl_fdtable_find(table, fd), *chunk, *none = NULL;

	if (slot || (unsigned int)fd >= RCL_FDTABLE_MAX)
		return slot;
	chunk = calloc(RCL_FDTABLE_CHUNK, sizeof(*chunk));
	if (chunk && !atomic_compare_exchange_strong(&table->chunks[fd / RCL_FDTABLE_CHUNK], &none,
						     chunk))
		free(chunk);	/* another thread was first */
	return rcl_fdtable_find(table, fd);
}

int rcl_fdtable_next(struct rcl_fdtable *table, unsigned int first)
{
	unsigned int fd = first;

	while (fd < RCL_FDTABLE_MAX && !rcl_fdtable_find(table, (int)fd))
		fd = (fd / RCL_FDTABLE_CHUNK + 1) * RCL_FDTABLE_CHUNK;
	return fd < RCL_FDTABLE_MAX ? (int)fd : -1;
}
