/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Live recording of the messages of this host. */
#ifndef CAPTURE_RECORDER_LIVE_H
#define CAPTURE_RECORDER_LIVE_H

#include <json-c/json.h>

#include "capture/format/options.h"

/*
 * live_record() - record until the count is reached, or SIGINT or SIGTERM arrives
 * @wanted: the messages and the file; without a file, or with @wanted->text, messages are printed.
 *	    With @wanted->keep they are kept in memory instead
 *
 * Errors end the process with a message.
 */
void live_record(const struct record_options *wanted);

/*
 * live_monitor() - record to a file, and report notifications, until SIGINT or SIGTERM arrives
 * @wanted: the messages and the file
 * @tell: called for each notification, in order, after the messages before it were written; frees
 *	  it. Its member "packet" is the number of its message; a failure without one has
 *	  "after_packet", the last message of the connection
 *
 * As live_record(). When the module is unloaded, the process ends with TOOL_MODULE.
 */
void live_monitor(const struct record_options *wanted, void (*tell)(struct json_object *));

#endif /* CAPTURE_RECORDER_LIVE_H */
