// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* rdma-cm-alt monitor: events and operations, while they happen. And how one of them is printed. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tool/explain/advice.h"
#include "tool/core/tool.h"

static struct {
	bool failures;
	struct filter filter;
} wanted;

static const struct argp_option monitor_options[] = {
	{ "failures", 'f', NULL, 0, "Only what fails", 0 },
	{ "program", 'c', "NAME", 0, "Only of programs with this name", 0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case 'f':
		wanted.failures = true;
		return 0;
	case 'c':
		filter_program(&wanted.filter, arg, state);
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "there are no arguments");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/**
 * story_time() - a time of day
 * @record: what has it
 * @key: the member, in ns since 1970
 * @text: where
 * @len: its room
 *
 * Return: @text.
 */
const char *story_time(struct json_object *record, const char *key, char *text, size_t len)
{
	uint64_t ns = json_object_get_uint64(json_object_object_get(record, key));
	time_t seconds = ns / 1000000000;
	size_t end = strftime(text, len, "%H:%M:%S", localtime(&seconds));

	snprintf(text + end, len - end, ".%06u", (unsigned int)(ns % 1000000000 / 1000));
	return text;
}

/**
 * story_print() - a line for something that happened
 * @story: what
 */
void story_print(struct json_object *story)
{
	const char *event = record_string(story, "event"), *device = record_string(story, "device");
	int status = record_number(story, "status");
	const char *on = "", *off = "";
	char when[32];

	if (options.color && record_failed(story)) {
		on = "\033[31m";
		off = "\033[0m";
	}
	printf("%s %s %s %s -> %s", story_time(story, "time", when, sizeof(when)),
	       record_string(story, "program") ?: "-", record_string(story, "name") ?: "-",
	       record_string(story, "local") ?: "-", record_string(story, "peer") ?: "-");
	if (device)
		printf(" %s/%d", device, (int)record_number(story, "port"));
	printf(" %s%s", on, event ?: record_string(story, "operation") ?: "?");
	if (status)
		printf(": %s", advice_what(story));
	printf("%s\n", off);
}

static void tell(struct nlmsghdr *nlh, struct nlattr **attrs, void *arg)
{
	struct json_object *story = record_story(attrs);

	(void)nlh;
	(void)arg;
	if (wanted.failures && !record_failed(story)) {
		json_object_put(story);
		return;
	}
	if (filter_matches(&wanted.filter, story)) {
		if (options.json)
			puts(json_object_to_json_string_ext(story, JSON_C_TO_STRING_NOSLASHESCAPE));
		else
			story_print(story);
		/* Who reads it may be gone, and SIGPIPE ignored. */
		if (fflush(stdout) || ferror(stdout))
			fail(TOOL_ERROR, "what happens cannot be written: %m");
	}
	json_object_put(story);
}

int cmd_monitor(int argc, char **argv)
{
	static const struct argp argp = {
		.options = monitor_options, .parser = parse, .children = common_child,
		.doc = "What happens in this network namespace, a line each (with --json an "
		       "object), until it is interrupted. Needs CAP_NET_ADMIN.",
	};

	argp_parse(&argp, argc, argv, 0, NULL, NULL);
	client_listen(tell, NULL);
}
