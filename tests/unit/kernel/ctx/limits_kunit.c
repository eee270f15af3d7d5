// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of kernel/ctx/limits.c, and of the charges for ids, events and contexts. */
#include <kunit/test.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/string.h>

#include "cm/cm.h"
#include "ctx/ctx.h"
#include "fake/fake_transport.h"
#include "fake/race.h"
#include "id/id.h"
#include "lib/testing.h"

#define IDS RDMA_CM_ALT_RESOURCE_IDS
#define EVENTS RDMA_CM_ALT_RESOURCE_EVENTS
#define CONTEXTS RDMA_CM_ALT_RESOURCE_CONTEXTS
#define QUEUES RDMA_CM_ALT_RESOURCE_QUEUES
#define REQUESTS RDMA_CM_ALT_RESOURCE_REQUESTS

/* Users without other contexts. */
#define ANNA KUIDT_INIT(70001)
#define BERT KUIDT_INIT(70002)

#define USERS 100

/* The limits of the module, restored after each test. */
struct kept {
	unsigned int user[RCA_RESOURCES];
	unsigned int context[RCA_RESOURCES];
};

static struct kept kept;

static int limits_init(struct kunit *test)
{
	memcpy(kept.user, rca_user_limits, sizeof(kept.user));
	memcpy(kept.context, rca_context_limits, sizeof(kept.context));
	return 0;
}

static void limits_exit(struct kunit *test)
{
	memcpy(rca_user_limits, kept.user, sizeof(kept.user));
	memcpy(rca_context_limits, kept.context, sizeof(kept.context));
}

/* Use by the context, and by all contexts of its user. */
struct usage {
	struct rca_usage context;
	struct rca_usage user;
};

static struct usage usage(const struct rca_account *account, enum rdma_cm_alt_resource what)
{
	struct usage usage;

	rca_account_usage(account, what, &usage.context, &usage.user);
	return usage;
}

static void contexts_of_a_user_share_his_counts(struct kunit *test)
{
	struct rca_account one, two, berts;

	KUNIT_ASSERT_EQ(test, rca_account_open(&one, ANNA, false), 0);
	KUNIT_ASSERT_EQ(test, rca_account_open(&two, ANNA, false), 0);
	KUNIT_ASSERT_EQ(test, rca_account_open(&berts, BERT, false), 0);
	KUNIT_EXPECT_PTR_EQ(test, one.user, two.user);
	KUNIT_EXPECT_PTR_NE(test, one.user, berts.user);
	KUNIT_EXPECT_TRUE(test, uid_eq(rca_account_uid(&berts), BERT));
	KUNIT_EXPECT_EQ(test, usage(&one, CONTEXTS).user.used, 2U);
	KUNIT_EXPECT_EQ(test, usage(&one, CONTEXTS).context.used, 1U);

	KUNIT_EXPECT_EQ(test, rca_charge(&one, IDS, 1), 0);
	KUNIT_EXPECT_EQ(test, rca_charge(&two, IDS, 3), 0);
	KUNIT_EXPECT_EQ(test, usage(&one, IDS).context.used, 1U);
	KUNIT_EXPECT_EQ(test, usage(&two, IDS).context.used, 3U);
	KUNIT_EXPECT_EQ(test, usage(&one, IDS).user.used, 4U);
	KUNIT_EXPECT_EQ(test, usage(&berts, IDS).user.used, 0U);
	rca_uncharge(&two, IDS, 3);
	KUNIT_EXPECT_EQ(test, usage(&one, IDS).user.used, 1U);
	rca_uncharge(&one, IDS, 1);

	rca_account_close(&one);
	KUNIT_EXPECT_EQ(test, usage(&two, CONTEXTS).user.used, 1U);
	rca_account_close(&two);
	rca_account_close(&berts);
}

