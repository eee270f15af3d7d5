// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Definitions of the tracepoints. */
#define CREATE_TRACE_POINTS
#include "lib/trace.h"

/* For the module of trunks. */
EXPORT_TRACEPOINT_SYMBOL_GPL(rca_trunk);
EXPORT_TRACEPOINT_SYMBOL_GPL(rca_frame);
