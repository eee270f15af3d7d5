// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* rdma-cm-alt monitor: prints events and operations as they happen. */
#include <stdio.h>
#include <string.h>

#include "capture/recorder/live.h"
#include "tool/core/tool.h"

static struct record_options recording;

static struct {
	bool failures;
	struct filter filter;
} wanted;

static const struct argp_option monitor_options[] = {
	{ "failures", 'f', NULL, 0, "Only what fails", 0 },
	{ "program", 'c', "NAME", 0, "Only of programs with this name", 0 },
	{ "write", 'w', "FILE", 0,
	  "Record CM messages to this file, as record -w, and tell the numbers of packets", 0 },
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
	case 'w':
		recording.write_to = arg;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "there are no arguments");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void tell(struct json_object *notification)
{
	if ((wanted.failures && !record_failed(notification)) ||
	    !filter_matches(&wanted.filter, notification)) {
		json_object_put(notification);
		return;
	}
	if (options.json)
		puts(json_object_to_json_string_ext(notification, JSON_C_TO_STRING_NOSLASHESCAPE));
	else
		record_print(notification);
	json_object_put(notification);
	/* The reader may have closed the pipe while SIGPIPE is ignored. */
	if (fflush(stdout) || ferror(stdout))
		fail(TOOL_ERROR, "what happens cannot be written: %m");
}

static void take_notification(struct nlmsghdr *nlh, struct nlattr **attrs, void *arg)
{
	(void)nlh;
	(void)arg;
	tell(record_notification(attrs));
}

int cmd_monitor(int argc, char **argv)
{
	static const struct argp argp = {
		.options = monitor_options, .parser = parse, .children = common_child,
		.doc = "What happens in this network namespace, a line each (with --json an "
		       "object), until it is interrupted. Needs CAP_NET_ADMIN. "
		       "With -w it needs the capabilities of record, too.",
	};

	argp_parse(&argp, argc, argv, 0, NULL, NULL);
	if (!recording.write_to)
		client_listen(take_notification, NULL);
	live_monitor(&recording, tell);
	return TOOL_OK;
}
