// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of kernel/trunk/credits.c: each rule by itself, and two ends that send whenever they may.
 *
 * Locking: none.
 */
#include <kunit/test.h>
#include <linux/errno.h>
#include <linux/prandom.h>
#include <linux/string.h>

#include "trunk/credits.h"
#include "trunk/proto.h"

#define COOKIE_A	0x0123456789abcdefULL
#define COOKIE_B	0xfedcba9876543210ULL
#define RECEIVES	RCA_LINK_RECEIVES

/**
 * struct side - one end of the model
 * @credits: its credits
 * @wants: frames with records that it has to send
 * @buffers: receive buffers that are posted
 * @handled: receive buffers that are not posted again yet
 * @way: frames on the way to this end, from @first
 * @first: index of the first one
 * @count: how many there are
 */
struct side {
	struct rca_credits credits;
	unsigned int wants;
	unsigned int buffers;
	unsigned int handled;
	struct rca_frame_hdr way[RECEIVES];
	unsigned int first;
	unsigned int count;
};

/**
 * struct model - two ends
 * @rnd: random numbers, the same in each run
 * @side: the ends
 * @sends: frames that were sent
 * @asks: some frames ask for another one
 */
struct model {
	struct rnd_state rnd;
	struct side side[2];
	unsigned int sends;
	bool asks;
};

/* Counters of a new link, and those before a wrap-around. */
static const u16 starts[] = { 0, U16_MAX - 30, S16_MAX - 20, U16_MAX - 16 };

static void start_desc(const u16 *start, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "after %u frames", *start);
}

KUNIT_ARRAY_PARAM(start, starts, start_desc);

static void begin(struct model *m, u16 start)
{
	static const u64 cookies[] = { COOKIE_A, COOKIE_B };
	unsigned int i;

	for (i = 0; i < 2; i++) {
		struct side *side = &m->side[i];

		*side = (struct side) { .buffers = RECEIVES };
		rca_credits_init(&side->credits, cookies[i], cookies[!i]);
		side->credits.used += start;
		side->credits.granted += start;
		side->credits.posted += start;
		side->credits.told_posted += start;
	}
}

static struct model *new_model(struct kunit *test)
{
	struct model *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, m);
	prandom_seed_state(&m->rnd, 1);
	begin(m, *(const u16 *)test->param_value);
	return m;
}

/* Sends a frame with records, or else one that is due. The peer must have a buffer for it. */
static bool send(struct kunit *test, struct model *m, struct side *side)
{
	struct side *peer = &m->side[side == &m->side[0]];
	struct rca_frame_hdr *hdr = &peer->way[(peer->first + peer->count) % RECEIVES];

	if (!(side->wants ? rca_credits_may_send(&side->credits) :
			    rca_credits_ack_due(&side->credits)))
		return false;
	KUNIT_ASSERT_LT(test, peer->count, peer->buffers);
	*hdr = (struct rca_frame_hdr) { .records = side->wants ? 1 : 0 };
	rca_credits_send(&side->credits, hdr);
	side->wants -= hdr->records;
	peer->count++;
	m->sends++;
	return true;
}

static bool deliver(struct kunit *test, struct model *m, struct side *side)
{
	const struct rca_frame_hdr *hdr = &side->way[side->first];

	if (!side->count)
		return false;
	KUNIT_ASSERT_EQ(test, rca_credits_receive(&side->credits, hdr), 0);
	if (m->asks && hdr->records && !(prandom_u32_state(&m->rnd) % 7))
		rca_credits_ask_ack(&side->credits);
	side->first = (side->first + 1) % RECEIVES;
	side->count--;
	side->buffers--;
	side->handled++;
	return true;
}

static bool post(struct kunit *test, struct model *m, struct side *side)
{
	unsigned int count = side->handled;

	if (!count)
		return false;
	count = 1 + prandom_u32_state(&m->rnd) % count;
	rca_credits_posted(&side->credits, count);
	side->handled -= count;
	side->buffers += count;
	return true;
}

