/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Explains captures. */
#ifndef TOOL_DECODE_STORY_H
#define TOOL_DECODE_STORY_H

#include "tool/record/options.h"

/*
 * story_tell() - say for each conversation of a capture what happened, as text or JSON
 * @options: name of the file, and filters: conversations with a message that passes are told
 *
 * Ends the program with TOOL_ERROR if the file cannot be read; what precedes the damage is told.
 *
 * Return: whether something went wrong in one of them
 */
bool story_tell(const struct record_options *options);

#endif /* TOOL_DECODE_STORY_H */
