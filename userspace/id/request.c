// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Connection requests that threads are handling, and events that were lost meanwhile.
 *
 * Locking: that of the table for the lost events, so that none is noted after its id has appeared.
 */
#include "id/request.h"

#include <stdatomic.h>

#include "base/compiler.h"
#include "base/table.h"

/**
 * struct lost - lost events of an id
 * @handle: of the kernel, which does not use it again for long; 0: none
 * @count: their number
 */
struct lost {
	uint32_t handle;
	uint32_t count;
};

static atomic_uint pending;

/* The latest ones: for no more ids than there are threads that handle requests. */
static struct lost lost[64];
static unsigned int next_lost;
static bool any_lost;	/* mostly none ever is: spares the search */

void rcl_request_begin(void)
{
	pending++;
}

void rcl_request_end(void)
{
	pending--;
}

bool rcl_requests_pending(void)
{
	return pending;
}

void rcl_requests_in_child(void)
{
	pending = 0;
}

/* With the table locked. */
static struct lost *find_lost(uint32_t handle)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(lost); i++) {
		if (lost[i].handle == handle)
			return &lost[i];
	}
	return NULL;
}

/* With the table locked. */
static void note_lost(uint32_t handle)
{
	struct lost *entry = find_lost(handle);

	if (!entry) {
		entry = &lost[next_lost++ % ARRAY_SIZE(lost)];
		*entry = (struct lost) { .handle = handle };
	}
	entry->count++;
	any_lost = true;
}

struct rcl_id *rcl_request_owe(uint32_t handle)
{
	struct rcl_id *id;

	rcl_table_lock();
	id = rcl_id_find_locked(handle);
	if (!id)
		note_lost(handle);
	rcl_table_unlock();
	return id;
}

void rcl_request_settle(struct rcl_id *id)
{
	uint32_t count = 0;
	struct lost *entry;

	rcl_table_lock();
	entry = any_lost ? find_lost(id->handle) : NULL;
	if (entry) {
		count = entry->count;
		*entry = (struct lost) { 0 };
	}
	rcl_table_unlock();
	id->events_taken += count;
	id->events_acked += count;
}
