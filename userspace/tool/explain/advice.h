/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What a failure means, and what to try. */
#ifndef ADVICE_H
#define ADVICE_H

#include <json-c/json.h>

/* advice_step() - which step of a connection it was, for people */
const char *advice_step(struct json_object *failure);
/* advice_what() - what happened, in words; until the next call */
const char *advice_what(struct json_object *failure);
/*
 * advice_try() - what to try: strings
 * @id: one that waits
 * @failure: what failed
 * @path: that of host_path()
 *
 * Each may be NULL.
 */
struct json_object *advice_try(struct json_object *id, struct json_object *failure,
			       struct json_object *path);

#endif /* ADVICE_H */
