/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * One call, made again and again, each time with a fault at the next place in it where the
 * kernel may fail: allocations of slabs and pages, copies from and to user memory. See
 * Documentation/fault-injection of the kernel.
 *
 *	struct sweep s = {};
 *
 *	while (sweep_more(&s)) {
 *		id = get_id(...);
 *		if (SWEEP_FAILS(&s, rca_bind(ctx, id, HERE, 0)))
 *			EXPECT_EQ(rca_bind(ctx, id, HERE, 0), 0);
 *		EXPECT_EQ(rca_destroy(ctx, id), 0);
 *	}
 */
#ifndef SWEEP_H
#define SWEEP_H

#include <errno.h>
#include <stdbool.h>

/**
 * struct sweep - a call that is swept
 * @nth: the place that fails this time, from 1
 * @reached: the call came there
 * @ret: what the call gave, 0 or more, or a negative errno
 * @errors: calls that gave an errno
 */
struct sweep {
	unsigned int nth;
	bool reached;
	int ret;
	unsigned int errors;
};

/* What may fail in sweeps: all, unless faults_within() says less. Skips where nothing can. */
void sweep_setup(void);
/* Another time? Not when the call has ended without coming to a fault. It has worked then. */
bool sweep_more(struct sweep *sweep);
/* Around the call. */
void sweep_arm(struct sweep *sweep);
void sweep_disarm(struct sweep *sweep, long ret);
/* Has the call failed? ENOMEM and EFAULT are what faults come to, and what else is named. */
bool sweep_failed(const char *file, int line, const struct sweep *sweep, int other);

/**
 * struct text - where code is
 * @start: of it
 * @end: behind it
 */
struct text {
	unsigned long start;
	unsigned long end;
};

/* A function of the kernel or of a module; all functions of a module. */
struct text text_of_function(const char *name);
struct text text_of_module(const char *name);
/* Only what is called by @within may fail, and not what is called by @but; NULL: no such bound. */
void faults_within(const struct text *within, const struct text *but);
/* So many of 100 slab allocations of all tasks fail until the end, which counts them. */
void faults_random(unsigned int percent);
unsigned int faults_end(void);

#define SWEEP(sweep, call) do {							\
	sweep_arm(sweep);							\
	sweep_disarm(sweep, call);						\
} while (0)

#define SWEEP_FAILS_AS(sweep, other, call) ({					\
	SWEEP(sweep, call);							\
	sweep_failed(__FILE__, __LINE__, sweep, other);				\
})

#define SWEEP_FAILS(sweep, call) SWEEP_FAILS_AS(sweep, 0, call)

/* For calls of the C library. */
#define OR_ERRNO(call) ({							\
	long call_ret = (long)(call);						\
										\
	call_ret == -1 ? -errno : call_ret;					\
})

#endif /* SWEEP_H */
