// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Makes a capture of kept messages. */
#include "capture/recorder/recall.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "capture/recorder/kept.h"
#include "capture/recorder/output.h"
#include "capture/recorder/stored.h"
#include "tool/core/tool.h"

bool recall_possible(void)
{
	char name[KEPT_NAME], old[KEPT_NAME];

	return kept_name(name) &&
	       (!access(name, F_OK) || (kept_old_name(old, name) && !access(old, F_OK)));
}

static void write_all(struct output *to, const struct kept_copy *copy)
{
	static struct record_entry entry;
	int ret = 0;

	for (size_t i = 0; i < copy->count && !ret; i++) {
		stored_get(copy->entries[i], &entry);
		ret = output_write(to, copy->ports, copy->n_ports, &entry);
	}
	if (!ret)
		ret = output_close(to, copy->ports, copy->n_ports);
	if (!ret)
		return;
	unlink(to->name);
	fail(TOOL_ERROR, "%s cannot be written: %s; the messages are still kept", to->name,
	     strerror(-ret));
}

/* Reads the messages of an ended process, and those of the current one. */
static int read_both(const char *name, struct kept_copy *copy, size_t *n_old, char *why,
		     size_t why_len)
{
	char old[KEPT_NAME], why_not[256];
	struct kept_copy later;
	int ret = kept_read(name, &later, why, why_len);
	int ret_old = -ENOENT;

	*n_old = 0;
	if (ret && ret != -ENOENT)
		return ret;
	if (kept_old_name(old, name))
		ret_old = kept_read(old, copy, why_not, sizeof(why_not));
	if (ret_old) {
		if (ret_old != -ENOENT)
			tool_warn("%s", why_not);
		*copy = later;
		return ret;
	}
	*n_old = copy->count;
	ret = kept_join(copy, &later);
	kept_free(&later);
	if (ret)
		snprintf(why, why_len, "there is no memory for its messages");
	return ret;
}

void recall_write(const char *name)
{
	char from[KEPT_NAME], why[256];
	struct kept_copy copy;
	struct output to;
	size_t n_old;
	int ret;

	if (!kept_name(from))
		fail(TOOL_ERROR, "the network namespace of this process cannot be found: %m");
	ret = read_both(from, &copy, &n_old, why, sizeof(why));
	if (ret == -ENOENT)
		fail(TOOL_ERROR, "%s does not exist, and no messages are kept that could be "
		     "written to it: rdma-cm-alt record --keep NUMBER", name);
	if (ret)
		fail(TOOL_ERROR, "%s does not exist, and %s", name, why);
	output_create(&to, name, false);
	write_all(&to, &copy);
	tool_warn("%s was written: %zu messages, of the last %u of each port%s", name, copy.count,
		  copy.room, copy.pid ? "" : "; the process that kept them has ended");
	if (copy.pid && n_old)
		tool_warn("the first %zu of them were kept by a process that has ended", n_old);
	kept_free(&copy);
}
