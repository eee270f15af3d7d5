// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of links of captures that other programs have written as pcap. */
#include "fixture.h"

#include <stdlib.h>

#include "capture/format/frame.h"

enum {
	FILE_HDR_LEN = 24,
	PACKET_HDR_LEN = 16,
	LINK_WLAN = 105,
	FCS_LEN = 4,
	OUTGOING = 4,
	OTHER_HOST = 3,
	ETHER = 1,			/* ARPHRD_ETHER */
};

static void begin_pcap(struct fixture_file *file, uint32_t link)
{
	file->bytes = calloc(1, 4096);
	assert_non_null(file->bytes);
	file->len = FILE_HDR_LEN;
	put_be32(file->bytes, 0xa1b2c3d4);
	put_be32(file->bytes + 4, 2 << 16 | 4);
	put_be32(file->bytes + 16, 65535);
	put_be32(file->bytes + 20, link);
}

/* A packet of a header and what follows it. */
static void put_packet(struct fixture_file *file, const uint8_t *header, size_t header_len,
		       const uint8_t *rest, size_t rest_len)
{
	char *at = file->bytes + file->len;

	put_be32(at, 1700000000);
	put_be32(at + 8, header_len + rest_len);
	put_be32(at + 12, header_len + rest_len);
	memcpy(at + PACKET_HDR_LEN, header, header_len);
	if (rest_len)
		memcpy(at + PACKET_HDR_LEN + header_len, rest, rest_len);
	file->len += PACKET_HDR_LEN + header_len + rest_len;
}

static void read_whole(struct fixture_file *file)
{
	if (fixture_read(file, file->len))
		fail_msg("%s", file->why);
	free(file->bytes);
}

/* A file says in the upper bits of its link type that each frame ends with a checksum. */
static void reads_frames_with_checksums(void **state)
{
	static const uint32_t flags[] = { 0x24000000, 0x44000000, 0xf4000000 };

	(void)state;
	for (unsigned int i = 0; i < 3; i++) {
		struct record_entry entry = fixture_message(CM_REP, false, RECORD_ROCE_V1 + i % 2);
		static struct fixture_file file;
		struct frame frame;

		frame_build(&entry, &frame);
		begin_pcap(&file, flags[i] | LINK_ETHERNET);
		put_packet(&file, frame.bytes, frame.len, (const uint8_t *)"\1\2\3\4", FCS_LEN);
		read_whole(&file);
		assert_int_equal(file.count, 1);
		assert_int_equal(file.total.unread, 0);
		assert_int_equal(file.seen[0].entry.link, entry.link);
		assert_int_equal(file.seen[0].entry.len, RECORD_MAD_LEN);
		assert_memory_equal(file.seen[0].entry.bytes, entry.bytes, RECORD_MAD_LEN);
	}
}

/* A header of Linux in place of that of Ethernet, and a tag of a VLAN if there is a priority. */
static size_t cook(uint8_t *header, bool second, unsigned int way, unsigned int type,
		   unsigned int priority)
{
	size_t len = second ? SLL2_LEN : SLL_LEN;
	uint8_t *address = header + (second ? 12 : 6);

	memset(header, 0, len);
	if (second) {
		put_be32(header + 4, 3);		/* index of the interface */
		put_be16(header + 8, ETHER);
		header[10] = way;
		header[11] = 6;
	} else {
		put_be16(header, way);
		put_be16(header + 2, ETHER);
		put_be16(header + 4, 6);
	}
	memcpy(address, "\2\0\0\0\0\7", 6);
	put_be16(second ? header : header + 14, priority ? 0x8100 : type);
	if (!priority)
		return len;
	put_be16(header + len, priority << 13 | 5);
	put_be16(header + len + 2, type);
	return len + 4;
}

static void reads_cooked(bool second, enum record_link link)
{
	static const uint8_t no_address[6];
	static const struct {
		unsigned int way;
		enum record_way expected;
	} cases[] = {
		{ OUTGOING, RECORD_SENT },
		{ 0, RECORD_RECEIVED },
		{ OTHER_HOST, RECORD_SEEN },
	};
	static struct fixture_file file;
	struct record_entry entry = fixture_message(CM_REQ, true, link);
	struct frame frame;
	uint8_t header[32];

	frame_build(&entry, &frame);
	begin_pcap(&file, second ? LINK_LINUX_SLL2 : LINK_LINUX_SLL);
	for (unsigned int i = 0; i < 3; i++) {
		size_t len = cook(header, second, cases[i].way, get_be16(frame.bytes + 12), i);

		put_packet(&file, header, len, frame.bytes + ETHERNET_LEN,
			   frame.len - ETHERNET_LEN);
	}
	read_whole(&file);
	assert_int_equal(file.count, 3);
	for (unsigned int i = 0; i < 3; i++) {
		const struct record_entry *seen = &file.seen[i].entry;

		assert_int_equal(seen->way, cases[i].expected);
		assert_int_equal(seen->link, link);
		assert_int_equal(seen->len, RECORD_MAD_LEN);
		assert_memory_equal(seen->bytes, entry.bytes, RECORD_MAD_LEN);
		assert_memory_equal(seen->sgid, entry.sgid, sizeof(entry.sgid));
		assert_memory_equal(seen->dgid, entry.dgid, sizeof(entry.dgid));
		assert_memory_equal(seen->smac, "\2\0\0\0\0\7", 6);
		assert_memory_equal(seen->dmac, no_address, 6);
		assert_int_equal(seen->sl, i ? i : entry.sl);
	}
}

