// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Live recording. A message waits for the notifications that tie it to an id, in the order in which
 * messages passed; a notification that is told waits for the messages before it.
 */
#include "tool/capture/live.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tool/capture/kept.h"
#include "tool/capture/output.h"
#include "tool/capture/ports.h"
#include "tool/capture/source.h"
#include "tool/capture/stored.h"
#include "tool/capture/ties.h"
#include "tool/core/tool.h"
#include "tool/decode/print.h"

/* How long a message waits for its ties, and how many may wait. */
#define WAIT_NS		100000000ULL
#define WAITING		8192

/* How long it sleeps while some wait, so that one wake-up serves many. */
#define NAP_NS		20000000ULL

#define SECOND_NS	1000000000ULL

/* struct message - a message that waits; @since: when it passed, CLOCK_MONOTONIC in nanoseconds */
struct message {
	uint64_t since;
	struct record_entry *stored;
};

/*
 * struct notice - a notification that waits to be told
 * @since: when it was received, as of a message
 * @told: its number for ties
 */
struct notice {
	uint64_t since;
	unsigned long told;
	struct json_object *record;
	struct notice *next;
};

static const struct record_options *wanted;
static void (*teller)(struct json_object *notification);
static struct conversations *conversations;
static int64_t ahead;

static struct message waiting[WAITING];
static unsigned long first, last;	/* numbers of messages that wait */
static unsigned long recorded;

/* Notifications of messages of this time were lost, CLOCK_MONOTONIC in nanoseconds. */
static uint64_t unsure_from, unsure_until, heard_all;
static unsigned long untied;	/* messages of that time that are tied to no id */

static struct notice *notices, **notices_end = &notices;

static struct output output;
static struct kept *kept;
static uint64_t noted;			/* when drops were noted last, and of how many messages */
static unsigned long noted_of;

static atomic_bool interrupted;

static void interrupt(int number)
{
	(void)number;
	interrupted = true;
}

static uint64_t now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return time.tv_sec * SECOND_NS + time.tv_nsec;
}

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
			warn("%s/%u: %llu messages were not recorded: they came faster than they "
			     "were read", ports[i].device, ports[i].port,
			     (unsigned long long)ports[i].dropped);
	if (untied)
		warn("%lu messages %s, as what happened came faster than it was read: they may "
		     "be of the stock connection manager", untied,
		     has_tie_filter() ? "were left out that are tied to no id" :
					"are tied to no id");
	if (!kept)
		warn("%lu messages were recorded", recorded);
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
	/* The reader has read enough. */
	if (errno == EPIPE) {
		interrupted = true;
		return;
	}
	ret = errno;
	finish();
	fail(TOOL_ERROR, "what is recorded cannot be printed: %s", strerror(ret));
}

/* Messages of other ports are kept on. */
static void keep(const struct record_port *ports, unsigned int count,
		 const struct record_entry *entry)
{
	int ret = kept_add(kept, ports, count, entry);

	if (ret)
		warn("messages of %s/%u are not kept: %s", ports[entry->port].device,
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

/* @since: when it passed, as of struct message */
static void record(struct record_entry *entry, uint64_t since)
{
	const struct record_port *ports;
	unsigned int count;
	unsigned long told;

	told = ties_apply(entry, WAIT_NS);
	ports = ports_all(&count);
	if (entry->stock && since >= unsure_from && since <= unsure_until) {
		entry->stock = false;
		untied++;
	}
	if (entry->stock && !wanted->all)
		return;
	if (!record_matches(wanted, &ports[entry->port], entry))
		return;
	if (!wanted->private_data)
		record_remove_private_data(entry);
	recorded++;
	ties_recorded(entry, told, recorded);
	if (kept)
		keep(ports, count, entry);
	if (output.writer)
		write_down(ports, count, entry);
	if (wanted->text || (!output.writer && !kept))
		print(&ports[entry->port], entry);
}

static bool is_complete(void)
{
	return wanted->count && recorded >= wanted->count;
}

static void tell(struct notice *notice)
{
	unsigned long packet, before;

	ties_packets(notice->told, &packet, &before);
	if (packet)
		record_put_number(notice->record, "packet", packet);
	else if (before && record_failed(notice->record))
		record_put_number(notice->record, "after_packet", before);
	teller(notice->record);
	free(notice);
}

/* Records the messages that have waited since this time, and tells what happened until then. */
static void record_since(uint64_t time)
{
	while (first < last && waiting[first % WAITING].since <= time && !is_complete()) {
		struct message *oldest = &waiting[first++ % WAITING];
		static struct record_entry entry;

		stored_get(oldest->stored, &entry);
		free(oldest->stored);
		record(&entry, oldest->since);
	}
	while (notices && notices->since <= time) {
		struct notice *notice = notices;

		notices = notice->next;
		if (!notices)
			notices_end = &notices;
		tell(notice);
	}
}

static void take_message(const struct wire_message *message)
{
	struct message *taken = &waiting[last % WAITING];
	static struct record_entry entry;

	/* Without room for another one, the oldest message waits no longer. */
	if (last - first == WAITING)
		record_since(waiting[first % WAITING].since);
	if (is_complete() || last - first == WAITING ||
	    !ports_entry(message, ahead, &entry))
		return;
	taken->stored = stored_new(&entry);
	if (!taken->stored)
		fail(TOOL_ERROR, "there is no memory for the messages that wait");
	taken->since = message->time;
	last++;
}

/* The time of day may have been set since the last messages. */
static void take_messages(void)
{
	ahead = now(CLOCK_REALTIME) - now(CLOCK_MONOTONIC);
	source_read();
}

static void take_notification(struct nlmsghdr *nlh, struct nlattr **attrs, void *arg)
{
	unsigned long told = ties_note(attrs);
	struct notice *notice;

	(void)nlh;
	(void)arg;
	if (!teller)
		return;
	notice = calloc(1, sizeof(*notice));
	if (!notice)
		fail(TOOL_ERROR, "there is no memory for what happens");
	notice->since = now(CLOCK_MONOTONIC);
	notice->told = told;
	notice->record = record_notification(attrs);
	*notices_end = notice;
	notices_end = &notice->next;
}

/* Signals come only while wait_for() waits, so that none is missed before. */
static void catch_signals(sigset_t *waits)
{
	const struct sigaction action = { .sa_handler = interrupt };
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
	sigset_t all;

	sigemptyset(&all);
	for (size_t i = 0; i < COUNT(ends); i++)
		sigaddset(&all, ends[i]);
	sigprocmask(SIG_BLOCK, &all, waits);
	for (size_t i = 0; i < COUNT(ends); i++) {
		sigdelset(waits, ends[i]);
		sigaction(ends[i], &action, NULL);
	}
	/* print() sees that its reader is gone. */
	signal(SIGPIPE, SIG_IGN);
}

/* Sleeps until there is a message or notification; while some wait, a nap. */
static void wait_for(struct pollfd *fds, nfds_t count, const sigset_t *waits)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };
	bool some = first < last || notices;

	if (ppoll(fds, some ? 0 : count, some ? &nap : NULL, waits) < 0 && errno != EINTR)
		fail(TOOL_ERROR, "it cannot be waited for messages: %m");
}

