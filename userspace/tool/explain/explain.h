/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Findings of rdma-cm-alt explain, and the functions that print them. */
#ifndef EXPLAIN_H
#define EXPLAIN_H

#include <json-c/json.h>
#include <stdbool.h>

/*
 * struct findings - what explain found
 * @what: the requested id or address; NULL: all
 * @by_id: @what is an id
 * @ids: the requested id, or the ids that wait for an answer
 * @gids: an object with a member for each GID that a requested id has as its peer
 * @peers: peers with the requested address that trunks may lead to
 * @failures: the last failures
 * @last: the last failure that is not a consequence of another one; NULL: none
 * @path: path to the peer; NULL: there is no peer
 * @tries: suggested actions
 */
struct findings {
	const char *what;
	bool by_id;
	struct json_object *ids;
	struct json_object *gids;
	struct json_object *peers;
	struct json_object *failures;
	struct json_object *last;
	struct json_object *path;
	struct json_object *tries;
};

/* explain_print() - print the findings as text */
void explain_print(const struct findings *found);
/* explain_print_json() - print the findings as JSON */
void explain_print_json(const struct findings *found);

#endif /* EXPLAIN_H */
