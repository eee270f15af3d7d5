// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Bytes, errors and messages of the readers. */
#include "capture/format/input.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "capture/format/bytes.h"
#include "capture/format/frame.h"

/* Step of allocations: a damaged length must not cause a large one for a short file. */
enum { CHUNK = 65536 };

uint16_t input_u16(const struct input *in, const uint8_t *at)
{
	return in->big ? get_be16(at) : get_le16(at);
}

uint32_t input_u32(const struct input *in, const uint8_t *at)
{
	return in->big ? get_be32(at) : get_le32(at);
}

uint64_t input_u64(const struct input *in, const uint8_t *at)
{
	return in->big ? get_be64(at) : get_le64(at);
}

int input_bad(struct input *in, int error, const char *fmt, ...)
{
	va_list args;
	int len;

	if (in->in_packet)
		len = snprintf(in->why, in->why_len, "packet %u, at byte %" PRIu64 ": ",
			       in->total->packets, in->at);
	else if (in->total->packets)
		len = snprintf(in->why, in->why_len, "after packet %u, at byte %" PRIu64 ": ",
			       in->total->packets, in->at);
	else
		len = snprintf(in->why, in->why_len,
			       "before the first packet, at byte %" PRIu64 ": ", in->at);
	if (len < 0 || (size_t)len >= in->why_len)
		return error;
	va_start(args, fmt);
	vsnprintf(in->why + len, in->why_len - len, fmt, args);
	va_end(args);
	return error;
}

static int make_room(struct input *in, size_t len)
{
	uint8_t *bytes;

	if (len <= in->room)
		return 0;
	bytes = realloc(in->bytes, len);
	if (!bytes)
		return input_bad(in, -ENOMEM, "there is no memory for %zu bytes", len);
	in->bytes = bytes;
	in->room = len;
	return 0;
}

int input_take(struct input *in, size_t before, size_t len)
{
	while (len) {
		size_t part = len < CHUNK ? len : CHUNK, got;
		int ret = make_room(in, before + part);

		if (ret)
			return ret;
		got = fread(in->bytes + before, 1, part, in->from);
		in->offset += got;
		if (got < part && ferror(in->from))
			return input_bad(in, -EIO, "the file cannot be read: %s", strerror(errno));
		if (got < part)
			return input_bad(in, -ENODATA,
					 "the file ends here, %zu bytes are missing; "
					 "what precedes is complete", len - got);
		before += got;
		len -= got;
	}
	return 0;
}

bool input_ends(struct input *in)
{
	int c = getc(in->from);

	if (c == EOF)
		return !ferror(in->from);
	ungetc(c, in->from);
	return false;
}

int input_port(struct input *in, const struct record_port *port, unsigned int *index)
{
	struct capture_total *total = in->total;
	unsigned int i, count = total->n_ports;

	for (i = 0; i < count; i++)
		if (total->ports[i].port == port->port &&
		    !strcmp(total->ports[i].device, port->device))
			break;
	*index = i;
	if (i < count || i == CAPTURE_PORTS)
		return 0;
	/* There is room for a power of two of them. */
	if (!(count & (count - 1))) {
		struct record_port *ports = reallocarray(total->ports, count ? 2 * count : 1,
							 sizeof(*ports));

		if (!ports)
			return input_bad(in, -ENOMEM, "there is no memory for a port");
		total->ports = ports;
	}
	total->ports[total->n_ports++] = *port;
	return 0;
}

int input_packet(struct input *in, struct capture_seen *seen, int link, const uint8_t *bytes,
		 size_t len)
{
	bool trunk = seen->entry.kind == RECORD_TRUNK;
	uint32_t sqpn = seen->entry.sqpn;

	if (!frame_reads(link)) {
		if (!in->total->unread++)
			in->total->unread_link = link;
		return 0;
	}
	if (!frame_parse(link, bytes, len, &seen->entry))
		return 0;
	/* Any send of an RC QP looks like a frame of a trunk: the comment identifies frames. */
	if (seen->entry.kind != (trunk ? RECORD_TRUNK : RECORD_CM))
		return 0;
	if (trunk)
		seen->entry.sqpn = sqpn;
	in->total->messages++;
	in->stopped = in->each(seen, in->arg);
	return in->stopped;
}