/*
 * Takes the notifications that there are. Returns false if the module was unloaded.
 *
 * After a loss, the connections that there are still are learned again. Those that have ended
 * meanwhile are not known.
 */
static bool take_notifications(struct client_monitor *monitor)
{
	bool lost, loaded = client_monitor_drain(monitor, &lost);

	if (loaded && lost) {
		unsure_from = heard_all - WAIT_NS;
		ties_dump();
		unsure_until = now(CLOCK_MONOTONIC);
	}
	heard_all = now(CLOCK_MONOTONIC);
	return loaded;
}

static void note_drops(void)
{
	const struct record_port *ports;
	unsigned int count;

	noted_of = recorded;
	source_drops();
	ports = ports_all(&count);
	kept_drops(kept, ports, count);
	noted = now(CLOCK_MONOTONIC);
}

/* Returns false if the module was unloaded. */
static bool run(struct client_monitor *monitor, const sigset_t *waits)
{
	struct pollfd fds[] = {
		{ .fd = source_fd(), .events = POLLIN },
		{ .fd = client_monitor_fd(monitor), .events = POLLIN },
	};
	bool loaded = true;

	while (loaded && !interrupted && !is_complete()) {
		wait_for(fds, COUNT(fds), waits);
		loaded = take_notifications(monitor);
		take_messages();
		record_since(now(CLOCK_MONOTONIC) - WAIT_NS);
		if (kept && noted_of != recorded &&
		    (first == last || now(CLOCK_MONOTONIC) - noted >= SECOND_NS))
			note_drops();
	}
	/* The ties of the last messages; on a busy host, there are always more notifications. */
	take_messages();
	for (uint64_t end = now(CLOCK_MONOTONIC) + WAIT_NS;
	     loaded && !is_complete() && now(CLOCK_MONOTONIC) < end;)
		if (poll(&fds[1], 1, WAIT_NS / 1000000) > 0)
			loaded = take_notifications(monitor);
	record_since(UINT64_MAX);
	return loaded;
}

static void begin_to_keep(void)
{
	char name[KEPT_NAME], why[256];

	if (!kept_name(name))
		fail(TOOL_ERROR, "the network namespace of this process cannot be found: %m");
	kept = kept_create(name, wanted->keep, wanted->trunks, why, sizeof(why));
	if (!kept)
		fail(TOOL_ERROR, "%s", why);
	warn("keeping the last %u messages of each port, in %zu kB of memory a port; recording; "
	     "it ends with Ctrl-C", wanted->keep, kept_bytes(wanted->keep, wanted->trunks) / 1000);
}

static void end(bool loaded)
{
	int ret = finish();

	if (kept)
		note_drops();
	if (ret)
		fail(TOOL_ERROR, "%s is incomplete: %s", wanted->write_to, strerror(-ret));
	if (kept)
		kept_close(kept, loaded);
	source_close();
	conversations_free(conversations);
	if (!loaded && kept)
		fail(TOOL_MODULE, "the module was unloaded; what was kept can be read: "
		     "rdma-cm-alt explain --capture FILE");
	if (!loaded && teller)
		fail(TOOL_MODULE, "the module was unloaded, so nothing happens any more");
	if (!loaded)
		warn("the module was unloaded");
}

void live_record(const struct record_options *options)
{
	struct client_monitor *monitor;
	sigset_t waits;

	wanted = options;
	conversations = conversations_new();
	if (!conversations)
		fail(TOOL_ERROR, "there is no memory to record");
	heard_all = now(CLOCK_MONOTONIC);
	monitor = client_monitor_open(take_notification, NULL);
	client_monitor_gather(monitor);
	source_open(wanted->trunks, wanted->buffer, take_message);
	ties_dump();
	if (wanted->write_to)
		output_create(&output, wanted->write_to, true);
	catch_signals(&waits);
	if (wanted->keep)
		begin_to_keep();
	else
		warn("recording; it ends with Ctrl-C");
	end(run(monitor, &waits));
}

void live_monitor(const struct record_options *options, void (*tell_one)(struct json_object *))
{
	teller = tell_one;
	live_record(options);
}
