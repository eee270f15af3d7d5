// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* rdma-cm-alt: shows what the connection manager does, and explains failures. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/core/tool.h"

const char *argp_program_version = "rdma-cm-alt " TOOL_VERSION;

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *what;
} commands[] = {
	{ "show", cmd_show, "ids, listeners, queues, memberships, paths and peers that there are" },
	{ "stats", cmd_stats, "counters and latencies of each port" },
	{ "monitor", cmd_monitor, "what happens, while it happens" },
	{ "record", cmd_record, "CM messages of a capture, a line each" },
	{ "explain", cmd_explain, "why something failed, and what to try" },
	{ "check", cmd_check, "whether this host is ready" },
	{ "takeover", cmd_takeover, "which module serves programs that use librdmacm as it is" },
	{ "run", cmd_run, "a program for librdmacm over this connection manager" },
	{ "bench", cmd_bench, "a quick comparison with the stock one, on this host" },
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static error_t parse(int key, char *arg, struct argp_state *state)
{
	const struct command *command = NULL;
	static char name[64];

	switch (key) {
	case ARGP_KEY_ARG:
		for (size_t i = 0; i < COMMANDS; i++)
			if (!strcmp(arg, commands[i].name))
				command = &commands[i];
		if (!command)
			argp_error(state, "there is no command %s", arg);
		/* argp prints argv[0] in front of the messages of the subcommand. */
		snprintf(name, sizeof(name), "rdma-cm-alt %s", arg);
		state->argv[state->next - 1] = name;
		*(int *)state->input = command->run(state->argc - state->next + 1,
						    state->argv + state->next - 1);
		state->next = state->argc;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_usage(state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static char *help_filter(int key, const char *text, void *input)
{
	size_t len = 0;
	char *all;
	FILE *out;

	(void)input;
	if (key != ARGP_KEY_HELP_POST_DOC)
		return (char *)text;
	out = open_memstream(&all, &len);
	if (!out)
		return NULL;
	fputs("Commands (rdma-cm-alt COMMAND --help):\n", out);
	for (size_t i = 0; i < COMMANDS; i++)
		fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].what);
	fputs("\nExit status: 0 done, or all is well; 1 check or explain found something wrong,\n"
	      "or programs prevent a takeover; 2 the command line is wrong; 3 the module is not\n"
	      "loaded; 4 another error; 5 explain: there is no such id.\n", out);
	fclose(out);
	return all;
}

/* A non-empty NO_COLOR disables colours: https://no-color.org. */
static bool may_color(void)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && !(no && *no) && !(term && !strcmp(term, "dumb"));
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = NULL, .parser = parse, .args_doc = "COMMAND [ARGUMENT...]",
		.doc = "See what the RDMA connection manager rdma_cm_alt does, "
		       "and why it does not.\v ",
		.children = common_child, .help_filter = help_filter,
	};
	int status = TOOL_ERROR;

	argp_err_exit_status = TOOL_USAGE;
	options.color = may_color();
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &status);
	if (fflush(stdout) || ferror(stdout))
		fail(TOOL_ERROR, "not all could be written: %m");
	return status;
}
