/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The status of an event as text, and advice. */
#ifndef RCL_REASON_H
#define RCL_REASON_H

#include <stdbool.h>

struct rdma_cm_event;

/**
 * rcl_reject_text - the reason of a REJ message as text (IBTA volume 1, 12.6.7.2)
 * @reason: the number
 *
 * Return: text without a full stop; for an unknown number it says so
 */
const char *rcl_reject_text(int reason);

/** rcl_sidr_text - likewise the status of a SIDR_REP message (12.11.2) */
const char *rcl_sidr_text(int status);

/**
 * rcl_event_text - the reason of a failure as text
 * @event: the event
 *
 * Return: the text, or NULL when the event is no failure
 */
const char *rcl_event_text(const struct rdma_cm_event *event);

/**
 * rcl_event_advice - what to check after a failure
 * @event: the event
 *
 * Return: text, or NULL when the reason says everything
 */
const char *rcl_event_advice(const struct rdma_cm_event *event);

/**
 * rcl_errno_advice - what to check when a call with an address fails
 * @err: a negative errno
 *
 * Return: text that begins with a semicolon, or ""
 */
const char *rcl_errno_advice(int err);

#endif /* RCL_REASON_H */
