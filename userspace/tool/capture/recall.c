// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Makes a capture of kept messages. */
#include "tool/capture/recall.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "tool/capture/kept.h"
#include "tool/capture/output.h"
#include "tool/core/tool.h"

bool recall_possible(void)
{
	char name[64];

	return kept_name(name, sizeof(name)) && !access(name, F_OK);
}

static void write_all(struct output *to, const struct kept_copy *copy)
{
	int ret = 0;

	for (size_t i = 0; i < copy->count && !ret; i++)
		ret = output_write(to, copy->ports, copy->n_ports, &copy->entries[i]);
	if (!ret)
		ret = output_close(to, copy->ports, copy->n_ports);
	if (!ret)
		return;
	unlink(to->name);
	fail(TOOL_ERROR, "%s cannot be written: %s; the messages are still kept", to->name,
	     strerror(-ret));
}

void recall_write(const char *name)
{
	char from[64], why[256];
	struct kept_copy copy;
	struct output to;
	int ret;

	if (!kept_name(from, sizeof(from)))
		fail(TOOL_ERROR, "the network namespace of this process cannot be found: %m");
	ret = kept_read(from, &copy, why, sizeof(why));
	if (ret == -ENOENT)
		fail(TOOL_ERROR, "%s does not exist, and no messages are kept that could be "
		     "written to it: rdma-cm-alt record --keep NUMBER", name);
	if (ret)
		fail(TOOL_ERROR, "%s does not exist, and %s", name, why);
	output_create(&to, name, false);
	write_all(&to, &copy);
	warn("%s was written: %zu messages, of the last %u of each port%s", name, copy.count,
	     copy.room, copy.pid ? "" : "; the process that kept them has ended");
	kept_free(&copy);
}
