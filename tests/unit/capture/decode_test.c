// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of what is said of unanswered messages, and of how much conversations take. */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "capture/decode/cause.h"

enum {
	SESSION = 77, CONN = 5, OTHER_CONN = 9,
	TIMEOUTS_AT = 67, LOCAL_TIMEOUT_AT = 71, LAP_TIMEOUT_AT = 39,	/* bytes of messages */
};

static uint64_t began = 1700000000 * SECOND;

/*
 * struct story - a capture that is made up
 * @at: time since its beginning of the next message
 * @count: messages so far
 * @said: of the first conversation
 */
struct story {
	struct conversations *all;
	uint64_t at;
	unsigned int count;
	unsigned int port;
	char *said;
	bool wrong;
};

static struct story begin(void)
{
	struct story story = { .all = conversations_new() };

	assert_non_null(story.all);
	return story;
}

static struct capture_seen seen_in(struct story *story, const struct record_entry *entry)
{
	struct capture_seen seen = { .number = ++story->count, .entry = *entry };

	strcpy(seen.port.device, "mlx5_0");
	seen.port.port = story->port + 1;
	seen.entry.port = story->port;
	seen.entry.time = began + story->at;
	return seen;
}

static const struct conversation *add(struct story *story, const struct record_entry *entry)
{
	const struct capture_seen seen = seen_in(story, entry);

	return conversations_add(story->all, &seen);
}

/* A message of a connection whose REQ allows 4.096 us * 2^timeout: to the responder and back. */
static void add_message(struct story *story, unsigned int type, bool client, unsigned int timeout)
{
	struct record_entry entry = fixture_message(type, client, RECORD_ROCE_V2);

	if (type == CM_REQ) {
		entry.bytes[TIMEOUTS_AT] = timeout << 3;
		entry.bytes[LOCAL_TIMEOUT_AT] = (timeout + 1) << 3;
	} else if (type == CM_MRA) {
		entry.bytes[32] = 0;
		entry.bytes[33] = timeout << 3;
	} else if (type == CM_LAP) {
		entry.bytes[LAP_TIMEOUT_AT] = timeout << 3;
	}
	assert_non_null(add(story, &entry));
}

/*
 * A frame of the trunk with one record of so many bytes, of which so many were recorded; the frame
 * says that it has so many records.
 */
static void add_frame(struct story *story, unsigned int type, uint32_t conn, unsigned int len,
		      unsigned int recorded, unsigned int records)
{
	struct record_entry entry = fixture_message(CM_REQ, true, RECORD_ROCE_V2);
	struct trunk_record record = {};
	struct capture_seen seen;

	entry.kind = RECORD_TRUNK;
	entry.session = SESSION;
	memset(entry.bytes, 0, sizeof(entry.bytes));
	put_be16(entry.bytes + 18, TRUNK_FRAME_LEN + len);
	entry.bytes[20] = records;
	entry.bytes[TRUNK_FRAME_LEN] = type;
	put_be16(entry.bytes + TRUNK_FRAME_LEN + 2, len);
	put_be32(entry.bytes + TRUNK_FRAME_LEN + 4, conn);
	entry.len = TRUNK_FRAME_LEN + recorded;
	seen = seen_in(story, &entry);
	conversations_add_frame(story->all, &seen);
	while (trunk_next(&seen.entry, &record))
		assert_non_null(conversations_add_record(story->all, &seen, &record));
}

/* Nothing but time passes: a message of another conversation. */
static void pass(struct story *story, uint64_t time)
{
	struct record_entry entry = fixture_message(CM_SIDR_REQ, true, RECORD_ROCE_V2);

	story->at = time;
	assert_non_null(add(story, &entry));
}

/* What is said of a conversation; the story goes on. */
static void tell(struct story *story, const struct conversation *conversation)
{
	size_t len = 0;
	FILE *to;

	free(story->said);
	to = open_memstream(&story->said, &len);
	assert_non_null(to);
	story->wrong = cause_text(to, conversation, "");
	fclose(to);
}

static void assert_told(struct story *story, const char *expected, bool wrong)
{
	tell(story, conversations_next(story->all, NULL));
	if (!strstr(story->said, expected) || story->wrong != wrong)
		fail_msg("it says (wrong: %d) %s", story->wrong, story->said);
}

static void end(struct story *story)
{
	free(story->said);
	conversations_free(story->all);
}

