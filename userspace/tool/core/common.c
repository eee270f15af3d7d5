// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Shared by all subcommands of rdma-cm-alt: messages, and the options --json and --color. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/core/tool.h"

struct options options;

void tool_warn(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fputs("rdma-cm-alt: ", stderr);
	vfprintf(stderr, fmt, args);
	fputc('\n', stderr);
	va_end(args);
}

void fail(int code, const char *fmt, ...)
{
	va_list args;

	/* Keeps the order of earlier output and the message. */
	fflush(stdout);
	va_start(args, fmt);
	fputs("rdma-cm-alt: error: ", stderr);
	vfprintf(stderr, fmt, args);
	fputc('\n', stderr);
	va_end(args);
	exit(code);
}

enum { KEY_COLOR = 256 };

static const struct argp_option common_options[] = {
	{ "json", 'j', NULL, 0, "JSON instead of text", -1 },
	{ "color", KEY_COLOR, "WHEN", 0, "auto (on a terminal), always or never", -1 },
	{ 0 }
};

static error_t parse_common(int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case 'j':
		options.json = true;
		return 0;
	case KEY_COLOR:
		if (!strcmp(arg, "always"))
			options.color = true;
		else if (!strcmp(arg, "never"))
			options.color = false;
		else if (strcmp(arg, "auto"))
			argp_error(state, "--color is auto, always or never, not %s", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp common = { .options = common_options, .parser = parse_common };
const struct argp_child common_child[] = { { &common, 0, NULL, 0 }, { 0 } };
