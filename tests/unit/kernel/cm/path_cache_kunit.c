// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of kernel/cm/path_cache.c: which question an answer is for, how long it counts, how
 * many are kept, and what ids do about a path over which a peer does not answer.
 *
 * Locking: none.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/string.h>

#include "cm/cm.h"
#include "lib/testing.h"

#define USER	70001
#define DEVICE	7
#define PORT	1
#define EPOCH	3
#define AGE	60

static struct sa_path_rec question_to(u8 peer)
{
	struct sa_path_rec rec = {
		.service_id = cpu_to_be64(0x1061d2f),
		.pkey = cpu_to_be16(0x8001),
		.qos_class = cpu_to_be16(4),
		.traffic_class = 5,
	};

	rec.sgid.raw[15] = 1;
	rec.dgid.raw[15] = peer;
	return rec;
}

static struct rca_path_key key_of(const struct sa_path_rec *question)
{
	struct rca_path_key key;

	rca_path_key(&key, USER, DEVICE, PORT, question, IB_SA_PATH_REC_DGID);
	return key;
}

static struct rca_path_key key_to(u8 peer)
{
	const struct sa_path_rec question = question_to(peer);

	return key_of(&question);
}

static void add(u8 peer, u32 epoch, u8 sl)
{
	const struct rca_path_key key = key_to(peer);
	const struct sa_path_rec path = { .sl = sl };

	rca_path_cache_add(&key, epoch, &path);
}

/* The version of the path to a peer, or 0. */
static u32 find(u8 peer, u32 epoch, u32 age)
{
	const struct rca_path_key key = key_to(peer);
	struct sa_path_rec path;

	return rca_path_cache_find(&key, epoch, age, &path);
}

static int clear(struct kunit *test)
{
	rca_lru_clear(&rca_paths);
	return 0;
}

static void clear_again(struct kunit *test)
{
	rca_lru_clear(&rca_paths);
}

static void answer_is_found_again(struct kunit *test)
{
	const struct rca_path_key key = key_to(2);
	struct sa_path_rec path = {};
	u32 version;

	KUNIT_EXPECT_EQ(test, rca_path_cache_find(&key, EPOCH, AGE, &path), 0u);
	add(2, EPOCH, 11);
	version = rca_path_cache_find(&key, EPOCH, AGE, &path);
	KUNIT_EXPECT_NE(test, version, 0u);
	KUNIT_EXPECT_EQ(test, (int)path.sl, 11);
	add(2, EPOCH, 12);
	KUNIT_EXPECT_NE(test, rca_path_cache_find(&key, EPOCH, AGE, &path), version);
	KUNIT_EXPECT_EQ(test, (int)path.sl, 12);
}

static void answer_is_for_the_whole_question(struct kunit *test)
{
	struct sa_path_rec question = question_to(2), path;
	struct rca_path_key others[8];
	unsigned int i;

	add(2, EPOCH, 11);
	for (i = 0; i < ARRAY_SIZE(others); i++)
		others[i] = key_to(2);
	others[0].device++;
	others[1].port_num++;
	others[2].mask++;
	question.sgid.raw[0] = 1;
	others[3] = key_of(&question);
	question = question_to(2);
	question.service_id++;
	others[4] = key_of(&question);
	question = question_to(2);
	question.pkey++;
	others[5] = key_of(&question);
	question = question_to(2);
	question.qos_class++;
	others[6] = key_of(&question);
	question = question_to(2);
	question.traffic_class++;
	others[7] = key_of(&question);
	for (i = 0; i < ARRAY_SIZE(others); i++)
		KUNIT_EXPECT_EQ_MSG(test, rca_path_cache_find(&others[i], EPOCH, AGE, &path), 0u,
				    "question %u", i);
	KUNIT_EXPECT_EQ(test, find(3, EPOCH, AGE), 0u);
	KUNIT_EXPECT_NE(test, find(2, EPOCH, AGE), 0u);
}

static void answer_is_for_the_user_who_asked(struct kunit *test)
{
	const struct sa_path_rec question = question_to(2);
	const struct sa_path_rec own = { .sl = 12 };
	struct rca_path_key key;
	struct sa_path_rec path;

	add(2, EPOCH, 11);
	rca_path_key(&key, USER + 1, DEVICE, PORT, &question, IB_SA_PATH_REC_DGID);
	KUNIT_EXPECT_EQ(test, rca_path_cache_find(&key, EPOCH, AGE, &path), 0u);
	rca_path_cache_add(&key, EPOCH, &own);
	KUNIT_EXPECT_NE(test, rca_path_cache_find(&key, EPOCH, AGE, &path), 0u);
	KUNIT_EXPECT_EQ(test, (int)path.sl, 12);
	key = key_of(&question);
	KUNIT_EXPECT_NE(test, rca_path_cache_find(&key, EPOCH, AGE, &path), 0u);
	KUNIT_EXPECT_EQ(test, (int)path.sl, 11);
}

static void answer_counts_in_the_epoch_of_its_question(struct kunit *test)
{
	add(2, EPOCH, 11);
	KUNIT_EXPECT_EQ(test, find(2, EPOCH + 1, AGE), 0u);
	KUNIT_EXPECT_EQ(test, find(2, EPOCH - 1, AGE), 0u);
	/* Asked before an event, answered after it. */
	add(2, EPOCH, 12);
	KUNIT_EXPECT_EQ(test, find(2, EPOCH + 1, AGE), 0u);
}

