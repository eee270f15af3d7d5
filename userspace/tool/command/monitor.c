// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* rdma-cm-alt monitor: prints events and operations as they happen. */
#include <stdio.h>
#include <string.h>

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

static void tell(struct nlmsghdr *nlh, struct nlattr **attrs, void *arg)
{
	struct json_object *notification = record_notification(attrs);

	(void)nlh;
	(void)arg;
	if (wanted.failures && !record_failed(notification)) {
		json_object_put(notification);
		return;
	}
	if (filter_matches(&wanted.filter, notification)) {
		if (options.json)
			puts(json_object_to_json_string_ext(notification,
							    JSON_C_TO_STRING_NOSLASHESCAPE));
		else
			record_print(notification);
		/* The reader may have closed the pipe while SIGPIPE is ignored. */
		if (fflush(stdout) || ferror(stdout))
			fail(TOOL_ERROR, "what happens cannot be written: %m");
	}
	json_object_put(notification);
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
