/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the status of an event means, in words. */
#ifndef RCL_REASON_H
#define RCL_REASON_H

#include <stdbool.h>

struct rdma_cm_event;

/**
 * rcl_reject_text - a reason of IBTA volume 1, 12.6.7.2, with which a peer rejects
 * @reason: the number
 *
 * Return: words without a full stop; those of a number that is none there say so
 */
const char *rcl_reject_text(int reason);

/** rcl_sidr_text - the same for a status of a SIDR reply, 12.11.2: the answer to a datagram id */
const char *rcl_sidr_text(int status);

/**
 * rcl_event_text - what an event of a failure says
 * @event: the event; its id must be there
 *
 * Return: the reason in words; NULL when the event is no failure
 */
const char *rcl_event_text(const struct rdma_cm_event *event);

/**
 * rcl_event_advice - what to look at when that has happened
 * @event: the event
 *
 * Return: words, or NULL when there is nothing to say that the reason does not
 */
const char *rcl_event_advice(const struct rdma_cm_event *event);

/**
 * rcl_errno_advice - what to look at when a call with an address says that
 * @err: a negative errno
 *
 * Return: words that begin with a semicolon, or ""
 */
const char *rcl_errno_advice(int err);

#endif /* RCL_REASON_H */
