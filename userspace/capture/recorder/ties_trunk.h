/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What ties the records of recorded frames to ids and programs; a part of ties.h. */
#ifndef TOOL_CAPTURE_TIES_TRUNK_H
#define TOOL_CAPTURE_TIES_TRUNK_H

#include "capture/format/entry.h"

/* No enum rdma_cm_alt_event_type. */
#define TIES_NO_EVENT UINT32_MAX

/*
 * struct ties_note - what a notification, or the description of an id, says of a connection
 * @session, @number: 0: it is over no trunk
 * @operation: "": none
 * @event: enum rdma_cm_alt_event_type; TIES_NO_EVENT: none
 */
struct ties_note {
	uint32_t session;
	uint32_t number;
	struct record_id id;
	uint32_t pid;
	const char *program;
	const char *operation;
	uint32_t event;
};

/* ties_trunk_note() - take what was told; ignored unless it is of a connection over a trunk */
void ties_trunk_note(const struct ties_note *note);

/* ties_trunk_apply() - fill in the ties of a frame, up to RECORD_TIES of them */
void ties_trunk_apply(struct record_entry *entry);

#endif /* TOOL_CAPTURE_TIES_TRUNK_H */
