/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A call that is repeated, each time with a fault at the next place where the kernel may fail:
 * allocations of slabs and pages, copies from and to user memory. See
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
 * @nth: number of the place that fails this time, from 1
 * @reached: whether the call came to this place
 * @ret: result of the call: 0 or more, or a negative errno
 * @errors: number of calls that failed
 */
struct sweep {
	unsigned int nth;
	bool reached;
	int ret;
	unsigned int errors;
};

/* Enable faults, where faults_within() allows them. Skips the test without fault injection. */
void sweep_setup(void);
/* Whether to repeat the call. False when it has succeeded without coming to a fault. */
bool sweep_more(struct sweep *sweep);
/* To be called before and after the call. */
void sweep_arm(struct sweep *sweep);
void sweep_disarm(struct sweep *sweep, long ret);
/* Whether the call has failed: with ENOMEM, EFAULT, or one of the named errnos. */
bool sweep_failed(const char *file, int line, const struct sweep *sweep, int other);

/**
 * struct text - a range of code
 * @start: first address
 * @end: address after the last
 */
struct text {
	unsigned long start;
	unsigned long end;
};

/* The code of a function; of all functions of a module. */
struct text text_of_function(const char *name);
struct text text_of_module(const char *name);
/* Restrict faults to callees of @within that are not callees of @but. NULL: no restriction. */
void faults_within(const struct text *within, const struct text *but);
/* Let a percentage of all slab allocations fail until the second call, which counts the faults. */
void faults_random(unsigned int percent);
unsigned int faults_end(void);
/*
 * Let one slab allocation fail: the @nth, from 1, of those that faults_within() would allow, in any
 * context. faults_hit(): whether it has come. Ends with faults_end().
 */
void faults_at(const struct text *within, const struct text *but, unsigned int nth);
bool faults_hit(void);

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
