// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Who has the device of librdmacm open. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "tool/core/tool.h"

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

struct json_object *users_of_librdmacm(void)
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
