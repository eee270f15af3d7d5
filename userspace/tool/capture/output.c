// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Writes a capture on this host. */
#include "tool/capture/output.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "tool/core/tool.h"

/* A file that there was may be readable by others. */
static bool protect(int fd)
{
	struct stat stat;

	return !fstat(fd, &stat) && (!S_ISREG(stat.st_mode) || !fchmod(fd, 0600));
}

void output_create(struct output *to, const char *name, bool again)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC | (again ? O_TRUNC : O_EXCL), 0600);
	char why[256] = "";

	*to = (struct output){ .name = name };
	if (fd < 0)
		fail(TOOL_ERROR, "%s cannot be created: %m", name);
	if (!protect(fd))
		fail(TOOL_ERROR, "%s cannot be made unreadable for others: %m", name);
	to->file = fdopen(fd, "w");
	to->writer = to->file ? capture_create(to->file, why, sizeof(why)) : NULL;
	if (!to->writer)
		fail(TOOL_ERROR, "%s cannot be written: %s", name,
		     *why ? why : "there is no memory");
}

int output_write(struct output *to, const struct record_port *ports, unsigned int n_ports,
		 const struct record_entry *entry)
{
	return capture_write(to->writer, ports, n_ports, entry);
}

int output_close(struct output *to, const struct record_port *ports, unsigned int n_ports)
{
	int ret = 0;

	if (to->writer)
		ret = capture_close(to->writer, ports, n_ports);
	to->writer = NULL;
	if (to->file && fclose(to->file) && !ret)
		ret = -errno;
	to->file = NULL;
	return ret;
}

void output_fail(const struct output *to, int error)
{
	fail(TOOL_ERROR, "%s cannot be written: %s; what was recorded before can be read",
	     to->name, strerror(-error));
}
