// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of ids: how they are written and selected, and how records of frames are tied to them. */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>

#include <rdma/rdma_cm_alt.h>

#include "capture/format/comment.h"
#include "capture/format/options.h"
#include "capture/format/trunk.h"
#include "capture/recorder/correlate_trunk.h"

enum { SESSION = 9, CROWD = 10, CONN = 5, HANDLE = 1 };

/* Processes have contexts of their own, and their ids the same handle. */
static const struct record_id client = { 3, HANDLE }, server = { 4, HANDLE };

static void takes_ids(void **state)
{
	static const char * const bad[] = {
		"", "2", "/2", "2/", "2/0", "0x2/1", "2/1x", "2/1/3", " 2/1", "2/ 1", "-2/1",
		"2/-1",
		"2/4294967296", "18446744073709551616/1", "a/1", "2//1", "2 /1",
	};
	struct record_id id = { 77, 78 };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (options_id(bad[i], &id))
			fail_msg("'%s' was taken for an id", bad[i]);
		assert_int_equal(id.context, 77);
		assert_int_equal(id.handle, 78);
	}
	assert_true(options_id("3/7", &id));
	assert_int_equal(id.context, 3);
	assert_int_equal(id.handle, 7);
	assert_true(options_id("18446744073709551615/4294967295", &id));
	assert_true(id.context == UINT64_MAX && id.handle == UINT32_MAX);
}

/* Handles count from 1 in each context: those of other processes are the same. */
static void selects_one_id(void **state)
{
	struct record_entry entry = fixture_message(CM_REQ, true, RECORD_ROCE_V2), frame = {};
	const struct record_port port = { .device = "mlx5_0", .port = 1 };
	struct record_options options = { .id = { 2, HANDLE } };

	(void)state;
	for (uint64_t context = 1; context <= 100; context++) {
		entry.id = (struct record_id){ context, HANDLE };
		assert_int_equal(record_matches(&options, &port, &entry), context == 2);
		frame.n_ties = 1;
		frame.ties[0].id = entry.id;
		assert_int_equal(record_matches(&options, &port, &frame), context == 2);
	}
}

static void tell(const struct record_id *id, uint32_t pid, const char *operation, uint32_t event)
{
	const struct correlate_notice note = {
		.session = SESSION, .number = CONN, .id = *id, .pid = pid, .program = "rping",
		.operation = operation, .event = event,
	};

	correlate_trunk_note(&note);
}

/* The id that a frame with one record is tied to. */
static struct record_tie tie_of(unsigned int type, unsigned int len, bool sent)
{
	struct record_entry entry = { .kind = RECORD_TRUNK, .session = SESSION };

	entry.way = sent ? RECORD_SENT : RECORD_RECEIVED;
	entry.sqpn = sent ? 0x44 : 0x55;
	entry.dqpn = sent ? 0x55 : 0x44;
	entry.len = TRUNK_FRAME_LEN + len;
	put_be16(entry.bytes + 18, entry.len);
	entry.bytes[20] = 1;
	entry.bytes[TRUNK_FRAME_LEN] = type;
	put_be16(entry.bytes + TRUNK_FRAME_LEN + 2, len);
	put_be32(entry.bytes + TRUNK_FRAME_LEN + 4, CONN);
	correlate_trunk_apply(&entry);
	assert_int_equal(entry.n_ties, 1);
	return entry.ties[0];
}

/* Both ends are on this host, and their ids have the same handle. */
static void tells_ends_apart(void **state)
{
	(void)state;
	tell(&client, 100, "connect", CORRELATE_NO_EVENT);
	tell(&server, 200, "accept", CORRELATE_NO_EVENT);
	tell(&server, 200, "", RDMA_CM_ALT_EVENT_ESTABLISHED);
	tell(&server, 200, "", RDMA_CM_ALT_EVENT_DISCONNECTED);
	assert_int_equal(tie_of(TRUNK_REQ, 64, true).pid, 100);
	assert_int_equal(tie_of(TRUNK_RTU, 8, true).id.context, 3);
	assert_int_equal(tie_of(TRUNK_REQ, 64, false).pid, 200);
	assert_int_equal(tie_of(TRUNK_REP, 40, true).id.context, 4);
	tell(&client, 100, "", RDMA_CM_ALT_EVENT_DISCONNECTED);
	assert_int_equal(tie_of(TRUNK_REQ, 64, true).pid, 100);
	assert_int_equal(tie_of(TRUNK_REP, 40, true).pid, 200);
}

/* A frame of so many records, of connections 1, 2 and so on. */
static struct record_entry crowded_frame(unsigned int count)
{
	struct record_entry entry = {
		.kind = RECORD_TRUNK, .session = CROWD, .way = RECORD_SENT,
		.len = TRUNK_FRAME_LEN + count * TRUNK_RECORD_LEN,
	};

	put_be16(entry.bytes + 18, entry.len);
	entry.bytes[20] = count;
	for (unsigned int i = 0; i < count; i++) {
		uint8_t *record = entry.bytes + TRUNK_FRAME_LEN + i * TRUNK_RECORD_LEN;

		record[0] = TRUNK_RTU;
		put_be16(record + 2, TRUNK_RECORD_LEN);
		put_be32(record + 4, i + 1);
	}
	return entry;
}

