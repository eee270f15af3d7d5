/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What ties recorded messages to ids and programs: notifications of the module. */
#ifndef TOOL_CAPTURE_TIES_H
#define TOOL_CAPTURE_TIES_H

#include <netlink/attr.h>

#include "capture/format/entry.h"

/* ties_dump() - learn the connections that there are already */
void ties_dump(void);

/*
 * ties_note() - take a notification
 *
 * Return: its number, for ties_packets(); 0: it is of no connection
 */
unsigned long ties_note(struct nlattr **attrs);

/*
 * ties_apply() - fill in the ties of a message
 * @within: nanoseconds after the message in which an operation or event is one of it
 *
 * A message of a connection that the module has not told of is marked stock. Return: the number of
 * the notification of its operation or event; 0: there is none
 */
unsigned long ties_apply(struct record_entry *entry, uint64_t within);

/*
 * ties_recorded() - note the number of the packet of a message
 * @told: what ties_apply() returned
 */
void ties_recorded(const struct record_entry *entry, unsigned long told, unsigned long packet);

/*
 * ties_packets() - the packets of a notification
 * @packet: the first one that belongs to it; 0: none
 * @last: the last one of its connection so far; 0: none
 */
void ties_packets(unsigned long told, unsigned long *packet, unsigned long *last);

#endif /* TOOL_CAPTURE_TIES_H */
