// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Most messages are MADs, which are much shorter than frames. */
#include "capture/recorder/stored.h"

#include <stdlib.h>
#include <string.h>

enum {
	BYTES_AT = offsetof(struct record_entry, bytes),
	TIES_AT = offsetof(struct record_entry, ties),
};

/* Length of the used part of an entry. */
static size_t used(const struct record_entry *entry)
{
	return entry->n_ties ? TIES_AT + entry->n_ties * sizeof(entry->ties[0]) :
			       BYTES_AT + (size_t)entry->len;
}

struct record_entry *stored_new(const struct record_entry *entry)
{
	size_t len = used(entry);
	struct record_entry *stored = malloc(len);

	return stored ? memcpy(stored, entry, len) : NULL;
}

void stored_get(const struct record_entry *stored, struct record_entry *entry)
{
	memcpy(entry, stored, used(stored));
	memset(entry->bytes + entry->len, 0, sizeof(entry->bytes) - entry->len);
}