/* More users than buckets of the table. */
static void users_are_told_apart(struct kunit *test)
{
	struct rca_account *accounts = kunit_kcalloc(test, USERS, sizeof(*accounts), GFP_KERNEL);
	int i, n;

	KUNIT_ASSERT_NOT_NULL(test, accounts);
	for (n = 0; n < USERS; n++)
		if (rca_account_open(&accounts[n], KUIDT_INIT(80000 + n), false))
			break;
	KUNIT_EXPECT_EQ(test, n, USERS);
	for (i = 0; i < n; i++) {
		KUNIT_EXPECT_TRUE(test, uid_eq(rca_account_uid(&accounts[i]),
					       KUIDT_INIT(80000 + i)));
		KUNIT_EXPECT_EQ(test, usage(&accounts[i], CONTEXTS).user.used, 1U);
	}
	while (n--)
		rca_account_close(&accounts[n]);
}

static void user_without_a_context_is_forgotten(struct kunit *test)
{
	struct rca_account one;

	rca_user_limits[IDS] = 1;
	KUNIT_ASSERT_EQ(test, rca_account_open(&one, ANNA, false), 0);
	KUNIT_EXPECT_EQ(test, rca_charge(&one, IDS, 2), -EDQUOT);
	KUNIT_EXPECT_EQ(test, usage(&one, IDS).user.refused, 1ULL);
	rca_account_close(&one);
	KUNIT_ASSERT_EQ(test, rca_account_open(&one, ANNA, false), 0);
	KUNIT_EXPECT_EQ(test, usage(&one, IDS).user.refused, 0ULL);
	rca_account_close(&one);
}

static void limit_of_the_user_is_for_all_his_contexts(struct kunit *test)
{
	struct rca_account one, two, berts;

	rca_user_limits[IDS] = 2;
	KUNIT_ASSERT_EQ(test, rca_account_open(&one, ANNA, false), 0);
	KUNIT_ASSERT_EQ(test, rca_account_open(&two, ANNA, false), 0);
	KUNIT_ASSERT_EQ(test, rca_account_open(&berts, BERT, false), 0);
	KUNIT_EXPECT_EQ(test, rca_charge(&one, IDS, 1), 0);
	KUNIT_EXPECT_FALSE(test, rca_account_full(&two, IDS));
	KUNIT_EXPECT_EQ(test, rca_charge(&two, IDS, 1), 0);
	KUNIT_EXPECT_TRUE(test, rca_account_full(&two, IDS));
	KUNIT_EXPECT_EQ(test, rca_charge(&two, IDS, 1), -EDQUOT);
	KUNIT_EXPECT_EQ(test, rca_charge(&one, IDS, 1), -EDQUOT);
	/* The limit of the user was reached: the refusals are counted there, not in the context. */
	KUNIT_EXPECT_EQ(test, usage(&one, IDS).user.refused, 2ULL);
	KUNIT_EXPECT_EQ(test, usage(&one, IDS).context.refused, 0ULL);
	KUNIT_EXPECT_EQ(test, usage(&one, IDS).context.used, 1U);
	KUNIT_EXPECT_EQ(test, usage(&two, IDS).context.used, 1U);
	KUNIT_EXPECT_EQ(test, rca_charge(&berts, IDS, 2), 0);
	rca_uncharge(&berts, IDS, 2);
	rca_uncharge(&one, IDS, 1);
	KUNIT_EXPECT_EQ(test, rca_charge(&two, IDS, 1), 0);
	rca_uncharge(&two, IDS, 2);
	rca_account_close(&one);
	rca_account_close(&two);
	rca_account_close(&berts);
}

