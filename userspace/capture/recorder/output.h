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
 * output_create() - create the file; errors end the process with a message, and leave no new file
 * @name: of the file; it is kept
 * @again: an older file with this name is replaced, a device or FIFO written to; otherwise it is an
 *	   error
 */
void output_create(struct output *to, const char *name, bool again);

/* output_write() - as capture_write(); afterwards output_fail() may tell the error */
int output_write(struct output *to, const struct record_port *ports, unsigned int n_ports,
		 const struct record_entry *entry);

/* output_close() - as capture_close(); closes the file, too. Nothing if there is no file */
int output_close(struct output *to, const struct record_port *ports, unsigned int n_ports);

/* output_fail() - end the process: the file cannot be written, for this negative errno */
void output_fail(const struct output *to, int error) __attribute__((noreturn));

#endif /* CAPTURE_RECORDER_OUTPUT_H */
