// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Writes captures as pcapng, in one pass. */
#include <errno.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/format/bytes.h"
#include "capture/format/comment.h"
#include "capture/format/entry.h"
#include "capture/format/frame.h"
#include "capture/format/pcapng.h"

#ifdef TOOL_VERSION
#define RECORDER "rdma-cm-alt " TOOL_VERSION
#else
#define RECORDER "rdma-cm-alt"
#endif

/* A block before it is written. The longest is a packet with its comment. */
#define BLOCK_MAX (FRAME_MAX + COMMENT_LEN + 128)

enum { NO_INTERFACE = -1 };

/* A port with messages: its interface for each type of link, and their number. */
struct written_port {
	int interface[2];		/* Ethernet, ERF */
	uint64_t messages;
};

struct capture_writer {
	FILE *to;
	off_t good;			/* end of the last complete block; -1: unknown */
	int error;
	int interfaces;
	unsigned int n_ports;
	struct written_port *ports;
	uint64_t last;			/* time of the last message */
};

struct block {
	size_t len;
	uint8_t bytes[BLOCK_MAX];
};

static void add_bytes(struct block *block, const void *bytes, size_t len)
{
	memcpy(block->bytes + block->len, bytes, len);
	block->len += len;
	memset(block->bytes + block->len, 0, -len % 4);
	block->len += -len % 4;
}

static void add_u32(struct block *block, uint32_t number)
{
	put_le32(block->bytes + block->len, number);
	block->len += sizeof(number);
}

/* Times and counters are two numbers, the higher one first, or one of eight bytes. */
static void add_time(struct block *block, uint64_t time)
{
	add_u32(block, time >> 32);
	add_u32(block, time);
}

static void add_option(struct block *block, uint16_t code, const void *bytes, size_t len)
{
	put_le16(block->bytes + block->len, code);
	put_le16(block->bytes + block->len + 2, len);
	block->len += 4;
	add_bytes(block, bytes, len);
}

static void add_count(struct block *block, uint16_t code, uint64_t count)
{
	uint8_t bytes[8];

	put_le64(bytes, count);
	add_option(block, code, bytes, sizeof(bytes));
}

static void begin(struct block *block, uint32_t type)
{
	block->len = 0;
	add_u32(block, type);
	add_u32(block, 0);
}

/* Leaves the file with complete blocks only. */
static int give_up(struct capture_writer *to)
{
	struct stat file;
	int error = -(errno ?: EIO);

	__fpurge(to->to);
	if (to->good >= 0 && !fstat(fileno(to->to), &file) && S_ISREG(file.st_mode) &&
	    ftruncate(fileno(to->to), to->good))
		to->good = -1;
	to->error = error;
	return error;
}

static int finish(struct capture_writer *to, struct block *block)
{
	add_u32(block, 0);
	put_le32(block->bytes + 4, block->len);
	put_le32(block->bytes + block->len - PCAPNG_TAIL_LEN, block->len);
	errno = 0;
	if (fwrite(block->bytes, 1, block->len, to->to) != block->len || fflush(to->to))
		return give_up(to);
	if (to->good >= 0)
		to->good += block->len;
	return 0;
}

static int write_section(struct capture_writer *to)
{
	struct block block;

	begin(&block, PCAPNG_SECTION);
	add_u32(&block, PCAPNG_BYTE_ORDER);
	add_u32(&block, 1);			/* version 1.0 */
	add_u32(&block, 0xffffffff);		/* length of the section: not known yet */
	add_u32(&block, 0xffffffff);
	add_option(&block, OPTION_SHB_USERAPPL, RECORDER, strlen(RECORDER));
	add_u32(&block, OPTION_END);
	return finish(to, &block);
}

static int write_interface(struct capture_writer *to, const struct record_port *port, int link)
{
	static const uint8_t nanoseconds = 9;
	char name[96];
	struct block block;

	snprintf(name, sizeof(name), "%.*s/%u", (int)sizeof(port->device), port->device,
		 port->port);
	begin(&block, PCAPNG_INTERFACE);
	add_u32(&block, link);
	add_u32(&block, 0);			/* packets of any length */
	add_option(&block, OPTION_IF_NAME, name, strlen(name));
	add_option(&block, OPTION_IF_TSRESOL, &nanoseconds, sizeof(nanoseconds));
	add_u32(&block, OPTION_END);
	return finish(to, &block);
}

