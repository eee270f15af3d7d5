// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Live recording: loads the BPF program, and writes what it hands over. A message waits for the
 * notifications that tie it to an id, in the order in which messages passed.
 */
#include "tool/capture/live.h"

#ifdef TOOL_HAVE_BPF

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <wire.skel.h>

#include "tool/capture/ports.h"
#include "tool/capture/ties.h"
#include "tool/core/tool.h"
#include "tool/decode/conversation.h"

/* How long a message waits for its ties, and how many may wait. */
#define WAIT_NS		100000000ULL
#define WAITING		8192

#define SECOND_NS	1000000000ULL

static const struct record_options *wanted;
static struct conversations *conversations;
static struct wire *program;
static int64_t ahead;

static struct record_entry waiting[WAITING];
static unsigned long first, last;	/* numbers of messages that wait */
static unsigned long recorded;

static FILE *file;
static struct capture_writer *writer;
static char why[256];

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

/* The drops that the program has counted since it was loaded. */
static void read_drops(void)
{
	struct wire_port key, next, *after = NULL;
	int map = bpf_map__fd(program->maps.drops);

	while (!bpf_map_get_next_key(map, after, &next)) {
		struct record_port *port = ports_find(&next);

		if (port)
			bpf_map_lookup_elem(map, &next, &port->dropped);
		key = next;
		after = &key;
	}
}

static int finish(void)
{
	unsigned int count;
	const struct record_port *ports;
	int ret = 0;

	read_drops();
	ports = ports_all(&count);
	if (writer)
		ret = capture_close(writer, ports, count);
	writer = NULL;
	if (file && fclose(file) && !ret)
		ret = -errno;
	file = NULL;
	for (unsigned int i = 0; i < count; i++)
		if (ports[i].dropped)
			warn("%s/%u: %llu messages were not recorded: they came faster than they "
			     "were read", ports[i].device, ports[i].port,
			     (unsigned long long)ports[i].dropped);
	warn("%lu messages were recorded", recorded);
	return ret;
}

static void stop_writing(int ret)
{
	char text[sizeof(why)];

	memcpy(text, why, sizeof(text));
	finish();
	fail(TOOL_ERROR, "%s cannot be written: %s; what was recorded before can be read",
	     wanted->write_to, *text ? text : strerror(-ret));
}

static void print(const struct record_port *port, const struct record_entry *entry)
{
	struct capture_seen seen = { .number = recorded, .port = *port, .entry = *entry };
	const struct conversation *conversation = conversations_add(conversations, &seen);

	record_text(stdout, recorded, port, entry,
		    conversation ? conversation_before(conversation) : 0);
	/* The reader may have closed the pipe while SIGPIPE is ignored. */
	if (fflush(stdout) || ferror(stdout))
		fail(TOOL_ERROR, "what is recorded cannot be printed: %m");
}

static void record(struct record_entry *entry)
{
	const struct record_port *ports;
	unsigned int count;
	int ret;

	ties_apply(entry, WAIT_NS);
	ports = ports_all(&count);
	if (entry->stock && !wanted->all)
		return;
	if (!record_matches(wanted, &ports[entry->port], entry))
		return;
	if (!wanted->private_data)
		record_remove_private_data(entry);
	recorded++;
	if (writer) {
		ret = capture_write(writer, ports, count, entry);
		if (ret)
			stop_writing(ret);
	}
	if (wanted->text || !writer)
		print(&ports[entry->port], entry);
}

static bool is_complete(void)
{
	return wanted->count && recorded >= wanted->count;
}

/* Records the messages that have waited until this time. */
static void record_until(uint64_t time)
{
	while (first < last && waiting[first % WAITING].time <= time && !is_complete())
		record(&waiting[first++ % WAITING]);
}

static int take(void *arg, void *data, size_t len)
{
	(void)arg;
	if (len < sizeof(struct wire_message))
		return 0;
	/* Without room for another one, the oldest message waits no longer. */
	if (last - first == WAITING)
		record_until(waiting[first % WAITING].time);
	if (!is_complete() && last - first < WAITING &&
	    ports_entry(data, ahead, &waiting[last % WAITING]))
		last++;
	return 0;
}

