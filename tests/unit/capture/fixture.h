/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the tests of captures share: messages, and files in memory. */
#ifndef TEST_TOOL_FIXTURE_H
#define TEST_TOOL_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "capture/format/bytes.h"
#include "capture/format/cm.h"
#include "capture/format/entry.h"

#define MANY 64
#define SECOND 1000000000ull

/* A file in memory, and what was read of it. */
struct fixture_file {
	char *bytes;
	size_t len;
	unsigned int count;
	struct capture_seen seen[MANY];
	struct capture_total total;
	char why[256];
};

/* A CM message of a client (id 0xa1) or a server (id 0xb1), every byte of its private data set. */
static inline struct record_entry fixture_message(unsigned int type, bool client,
						  enum record_link link)
{
	static const uint8_t gids[2][16] = {
		{ [10] = 0xff, [11] = 0xff, [12] = 192, [14] = 2, [15] = 1 },
		{ [10] = 0xff, [11] = 0xff, [12] = 192, [14] = 2, [15] = 2 },
	};
	struct record_entry entry = {
		.time = 1700000000 * SECOND + 123456789, .link = link,
		.way = client ? RECORD_SENT : RECORD_RECEIVED, .kind = RECORD_CM, .grh = true,
		.hop_limit = 64, .pkey = 0xffff, .sqpn = 1, .dqpn = 1, .qkey = 0x80010000,
		.psn = 7, .sl = 3, .private_data = true, .len = RECORD_MAD_LEN,
	};

	memcpy(entry.sgid, gids[!client], 16);
	memcpy(entry.dgid, gids[client], 16);
	if (link == RECORD_INFINIBAND) {
		entry.slid = client ? 5 : 6;
		entry.dlid = client ? 6 : 5;
	} else {
		memcpy(entry.smac, "\x02\0\0\0\0\1", 6);
		memcpy(entry.dmac, "\x02\0\0\0\0\2", 6);
	}
	if (link == RECORD_ROCE_V2)
		entry.udp_sport = 0xc001;
	memcpy(entry.bytes, "\1\7\2\3", 4);
	put_be64(entry.bytes + 8, 0x1234);
	put_be16(entry.bytes + 16, type);
	if (type == CM_SIDR_REQ || type == CM_SIDR_REP) {
		put_be32(entry.bytes + 24, 0xc1);
	} else {
		put_be32(entry.bytes + 24, client ? 0xa1 : 0xb1);
		if (type != CM_REQ)
			put_be32(entry.bytes + 28, client ? 0xb1 : 0xa1);
	}
	if (type == CM_REQ || type == CM_SIDR_REQ)
		put_be64(entry.bytes + 32, 0x1061d2f);
	if (cm_message(type))
		memset(entry.bytes + cm_message(type)->private_at, 0x5a,
		       RECORD_MAD_LEN - cm_message(type)->private_at);
	return entry;
}

static int fixture_keep(const struct capture_seen *seen, void *arg)
{
	struct fixture_file *file = arg;

	assert_in_range(file->count, 0, MANY - 1);
	file->seen[file->count++] = *seen;
	return 0;
}

/* Reads the first bytes of the file. */
static inline int fixture_read(struct fixture_file *file, size_t len)
{
	FILE *from = fmemopen(file->bytes, len, "r");
	int ret;

	assert_non_null(from);
	capture_total_free(&file->total);
	file->count = 0;
	*file->why = '\0';
	ret = capture_read_total(from, fixture_keep, file, &file->total, file->why,
				 sizeof(file->why));
	fclose(from);
	return ret;
}

static inline void fixture_write(struct fixture_file *file, const struct record_port *ports,
				 unsigned int n_ports, const struct record_entry *entries,
				 unsigned int count)
{
	FILE *to = open_memstream(&file->bytes, &file->len);
	struct capture_writer *writer;

	assert_non_null(to);
	writer = capture_create(to, file->why, sizeof(file->why));
	assert_non_null(writer);
	for (unsigned int i = 0; i < count; i++)
		assert_int_equal(capture_write(writer, ports, n_ports, &entries[i]), 0);
	assert_int_equal(capture_close(writer, ports, n_ports), 0);
	fclose(to);
}

#endif /* TEST_TOOL_FIXTURE_H */
