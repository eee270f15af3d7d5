// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Reads pcapng files: ours, and those of other programs with any byte order and resolution. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "capture/format/comment.h"
#include "capture/format/input.h"
#include "capture/format/pcapng.h"

#define NANOSECONDS 1000000000ull

enum {
	MAX_INTERFACES = 1024,		/* of a section */
	SECTION_LEN = 16,		/* fixed parts of bodies */
	INTERFACE_LEN = 8,
	PACKET_LEN = 20,
	SIMPLE_PACKET_LEN = 4,
	STATISTICS_LEN = 12,
	BINARY_RESOLUTION = 0x80,
	MAX_DECIMAL = 19,		/* greatest powers of ten and two in 64 bits */
	MAX_BINARY = 63,
};

/*
 * struct interface - an interface of a section
 * @units: units of time per second; time_of() reduces a power of two to 34 bits
 * @offset: seconds to add to times
 */
struct interface {
	struct record_port port;
	unsigned int index;		/* in the total */
	int link;
	uint64_t units;
	int64_t offset;
};

struct section {
	struct interface *interfaces;
	size_t count;
};

/* The body of a block, without its head and tail, and its part that was not parsed yet. */
struct body {
	const uint8_t *at;
	size_t len;
};

static const uint8_t *take(struct body *body, size_t len)
{
	const uint8_t *at = body->at;

	/* Padded to 32 bits. Compared without a sum that could overflow. */
	if (len > body->len || -len % 4 > body->len - len)
		return NULL;
	len += -len % 4;
	body->at += len;
	body->len -= len;
	return at;
}

/* The next option; false at the end, with *ret set if that is an error. */
static bool next_option(struct input *in, struct body *body, uint16_t *code, const uint8_t **value,
			uint16_t *len, int *ret)
{
	const uint8_t *head;

	if (*ret || !body->len)
		return false;
	head = take(body, 4);
	if (!head) {
		*ret = input_bad(in, -EBADMSG, "its options do not end where the block ends");
		return false;
	}
	*code = input_u16(in, head);
	*len = input_u16(in, head + 2);
	if (*code == OPTION_END)
		return false;
	*value = take(body, *len);
	if (!*value)
		*ret = input_bad(in, -EBADMSG, "option %u says that it has %u bytes, but the "
				 "block has %zu more", *code, *len, body->len);
	return *value;
}

static void keep_text(char *to, size_t room, const uint8_t *from, size_t len)
{
	snprintf(to, room, "%.*s", (int)len, (const char *)from);
}

/* Reads the head of a section after its type; numbers have another byte order from here on. */
static int read_section_head(struct input *in)
{
	static const uint8_t big[] = { 0x1a, 0x2b, 0x3c, 0x4d };
	static const uint8_t little[] = { 0x4d, 0x3c, 0x2b, 0x1a };
	int ret = input_take(in, PCAPNG_HEAD_LEN, 4);

	if (ret)
		return ret;
	in->big = !memcmp(in->bytes + PCAPNG_HEAD_LEN, big, sizeof(big));
	if (!in->big && memcmp(in->bytes + PCAPNG_HEAD_LEN, little, sizeof(little)))
		return input_bad(in, -EBADMSG, "the byte order of a section is unknown");
	return 0;
}

static int read_section(struct input *in, struct section *section, struct body body)
{
	const uint8_t *head = take(&body, SECTION_LEN), *value;
	uint16_t code, len;
	int ret = 0;

	section->count = 0;
	if (!head)
		return input_bad(in, -EBADMSG, "a section has %zu bytes, fewer than %d", body.len,
				 SECTION_LEN);
	if (input_u16(in, head + 4) != 1)
		return input_bad(in, -EBADMSG, "version %u.%u of pcapng is unknown, 1.0 is known",
				 input_u16(in, head + 4), input_u16(in, head + 6));
	while (next_option(in, &body, &code, &value, &len, &ret))
		if (code == OPTION_SHB_USERAPPL)
			keep_text(in->total->recorder, sizeof(in->total->recorder), value, len);
	return ret;
}

/* "mlx5_0/1" is a device and its port; other names are kept as they are. */
static void name_port(struct record_port *port, const uint8_t *name, size_t len)
{
	char text[sizeof(port->device) + 16], *slash, *end;
	unsigned long number;

	keep_text(text, sizeof(text), name, len);
	slash = strrchr(text, '/');
	number = slash && slash[1] >= '1' && slash[1] <= '9' ? strtoul(slash + 1, &end, 10) : 0;
	if (number && number <= UINT32_MAX && !*end) {
		*slash = '\0';
		port->port = number;
	}
	memcpy(port->device, text, sizeof(port->device) - 1);
}

