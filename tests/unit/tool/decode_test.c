// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of how much time and memory conversations take. */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tool/decode/conversation.h"

static uint64_t began = 1700000000 * SECOND;

/*
 * struct story - a capture that is made up
 * @at: time since its beginning of the next message
 * @count: messages so far
 */
struct story {
	struct conversations *all;
	uint64_t at;
	unsigned int count;
	unsigned int port;
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

static void end(struct story *story)
{
	conversations_free(story->all);
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
static double time_of_requests(bool one_id, bool one_address)
{
	enum { REQUESTS = 200000 };
	struct story story = begin();
	clock_t before = clock();
	double took;

	for (unsigned int i = 0; i < REQUESTS; i++) {
		const struct record_entry entry = request(one_id ? 7 : i + 1,
							  one_address ? 0 : i, i);

		assert_int_equal(add(&story, &entry)->number, i + 1);
	}
	took = (double)(clock() - before) / CLOCKS_PER_SEC;
	assert_int_equal(conversations_count(story.all), REQUESTS);
	end(&story);
	return took;
}

/* 200,000 REQs take 20,000,000,000 comparisons if each is compared with all before it. */
static void takes_linear_time(void **state)
{
	(void)state;
	assert_true(time_of_requests(true, true) < 5);
	assert_true(time_of_requests(true, false) < 5);
	assert_true(time_of_requests(false, false) < 5);
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
	for (uint32_t id = 0x1000; id < 0x1000 + CONVERSATIONS_KEPT; id++) {
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
		cmocka_unit_test(takes_linear_time),
		cmocka_unit_test(forgets_what_is_too_much),
		cmocka_unit_test(forgets_what_has_ended),
		cmocka_unit_test(follows_a_clock_that_is_set_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
