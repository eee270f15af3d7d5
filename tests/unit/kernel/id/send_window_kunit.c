// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of send windows in kernel/id/pacing.c, on a fake transport: when a request waits, what
 * frees a slot, which id gets it, and what ends the wait.
 *
 * Locking: none.
 */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/workqueue.h>

#include "cm/cm.h"
#include "ctx/ctx.h"
#include "fake/fake_suite.h"
#include "id/id.h"
#include "lib/testing.h"

#define SILENCE_MS	50
#define NEVER_MS	3600000
#define PEERS		200
#define CROWD		100

/* Longer than a message counts, and than the work items that follow. */
#define LONG_ENOUGH_MS	200

static void pace_exit(struct kunit *test)
{
	fake_suite_exit(test);
	rca_window_timeout_ms = SILENCE_MS;
	rca_no_parties = false;
}

static struct rca_id *connecting(struct kunit *test)
{
	struct rca_id *id = fake_active_id(test, test->priv, FAKE_COOKIE);
	struct rca_tp_conn conn = { .qp_num = 42 };

	KUNIT_ASSERT_EQ(test, rca_connect(id, &conn), 0);
	return id;
}

/* Takes all slots; if @silence_ms is long, only answers free them. */
static struct rca_id **fill(struct kunit *test, unsigned int silence_ms)
{
	struct rca_id **ids = kunit_kcalloc(test, RCA_WINDOW_SIZE, sizeof(*ids), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, ids);
	rca_window_timeout_ms = silence_ms;
	for (i = 0; i < RCA_WINDOW_SIZE; i++)
		ids[i] = connecting(test);
	return ids;
}

/* A context beside that of the fake, which ends with end_context(). 0: the user of the fake. */
static struct rca_ctx *make_context(struct kunit *test, unsigned int uid)
{
	struct rca_ctx *ctx = rca_ctx_create();

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, ctx);
	if (!uid)
		return ctx;
	rca_account_close(&ctx->account);
	KUNIT_ASSERT_EQ(test, rca_account_open(&ctx->account, KUIDT_INIT(uid), false), 0);
	return ctx;
}

static void end_context(struct rca_ctx *ctx)
{
	rca_ctx_shutdown(ctx);
	rca_ctx_put(ctx);
}

static struct rca_id *connecting_of(struct kunit *test, struct rca_ctx *ctx)
{
	struct fake *fake = test->priv;
	struct rca_ctx *own = fake->ctx;
	struct rca_id *id;

	fake->ctx = ctx;
	id = connecting(test);
	fake->ctx = own;
	return id;
}

static void window_bounds_what_is_sent(struct kunit *test)
{
	struct fake *fake = test->priv;
	struct rca_id *id;

	fill(test, NEVER_MS);
	id = connecting(test);
	KUNIT_EXPECT_EQ(test, fake->connects, RCA_WINDOW_SIZE);
	fake_expect_state(test, id, RCA_ST_REQ_WAIT);
}

/* A forgotten message is still unanswered: the peer has yet to process it. */
static void unanswered_is_what_has_no_answer(struct kunit *test)
{
	struct rca_id **ids = fill(test, SILENCE_MS);
	struct rca_id *id;

	KUNIT_EXPECT_EQ(test, (int)rca_window_unanswered(ids[0]), RCA_WINDOW_SIZE);
	id = connecting(test);
	msleep(LONG_ENOUGH_MS);
	rca_id_flush_work(id);
	fake_expect_state(test, id, RCA_ST_REQ_SENT);
	KUNIT_EXPECT_EQ(test, (int)rca_window_unanswered(id), RCA_WINDOW_SIZE + 1);
	fake_message(ids[7], RCA_IN_REJ, 8);
	fake_message(ids[7], RCA_IN_REJ, 8);
	KUNIT_EXPECT_EQ(test, (int)rca_window_unanswered(id), RCA_WINDOW_SIZE);
	/* The request is given up, and the program keeps the id. */
	ids[8]->setup->retry->once = true;
	fake_message(ids[8], RCA_IN_REQ_TIMEOUT, -ETIMEDOUT);
	fake_expect_state(test, ids[8], RCA_ST_FAILED);
	KUNIT_EXPECT_EQ(test, (int)rca_window_unanswered(id), RCA_WINDOW_SIZE - 1);
}

