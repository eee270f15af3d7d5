// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Prints the findings of rdma-cm-alt explain. */
#include <stdio.h>
#include <time.h>

#include "tool/core/tool.h"
#include "tool/explain/advice.h"
#include "tool/explain/explain.h"

static void print_member(struct json_object *object, const char *key, const char *label)
{
	const char *text = record_string(object, key);

	if (text)
		printf("  %-12s %s\n", label, text);
}

static void print_place(struct json_object *record)
{
	const char *device = record_string(record, "device");

	print_member(record, "local", "local");
	print_member(record, "peer", "peer");
	if (device)
		printf("  %-12s %s/%d\n", "device", device, (int)record_number(record, "port"));
	print_member(record, "gid", "GID");
}

static double seconds_since(struct json_object *id)
{
	struct timespec now;
	double since = (double)record_number(id, "since") / 1e9;

	clock_gettime(CLOCK_REALTIME, &now);
	since = (double)now.tv_sec + (double)now.tv_nsec / 1e9 - since;
	return since > 0 ? since : 0;
}

static void print_id(struct json_object *id, const char *name, struct json_object *path)
{
	const char *netdev = path ? record_string(path, "netdev") : NULL;
	char when[32];

	printf("The id %s\n", name);
	print_member(id, "program", "program");
	print_member(id, "pid", "process");
	print_member(id, "state", "state");
	print_member(id, "waits_for", "waits for");
	if (record_number(id, "since"))
		printf("  %-12s %s, for %.1f s\n", "since",
		       record_time(id, "since", when, sizeof(when)), seconds_since(id));
	print_place(id);
	if (netdev && !record_string(id, "device"))
		printf("  %-12s none yet; the way to the peer leads over %s\n", "device", netdev);
	print_member(id, "transport", "transport");
	print_member(id, "why_no_trunk", "no trunk");
	if (record_number(id, "busy"))
		puts("               a call is under way, which has its addresses");
	puts("");
}

static void print_waiting(struct json_object *ids)
{
	size_t count = json_object_array_length(ids);
	char when[32];

	if (count)
		puts("Waiting now");
	for (size_t i = 0; i < count; i++) {
		struct json_object *id = json_object_array_get_idx(ids, i);
		const char *device = record_string(id, "device");

		printf("  %s %s %s %s -> %s", record_time(id, "since", when, sizeof(when)),
		       record_string(id, "program") ?: "-", record_string(id, "name") ?: "-",
		       record_string(id, "local") ?: "-", record_string(id, "peer") ?: "-");
		if (device)
			printf(" %s/%d", device, (int)record_number(id, "port"));
		printf(" %s, for %.1f s: %s\n", record_string(id, "state"), seconds_since(id),
		       record_string(id, "waits_for"));
	}
	if (count)
		puts("");
}

static void print_peers(struct json_object *peers)
{
	size_t count = json_object_array_length(peers);

	if (count)
		puts("\nTrunks to it");
	for (size_t i = 0; i < count; i++) {
		struct json_object *peer = json_object_array_get_idx(peers, i);

		printf("  %s/%d %s -> %s: %s\n", record_string(peer, "device"),
		       (int)record_number(peer, "port"), record_string(peer, "gid"),
		       record_string(peer, "peer_gid"),
		       record_string(peer, "why_no_trunk") ?: record_string(peer, "trunk"));
	}
}

static void print_path(struct json_object *path)
{
	const char *device = record_string(path, "device");

	printf("\nThe way to %s, as it is now\n", record_string(path, "address"));
	print_member(path, "route", "route");
	if (json_object_object_get(path, "local"))
		puts("  local        it is an address of this host");
	print_member(path, "netdev", "interface");
	print_member(path, "link", "link");
	print_member(path, "source", "from");
	print_member(path, "gateway", "gateway");
	print_member(path, "neighbour", "neighbour");
	print_member(path, "neighbour_address", "its address");
	if (device)
		printf("  %-12s %s/%d, %s\n", "RDMA device", device,
		       (int)record_number(path, "port"), record_string(path, "port_state"));
	else
		printf("  %-12s none\n", "RDMA device");
}

static void print_last(struct json_object *failure, bool is_last)
{
	puts(is_last ? "\nThe last one" : "\nThe one that the last one follows from");
	printf("  %-12s %s\n", "step", advice_step(failure));
	printf("  %-12s %s\n", "what", advice_what(failure));
	print_member(failure, "program", "program");
	print_member(failure, "state", "state");
	print_place(failure);
}

void explain_print(const struct findings *found)
{
	size_t count = json_object_array_length(found->failures);

	if (!found->by_id)
		print_waiting(found->ids);
	else if (json_object_array_length(found->ids))
		print_id(json_object_array_get_idx(found->ids, 0), found->what, found->path);
	if (!count)
		puts("Nothing failed that this host remembers (it keeps the last 256 failures).");
	else
		printf("The last failure%s%s%s\n", count > 1 ? "s" : "", found->what ? " of " : "",
		       found->what ?: "");
	for (size_t i = 0; i < count; i++) {
		fputs("  ", stdout);
		record_print(json_object_array_get_idx(found->failures, i));
	}
	if (found->last)
		print_last(found->last, found->last ==
			   json_object_array_get_idx(found->failures, count - 1));
	print_peers(found->peers);
	if (found->path)
		print_path(found->path);
	count = json_object_array_length(found->tries);
	if (count)
		puts("\nTry");
	for (size_t i = 0; i < count; i++)
		printf("  - %s\n",
		       json_object_get_string(json_object_array_get_idx(found->tries, i)));
}

void explain_print_json(const struct findings *found)
{
	struct json_object *all = json_object_new_object();

	json_object_object_add(all, "ids", json_object_get(found->ids));
	if (json_object_array_length(found->peers))
		json_object_object_add(all, "peers", json_object_get(found->peers));
	json_object_object_add(all, "failures", json_object_get(found->failures));
	if (found->last) {
		record_put(all, "step", advice_step(found->last));
		record_put(all, "what", advice_what(found->last));
	}
	if (found->path)
		json_object_object_add(all, "path", json_object_get(found->path));
	json_object_object_add(all, "try", json_object_get(found->tries));
	puts(json_object_to_json_string_ext(all, JSON_C_TO_STRING_PRETTY |
					    JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(all);
}
