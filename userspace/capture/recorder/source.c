// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Loads the BPF program, and reads its ring buffer. */
#include "capture/recorder/source.h"

#include "tool/core/tool.h"

#ifdef TOOL_HAVE_BPF

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <wire.skel.h>

#include "capture/recorder/ports.h"

static struct wire *program;
static struct ring_buffer *ring;
static void (*taker)(const struct wire_message *message);

static int take(void *arg, void *data, size_t len)
{
	const struct wire_message *message = data;
	const size_t at = offsetof(struct wire_message, bytes);

	(void)arg;
	if (len >= at && len - at >= message->len && message->len <= sizeof(message->bytes))
		taker(message);
	return 0;
}

static int silent(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

/* The kernel requires a power of two, and whole pages. */
static uint32_t room(unsigned int kilobytes)
{
	uint32_t bytes = sysconf(_SC_PAGESIZE);

	while (bytes / 1024 < kilobytes)
		bytes *= 2;
	return bytes;
}

void source_open(bool trunks, unsigned int kilobytes,
		 void (*take_message)(const struct wire_message *message))
{
	int ret;

	taker = take_message;
	/* With RDMA_CM_ALT_DEBUG, libbpf prints its debug messages. */
	if (!getenv("RDMA_CM_ALT_DEBUG"))
		libbpf_set_print(silent);
	program = wire__open();
	if (!program)
		fail(TOOL_ERROR, "the BPF program cannot be opened: %m");
	bpf_program__set_autoload(program->progs.frame, trunks);
	bpf_map__set_max_entries(program->maps.messages, room(kilobytes ?: SOURCE_KILOBYTES));
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
	ring = ring_buffer__new(bpf_map__fd(program->maps.messages), take, NULL, NULL);
	if (!ring)
		fail(TOOL_ERROR, "the buffer of messages cannot be mapped: %m");
}

int source_fd(void)
{
	return ring_buffer__epoll_fd(ring);
}

void source_read(void)
{
	ring_buffer__consume(ring);
}

void source_drops(void)
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

void source_close(void)
{
	ring_buffer__free(ring);
	wire__destroy(program);
}

#else /* !TOOL_HAVE_BPF */

void source_open(bool trunks, unsigned int kilobytes,
		 void (*take_message)(const struct wire_message *message))
{
	(void)trunks;
	(void)kilobytes;
	(void)take_message;
	fail(TOOL_ERROR, "this build cannot record: libbpf, clang or bpftool was missing when it "
	     "was made; it can print captures: rdma-cm-alt record -r FILE");
}

int source_fd(void)
{
	return -1;
}

void source_read(void)
{
}

void source_drops(void)
{
}

void source_close(void)
{
}

#endif
