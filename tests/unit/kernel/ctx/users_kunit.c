// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of kernel/ctx/limits.c: what users share, workqueues and memory that is not charged. */
#include <kunit/test.h>
#include <linux/cred.h>
#include <linux/sched.h>
#include <linux/user_namespace.h>
#include <linux/workqueue.h>

#include "ctx/ctx.h"
#include "lib/testing.h"

static void users_have_workqueues_of_their_own(struct kunit *test)
{
	struct rca_account a, again, b;

	KUNIT_ASSERT_EQ(test, rca_account_open(&a, KUIDT_INIT(70001), false), 0);
	KUNIT_ASSERT_EQ(test, rca_account_open(&again, KUIDT_INIT(70001), false), 0);
	KUNIT_ASSERT_EQ(test, rca_account_open(&b, KUIDT_INIT(70002), false), 0);
	KUNIT_EXPECT_PTR_EQ(test, rca_account_wq(&a), rca_account_wq(&again));
	KUNIT_EXPECT_PTR_NE(test, rca_account_wq(&a), rca_account_wq(&b));
	KUNIT_EXPECT_PTR_EQ(test, rca_account_slow_wq(&a), rca_account_slow_wq(&again));
	KUNIT_EXPECT_PTR_NE(test, rca_account_slow_wq(&a), rca_account_slow_wq(&b));
	KUNIT_EXPECT_PTR_NE(test, rca_account_slow_wq(&a), rca_account_wq(&a));
	rca_account_close(&a);
	rca_account_close(&again);
	rca_account_close(&b);
}

#define CROWD 30

/* Work of users who share must not keep the module's own waiting, nor slow work the other. */
static void users_without_workqueues_share_others(struct kunit *test)
{
	struct rca_account *accounts = kunit_kcalloc(test, CROWD, sizeof(*accounts), GFP_KERNEL);
	const unsigned int usual = rca_max_own_wq;
	struct workqueue_struct *shared, *slow;
	int i, n;

	KUNIT_ASSERT_NOT_NULL(test, accounts);
	rca_max_own_wq = CROWD / 2;
	for (n = 0; n < CROWD; n++)
		if (rca_account_open(&accounts[n], KUIDT_INIT(80000 + n), false))
			break;
	rca_max_own_wq = usual;
	KUNIT_ASSERT_EQ(test, n, CROWD);
	shared = rca_account_wq(&accounts[CROWD - 2]);
	slow = rca_account_slow_wq(&accounts[CROWD - 2]);
	KUNIT_EXPECT_PTR_EQ(test, rca_account_wq(&accounts[CROWD - 1]), shared);
	KUNIT_EXPECT_PTR_EQ(test, rca_account_slow_wq(&accounts[CROWD - 1]), slow);
	KUNIT_EXPECT_PTR_NE(test, shared, slow);
	for (i = 0; i < n; i++) {
		KUNIT_EXPECT_PTR_NE(test, rca_account_wq(&accounts[i]), rca_wq);
		KUNIT_EXPECT_PTR_NE(test, rca_account_slow_wq(&accounts[i]), rca_wq);
	}
	while (n--)
		rca_account_close(&accounts[n]);
}

/* struct called - work that calls a function by rca_account_call(), and which task made the call */
struct called {
	struct work_struct work;
	struct rca_account *account;
	struct task_struct *caller;
	bool by_worker;
};

static void note_worker(void *arg)
{
	struct called *called = arg;

	called->caller = current;
	called->by_worker = current->flags & PF_WQ_WORKER;
}

static void call_from_a_worker(struct work_struct *work)
{
	struct called *called = container_of(work, struct called, work);

	rca_account_call(called->account, RCA_LANE_LISTEN, note_worker, called);
	called->by_worker = called->caller == current;
}

/* A thread of the user may stand still while it has locks; a worker need not wait for another. */
static void calls_are_made_by_workers(struct kunit *test)
{
	struct rca_account account;
	struct called called = { .account = &account };

	KUNIT_ASSERT_EQ(test, rca_account_open(&account, KUIDT_INIT(70001), false), 0);
	rca_account_call(&account, RCA_LANE_LISTEN, note_worker, &called);
	KUNIT_EXPECT_TRUE(test, called.by_worker);
	KUNIT_EXPECT_PTR_NE(test, called.caller, current);

	called.by_worker = false;
	INIT_WORK_ONSTACK(&called.work, call_from_a_worker);
	queue_work(rca_account_wq(&account), &called.work);
	flush_work(&called.work);
	destroy_work_on_stack(&called.work);
	KUNIT_EXPECT_TRUE(test, called.by_worker);
	rca_account_close(&account);
}