typedef bool (*step)(struct kunit *test, struct model *m, struct side *side);

static const step steps[] = { send, deliver, post };

/* Random steps. Each has a weight of its own on each end, and some have none. */
static void run(struct kunit *test, struct model *m, unsigned int count)
{
	unsigned int weights[2][ARRAY_SIZE(steps)];
	unsigned int i, side, n;

	for (side = 0; side < 2; side++) {
		m->side[side].wants += prandom_u32_state(&m->rnd) % 100;
		for (n = 0; n < ARRAY_SIZE(steps); n++)
			weights[side][n] = prandom_u32_state(&m->rnd) % 4;
	}
	for (i = 0; i < count; i++) {
		u32 random = prandom_u32_state(&m->rnd);

		side = random & 1;
		n = (random >> 1) % ARRAY_SIZE(steps);
		if ((random >> 16) % 3 < weights[side][n])
			steps[n](test, m, &m->side[side]);
	}
}

/* Lets both ends go on until neither has a step left: all is sent, and the exchange ends. */
static void come_to_rest(struct kunit *test, struct model *m)
{
	unsigned int i, n, most = m->side[0].wants + m->side[1].wants, before = m->sends;
	bool again;

	do {
		again = false;
		for (i = 0; i < 2; i++) {
			for (n = 0; n < ARRAY_SIZE(steps); n++)
				again |= steps[n](test, m, &m->side[i]);
		}
		KUNIT_ASSERT_LT_MSG(test, m->sends - before, 2 * most + 40, "it does not end");
	} while (again);
	for (i = 0; i < 2; i++) {
		KUNIT_ASSERT_EQ(test, m->side[i].wants, 0u);
		KUNIT_ASSERT_FALSE(test, m->side[i].credits.ack_asked);
	}
}

static void no_end_waits_for_the_other(struct kunit *test)
{
	struct model *m = new_model(test);
	unsigned int round, i;

	for (round = 0; round < 400; round++) {
		m->asks = round % 8 >= 4;
		begin(m, *(const u16 *)test->param_value);
		for (i = 0; i < 5; i++) {
			run(test, m, prandom_u32_state(&m->rnd) % 300);
			come_to_rest(test, m);
		}
	}
}

/* Each end sends all that it may before anything arrives, again and again. */
static void bursts_of_both_ends(struct kunit *test)
{
	struct model *m = new_model(test);
	unsigned int round, i;

	for (round = 0; round < 2000; round++) {
		m->asks = round & 2;
		for (i = 0; i < 2; i++) {
			m->side[i].wants += 20;
			while (send(test, m, &m->side[i]))
				;
		}
		for (i = 0; i < 2; i++) {
			while (deliver(test, m, &m->side[i]))
				;
		}
		/* Buffers are posted by one end at a time. */
		while (post(test, m, &m->side[round & 1]))
			;
	}
	KUNIT_EXPECT_GT(test, m->sends, 8000U);
	come_to_rest(test, m);
}

/* One end is silent but for what it must send: a frame for RECEIVES / 2 frames. */
static void stream_needs_few_answers(struct kunit *test)
{
	struct model *m = new_model(test);
	struct side *a = &m->side[0], *b = &m->side[1];
	unsigned int i;

	for (i = 0; i < 10000; i++) {
		a->wants = 1;
		KUNIT_ASSERT_TRUE(test, send(test, m, a));
		deliver(test, m, b);
		while (post(test, m, b))
			;
		while (send(test, m, b))
			;
		while (deliver(test, m, a))
			;
		while (post(test, m, a))
			;
	}
	KUNIT_EXPECT_LE(test, m->sends, 10000U + 10000 / (RECEIVES / 2) + 1);
}

