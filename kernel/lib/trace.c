// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Definitions of the tracepoints. */
#define CREATE_TRACE_POINTS
#include "lib/trace.h"
