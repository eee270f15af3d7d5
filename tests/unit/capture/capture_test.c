// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of captures: they are read as written, also those of other programs; damage is found. */
#include "fixture.h"

#include <errno.h>
#include <stdlib.h>

#include "capture/format/comment.h"
#include "capture/format/frame.h"

static const struct record_port ports[] = {
	{ .device = "mlx5_0", .port = 1, .dropped = 3 },
	{ .device = "a/b c", .port = 4000000000u },
	{ .device = "silent", .port = 2, .dropped = 1ull << 40 },
};

static void assert_same(const struct record_entry *a, const struct record_entry *b)
{
	struct record_entry copy = *a;

	/* Both were set member by member, so that only padding may differ. */
	assert_memory_equal(copy.bytes, b->bytes, sizeof(copy.bytes));
	assert_memory_equal(copy.sgid, b->sgid, sizeof(copy.sgid));
	assert_memory_equal(copy.dgid, b->dgid, sizeof(copy.dgid));
	assert_memory_equal(copy.smac, b->smac, sizeof(copy.smac));
	assert_memory_equal(copy.dmac, b->dmac, sizeof(copy.dmac));
	assert_string_equal(copy.program, b->program);
	assert_string_equal(copy.operation, b->operation);
	assert_string_equal(copy.event, b->event);
	assert_int_equal(copy.time, b->time);
	assert_int_equal(copy.port, b->port);
	assert_int_equal(copy.link, b->link);
	assert_int_equal(copy.way, b->way);
	assert_int_equal(copy.kind, b->kind);
	assert_int_equal(copy.grh, b->grh);
	assert_int_equal(copy.slid, b->slid);
	assert_int_equal(copy.dlid, b->dlid);
	assert_int_equal(copy.sl, b->sl);
	assert_int_equal(copy.hop_limit, b->hop_limit);
	assert_int_equal(copy.pkey, b->pkey);
	assert_int_equal(copy.udp_sport, b->udp_sport);
	assert_int_equal(copy.sqpn, b->sqpn);
	assert_int_equal(copy.dqpn, b->dqpn);
	assert_int_equal(copy.qkey, b->qkey);
	assert_int_equal(copy.psn, b->psn);
	assert_int_equal(copy.private_data, b->private_data);
	assert_int_equal(copy.len, b->len);
	assert_true(record_same_id(&copy.id, &b->id));
	assert_int_equal(copy.pid, b->pid);
	assert_int_equal(copy.stock, b->stock);
}

/* Frames have no queue key, and a length that need not be a multiple of 4. */
static struct record_entry trunk_frame_of(enum record_link link, unsigned int len)
{
	struct record_entry entry = fixture_message(CM_RTU, true, link);

	memset(entry.bytes, 0, sizeof(entry.bytes));
	entry.kind = RECORD_TRUNK;
	entry.qkey = 0;
	entry.sqpn = 0x123456;
	entry.dqpn = 0x654321;
	entry.len = len;
	put_be16(entry.bytes + 18, len);
	return entry;
}

static unsigned int make_entries(struct record_entry *entries)
{
	unsigned int count = 0;

	for (enum record_link link = RECORD_INFINIBAND; link <= RECORD_ROCE_V2; link++) {
		for (enum record_way way = RECORD_SENT; way <= RECORD_SEEN; way++) {
			entries[count] = fixture_message(CM_REQ + way, true, link);
			entries[count].way = way;
			entries[count++].port = way % 2;
		}
		entries[count] = fixture_message(CM_REP, false, link);
		entries[count].sgid[0] = 0xfe;	/* no IPv4 address any more */
		entries[count].id = (struct record_id){ UINT64_MAX, UINT32_MAX };
		entries[count].pid = 12;
		entries[count].stock = true;
		strcpy(entries[count].program, "a \"b\\=\x1b\xff");
		strcpy(entries[count].operation, "accept");
		strcpy(entries[count].event, "connect request; no end");
		record_remove_private_data(&entries[count++]);
		for (unsigned int len = 24; len < 28; len++)
			entries[count++] = trunk_frame_of(link, len);
	}
	entries[count] = fixture_message(CM_RTU, true, RECORD_INFINIBAND);
	entries[count].grh = false;
	entries[count].hop_limit = 0;
	memset(entries[count].sgid, 0, 16);
	memset(entries[count++].dgid, 0, 16);
	return count;
}

static void reads_what_was_written(void **state)
{
	static struct record_entry entries[MANY];
	static struct fixture_file file;
	unsigned int count = make_entries(entries);

	(void)state;
	fixture_write(&file, ports, 3, entries, count);
	if (fixture_read(&file, file.len))
		fail_msg("%s", file.why);
	assert_int_equal(file.count, count);
	assert_int_equal(file.total.packets, count);
	for (unsigned int i = 0; i < count; i++) {
		const struct record_port *port = &file.seen[i].port;

		assert_int_equal(file.seen[i].number, i + 1);
		assert_string_equal(port->device, ports[entries[i].port].device);
		assert_int_equal(port->port, ports[entries[i].port].port);
		assert_string_equal(file.seen[i].comment, "");
		assert_same(&file.seen[i].entry, &entries[i]);
	}
	assert_int_equal(file.total.n_ports, 3);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(file.total.ports[i].dropped, ports[i].dropped);
	assert_string_equal(file.total.recorder, "rdma-cm-alt");
	free(file.bytes);
}

