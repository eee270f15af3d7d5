// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* rdma-cm-alt run: runs a librdmacm program with the drop-in library. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool/core/tool.h"

static struct {
	const char *library;
	bool debug, sockets;
	int first;	/* index of the program in argv */
} wanted = { .library = TOOL_DROPIN };

static const struct argp_option run_options[] = {
	{ "debug", 'd', NULL, 0,
	  "The library tells of each call that fails (RDMA_CM_ALT_DEBUG)", 0 },
	{ "library", 'l', "DIRECTORY", 0, "Where the drop-in librdmacm.so.1 is", 0 },
	{ "sockets", 's', NULL, 0, "The program's sockets are rsockets (librspreload)", 0 },
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
	case 's':
		wanted.sockets = true;
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

/* Puts @word first in a list of the environment. */
static void put_first(const char *name, const char *word)
{
	const char *old = getenv(name);
	char *all;

	if (asprintf(&all, "%s%s%s", word, old && *old ? ":" : "", old ?: "") < 0 ||
	    setenv(name, all, 1))
		fail(TOOL_ERROR, "there is no memory for the environment");
	free(all);
}

/* Returns the file that execvp() would execute, or @program; it is never freed. */
static const char *find_program(const char *program)
{
	char *path = strdup(getenv("PATH") ?: "/usr/bin:/bin"), *rest = path, *directory, *file;

	while (!strchr(program, '/') && (directory = strsep(&rest, ":"))) {
		if (asprintf(&file, "%s/%s", *directory ? directory : ".", program) < 0)
			break;
		if (!access(file, X_OK))
			program = file;
		else
			free(file);
	}
	free(path);
	return program;
}

/* The loader ignores LD_LIBRARY_PATH in set-user-ID programs. */
static void refuse_privileged(const char *program)
{
	struct stat st;

	if (!stat(program, &st) && (st.st_mode & S_ISUID) && st.st_uid != geteuid())
		fail(TOOL_ERROR, "%s is set-user-ID: it takes no library from its environment",
		     program);
}

/* A program without an interpreter has no loader. Scripts, and programs of another class, pass. */
static void refuse_static(const char *program)
{
	const unsigned char class = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
	int fd = open(program, O_RDONLY | O_CLOEXEC);
	ElfW(Ehdr) head;
	ElfW(Phdr) part;
	bool loader = false;

	if (fd < 0)
		return;
	if (pread(fd, &head, sizeof(head), 0) != sizeof(head) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) || head.e_ident[EI_CLASS] != class)
		loader = true;
	for (int i = 0; !loader && i < head.e_phnum; i++) {
		if (pread(fd, &part, sizeof(part), head.e_phoff + i * sizeof(part)) != sizeof(part))
			break;
		loader = part.p_type == PT_INTERP;
	}
	close(fd);
	if (!loader)
		fail(TOOL_ERROR, "%s is linked statically: it loads no library; link it with "
		     "librdmacm_alt instead", program);
}

/* In a container the module of the host is loaded, but the node may be missing. */
static void need_node(void)
{
	const char *own = getenv("RDMA_CM_ALT_DEVICE");

	if (own && access(own, F_OK))
		fail(TOOL_ERROR, "RDMA_CM_ALT_DEVICE=%s: %s", own, strerror(errno));
	if (!own && access("/dev/rdma_cm_alt", F_OK) && access("/dev/infiniband/rdma_cm_alt", F_OK))
		fail(TOOL_ERROR,
		     "the module is loaded, but there is no /dev/rdma_cm_alt; give it to the "
		     "container: --device /dev/rdma_cm_alt");
}

/* Makes the sockets of the program rsockets. */
static void preload_sockets(const char *directory)
{
	char file[4096];

	snprintf(file, sizeof(file), "%s/librspreload.so", directory);
	if (access(file, R_OK))
		fail(TOOL_ERROR, "%s: %s; it is installed with the drop-in", file, strerror(errno));
	put_first("LD_PRELOAD", file);
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
	put_first("LD_LIBRARY_PATH", library);
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

	const char *program;

	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, NULL);
	program = find_program(argv[wanted.first]);
	refuse_privileged(program);
	refuse_static(program);
	run_setup(wanted.library);
	if (access("/sys/module/rdma_cm_alt", F_OK))
		fail(TOOL_MODULE, "the module is not loaded: modprobe rdma_cm_alt");
	need_node();
	if (wanted.sockets)
		preload_sockets(wanted.library);
	if (wanted.debug)
		setenv("RDMA_CM_ALT_DEBUG", "1", 1);
	execvp(argv[wanted.first], argv + wanted.first);
	fail(errno == ENOENT ? 127 : 126, "%s: %s", argv[wanted.first], strerror(errno));
}
