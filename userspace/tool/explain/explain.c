// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* rdma-cm-alt explain: what waits, which step failed and why, and what to try. */
#include "tool/explain/explain.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/decode/explain_capture.h"
#include "capture/recorder/recall.h"
#include "tool/core/host.h"
#include "tool/core/tool.h"
#include "tool/explain/advice.h"
#include "tool/explain/advice_table.h"
#include "tool/explain/no_trunk.h"

enum { DEFAULT_LAST = 5 };

enum { KEY_CAPTURE = 400 };

static struct record_options capture;

static struct {
	const char *what;
	long last;
	bool by_id;
	struct record_id id;
	struct address address;
} wanted = { .last = DEFAULT_LAST };

static const struct argp_option explain_options[] = {
	{ "last", 'n', "NUMBER", 0, "Show so many failures at most (default 5)", 0 },
	{ "capture", KEY_CAPTURE, "FILE", 0,
	  "What happened in this capture, with the numbers of packets; if there is no such file, it "
	  "is written, with the messages that record --keep has kept", 0 },
	{ "device", 'd', "DEVICE[/PORT]", 0,
	  "With --capture: only of this RDMA device, or of its port", 0 },
	{ "id", 'i', "CONTEXT/HANDLE", 0, "With --capture: only of this id", 0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	const char *wrong;
	char *end;

	switch (key) {
	case 'n':
		wanted.last = strtol(arg, &end, 10);
		if (*end || wanted.last <= 0)
			argp_error(state, "%s is no number of failures: it is 1 or more", arg);
		return 0;
	case KEY_CAPTURE:
		capture.read_from = arg;
		return 0;
	case 'd':
		if (!options_device(&capture, arg))
			argp_error(state, "%s is no DEVICE or DEVICE/PORT, such as mlx5_0/1", arg);
		return 0;
	case 'i':
		if (!options_id(arg, &capture.id))
			argp_error(state, "%s is no id: it is CONTEXT/HANDLE, as show prints it",
				   *arg ? arg : "''");
		return 0;
	case ARGP_KEY_END:
		if (!capture.read_from && (*capture.device || capture.id.handle))
			argp_error(state, "-d and -i are for --capture FILE");
		if (capture.read_from && wanted.what)
			argp_error(state, "--capture FILE takes no argument: its filters are "
				   "-d and -i");
		return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num)
			argp_error(state, "one id or address at a time");
		wanted.what = arg;
		wanted.by_id = options_id(arg, &wanted.id);
		wrong = wanted.by_id ? NULL : address_parse(arg, &wanted.address);
		if (wrong)
			argp_error(state, "%s; an id is CONTEXT/HANDLE, as show prints it", wrong);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static bool is_wanted(struct json_object *record, struct nlattr **attrs)
{
	if (!wanted.what)
		return true;
	if (wanted.by_id)
		return (uint64_t)record_number(record, "context") == wanted.id.context &&
		       (uint64_t)record_number(record, "handle") == wanted.id.handle;
	return address_matches(&wanted.address, attrs[RDMA_CM_ALT_NL_A_PEER]) ||
	       address_matches(&wanted.address, attrs[RDMA_CM_ALT_NL_A_LOCAL]);
}

static void add_failure(struct nlmsghdr *nlh, struct nlattr **attrs, void *failures)
{
	struct json_object *failure = record_notification(attrs);

	(void)nlh;
	if (!is_wanted(failure, attrs)) {
		json_object_put(failure);
		return;
	}
	json_object_array_add(failures, failure);
	if (json_object_array_length(failures) > (size_t)wanted.last)
		json_object_array_del_idx(failures, 0, 1);
}

/* Adds the requested id in any state; without a request by id, only ids that wait for an answer. */
static void add_id(struct nlmsghdr *nlh, struct nlattr **attrs, void *arg)
{
	struct json_object *id = record_id(attrs);
	struct findings *found = arg;

	(void)nlh;
	if (!is_wanted(id, attrs)) {
		json_object_put(id);
		return;
	}
	if (record_string(id, "peer_gid"))
		record_put_bool(found->gids, record_string(id, "peer_gid"), true);
	if (!wanted.by_id && !attrs[RDMA_CM_ALT_NL_A_SINCE]) {
		json_object_put(id);
		return;
	}
	record_put(id, "waits_for", waits_for(record_string(id, "state")));
	json_object_array_add(found->ids, id);
}

static void add_peer(struct nlmsghdr *nlh, struct nlattr **attrs, void *peers)
{
	(void)nlh;
	json_object_array_add(peers, record_peer(attrs));
}

/* Returns all peers, or NULL if the user may not see them. */
static struct json_object *find_peers(void)
{
	struct json_object *peers = json_object_new_array();

	if (client_may_dump(RDMA_CM_ALT_NL_PEER, add_peer, peers))
		return peers;
	json_object_put(peers);
	return NULL;
}

/* Over InfiniBand a GID is no IP address: it is known by the ids that are connected to it. */
static bool is_wanted_peer(struct json_object *peer, struct json_object *gids)
{
	const char *gid = record_string(peer, "peer_gid");

	if (!wanted.what || wanted.by_id || !gid)
		return false;
	return address_matches_gid(&wanted.address, gid) || json_object_object_get(gids, gid);
}

/* Adds to ids, and to peers of the requested address, why they use no trunks. */
static void explain_trunks(struct findings *found)
{
	struct json_object *peers = find_peers();

	for (size_t i = 0; i < json_object_array_length(found->ids); i++) {
		struct json_object *id = json_object_array_get_idx(found->ids, i);

		record_put(id, "why_no_trunk", no_trunk_of_id(id, peers));
	}
	for (size_t i = 0; peers && i < json_object_array_length(peers); i++) {
		struct json_object *peer = json_object_array_get_idx(peers, i);

		if (!is_wanted_peer(peer, found->gids))
			continue;
		record_put(peer, "why_no_trunk", no_trunk_of_peer(peer));
		json_object_array_add(found->peers, json_object_get(peer));
	}
	json_object_put(peers);
}

/*
 * If the library cannot accept a request, it rejects the request; the reject then fails, too, when
 * the peer has already given up. That failure is only a consequence of the one before.
 */
static bool is_consequence(struct json_object *failure)
{
	return !strcmp(record_string(failure, "operation") ?: "", "reject") &&
	       !strcmp(record_string(failure, "state") ?: "", "failed");
}

static struct json_object *find_last(struct json_object *failures)
{
	size_t count = json_object_array_length(failures);
	struct json_object *last = count ? json_object_array_get_idx(failures, count - 1) : NULL;

	if (!last || !is_consequence(last))
		return last;
	while (--count) {
		struct json_object *failure = json_object_array_get_idx(failures, count - 1);

		if (json_object_equal(json_object_object_get(failure, "name"),
				      json_object_object_get(last, "name")))
			return failure;
	}
	return last;
}

/* Takes the interface of a link-local address from @of if the user did not give one. */
static void take_scope(struct json_object *of)
{
	const char *peer = of ? record_string(of, "peer") : NULL;
	struct address address;

	if (peer && address_is_link_local(&wanted.address) && !address_scope(&wanted.address) &&
	    !address_parse(peer, &address) && address_scope(&address))
		wanted.address = address;
}

/* Returns the path to the requested address, or to the peer of a waiting or failed id. */
static struct json_object *find_path(struct json_object *of)
{
	const char *peer = of ? record_string(of, "peer") : NULL;

	if (wanted.what && !wanted.by_id) {
		take_scope(of);
		return host_path(&wanted.address, false);
	}
	if (!peer || address_parse(peer, &wanted.address))
		return NULL;
	return host_path(&wanted.address, false);
}

/* If messages are kept, those of the last failure can be seen. */
static void add_recall(struct findings *found)
{
	char text[128];

	if (!found->last || !record_string(found->last, "name") || !recall_possible())
		return;
	snprintf(text, sizeof(text), "see its messages, which were kept: "
		 "rdma-cm-alt explain --capture FILE -i %s", record_string(found->last, "name"));
	json_object_array_add(found->tries, json_object_new_string(text));
}

/* A program that keeps its librdmacm is served by rdma_ucm, which keeps no failures. */
static void add_stock(struct findings *found)
{
	struct json_object *all;
	char text[160];
	size_t users;

	if (found->by_id || access("/sys/module/rdma_ucm", F_OK))
		return;
	all = users_of_librdmacm();
	users = json_object_array_length(all);
	json_object_put(all);
	if (!users)
		return;
	snprintf(text, sizeof(text), "what fails in programs over rdma_ucm (%zu now) is not known "
		 "here: rdma-cm-alt takeover", users);
	json_object_array_add(found->tries, json_object_new_string(text));
}

int cmd_explain(int argc, char **argv)
{
	static const struct argp argp = {
		.options = explain_options,
		.parser = parse,
		.children = common_child,
		.args_doc = "[ADDRESS[:PORT] | CONTEXT/HANDLE]",
		.doc = "What waits for an answer and what failed lately, of an address or an id "
		       "(all when not said), why, what the way there looks like now, and what to "
		       "try. Status 1: something had failed, 5: there is no such id.",
	};
	struct findings found = {
		.ids = json_object_new_array(), .failures = json_object_new_array(),
		.peers = json_object_new_array(), .gids = json_object_new_object(),
	};
	struct json_object *id;
	size_t count;

	argp_parse(&argp, argc, argv, 0, NULL, NULL);
	if (capture.read_from && access(capture.read_from, F_OK) && errno == ENOENT)
		recall_write(capture.read_from);
	if (capture.read_from)
		return explain_capture(&capture) ? TOOL_BAD : TOOL_OK;
	client_dump(RDMA_CM_ALT_NL_ID, add_id, &found);
	client_dump(RDMA_CM_ALT_NL_FAILURE, add_failure, found.failures);
	found.what = wanted.what;
	found.by_id = wanted.by_id;
	count = json_object_array_length(found.failures);
	found.last = find_last(found.failures);
	id = json_object_array_get_idx(found.ids, 0);
	if (wanted.by_id && !id && !count)
		fail(TOOL_NONE,
		     "there is no id %s, and no failure of one is kept (or it is another user's): "
		     "rdma-cm-alt show ids", wanted.what);
	explain_trunks(&found);
	found.path = find_path(id ?: found.last);
	found.tries = advice_try(id, found.last, found.path);
	add_recall(&found);
	add_stock(&found);
	if (options.json)
		explain_print_json(&found);
	else
		explain_print(&found);
	json_object_put(found.tries);
	json_object_put(found.path);
	json_object_put(found.failures);
	json_object_put(found.peers);
	json_object_put(found.gids);
	json_object_put(found.ids);
	return count ? TOOL_BAD : TOOL_OK;
}
