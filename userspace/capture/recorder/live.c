// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Live recording. Messages are delayed until the notifications about them have arrived, and keep
 * their order. A notification is reported after the messages before it were recorded.
 */
#include "capture/recorder/live.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "capture/recorder/correlate.h"
#include "capture/recorder/ports.h"
#include "capture/recorder/sink.h"
#include "capture/recorder/source.h"
#include "capture/recorder/stored.h"
#include "tool/core/tool.h"

/*
 * Delay of a message, and most messages that are delayed. The module sends notifications from a
 * worker, which runs late on a busy host.
 */
#define WAIT_NS		500000000ULL
#define WAITING		65536

/* An operation or event belongs to a message if it follows within this time. */
#define WITHIN_NS	100000000ULL

/* Polling interval while messages are delayed, so that one wake-up serves many. */
#define NAP_NS		20000000ULL

#define SECOND_NS	1000000000ULL

/* struct message - a delayed message; @since: its time, CLOCK_MONOTONIC in nanoseconds */
struct message {
	uint64_t since;
	struct record_entry *stored;
};

/*
 * struct notice - a delayed notification
 * @since: when it was received, CLOCK_MONOTONIC in nanoseconds
 * @told: its number in correlate.h
 */
struct notice {
	uint64_t since;
	unsigned long told;
	struct json_object *record;
	struct notice *next;
};

static void (*teller)(struct json_object *notification);
static int64_t ahead;

static struct message waiting[WAITING];
static unsigned long first, last;	/* numbers of delayed messages */

/* Period in which notifications were lost, CLOCK_MONOTONIC in nanoseconds. */
static uint64_t unsure_from, unsure_until, heard_all;

static struct notice *notices, **notices_end = &notices;

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

/* @since: as of struct message */
static void record(struct record_entry *entry, uint64_t since)
{
	unsigned long told = correlate_apply(entry, WITHIN_NS);
	bool unsure = entry->stock && since >= unsure_from && since <= unsure_until;
	unsigned long packet = sink_add(entry, unsure);

	if (packet)
		correlate_recorded(entry, told, packet);
}

static void tell(struct notice *notice)
{
	unsigned long packet, before;

	correlate_packets(notice->told, &packet, &before);
	if (packet)
		record_put_number(notice->record, "packet", packet);
	else if (before && record_failed(notice->record))
		record_put_number(notice->record, "after_packet", before);
	teller(notice->record);
	free(notice);
}

/* Records the messages, and reports the notifications, up to this time. */
static void record_since(uint64_t time)
{
	while (first < last && waiting[first % WAITING].since <= time && !sink_is_full()) {
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

	/* Without room, the oldest message is recorded early. */
	if (last - first == WAITING)
		record_since(waiting[first % WAITING].since);
	if (sink_is_full() || last - first == WAITING ||
	    !ports_entry(message, ahead, &entry))
		return;
	taken->stored = stored_new(&entry);
	if (!taken->stored)
		fail(TOOL_ERROR, "there is no memory for a message");
	taken->since = message->time;
	last++;
}

/* Reads the offset of CLOCK_REALTIME each time, as the clock may have been set. */
static void take_messages(void)
{
	ahead = now(CLOCK_REALTIME) - now(CLOCK_MONOTONIC);
	source_read();
}

static void take_notification(struct nlmsghdr *nlh, struct nlattr **attrs, void *arg)
{
	unsigned long told = correlate_note(attrs);
	struct notice *notice;

	(void)nlh;
	(void)arg;
	if (!teller)
		return;
	notice = calloc(1, sizeof(*notice));
	if (!notice)
		fail(TOOL_ERROR, "there is no memory for a notification");
	notice->since = now(CLOCK_MONOTONIC);
	notice->told = told;
	notice->record = record_notification(attrs);
	*notices_end = notice;
	notices_end = &notice->next;
}

/* Signals are only unblocked in wait_for(), so that none is missed before. */
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
	/* sink_add() gets EPIPE when the reader of the output is gone. */
	signal(SIGPIPE, SIG_IGN);
}

/* Sleeps until there is a message or notification; while some are delayed, for NAP_NS. */
static void wait_for(struct pollfd *fds, nfds_t count, const sigset_t *waits)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };
	bool some = first < last || notices;

	if (ppoll(fds, some ? 0 : count, some ? &nap : NULL, waits) < 0 && errno != EINTR)
		fail(TOOL_ERROR, "poll: %m");
}

/*
 * Reads all pending notifications. Returns false if the module was unloaded.
 *
 * After a loss, the existing connections are read again; those that have ended meanwhile stay
 * unknown.
 */
static bool take_notifications(struct client_monitor *monitor)
{
	bool lost, loaded = client_monitor_drain(monitor, &lost);

	if (loaded && lost) {
		unsure_from = heard_all - WAIT_NS;
		correlate_dump();
		unsure_until = now(CLOCK_MONOTONIC);
	}
	heard_all = now(CLOCK_MONOTONIC);
	return loaded;
}

/* Returns false if the module was unloaded. */
static bool run(struct client_monitor *monitor, const sigset_t *waits)
{
	struct pollfd fds[] = {
		{ .fd = source_fd(), .events = POLLIN },
		{ .fd = client_monitor_fd(monitor), .events = POLLIN },
	};
	bool loaded = true;
	uint64_t before;

	while (loaded && !interrupted && !sink_is_full()) {
		wait_for(fds, COUNT(fds), waits);
		/* Before take_notifications(), which reads all about messages up to this time. */
		before = now(CLOCK_MONOTONIC) - WAIT_NS;
		loaded = take_notifications(monitor);
		take_messages();
		record_since(before);
		sink_note_drops(first == last);
	}
	/* Waits for notifications about the last messages; a busy host always has more of them. */
	take_messages();
	for (uint64_t end = now(CLOCK_MONOTONIC) + WAIT_NS;
	     loaded && !sink_is_full() && now(CLOCK_MONOTONIC) < end;)
		if (poll(&fds[1], 1, WAIT_NS / 1000000) > 0)
			loaded = take_notifications(monitor);
	record_since(UINT64_MAX);
	return loaded;
}

void live_record(const struct record_options *options)
{
	struct client_monitor *monitor;
	sigset_t waits;
	bool loaded;

	heard_all = now(CLOCK_MONOTONIC);
	monitor = client_monitor_open(take_notification, NULL);
	client_monitor_gather(monitor);
	source_open(options->trunks, options->buffer, take_message);
	correlate_dump();
	catch_signals(&waits);
	sink_open(options);
	loaded = run(monitor, &waits);
	sink_close(loaded);
	source_close();
	if (!loaded && teller)
		fail(TOOL_MODULE, "the module was unloaded, so nothing happens any more");
	if (!loaded)
		tool_warn("the module was unloaded");
}

void live_monitor(const struct record_options *options, void (*tell_one)(struct json_object *))
{
	teller = tell_one;
	live_record(options);
}
