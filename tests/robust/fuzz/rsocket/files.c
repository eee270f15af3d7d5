// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Configuration files of any content: those of rsockets, and that of librspreload. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "preload/config.h"
#include "rsocket/conf.h"
#include "world.h"

/* A file with the rest of the input. */
static void make_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, input.at, input.left) < 0)
		not_true("a file can be written");
	close(fd);
}

static void read_settings(void)
{
	static const char *const files[] = { "polling_time", "mem_default", "keepalive_default" };
	const char *file = files[in_u8() % 3];
	struct rcl_rsocket_conf conf;
	char folder[] = "/tmp/fuzz-rsocket-XXXXXX", path[128];

	if (!mkdtemp(folder))
		not_true("a folder can be made");
	snprintf(path, sizeof(path), "%s/%s", folder, file);
	make_file(path);
	rcl_rsocket_conf_read(&conf, folder);
	unlink(path);
	rmdir(folder);
	if (!conf.recv_buf || conf.recv_buf > 1U << 30 || conf.polling_us > 1000000)
		not_true("settings are in their range");
}

static void read_preload(void)
{
	char path[] = "/tmp/fuzz-rsocket-XXXXXX";
	int fd = mkstemp(path);

	if (fd < 0)
		not_true("a file can be made");
	close(fd);
	make_file(path);
	rcl_config_path = path;
	rcl_config_reset();
	rcl_config_wants(AF_INET, SOCK_STREAM, 0);
	rcl_config_wants(AF_INET6, SOCK_DGRAM, 0);
	rcl_config_reset();
	unlink(path);
}

/* What is said of bad lines is not looked at. */
void config_input(void)
{
	static FILE *nowhere;
	FILE *kept = stderr;

	if (!nowhere)
		nowhere = fopen("/dev/null", "w");
	stderr = nowhere;
	if (in_u8() & 1)
		read_settings();
	else
		read_preload();
	stderr = kept;
}