static int set_resolution(struct input *in, struct interface *interface, uint8_t resolution)
{
	int power = resolution & ~BINARY_RESOLUTION;

	interface->units = 1;
	if (power > (resolution & BINARY_RESOLUTION ? MAX_BINARY : MAX_DECIMAL))
		return input_bad(in, -EBADMSG, "the resolution of times of an interface, "
				 "0x%02x, is finer than 64 bits can count", resolution);
	while (power--)
		interface->units *= resolution & BINARY_RESOLUTION ? 2 : 10;
	return 0;
}

static int read_interface(struct input *in, struct section *section, struct body body)
{
	struct interface *interfaces, new = { .units = 1000000 };
	const uint8_t *head = take(&body, INTERFACE_LEN), *value;
	uint16_t code, len;
	int ret = 0;

	if (!head)
		return input_bad(in, -EBADMSG, "an interface has %zu bytes, fewer than %d",
				 body.len, INTERFACE_LEN);
	if (section->count == MAX_INTERFACES)
		return input_bad(in, -EBADMSG, "there are more than %d interfaces", MAX_INTERFACES);
	new.link = input_u16(in, head);
	snprintf(new.port.device, sizeof(new.port.device), "interface %zu", section->count);
	while (next_option(in, &body, &code, &value, &len, &ret)) {
		if (code == OPTION_IF_NAME && len) {
			memset(&new.port, 0, sizeof(new.port));
			name_port(&new.port, value, len);
		} else if (code == OPTION_IF_TSRESOL && len == 1) {
			ret = set_resolution(in, &new, *value);
		} else if (code == OPTION_IF_TSOFFSET && len == 8) {
			new.offset = input_u64(in, value);
		}
	}
	if (!ret)
		ret = input_port(in, &new.port, &new.index);
	if (ret)
		return ret;
	interfaces = reallocarray(section->interfaces, section->count + 1, sizeof(*interfaces));
	if (!interfaces)
		return input_bad(in, -ENOMEM, "there is no memory for an interface");
	interfaces[section->count++] = new;
	section->interfaces = interfaces;
	return 0;
}

static const struct interface *find_interface(struct input *in, const struct section *section,
					      uint32_t number)
{
	if (number < section->count)
		return &section->interfaces[number];
	input_bad(in, -EBADMSG, "it is of interface %u, but the section has %zu", number,
		  section->count);
	return NULL;
}

/* A time in nanoseconds. It wraps at 64 bits: no packet has such a time. */
static uint64_t time_of(const struct interface *interface, uint64_t time)
{
	uint64_t units = interface->units, part = time % units;

	/* The product of the part and 10^9 must fit; digits beyond nanoseconds are cut. */
	for (; units > NANOSECONDS * 16; units /= 2)
		part /= 2;
	return (time / interface->units + (uint64_t)interface->offset) * NANOSECONDS +
	       part * NANOSECONDS / units;
}

static int read_packet_options(struct input *in, struct body options, struct capture_seen *seen)
{
	const uint8_t *value;
	uint16_t code, len;
	int ret = 0;

	while (next_option(in, &options, &code, &value, &len, &ret)) {
		if (code == OPTION_EPB_FLAGS && len == 4 && seen->entry.way == RECORD_SEEN) {
			uint32_t way = input_u32(in, value) & EPB_WAY_MASK;

			seen->entry.way = way == EPB_OUTBOUND ? RECORD_SENT :
					  way == EPB_INBOUND ? RECORD_RECEIVED : RECORD_SEEN;
		} else if (code == OPTION_COMMENT &&
			   !comment_read((const char *)value, len, &seen->entry)) {
			keep_text(seen->comment, sizeof(seen->comment), value, len);
		}
	}
	return ret;
}

/* A packet, also in its old form, in which the number of the interface has 16 bits. */
static int read_packet(struct input *in, const struct section *from, uint32_t type,
		       struct body block)
{
	const uint8_t *head = take(&block, PACKET_LEN), *bytes;
	const struct interface *interface;
	struct capture_seen seen = { .entry = { .way = RECORD_SEEN, .private_data = true } };
	uint32_t len;
	int ret;

	if (!head)
		return input_bad(in, -EBADMSG, "its block has %zu bytes, its head needs %d",
				 block.len, PACKET_LEN);
	interface = find_interface(in, from, type == PCAPNG_PACKET ? input_u32(in, head) :
								       input_u16(in, head));
	if (!interface)
		return -EBADMSG;
	len = input_u32(in, head + 12);
	bytes = take(&block, len);
	if (!bytes)
		return input_bad(in, -EBADMSG, "it says that %u bytes of it were recorded, but its "
				 "block has %zu", len, block.len);
	seen.number = in->total->packets;
	seen.port = interface->port;
	seen.entry.port = interface->index;
	seen.entry.time = time_of(interface, (uint64_t)input_u32(in, head + 4) << 32 |
					     input_u32(in, head + 8));
	ret = read_packet_options(in, block, &seen);
	return ret ?: input_packet(in, &seen, interface->link, bytes, len);
}

