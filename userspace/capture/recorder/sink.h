/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The destination of recorded messages. Errors end the process with a message. */
#ifndef CAPTURE_RECORDER_SINK_H
#define CAPTURE_RECORDER_SINK_H

#include "capture/format/options.h"

/* Creates the wanted file or ring, and reports the beginning of the recording. */
void sink_open(const struct record_options *wanted);

/*
 * Writes a message if it passes the filters; private data are removed unless wanted. @unsure: it
 * was marked stock, but its notifications may have been lost: it is treated as one of ours, and
 * counted. Returns its number, from 1; 0: it was not written.
 */
unsigned long sink_add(struct record_entry *entry, bool unsure);

/* Are no more messages wanted, or is the reader of the output gone? */
bool sink_is_full(void);

/* Stores drops in the ring: once a second, or at once if @idle. */
void sink_note_drops(bool idle);

/*
 * Completes the file, and reports missing messages. If the module is still @loaded, the ring is
 * removed; if it is not, and messages are kept, the process ends with TOOL_MODULE.
 */
void sink_close(bool loaded);

#endif /* CAPTURE_RECORDER_SINK_H */
