/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What rdma-cm-alt explain has found out, and how it is printed. */
#ifndef EXPLAIN_H
#define EXPLAIN_H

#include <json-c/json.h>
#include <stdbool.h>

/*
 * struct findings - what explain tells
 * @what: what was asked for, NULL: all
 * @by_id: it is an id
 * @ids: the id, or those that wait for an answer
 * @failures: the last failures
 * @last: the last of them that is no consequence of one before, NULL: there is none
 * @path: the way to the peer, NULL: there is no peer
 * @tries: what to try
 */
struct findings {
	const char *what;
	bool by_id;
	struct json_object *ids;
	struct json_object *failures;
	struct json_object *last;
	struct json_object *path;
	struct json_object *tries;
};

/* explain_print() - for people */
void explain_print(const struct findings *found);
/* explain_print_json() - for programs */
void explain_print_json(const struct findings *found);

#endif /* EXPLAIN_H */
