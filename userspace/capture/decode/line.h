/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Recorded messages for people and programs: text and JSON. */
#ifndef CAPTURE_DECODE_LINE_H
#define CAPTURE_DECODE_LINE_H

#include <json-c/json.h>

#include "capture/decode/names.h"

/*
 * A message as an object with the members number, conversation, time (nanoseconds since 1970),
 * since (nanoseconds), device, port, way, message, source, destination, members of its id and
 * program, all fields of the message, its private data in hex if it has them, and comment. @before:
 * time of the previous message of the conversation; 0: there is none. @conversation: its number; 0:
 * unknown.
 */
struct json_object *line_json(const struct capture_seen *seen, uint64_t before,
			      unsigned int conversation);

#endif /* CAPTURE_DECODE_LINE_H */
