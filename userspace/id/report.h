/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The debug log of an id: its failing calls and its events of failures. */
#ifndef RCL_REPORT_H
#define RCL_REPORT_H

#include <stdbool.h>

#include "base/compiler.h"
#include "base/err.h"
#include "core/process.h"

struct rcl_id;
struct rdma_cm_event;
struct rdma_event_channel;

/**
 * rcl_fail_id - rcl_fail() of a call on an id, which the log line describes
 * @id: the id, or NULL
 * @err: negative errno; -EAGAIN is not logged
 * @call: name of the public function
 * @fmt: what was wrong and what to do about it, printf style
 *
 * Return: -1
 */
int rcl_fail_id(const struct rcl_id *id, int err, const char *call, const char *fmt, ...)
	RCL_PRINTF(4, 5);

bool rcl_refuse_id_of_parent(const struct rcl_id *id, const char *call);
bool rcl_refuse_channel_of_parent(const struct rdma_event_channel *channel, const char *call);

/**
 * rcl_refuse_id - refuse to change an id whose process lives, and is another one
 * @id: the id, or NULL
 * @call: name of the public function
 *
 * Return: true: errno is EACCES
 */
static inline bool rcl_refuse_id(const struct rcl_id *id, const char *call)
{
	return rcl_process && rcl_refuse_id_of_parent(id, call);
}

/** rcl_refuse_channel - rcl_refuse_id() for a channel, or NULL */
static inline bool rcl_refuse_channel(const struct rdma_event_channel *channel, const char *call)
{
	return rcl_process && rcl_refuse_channel_of_parent(channel, call);
}

/**
 * rcl_log_event - log an event of a failure, with its reason and advice
 * @id: its id
 * @event: any event; only failures are logged
 */
void rcl_log_event(const struct rcl_id *id, const struct rdma_cm_event *event);

#endif /* RCL_REPORT_H */