static void last_credit_reports_buffers(struct kunit *test)
{
	struct rca_credits credits;
	struct rca_frame_hdr hdr;
	unsigned int i;

	rca_credits_init(&credits, COOKIE_A, COOKIE_B);
	for (i = 0; rca_credits_may_send(&credits); i++)
		rca_credits_send(&credits, &hdr);
	KUNIT_EXPECT_EQ(test, i, RECEIVES - 1U);
	KUNIT_EXPECT_EQ(test, hdr.cookie, COOKIE_B);
	rca_credits_ask_ack(&credits);
	KUNIT_EXPECT_FALSE(test, rca_credits_ack_due(&credits));
	rca_credits_posted(&credits, RECEIVES / 2 - 1);
	KUNIT_EXPECT_FALSE(test, rca_credits_ack_due(&credits));
	rca_credits_posted(&credits, 1);
	KUNIT_EXPECT_TRUE(test, rca_credits_ack_due(&credits));
	rca_credits_send(&credits, &hdr);
	KUNIT_EXPECT_EQ(test, (int)hdr.credits, RECEIVES + RECEIVES / 2);
	KUNIT_EXPECT_FALSE(test, rca_credits_may_send(&credits));
}

static void peer_requests_a_frame(struct kunit *test)
{
	struct rca_credits credits;
	struct rca_frame_hdr hdr;

	rca_credits_init(&credits, COOKIE_A, COOKIE_B);
	KUNIT_EXPECT_FALSE(test, rca_credits_ack_due(&credits));
	rca_credits_ask_ack(&credits);
	KUNIT_EXPECT_TRUE(test, rca_credits_ack_due(&credits));
	rca_credits_send(&credits, &hdr);
	KUNIT_EXPECT_FALSE(test, rca_credits_ack_due(&credits));
}

/* A frame of an end that has sent 3 frames, and got credits for 16. */
static const struct lie {
	const char *name;
	u64 cookie;
	u16 credits;
	int want;
} lies[] = {
	{ "no lie", COOKIE_A, RECEIVES, 0 },
	{ "as many as may be", COOKIE_A, RECEIVES + 3, 0 },
	{ "no cookie", 0, RECEIVES, -EBADMSG },
	{ "the cookie of the peer", COOKIE_B, RECEIVES, -EBADMSG },
	{ "takes back a credit", COOKIE_A, RECEIVES - 1, -EPROTO },
	{ "grants too many", COOKIE_A, RECEIVES + 4, -EPROTO },
	{ "grants far too many", COOKIE_A, RECEIVES + 0x8000, -EPROTO },
};

static void lie_desc(const struct lie *lie, char *desc)
{
	strscpy(desc, lie->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(lie, lies, lie_desc);

static void lie_changes_nothing(struct kunit *test)
{
	const struct lie *lie = test->param_value;
	struct rca_frame_hdr hdr = { .cookie = lie->cookie, .credits = lie->credits };
	struct rca_credits credits, before;
	struct rca_frame_hdr sent;
	int i;

	rca_credits_init(&credits, COOKIE_A, COOKIE_B);
	for (i = 0; i < 3; i++)
		rca_credits_send(&credits, &sent);
	before = credits;
	KUNIT_EXPECT_EQ(test, rca_credits_receive(&credits, &hdr), lie->want);
	if (lie->want)
		KUNIT_EXPECT_EQ(test, memcmp(&credits, &before, sizeof(before)), 0);
	else
		KUNIT_EXPECT_EQ(test, credits.granted, lie->credits);
}

static struct kunit_case credits_cases[] = {
	KUNIT_CASE_PARAM(no_end_waits_for_the_other, start_gen_params),
	KUNIT_CASE_PARAM(bursts_of_both_ends, start_gen_params),
	KUNIT_CASE_PARAM(stream_needs_few_answers, start_gen_params),
	KUNIT_CASE(last_credit_reports_buffers),
	KUNIT_CASE(peer_requests_a_frame),
	KUNIT_CASE_PARAM(lie_changes_nothing, lie_gen_params),
	{}
};

static struct kunit_suite credits_suite = {
	.name = "rdma_cm_alt_trunk_credits",
	.test_cases = credits_cases,
};

kunit_test_suite(credits_suite);
