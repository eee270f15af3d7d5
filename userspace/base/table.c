// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The table of objects: a growing array of slots with a free list.
 *
 * Locking: table_lock, held for a few instructions and never over a call of another file.
 */
#include "base/table.h"

#include <pthread.h>
#include <stdlib.h>

#define NO_SLOT UINT32_MAX

struct slot {
	void *object;
	enum rcl_kind kind;
	uint32_t generation;	/* of the object, or of the next object here */
	uint32_t refs;
	uint32_t next_free;
	bool dead;
};

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static struct slot *slots;
static uint32_t slot_count;
static uint32_t first_free = NO_SLOT;

static bool grow_table(void)
{
	uint32_t i, count = slot_count ? slot_count * 2 : 64;
	struct slot *bigger;

	if (count <= slot_count)
		return false;
	bigger = realloc(slots, (size_t)count * sizeof(*slots));
	if (!bigger)
		return false;
	for (i = slot_count; i < count; i++) {
		bigger[i] = (struct slot) {
			.generation = 1,
			.next_free = i + 1 < count ? i + 1 : NO_SLOT,
		};
	}
	slots = bigger;
	first_free = slot_count;
	slot_count = count;
	return true;
}

/* The slot of a cookie whose object still has references, or NULL. */
static struct slot *find_slot(uint64_t cookie)
{
	uint32_t index = (uint32_t)cookie;

	if (index >= slot_count || slots[index].generation != cookie >> 32 ||
	    !slots[index].refs)
		return NULL;
	return &slots[index];
}

static bool put_slot(struct slot *slot)
{
	if (--slot->refs)
		return false;
	slot->object = NULL;
	if (!++slot->generation)
		slot->generation = 1;
	slot->next_free = first_free;
	first_free = (uint32_t)(slot - slots);
	return true;
}

uint64_t rcl_table_add(enum rcl_kind kind, void *object)
{
	uint64_t cookie = 0;
	struct slot *slot;

	pthread_mutex_lock(&table_lock);
	if (first_free == NO_SLOT && !grow_table())
		goto out;
	cookie = first_free;
	slot = &slots[first_free];
	first_free = slot->next_free;
	slot->object = object;
	slot->kind = kind;
	slot->refs = 1;
	slot->dead = false;
	cookie |= (uint64_t)slot->generation << 32;
out:
	pthread_mutex_unlock(&table_lock);
	return cookie;
}

void *rcl_table_get(enum rcl_kind kind, uint64_t cookie)
{
	void *object = NULL;
	struct slot *slot;

	pthread_mutex_lock(&table_lock);
	slot = find_slot(cookie);
	if (slot && !slot->dead && slot->kind == kind) {
		slot->refs++;
		object = slot->object;
	}
	pthread_mutex_unlock(&table_lock);
	return object;
}

bool rcl_table_put(uint64_t cookie)
{
	struct slot *slot;
	bool last;

	pthread_mutex_lock(&table_lock);
	slot = find_slot(cookie);
	last = slot && put_slot(slot);
	pthread_mutex_unlock(&table_lock);
	return last;
}

bool rcl_table_kill(uint64_t cookie)
{
	struct slot *slot;
	bool last = false;

	pthread_mutex_lock(&table_lock);
	slot = find_slot(cookie);
	if (slot && !slot->dead) {
		slot->dead = true;
		last = put_slot(slot);
	}
	pthread_mutex_unlock(&table_lock);
	return last;
}

void rcl_table_lock(void)
{
	pthread_mutex_lock(&table_lock);
}

void rcl_table_unlock(void)
{
	pthread_mutex_unlock(&table_lock);
}
