// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of private data, of explanations, and of what the fuzzer of captures found. */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>

#include "capture/decode/cause.h"
#include "capture/decode/names.h"
#include "capture/format/trunk.h"

enum { UNKNOWN_TYPE = 99 };

/* A frame with one record, whose bytes after its head are 0x5a. */
static struct record_entry frame_of(unsigned int type, unsigned int record_len)
{
	struct record_entry entry = fixture_message(CM_RTU, true, RECORD_ROCE_V2);

	entry.kind = RECORD_TRUNK;
	memset(entry.bytes, 0x5a, sizeof(entry.bytes));
	put_be16(entry.bytes + 18, TRUNK_FRAME_LEN + record_len);
	entry.bytes[20] = 1;
	entry.bytes[TRUNK_FRAME_LEN] = type;
	put_be16(entry.bytes + TRUNK_FRAME_LEN + 2, record_len);
	return entry;
}

static void assert_bytes(const struct record_entry *entry, unsigned int from, unsigned int to,
			 uint8_t value)
{
	for (unsigned int i = from; i < to; i++)
		assert_int_equal(entry->bytes[i], value);
}

/* The header of the IP CM service: port 4097, from 192.0.2.1 to 192.0.2.2. */
static const uint8_t ipv4_header[CM_IP_HEADER_LEN] = {
	[1] = 0x40, [2] = 0x10, [3] = 1, [16] = 192, [18] = 2, [19] = 1, [32] = 192, [34] = 2,
	[35] = 2,
};

/* The same, from 2001:db8::1 to fe80::2. */
static const uint8_t ipv6_header[CM_IP_HEADER_LEN] = {
	[1] = 0x60, [2] = 0x10, [3] = 1, [4] = 0x20, [5] = 1, [6] = 0xd, [7] = 0xb8, [19] = 1,
	[20] = 0xfe, [21] = 0x80, [35] = 2,
};

static void put_header(struct record_entry *entry, const uint8_t *header)
{
	memcpy(entry->bytes + cm_message(cm_type(entry))->private_at, header, CM_IP_HEADER_LEN);
}

static void removes_private_data(void **state)
{
	(void)state;
	for (unsigned int type = CM_REQ; type <= CM_APR; type++) {
		struct record_entry entry = fixture_message(type, true, RECORD_ROCE_V2);
		unsigned int from = cm_message(type)->private_at;
		struct record_entry before;

		/* The service IDs of both are those of the IP CM service. */
		if (type == CM_REQ || type == CM_SIDR_REQ) {
			put_header(&entry, ipv4_header);
			from += CM_IP_HEADER_LEN;
		}
		before = entry;
		record_remove_private_data(&entry);
		assert_false(entry.private_data);
		assert_memory_equal(entry.bytes, before.bytes, from);
		assert_bytes(&before, from, RECORD_MAD_LEN, 0x5a);
		assert_bytes(&entry, from, RECORD_MAD_LEN, 0);
	}
}

static void removes_it_of_other_services(void **state)
{
	struct record_entry entry = fixture_message(CM_REQ, true, RECORD_INFINIBAND);

	(void)state;
	put_header(&entry, ipv4_header);
	put_be64(entry.bytes + 32, 0x0000000100000001);
	record_remove_private_data(&entry);
	assert_bytes(&entry, cm_message(CM_REQ)->private_at, RECORD_MAD_LEN, 0);
}

/* Whether a request keeps the header, one byte of which is another. */
static bool keeps_header(unsigned int type, const uint8_t *header, unsigned int at, uint8_t value)
{
	struct record_entry entry = fixture_message(type, true, RECORD_INFINIBAND);
	unsigned int from = cm_message(type)->private_at;
	uint8_t changed[CM_IP_HEADER_LEN];

	memcpy(changed, header, sizeof(changed));
	changed[at] = value;
	put_header(&entry, changed);
	record_remove_private_data(&entry);
	assert_bytes(&entry, from + CM_IP_HEADER_LEN, RECORD_MAD_LEN, 0);
	if (!memcmp(entry.bytes + from, changed, sizeof(changed)))
		return true;
	assert_bytes(&entry, from, from + CM_IP_HEADER_LEN, 0);
	return false;
}