static void limit_of_the_context_is_its_own(struct kunit *test)
{
	struct rca_account one, two;

	rca_context_limits[EVENTS] = 3;
	KUNIT_ASSERT_EQ(test, rca_account_open(&one, ANNA, false), 0);
	KUNIT_ASSERT_EQ(test, rca_account_open(&two, ANNA, false), 0);
	KUNIT_EXPECT_EQ(test, rca_charge(&one, EVENTS, 4), -EDQUOT);
	KUNIT_EXPECT_EQ(test, rca_charge(&one, EVENTS, 3), 0);
	KUNIT_EXPECT_EQ(test, rca_charge(&one, EVENTS, 1), -EDQUOT);
	KUNIT_EXPECT_EQ(test, usage(&one, EVENTS).context.refused, 2ULL);
	KUNIT_EXPECT_EQ(test, usage(&one, EVENTS).user.refused, 0ULL);
	KUNIT_EXPECT_EQ(test, usage(&one, EVENTS).user.used, 3U);
	KUNIT_EXPECT_EQ(test, rca_charge(&two, EVENTS, 3), 0);
	rca_uncharge(&two, EVENTS, 3);
	rca_uncharge(&one, EVENTS, 3);
	rca_account_close(&one);
	rca_account_close(&two);
}

static void too_many_contexts_are_refused(struct kunit *test)
{
	struct rca_account one, two, root;

	rca_user_limits[CONTEXTS] = 1;
	KUNIT_ASSERT_EQ(test, rca_account_open(&one, ANNA, false), 0);
	KUNIT_EXPECT_EQ(test, rca_account_open(&two, ANNA, false), -EDQUOT);
	KUNIT_EXPECT_EQ(test, usage(&one, CONTEXTS).user.refused, 1ULL);
	KUNIT_EXPECT_EQ(test, usage(&one, CONTEXTS).user.used, 1U);
	KUNIT_ASSERT_EQ(test, rca_account_open(&root, ANNA, true), 0);
	KUNIT_EXPECT_EQ(test, usage(&one, CONTEXTS).user.used, 2U);
	rca_account_close(&root);
	rca_account_close(&one);
	KUNIT_ASSERT_EQ(test, rca_account_open(&two, ANNA, false), 0);
	rca_account_close(&two);
}

static void part_of_a_context_is_rounded_up(struct kunit *test)
{
	static const struct {
		unsigned int user, percent, context;
	} cases[] = {
		{ 1, 1, 1 }, { 100, 1, 1 }, { 101, 1, 2 }, { 3, 25, 1 }, { 4, 25, 1 }, { 5, 25, 2 },
		{ 7, 100, 7 }, { INT_MAX, 1, 21474837 }, { INT_MAX, 100, INT_MAX },
	};
	unsigned int percent = rca_max_context_percent, i;
	struct rca_account one;

	KUNIT_ASSERT_EQ(test, rca_account_open(&one, ANNA, false), 0);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		rca_user_limits[IDS] = cases[i].user;
		rca_max_context_percent = cases[i].percent;
		rca_set_context_limits();
		KUNIT_EXPECT_EQ(test, usage(&one, IDS).context.limit, cases[i].context);
		KUNIT_EXPECT_EQ(test, usage(&one, IDS).user.limit, cases[i].user);
		KUNIT_EXPECT_EQ(test, usage(&one, CONTEXTS).context.limit, 1U);
	}
	rca_max_context_percent = percent;
	rca_account_close(&one);
}

static void exempt_contexts_have_their_own_limit_alone(struct kunit *test)
{
	struct rca_account one;

	rca_user_limits[IDS] = 1;
	rca_context_limits[IDS] = 3;
	KUNIT_ASSERT_EQ(test, rca_account_open(&one, ANNA, true), 0);
	KUNIT_EXPECT_EQ(test, rca_charge(&one, IDS, 3), 0);
	KUNIT_EXPECT_EQ(test, rca_charge(&one, IDS, 1), -EDQUOT);
	KUNIT_EXPECT_EQ(test, usage(&one, IDS).context.limit, 3U);
	KUNIT_EXPECT_EQ(test, usage(&one, IDS).user.limit, U32_MAX);
	KUNIT_EXPECT_EQ(test, usage(&one, IDS).user.used, 3U);
	rca_uncharge(&one, IDS, 3);
	rca_account_close(&one);
}

