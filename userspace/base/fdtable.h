/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Tables indexed by file descriptor. A table grows in chunks, which are never moved or freed, so a
 * lookup takes no lock. The first chunk is a part of the table: most programs need no other, and a
 * lookup in it is as short as that in an array. The owner of the table decides how long the objects
 * live.
 */
#ifndef RCL_FDTABLE_H
#define RCL_FDTABLE_H

#include <stdatomic.h>
#include <stddef.h>

#define RCL_FDTABLE_CHUNK 1024U
#define RCL_FDTABLE_CHUNKS 1024U

/** RCL_FDTABLE_MAX - number of slots: the kernel's default for fs.nr_open */
#define RCL_FDTABLE_MAX (RCL_FDTABLE_CHUNK * RCL_FDTABLE_CHUNKS)

/**
 * struct rcl_fdslot - what a table knows of a descriptor; zero at first
 * @object: what the descriptor refers to, or NULL
 * @users: a counter for the owner of the table
 * @value: a number for the owner of the table
 */
struct rcl_fdslot {
	void *_Atomic object;
	atomic_uint users;
	int value;
};

/**
 * struct rcl_fdtable - a table; a static one is empty
 * @first: the first chunk
 * @chunks: the others, by their number
 */
struct rcl_fdtable {
	struct rcl_fdslot first[RCL_FDTABLE_CHUNK];
	struct rcl_fdslot *_Atomic chunks[RCL_FDTABLE_CHUNKS];
};

/**
 * rcl_fdtable_find - find the slot of a descriptor
 * @table: the table
 * @fd: any number
 *
 * Context: Takes no lock; safe in signal handlers.
 * Return: the slot, valid for the life of the process, or NULL if it is not in the first chunk, and
 * no descriptor of its chunk was ever in the table
 */
static inline struct rcl_fdslot *rcl_fdtable_find(struct rcl_fdtable *table, int fd)
{
	struct rcl_fdslot *chunk;

	if ((unsigned int)fd < RCL_FDTABLE_CHUNK)
		return &table->first[(unsigned int)fd];
	if ((unsigned int)fd >= RCL_FDTABLE_MAX)
		return NULL;
	chunk = atomic_load_explicit(&table->chunks[(unsigned int)fd / RCL_FDTABLE_CHUNK],
				     memory_order_acquire);
	return chunk ? &chunk[(unsigned int)fd % RCL_FDTABLE_CHUNK] : NULL;
}

/**
 * rcl_fdtable_make - find the slot of a descriptor, or make it
 * @table: the table
 * @fd: any number
 *
 * Several threads may call it at the same time, with the same number or others.
 *
 * Return: the slot; NULL if there is no memory, or no slot for this number
 */
struct rcl_fdslot *rcl_fdtable_make(struct rcl_fdtable *table, int fd);

/**
 * rcl_fdtable_next - find the next descriptor that has a slot
 * @table: the table
 * @first: where to begin
 *
 * Return: the lowest number from @first on that has a slot, or -1
 */
int rcl_fdtable_next(struct rcl_fdtable *table, unsigned int first);

#endif /* RCL_FDTABLE_H */
