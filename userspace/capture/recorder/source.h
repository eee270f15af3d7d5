/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The source of messages: a BPF program at tracepoints of ib_mad and of the module. */
#ifndef CAPTURE_RECORDER_SOURCE_H
#define CAPTURE_RECORDER_SOURCE_H

#include <stdbool.h>

#include "capture/recorder/wire.h"

/*
 * Loads and attaches the program; errors end the process with a message. @trunks: also frames of
 * trunks. @kilobytes: size of the buffer for unread messages; 0: SOURCE_KILOBYTES. @take is called
 * by source_read().
 */
void source_open(bool trunks, unsigned int kilobytes,
		 void (*take)(const struct wire_message *message));

/* Default size of the buffer, and the largest one. */
enum { SOURCE_KILOBYTES = 1024, SOURCE_KILOBYTES_MAX = 1 << 20 };

/* A descriptor that can be read when there are messages. */
int source_fd(void);

/* Reads all pending messages. */
void source_read(void);

/* Sets the drops of all ports, as counted since source_open(). */
void source_drops(void);

/* Detaches the program. */
void source_close(void);

#endif /* CAPTURE_RECORDER_SOURCE_H */