static void limits_below_what_is_used_let_nothing_new_in(struct kunit *test)
{
	struct rca_account one;

	KUNIT_ASSERT_EQ(test, rca_account_open(&one, ANNA, false), 0);
	KUNIT_EXPECT_EQ(test, rca_charge(&one, IDS, 5), 0);
	rca_user_limits[IDS] = 3;
	KUNIT_EXPECT_EQ(test, rca_charge(&one, IDS, 1), -EDQUOT);
	rca_uncharge(&one, IDS, 3);
	KUNIT_EXPECT_EQ(test, rca_charge(&one, IDS, 1), 0);
	KUNIT_EXPECT_EQ(test, rca_charge(&one, IDS, 1), -EDQUOT);
	rca_uncharge(&one, IDS, 3);
	rca_account_close(&one);
}

static void largest_limit_is_no_overflow(struct kunit *test)
{
	struct rca_account one;

	rca_user_limits[IDS] = INT_MAX;
	rca_context_limits[IDS] = INT_MAX;
	KUNIT_ASSERT_EQ(test, rca_account_open(&one, ANNA, false), 0);
	KUNIT_EXPECT_EQ(test, rca_charge(&one, IDS, UINT_MAX), -EDQUOT);
	KUNIT_EXPECT_EQ(test, rca_charge(&one, IDS, INT_MAX), 0);
	KUNIT_EXPECT_EQ(test, rca_charge(&one, IDS, 1), -EDQUOT);
	KUNIT_EXPECT_EQ(test, usage(&one, IDS).context.used, (u32)INT_MAX);
	rca_uncharge(&one, IDS, INT_MAX);
	rca_account_close(&one);
}

static void full_counts_no_refusal(struct kunit *test)
{
	struct rca_account one;

	rca_context_limits[REQUESTS] = 1;
	KUNIT_ASSERT_EQ(test, rca_account_open(&one, ANNA, false), 0);
	KUNIT_EXPECT_FALSE(test, rca_account_full(&one, REQUESTS));
	KUNIT_EXPECT_EQ(test, rca_charge(&one, REQUESTS, 1), 0);
	KUNIT_EXPECT_TRUE(test, rca_account_full(&one, REQUESTS));
	KUNIT_EXPECT_EQ(test, usage(&one, REQUESTS).context.refused, 0ULL);
	rca_account_refused(&one, REQUESTS);
	KUNIT_EXPECT_EQ(test, usage(&one, REQUESTS).context.refused, 1ULL);
	rca_uncharge(&one, REQUESTS, 1);
	rca_account_close(&one);
}

#define RACERS 4
#define ROUNDS 20000
#define ROOM 2

struct charge_race {
	struct rca_account account[RACERS];
	atomic_t inside;
	atomic_t wrong;
	atomic_t got;
};

/* Charge and uncharge one id, and check that the limit is never exceeded. */
static void charge_run(void *arg, unsigned int n)
{
	struct charge_race *race = arg;
	struct rca_account *account = &race->account[n];
	int i;

	for (i = 0; i < ROUNDS; i++) {
		if (rca_charge(account, IDS, 1))
			continue;
		if (atomic_inc_return(&race->inside) > ROOM)
			atomic_inc(&race->wrong);
		atomic_inc(&race->got);
		atomic_dec(&race->inside);
		rca_uncharge(account, IDS, 1);
	}
}

static void race_never_exceeds_the_limit(struct kunit *test)
{
	struct charge_race *race = kunit_kzalloc(test, sizeof(*race), GFP_KERNEL);
	struct rca_usage user;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, race);
	rca_user_limits[IDS] = ROOM;
	for (i = 0; i < RACERS; i++)
		KUNIT_ASSERT_EQ(test, rca_account_open(&race->account[i], ANNA, false), 0);
	rca_race(test, RACERS, charge_run, race);
	KUNIT_EXPECT_EQ(test, atomic_read(&race->wrong), 0);
	user = usage(&race->account[0], IDS).user;
	KUNIT_EXPECT_EQ(test, user.used, 0U);
	KUNIT_EXPECT_EQ(test, (u64)atomic_read(&race->got) + user.refused, (u64)RACERS * ROUNDS);
	for (i = 0; i < RACERS; i++)
		rca_account_close(&race->account[i]);
}

