/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The debug log: RDMA_CM_ALT_DEBUG=1 in the environment tells the story of
 * each failing call on stderr.
 */
#ifndef RCL_LOG_H
#define RCL_LOG_H

#include <stdbool.h>

#include "base/compiler.h"

struct rcl_id;
struct rdma_cm_event;
struct sockaddr;

/** struct rcl_addr_text - an address in words: in @s */
struct rcl_addr_text {
	char s[96];
};

/** rcl_addr_text - an address with its port; "-" for none */
struct rcl_addr_text rcl_addr_text(const struct sockaddr *sa);

/** rcl_log_enabled - is the debug log switched on? */
bool rcl_log_enabled(void);

/**
 * rcl_log - print a line to the debug log; errno is kept
 * @fmt: printf style, without a newline
 */
void rcl_log(const char *fmt, ...) RCL_PRINTF(1, 2);

/**
 * rcl_log_event - tell what an event says that is a failure, and what to look at
 * @id: its id
 * @event: any event; of those that are no failure nothing is told
 */
void rcl_log_event(const struct rcl_id *id, const struct rdma_cm_event *event);

#endif /* RCL_LOG_H */