/* A lost message of a user is sent again as soon as if nobody else had sent any. */
static void users_are_counted_apart(struct kunit *test)
{
	struct rca_ctx *other = make_context(test, 70002);
	struct rca_id **ids = fill(test, SILENCE_MS), *late = connecting_of(test, other);

	msleep(LONG_ENOUGH_MS);
	rca_id_flush_work(late);
	fake_expect_state(test, late, RCA_ST_REQ_SENT);
	KUNIT_EXPECT_EQ(test, rca_window_unanswered(late), 1u);
	KUNIT_EXPECT_EQ(test, (int)rca_window_unanswered(ids[0]), RCA_WINDOW_SIZE);
	end_context(other);
}

static void what_cannot_be_sent_takes_no_room(struct kunit *test)
{
	struct rca_id *sent = connecting(test), *id = fake_active_id(test, test->priv, FAKE_COOKIE);
	struct rca_tp_conn conn = { .qp_num = 43 };
	struct fake *fake = test->priv;

	fake->fail = -ENOMEM;
	KUNIT_EXPECT_EQ(test, rca_connect(id, &conn), -ENOMEM);
	KUNIT_EXPECT_EQ(test, rca_window_unanswered(sent), 1u);
}

static void answer_makes_room(struct kunit *test)
{
	struct fake *fake = test->priv;
	struct rca_id **ids, *id;

	ids = fill(test, NEVER_MS);
	id = connecting(test);
	fake_message(ids[7], RCA_IN_REJ, 8);
	rca_id_flush_work(id);
	fake_expect_state(test, id, RCA_ST_REQ_SENT);
	KUNIT_EXPECT_EQ(test, fake->connects, RCA_WINDOW_SIZE + 1);
	/* Another answer to the same message frees no slot. */
	fake_message(ids[7], RCA_IN_REJ, 8);
	KUNIT_EXPECT_EQ(test, (int)rca_id_state(ids[7]), (int)RCA_ST_FAILED);
}

static void time_makes_room(struct kunit *test)
{
	struct fake *fake = test->priv;
	struct rca_id *id;

	fill(test, SILENCE_MS);
	id = connecting(test);
	msleep(LONG_ENOUGH_MS);
	rca_id_flush_work(id);
	fake_expect_state(test, id, RCA_ST_REQ_SENT);
	KUNIT_EXPECT_EQ(test, fake->connects, RCA_WINDOW_SIZE + 1);
	/* An answer to a message that no longer counts frees no slot, either. */
	fake_message(id, RCA_IN_REP, 0);
	fake_expect_state(test, id, RCA_ST_REP_RCVD);
}

/* A slow peer gets one request per answer. Then it stops answering. */
static void slow_peer_is_not_flooded(struct kunit *test)
{
	struct fake *fake = test->priv;
	struct rca_id **ids, *id[3];
	int i;

	ids = fill(test, 4000);
	for (i = 0; i < 3; i++)
		id[i] = connecting(test);
	msleep(2200);
	fake_message(ids[0], RCA_IN_REJ, 8);
	rca_id_flush_work(id[0]);
	fake_expect_state(test, id[0], RCA_ST_REQ_SENT);
	msleep(2200);
	fake_expect_state(test, id[1], RCA_ST_REQ_WAIT);
	KUNIT_EXPECT_EQ(test, fake->connects, RCA_WINDOW_SIZE + 1);
	rca_window_timeout_ms = SILENCE_MS;
	msleep(2200);
	rca_id_flush_work(id[2]);
	fake_expect_state(test, id[2], RCA_ST_REQ_SENT);
	KUNIT_EXPECT_EQ(test, fake->connects, RCA_WINDOW_SIZE + 3);
}

