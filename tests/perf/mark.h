/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Marks for tests/perf/count/counter.c; without it they are instructions that do nothing. */
#ifndef MARK_H
#define MARK_H

#ifdef __x86_64__
/* nopl with a displacement that no compiler makes: 1 or 2, then "RCA". */
static inline void mark_begin(void)
{
	asm volatile(".byte 0x0f, 0x1f, 0x84, 0x00, 1, 'R', 'C', 'A'");
}

static inline void mark_end(void)
{
	asm volatile(".byte 0x0f, 0x1f, 0x84, 0x00, 2, 'R', 'C', 'A'");
}
#else
/* Instructions are only counted on x86-64. */
static inline void mark_begin(void)
{
}

static inline void mark_end(void)
{
}
#endif

#endif
