/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Opens the file that a capture is written to: only its owner may read it. */
#ifndef CAPTURE_RECORDER_CREATE_H
#define CAPTURE_RECORDER_CREATE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * create_file() - create a file of mode 0600, or open a device or FIFO
 * @name: of the file
 * @replace: a regular file with this name is removed before, so that a process with the old file
 *	     open, or a hard link to it, reads nothing of the new one; a device or FIFO is opened
 *	     as it is, also by a symbolic link, and so is a file that is standard output
 *	     (/dev/stdout). Otherwise any file with this name is an error.
 * @created: set to whether there is a new file
 * @why: of @why_len bytes; set on an error to the text behind the name of the file in a message
 *
 * A symbolic link to another regular file is an error; link and file are left as they are. Opening
 * a FIFO waits for its reader.
 *
 * Return: a file descriptor, closed on exec, or -1
 */
int create_file(const char *name, bool replace, bool *created, char *why, size_t why_len);

#endif /* CAPTURE_RECORDER_CREATE_H */
