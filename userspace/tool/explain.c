// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* rdma-cm-alt explain: which step of something failed, why, and what to try. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advice.h"
#include "host.h"
#include "tool.h"

enum { DEFAULT_LAST = 5 };

static struct {
	const char *what;
	long last;
	bool by_id;
	struct sockaddr_storage addr;
	char address[64];
	int port;
} wanted = { .last = DEFAULT_LAST };

static const struct argp_option explain_options[] = {
	{ "last", 'n', "NUMBER", 0, "Show so many failures at most (default 5)", 0 },
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
			argp_error(state, "%s is no number of failures", arg);
		return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num)
			argp_error(state, "one id or address at a time");
		wanted.what = arg;
		wanted.by_id = strspn(arg, "0123456789/") == strlen(arg) && strchr(arg, '/');
		wrong = wanted.by_id ? NULL : host_parse(arg, &wanted.addr, wanted.address,
							 sizeof(wanted.address), &wanted.port);
		if (wrong)
			argp_error(state, "%s; an id is CONTEXT/HANDLE, as show prints it", wrong);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Whether "192.0.2.1:7471" or "[2001:db8::1]:7471" is what was asked for. */
static bool is_peer(struct json_object *story, const char *key)
{
	const char *text = record_string(story, key);
	size_t len = strlen(wanted.address);

	if (!text)
		return false;
	if (*text == '[')
		text++;
	if (strncmp(text, wanted.address, len) || !strchr(":]", text[len]))
		return false;
	return !wanted.port || atoi(strrchr(text, ':') + 1) == wanted.port;
}

static bool is_wanted(struct json_object *story)
{
	const char *name = record_string(story, "name");

	if (!wanted.what)
		return true;
	if (wanted.by_id)
		return name && !strcmp(name, wanted.what);
	return is_peer(story, "peer") || is_peer(story, "local");
}

static void add(struct nlmsghdr *nlh, struct nlattr **attrs, void *stories)
{
	struct json_object *story = record_story(attrs);

	(void)nlh;
	if (!is_wanted(story)) {
		json_object_put(story);
		return;
	}
	json_object_array_add(stories, story);
	if (json_object_array_length(stories) > (size_t)wanted.last)
		json_object_array_del_idx(stories, 0, 1);
}

static void print_member(struct json_object *object, const char *key, const char *label)
{
	const char *text = object ? record_string(object, key) : NULL;

	if (text)
		printf("  %-12s %s\n", label, text);
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

static void print_last(struct json_object *story)
{
	const char *device = record_string(story, "device");

	puts("\nThe last one");
	printf("  %-12s %s\n", "step", advice_step(story));
	printf("  %-12s %s\n", "what", advice_what(story));
	print_member(story, "program", "program");
	print_member(story, "state", "state");
	print_member(story, "local", "local");
	print_member(story, "peer", "peer");
	if (device)
		printf("  %-12s %s/%d\n", "device", device, (int)record_number(story, "port"));
	print_member(story, "gid", "GID");
}

static void print_all(struct json_object *stories, struct json_object *last,
		      struct json_object *path, struct json_object *tries)
{
	size_t count = json_object_array_length(stories);

	if (!count)
		puts("Nothing failed that this host remembers (it keeps the last 256 failures).");
	else
		printf("The last failure%s%s%s\n", count > 1 ? "s" : "", wanted.what ? " of " : "",
		       wanted.what ?: "");
	for (size_t i = 0; i < count; i++) {
		fputs("  ", stdout);
		story_print(json_object_array_get_idx(stories, i));
	}
	if (last)
		print_last(last);
	if (path)
		print_path(path);
	count = tries ? json_object_array_length(tries) : 0;
	if (count)
		puts("\nTry");
	for (size_t i = 0; i < count; i++)
		printf("  - %s\n", json_object_get_string(json_object_array_get_idx(tries, i)));
}

/* The peer of the last failure, when nothing was asked for. */
static struct json_object *find_path(struct json_object *last)
{
	const char *peer = wanted.by_id || !wanted.what ? record_string(last, "peer") : NULL;

	if (wanted.what && !wanted.by_id)
		return host_path(wanted.address, (struct sockaddr *)&wanted.addr);
	if (!peer || host_parse(peer, &wanted.addr, wanted.address, sizeof(wanted.address),
				&wanted.port))
		return NULL;
	return host_path(wanted.address, (struct sockaddr *)&wanted.addr);
}

static void print_json(struct json_object *stories, struct json_object *last,
		       struct json_object *path, struct json_object *tries)
{
	struct json_object *all = json_object_new_object();

	json_object_object_add(all, "failures", json_object_get(stories));
	if (last) {
		record_put(all, "step", advice_step(last));
		record_put(all, "what", advice_what(last));
	}
	if (path)
		json_object_object_add(all, "path", json_object_get(path));
	if (tries)
		json_object_object_add(all, "try", json_object_get(tries));
	puts(json_object_to_json_string_ext(all, JSON_C_TO_STRING_PRETTY |
					    JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(all);
}

int cmd_explain(int argc, char **argv)
{
	static const struct argp argp = {
		.options = explain_options,
		.parser = parse,
		.children = common_child,
		.args_doc = "[ADDRESS[:PORT] | CONTEXT/HANDLE]",
		.doc = "What failed lately with an address or an id (all when not said), why, what "
		       "the way "
		       "there looks like now, and what to try. Status 1: something had failed.",
	};
	struct json_object *stories = json_object_new_array();
	struct json_object *last = NULL, *path = NULL, *tries = NULL;
	size_t count;

	argp_parse(&argp, argc, argv, 0, NULL, NULL);
	client_dump(RDMA_CM_ALT_NL_FAILURE, add, stories);
	count = json_object_array_length(stories);
	if (count)
		last = json_object_array_get_idx(stories, count - 1);
	if (last || (wanted.what && !wanted.by_id))
		path = find_path(last);
	tries = advice_try(last, path);
	if (options.json)
		print_json(stories, last, path, tries);
	else
		print_all(stories, last, path, tries);
	json_object_put(tries);
	json_object_put(path);
	json_object_put(stories);
	return count ? TOOL_BAD : TOOL_OK;
}
