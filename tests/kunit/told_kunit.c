// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of kernel/cmid_story.c: which ends of operations and which events of an id are kept as
 * failures, and with which addresses.
 *
 * Locking: what the functions under test ask for.
 */
#include <kunit/test.h>
#include <linux/inet.h>

#include "connect.h"
#include "fake_suite.h"
#include "kept.h"
#include "retry.h"
#include "teardown.h"

static void set(union rca_addr *addr, const char *host, u16 port)
{
	addr->in.sin_family = AF_INET;
	addr->in.sin_addr.s_addr = in_aton(host);
	addr->in.sin_port = htons(port);
}

static void tell_op(struct rca_id *id, int ret, const union rca_addr *local,
		    const union rca_addr *peer)
{
	char op[] = "test";

	mutex_lock(&id->op);
	rca_id_tell_op_on(id, op, ret, local, peer);
	mutex_unlock(&id->op);
	/* A story outlives the module whose string it was, as this one is. */
	strscpy(op, "gone", sizeof(op));
}

/* A failed call leaves the id's addresses as they were: what was asked for is told. */
static void failed_operation_has_the_addresses_asked_for(struct kunit *test)
{
	struct rca_id *id = fake_active_id(test, test->priv, FAKE_COOKIE);
	union rca_addr local = {}, peer = {};
	u64 before = kept_count();
	const struct rca_story *story;

	set(&local, "192.0.2.1", 7);
	set(&peer, "192.0.2.2", 8);
	tell_op(id, -EADDRNOTAVAIL, &local, &peer);
	story = kept_youngest();
	KUNIT_EXPECT_EQ(test, story->serial, before + 1);
	KUNIT_EXPECT_STREQ(test, story->op, "test");
	KUNIT_EXPECT_EQ(test, story->status, -EADDRNOTAVAIL);
	KUNIT_EXPECT_EQ(test, memcmp(story->local.bytes, local.bytes, sizeof(local.bytes)), 0);
	KUNIT_EXPECT_EQ(test, memcmp(story->peer.bytes, peer.bytes, sizeof(peer.bytes)), 0);
}

static void what_went_well_or_was_interrupted_did_not_fail(struct kunit *test)
{
	static const int ends[] = { 0, 1, -ERESTARTSYS, -EINTR };
	struct rca_id *id = fake_active_id(test, test->priv, FAKE_COOKIE);
	u64 before = kept_count();
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		tell_op(id, ends[i], &id->local, &id->dst);
		KUNIT_EXPECT_EQ_MSG(test, kept_count(), before, "end %d", ends[i]);
	}
}

/* The peer of a slow program cannot be told to wait; the program has not asked for that. */
static void patience_that_is_not_asked_for_is_no_failure(struct kunit *test)
{
	struct rca_id *id = fake_active_id(test, test->priv, FAKE_COOKIE);
	struct rca_tp_conn conn = { .qp_num = 42 };
	struct fake *fake = test->priv;
	u64 before;

	KUNIT_ASSERT_EQ(test, rca_connect(id, &conn), 0);
	fake_message(id, RCA_IN_REP, 0);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_CONNECT_RESPONSE, 0);
	before = kept_count();
	fake->fail = -ENOMEM;
	rca_id_flush(id);
	KUNIT_EXPECT_EQ(test, fake->fail, 0);
	KUNIT_EXPECT_EQ(test, kept_count(), before);
	fake_expect_state(test, id, RCA_ST_REP_RCVD);

	/* What it does ask for is one. */
	fake->fail = -ENOMEM;
	KUNIT_EXPECT_EQ(test, rca_establish(id), -ENOMEM);
	KUNIT_EXPECT_EQ(test, kept_count(), before + 1);
}

static void events_that_are_failures(struct kunit *test)
{
	static const struct {
		u32 type;
		int status;
		bool kept;
	} events[] = {
		{ RDMA_CM_ALT_EVENT_ADDR_RESOLVED, 0, false },
		{ RDMA_CM_ALT_EVENT_ADDR_ERROR, -ENODEV, true },
		{ RDMA_CM_ALT_EVENT_ROUTE_ERROR, -ETIMEDOUT, true },
		{ RDMA_CM_ALT_EVENT_CONNECT_ERROR, -ECONNABORTED, true },
		{ RDMA_CM_ALT_EVENT_UNREACHABLE, 1, true },
		{ RDMA_CM_ALT_EVENT_REJECTED, 28, true },
		{ RDMA_CM_ALT_EVENT_ESTABLISHED, 0, false },
		{ RDMA_CM_ALT_EVENT_DISCONNECTED, 0, false },
		{ RDMA_CM_ALT_EVENT_DISCONNECTED, -ECONNRESET, true },
		{ RDMA_CM_ALT_EVENT_DEVICE_REMOVAL, 0, true },
		{ RDMA_CM_ALT_EVENT_MULTICAST_ERROR, -ENETUNREACH, true },
		{ RDMA_CM_ALT_EVENT_USER, -EIO, false },
	};
	struct rca_id *id = fake_active_id(test, test->priv, FAKE_COOKIE);
	unsigned long flags;
	unsigned int i;
	u64 before;

	for (i = 0; i < ARRAY_SIZE(events); i++) {
		before = kept_count();
		spin_lock_irqsave(&id->lock, flags);
		rca_id_tell_event_locked(id, events[i].type, events[i].status);
		spin_unlock_irqrestore(&id->lock, flags);
		KUNIT_EXPECT_EQ_MSG(test, kept_count() - before, (u64)events[i].kept,
				    "event %u, status %d", events[i].type, events[i].status);
		if (!events[i].kept)
			continue;
		KUNIT_EXPECT_EQ(test, kept_youngest()->event, events[i].type);
		KUNIT_EXPECT_EQ(test, kept_youngest()->status, events[i].status);
	}
}

static struct kunit_case told_cases[] = {
	KUNIT_CASE(failed_operation_has_the_addresses_asked_for),
	KUNIT_CASE(what_went_well_or_was_interrupted_did_not_fail),
	KUNIT_CASE(patience_that_is_not_asked_for_is_no_failure),
	KUNIT_CASE(events_that_are_failures),
	{}
};

static struct kunit_suite told_suite = {
	.name = "rdma_cm_alt_told",
	.init = fake_suite_init,
	.exit = fake_suite_exit,
	.test_cases = told_cases,
};
kunit_test_suite(told_suite);
