// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of kernel/trunk/session.c: each rule by itself, and two sessions over a QP that is lost at
 * any moment.
 */
#include <kunit/test.h>
#include <linux/errno.h>
#include <linux/prandom.h>
#include <linux/string.h>

#include "trunk/proto.h"
#include "trunk/session.h"

#define COOKIE_A	0x0123456789abcdefULL
#define COOKIE_B	0xfedcba9876543210ULL
#define FRAMES		RCA_SESSION_FRAMES
#define RECEIVES	RCA_SESSION_RECEIVES

/**
 * struct side - one side of the model
 * @session: its session
 * @kept: contents of the frames that are kept, by number
 * @added: contents of the next frame that is added: all are different
 * @expected: contents of the next frame that the peer sends
 * @buffers: receive buffers that are posted
 * @handled: receive buffers that are not posted again yet
 * @way: frames on the way to this side, from @first
 * @first: index of the first one
 * @count: how many there are
 */
struct side {
	struct rca_session session;
	u32 kept[FRAMES];
	u32 added;
	u32 expected;
	unsigned int buffers;
	unsigned int handled;
	struct {
		struct rca_frame_hdr hdr;
		u32 contents;
	} way[RECEIVES];
	unsigned int first;
	unsigned int count;
};

/**
 * struct model - two sides
 * @rnd: random numbers, the same in each run
 * @side: the sides
 * @sends: frames that were sent, acknowledgements included
 * @qps: QPs so far, each of which has cookies of its own
 * @asks: some frames ask for an acknowledgement
 */
struct model {
	struct rnd_state rnd;
	struct side side[2];
	unsigned int sends;
	unsigned int qps;
	bool asks;
};

/* First numbers of the two directions: those of a new session, and those before a wrap-around. */
struct start {
	const char *name;
	u32 number[2];
	u16 credits;
};

static const struct start starts[] = {
	{ "new session", { 0, 0 }, 0 },
	{ "numbers wrap around", { U32_MAX - 20, U32_MAX - 3 }, 0 },
	{ "credits wrap around", { 0, 0 }, U16_MAX - 30 },
	{ "signs change", { S32_MAX - 9, S32_MAX - 2 }, S16_MAX - 20 },
	{ "all wrap around", { U32_MAX, U32_MAX - 1 }, U16_MAX - 16 },
};

static void start_desc(const struct start *s, char *desc)
{
	strscpy(desc, s->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(start, starts, start_desc);

static struct side *other_side(struct model *m, const struct side *side)
{
	return &m->side[side == &m->side[0]];
}

/* A new QP: what was on the way is lost. */
static void attach(struct kunit *test, struct model *m)
{
	u32 received[2] = { m->side[0].session.received, m->side[1].session.received };
	u64 cookies[2] = { COOKIE_A + m->qps, COOKIE_B + m->qps };
	unsigned int i;

	m->qps++;
	for (i = 0; i < 2; i++) {
		struct side *side = &m->side[i];

		side->count = 0;
		side->handled = 0;
		side->buffers = RECEIVES;
		KUNIT_ASSERT_EQ(test, 0, rca_session_attach(&side->session, cookies[i],
							    cookies[!i], received[!i]));
	}
}

/* Advances the counters of credits, as if many frames had been sent on the QP. */
static void advance_credits(struct model *m, u16 by)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		m->side[i].session.used += by;
		m->side[i].session.granted += by;
		m->side[i].session.posted += by;
		m->side[i].session.told_posted += by;
	}
}

static void begin(struct kunit *test, struct model *m, const struct start *start)
{
	unsigned int i;

	memset(m->side, 0, sizeof(m->side));
	m->qps = 0;
	for (i = 0; i < 2; i++) {
		struct rca_session *session = &m->side[i].session;

		rca_session_init(session, 7);
		session->sent = start->number[i];
		session->acked = start->number[i];
		session->next = start->number[i] + 1;
		session->received = start->number[!i];
	}
	attach(test, m);
	advance_credits(m, start->credits);
}

static struct model *new_model(struct kunit *test, const struct start *start)
{
	struct model *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, m);
	prandom_seed_state(&m->rnd, 1);
	begin(test, m, start);
	return m;
}

static bool add(struct kunit *test, struct model *m, struct side *side)
{
	u32 number;

	if (!rca_session_may_add(&side->session))
		return false;
	number = rca_session_add(&side->session);
	KUNIT_ASSERT_EQ(test, side->session.sent, number);
	side->kept[number % FRAMES] = side->added++;
	return true;
}

