// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The bodies of the tracepoints; nothing else.
 *
 * Locking: none.
 */
#define CREATE_TRACE_POINTS
#include "lib/trace.h"

#include <linux/build_bug.h>

#include "lib/fsm.h"

/* A number without a name is of no use to who reads. */
#define NAMES(list...) \
	(sizeof((struct trace_print_flags[]){ list }) / sizeof(struct trace_print_flags))
static_assert(NAMES(RCA_TRACE_STATES) == RCA_ST_COUNT);
static_assert(NAMES(RCA_TRACE_INPUTS) == RCA_IN_COUNT);