/* Answers to some messages do not block ids whose messages are never answered. */
static void no_epoch_lasts_for_ever(struct kunit *test)
{
	struct fake *fake = test->priv;
	struct rca_id **ids, *id[2];
	int i;

	ids = fill(test, NEVER_MS);
	for (i = 0; i < 2; i++)
		id[i] = connecting(test);
	rca_window_timeout_ms = SILENCE_MS;
	msleep(25 * SILENCE_MS);
	fake_message(ids[0], RCA_IN_REJ, 8);
	rca_id_flush_work(id[0]);
	rca_id_flush_work(id[1]);
	fake_expect_state(test, id[1], RCA_ST_REQ_SENT);
	KUNIT_EXPECT_EQ(test, fake->connects, RCA_WINDOW_SIZE + 2);
}

static void other_peer_does_not_wait(struct kunit *test)
{
	struct fake *fake = test->priv;
	struct rca_tp_conn conn = { .qp_num = 42 };
	struct rca_id *id;

	fill(test, NEVER_MS);
	id = fake_active_id(test, fake, FAKE_COOKIE);
	id->dst.in.sin_addr.s_addr = cpu_to_be32(0x0a090003);
	KUNIT_EXPECT_EQ(test, rca_connect(id, &conn), 0);
	fake_expect_state(test, id, RCA_ST_REQ_SENT);
	KUNIT_EXPECT_EQ(test, fake->connects, RCA_WINDOW_SIZE + 1);
}

/* Each answer lets one id send: these, in this order, and no other one. */
static void expect_order(struct kunit *test, struct rca_id **full, struct rca_id **waiting,
			 const u8 *numbers, int count)
{
	struct fake *fake = test->priv;
	struct rca_id *id;
	int i;

	for (i = 0; i < count; i++) {
		id = waiting[numbers[i]];
		fake_expect_state(test, id, RCA_ST_REQ_WAIT);
		fake_message(full[i], RCA_IN_REJ, 8);
		rca_id_flush_work(id);
		fake_expect_state(test, id, RCA_ST_REQ_SENT);
	}
	KUNIT_EXPECT_EQ(test, fake->connects, RCA_WINDOW_SIZE + count);
}

#define expect_turns(test, full, waiting, ...)						\
	do {										\
		static const u8 numbers[] = { __VA_ARGS__ };				\
											\
		expect_order(test, full, waiting, numbers, ARRAY_SIZE(numbers));	\
	} while (0)

static void users_take_turns_and_then_contexts(struct kunit *test)
{
	static const u8 ctx_of[] = { 0, 0, 1, 2, 3, 3, 3 };
	struct rca_id **full = fill(test, NEVER_MS), *ids[7];
	struct rca_ctx *ctx[4];
	int i;

	for (i = 0; i < 4; i++)
		ctx[i] = make_context(test, i == 3 ? 70001 : 0);
	for (i = 0; i < 7; i++)
		ids[i] = connecting_of(test, ctx[ctx_of[i]]);
	expect_turns(test, full, ids, 0, 4, 2, 5, 3, 6, 1);
	for (i = 0; i < 4; i++)
		end_context(ctx[i]);
}

static void who_comes_again_is_served_last(struct kunit *test)
{
	struct rca_ctx *other = make_context(test, 0);
	struct rca_id **full = fill(test, NEVER_MS), *ids[4];

	ids[0] = connecting(test);
	ids[1] = connecting_of(test, other);
	ids[2] = connecting_of(test, other);
	expect_turns(test, full, ids, 0);
	ids[3] = connecting(test);
	KUNIT_EXPECT_EQ(test, (int)rca_id_state(ids[3]), (int)RCA_ST_REQ_WAIT);
	fake_message(full[1], RCA_IN_REJ, 8);
	rca_id_flush_work(ids[1]);
	fake_expect_state(test, ids[1], RCA_ST_REQ_SENT);
	fake_message(full[2], RCA_IN_REJ, 8);
	rca_id_flush_work(ids[3]);
	fake_expect_state(test, ids[3], RCA_ST_REQ_SENT);
	fake_expect_state(test, ids[2], RCA_ST_REQ_WAIT);
	end_context(other);
}

static void destroy(struct kunit *test, struct rca_id *id)
{
	u32 reported;

	KUNIT_EXPECT_EQ(test, rca_destroy(id->obj.ctx, id->obj.handle, &reported), 0);
}

