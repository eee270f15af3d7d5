/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Explains captures. */
#ifndef CAPTURE_DECODE_EXPLAIN_CAPTURE_H
#define CAPTURE_DECODE_EXPLAIN_CAPTURE_H

#include "capture/format/options.h"

/*
 * explain_capture() - explain each conversation of a capture, as text or JSON
 * @options: name of the file, and filters: conversations with a matching message are explained
 *
 * Ends the program with TOOL_ERROR if the file cannot be read, after explaining the part before the
 * damage.
 *
 * Return: whether something went wrong in one of them
 */
bool explain_capture(const struct record_options *options);

#endif /* CAPTURE_DECODE_EXPLAIN_CAPTURE_H */
