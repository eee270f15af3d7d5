// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The memory of calls, valid or invalid, and the check of what was written to it. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "memory.h"
#include "ktap.h"

#define PAGE 4096UL
#define SLOT (4 * PAGE)		/* of an area; an unmapped page follows */
#define GUARD 64		/* bytes around the area that must not be written */

const char * const where_names[WHERES] = {
	"good", "edge", "short", "half", "odd", "across", "fixed", "nowhere", "null", "kernel",
	"wrap", "gap",
};

/* An area and its content before the call. */
struct shadow {
	struct area area;
	uint8_t *from;
	size_t len;
	uint8_t was[SLOT];
};

static _Thread_local struct shadow shadows[AREAS];
static _Thread_local unsigned int used;
static _Thread_local uint8_t *writable, *fixed;

void memory_init(void)
{
	size_t all = AREAS * (SLOT + PAGE);
	int fd = MUST(memfd_create("areas", MFD_CLOEXEC));

	MUST(ftruncate(fd, all));
	writable = MUST(mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
	fixed = MUST(mmap(NULL, all, PROT_READ, MAP_SHARED, fd, 0));
	close(fd);
	for (unsigned int i = 0; i < AREAS; i++)
		MUST(mprotect(writable + i * (SLOT + PAGE) + SLOT, PAGE, PROT_NONE));
}

void memory_begin(void)
{
	used = 0;
}

static uint64_t stray(enum where where, const uint8_t *slot)
{
	switch (where) {
	case NOWHERE:
		return (uintptr_t)slot + SLOT;
	case KERNEL:
		return 0xffff888000100000;
	case WRAP:
		return -16ULL;
	case GAP:
		return 0x0000800000000000;
	default:
		return 0;
	}
}

static size_t there(enum where where, size_t len)
{
	if (where == SHORT)
		return len ? len - 1 : 0;
	return where == HALF ? len / 2 : len;
}

static uint8_t *begin_struct(enum where where, uint8_t *slot, size_t len)
{
	switch (where) {
	case EDGE:
	case SHORT:
	case HALF:
		return slot + SLOT - there(where, len);
	case ODD:
		return slot + GUARD + 1;
	case ACROSS:
		return slot + PAGE - (len < PAGE ? len / 2 & ~7UL : 8);
	default:
		return slot + GUARD;
	}
}

/* Memory with this content for the next call; without @data it is poisoned. */
struct area *memory_place(enum where where, const void *data, size_t len)
{
	unsigned int number = used++ % AREAS;
	uint8_t *slot = writable + number * (SLOT + PAGE);
	struct shadow *shadow = &shadows[number];
	struct area *area = &shadow->area;
	uint8_t *end;

	if (len > SLOT - 2 * PAGE)
		len = SLOT - 2 * PAGE;
	*area = (struct area){};
	if (where >= NOWHERE) {
		area->user = stray(where, slot);
		return area;
	}
	area->bytes = begin_struct(where, slot, len);
	area->len = there(where, len);
	area->whole = area->len == len && where != FIXED;
	area->user = (uintptr_t)area->bytes;
	if (where == FIXED)
		area->user += fixed - writable;
	shadow->from = area->bytes - GUARD < slot ? slot : area->bytes - GUARD;
	end = area->bytes + area->len + GUARD;
	shadow->len = (end > slot + SLOT ? slot + SLOT : end) - shadow->from;
	memset(shadow->from, POISON, shadow->len);
	if (data)
		memcpy(area->bytes, data, area->len);
	memcpy(shadow->was, shadow->from, shadow->len);
	return area;
}

/* The first byte that was changed although @may does not allow it, or NOTHING_CHANGED. */
long memory_changed(const struct area *area, const uint8_t *may)
{
	const struct shadow *shadow = (const struct shadow *)area;
	long before = area->bytes - shadow->from;

	if (!area->bytes)
		return NOTHING_CHANGED;
	if (!may && !memcmp(shadow->from, shadow->was, shadow->len))
		return NOTHING_CHANGED;
	for (long i = 0; i < (long)shadow->len; i++) {
		long at = i - before;

		if (shadow->from[i] == shadow->was[i])
			continue;
		if (at < 0 || at >= (long)area->len || !may || !may[at])
			return at;
	}
	return NOTHING_CHANGED;
}

/* Four bytes of poison in a row were not written. */
long poison_left(const uint8_t *bytes, size_t len)
{
	unsigned int run = 0;

	for (size_t i = 0; i < len; i++) {
		run = bytes[i] == POISON ? run + 1 : 0;
		if (run == 4)
			return i - 3;
	}
	return -1;
}
