/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Shared by the programs that sweep faults over the ioctls.
 *
 * Environment: FAULTS_HERE and FAULTS_THERE are two addresses of this host on a fabric other than
 * RoCE; FAULTS_TCP says that the fabric is iWARP.
 */
#ifndef FAULTS_H
#define FAULTS_H

#include <dirent.h>
#include <stdlib.h>

#include "rca_test.h"
#include "sweep.h"

/* Each round of a sweep, with its struct sweep as @s. */
#define for_each_fault(s) for (struct sweep s = {}; sweep_more(&(s));)

/* A call that fails because of a fault works when it is made again. */
#define SWEEP_RETRY(sweep, call) do {						\
	if (SWEEP_FAILS(sweep, call))						\
		EXPECT_EQ(call, 0);						\
} while (0)

static inline const char *here(void)
{
	return getenv("FAULTS_HERE") ?: HERE;
}

static inline const char *there(void)
{
	return getenv("FAULTS_THERE") ?: THERE;
}

static inline bool on_roce(void)
{
	return !getenv("FAULTS_HERE");
}

static inline void skip_unless_roce(void)
{
	if (!on_roce())
		ktap_skip("of RoCE alone");
}

/* The open descriptors of this process. */
static inline int count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	EXPECT(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

/* @again: of the second call; it succeeds, or is @done when the first one had its effect. */
static inline void expect_worked(const struct sweep *s, int again, int done)
{
	if (s->ret != -EFAULT || again != done)
		EXPECT_EQ(again, 0);
}

#endif /* FAULTS_H */