static void open_run(void *arg, unsigned int n)
{
	struct rca_account account;
	atomic_t *wrong = arg;
	int i;

	for (i = 0; i < ROUNDS / 10; i++) {
		if (rca_account_open(&account, n % 2 ? ANNA : BERT, false)) {
			atomic_inc(wrong);
			continue;
		}
		if (usage(&account, CONTEXTS).user.used > RACERS / 2)
			atomic_inc(wrong);
		rca_account_close(&account);
	}
}

static void race_of_users_who_come_and_go(struct kunit *test)
{
	atomic_t *wrong = kunit_kzalloc(test, sizeof(*wrong), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, wrong);
	rca_race(test, RACERS, open_run, wrong);
	KUNIT_EXPECT_EQ(test, atomic_read(wrong), 0);
}

static void nothing_stays_charged(struct kunit *test, const struct rca_account *account)
{
	int what;

	for (what = QUEUES; what < RCA_RESOURCES; what++)
		KUNIT_EXPECT_EQ(test, usage(account, what).context.used, what == QUEUES ? 1U : 0U);
}

/* A connection on the fake transport, from creation to destruction. */
static void id_and_its_records_are_charged_and_given_back(struct kunit *test)
{
	struct rca_tp_conn conn = { .qp_num = 42 };
	struct fake *fake = fake_create(test);
	struct rca_account *account = &fake->ctx->account;
	struct rdma_cm_alt_event rec;
	struct rca_id *id;
	u32 reported;

	nothing_stays_charged(test, account);
	id = fake_active_id(test, fake, 1);
	KUNIT_EXPECT_EQ(test, usage(account, IDS).context.used, 1U);
	KUNIT_EXPECT_EQ(test, usage(account, EVENTS).context.used, 0U);
	KUNIT_EXPECT_EQ(test, rca_connect(id, &conn), 0);
	KUNIT_EXPECT_EQ(test, usage(account, EVENTS).context.used, 1U);
	fake_message(id, RCA_IN_REP, 0);
	KUNIT_EXPECT_EQ(test, usage(account, EVENTS).context.used, 1U);
	KUNIT_EXPECT_TRUE(test, fake_take_event(fake, &rec));
	KUNIT_EXPECT_EQ(test, usage(account, EVENTS).context.used, 0U);
	KUNIT_EXPECT_EQ(test, rca_id_post_user(id, RDMA_CM_ALT_EVENT_USER, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, usage(account, EVENTS).context.used, 1U);
	/* The user event is never read. */
	KUNIT_EXPECT_EQ(test, rca_destroy(fake->ctx, id->obj.handle, &reported), 0);
	nothing_stays_charged(test, account);
	fake_destroy(fake);
}

static void operation_without_room_for_its_event_changes_nothing(struct kunit *test)
{
	struct rca_tp_conn conn = { .qp_num = 42 };
	struct fake *fake = fake_create(test);
	struct rca_account *account = &fake->ctx->account;
	struct rca_id *id = fake_active_id(test, fake, 1);

	rca_context_limits[EVENTS] = 1;
	KUNIT_EXPECT_EQ(test, rca_id_post_user(id, RDMA_CM_ALT_EVENT_USER, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, rca_connect(id, &conn), -EDQUOT);
	KUNIT_EXPECT_EQ(test, rca_id_post_user(id, RDMA_CM_ALT_EVENT_USER, 0, 0), -EDQUOT);
	KUNIT_EXPECT_EQ(test, (int)rca_id_state(id), (int)RCA_ST_ROUTE_RESOLVED);
	KUNIT_EXPECT_EQ(test, fake->connects, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&fake->lowers), 0);
	KUNIT_EXPECT_EQ(test, usage(account, EVENTS).context.refused, 2ULL);
	rca_context_limits[EVENTS] = 2;
	KUNIT_EXPECT_EQ(test, rca_connect(id, &conn), 0);
	fake_destroy(fake);
}

/* An unsolicited event is delivered without its details. */
static void event_of_a_peer_is_not_lost_at_the_limit(struct kunit *test)
{
	struct fake *fake = fake_create(test);
	struct rca_id *id = fake_child(test, fake);
	struct rdma_cm_alt_event rec;

	rca_context_limits[EVENTS] = 1;
	KUNIT_EXPECT_EQ(test, rca_id_post_user(id, RDMA_CM_ALT_EVENT_USER, 0, 0), 0);
	rca_id_step(id, RCA_IN_ACCEPT);	/* as an accept that has used its event */
	fake_message(id, RCA_IN_REJ, 28);
	KUNIT_EXPECT_TRUE(test, fake_take_event(fake, &rec));
	KUNIT_EXPECT_EQ(test, rec.type, (u32)RDMA_CM_ALT_EVENT_USER);
	KUNIT_EXPECT_TRUE(test, fake_take_event(fake, &rec));
	KUNIT_EXPECT_EQ(test, rec.type, (u32)RDMA_CM_ALT_EVENT_REJECTED);
	KUNIT_EXPECT_EQ(test, rec.status, 28);
	KUNIT_EXPECT_FALSE(test, rec.flags & RDMA_CM_ALT_EVENT_F_CONN);
	fake_destroy(fake);
}

static void refused_id_leaves_nothing(struct kunit *test)
{
	struct fake *fake = fake_create(test);
	struct rca_account *account = &fake->ctx->account;
	struct rca_id *id;

	rca_context_limits[IDS] = 1;
	fake_active_id(test, fake, 1);
	id = rca_id_create(fake->ctx, fake->queue, RDMA_PS_TCP, IB_QPT_RC, 2);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(id), -EDQUOT);
	KUNIT_EXPECT_EQ(test, usage(account, IDS).context.used, 1U);
	KUNIT_EXPECT_EQ(test, usage(account, IDS).context.refused, 1ULL);
	fake_destroy(fake);
}

