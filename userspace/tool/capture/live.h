/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Records the messages of this host while they pass. */
#ifndef TOOL_CAPTURE_LIVE_H
#define TOOL_CAPTURE_LIVE_H

#include "tool/record/options.h"

/*
 * live_record() - record until the count is reached, or SIGINT or SIGTERM comes
 * @wanted: what, and to which file; without one, or with @wanted->text, messages are printed
 *
 * Errors end the process with a message.
 */
void live_record(const struct record_options *wanted);

#endif /* TOOL_CAPTURE_LIVE_H */