static int silent(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

/* With RDMA_CM_ALT_DEBUG, libbpf says what it does. */
static void load(void)
{
	int ret;

	if (!getenv("RDMA_CM_ALT_DEBUG"))
		libbpf_set_print(silent);
	program = wire__open();
	if (!program)
		fail(TOOL_ERROR, "the BPF program cannot be opened: %m");
	bpf_program__set_autoload(program->progs.frame, wanted->trunks);
	ret = wire__load(program);
	if (ret == -EPERM)
		fail(TOOL_ERROR, "recording needs CAP_BPF, CAP_PERFMON and CAP_SYS_ADMIN, as the "
		     "memory of the kernel is read: try sudo");
	if (ret)
		fail(TOOL_ERROR, "the kernel does not take the BPF program: %s; it needs "
		     "CONFIG_BPF_EVENTS and CONFIG_DEBUG_INFO_BTF_MODULES", strerror(-ret));
	ret = wire__attach(program);
	if (ret)
		fail(TOOL_ERROR, "the BPF program cannot be attached to the tracepoints of ib_mad: "
		     "%s", strerror(-ret));
}

/* A file that there was may be readable by others. */
static bool protect(int fd)
{
	struct stat stat;

	return !fstat(fd, &stat) && (!S_ISREG(stat.st_mode) || !fchmod(fd, 0600));
}

static void create_file(void)
{
	int fd;

	if (!wanted->write_to)
		return;
	fd = open(wanted->write_to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		fail(TOOL_ERROR, "%s cannot be created: %m", wanted->write_to);
	if (!protect(fd))
		fail(TOOL_ERROR, "%s cannot be made unreadable for others: %m", wanted->write_to);
	file = fdopen(fd, "w");
	writer = file ? capture_create(file, why, sizeof(why)) : NULL;
	if (!writer)
		fail(TOOL_ERROR, "%s cannot be written: %s", wanted->write_to,
		     *why ? why : "there is no memory");
}

static void catch_signals(void)
{
	const struct sigaction action = { .sa_handler = interrupt };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

static void run(struct ring_buffer *ring, struct client_monitor *monitor)
{
	struct pollfd fds[] = {
		{ .fd = ring_buffer__epoll_fd(ring), .events = POLLIN },
		{ .fd = client_monitor_fd(monitor), .events = POLLIN },
	};

	while (!interrupted && !is_complete()) {
		if (poll(fds, COUNT(fds), WAIT_NS / 2 / 1000000) < 0 && errno != EINTR)
			fail(TOOL_ERROR, "it cannot be waited for messages: %m");
		if (fds[1].revents && !client_monitor_read(monitor)) {
			warn("the module was unloaded");
			break;
		}
		ring_buffer__consume(ring);
		record_until(now(CLOCK_REALTIME) - WAIT_NS);
	}
	/* The ties of the last messages. */
	while (!is_complete() && poll(&fds[1], 1, WAIT_NS / 1000000) > 0 &&
	       client_monitor_read(monitor))
		;
	ring_buffer__consume(ring);
	record_until(UINT64_MAX);
}

void live_record(const struct record_options *options)
{
	struct client_monitor *monitor;
	struct ring_buffer *ring;
	int ret;

	wanted = options;
	ahead = now(CLOCK_REALTIME) - now(CLOCK_MONOTONIC);
	conversations = conversations_new();
	monitor = client_monitor_open(ties_note, NULL);
	load();
	ties_dump();
	ring = ring_buffer__new(bpf_map__fd(program->maps.messages), take, NULL, NULL);
	if (!ring || !conversations)
		fail(TOOL_ERROR, "there is no memory to record");
	create_file();
	catch_signals();
	warn("recording; it ends with Ctrl-C");
	run(ring, monitor);
	ret = finish();
	if (ret)
		fail(TOOL_ERROR, "%s is incomplete: %s", wanted->write_to, strerror(-ret));
	ring_buffer__free(ring);
	wire__destroy(program);
	conversations_free(conversations);
}

#else /* !TOOL_HAVE_BPF */

#include "tool/core/tool.h"

void live_record(const struct record_options *options)
{
	(void)options;
	fail(TOOL_ERROR, "this build cannot record: libbpf, clang or bpftool was missing when it "
	     "was made; it can print captures: rdma-cm-alt record -r FILE");
}

#endif
