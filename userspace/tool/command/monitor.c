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
 * time_of_day() - a time of day
 * @record: what has it
 * @key: the member, in ns since 1970
 * @text: where
 * @len: its room
 *
 * Return: @text.
 */
const char *time_of_day(struct json_object *record, const char *key, char *text, size_t len)
{
	uint64_t ns = json_object_get_uint64(json_object_object_get(record, key));
	time_t seconds = ns / 1000000000;
	size_t end = strftime(text, len, "%H:%M:%S", localtime(&seconds));

	snprintf(text + end, len - end, ".%06u", (unsigned int)(ns % 1000000000 / 1000));
	return text;
}

/**
 * notification_print() - print a line for a notification or a failure
 * @notification: its record
 */
void notification_print(struct json_object *notification)
{
	const char *event = record_string(notification, "event");
	const char *device = record_string(notification, "device");
	int status = record_number(notification, "status");
	const char *on = "", *off = "";
	char when[32];

	if (options.color && record_failed(notification)) {
		on = "\033[31m";
		off = "\033[0m";
	}
	printf("%s %s %s %s -> %s", time_of_day(notification, "time", when, sizeof(when)),
	       record_string(notification, "program") ?: "-",
	       record_string(notification, "name") ?: "-",
	       record_string(notification, "local") ?: "-",
	       record_string(notification, "peer") ?: "-");
	if (device)
		printf(" %s/%d", device, (int)record_number(notification, "port"));
	printf(" %s%s", on, event ?: record_string(notification, "operation") ?: "?");
	if (status)
		printf(": %s", advice_what(notification));
	printf("%s\n", off);
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
			notification_print(notification);
		/* Who reads it may be gone, and SIGPIPE ignored. */
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
