// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The table of objects: slots with a free list, in chunks that stay where they are.
 *
 * Locking: table_lock for adding and for the last reference, held for a few instructions, but for
 * rcl_table_each() over its function. Other references are taken and dropped without a lock: the
 * state of a slot is one word, and the object does not change while there are references.
 */
#include "base/table.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define NO_SLOT UINT32_MAX

/* The first chunk has so many slots, each further one twice as many as the one before. */
#define FIRST_BITS 6
#define FIRST_SLOTS 64U		/* 1 << FIRST_BITS */
#define CHUNKS 26

/* The state of a slot: a generation like that of cookies, DEAD, the kind, and references. */
#define GENERATION (UINT64_MAX << 32)
#define DEAD 0x80000000ULL
#define KIND_SHIFT 28
#define REFS ((1ULL << KIND_SHIFT) - 1)

struct slot {
	void *object;
	_Atomic uint64_t state;		/* without references: with the next object's generation */
	uint32_t next_free;
};

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static struct slot *_Atomic chunks[CHUNKS + 1];		/* the last one is NULL */
static unsigned int chunk_count;
static uint32_t first_free = NO_SLOT;

static struct slot *slot_of(uint64_t cookie)
{
	uint64_t n = (uint64_t)(uint32_t)cookie + FIRST_SLOTS;
	unsigned int bit = 63 - __builtin_clzll(n);
	struct slot *chunk = atomic_load_explicit(&chunks[bit - FIRST_BITS], memory_order_acquire);

	return chunk ? &chunk[n ^ 1ULL << bit] : NULL;
}

static bool grow_table(void)
{
	uint32_t i, count = FIRST_SLOTS << chunk_count, first = count - FIRST_SLOTS;
	struct slot *chunk;

	if (chunk_count == CHUNKS)
		return false;
	chunk = calloc(count, sizeof(*chunk));
	if (!chunk)
		return false;
	for (i = 0; i < count; i++) {
		chunk[i].state = 1ULL << 32;
		chunk[i].next_free = i + 1 < count ? first + i + 1 : NO_SLOT;
	}
	atomic_store_explicit(&chunks[chunk_count++], chunk, memory_order_release);
	first_free = first;
	return true;
}

static bool has_object(uint64_t state, uint64_t cookie)
{
	return (state & GENERATION) == (cookie & GENERATION) && state & REFS;
}

/* With the lock held, after the last reference. */
static void free_slot(struct slot *slot, uint64_t cookie)
{
	uint64_t next = (cookie & GENERATION) + (1ULL << 32);

	slot->object = NULL;
	slot->next_free = first_free;
	first_free = (uint32_t)cookie;
	atomic_store(&slot->state, next ? next : 1ULL << 32);
}

uint64_t rcl_table_add(enum rcl_kind kind, void *object)
{
	uint64_t cookie = 0;
	struct slot *slot;

	pthread_mutex_lock(&table_lock);
	if (first_free == NO_SLOT && !grow_table())
		goto out;
	cookie = first_free;
	slot = slot_of(cookie);
	first_free = slot->next_free;
	slot->object = object;
	cookie |= atomic_fetch_add(&slot->state, ((uint64_t)kind << KIND_SHIFT) + 1);
out:
	pthread_mutex_unlock(&table_lock);
	return cookie;
}

void *rcl_table_get(enum rcl_kind kind, uint64_t cookie)
{
	uint64_t wanted = (cookie & GENERATION) | (uint64_t)kind << KIND_SHIFT;
	struct slot *slot = slot_of(cookie);
	uint64_t state;

	if (!slot)
		return NULL;
	state = atomic_load(&slot->state);
	do {
		if ((state & ~REFS) != wanted || !(state & REFS))
			return NULL;
	} while (!atomic_compare_exchange_weak(&slot->state, &state, state + 1));
	return slot->object;
}

/* Drops what seems to be the last reference: another thread may take one until the lock is held. */
static __attribute__((noinline)) bool put_last(struct slot *slot, uint64_t cookie)
{
	bool last;

	pthread_mutex_lock(&table_lock);
	last = (atomic_fetch_sub(&slot->state, 1) & REFS) == 1;
	if (last)
		free_slot(slot, cookie);
	pthread_mutex_unlock(&table_lock);
	return last;
}

bool rcl_table_put(uint64_t cookie)
{
	struct slot *slot = slot_of(cookie);
	uint64_t state;

	if (!slot)
		return false;
	/* The caller has a reference, so the slot has had no other object since. */
	state = atomic_load(&slot->state);
	do {
		if ((state & REFS) <= 1)
			return state & REFS && put_last(slot, cookie);
	} while (!atomic_compare_exchange_weak(&slot->state, &state, state - 1));
	return false;
}

bool rcl_table_kill(uint64_t cookie)
{
	struct slot *slot = slot_of(cookie);
	bool last = false;
	uint64_t state;

	if (!slot)
		return false;
	pthread_mutex_lock(&table_lock);
	state = atomic_load(&slot->state);
	do {
		if (!has_object(state, cookie) || state & DEAD)
			goto out;
	} while (!atomic_compare_exchange_weak(&slot->state, &state, (state | DEAD) - 1));
	last = (state & REFS) == 1;
	if (last)
		free_slot(slot, cookie);
out:
	pthread_mutex_unlock(&table_lock);
	return last;
}

void rcl_table_each(enum rcl_kind kind, void (*look)(void *object, void *arg), void *arg)
{
	unsigned int k;
	uint64_t state;
	uint32_t i;

	for (k = 0; k < chunk_count; k++) {
		for (i = 0; i < FIRST_SLOTS << k; i++) {
			state = atomic_load(&chunks[k][i].state);
			if (state & REFS && ((state & ~(GENERATION | DEAD)) >> KIND_SHIFT) == kind)
				look(chunks[k][i].object, arg);
		}
	}
}

void rcl_table_lock(void)
{
	pthread_mutex_lock(&table_lock);
}

void rcl_table_unlock(void)
{
	pthread_mutex_unlock(&table_lock);
}
