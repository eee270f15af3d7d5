/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Writes the messages of rdma-cm-alt record --keep to a file. */
#ifndef CAPTURE_RECORDER_RECALL_H
#define CAPTURE_RECORDER_RECALL_H

#include <stdbool.h>

/* recall_possible() - whether messages are kept, and visible, for this network namespace */
bool recall_possible(void);

/*
 * recall_write() - write the kept messages to a new capture, and print their number
 * @name: of the file, which must not exist
 *
 * Errors end the process with a message, and leave no file.
 */
void recall_write(const char *name);

#endif /* CAPTURE_RECORDER_RECALL_H */