/* Puts a frame on its way. The peer must have a buffer for it. */
static void put_on_way(struct kunit *test, struct model *m, struct side *side, bool ack)
{
	struct side *peer = other_side(m, side);
	unsigned int last = (peer->first + peer->count) % RECEIVES;
	struct rca_frame_hdr *hdr = &peer->way[last].hdr;
	u32 number = side->session.next;

	KUNIT_ASSERT_LT(test, peer->count, peer->buffers);
	memset(hdr, 0, sizeof(*hdr));
	rca_session_send(&side->session, ack, hdr);
	hdr->records = ack ? 0 : 1;
	peer->way[last].contents = side->kept[number % FRAMES];
	peer->count++;
	m->sends++;
}

static bool send(struct kunit *test, struct model *m, struct side *side)
{
	if (!rca_session_may_send(&side->session))
		return false;
	put_on_way(test, m, side, false);
	return true;
}

static bool acknowledge(struct kunit *test, struct model *m, struct side *side)
{
	if (!rca_session_ack_due(&side->session))
		return false;
	put_on_way(test, m, side, true);
	return true;
}

static bool deliver(struct kunit *test, struct model *m, struct side *side)
{
	const struct rca_frame_hdr *hdr = &side->way[side->first].hdr;
	enum rca_session_verdict verdict;

	if (!side->count)
		return false;
	verdict = rca_session_receive(&side->session, hdr);
	KUNIT_ASSERT_EQ(test, (int)(hdr->records ? RCA_FRAME_TAKE : RCA_FRAME_SKIP), (int)verdict);
	if (verdict == RCA_FRAME_TAKE) {
		KUNIT_ASSERT_EQ(test, side->expected, side->way[side->first].contents);
		side->expected++;
		if (m->asks && !(side->expected % 7))
			rca_session_ask_ack(&side->session);
	}
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
	rca_session_posted(&side->session, count);
	side->handled -= count;
	side->buffers += count;
	return true;
}

typedef bool (*step)(struct kunit *test, struct model *m, struct side *side);

static const step steps[] = { add, send, acknowledge, deliver, post };

/* Random steps. Each has a weight of its own on each side, and some have none. */
static void run(struct kunit *test, struct model *m, unsigned int count, unsigned int lose)
{
	unsigned int weights[2][ARRAY_SIZE(steps)];
	unsigned int i, side, n;

	for (side = 0; side < 2; side++) {
		for (n = 0; n < ARRAY_SIZE(steps); n++)
			weights[side][n] = prandom_u32_state(&m->rnd) % 4;
	}
	for (i = 0; i < count; i++) {
		u32 random = prandom_u32_state(&m->rnd);

		side = random & 1;
		n = (random >> 1) % ARRAY_SIZE(steps);
		if ((random >> 16) % 3 < weights[side][n])
			steps[n](test, m, &m->side[side]);
		if (lose && prandom_u32_state(&m->rnd) % lose == 0)
			attach(test, m);
	}
}

/* Lets both sides go on until neither has a step left. */
static void come_to_rest(struct kunit *test, struct model *m)
{
	unsigned int i, n, before = m->sends;
	bool again;

	do {
		again = false;
		for (i = 0; i < 2; i++) {
			for (n = 1; n < ARRAY_SIZE(steps); n++)
				again |= steps[n](test, m, &m->side[i]);
		}
		KUNIT_ASSERT_LT_MSG(test, m->sends - before, 100, "it does not end");
	} while (again);
	for (i = 0; i < 2; i++) {
		struct side *side = &m->side[i], *peer = &m->side[!i];

		KUNIT_ASSERT_EQ(test, side->added, peer->expected);
		KUNIT_ASSERT_EQ(test, side->session.sent, peer->session.received);
		KUNIT_ASSERT_TRUE(test, rca_session_may_add(&side->session));
		KUNIT_ASSERT_FALSE(test, side->session.ack_asked);
	}
}

static void frames_arrive_once_and_in_order(struct kunit *test)
{
	static const unsigned int losses[] = { 0, 1000, 100, 10 };
	struct model *m = new_model(test, test->param_value);
	unsigned int round, i;

	for (round = 0; round < 400; round++) {
		m->asks = round % 8 >= 4;
		begin(test, m, test->param_value);
		for (i = 0; i < 5; i++) {
			run(test, m, prandom_u32_state(&m->rnd) % 300, losses[round % 4]);
			come_to_rest(test, m);
		}
	}
}

