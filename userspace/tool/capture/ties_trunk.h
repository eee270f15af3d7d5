/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What ties the records of recorded frames to ids and programs; a part of ties.h. */
#ifndef TOOL_CAPTURE_TIES_TRUNK_H
#define TOOL_CAPTURE_TIES_TRUNK_H

#include <netlink/attr.h>

#include "tool/record/entry.h"

/* ties_trunk_note() - take a notification, or the description of an id */
void ties_trunk_note(struct nlattr **attrs);

/* ties_trunk_apply() - fill in the ties of a frame, up to RECORD_TIES of them */
void ties_trunk_apply(struct record_entry *entry);

#endif /* TOOL_CAPTURE_TIES_TRUNK_H */