/* Each record of the longest frame is tied, so that filters find any of them. */
static void ties_every_record(void **state)
{
	const struct record_port port = { .device = "mlx5_0", .port = 1 };
	struct record_entry entry = crowded_frame(RECORD_TIES);

	(void)state;
	assert_int_equal(entry.len, RECORD_FRAME_LEN);
	for (uint32_t i = 1; i <= RECORD_TIES; i++) {
		const struct correlate_notice note = {
			.session = CROWD, .number = i, .id = { 1000 + i, HANDLE }, .pid = i,
			.program = "crowd", .operation = "connect", .event = CORRELATE_NO_EVENT,
		};

		correlate_trunk_note(&note);
	}
	correlate_trunk_apply(&entry);
	assert_int_equal(entry.n_ties, RECORD_TIES);
	for (uint32_t i = 1; i <= RECORD_TIES; i++) {
		const struct record_options by_id = { .id = { 1000 + i, HANDLE } };
		const struct record_options by_pid = { .pid = i };

		assert_int_equal(record_tie(&entry, i)->id.context, 1000 + i);
		assert_true(record_matches(&by_id, &port, &entry));
		assert_true(record_matches(&by_pid, &port, &entry));
	}
}

static void writes_ties_of_records(void **state)
{
	struct record_entry entry = { .kind = RECORD_TRUNK, .session = UINT32_MAX }, read = {};
	static const char * const bad[] = {
		"record=5:1/7:1", "record=5:1/0:1:rping", "record=5:1/7:x:rping",
		"record=:1/7:1:rping", "record=5:1/7:1:0123456789abcdef",
		"record=4294967296:1/7:1:rping", "record=5", "record=5:7:1:rping",
	};
	char text[COMMENT_LEN];
	size_t len;

	(void)state;
	for (unsigned int i = 0; i < RECORD_TIES; i++) {
		entry.ties[i] = (struct record_tie){
			.conn = UINT32_MAX - i, .pid = UINT32_MAX,
			.id = { UINT64_MAX, UINT32_MAX },
		};
		memset(entry.ties[i].program, '\x01' + i, sizeof(entry.ties[i].program) - 1);
	}
	memset(entry.ties[0].program, 0, sizeof(entry.ties[0].program));
	strcpy(entry.ties[0].program, "a:b c");
	entry.n_ties = RECORD_TIES;
	len = comment_write(&entry, text);
	assert_in_range(len, 1, sizeof(text) - 1);
	assert_true(comment_read(text, len, &read));
	assert_int_equal(read.session, entry.session);
	assert_int_equal(read.n_ties, RECORD_TIES);
	for (unsigned int i = 0; i < RECORD_TIES; i++) {
		const struct record_tie *tie = &read.ties[i], *was = &entry.ties[i];

		assert_int_equal(tie->conn, was->conn);
		assert_int_equal(tie->pid, was->pid);
		assert_true(record_same_id(&tie->id, &was->id));
		assert_string_equal(tie->program, was->program);
	}
	/* One more than there is room for. */
	assert_false(comment_read("record=5:1/7:1:rping", 20, &read));
	assert_int_equal(read.n_ties, RECORD_TIES);
	read.n_ties = 0;
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(comment_read(bad[i], strlen(bad[i]), &read));
	assert_int_equal(read.n_ties, 0);
}

/* The longest frame, whole, and a frame of which a recorder has kept a part only. */
static void reads_whole_and_cut_frames(void **state)
{
	const struct record_port port = { .device = "mlx5_0", .port = 1 };
	static struct record_entry entries[2];
	static struct fixture_file file;
	struct trunk_frame frame;

	(void)state;
	for (enum record_link link = RECORD_INFINIBAND; link <= RECORD_ROCE_V2; link++) {
		entries[0] = crowded_frame(RECORD_TIES);
		entries[0].link = link;
		entries[0].grh = true;
		entries[1] = entries[0];
		entries[1].len = 300;
		memset(entries[1].bytes + 300, 0, RECORD_FRAME_LEN - 300);
		fixture_write(&file, &port, 1, entries, 2);
		if (fixture_read(&file, file.len))
			fail_msg("%s", file.why);
		assert_int_equal(file.count, 2);
		for (int i = 0; i < 2; i++) {
			const struct record_entry *entry = &file.seen[i].entry;

			assert_int_equal(entry->len, entries[i].len);
			assert_memory_equal(entry->bytes, entries[i].bytes, RECORD_FRAME_LEN);
			assert_true(trunk_frame(entry, &frame));
			assert_int_equal(frame.len, RECORD_FRAME_LEN);
		}
		free(file.bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_ids),
		cmocka_unit_test(selects_one_id),
		cmocka_unit_test(tells_ends_apart),
		cmocka_unit_test(ties_every_record),
		cmocka_unit_test(writes_ties_of_records),
		cmocka_unit_test(reads_whole_and_cut_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
