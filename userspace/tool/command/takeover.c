// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * rdma-cm-alt takeover: which module serves the programs that use librdmacm as it is. Their device,
 * /dev/infiniband/rdma_cm, belongs to rdma_ucm or to rdma_cm_alt_ucm; the module that has it cannot
 * be unloaded while a process has the device open.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tool/core/tool.h"

#define OURS		"rdma_cm_alt_ucm"
#define STOCK		"rdma_ucm"
#define MODPROBE	"/sbin/modprobe"

/*
 * Where modprobe reads what "on" decides: for rdma_ucm it loads rdma_cm_alt_ucm; if that was not
 * built for the kernel, or is gone, it loads rdma_ucm after all.
 */
#define SETTING		"/etc/modprobe.d/rdma_cm_alt-takeover.conf"
#define NEW_SETTING	SETTING ".new"

static struct {
	enum { STATUS, ON, OFF } what;
	bool dry, yes;
} wanted;

static bool is_loaded(const char *module)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/module/%s", module);
	return !access(path, F_OK);
}

bool takeover_is_set(void)
{
	return !access(SETTING, F_OK);
}

/*
 * Runs modprobe; its messages go to the user. Returns whether it succeeded.
 * @how: -a: load the module; -ai: whatever files of modprobe.d say about it; -an: only look for it
 */