/* An id of AF_IB may request a service ID of the IP CM service, and sends no header. */
static void removes_what_is_no_header(void **state)
{
	static const unsigned int types[] = { CM_REQ, CM_SIDR_REQ };

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		assert_true(keeps_header(types[i], ipv4_header, 1, 0x40));
		assert_false(keeps_header(types[i], ipv4_header, 0, 0x10));
		assert_false(keeps_header(types[i], ipv4_header, 1, 0x41));
		assert_false(keeps_header(types[i], ipv4_header, 1, 0x60));
		assert_false(keeps_header(types[i], ipv4_header, 16, 0));
		assert_false(keeps_header(types[i], ipv4_header, 32, 224));
		for (unsigned int at = 0; at < 12; at++) {
			assert_false(keeps_header(types[i], ipv4_header, 4 + at, 1));
			assert_false(keeps_header(types[i], ipv4_header, 20 + at, 1));
		}
		assert_true(keeps_header(types[i], ipv6_header, 1, 0x60));
		assert_false(keeps_header(types[i], ipv6_header, 1, 0x40));
		assert_false(keeps_header(types[i], ipv6_header, 4, 0xff));
		assert_false(keeps_header(types[i], ipv6_header, 20, 0));
	}
}

/* The same of a REQ that is a record of a frame; a record may end before the header does. */
static void removes_what_is_no_header_of_a_record(void **state)
{
	enum { PRIVATE_AT = TRUNK_FRAME_LEN + 64, LEN = 64 + CM_IP_HEADER_LEN + 8 };
	static const struct {
		uint32_t service;	/* lower half of the service ID */
		unsigned int len;
		bool kept;
	} cases[] = {
		{ 0x1061d2f, LEN, true },
		{ 0x2061d2f, LEN, false },
		{ 0x1061d2f, LEN - 12, false },
	};

	(void)state;
	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct record_entry entry = frame_of(TRUNK_REQ, cases[i].len);
		unsigned int from = PRIVATE_AT, end = TRUNK_FRAME_LEN + cases[i].len;

		put_be64(entry.bytes + TRUNK_FRAME_LEN + 8, cases[i].service);
		memcpy(entry.bytes + PRIVATE_AT, ipv4_header, sizeof(ipv4_header));
		record_remove_private_data(&entry);
		if (cases[i].kept) {
			assert_memory_equal(entry.bytes + from, ipv4_header, CM_IP_HEADER_LEN);
			from += CM_IP_HEADER_LEN;
		}
		assert_bytes(&entry, from, end, 0);
	}
}

/* What a later version sends may be private, too. */
static void removes_records_of_unknown_types(void **state)
{
	struct record_entry entry = frame_of(UNKNOWN_TYPE, 48);

	(void)state;
	record_remove_private_data(&entry);
	assert_int_equal(entry.bytes[TRUNK_FRAME_LEN], UNKNOWN_TYPE);
	assert_bytes(&entry, TRUNK_FRAME_LEN + TRUNK_RECORD_LEN, TRUNK_FRAME_LEN + 48, 0);
}

/* Also beyond what a MAD has. */
static void removes_it_to_the_end_of_a_frame(void **state)
{
	const unsigned int end = RECORD_FRAME_LEN, last = end - 64;
	struct record_entry entry = frame_of(TRUNK_REJ, last - TRUNK_FRAME_LEN);

	(void)state;
	entry.len = end;
	put_be16(entry.bytes + 18, end);
	entry.bytes[20] = 2;
	entry.bytes[last] = TRUNK_REP;
	put_be16(entry.bytes + last + 2, 64);
	record_remove_private_data(&entry);
	assert_bytes(&entry, TRUNK_FRAME_LEN + 16, last, 0);
	assert_int_equal(entry.bytes[last], TRUNK_REP);
	assert_bytes(&entry, last + 8, last + 40, 0x5a);
	assert_bytes(&entry, last + 40, end, 0);
}

