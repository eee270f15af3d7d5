// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Coverage: the edges between code locations of the module, from KCOV for this task. Workers and
 * callbacks are not traced; their effects are visible in errnos and events, which are counted as
 * states.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <linux/kcov.h>

#include "fuzz.h"
#include "ktap.h"

#define KCOV "/sys/kernel/debug/kcov"
#define PLACES (64 << 10)
#define BITS 0x100000

static uint64_t *trace;

/* The edges, or the states, that were reached. */
struct seen {
	unsigned long count;
	uint8_t map[BITS / 8];		/* a bit for each hash */
	unsigned long saved;		/* .count at cover_save() */
	uint32_t added[PLACES];		/* bits that were set since then */
};

static struct seen edges, states;

static uint64_t mix(uint64_t x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdULL;
	x ^= x >> 33;
	x *= 0xc4ceb9fe1a85ec53ULL;
	return x ^ x >> 33;
}

static void mark(struct seen *seen, uint64_t what)
{
	uint32_t bit = mix(what) % BITS;

	if (seen->map[bit / 8] & 1 << bit % 8)
		return;
	seen->map[bit / 8] |= 1 << bit % 8;
	seen->added[(seen->count++ - seen->saved) % PLACES] = bit;
}

/* False: this kernel has no KCOV. */
bool cover_init(void)
{
	int fd = open(KCOV, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return false;
	MUST(ioctl(fd, KCOV_INIT_TRACE, PLACES));
	trace = MUST(mmap(NULL, PLACES * sizeof(*trace), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			  0));
	MUST(ioctl(fd, KCOV_ENABLE, KCOV_TRACE_PC));
	return true;
}

void cover_on(void)
{
	if (trace)
		__atomic_store_n(&trace[0], 0, __ATOMIC_RELAXED);
}

void cover_off(void)
{
	uint64_t places = trace ? __atomic_load_n(&trace[0], __ATOMIC_RELAXED) : 0, before = 0;

	for (uint64_t i = 1; i <= places && i < PLACES; i++) {
		mark(&edges, trace[i] ^ before << 1);
		before = trace[i];
	}
}

void cover_state(uint64_t what)
{
	mark(&states, what);
}

unsigned long cover_edges(void)
{
	return edges.count;
}

unsigned long cover_states(void)
{
	return states.count;
}

void cover_save(void)
{
	edges.saved = edges.count;
	states.saved = states.count;
}

static void restore(struct seen *seen)
{
	while (seen->count > seen->saved) {
		uint32_t bit = seen->added[(--seen->count - seen->saved) % PLACES];

		seen->map[bit / 8] &= ~(1 << bit % 8);
	}
}

/* Forgets the coverage since cover_save(). */
void cover_restore(void)
{
	restore(&edges);
	restore(&states);
}