/* At every length the messages before the end are read; an end within a block is an error. */
static void reads_truncated_files(void **state)
{
	struct record_entry entries[3];
	static struct fixture_file file;
	size_t whole;
	unsigned int complete = 0;

	(void)state;
	for (int i = 0; i < 3; i++)
		entries[i] = fixture_message(CM_REQ, true, RECORD_ROCE_V2);
	fixture_write(&file, ports, 1, entries, 3);
	whole = file.len;
	for (size_t len = 1; len < whole; len++) {
		int ret = fixture_read(&file, len);

		assert_in_range(file.count, complete, complete + 1);
		complete = file.count;
		if (!ret)
			continue;
		assert_int_equal(ret, -ENODATA);
		if (complete && file.total.packets > complete) {
			char place[32];

			snprintf(place, sizeof(place), "packet %u, at byte ", complete + 1);
			assert_memory_equal(file.why, place, strlen(place));
		}
	}
	assert_int_equal(complete, 3);
	free(file.bytes);
}

/* No damaged byte is more than an error or another value; sanitizers watch. */
static void reads_damaged_files(void **state)
{
	struct record_entry entry = fixture_message(CM_REQ, true, RECORD_ROCE_V2);
	static struct fixture_file file;
	unsigned int errors = 0;

	(void)state;
	strcpy(entry.program, "rping");
	fixture_write(&file, ports, 1, &entry, 1);
	for (size_t at = 0; at < file.len; at++)
		for (int value = 1; value < 256; value = value * 2 + 1) {
			int ret;

			file.bytes[at] ^= value;
			ret = fixture_read(&file, file.len);
			if (ret) {
				assert_true(ret == -EBADMSG || ret == -ENODATA || ret == -EINVAL);
				assert_true(*file.why);
				errors++;
			}
			file.bytes[at] ^= value;
		}
	assert_in_range(errors, 100, 8 * file.len);
	free(file.bytes);
}

static void assert_why(struct fixture_file *file, size_t at, uint32_t value, const char *why)
{
	uint32_t old = get_le32(file->bytes + at);

	put_le32(file->bytes + at, value);
	assert_int_equal(fixture_read(file, file->len), -EBADMSG);
	assert_non_null(strstr(file->why, why));
	put_le32(file->bytes + at, old);
}

static void says_what_is_wrong(void **state)
{
	struct record_entry entry = fixture_message(CM_REQ, true, RECORD_ROCE_V2);
	static struct fixture_file file;
	size_t packet;

	(void)state;
	fixture_write(&file, ports, 1, &entry, 1);
	/* The block of the packet follows those of the section and the interface. */
	packet = get_le32(file.bytes + 4);
	packet += get_le32(file.bytes + packet + 4);
	assert_why(&file, packet + 4, 0xffffffff, "packet 1, at byte ");
	assert_why(&file, packet + 4, 30, "says that it has 30 bytes");
	assert_why(&file, packet + 8, 9, "it is of interface 9, but the section has 1");
	assert_why(&file, packet + 20, 5000, "says that 5000 bytes of it were recorded");
	assert_why(&file, get_le32(file.bytes + 4) + 4, 8, "before the first packet");
	memcpy(file.bytes, "\x1f\x8b", 2);
	assert_int_equal(fixture_read(&file, file.len), -EINVAL);
	assert_non_null(strstr(file.why, "no capture"));
	free(file.bytes);
}

/* What a file of another program says: highest byte first, microseconds, a tag of a VLAN. */
static size_t put_foreign(uint8_t *to, const struct record_entry *entry, uint32_t offset)
{
	size_t len, padded, words;
	struct frame frame;

	frame_build(entry, &frame);
	len = frame.len + 4;
	padded = (len + 3) & ~3ul;
	const uint32_t head[] = {
		0x0a0d0d0a, 28, 0x1a2b3c4d, 0x10000, 0xffffffff, 0xffffffff, 28,
		0xbad, 16, 0x12345678, 16,		/* unknown */
		1, 52, 1 << 16, 0,
		2 << 16 | 4, 0x65746830,		/* "eth0" */
		9 << 16 | 1, 6u << 24,
		14 << 16 | 8, 0, offset, 0, 52,
		6, 32 + padded, 0, 1, 2, len, len,
	};
	uint8_t *at = to + sizeof(head);

	words = sizeof(head) / sizeof(head[0]);
	for (size_t i = 0; i < words; i++)
		put_be32(to + 4 * i, head[i]);
	memcpy(at, frame.bytes, 12);
	memcpy(at + 12, "\x81\0\xa0\x05", 4);			/* priority 5 */
	memcpy(at + 16, frame.bytes + 12, frame.len - 12);
	memset(at + len, 0, padded - len);
	put_be32(at + padded, 32 + padded);
	return at + padded + 4 - to;
}