/* Each side sends all that it may before anything arrives, again and again. */
static void bursts_of_both_sides_end(struct kunit *test)
{
	struct model *m = new_model(test, test->param_value);
	unsigned int round, i;

	for (round = 0; round < 2000; round++) {
		m->asks = round & 2;
		for (i = 0; i < 2; i++) {
			while (add(test, m, &m->side[i]))
				;
			while (send(test, m, &m->side[i]) || acknowledge(test, m, &m->side[i]))
				;
		}
		for (i = 0; i < 2; i++) {
			while (deliver(test, m, &m->side[i]))
				;
		}
		/* Buffers are posted by one side at a time. */
		while (post(test, m, &m->side[round & 1]))
			;
	}
	come_to_rest(test, m);
	KUNIT_EXPECT_GT(test, m->side[0].added, 2000U);
	KUNIT_EXPECT_GT(test, m->side[1].added, 2000U);
}

/* One side is silent but for its acknowledgements. */
static void stream_needs_few_acknowledgements(struct kunit *test)
{
	struct model *m = new_model(test, test->param_value);
	struct side *a = &m->side[0];
	unsigned int i;

	for (i = 0; i < 10000; i++) {
		KUNIT_ASSERT_TRUE(test, add(test, m, a));
		come_to_rest(test, m);
	}
	/* One acknowledgement of B for four frames, one of A for eight of these. */
	KUNIT_EXPECT_LE(test, m->sends, 10000 + 10000 / 4 + 10000 / 32 + 1);
}

static void nothing_is_sent_without_a_qp(struct kunit *test)
{
	struct rca_session session;

	rca_session_init(&session, 7);
	KUNIT_EXPECT_EQ(test, 1U, rca_session_add(&session));
	KUNIT_EXPECT_FALSE(test, rca_session_may_send(&session));
	KUNIT_EXPECT_FALSE(test, rca_session_ack_due(&session));
	KUNIT_EXPECT_EQ(test, 0, rca_session_attach(&session, COOKIE_A, COOKIE_B, 0));
	KUNIT_EXPECT_TRUE(test, rca_session_may_send(&session));
}

static void frames_are_kept_until_acknowledged(struct kunit *test)
{
	struct model *m = new_model(test, test->param_value);
	struct side *a = &m->side[0], *b = &m->side[1];
	unsigned int i;

	for (i = 0; i < FRAMES; i++)
		KUNIT_EXPECT_TRUE(test, add(test, m, a) && send(test, m, a));
	KUNIT_EXPECT_FALSE(test, rca_session_may_add(&a->session));
	KUNIT_EXPECT_FALSE(test, rca_session_may_send(&a->session));
	for (i = 0; i < FRAMES / 2; i++) {
		KUNIT_EXPECT_FALSE(test, rca_session_ack_due(&b->session));
		deliver(test, m, b);
	}
	KUNIT_EXPECT_TRUE(test, acknowledge(test, m, b));
	KUNIT_EXPECT_FALSE(test, rca_session_ack_due(&b->session));
	deliver(test, m, a);
	KUNIT_EXPECT_TRUE(test, rca_session_may_add(&a->session));
	KUNIT_EXPECT_EQ(test, FRAMES / 2 + 0U, a->session.sent - a->session.acked);
}

static void unknown_frames_are_sent_again(struct kunit *test)
{
	struct model *m = new_model(test, test->param_value);
	struct side *a = &m->side[0], *b = &m->side[1];
	unsigned int i;

	for (i = 0; i < 6; i++)
		KUNIT_EXPECT_TRUE(test, add(test, m, a) && send(test, m, a));
	deliver(test, m, b);
	deliver(test, m, b);
	attach(test, m);
	KUNIT_EXPECT_EQ(test, 4U, a->session.sent - a->session.acked);
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_TRUE(test, send(test, m, a));
	KUNIT_EXPECT_FALSE(test, send(test, m, a));
	come_to_rest(test, m);
}

static void last_credit_is_for_an_acknowledgement(struct kunit *test)
{
	struct model *m = new_model(test, test->param_value);
	struct rca_session *a = &m->side[0].session;
	struct rca_frame_hdr hdr;

	rca_session_add(a);
	a->used += RECEIVES - 1;
	KUNIT_EXPECT_FALSE(test, rca_session_may_send(a));
	KUNIT_EXPECT_FALSE(test, rca_session_ack_due(a));
	rca_session_posted(a, RECEIVES / 2);
	KUNIT_EXPECT_TRUE(test, rca_session_ack_due(a));
	rca_session_send(a, true, &hdr);
	KUNIT_EXPECT_EQ(test, (int)a->posted, (int)hdr.credits);
	KUNIT_EXPECT_FALSE(test, rca_session_ack_due(a));
	rca_session_posted(a, RECEIVES / 2);
	KUNIT_EXPECT_FALSE(test, rca_session_ack_due(a));
}

