/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The debug log: with RDMA_CM_ALT_DEBUG=1 in the environment each failing call is reported on
 * stderr.
 */
#ifndef RCL_LOG_H
#define RCL_LOG_H

#include <stdbool.h>

#include "base/compiler.h"

/** RCL_LINE_MAX - bytes of a line; longer ones are cut off */
#define RCL_LINE_MAX 768

/** rcl_log_enabled - is the debug log switched on? */
bool rcl_log_enabled(void);

/**
 * rcl_log - print a line to the debug log if it is enabled; errno is kept
 * @fmt: printf style, without a newline
 */
void rcl_log(const char *fmt, ...) RCL_PRINTF(1, 2);

#endif /* RCL_LOG_H */
