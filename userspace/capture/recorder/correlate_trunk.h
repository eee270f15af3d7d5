/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Correlates the records in trunk frames with ids and programs; used by correlate.c. */
#ifndef CAPTURE_RECORDER_CORRELATE_TRUNK_H
#define CAPTURE_RECORDER_CORRELATE_TRUNK_H

#include "capture/format/entry.h"

/* A value outside of enum rdma_cm_alt_event_type. */
#define CORRELATE_NO_EVENT UINT32_MAX

/*
 * struct correlate_notice - a connection, as a notification or the dump of the ids describes it
 * @session, @number: 0: not over a trunk
 * @operation: "": none
 * @event: enum rdma_cm_alt_event_type; CORRELATE_NO_EVENT: none
 */
struct correlate_notice {
	uint32_t session;
	uint32_t number;
	struct record_id id;
	uint32_t pid;
	const char *program;
	const char *operation;
	uint32_t event;
};

/* Processes a notification; ignores it unless its connection is over a trunk. */
void correlate_trunk_note(const struct correlate_notice *note);

/* Fills in the ids and programs of up to RECORD_TIES records of a frame. */
void correlate_trunk_apply(struct record_entry *entry);

#endif /* CAPTURE_RECORDER_CORRELATE_TRUNK_H */
