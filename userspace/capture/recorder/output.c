// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Writes a capture on this host. */
#include "capture/recorder/output.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "capture/recorder/create.h"
#include "tool/core/tool.h"

void output_create(struct output *to, const char *name, bool again)
{
	char why[256] = "";
	bool created;
	int fd;

	*to = (struct output){ .name = name };
	fd = create_file(name, again, &created, why, sizeof(why));
	if (fd < 0)
		fail(TOOL_ERROR, "%s %s", name, why);
	to->file = fdopen(fd, "w");
	to->writer = to->file ? capture_create(to->file, why, sizeof(why)) : NULL;
	if (to->writer)
		return;
	if (created)
		unlink(name);
	fail(TOOL_ERROR, "%s cannot be written: %s", name, *why ? why : "there is no memory");
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
