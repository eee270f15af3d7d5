// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Default sizes and times of rsockets.
 *
 * Locking: pthread_once(); the settings do not change afterwards.
 */
#include "rsocket/conf.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/compiler.h"
#include "base/log.h"

struct setting {
	const char *file;
	size_t offset;
	uint32_t value;
	uint32_t least;
	uint32_t most;
};

#define SETTING(name, member, ...)						\
	{ .file = (name), .offset = offsetof(struct rcl_rsocket_conf, member), __VA_ARGS__ }

static const struct setting settings[] = {
	SETTING("polling_time", polling_us, .value = 10, .most = 1000000),
	SETTING("inline_default", inline_len, .value = 64, .most = 65535),
	SETTING("sqsize_default", sq_size, .value = 127, .least = 1, .most = 65535),
	SETTING("rqsize_default", rq_size, .value = 255, .least = 1, .most = 65535),
	SETTING("mem_default", recv_buf, .value = 1 << 17, .least = 1, .most = 1U << 30),
	SETTING("wmem_default", send_buf, .value = 1 << 17, .least = 1, .most = 1U << 30),
	SETTING("iomap_size", iomaps, .value = 0, .most = 65535),
	SETTING("keepalive_default", keepalive_s, .value = 60, .most = 1000000),
};

/* Reads a file with one number; false if it does not exist. */
static bool read_number(const char *path, long long *number)
{
	FILE *file = fopen(path, "re");
	bool ok;

	if (!file) {
		if (errno != ENOENT)
			rcl_log("rsocket: %s cannot be read (errno %d): its default is used", path,
				errno);
		return false;
	}
	ok = fscanf(file, "%lld", number) == 1;
	fclose(file);
	if (!ok)
		rcl_log("rsocket: %s has no number: its default is used", path);
	return ok;
}

static uint32_t read_setting(const struct setting *setting, const char *folder)
{
	char path[512];
	long long number;

	snprintf(path, sizeof(path), "%s/%s", folder, setting->file);
	if (!read_number(path, &number))
		return setting->value;
	if (number < setting->least || number > setting->most) {
		rcl_log("rsocket: %s: %lld is not from %u to %u: %u is used", path, number,
			setting->least, setting->most, setting->value);
		return setting->value;
	}
	return number;
}

void rcl_rsocket_conf_read(struct rcl_rsocket_conf *conf, const char *folder)
{
	const struct setting *setting;

	for (setting = settings; setting < settings + ARRAY_SIZE(settings); setting++)
		*(uint32_t *)((char *)conf + setting->offset) = read_setting(setting, folder);
}

static struct rcl_rsocket_conf system_conf;

static void read_system(void)
{
	rcl_rsocket_conf_read(&system_conf, RCL_RSOCKET_CONF);
}

const struct rcl_rsocket_conf *rcl_rsocket_conf(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_system);
	return &system_conf;
}
