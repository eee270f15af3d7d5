// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* rdma-cm-alt run: runs a librdmacm program with the drop-in library. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool/core/tool.h"

static struct {
	const char *library;
	bool debug;
	int first;	/* index of the program in argv */
} wanted = { .library = TOOL_DROPIN };

static const struct argp_option run_options[] = {
	{ "debug", 'd', NULL, 0,
	  "The library tells of each call that fails (RDMA_CM_ALT_DEBUG)", 0 },
	{ "library", 'l', "DIRECTORY", 0, "Where the drop-in librdmacm.so.1 is", 0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case 'd':
		wanted.debug = true;
		return 0;
	case 'l':
		wanted.library = arg;
		return 0;
	case ARGP_KEY_ARG:
		/* The remaining arguments belong to the program. */
		wanted.first = state->next - 1;
		state->next = state->argc;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "which program?");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Puts @directory first in LD_LIBRARY_PATH, before the directory of the stock library. */
static void look_first(const char *directory)
{
	const char *old = getenv("LD_LIBRARY_PATH");
	char *all;

	if (asprintf(&all, "%s%s%s", directory, old && *old ? ":" : "", old ?: "") < 0 ||
	    setenv("LD_LIBRARY_PATH", all, 1))
		fail(TOOL_ERROR, "there is no memory for the environment");
	free(all);
}

/* The loader ignores LD_LIBRARY_PATH in set-user-ID programs. */
static void refuse_privileged(const char *program)
{
	char *path = strdup(getenv("PATH") ?: "/usr/bin:/bin"), *rest = path, *directory, *file;
	struct stat st;

	while (!strchr(program, '/') && (directory = strsep(&rest, ":"))) {
		if (asprintf(&file, "%s/%s", *directory ? directory : ".", program) < 0)
			break;
		if (!access(file, X_OK))
			program = file;
		else
			free(file);
	}
	if (!stat(program, &st) && (st.st_mode & S_ISUID) && st.st_uid != geteuid())
		fail(TOOL_ERROR, "%s is set-user-ID: it takes no library from its environment",
		     program);
	free(path);
}

/**
 * run_setup() - make the programs that are executed next use the drop-in library
 * @library: directory of the library
 */
void run_setup(const char *library)
{
	char file[4096];

	snprintf(file, sizeof(file), "%s/librdmacm.so.1", library);
	if (access(file, R_OK))
		fail(TOOL_ERROR,
		     "%s: %s; install librdmacm-alt-dropin, or say where it is with --library",
		     file, strerror(errno));
	look_first(library);
}

int cmd_run(int argc, char **argv)
{
	static const struct argp argp = {
		.options = run_options,
		.parser = parse,
		.args_doc = "PROGRAM [ARGUMENT...]",
		.doc = "Runs a program that was made for librdmacm over rdma_cm_alt. It must be "
		       "linked "
		       "dynamically. Its exit status is the program's.",
	};

	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, NULL);
	refuse_privileged(argv[wanted.first]);
	run_setup(wanted.library);
	if (access("/sys/module/rdma_cm_alt", F_OK))
		fail(TOOL_MODULE, "the module is not loaded: modprobe rdma_cm_alt");
	if (wanted.debug)
		setenv("RDMA_CM_ALT_DEBUG", "1", 1);
	execvp(argv[wanted.first], argv + wanted.first);
	fail(errno == ENOENT ? 127 : 126, "%s: %s", argv[wanted.first], strerror(errno));
}