static void answer_is_too_old_after_a_while(struct kunit *test)
{
	add(2, EPOCH, 11);
	KUNIT_EXPECT_EQ(test, find(2, EPOCH, 0), 0u);
	KUNIT_EXPECT_NE(test, find(2, EPOCH, 1), 0u);
	msleep(1100);
	KUNIT_EXPECT_EQ(test, find(2, EPOCH, 1), 0u);
	KUNIT_EXPECT_NE(test, find(2, EPOCH, AGE), 0u);
}

/* Answers that are kept. */
#define MOST	16384

static void answers_that_are_not_used_go_first(struct kunit *test)
{
	const struct sa_path_rec path = {};
	struct rca_path_key key = key_to(1);
	struct sa_path_rec found;

	for (key.device = 1; key.device <= MOST; key.device++)
		rca_path_cache_add(&key, EPOCH, &path);
	for (key.device = 1; key.device <= 3; key.device += 2)
		KUNIT_EXPECT_NE(test, rca_path_cache_find(&key, EPOCH, AGE, &found), 0u);
	for (key.device = MOST + 1; key.device <= MOST + 2; key.device++)
		rca_path_cache_add(&key, EPOCH, &path);
	for (key.device = 1; key.device <= MOST + 2; key.device++)
		KUNIT_EXPECT_EQ_MSG(test, !!rca_path_cache_find(&key, EPOCH, AGE, &found),
				    key.device != 2 && key.device != 4, "device %u", key.device);
}

static void one_of_many_asks_again(struct kunit *test)
{
	const struct rca_path_key key = key_to(2);
	u32 first, mine, yours;
	struct sa_path_rec path;

	add(2, EPOCH, 11);
	first = find(2, EPOCH, AGE);
	mine = first;
	yours = first;
	KUNIT_EXPECT_EQ(test, (int)rca_path_cache_doubt(&key, EPOCH, &mine, &path),
			(int)RCA_PATH_ASK);
	KUNIT_EXPECT_EQ(test, (int)rca_path_cache_doubt(&key, EPOCH, &yours, &path),
			(int)RCA_PATH_ASKED);
	/* No new id gets a path that is in doubt. */
	KUNIT_EXPECT_EQ(test, find(2, EPOCH, AGE), 0u);
	add(2, EPOCH, 12);
	KUNIT_EXPECT_EQ(test, (int)rca_path_cache_doubt(&key, EPOCH, &yours, &path),
			(int)RCA_PATH_NEWER);
	KUNIT_EXPECT_EQ(test, (int)path.sl, 12);
	KUNIT_EXPECT_EQ(test, yours, find(2, EPOCH, AGE));
}

/* An id that is destroyed does not ask; others that use the path must not wait for it. */
static void path_that_is_given_up_is_asked_for(struct kunit *test)
{
	const struct rca_path_key key = key_to(2);
	struct sa_path_rec path;
	u32 version, old;

	add(2, EPOCH, 11);
	old = find(2, EPOCH, AGE);
	version = old;
	rca_path_cache_forget(&key, old);
	KUNIT_EXPECT_EQ(test, find(2, EPOCH, AGE), 0u);
	KUNIT_EXPECT_EQ(test, (int)rca_path_cache_doubt(&key, EPOCH, &version, &path),
			(int)RCA_PATH_ASK);
	add(2, EPOCH, 12);
	rca_path_cache_forget(&key, old);
	KUNIT_EXPECT_NE(test, find(2, EPOCH, AGE), 0u);
	KUNIT_EXPECT_EQ(test, (int)rca_path_cache_doubt(&key, EPOCH, &version, &path),
			(int)RCA_PATH_NEWER);
}

static void path_that_is_gone_is_asked_for(struct kunit *test)
{
	const struct rca_path_key key = key_to(2);
	struct sa_path_rec path;
	u32 version = 1;

	KUNIT_EXPECT_EQ(test, (int)rca_path_cache_doubt(&key, EPOCH, &version, &path),
			(int)RCA_PATH_ASK);
	add(2, EPOCH, 11);
	KUNIT_EXPECT_EQ(test, (int)rca_path_cache_doubt(&key, EPOCH + 1, &version, &path),
			(int)RCA_PATH_ASK);
}

static struct kunit_case path_cache_cases[] = {
	KUNIT_CASE(answer_is_found_again),
	KUNIT_CASE(answer_is_for_the_whole_question),
	KUNIT_CASE(answer_is_for_the_user_who_asked),
	KUNIT_CASE(answer_counts_in_the_epoch_of_its_question),
	KUNIT_CASE(answer_is_too_old_after_a_while),
	KUNIT_CASE(answers_that_are_not_used_go_first),
	KUNIT_CASE(one_of_many_asks_again),
	KUNIT_CASE(path_that_is_given_up_is_asked_for),
	KUNIT_CASE(path_that_is_gone_is_asked_for),
	{}
};

static struct kunit_suite path_cache_suite = {
	.name = "rdma_cm_alt_path_cache",
	.init = clear,
	.exit = clear_again,
	.test_cases = path_cache_cases,
};

kunit_test_suite(path_cache_suite);