static void reads_packets_of_any_interface(void **state)
{
	(void)state;
	for (enum record_link link = RECORD_ROCE_V1; link <= RECORD_ROCE_V2; link++) {
		reads_cooked(false, link);
		reads_cooked(true, link);
	}
}

/* Not one of its lengths is more than "no message"; sanitizers watch. */
static void reads_short_cooked_packets(void **state)
{
	struct record_entry entry = fixture_message(CM_REQ, true, RECORD_ROCE_V2), parsed;
	uint8_t bytes[FRAME_MAX + 32], *cut;
	struct frame frame;

	(void)state;
	frame_build(&entry, &frame);
	for (int second = 0; second < 2; second++) {
		int link = second ? LINK_LINUX_SLL2 : LINK_LINUX_SLL;
		size_t len = cook(bytes, second, 0, get_be16(frame.bytes + 12), 1), whole;

		memcpy(bytes + len, frame.bytes + ETHERNET_LEN, frame.len - ETHERNET_LEN);
		whole = len + frame.len - ETHERNET_LEN;
		for (size_t part = 0; part <= whole; part++) {
			cut = malloc(part + !part);
			assert_non_null(cut);
			memcpy(cut, bytes, part);
			if (frame_parse(link, cut, part, &parsed))
				assert_true(part > len + IPV4_LEN + UDP_LEN + BTH_LEN + DETH_LEN);
			else
				assert_true(part < whole);
			free(cut);
		}
	}
}

/* Packets of other links are counted, and the first one's type is told. */
static void counts_packets_of_other_links(void **state)
{
	struct record_entry entry = fixture_message(CM_REQ, true, RECORD_ROCE_V2);
	static struct fixture_file file;
	struct frame frame;

	(void)state;
	frame_build(&entry, &frame);
	begin_pcap(&file, LINK_WLAN);
	put_packet(&file, frame.bytes, frame.len, NULL, 0);
	put_packet(&file, frame.bytes, frame.len, NULL, 0);
	read_whole(&file);
	assert_int_equal(file.count, 0);
	assert_int_equal(file.total.packets, 2);
	assert_int_equal(file.total.unread, 2);
	assert_int_equal(file.total.unread_link, LINK_WLAN);
	assert_false(frame_reads(LINK_WLAN));
}

/* An interface of its own for each of so many ports, and what was dropped at each: its number. */
static void put_ports(struct fixture_file *file, unsigned int count)
{
	static const uint32_t section[] = { 0x0a0d0d0a, 28, 0x1a2b3c4d, 0x10000, -1u, -1u, 28 };
	const unsigned int in_a_section = 1000;
	uint32_t *at;

	file->bytes = calloc(count + 1, 128);
	assert_non_null(file->bytes);
	at = (uint32_t *)file->bytes;
	for (unsigned int i = 0; i < count; i++) {
		uint32_t blocks[] = {
			1, 40, LINK_ETHERNET << 16, 0, 2 << 16 | 12, 0, 0, 0, 0, 40,
			5, 40, i % in_a_section, 0, 0, 5 << 16 | 8, 0, i + 1, 0, 40,
		};
		char name[13];

		if (!(i % in_a_section))
			for (unsigned int word = 0; word < 7; word++)
				put_be32(at++, section[word]);
		for (unsigned int word = 0; word < 20; word++)
			put_be32(at + word, blocks[word]);
		snprintf(name, sizeof(name), "mlx5_%05u/1", i % 100000);
		memcpy(at + 5, name, sizeof(name) - 1);
		at += 20;
	}
	file->len = (char *)at - file->bytes;
}

/* Drops of each port are told; those of ports beyond the table in a sum. */
static void counts_drops_of_many_ports(void **state)
{
	static const unsigned int counts[] = { 1, 65, CAPTURE_PORTS, CAPTURE_PORTS + 3 };
	static struct fixture_file file;

	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		unsigned int count = counts[i], kept = count;
		char name[16];

		if (kept > CAPTURE_PORTS)
			kept = CAPTURE_PORTS;
		put_ports(&file, count);
		read_whole(&file);
		assert_int_equal(file.total.n_ports, kept);
		for (unsigned int port = 0; port < kept; port++) {
			snprintf(name, sizeof(name), "mlx5_%05u", port);
			assert_string_equal(file.total.ports[port].device, name);
			assert_int_equal(file.total.ports[port].port, 1);
			assert_int_equal(file.total.ports[port].dropped, port + 1);
		}
		assert_int_equal(file.total.dropped_elsewhere,
				 kept < count ? 3 * CAPTURE_PORTS + 6 : 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_frames_with_checksums),
		cmocka_unit_test(reads_packets_of_any_interface),
		cmocka_unit_test(reads_short_cooked_packets),
		cmocka_unit_test(counts_packets_of_other_links),
		cmocka_unit_test(counts_drops_of_many_ports),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