static void acknowledgement_that_was_asked_for_leaves_the_last_credit(struct kunit *test)
{
	struct model *m = new_model(test, test->param_value);
	struct rca_session *a = &m->side[0].session;
	struct rca_frame_hdr hdr;

	KUNIT_EXPECT_FALSE(test, rca_session_ack_due(a));
	rca_session_ask_ack(a);
	KUNIT_EXPECT_TRUE(test, rca_session_ack_due(a));
	/* A frame with records is an acknowledgement, too. */
	rca_session_add(a);
	rca_session_send(a, false, &hdr);
	KUNIT_EXPECT_FALSE(test, rca_session_ack_due(a));
	rca_session_ask_ack(a);
	a->used += RECEIVES - 2;
	KUNIT_EXPECT_FALSE(test, rca_session_ack_due(a));
	/* On another QP the peer repeats its request, if it still needs the acknowledgement. */
	KUNIT_EXPECT_EQ(test, 0, rca_session_attach(a, COOKIE_A, COOKIE_B, a->sent));
	KUNIT_EXPECT_FALSE(test, rca_session_ack_due(a));
}

static int attach_one(struct rca_session *session, u32 peer_received)
{
	return rca_session_attach(session, COOKIE_B, COOKIE_A, peer_received);
}

static void attach_to_a_liar_is_refused(struct kunit *test)
{
	struct model *m = new_model(test, test->param_value);
	struct rca_session *a = &m->side[0].session, before;
	u32 first = a->sent;

	KUNIT_EXPECT_TRUE(test, add(test, m, &m->side[0]) && add(test, m, &m->side[0]));
	KUNIT_EXPECT_EQ(test, 0, attach_one(a, first + 1));
	before = *a;
	KUNIT_EXPECT_EQ(test, -EPROTO, attach_one(a, first));
	KUNIT_EXPECT_EQ(test, -EPROTO, attach_one(a, first + 3));
	KUNIT_EXPECT_EQ(test, -EPROTO, attach_one(a, first + S32_MIN));
	KUNIT_EXPECT_EQ(test, 0, memcmp(&before, a, sizeof(before)));
	KUNIT_EXPECT_EQ(test, 0, attach_one(a, first + 2));
	KUNIT_EXPECT_FALSE(test, rca_session_may_send(a));
}

/* Each QP has cookies of its own: a frame of an earlier one is not of the session. */
static void frame_of_an_earlier_qp_is_foreign(struct kunit *test)
{
	struct model *m = new_model(test, test->param_value);
	struct side *a = &m->side[0], *b = &m->side[1];
	struct rca_frame_hdr late;

	KUNIT_ASSERT_TRUE(test, add(test, m, a) && send(test, m, a));
	late = b->way[b->first].hdr;
	attach(test, m);
	KUNIT_EXPECT_EQ(test, (int)RCA_FRAME_FOREIGN, (int)rca_session_receive(&b->session, &late));
	KUNIT_EXPECT_TRUE(test, send(test, m, a));
	come_to_rest(test, m);
}

/* A valid header, or one with these differences. */
struct lie {
	const char *name;
	u64 cookie;
	s32 number;
	s32 received;
	s16 credits;
	bool ack;
	enum rca_session_verdict want;
};