/* The first id of a context, the only one, and all of a user are gone when their turns come. */
static void who_is_destroyed_has_no_turn(struct kunit *test)
{
	struct rca_ctx *second = make_context(test, 0), *other = make_context(test, 70001);
	struct rca_id **full = fill(test, NEVER_MS), *ids[6];

	ids[0] = connecting(test);
	ids[1] = connecting(test);
	ids[2] = connecting_of(test, second);
	ids[3] = connecting_of(test, other);
	ids[4] = connecting(test);
	destroy(test, ids[0]);
	destroy(test, ids[2]);
	destroy(test, ids[3]);
	ids[5] = connecting_of(test, second);
	expect_turns(test, full, ids, 1, 5, 4);
	end_context(second);
	end_context(other);
}

/* However many contexts a user has, another user is next but one. */
static void crowd_of_contexts(struct kunit *test)
{
	struct rca_ctx *other = make_context(test, 70001), **ctx;
	struct rca_id **full = fill(test, NEVER_MS), **ids;
	int i, served = 0;

	ctx = kunit_kcalloc(test, CROWD, sizeof(*ctx), GFP_KERNEL);
	ids = kunit_kcalloc(test, CROWD + 1, sizeof(*ids), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, ctx);
	KUNIT_ASSERT_NOT_NULL(test, ids);
	for (i = 0; i < CROWD; i++) {
		ctx[i] = make_context(test, 0);
		ids[i] = connecting_of(test, ctx[i]);
	}
	ids[CROWD] = connecting_of(test, other);
	expect_turns(test, full, ids, 0, CROWD);
	/* From both ends and from the middle. */
	for (i = 3; i < CROWD; i += 3)
		destroy(test, ids[i]);
	for (i = 1; i < CROWD; i++) {
		if (i % 3 == 0)
			continue;
		fake_message(full[2 + served++], RCA_IN_REJ, 8);
		rca_id_flush_work(ids[i]);
		fake_expect_state(test, ids[i], RCA_ST_REQ_SENT);
	}
	for (i = 0; i < CROWD; i++)
		end_context(ctx[i]);
	end_context(other);
}

/* The first id of a user or of a context needs memory to wait. Without it the id need not wait. */
static void wait_without_memory(struct kunit *test)
{
	struct rca_ctx *second = make_context(test, 0), *other = make_context(test, 70001);
	struct rca_id **full = fill(test, NEVER_MS), *ids[2];

	rca_no_parties = true;
	fake_expect_state(test, connecting(test), RCA_ST_REQ_SENT);
	rca_no_parties = false;
	ids[0] = connecting(test);
	rca_no_parties = true;
	fake_expect_state(test, connecting_of(test, second), RCA_ST_REQ_SENT);
	fake_expect_state(test, connecting_of(test, other), RCA_ST_REQ_SENT);
	ids[1] = connecting(test);
	((struct fake *)test->priv)->connects -= 3;
	expect_turns(test, full, ids, 0, 1);
	end_context(second);
	end_context(other);
}

static void destroy_while_it_waits(struct kunit *test)
{
	struct fake *fake = test->priv;
	struct rca_id **ids, *first, *second;

	ids = fill(test, NEVER_MS);
	first = connecting(test);
	second = connecting(test);
	destroy(test, first);
	fake_message(ids[0], RCA_IN_REJ, 8);
	rca_id_flush_work(second);
	fake_expect_state(test, second, RCA_ST_REQ_SENT);
	KUNIT_EXPECT_EQ(test, fake->connects, RCA_WINDOW_SIZE + 1);
}

static void removal_while_it_waits(struct kunit *test)
{
	struct fake *fake = test->priv;
	struct rca_id *id;

	fill(test, NEVER_MS);
	id = connecting(test);
	fake->dev.removing = true;
	rca_teardown_device(&fake->dev);
	fake_expect_state(test, id, RCA_ST_REMOVED);
	KUNIT_EXPECT_EQ(test, atomic_read(&fake->lowers), 0);
	KUNIT_EXPECT_NULL(test, id->setup->slot.gate);
	KUNIT_EXPECT_FALSE(test, rca_id_work_pending(id));
}

