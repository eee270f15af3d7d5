/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The ports of a recording, with data of this host. */
#ifndef CAPTURE_RECORDER_PORTS_H
#define CAPTURE_RECORDER_PORTS_H

#include "capture/format/entry.h"
#include "capture/recorder/wire.h"

enum { PORTS_MAX = 256 };

/*
 * Converts a message to an entry, and adds its port if that is new. @ahead: nanoseconds by which
 * CLOCK_REALTIME is ahead of CLOCK_MONOTONIC. False: there are too many ports.
 */
bool ports_entry(const struct wire_message *message, int64_t ahead, struct record_entry *entry);

/* All ports of messages so far; the caller may set their drops. */
struct record_port *ports_all(unsigned int *count);

/* The port, or NULL if it had no message and cannot be added. */
struct record_port *ports_find(const struct wire_port *port);

#endif /* CAPTURE_RECORDER_PORTS_H */