/* A packet without time, of the first interface. */
static int read_simple_packet(struct input *in, const struct section *section, struct body body)
{
	struct capture_seen seen = { .entry = { .way = RECORD_SEEN, .private_data = true } };
	const uint8_t *head = take(&body, SIMPLE_PACKET_LEN);
	const struct interface *interface = find_interface(in, section, 0);
	uint32_t len;

	if (!interface)
		return -EBADMSG;
	if (!head)
		return input_bad(in, -EBADMSG, "its block is empty");
	len = input_u32(in, head);
	seen.number = in->total->packets;
	seen.port = interface->port;
	seen.entry.port = interface->index;
	return input_packet(in, &seen, interface->link, body.at, len < body.len ? len : body.len);
}

static int read_statistics(struct input *in, const struct section *section, struct body body)
{
	const uint8_t *head = take(&body, STATISTICS_LEN), *value;
	const struct interface *interface;
	uint64_t *dropped;
	uint16_t code, len;
	int ret = 0;

	if (!head)
		return input_bad(in, -EBADMSG, "statistics have %zu bytes, fewer than %d", body.len,
				 STATISTICS_LEN);
	interface = find_interface(in, section, input_u32(in, head));
	if (!interface)
		return -EBADMSG;
	dropped = interface->index < in->total->n_ports ?
		  &in->total->ports[interface->index].dropped : &in->total->dropped_elsewhere;
	while (next_option(in, &body, &code, &value, &len, &ret))
		if (code == OPTION_ISB_IFDROP && len == 8)
			*dropped += input_u64(in, value);
	return ret;
}

/* Reads a block whose type is in in->bytes already. */
static int read_block(struct input *in, struct section *section)
{
	struct body body;
	uint32_t type, len;
	int ret;

	type = input_u32(in, in->bytes);
	ret = input_take(in, 4, 4);
	if (!ret && type == PCAPNG_SECTION)
		ret = read_section_head(in);
	if (ret)
		return ret;
	in->in_packet = type == PCAPNG_PACKET || type == PCAPNG_OLD_PACKET ||
			type == PCAPNG_SIMPLE_PACKET || type == PCAPNG_JOURNAL;
	in->total->packets += in->in_packet;
	len = input_u32(in, in->bytes + 4);
	if (len % 4 || len > INPUT_MAX || len < PCAPNG_HEAD_LEN + PCAPNG_TAIL_LEN +
						(type == PCAPNG_SECTION ? 4 : 0))
		return input_bad(in, -EBADMSG, "its block says that it has %u bytes; a multiple "
				 "of 4 from 12 to %u is possible", len, INPUT_MAX);
	ret = type == PCAPNG_SECTION ?
	      input_take(in, PCAPNG_HEAD_LEN + 4, len - PCAPNG_HEAD_LEN - 4) :
	      input_take(in, PCAPNG_HEAD_LEN, len - PCAPNG_HEAD_LEN);
	if (ret)
		return ret;
	if (input_u32(in, in->bytes + len - PCAPNG_TAIL_LEN) != len)
		return input_bad(in, -EBADMSG, "its block has %u bytes, but %u say its last 4",
				 len, input_u32(in, in->bytes + len - PCAPNG_TAIL_LEN));
	body.at = in->bytes + PCAPNG_HEAD_LEN;
	body.len = len - PCAPNG_HEAD_LEN - PCAPNG_TAIL_LEN;
	switch (type) {
	case PCAPNG_SECTION:
		return read_section(in, section, body);
	case PCAPNG_INTERFACE:
		return read_interface(in, section, body);
	case PCAPNG_PACKET:
	case PCAPNG_OLD_PACKET:
		return read_packet(in, section, type, body);
	case PCAPNG_SIMPLE_PACKET:
		return read_simple_packet(in, section, body);
	case PCAPNG_STATISTICS:
		return read_statistics(in, section, body);
	default:
		return 0;
	}
}

int read_pcapng(struct input *in)
{
	struct section section = {};
	int ret = read_block(in, &section);

	while (!ret && !input_ends(in)) {
		in->at = in->offset;
		in->in_packet = false;
		ret = input_take(in, 0, 4);
		if (!ret)
			ret = read_block(in, &section);
	}
	free(section.interfaces);
	return ret;
}