/* Subordinate users are the one who made their namespace, unless that is root. */
static void user_of_a_namespace_is_who_made_it(struct kunit *test)
{
	struct user_namespace *inner = kunit_kzalloc(test, sizeof(*inner), GFP_KERNEL);
	struct user_namespace *outer = kunit_kzalloc(test, sizeof(*outer), GFP_KERNEL);
	struct cred *cred = prepare_creds();
	struct user_namespace *own = cred->user_ns;
	const struct cred *before;
	kuid_t within, of_root;

	KUNIT_ASSERT_NOT_NULL(test, inner);
	KUNIT_ASSERT_NOT_NULL(test, outer);
	outer->parent = &init_user_ns;
	outer->owner = KUIDT_INIT(1000);
	inner->parent = outer;
	inner->owner = KUIDT_INIT(100007);
	cred->uid = KUIDT_INIT(100008);
	cred->user_ns = inner;
	before = override_creds(cred);
	within = rca_account_user();
	outer->owner = GLOBAL_ROOT_UID;
	of_root = rca_account_user();
	revert_creds(before);
	cred->user_ns = own;
	put_cred(cred);
	KUNIT_EXPECT_EQ(test, __kuid_val(within), 1000u);
	KUNIT_EXPECT_EQ(test, __kuid_val(of_root), 100008u);
}

static void user_borrows_up_to_a_limit(struct kunit *test)
{
	struct rca_account a, b;
	int i, count = 0;

	KUNIT_ASSERT_EQ(test, rca_account_open(&a, KUIDT_INIT(70001), false), 0);
	KUNIT_ASSERT_EQ(test, rca_account_open(&b, KUIDT_INIT(70002), false), 0);
	while (count < 100000 && rca_account_borrow(&a))
		count++;
	KUNIT_EXPECT_EQ(test, count, 512);
	KUNIT_EXPECT_TRUE(test, rca_account_borrow(&b));
	rca_account_repay(&a);
	KUNIT_EXPECT_TRUE(test, rca_account_borrow(&a));
	KUNIT_EXPECT_FALSE(test, rca_account_borrow(&a));
	for (i = 0; i < count; i++)
		rca_account_repay(&a);
	rca_account_repay(&b);
	rca_account_close(&a);
	rca_account_close(&b);
}

/* As one user may have many user IDs. */
#define BORROWERS 10

static void all_users_borrow_up_to_a_limit(struct kunit *test)
{
	struct rca_account *accounts = kunit_kcalloc(test, BORROWERS, sizeof(*accounts),
						     GFP_KERNEL);
	int counts[BORROWERS] = {};
	int i, count = 0;

	KUNIT_ASSERT_NOT_NULL(test, accounts);
	for (i = 0; i < BORROWERS; i++) {
		KUNIT_ASSERT_EQ(test, rca_account_open(&accounts[i], KUIDT_INIT(80000 + i), false),
				0);
		while (counts[i] < 1000 && rca_account_borrow(&accounts[i]))
			counts[i]++;
		count += counts[i];
	}
	KUNIT_EXPECT_EQ(test, count, 4096);
	KUNIT_EXPECT_EQ(test, counts[BORROWERS - 1], 0);
	/* A refusal takes nothing, and what one repays another may have. */
	rca_account_repay(&accounts[0]);
	KUNIT_EXPECT_TRUE(test, rca_account_borrow(&accounts[BORROWERS - 1]));
	rca_account_repay(&accounts[BORROWERS - 1]);
	counts[0]--;
	for (i = 0; i < BORROWERS; i++) {
		while (counts[i]-- > 0)
			rca_account_repay(&accounts[i]);
		rca_account_close(&accounts[i]);
	}
}

static struct kunit_case users_cases[] = {
	KUNIT_CASE(users_have_workqueues_of_their_own),
	KUNIT_CASE(users_without_workqueues_share_others),
	KUNIT_CASE(calls_are_made_by_workers),
	KUNIT_CASE(user_of_a_namespace_is_who_made_it),
	KUNIT_CASE(user_borrows_up_to_a_limit),
	KUNIT_CASE(all_users_borrow_up_to_a_limit),
	{}
};

static struct kunit_suite users_suite = {
	.name = "rdma_cm_alt_users",
	.test_cases = users_cases,
};

kunit_test_suite(users_suite);
