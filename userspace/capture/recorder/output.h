/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A capture file of this host, which only its owner may read. */
#ifndef CAPTURE_RECORDER_OUTPUT_H
#define CAPTURE_RECORDER_OUTPUT_H

#include "capture/format/entry.h"

/* struct output - the file */
struct output {
	const char *name;
	FILE *file;
	struct capture_writer *writer;
};

/*
 * Creates the file, whose name is kept; errors end the process with a message, and leave no new
 * file. @again: an older file with this name is replaced, a device or FIFO written to; otherwise it
 * is an error.
 */
void output_create(struct output *to, const char *name, bool again);

/* As capture_write(); afterwards output_fail() may report the error. */
int output_write(struct output *to, const struct record_port *ports, unsigned int n_ports,
		 const struct record_entry *entry);

/* As capture_close(); closes the file, too. Does nothing without a file. */
int output_close(struct output *to, const struct record_port *ports, unsigned int n_ports);

/* Ends the process: the file cannot be written, because of this negative errno. */
void output_fail(const struct output *to, int error) __attribute__((noreturn));

#endif /* CAPTURE_RECORDER_OUTPUT_H */