/*
 * A request that waits long is retransmitted as often as another; only a deadline of the program
 * counts meanwhile.
 */
static void waiting_costs_no_patience(struct kunit *test)
{
	struct fake *fake = test->priv;
	struct rca_id **ids, *id;

	ids = fill(test, NEVER_MS);
	id = connecting(test);
	/* Pretend that two minutes have passed. */
	id->setup->retry->since -= 120 * HZ;
	id->setup->retry->deadline -= 120 * HZ;
	fake_message(ids[7], RCA_IN_REJ, 8);
	rca_id_flush_work(id);
	fake_expect_state(test, id, RCA_ST_REQ_SENT);
	/* As many as beside so many others without a wait. */
	KUNIT_EXPECT_EQ(test, (int)fake->last_timers.retries, 7);
	KUNIT_EXPECT_TRUE(test, time_after(id->setup->retry->deadline, jiffies + 10 * HZ));
}

static void deadline_while_it_waits(struct kunit *test)
{
	struct rca_id *id = fake_active_id(test, test->priv, FAKE_COOKIE);
	struct rca_tp_conn conn = { .qp_num = 42 };
	struct fake *fake = test->priv;
	u32 ms = 60000;

	KUNIT_ASSERT_EQ(test, rca_set_option(id, RDMA_CM_ALT_OPTION, RDMA_CM_ALT_OPTION_DEADLINE,
					     &ms, sizeof(ms)), 0);
	fill(test, NEVER_MS);
	KUNIT_ASSERT_EQ(test, rca_connect(id, &conn), 0);
	fake_expect_state(test, id, RCA_ST_REQ_WAIT);
	KUNIT_EXPECT_TRUE(test, rca_id_work_pending(id));
	id->setup->retry->deadline = jiffies;
	rca_id_flush_work(id);
	fake_expect_state(test, id, RCA_ST_FAILED);
	KUNIT_EXPECT_NULL(test, id->lower);
	KUNIT_EXPECT_EQ(test, fake->connects, RCA_WINDOW_SIZE);
}

/* More peers than the table of an idle module has buckets. */
static void peers_are_told_apart(struct kunit *test)
{
	struct rca_tp_conn conn = { .qp_num = 42 };
	struct fake *fake = test->priv;
	struct rca_id *id;
	int i;

	fill(test, NEVER_MS);
	for (i = 0; i < PEERS; i++) {
		id = fake_active_id(test, fake, FAKE_COOKIE);
		id->dst.in.sin_addr.s_addr = cpu_to_be32(0x0a0a0000 + i);
		KUNIT_ASSERT_EQ(test, rca_connect(id, &conn), 0);
		fake_expect_state(test, id, RCA_ST_REQ_SENT);
		KUNIT_EXPECT_EQ(test, rca_window_unanswered(id), 1u);
	}
	KUNIT_EXPECT_EQ(test, fake->connects, RCA_WINDOW_SIZE + PEERS);
}

/*
 * Its work may run before a slot is granted, as after a message: the id still waits, and its
 * deadline stays.
 */
static void look_before_its_turn(struct kunit *test)
{
	struct rca_id **ids, *id = fake_active_id(test, test->priv, FAKE_COOKIE);
	struct rca_tp_conn conn = { .qp_num = 42 };
	struct fake *fake = test->priv;
	unsigned long deadline, since;
	u32 ms = 60000;

	KUNIT_ASSERT_EQ(test, rca_set_option(id, RDMA_CM_ALT_OPTION, RDMA_CM_ALT_OPTION_DEADLINE,
					     &ms, sizeof(ms)), 0);
	ids = fill(test, NEVER_MS);
	KUNIT_ASSERT_EQ(test, rca_connect(id, &conn), 0);
	deadline = id->setup->retry->deadline;
	id->setup->retry->since -= HZ;
	since = id->setup->retry->since;
	rca_id_flush_work(id);
	fake_expect_state(test, id, RCA_ST_REQ_WAIT);
	KUNIT_EXPECT_EQ(test, id->setup->retry->since, since);
	KUNIT_EXPECT_TRUE(test, rca_id_work_pending(id));
	KUNIT_EXPECT_EQ(test, fake->connects, RCA_WINDOW_SIZE);
	fake_message(ids[0], RCA_IN_REJ, 8);
	rca_id_flush_work(id);
	fake_expect_state(test, id, RCA_ST_REQ_SENT);
	KUNIT_EXPECT_EQ(test, id->setup->retry->deadline, deadline);
	KUNIT_EXPECT_EQ(test, fake->connects, RCA_WINDOW_SIZE + 1);
}