static const struct lie lies[] = {
	{ .name = "none", .want = RCA_FRAME_TAKE },
	{ .name = "none, acknowledgement", .ack = true, .want = RCA_FRAME_SKIP },
	{ .name = "cookie", .cookie = 1, .want = RCA_FRAME_FOREIGN },
	{ .name = "cookie of the sender", .cookie = COOKIE_A ^ COOKIE_B,
	  .want = RCA_FRAME_FOREIGN },
	{ .name = "cookie and all else", .cookie = 1, .number = S32_MAX, .received = S32_MIN,
	  .credits = S16_MAX, .want = RCA_FRAME_FOREIGN },
	{ .name = "double", .number = -1, .want = RCA_FRAME_SKIP },
	{ .name = "old double", .number = -1000, .want = RCA_FRAME_SKIP },
	{ .name = "gap", .number = 1, .want = RCA_FRAME_BROKEN },
	{ .name = "great gap", .number = S32_MAX, .want = RCA_FRAME_BROKEN },
	{ .name = "old acknowledgement", .number = -1, .ack = true, .want = RCA_FRAME_SKIP },
	{ .name = "acknowledgement after a gap", .number = 1, .ack = true,
	  .want = RCA_FRAME_BROKEN },
	{ .name = "less received", .received = -1, .want = RCA_FRAME_TAKE },
	{ .name = "least received", .received = -2, .want = RCA_FRAME_TAKE },
	{ .name = "received goes back", .received = -3, .want = RCA_FRAME_BROKEN },
	{ .name = "received far back", .received = S32_MIN, .want = RCA_FRAME_BROKEN },
	{ .name = "received what was not sent", .received = 1, .want = RCA_FRAME_BROKEN },
	{ .name = "received what was not added", .received = 2, .want = RCA_FRAME_BROKEN },
	{ .name = "received far ahead", .received = S32_MAX, .want = RCA_FRAME_BROKEN },
	{ .name = "least credits", .credits = -3, .want = RCA_FRAME_TAKE },
	{ .name = "credits go back", .credits = -4, .want = RCA_FRAME_BROKEN },
	{ .name = "credits far back", .credits = S16_MIN, .want = RCA_FRAME_BROKEN },
	{ .name = "too many credits", .credits = 1, .want = RCA_FRAME_BROKEN },
	{ .name = "far too many credits", .credits = S16_MAX, .want = RCA_FRAME_BROKEN },
};

/*
 * A has sent three frames, of which the first is acknowledged; a fourth one waits. The header
 * acknowledges all three, and grants new buffers for them.
 */
static void lie_is_found(struct kunit *test, const struct start *start, const struct lie *lie)
{
	struct model *m = new_model(test, start);
	struct rca_session *a = &m->side[0].session, before;
	struct rca_frame_hdr hdr = {
		.cookie = COOKIE_A ^ lie->cookie,
		.number = a->received + (lie->ack ? 0 : 1) + lie->number,
		.received = a->sent + 3 + lie->received,
		.credits = a->granted + 3 + lie->credits,
		.records = lie->ack ? 0 : 1,
	};
	unsigned int i;

	for (i = 0; i < 3; i++)
		KUNIT_ASSERT_TRUE(test, add(test, m, &m->side[0]) && send(test, m, &m->side[0]));
	KUNIT_ASSERT_TRUE(test, add(test, m, &m->side[0]));
	a->acked++;
	before = *a;

	KUNIT_EXPECT_EQ_MSG(test, (int)lie->want, (int)rca_session_receive(a, &hdr), "%s",
			    lie->name);
	if (lie->want == RCA_FRAME_BROKEN || lie->want == RCA_FRAME_FOREIGN) {
		KUNIT_EXPECT_EQ_MSG(test, 0, memcmp(&before, a, sizeof(before)), "%s", lie->name);
		return;
	}
	KUNIT_EXPECT_EQ(test, hdr.received, a->acked);
	KUNIT_EXPECT_EQ(test, (int)hdr.credits, (int)a->granted);
	KUNIT_EXPECT_EQ(test, before.received + (lie->want == RCA_FRAME_TAKE), a->received);
}

static void lies_are_found(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(lies); i++)
		lie_is_found(test, test->param_value, &lies[i]);
}

static struct kunit_case session_cases[] = {
	KUNIT_CASE(nothing_is_sent_without_a_qp),
	KUNIT_CASE_PARAM(frames_are_kept_until_acknowledged, start_gen_params),
	KUNIT_CASE_PARAM(unknown_frames_are_sent_again, start_gen_params),
	KUNIT_CASE_PARAM(last_credit_is_for_an_acknowledgement, start_gen_params),
	KUNIT_CASE_PARAM(acknowledgement_that_was_asked_for_leaves_the_last_credit,
			 start_gen_params),
	KUNIT_CASE_PARAM(attach_to_a_liar_is_refused, start_gen_params),
	KUNIT_CASE_PARAM(frame_of_an_earlier_qp_is_foreign, start_gen_params),
	KUNIT_CASE_PARAM(lies_are_found, start_gen_params),
	KUNIT_CASE_PARAM(frames_arrive_once_and_in_order, start_gen_params),
	KUNIT_CASE_PARAM(bursts_of_both_sides_end, start_gen_params),
	KUNIT_CASE_PARAM(stream_needs_few_acknowledgements, start_gen_params),
	{}
};

static struct kunit_suite session_suite = {
	.name = "rdma_cm_alt_trunk_session",
	.test_cases = session_cases,
};

kunit_test_suite(session_suite);
