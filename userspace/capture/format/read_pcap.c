// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Reads pcap files, which tcpdump and many switches write. */
#include <errno.h>
#include <string.h>

#include "capture/format/bytes.h"
#include "capture/format/input.h"

#define PCAP_MICROSECONDS 0xa1b2c3d4u
#define PCAP_NANOSECONDS 0xa1b23c4du

enum { FILE_HDR_LEN = 24, PACKET_HDR_LEN = 16 };

/* A file names no interface. */
static const struct record_port no_port = { .device = "pcap" };

bool is_pcap(const uint8_t *magic)
{
	uint32_t big = get_be32(magic), little = get_le32(magic);

	return big == PCAP_MICROSECONDS || big == PCAP_NANOSECONDS ||
	       little == PCAP_MICROSECONDS || little == PCAP_NANOSECONDS;
}

static int read_packet(struct input *in, int link, uint64_t unit, unsigned int port)
{
	struct capture_seen seen = {
		.port = no_port,
		.entry = { .port = port, .way = RECORD_SEEN, .private_data = true },
	};
	uint32_t len;
	int ret;

	in->at = in->offset;
	in->in_packet = true;
	seen.number = ++in->total->packets;
	ret = input_take(in, 0, PACKET_HDR_LEN);
	if (ret)
		return ret;
	seen.entry.time = input_u32(in, in->bytes) * 1000000000ull +
			  input_u32(in, in->bytes + 4) * unit;
	len = input_u32(in, in->bytes + 8);
	if (len > INPUT_MAX)
		return input_bad(in, -EBADMSG, "it says that it has %u bytes, at most %u are "
				 "possible", len, INPUT_MAX);
	ret = input_take(in, 0, len);
	if (ret)
		return ret;
	return input_packet(in, &seen, link, in->bytes, len);
}

int read_pcap(struct input *in)
{
	uint32_t magic;
	unsigned int port;
	uint64_t unit;
	int link, ret;

	in->big = in->bytes[0] == 0xa1;
	magic = input_u32(in, in->bytes);
	unit = magic == PCAP_NANOSECONDS ? 1 : 1000;
	ret = input_take(in, 4, FILE_HDR_LEN - 4) ?: input_port(in, &no_port, &port);
	if (ret)
		return ret;
	/* The upper 6 bits: whether checksums of frames (FCS) are recorded, and their length. */
	link = input_u32(in, in->bytes + 20) & 0x03ffffff;
	while (!ret && !input_ends(in))
		ret = read_packet(in, link, unit, port);
	return ret;
}