static bool modprobe(const char *how, const char *module)
{
	char *argv[] = { (char *)"modprobe", (char *)how, (char *)module, NULL };
	int status, ret;
	pid_t pid;

	fflush(stdout);
	ret = posix_spawn(&pid, MODPROBE, NULL, NULL, argv, environ);
	if (ret) {
		tool_warn("%s: %s", MODPROBE, strerror(ret));
		return false;
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return false;
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

/* "modprobe -r" would unload the modules that it depends on, too. */
static bool unload(const char *module)
{
	if (!is_loaded(module) || !syscall(SYS_delete_module, module, O_NONBLOCK))
		return true;
	tool_warn("%s cannot be unloaded: %m", module);
	return false;
}

static void print_users(FILE *out, struct json_object *users)
{
	for (size_t i = 0; i < json_object_array_length(users); i++) {
		struct json_object *user = json_object_array_get_idx(users, i);

		fprintf(out, "  %-16s process %lld\n", record_string(user, "program"),
			(long long)record_number(user, "pid"));
	}
}

static int status(void)
{
	const char *owner = is_loaded(OURS) ? OURS : is_loaded(STOCK) ? STOCK : NULL;
	struct json_object *all = json_object_new_object(), *users = users_of_librdmacm();

	record_put(all, "owner", owner);
	record_put(all, "boot", takeover_is_set() ? OURS : STOCK);
	json_object_object_add(all, "users", users);
	if (options.json) {
		puts(json_object_to_json_string_ext(all, JSON_C_TO_STRING_PRETTY |
						    JSON_C_TO_STRING_NOSLASHESCAPE));
	} else {
		if (owner)
			printf("now: programs with librdmacm use %s\n", owner);
		else
			printf("now: neither " OURS " nor " STOCK " is loaded\n");
		printf("after a reboot: %s\n", takeover_is_set() ? OURS : STOCK);
		if (json_object_array_length(users))
			printf("these have /dev/infiniband/rdma_cm open:\n");
		print_users(stdout, users);
		if (geteuid())
			printf("(processes of others are not listed: only root may look)\n");
	}
	json_object_put(all);
	return TOOL_OK;
}

/* Returns whether programs keep a module from being unloaded, and names them. */
static bool is_kept(const char *module)
{
	struct json_object *users = users_of_librdmacm();
	bool kept = is_loaded(module) && json_object_array_length(users);

	if (kept) {
		tool_warn("%s cannot be unloaded while these use it; nothing was changed:", module);
		print_users(stderr, users);
	}
	json_object_put(users);
	return kept;
}

/* The file is complete, or as it was. */
static void write_setting(void)
{
	FILE *file = fopen(NEW_SETTING, "we");
	bool good = file;

	if (file) {
		good = fputs("# From \"rdma-cm-alt takeover on\"; \"takeover off\" removes it.\n"
			     "install " STOCK " " MODPROBE " " OURS " || "
			     MODPROBE " -i " STOCK "\n", file) >= 0 &&
		       !fflush(file) && !fsync(fileno(file));
		good = !fclose(file) && good;
	}
	if (!good || rename(NEW_SETTING, SETTING)) {
		int err = errno;

		unlink(NEW_SETTING);
		fail(TOOL_ERROR, "%s: %s; nothing was changed", SETTING, strerror(err));
	}
}

static void remove_setting(void)
{
	if (unlink(SETTING) && errno != ENOENT)
		fail(TOOL_ERROR, "%s: %m", SETTING);
}

/* Says what follows, and returns whether to do it: with -y, or if the user at a terminal agrees. */
static bool may_change(const char *from, const char *to)
{
	const char *end = wanted.dry ? " (-n: nothing was changed)" : "";
	bool is_set = takeover_is_set() == !strcmp(to, OURS);
	char answer[8] = "";

	if (is_loaded(to) && is_set) {
		printf("programs with librdmacm use %s already, now and after a reboot\n", to);
		return false;
	}
	if (is_loaded(to))
		printf("%s is loaded already, and will be after a reboot, too%s\n", to, end);
	else if (is_loaded(from))
		printf("%s is unloaded and %s loaded in its place, now and after a reboot%s\n",
		       from, to, end);
	else
		printf("%s is loaded in place of %s, now and after a reboot%s\n", to, from, end);
	if (wanted.dry || wanted.yes)
		return wanted.yes && !wanted.dry;
	if (!isatty(STDIN_FILENO))
		fail(TOOL_USAGE, "there is no terminal to ask at: use -y; nothing was changed");
	printf("Do it? [y/N] ");
	fflush(stdout);
	if (fgets(answer, sizeof(answer), stdin) && (answer[0] == 'y' || answer[0] == 'Y'))
		return true;
	printf("nothing was changed\n");
	return false;
}

static int turn_on(void)
{
	bool was_loaded = is_loaded(STOCK), was_set = takeover_is_set();

	if (!modprobe("-an", OURS))
		fail(TOOL_MODULE, "nothing was changed; install " OURS " for this kernel: "
		     "rdma-cm-alt-dkms and the kernel's headers, or make install");
	if (is_kept(STOCK))
		return TOOL_BAD;
	if (!may_change(STOCK, OURS))
		return TOOL_OK;
	/* Before the device is free: containers know its number, which the next device gets. */
	if (!modprobe("-a", "rdma_cm_alt"))
		fail(TOOL_ERROR, "rdma_cm_alt was not loaded (dmesg); nothing was changed");
	/* First, so that a program that starts meanwhile does not load the other module again. */
	write_setting();
	if (unload(STOCK) && modprobe("-a", OURS)) {
		printf("programs with librdmacm use " OURS " from now on\n");
		return TOOL_OK;
	}
	if (!was_set)
		remove_setting();
	if (was_loaded && !is_loaded(STOCK))
		modprobe("-ai", STOCK);
	fail(TOOL_ERROR, OURS " was not loaded (dmesg); programs with librdmacm use " STOCK
	     " as before");
}

static int turn_off(void)
{
	if (is_kept(OURS))
		return TOOL_BAD;
	if (!may_change(OURS, STOCK))
		return TOOL_OK;
	remove_setting();
	if (!unload(OURS))
		fail(TOOL_ERROR, OURS " is still loaded; after a reboot it is " STOCK);
	if (!modprobe("-ai", STOCK))
		fail(TOOL_ERROR, STOCK " was not loaded; the next program tries again");
	printf("programs with librdmacm use " STOCK " from now on\n");
	return TOOL_OK;
}

static const struct argp_option takeover_options[] = {
	{ "dry-run", 'n', NULL, 0, "Only say what would be done", 0 },
	{ "yes", 'y', NULL, 0, "Do not ask", 0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	if (key == 'n')
		wanted.dry = true;
	if (key == 'y')
		wanted.yes = true;
	if (key == 'n' || key == 'y')
		return 0;
	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	if (state->arg_num)
		argp_error(state, "one word at a time");
	if (!strcmp(arg, "on"))
		wanted.what = ON;
	else if (!strcmp(arg, "off"))
		wanted.what = OFF;
	else if (strcmp(arg, "status"))
		argp_error(state, "status, on or off, not %s", arg);
	return 0;
}

int cmd_takeover(int argc, char **argv)
{
	static const struct argp argp = {
		.options = takeover_options,
		.parser = parse,
		.children = common_child,
		.args_doc = "[status|on|off]",
		.doc = "Which module serves programs that use librdmacm as it is, static ones and "
		       "containers too. on: rdma_cm_alt_ucm, now and after a reboot; off: rdma_ucm. "
		       "Status 1: programs have the device open; they are named, and nothing is "
		       "changed.",
	};

	argp_parse(&argp, argc, argv, 0, NULL, NULL);
	if (wanted.what == STATUS)
		return status();
	if (geteuid())
		fail(TOOL_ERROR, "only root can load modules");
	return wanted.what == ON ? turn_on() : turn_off();
}