static void who_was_not_answered_goes_to_the_end(struct kunit *test)
{
	struct rca_id **ids = fill(test, NEVER_MS), *id = connecting(test);
	struct rca_retry *retry = ids[0]->setup->retry;
	struct fake *fake = test->priv;

	/* Pretend that the retry interval is over. */
	retry->sent = jiffies - retry->interval - 1;
	fake_message(ids[0], RCA_IN_REQ_TIMEOUT, -ETIMEDOUT);
	rca_id_flush_work(ids[0]);
	fake_expect_state(test, ids[0], RCA_ST_REQ_WAIT);
	KUNIT_EXPECT_EQ(test, (int)retry->intervals, 0);
	rca_id_flush_work(id);
	fake_expect_state(test, id, RCA_ST_REQ_SENT);
	KUNIT_EXPECT_EQ(test, fake->connects, RCA_WINDOW_SIZE + 1);
	fake_message(ids[1], RCA_IN_REJ, 8);
	rca_id_flush_work(ids[0]);
	fake_expect_state(test, ids[0], RCA_ST_REQ_SENT);
	KUNIT_EXPECT_EQ(test, (int)retry->intervals, 1);
	KUNIT_EXPECT_EQ(test, fake->connects, RCA_WINDOW_SIZE + 2);
}

static struct rca_id *connected(struct kunit *test)
{
	struct rca_id *id = connecting(test);

	fake_message(id, RCA_IN_REP, 0);
	KUNIT_ASSERT_EQ(test, rca_establish(id), 0);
	return id;
}

/* The DREQ of the peer may arrive first: the local one is then not sent. */
static void disconnect_waits_for_its_turn(struct kunit *test)
{
	struct rca_id **ids, *id = connected(test), *quick = connected(test);
	struct fake *fake = test->priv;

	ids = fill(test, NEVER_MS);
	KUNIT_EXPECT_EQ(test, rca_disconnect(quick), 0);
	KUNIT_EXPECT_EQ(test, rca_disconnect(id), 0);
	KUNIT_EXPECT_EQ(test, fake->disconnects, 0);
	fake_expect_state(test, id, RCA_ST_DREQ_SENT);
	fake_message(quick, RCA_IN_DREQ, 0);
	fake_expect_state(test, quick, RCA_ST_DISCONNECTED);
	fake_message(ids[0], RCA_IN_REJ, 8);
	rca_id_flush_work(id);
	fake_expect_state(test, id, RCA_ST_DREQ_SENT);
	KUNIT_EXPECT_EQ(test, fake->disconnects, 1);
	fake_message(id, RCA_IN_DREP, 0);
	fake_expect_state(test, id, RCA_ST_DISCONNECTED);
}

static void disconnect_that_cannot_be_sent(struct kunit *test)
{
	struct rca_id **ids, *id = connected(test);
	struct fake *fake = test->priv;

	ids = fill(test, NEVER_MS);
	fake->fail = -ENOMEM;
	KUNIT_EXPECT_EQ(test, rca_disconnect(id), 0);
	fake_expect_state(test, id, RCA_ST_DREQ_SENT);
	fake_message(ids[0], RCA_IN_REJ, 8);
	rca_id_flush_work(id);
	fake_expect_state(test, id, RCA_ST_DISCONNECTED);
	KUNIT_EXPECT_EQ(test, fake->disconnects, 0);
	KUNIT_EXPECT_EQ(test, (int)rca_window_unanswered(ids[1]), RCA_WINDOW_SIZE - 1);
}