static struct kunit_case limits_cases[] = {
	KUNIT_CASE(contexts_of_a_user_share_his_counts),
	KUNIT_CASE(users_are_told_apart),
	KUNIT_CASE(user_without_a_context_is_forgotten),
	KUNIT_CASE(limit_of_the_user_is_for_all_his_contexts),
	KUNIT_CASE(limit_of_the_context_is_its_own),
	KUNIT_CASE(too_many_contexts_are_refused),
	KUNIT_CASE(part_of_a_context_is_rounded_up),
	KUNIT_CASE(exempt_contexts_have_their_own_limit_alone),
	KUNIT_CASE(limits_below_what_is_used_let_nothing_new_in),
	KUNIT_CASE(largest_limit_is_no_overflow),
	KUNIT_CASE(full_counts_no_refusal),
	KUNIT_CASE(race_never_exceeds_the_limit),
	KUNIT_CASE(race_of_users_who_come_and_go),
	KUNIT_CASE(id_and_its_records_are_charged_and_given_back),
	KUNIT_CASE(operation_without_room_for_its_event_changes_nothing),
	KUNIT_CASE(event_of_a_peer_is_not_lost_at_the_limit),
	KUNIT_CASE(refused_id_leaves_nothing),
	{}
};

static struct kunit_suite limits_suite = {
	.name = "rdma_cm_alt_limits",
	.init = limits_init,
	.exit = limits_exit,
	.test_cases = limits_cases,
};

kunit_test_suite(limits_suite);
