/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Where recorded messages go. Errors end the process with a message. */
#ifndef CAPTURE_RECORDER_SINK_H
#define CAPTURE_RECORDER_SINK_H

#include "capture/format/options.h"

/* sink_open() - create the file or the ring that is wanted, and say that the recording begins */
void sink_open(const struct record_options *wanted);

/*
 * sink_add() - write a message if it passes the filters
 * @entry: the message; private data are removed unless wanted
 * @unsure: it was marked stock, but its notifications may have been lost: it is treated as one of
 *	    ours, and counted
 *
 * Return: its number, from 1; 0: it was not written
 */
unsigned long sink_add(struct record_entry *entry, bool unsure);

/* sink_is_full() - whether no more messages are wanted, or the reader of the output is gone */
bool sink_is_full(void);

/* sink_note_drops() - store drops in the ring: once a second, or at once if idle */
void sink_note_drops(bool idle);

/*
 * sink_close() - complete the file, and report what is missing in it
 * @loaded: whether the module is still loaded: the ring is removed then
 *
 * If it is not, and messages are kept, the process ends with TOOL_MODULE.
 */
void sink_close(bool loaded);

#endif /* CAPTURE_RECORDER_SINK_H */