/* The frames themselves say how long the capture is. */
static void waits_for_an_answer_over_a_trunk(void **state)
{
	struct story story = begin();

	(void)state;
	add_frame(&story, TRUNK_REQ, CONN, 64, 64, 1);
	assert_told(&story, "the capture ends 0.000 s after it, without an answer", false);
	story.at = SECOND;
	add_frame(&story, TRUNK_PING, 0, 0, 0, 0);
	assert_told(&story, "the capture ends 1.000 s after it, without an answer", false);
	story.at = 5 * SECOND;
	add_frame(&story, TRUNK_REQ, OTHER_CONN, 64, 64, 1);
	assert_told(&story, "not answered in the 5.0 s that are recorded. A trunk loses no message",
		    true);
	end(&story);
}

/* The REQ says how long the answer may take. */
static void waits_as_long_as_the_request_allows(void **state)
{
	static const unsigned int timeouts[] = { 20, 18, 10, 22 };
	static const uint64_t tenths[] = { 43, 11, 10, 172 };

	(void)state;
	for (int i = 0; i < 4; i++) {
		struct story story = begin();

		add_message(&story, CM_REQ, true, timeouts[i]);
		pass(&story, (tenths[i] - 1) * SECOND / 10);
		assert_told(&story, "without an answer", false);
		pass(&story, tenths[i] * SECOND / 10);
		assert_told(&story, "was sent once and not answered", true);
		end(&story);
	}
}

/* A DREQ has the timeouts of its REQ, by direction; if that is not there, those of librdmacm. */
static void waits_for_the_answer_of_a_disconnect(void **state)
{
	static const struct {
		bool request;
		bool client;
		uint64_t longest;
	} cases[] = {
		{ true, true, 17 * SECOND },
		{ true, false, 34 * SECOND },
		{ false, true, 4 * SECOND },
	};

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct story story = begin();

		if (cases[i].request) {
			add_message(&story, CM_REQ, true, 22);
			add_message(&story, CM_REP, false, 0);
			add_message(&story, CM_RTU, true, 0);
		}
		add_message(&story, CM_DREQ, cases[i].client, 0);
		pass(&story, cases[i].longest);
		assert_told(&story, "without an answer", false);
		pass(&story, cases[i].longest + SECOND);
		assert_told(&story, "was sent once and not answered", true);
		end(&story);
	}
}

/* The last MRA says how long its program may take. */
static void waits_as_long_as_an_mra_says(void **state)
{
	struct story story = begin();

	(void)state;
	add_message(&story, CM_REQ, true, 14);
	story.at = SECOND;
	add_message(&story, CM_MRA, false, 14);
	story.at = 2 * SECOND;
	add_message(&story, CM_MRA, false, 22);
	pass(&story, 19 * SECOND);
	assert_told(&story, "asked in packet 3 to wait up to 17.2 s (MRA); the capture ends "
		    "17.000 s after that, without an answer", false);
	pass(&story, 20 * SECOND);
	assert_told(&story, "(MRA), and did not answer in the 18.0 s that are recorded", true);
	end(&story);
}

/* A LAP has a timeout of its own. */
static void waits_as_long_as_a_lap_allows(void **state)
{
	struct story story = begin();

	(void)state;
	add_message(&story, CM_REQ, true, 14);
	add_message(&story, CM_REP, false, 0);
	add_message(&story, CM_RTU, true, 0);
	add_message(&story, CM_LAP, true, 20);
	pass(&story, 4 * SECOND);
	assert_told(&story, "LAP in packet 4 was sent once; the capture ends 4.000 s after it",
		    false);
	pass(&story, 5 * SECOND);
	assert_told(&story, "LAP in packet 4 was sent once and not answered", true);
	end(&story);
}

static void waits_a_second_for_sidr(void **state)
{
	struct story story = begin();

	(void)state;
	pass(&story, 0);
	story.at = 9 * SECOND / 10;
	add_message(&story, CM_REQ, true, 20);
	assert_told(&story, "the capture ends 0.900 s after it", false);
	story.at = 11 * SECOND / 10;
	add_message(&story, CM_REQ, true, 20);
	assert_told(&story, "was sent once and not answered", true);
	end(&story);
}

/* What the recorder lost may be the answer: only at a port of the conversation. */
static void knows_what_was_not_recorded(void **state)
{
	struct record_port ports[] = {
		{ .device = "mlx5_0", .port = 1 },
		{ .device = "mlx\n_0", .port = 2, .dropped = 500 },
		{ .device = "mlx5_0", .port = 3 },
	};
	const struct capture_total total = { .n_ports = 3, .ports = ports };

	(void)state;
	for (unsigned int port = 0; port < 3; port++) {
		struct story story = begin();

		story.port = port;
		add_message(&story, CM_REQ, true, 14);
		story.port = 0;
		pass(&story, 2 * SECOND);
		assert_told(&story, "and not answered: it or the answer was lost", true);
		conversations_end(story.all, &total);
		if (port == 1)
			assert_told(&story, "was sent once; the capture has no answer, but it is "
				    "incomplete: 500 messages of mlx?_0/2 were not recorded.\n",
				    false);
		else
			assert_told(&story, "and not answered: it or the answer was lost", true);
		end(&story);
	}
}

