/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What ties recorded messages to ids and programs: notifications of the module. */
#ifndef TOOL_CAPTURE_TIES_H
#define TOOL_CAPTURE_TIES_H

#include <netlink/attr.h>

#include "tool/record/entry.h"

/* ties_dump() - learn the connections that there are already */
void ties_dump(void);

/* ties_note() - take a notification; a message_fn */
void ties_note(struct nlmsghdr *nlh, struct nlattr **attrs, void *arg);

/*
 * ties_apply() - fill in the ties of a message
 * @within: nanoseconds after the message in which an operation or event is one of it
 *
 * A message of a connection that the module has not told of is marked stock.
 */
void ties_apply(struct record_entry *entry, uint64_t within);

#endif /* TOOL_CAPTURE_TIES_H */