static int write_statistics(struct capture_writer *to, int interface, uint64_t messages,
			    uint64_t dropped)
{
	struct block block;

	begin(&block, PCAPNG_STATISTICS);
	add_u32(&block, interface);
	add_time(&block, to->last);
	add_count(&block, OPTION_ISB_IFRECV, messages + dropped);
	add_count(&block, OPTION_ISB_IFDROP, dropped);
	add_u32(&block, OPTION_END);
	return finish(to, &block);
}

struct capture_writer *capture_create(FILE *to, char *why, size_t why_len)
{
	struct capture_writer *writer = calloc(1, sizeof(*writer));
	int ret = -ENOMEM;

	if (writer) {
		writer->to = to;
		writer->good = ftello(to);
		ret = write_section(writer);
	}
	if (!ret)
		return writer;
	snprintf(why, why_len, "the beginning of the file cannot be written: %s", strerror(-ret));
	free(writer);
	return NULL;
}

/* Makes room for the interfaces of @count ports. */
static int know_ports(struct capture_writer *to, unsigned int count)
{
	struct written_port *ports;

	if (count <= to->n_ports)
		return 0;
	ports = reallocarray(to->ports, count, sizeof(*ports));
	if (!ports)
		return -ENOMEM;
	to->ports = ports;
	for (; to->n_ports < count; to->n_ports++)
		ports[to->n_ports] = (struct written_port) {
			.interface = { NO_INTERFACE, NO_INTERFACE },
		};
	return 0;
}

/* The number of the interface of a port, which is written if there is none; or a negative errno. */
static int interface_of(struct capture_writer *to, const struct record_port *ports,
			unsigned int port, int link)
{
	int *interface = &to->ports[port].interface[link == LINK_ERF], ret;

	if (*interface != NO_INTERFACE)
		return *interface;
	ret = write_interface(to, &ports[port], link);
	if (ret)
		return ret;
	*interface = to->interfaces++;
	return *interface;
}

static uint32_t flags_of(enum record_way way)
{
	switch (way) {
	case RECORD_SENT:
	case RECORD_SENT_AGAIN:
		return EPB_OUTBOUND;
	case RECORD_RECEIVED:
		return EPB_INBOUND;
	default:
		return 0;
	}
}

int capture_write(struct capture_writer *to, const struct record_port *ports, unsigned int n_ports,
		  const struct record_entry *entry)
{
	char comment[COMMENT_LEN];
	struct block block;
	struct frame frame;
	uint8_t flags[4];
	size_t len;
	int ret;

	if (to->error)
		return to->error;
	if (entry->port >= n_ports || entry->len > record_longest(entry->kind) ||
	    entry->n_ties > RECORD_TIES)
		return -EINVAL;
	ret = know_ports(to, n_ports);
	if (ret)
		return ret;
	ret = interface_of(to, ports, entry->port, frame_link(entry->link));
	if (ret < 0)
		return ret;
	frame_build(entry, &frame);
	begin(&block, PCAPNG_PACKET);
	add_u32(&block, ret);
	add_time(&block, entry->time);
	add_u32(&block, frame.len);
	add_u32(&block, frame.original);
	add_bytes(&block, frame.bytes, frame.len);
	put_le32(flags, flags_of(entry->way));
	add_option(&block, OPTION_EPB_FLAGS, flags, sizeof(flags));
	len = comment_write(entry, comment);
	if (len)
		add_option(&block, OPTION_COMMENT, comment, len);
	add_u32(&block, OPTION_END);
	ret = finish(to, &block);
	if (ret)
		return ret;
	to->ports[entry->port].messages++;
	to->last = entry->time;
	return 0;
}

/* Drops are counted at one interface of the port; a port without messages gets one for them. */
static int close_port(struct capture_writer *to, const struct record_port *ports, unsigned int i)
{
	struct written_port *port = &to->ports[i];
	int interface = port->interface[0] != NO_INTERFACE ? port->interface[0] :
							     port->interface[1];

	if (interface == NO_INTERFACE && !ports[i].dropped)
		return 0;
	if (interface == NO_INTERFACE)
		interface = interface_of(to, ports, i, LINK_ETHERNET);
	if (interface < 0)
		return interface;
	return write_statistics(to, interface, port->messages, ports[i].dropped);
}

int capture_close(struct capture_writer *to, const struct record_port *ports, unsigned int n_ports)
{
	int ret = to->error ?: know_ports(to, n_ports);

	for (unsigned int i = 0; i < n_ports && !ret; i++)
		ret = close_port(to, ports, i);
	free(to->ports);
	free(to);
	return ret;
}
