/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Prints captures. */
#ifndef CAPTURE_DECODE_PRINT_H
#define CAPTURE_DECODE_PRINT_H

#include "capture/decode/conversation.h"
#include "capture/format/entry.h"
#include "capture/format/options.h"

/*
 * print_capture() - print a capture, as text or JSON
 * @options: name of the file, filters, and form of the output
 *
 * Drops are reported on stderr. Ends the program with TOOL_ERROR if the file cannot be read, after
 * printing the part before the damage.
 */
void print_capture(const struct record_options *options);

/* Reports on stderr how many messages of each port were not recorded. */
void print_drops(const struct capture_total *total);

/*
 * print_message() - print a message that is being recorded: a line of text, or with -j an object
 * @seen: the message; its number is that of the packet in the file
 * @conversation: result of conversations_add() for it
 */
void print_message(const struct capture_seen *seen, const struct conversation *conversation);

/*
 * Reports packets of unsupported link types. Ends the program with TOOL_ERROR if the capture, of
 * this name, has no other packets. @total: result of capture_read_total().
 */
void print_unread(const char *name, const struct capture_total *total);

#endif /* CAPTURE_DECODE_PRINT_H */