static void id_without_a_setup_need_not_wait(struct kunit *test)
{
	struct rca_id *id = connected(test);

	fill(test, NEVER_MS);
	KUNIT_ASSERT_NULL(test, id->setup);
	mutex_lock(&id->op);
	KUNIT_EXPECT_TRUE(test, rca_window_begin(id));
	KUNIT_EXPECT_FALSE(test, rca_window_granted(id));
	KUNIT_EXPECT_EQ(test, rca_window_unanswered(id), 0u);
	mutex_unlock(&id->op);
}

static void destroyed_connection_whose_turn_comes_in_vain(struct kunit *test)
{
	struct rca_id **ids, *id = connected(test);
	struct fake *fake = test->priv;
	u32 reported;
	int lowers;

	ids = fill(test, NEVER_MS);
	rca_id_get(id);
	lowers = atomic_read(&fake->lowers);
	KUNIT_EXPECT_EQ(test, rca_destroy(fake->ctx, id->obj.handle, &reported), 0);
	fake->fail = -ENOMEM;
	fake_message(ids[0], RCA_IN_REJ, 8);
	flush_work(&id->work);
	KUNIT_EXPECT_EQ(test, fake->disconnects, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&fake->lowers), lowers - 1);
	KUNIT_EXPECT_FALSE(test, rca_id_work_pending(id));
	rca_id_put(id);
}

/* The call returns at once; the DREQ is sent in the background when a slot is granted. */
static void destroyed_connections_take_their_turn(struct kunit *test)
{
	struct rca_id **ids, *id = connected(test);
	struct fake *fake = test->priv;
	u32 reported;
	int lowers;

	ids = fill(test, NEVER_MS);
	rca_id_get(id);
	lowers = atomic_read(&fake->lowers);
	KUNIT_EXPECT_EQ(test, rca_destroy(fake->ctx, id->obj.handle, &reported), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&fake->lowers), lowers);
	KUNIT_EXPECT_EQ(test, fake->disconnects, 0);
	fake_message(ids[0], RCA_IN_REJ, 8);
	/* Run only queued work, not the timer. */
	flush_work(&id->work);
	KUNIT_EXPECT_EQ(test, fake->disconnects, 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&fake->lowers), lowers);
	fake_message(id, RCA_IN_DREP, 0);
	flush_work(&id->work);
	KUNIT_EXPECT_EQ(test, atomic_read(&fake->lowers), lowers - 1);
	rca_id_put(id);
}

/* Work that keeps the work of an id behind it from running. */
struct blocker {
	struct work_struct work;
	struct completion end;
};

static void wait_for_end(struct work_struct *work)
{
	wait_for_completion(&container_of(work, struct blocker, work)->end);
}

/*
 * Deliver a message to @to while the work of @id is queued and cannot run, and then destroy @id.
 * Returns how many DREQs the destruction sent.
 */
static int disconnects_of_destroy(struct kunit *test, struct rca_id *id, struct rca_id *to,
				  enum rca_input message)
{
	struct blocker blocker = { .end = COMPLETION_INITIALIZER_ONSTACK(blocker.end) };
	struct workqueue_struct *wq = alloc_ordered_workqueue("rca_test", 0);
	struct fake *fake = test->priv;
	int before = fake->disconnects;
	u32 reported;

	KUNIT_ASSERT_NOT_NULL(test, wq);
	INIT_WORK_ONSTACK(&blocker.work, wait_for_end);
	queue_work(wq, &blocker.work);
	rca_id_get(id);		/* of the work */
	KUNIT_EXPECT_TRUE(test, queue_work(wq, &id->work));
	fake_message(to, message, 0);
	KUNIT_EXPECT_EQ(test, fake->disconnects, before);
	KUNIT_EXPECT_EQ(test, rca_destroy(fake->ctx, id->obj.handle, &reported), 0);
	before = fake->disconnects - before;
	complete(&blocker.end);
	destroy_workqueue(wq);
	destroy_work_on_stack(&blocker.work);
	return before;
}