/* A host may have more ports than a word has bits. */
static void knows_the_drops_of_a_late_port(void **state)
{
	struct record_port ports[100] = { 0 };
	const struct capture_total total = { .n_ports = 100, .ports = ports };

	(void)state;
	strcpy(ports[99].device, "vf");
	ports[99].dropped = 7;
	for (unsigned int port = 35; port < 100; port += 64) {
		struct story story = begin();

		story.port = port;
		add_message(&story, CM_REQ, true, 14);
		pass(&story, 2 * SECOND);
		conversations_end(story.all, &total);
		assert_told(&story, port == 35 ? "it or the answer was lost" :
			    "7 messages of vf were not recorded", port == 35);
		end(&story);
	}
}

/* A connection at two ports of this host has drops at either. */
static void knows_the_drops_of_both_ends(void **state)
{
	struct record_port ports[] = {
		{ .device = "mlx5_0", .port = 1, .dropped = 3 },
		{ .device = "mlx5_0", .port = 2 },
	};
	const struct capture_total total = { .n_ports = 2, .ports = ports };
	struct story story = begin();

	(void)state;
	add_message(&story, CM_REQ, true, 14);
	story.port = 1;
	add_message(&story, CM_REQ, true, 14);
	pass(&story, 2 * SECOND);
	conversations_end(story.all, &total);
	assert_told(&story, "3 messages of mlx5_0/1 were not recorded", false);
	end(&story);
}

/* A frame that is cut may have had the answer, if it came after the request in the same session. */
static void knows_which_frames_are_cut(void **state)
{
	struct story story = begin();

	(void)state;
	/* Cut before the request. */
	add_frame(&story, TRUNK_REP, OTHER_CONN, 40, 40, 2);
	add_frame(&story, TRUNK_REQ, CONN, 64, 64, 1);
	story.at = 5 * SECOND;
	/* Only the private data are cut. */
	add_frame(&story, TRUNK_REQ, OTHER_CONN, 100, 80, 1);
	tell(&story, conversations_next(story.all, conversations_next(story.all, NULL)));
	assert_true(story.wrong);
	assert_non_null(strstr(story.said, "not answered in the 5.0 s"));
	/* A further record is missing; the record is shorter than its type; the head is. */
	for (int i = 0; i < 3; i++) {
		char expected[64];

		snprintf(expected, sizeof(expected), "the frame in packet %u is cut",
			 story.count + 1);
		if (i == 2)
			add_frame(&story, 0, 0, 0, -4, 0);
		else
			add_frame(&story, TRUNK_REJ, OTHER_CONN, 16, i ? 8 : 16, i ? 1 : 2);
		tell(&story, conversations_next(story.all, conversations_next(story.all, NULL)));
		assert_false(story.wrong);
		assert_non_null(strstr(story.said, expected));
	}
	end(&story);
}

/* A REQ of this ID and transaction, of a client with one of 16 million addresses. */
static struct record_entry request(uint32_t id, uint32_t address, uint64_t transaction)
{
	struct record_entry entry = fixture_message(CM_REQ, true, RECORD_ROCE_V2);

	put_be32(entry.bytes + 24, id);
	put_be32(entry.sgid + 12, 10 << 24 | address);
	put_be64(entry.bytes + 8, transaction);
	return entry;
}

/* Seconds of the processor for so many REQs; each begins a conversation. */
static double time_of_requests(unsigned int count, bool one_id, bool one_address)
{
	struct story story = begin();
	clock_t before = clock();
	double took;

	for (unsigned int i = 0; i < count; i++) {
		const struct record_entry entry = request(one_id ? 7 : i + 1,
							  one_address ? 0 : i, i);

		assert_int_equal(add(&story, &entry)->number, i + 1);
	}
	took = (double)(clock() - before) / CLOCKS_PER_SEC;
	assert_int_equal(conversations_count(story.all), count);
	end(&story);
	return took;
}

/* Four times as many REQs take 16 times as long if each is compared with all before it. */
static void takes_linear_time(void **state)
{
	(void)state;
	for (unsigned int kind = 0; kind < 3; kind++) {
		bool one_id = kind < 2, one_address = !kind;
		double few = time_of_requests(5000, one_id, one_address);
		double many = time_of_requests(20000, one_id, one_address);

		if (many > 8 * few + 0.1)
			fail_msg("5000 took %.2f s, 20000 took %.2f s", few, many);
	}
}

static void follow(struct story *story, const struct record_entry *entry)
{
	assert_non_null(add(story, entry));
	conversations_forget(story->all);
}