static void reads_files_of_other_programs(void **state)
{
	struct record_entry entry = fixture_message(CM_REP, false, RECORD_ROCE_V2);
	static struct fixture_file file;
	static uint8_t bytes[1024];

	(void)state;
	file.bytes = (char *)bytes;
	file.len = put_foreign(bytes, &entry, 1000);
	if (fixture_read(&file, file.len))
		fail_msg("%s", file.why);
	assert_int_equal(file.count, 1);
	assert_string_equal(file.seen[0].port.device, "eth0");
	assert_int_equal(file.seen[0].port.port, 0);
	entry.way = RECORD_SEEN;
	entry.sl = 5;
	entry.time = 1000 * SECOND + (1ull << 32 | 2) * 1000;
	assert_same(&file.seen[0].entry, &entry);
}

static void reads_pcap(void **state)
{
	struct record_entry entry = fixture_message(CM_REP, false, RECORD_ROCE_V1);
	static struct fixture_file file;
	uint8_t bytes[1024] = "\xa1\xb2\xc3\xd4\0\2\0\4";
	struct frame frame;

	(void)state;
	frame_build(&entry, &frame);
	put_be32(bytes + 20, LINK_ETHERNET);
	put_be32(bytes + 24, 1700000000);
	put_be32(bytes + 28, 500000);
	put_be32(bytes + 32, 200);		/* less than there was */
	put_be32(bytes + 36, frame.len);
	memcpy(bytes + 40, frame.bytes, 200);
	file.bytes = (char *)bytes;
	if (fixture_read(&file, 240))
		fail_msg("%s", file.why);
	assert_int_equal(file.count, 1);
	assert_int_equal(file.seen[0].entry.time, 1700000000 * SECOND + 500000000);
	assert_int_equal(file.seen[0].entry.len, 200 - ETHERNET_LEN - GRH_LEN - BTH_LEN - DETH_LEN);
	assert_int_equal(fixture_read(&file, 239), -ENODATA);
	assert_memory_equal(file.why, "packet 1, ", 10);
}

/* Other packets of RDMA, and packets to other ports, are counted and not given. */
static void leaves_other_packets(void **state)
{
	struct record_entry entries[4], unused;
	static struct fixture_file file;
	struct frame frame;

	(void)state;
	for (int i = 0; i < 4; i++)
		entries[i] = fixture_message(CM_REQ, true, RECORD_ROCE_V2);
	entries[0].dqpn = 2;
	entries[1].bytes[1] = 3;		/* subnet administration */
	entries[2].len = 20;
	fixture_write(&file, ports, 1, entries, 4);
	assert_int_equal(fixture_read(&file, file.len), 0);
	assert_int_equal(file.total.packets, 4);
	assert_int_equal(file.count, 1);
	assert_int_equal(file.seen[0].number, 4);
	free(file.bytes);
	frame_build(&entries[3], &frame);
	assert_true(frame_parse(LINK_ETHERNET, frame.bytes, frame.len, &unused));
	frame.bytes[ETHERNET_LEN + IPV4_LEN + 3]++;
	assert_false(frame_parse(LINK_ETHERNET, frame.bytes, frame.len, &unused));
}

static void keeps_comments_of_people(void **state)
{
	struct record_entry entry = {};

	(void)state;
	assert_false(comment_read("look at this: id=1/7", 20, &entry));
	assert_false(comment_read("id=1/7 pid=x", 12, &entry));
	assert_false(comment_read("program=\"rping", 14, &entry));
	assert_false(comment_read("program=0123456789abcdef", 24, &entry));
	assert_false(comment_read("id=1/4294967296", 15, &entry));
	assert_false(comment_read("id=7", 4, &entry));
	/* Of a file that an earlier version wrote. */
	assert_false(comment_read("cm_id=7 pid=12 program=rping", 28, &entry));
	assert_int_equal(entry.id.handle, 0);
	assert_int_equal(entry.pid, 0);
	assert_true(comment_read("id=1/7 program=\"a\\x20b\"", 23, &entry));
	assert_int_equal(entry.id.context, 1);
	assert_int_equal(entry.id.handle, 7);
	assert_string_equal(entry.program, "a b");
}

static void says_that_a_disk_is_full(void **state)
{
	FILE *full = fopen("/dev/full", "w");
	char why[128] = "";

	(void)state;
	assert_non_null(full);
	assert_null(capture_create(full, why, sizeof(why)));
	assert_non_null(strstr(why, "No space left"));
	fclose(full);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_what_was_written),
		cmocka_unit_test(reads_truncated_files),
		cmocka_unit_test(reads_damaged_files),
		cmocka_unit_test(says_what_is_wrong),
		cmocka_unit_test(reads_files_of_other_programs),
		cmocka_unit_test(reads_pcap),
		cmocka_unit_test(leaves_other_packets),
		cmocka_unit_test(keeps_comments_of_people),
		cmocka_unit_test(says_that_a_disk_is_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
