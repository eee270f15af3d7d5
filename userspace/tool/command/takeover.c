// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * rdma-cm-alt takeover: which module serves the programs that use librdmacm as it is. Their device,
 * /dev/infiniband/rdma_cm, belongs to rdma_ucm or to rdma_cm_alt_ucm; the module that has it cannot
 * be unloaded while a process has the device open.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
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

static enum { STATUS, ON, OFF } wanted = STATUS;

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

/* The number of the device, whatever its nodes are called in containers; false: there is none. */
static bool device_number(dev_t *number)
{
	unsigned int major, minor;
	char line[32];

	if (!text_read_line("/sys/class/misc/rdma_cm/dev", line, sizeof(line)) ||
	    sscanf(line, "%u:%u", &major, &minor) != 2)
		return false;
	*number = makedev(major, minor);
	return true;
}

static bool has_open(long pid, dev_t number)
{
	struct dirent *entry;
	bool found = false;
	struct stat st;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%ld/fd", pid);
	dir = opendir(path);
	while (dir && !found && (entry = readdir(dir)))
		found = !fstatat(dirfd(dir), entry->d_name, &st, 0) && S_ISCHR(st.st_mode) &&
			st.st_rdev == number;
	if (dir)
		closedir(dir);
	return found;
}

/* The processes that have the device open, as far as the caller may look into them. */
static struct json_object *find_users(void)
{
	struct json_object *users = json_object_new_array(), *user;
	char path[64], name[32];
	struct dirent *entry;
	dev_t number = 0;
	DIR *dir;

	dir = device_number(&number) ? opendir("/proc") : NULL;
	while (dir && (entry = readdir(dir))) {
		long pid = strtol(entry->d_name, NULL, 10);

		if (pid <= 0 || !has_open(pid, number))
			continue;
		snprintf(path, sizeof(path), "/proc/%ld/comm", pid);
		if (!text_read_line(path, name, sizeof(name)))
			continue;
		text_clean(name);
		user = json_object_new_object();
		record_put_number(user, "pid", (uint64_t)pid);
		record_put(user, "program", name);
		json_object_array_add(users, user);
	}
	if (dir)
		closedir(dir);
	return users;
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
	struct json_object *all = json_object_new_object(), *users = find_users();

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
	}
	json_object_put(all);
	return TOOL_OK;
}

/* Returns whether programs keep a module from being unloaded, and names them. */
static bool is_kept(const char *module)
{
	struct json_object *users = find_users();
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

static int turn_on(void)
{
	bool was_loaded = is_loaded(STOCK), was_set = takeover_is_set();

	if (!modprobe("-an", OURS))
		fail(TOOL_MODULE, "there is no " OURS " for this kernel; nothing was changed");
	if (is_kept(STOCK))
		return TOOL_BAD;
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
	remove_setting();
	if (!unload(OURS))
		fail(TOOL_ERROR, OURS " is still loaded; after a reboot it is " STOCK);
	if (!modprobe("-ai", STOCK))
		fail(TOOL_ERROR, STOCK " was not loaded; the next program tries again");
	printf("programs with librdmacm use " STOCK " from now on\n");
	return TOOL_OK;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	if (state->arg_num)
		argp_error(state, "one word at a time");
	if (!strcmp(arg, "on"))
		wanted = ON;
	else if (!strcmp(arg, "off"))
		wanted = OFF;
	else if (strcmp(arg, "status"))
		argp_error(state, "status, on or off, not %s", arg);
	return 0;
}

int cmd_takeover(int argc, char **argv)
{
	static const struct argp argp = {
		.parser = parse,
		.children = common_child,
		.args_doc = "[status|on|off]",
		.doc = "Which module serves programs that use librdmacm as it is, static ones and "
		       "containers too. on: rdma_cm_alt_ucm, now and after a reboot; off: rdma_ucm. "
		       "Status 1: programs have the device open; they are named, and nothing is "
		       "changed.",
	};

	argp_parse(&argp, argc, argv, 0, NULL, NULL);
	if (wanted == STATUS)
		return status();
	if (geteuid())
		fail(TOOL_ERROR, "only root can load modules");
	return wanted == ON ? turn_on() : turn_off();
}
