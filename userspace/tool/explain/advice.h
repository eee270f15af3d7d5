/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Meaning of a failure, and suggested actions. */
#ifndef ADVICE_H
#define ADVICE_H

#include <json-c/json.h>

/* advice_step() - name of the step of the connection that failed */
const char *advice_step(struct json_object *failure);
/* advice_what() - description of the failure; valid until the next call */
const char *advice_what(struct json_object *failure);
/*
 * advice_try() - suggested actions, as an array of strings
 * @id: an id that waits for an answer
 * @failure: a failure
 * @path: result of host_path()
 *
 * Each argument may be NULL.
 */
struct json_object *advice_try(struct json_object *id, struct json_object *failure,
			       struct json_object *path);

#endif /* ADVICE_H */
