// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of the numbers that tie a connection to its messages: rca_id_numbers(), the records for the
 * monitor, and the attributes of the netlink family.
 *
 * Locking: none.
 */
#include <kunit/test.h>
#include <net/net_namespace.h>
#include <net/netlink.h>

#include "cm/cm.h"
#include "diag/diag.h"
#include "fake/fake_suite.h"
#include "fake/kept.h"
#include "lib/testing.h"

static const int attrs[] = {
	RDMA_CM_ALT_NL_A_COMM_ID, RDMA_CM_ALT_NL_A_REMOTE_COMM_ID, RDMA_CM_ALT_NL_A_SESSION,
	RDMA_CM_ALT_NL_A_NUMBER,
};

/* Numbers that are put as attributes of these values, in their order; 0: it must be absent. */
static void expect_put(struct kunit *test, const struct rca_tp_numbers *numbers,
		       const u32 *values)
{
	struct sk_buff *skb = nlmsg_new(NLMSG_GOODSIZE, GFP_KERNEL);
	const struct nlattr *attr;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, skb);
	KUNIT_EXPECT_EQ(test, rca_nl_put_numbers(skb, numbers), 0);
	for (i = 0; i < ARRAY_SIZE(attrs); i++) {
		attr = nla_find((void *)skb->data, skb->len, attrs[i]);
		KUNIT_EXPECT_EQ_MSG(test, !attr, !values[i], "attribute %d", attrs[i]);
		if (attr)
			KUNIT_EXPECT_EQ(test, nla_get_u32(attr), values[i]);
	}
	kfree_skb(skb);
}

static void attributes_are_put_if_known(struct kunit *test)
{
	static const struct {
		struct rca_tp_numbers numbers;
		u32 values[ARRAY_SIZE(attrs)];
	} cases[] = {
		{ {}, {} },
		{ { .comm_id = 1 }, { 1 } },
		{ { .comm_id = U32_MAX, .remote_comm_id = 2 }, { U32_MAX, 2 } },
		{ { .session = 3, .number = 4 }, { [2] = 3, [3] = 4 } },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		expect_put(test, &cases[i].numbers, cases[i].values);
}

static void message_is_full(struct kunit *test)
{
	const struct rca_tp_numbers numbers = { 1, 2, 3, 4 };
	struct sk_buff *skb;
	size_t room;

	for (room = 0; room < ARRAY_SIZE(attrs) * nla_total_size(sizeof(u32)); room += 4) {
		skb = nlmsg_new(NLMSG_GOODSIZE, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, skb);
		skb_put(skb, skb_tailroom(skb) - room);
		KUNIT_EXPECT_EQ(test, rca_nl_put_numbers(skb, &numbers), -EMSGSIZE);
		kfree_skb(skb);
	}
}

static void id_has_those_of_its_connection(struct kunit *test)
{
	struct rca_id *id = fake_active_id(test, test->priv, FAKE_COOKIE);
	struct rca_tp_conn conn = { .qp_num = 42 };
	struct rca_tp_numbers numbers = { 1, 2, 3, 4 };

	rca_id_numbers(id, &numbers);
	KUNIT_EXPECT_EQ(test, numbers.comm_id, 0);
	KUNIT_EXPECT_EQ(test, numbers.remote_comm_id, 0);
	KUNIT_EXPECT_EQ(test, numbers.session, 0);
	KUNIT_EXPECT_EQ(test, numbers.number, 0);

	KUNIT_ASSERT_EQ(test, rca_connect(id, &conn), 0);
	rca_id_numbers(id, &numbers);
	KUNIT_EXPECT_EQ(test, numbers.comm_id, ((struct fake_lower *)id->lower)->number);
	KUNIT_EXPECT_EQ(test, numbers.remote_comm_id, FAKE_REMOTE_COMM_ID);

	mutex_lock(&id->op);
	rca_id_drop_lower(id);
	mutex_unlock(&id->op);
	rca_id_numbers(id, &numbers);
	KUNIT_EXPECT_EQ(test, numbers.comm_id, 0);
}

/* Over TCP, messages have no such numbers. */
static void transport_without_numbers(struct kunit *test)
{
	struct rca_id *id = fake_child(test, test->priv);
	const struct rca_tp_ops *tp = id->tp;
	struct rca_tp_ops without = *tp;
	struct rca_tp_numbers numbers = { 1, 2, 3, 4 };

	without.numbers = NULL;
	id->tp = &without;
	rca_id_numbers(id, &numbers);
	KUNIT_EXPECT_EQ(test, numbers.comm_id, 0);
	KUNIT_EXPECT_EQ(test, numbers.number, 0);
	id->tp = tp;
}

/* The record of a failure has them, too. */
static void failure_has_them(struct kunit *test)
{
	struct rca_id *id = fake_active_id(test, test->priv, FAKE_COOKIE);
	struct rca_tp_conn conn = { .qp_num = 42 };

	KUNIT_ASSERT_EQ(test, rca_connect(id, &conn), 0);
	mutex_lock(&id->op);
	rca_id_report_op_on(id, "test", -EIO, &id->local, &id->dst);
	mutex_unlock(&id->op);
	KUNIT_EXPECT_EQ(test, kept_youngest()->numbers.comm_id,
			((struct fake_lower *)id->lower)->number);
}

static struct rca_tp_numbers told;

static void tell(struct net *net, const struct rca_report *report)
{
	if (report && !*report->op && report->event == RDMA_CM_ALT_EVENT_CONNECT_REQUEST)
		told = report->numbers;
}

/* The event is one of the listener, but its numbers are those of the new id. */
static void request_has_those_of_the_new_id(struct kunit *test)
{
	struct rca_id *listener = fake_active_id(test, test->priv, FAKE_COOKIE);
	struct rca_id *child = fake_child(test, test->priv);

	reports_hook(tell);
	memset(&told, 0, sizeof(told));
	spin_lock_irq(&listener->lock);
	rca_id_report_event_locked(listener, RDMA_CM_ALT_EVENT_CONNECT_REQUEST, 0, &listener->dst,
				   child);
	spin_unlock_irq(&listener->lock);
	reports_hook(NULL);
	KUNIT_EXPECT_NE(test, told.comm_id, 0);
	KUNIT_EXPECT_EQ(test, told.comm_id, ((struct fake_lower *)child->lower)->number);
	KUNIT_EXPECT_EQ(test, told.remote_comm_id, FAKE_REMOTE_COMM_ID);
}

static struct kunit_case numbers_cases[] = {
	KUNIT_CASE(attributes_are_put_if_known),
	KUNIT_CASE(message_is_full),
	KUNIT_CASE(id_has_those_of_its_connection),
	KUNIT_CASE(transport_without_numbers),
	KUNIT_CASE(failure_has_them),
	KUNIT_CASE(request_has_those_of_the_new_id),
	{}
};

static struct kunit_suite numbers_suite = {
	.name = "rdma_cm_alt_nl_numbers",
	.init = fake_suite_init,
	.exit = fake_suite_exit,
	.test_cases = numbers_cases,
};

kunit_test_suite(numbers_suite);
