// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Passes recorded messages to a file, to the file of kept messages, or to the terminal. */
#include "capture/recorder/sink.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "capture/decode/print.h"
#include "capture/recorder/kept.h"
#include "capture/recorder/output.h"
#include "capture/recorder/ports.h"
#include "capture/recorder/source.h"
#include "tool/core/tool.h"

static const struct record_options *wanted;
static struct conversations *conversations;
static struct output output;
static struct kept *kept;

static unsigned long recorded, untied;
static bool unread;			/* the reader of the output is gone */

static time_t noted;			/* time of the last note of drops, and @recorded then */
static unsigned long noted_of;

/* Whether only messages of some ids are wanted. */
static bool has_tie_filter(void)
{
	return wanted->id.handle || wanted->pid || wanted->program;
}

static int finish(void)
{
	unsigned int count;
	const struct record_port *ports;
	int ret;

	source_drops();
	ports = ports_all(&count);
	ret = output_close(&output, ports, count);
	for (unsigned int i = 0; i < count; i++)
		if (ports[i].dropped)
			tool_warn("%s/%u: %llu messages were not recorded: they came faster than "
				  "they were read", ports[i].device, ports[i].port,
				  (unsigned long long)ports[i].dropped);
	if (untied)
		tool_warn("%lu messages %s, as what happened came faster than it was read: they "
			  "may be of the stock connection manager", untied,
			  has_tie_filter() ? "were left out that are tied to no id" :
					     "are tied to no id");
	if (!kept)
		tool_warn("%lu messages were recorded", recorded);
	return ret;
}

static void print(const struct record_port *port, const struct record_entry *entry)
{
	struct capture_seen seen = { .number = recorded, .port = *port, .entry = *entry };
	int ret;

	print_message(&seen, conversations_add(conversations, &seen));
	conversations_forget(conversations);
	if (!fflush(stdout) && !ferror(stdout))
		return;
	ret = errno;
	/* Not an error if the reader has closed the pipe; the rest of the output is discarded. */
	unread = ret == EPIPE && freopen("/dev/null", "w", stdout);
	if (unread)
		return;
	finish();
	fail(TOOL_ERROR, "messages cannot be printed: %s", strerror(ret));
}

/* Messages of other ports are still kept. */
static void keep(const struct record_port *ports, unsigned int count,
		 const struct record_entry *entry)
{
	int ret = kept_add(kept, ports, count, entry);

	if (ret)
		tool_warn("messages of %s/%u are not kept: %s", ports[entry->port].device,
			  ports[entry->port].port, strerror(-ret));
}

static void write_down(const struct record_port *ports, unsigned int count,
		       const struct record_entry *entry)
{
	int ret = output_write(&output, ports, count, entry);

	if (!ret)
		return;
	finish();
	output_fail(&output, ret);
}

unsigned long sink_add(struct record_entry *entry, bool unsure)
{
	const struct record_port *ports;
	unsigned int count;

	ports = ports_all(&count);
	if (unsure) {
		entry->stock = false;
		untied++;
	}
	if (entry->stock && !wanted->all)
		return 0;
	if (!record_matches(wanted, &ports[entry->port], entry))
		return 0;
	if (!wanted->private_data)
		record_remove_private_data(entry);
	recorded++;
	if (kept)
		keep(ports, count, entry);
	if (output.writer)
		write_down(ports, count, entry);
	if (wanted->text || (!output.writer && !kept))
		print(&ports[entry->port], entry);
	return recorded;
}

bool sink_is_full(void)
{
	return unread || (wanted->count && recorded >= wanted->count);
}

static time_t seconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec;
}

static void note_drops(void)
{
	const struct record_port *ports;
	unsigned int count;

	noted_of = recorded;
	source_drops();
	ports = ports_all(&count);
	kept_drops(kept, ports, count);
	noted = seconds();
}

void sink_note_drops(bool idle)
{
	if (kept && noted_of != recorded && (idle || seconds() != noted))
		note_drops();
}

static void begin_to_keep(void)
{
	char name[KEPT_NAME], why[256];

	if (!kept_name(name))
		fail(TOOL_ERROR, "the network namespace of this process cannot be found: %m");
	kept = kept_create(name, wanted->keep, wanted->trunks, why, sizeof(why));
	if (!kept)
		fail(TOOL_ERROR, "%s", why);
	tool_warn("keeping the last %u messages of each port, in %zu kB of memory a port; "
		  "recording; it ends with Ctrl-C", wanted->keep,
		  kept_bytes(wanted->keep, wanted->trunks) / 1000);
}

void sink_open(const struct record_options *options)
{
	wanted = options;
	conversations = conversations_new();
	if (!conversations)
		fail(TOOL_ERROR, "there is no memory to record");
	if (wanted->write_to)
		output_create(&output, wanted->write_to, true);
	if (wanted->keep)
		begin_to_keep();
	else
		tool_warn("recording; it ends with Ctrl-C");
}

void sink_close(bool loaded)
{
	int ret = finish();

	conversations_free(conversations);
	if (ret)
		fail(TOOL_ERROR, "%s is incomplete: %s", wanted->write_to, strerror(-ret));
	if (!kept)
		return;
	note_drops();
	kept_close(kept, loaded);
	if (!loaded)
		fail(TOOL_MODULE, "the module was unloaded; what was kept can be read: "
		     "rdma-cm-alt explain --capture FILE");
}