/* Messages that are printed while they pass take bounded memory, whoever sends them. */
static void forgets_what_is_too_much(void **state)
{
	struct story story = begin();
	const struct conversation *first;
	struct record_entry entry;

	(void)state;
	for (unsigned int i = 0; i < 3 * CONVERSATIONS_KEPT; i++) {
		entry = request(i % 5 ? i : 7, i % 3, i);
		follow(&story, &entry);
		assert_in_range(conversations_count(story.all), 1, CONVERSATIONS_KEPT);
	}
	assert_int_equal(conversations_count(story.all), CONVERSATIONS_KEPT);
	/* The newest are there. */
	assert_int_equal(conversations_next(story.all, NULL)->number, 2 * CONVERSATIONS_KEPT + 1);
	for (unsigned int i = 0; i < 3 * MESSAGES_KEPT; i++) {
		const struct conversation *same = add(&story, &entry);

		assert_int_equal(same->number, 3 * CONVERSATIONS_KEPT);
		assert_true(same->messages[same->count - 1].again);
		assert_in_range(same->count, 2, MESSAGES_KEPT + 1);
		conversations_forget(story.all);
		assert_in_range(same->count, 1, MESSAGES_KEPT);
	}
	/* Five minutes later one that had a message in the meantime is left. */
	first = conversations_next(story.all, NULL);
	entry = request(first->ends[0].id, (2 * CONVERSATIONS_KEPT) % 3, first->transaction);
	story.at = 200 * SECOND;
	follow(&story, &entry);
	assert_int_equal(conversations_count(story.all), CONVERSATIONS_KEPT);
	story.at = 301 * SECOND;
	follow(&story, &entry);
	assert_int_equal(conversations_count(story.all), 1);
	end(&story);
}

/* What has ended is forgotten sooner, and before all others if there are too many. */
static void forgets_what_has_ended(void **state)
{
	struct record_entry reject = fixture_message(CM_REJ, false, RECORD_ROCE_V2);
	struct record_entry entry = fixture_message(CM_REQ, true, RECORD_ROCE_V2);
	struct story story = begin();

	(void)state;
	follow(&story, &entry);
	follow(&story, &reject);
	assert_int_equal(conversations_count(story.all), 1);
	story.at = 9 * SECOND;
	follow(&story, &reject);
	assert_int_equal(conversations_count(story.all), 1);
	story.at = 20 * SECOND;
	entry = request(0x1000, 0, 0x1000);
	follow(&story, &entry);
	assert_int_equal(conversations_count(story.all), 1);
	for (uint32_t id = 0x1001; id < 0x1000 + CONVERSATIONS_KEPT; id++) {
		entry = request(id, 0, id);
		follow(&story, &entry);
	}
	assert_int_equal(conversations_count(story.all), CONVERSATIONS_KEPT);
	reject = fixture_message(CM_REJ, false, RECORD_ROCE_V2);
	put_be32(reject.sgid + 12, 10 << 24 | 1);
	follow(&story, &reject);
	assert_int_equal(conversations_count(story.all), CONVERSATIONS_KEPT);
	assert_int_equal(conversations_next(story.all, NULL)->number, 2);
	end(&story);
}

/* If the clock is set back, what was recorded before is not older for it, and grouped as before. */
static void follows_a_clock_that_is_set_back(void **state)
{
	struct record_entry entry = fixture_message(CM_REQ, true, RECORD_ROCE_V2);
	struct story story = begin();

	(void)state;
	story.at = 3600 * SECOND;
	follow(&story, &entry);
	story.at = 0;
	entry = fixture_message(CM_REP, false, RECORD_ROCE_V2);
	follow(&story, &entry);
	entry = fixture_message(CM_RTU, true, RECORD_ROCE_V2);
	assert_int_equal(add(&story, &entry)->number, 1);
	assert_int_equal(conversations_count(story.all), 1);
	end(&story);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waits_for_an_answer_over_a_trunk),
		cmocka_unit_test(waits_as_long_as_the_request_allows),
		cmocka_unit_test(waits_for_the_answer_of_a_disconnect),
		cmocka_unit_test(waits_as_long_as_an_mra_says),
		cmocka_unit_test(waits_as_long_as_a_lap_allows),
		cmocka_unit_test(waits_a_second_for_sidr),
		cmocka_unit_test(knows_what_was_not_recorded),
		cmocka_unit_test(knows_the_drops_of_both_ends),
		cmocka_unit_test(knows_the_drops_of_a_late_port),
		cmocka_unit_test(knows_which_frames_are_cut),
		cmocka_unit_test(takes_linear_time),
		cmocka_unit_test(forgets_what_is_too_much),
		cmocka_unit_test(forgets_what_has_ended),
		cmocka_unit_test(follows_a_clock_that_is_set_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
