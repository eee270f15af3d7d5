// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of ids: how they are written and selected, and how records of frames are tied to them. */
#include "fixture.h"

#include <stdio.h>

#include <rdma/rdma_cm_alt.h>

#include "tool/capture/ties_trunk.h"
#include "tool/record/options.h"
#include "tool/record/trunk.h"

enum { SESSION = 9, CONN = 5, HANDLE = 1 };

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
	const struct ties_note note = {
		.session = SESSION, .number = CONN, .id = *id, .pid = pid, .program = "rping",
		.operation = operation, .event = event,
	};

	ties_trunk_note(&note);
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
	ties_trunk_apply(&entry);
	assert_int_equal(entry.n_ties, 1);
	return entry.ties[0];
}

/* Both ends are on this host, and their ids have the same handle. */
static void tells_ends_apart(void **state)
{
	(void)state;
	tell(&client, 100, "connect", TIES_NO_EVENT);
	tell(&server, 200, "accept", TIES_NO_EVENT);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_ids),
		cmocka_unit_test(selects_one_id),
		cmocka_unit_test(tells_ends_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