/* A record that says it is longer than the frame is the last one. */
static void ends_at_long_records(void **state)
{
	struct record_entry entry = frame_of(TRUNK_PING, 13108);
	struct trunk_record record = {};

	(void)state;
	assert_true(trunk_next(&entry, &record));
	assert_int_equal(record.len, 13108);
	assert_false(trunk_next(&entry, &record));
	record_remove_private_data(&entry);
}

/* An entry may be anywhere in memory that its numbers allow, its GIDs at any byte. */
static void names_peers(void **state)
{
	struct record_entry entry = fixture_message(CM_REQ, true, RECORD_ROCE_V2);
	char text[64];

	(void)state;
	name_peer(&entry, true, text, sizeof(text));
	assert_string_equal(text, "192.0.2.1");
	memcpy(entry.dgid, "\xfe\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\7", sizeof(entry.dgid));
	name_peer(&entry, false, text, sizeof(text));
	assert_string_equal(text, "fe80::7");
	entry = fixture_message(CM_REQ, true, RECORD_INFINIBAND);
	entry.grh = false;
	name_peer(&entry, false, text, sizeof(text));
	assert_string_equal(text, "LID 6");
}

/* The name of a program in a file must not add a line. */
static void keeps_titles_in_a_line(void **state)
{
	struct conversations *all = conversations_new();
	struct capture_seen seen = { .number = 1, .port = { .device = "mlx5_0", .port = 1 } };
	char *text = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&text, &len);

	(void)state;
	assert_non_null(all);
	assert_non_null(to);
	seen.entry = fixture_message(CM_REQ, true, RECORD_ROCE_V2);
	strcpy(seen.entry.program, "a\nfalse: \x1b");
	assert_non_null(conversations_add(all, &seen));
	cause_title(to, conversations_next(all, NULL));
	fclose(to);
	assert_non_null(strstr(text, "a?false: ?"));
	assert_null(strchr(text, '\n'));
	free(text);
	conversations_free(all);
}

/* What is said of a REQ, if other messages follow for so long. */
static bool is_told_of_request(uint64_t after, const char *expected, bool expected_wrong)
{
	struct conversations *all = conversations_new();
	struct capture_seen seen = { .number = 1, .port = { .device = "mlx5_0", .port = 1 } };
	char *text = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&text, &len);
	bool wrong, told;

	assert_non_null(all);
	assert_non_null(to);
	seen.entry = fixture_message(CM_REQ, true, RECORD_ROCE_V2);
	assert_non_null(conversations_add(all, &seen));
	seen.entry = fixture_message(CM_SIDR_REQ, true, RECORD_ROCE_V2);
	seen.entry.time += after;
	seen.number = 2;
	assert_non_null(conversations_add(all, &seen));
	wrong = cause_text(to, conversations_next(all, NULL), "");
	fclose(to);
	told = strstr(text, expected) && wrong == expected_wrong;
	free(text);
	conversations_free(all);
	return told;
}

/* A capture that ends at once says nothing about the answer. */
static void waits_for_an_answer(void **state)
{
	(void)state;
	assert_true(is_told_of_request(SECOND / 10, "the capture ends 0.100 s after it", false));
	assert_true(is_told_of_request(2 * SECOND, "not answered", true));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(removes_private_data),
		cmocka_unit_test(removes_it_of_other_services),
		cmocka_unit_test(removes_what_is_no_header),
		cmocka_unit_test(removes_what_is_no_header_of_a_record),
		cmocka_unit_test(removes_records_of_unknown_types),
		cmocka_unit_test(removes_it_to_the_end_of_a_frame),
		cmocka_unit_test(ends_at_long_records),
		cmocka_unit_test(names_peers),
		cmocka_unit_test(keeps_titles_in_a_line),
		cmocka_unit_test(waits_for_an_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