/* A slot was granted to the DREQ, but the work that sends it has not run. */
static void destroyed_disconnect_that_has_a_slot(struct kunit *test)
{
	struct rca_id **ids, *id = connected(test);
	struct fake *fake = test->priv;
	int lowers;

	ids = fill(test, NEVER_MS);
	KUNIT_EXPECT_EQ(test, rca_disconnect(id), 0);
	rca_id_get(id);
	lowers = atomic_read(&fake->lowers);
	KUNIT_EXPECT_EQ(test, disconnects_of_destroy(test, id, ids[0], RCA_IN_REJ), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&fake->lowers), lowers);
	fake_message(id, RCA_IN_DREP, 0);
	flush_work(&id->work);
	KUNIT_EXPECT_EQ(test, atomic_read(&fake->lowers), lowers - 1);
	rca_id_put(id);
}

/* The RTU that the DREQ waits for has arrived, but the work that sends the DREQ has not run. */
static void destroyed_disconnect_whose_rtu_has_come(struct kunit *test)
{
	struct fake *fake = test->priv;
	struct rca_id *id = fake_child(test, fake);
	struct rca_tp_conn conn = { .qp_num = 42 };

	KUNIT_ASSERT_EQ(test, rca_accept(id, FAKE_COOKIE, &conn), 0);
	KUNIT_ASSERT_EQ(test, rca_notify(id, IB_EVENT_COMM_EST), 0);
	fake->fail = -EAGAIN;
	KUNIT_EXPECT_EQ(test, rca_disconnect(id), 0);
	fake_expect_state(test, id, RCA_ST_DREQ_SENT);
	KUNIT_EXPECT_EQ(test, fake->disconnects, 0);
	fake->fail = 0;
	rca_id_get(id);
	KUNIT_EXPECT_EQ(test, disconnects_of_destroy(test, id, id, RCA_IN_RTU), 1);
	fake_message(id, RCA_IN_DREP, 0);
	flush_work(&id->work);
	rca_id_put(id);
}

static struct kunit_case pace_cases[] = {
	KUNIT_CASE(window_bounds_what_is_sent),
	KUNIT_CASE(unanswered_is_what_has_no_answer),
	KUNIT_CASE(users_are_counted_apart),
	KUNIT_CASE(what_cannot_be_sent_takes_no_room),
	KUNIT_CASE(answer_makes_room),
	KUNIT_CASE(time_makes_room),
	KUNIT_CASE_SLOW(slow_peer_is_not_flooded),
	KUNIT_CASE(no_epoch_lasts_for_ever),
	KUNIT_CASE(other_peer_does_not_wait),
	KUNIT_CASE(users_take_turns_and_then_contexts),
	KUNIT_CASE(who_comes_again_is_served_last),
	KUNIT_CASE(who_is_destroyed_has_no_turn),
	KUNIT_CASE(crowd_of_contexts),
	KUNIT_CASE(wait_without_memory),
	KUNIT_CASE(destroy_while_it_waits),
	KUNIT_CASE(removal_while_it_waits),
	KUNIT_CASE(waiting_costs_no_patience),
	KUNIT_CASE(deadline_while_it_waits),
	KUNIT_CASE(peers_are_told_apart),
	KUNIT_CASE(look_before_its_turn),
	KUNIT_CASE(who_was_not_answered_goes_to_the_end),
	KUNIT_CASE(disconnect_waits_for_its_turn),
	KUNIT_CASE(disconnect_that_cannot_be_sent),
	KUNIT_CASE(id_without_a_setup_need_not_wait),
	KUNIT_CASE(destroyed_connection_whose_turn_comes_in_vain),
	KUNIT_CASE(destroyed_connections_take_their_turn),
	KUNIT_CASE(destroyed_disconnect_that_has_a_slot),
	KUNIT_CASE(destroyed_disconnect_whose_rtu_has_come),
	{}
};

static struct kunit_suite pace_suite = {
	.name = "rdma_cm_alt_pace",
	.init = fake_suite_init,
	.exit = pace_exit,
	.test_cases = pace_cases,
};
kunit_test_suite(pace_suite);
