/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Correlates recorded messages with ids and programs, by the notifications of the module. */
#ifndef CAPTURE_RECORDER_CORRELATE_H
#define CAPTURE_RECORDER_CORRELATE_H

#include <netlink/attr.h>

#include "capture/format/entry.h"

/* Reads the connections that exist already. */
void correlate_dump(void);

/*
 * Processes a notification of the module. Returns its number, for correlate_packets(); 0: it
 * concerns no connection.
 */
unsigned long correlate_note(struct nlattr **attrs);

/*
 * Fills in the id, program, operation and event of a message: an operation or event belongs to it
 * if it follows within @within nanoseconds. A message of a connection unknown to the module is
 * marked stock. Returns the number of the notification of its operation or event; 0: none.
 */
unsigned long correlate_apply(struct record_entry *entry, uint64_t within);

/* Stores the packet number of a message that was written. @told: result of correlate_apply(). */
void correlate_recorded(const struct record_entry *entry, unsigned long told, unsigned long packet);

/*
 * Finds the first packet that belongs to a notification, and the last packet of its connection so
 * far; 0: none.
 */
void correlate_packets(unsigned long told, unsigned long *packet, unsigned long *last);

#endif /* CAPTURE_RECORDER_CORRELATE_H */
