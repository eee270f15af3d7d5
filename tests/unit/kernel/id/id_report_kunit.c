// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of kernel/id/id_event.c: which operations and events of an id are logged as failures. */
#include <kunit/test.h>
#include <linux/inet.h>

#include "cm/internal.h"
#include "fake/fake_suite.h"
#include "fake/kept.h"
#include "lib/testing.h"

static void set(union rca_addr *addr, const char *host, u16 port)
{
	addr->in.sin_family = AF_INET;
	addr->in.sin_addr.s_addr = in_aton(host);
	addr->in.sin_port = htons(port);
}

static void report_op(struct rca_id *id, int ret, const union rca_addr *local,
		      const union rca_addr *peer)
{
	char op[] = "test";

	mutex_lock(&id->op);
	rca_id_report_op_on(id, op, ret, local, peer);
	mutex_unlock(&id->op);
	/* The record must have a copy of the string, which may belong to an unloaded module. */
	strscpy(op, "gone", sizeof(op));
}

/* A failed call does not change the addresses of the id: the requested ones are logged. */
static void failed_operation_has_the_addresses_asked_for(struct kunit *test)
{
	struct rca_id *id = fake_active_id(test, test->priv, FAKE_COOKIE);
	union rca_addr local = {}, peer = {};
	u64 before = kept_count();
	const struct rca_report *report;

	set(&local, "192.0.2.1", 7);
	set(&peer, "192.0.2.2", 8);
	report_op(id, -EADDRNOTAVAIL, &local, &peer);
	report = kept_youngest();
	KUNIT_EXPECT_EQ(test, report->serial, before + 1);
	KUNIT_EXPECT_STREQ(test, report->op, "test");
	KUNIT_EXPECT_EQ(test, report->status, -EADDRNOTAVAIL);
	KUNIT_EXPECT_EQ(test, memcmp(report->local.bytes, local.bytes, sizeof(local.bytes)), 0);
	KUNIT_EXPECT_EQ(test, memcmp(report->peer.bytes, peer.bytes, sizeof(peer.bytes)), 0);
}

static void what_went_well_or_was_interrupted_did_not_fail(struct kunit *test)
{
	static const int ends[] = {
		0, 1, -EINTR, -ERESTARTSYS, -ERESTARTNOINTR, -ERESTARTNOHAND,
		-ERESTART_RESTARTBLOCK,
	};
	struct rca_id *id = fake_active_id(test, test->priv, FAKE_COOKIE);
	u64 before = kept_count();
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		report_op(id, ends[i], &id->local, &id->dst);
		KUNIT_EXPECT_EQ_MSG(test, kept_count(), before, "end %d", ends[i]);
	}
}

/* User space has no names for internal errnos. */
static void numbers_of_the_kernel_stay_inside(struct kunit *test)
{
	struct rca_id *id = fake_active_id(test, test->priv, FAKE_COOKIE);

	report_op(id, -ENOTSUPP, &id->local, &id->dst);
	KUNIT_EXPECT_EQ(test, kept_youngest()->status, -EOPNOTSUPP);
	kept_has_room();
	rca_id_report_refused(id, &id->dst, -EPROBE_DEFER);
	KUNIT_EXPECT_EQ(test, kept_youngest()->status, -EAGAIN);
	KUNIT_EXPECT_STREQ(test, kept_youngest()->op, "request");
}

/* An operation that is aborted because the id is destroyed is not logged. */
static void what_the_end_of_an_id_ends_did_not_fail(struct kunit *test)
{
	struct rca_id *id = fake_active_id(test, test->priv, FAKE_COOKIE);
	struct fake *fake = test->priv;
	u64 before = kept_count();
	u32 reported;

	rca_id_get(id);
	KUNIT_EXPECT_EQ(test, rca_destroy(fake->ctx, id->obj.handle, &reported), 0);
	fake_expect_state(test, id, RCA_ST_DESTROYING);
	report_op(id, -ECONNABORTED, &id->local, &id->dst);
	KUNIT_EXPECT_EQ(test, kept_count(), before);
	rca_id_put(id);
}

/* An event that is pending already is not logged again. */
static void change_of_the_network_is_told_once(struct kunit *test)
{
	struct rca_id *id = fake_active_id(test, test->priv, FAKE_COOKIE);
	u64 before = kept_count();
	int i;

	for (i = 0; i < 3; i++) {
		spin_lock_irq(&id->lock);
		rca_id_post_net_locked(id, RDMA_CM_ALT_EVENT_UNREACHABLE);
		spin_unlock_irq(&id->lock);
	}
	KUNIT_EXPECT_EQ(test, kept_count(), before + 1);
	KUNIT_EXPECT_EQ(test, kept_youngest()->status, -ETIMEDOUT);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_UNREACHABLE, -ETIMEDOUT);
	fake_expect_no_event(test);

	/* After it was read, another one is logged. */
	spin_lock_irq(&id->lock);
	rca_id_post_net_locked(id, RDMA_CM_ALT_EVENT_UNREACHABLE);
	spin_unlock_irq(&id->lock);
	KUNIT_EXPECT_EQ(test, kept_count(), before + 2);
}

static const char *reject_text(int reason)
{
	return reason == 28 ? "consumer defined" : "another";
}

/* Rejects and SIDR refusals have different reasons. */
static void reasons_have_the_names_of_their_events(struct kunit *test)
{
	struct rca_id *id = fake_active_id(test, test->priv, FAKE_COOKIE);
	struct fake *fake = test->priv;
	const struct rca_tp_ops *before = fake->dev.tp;
	struct rca_tp_ops ops = *before;

	ops.reject_msg = reject_text;
	fake_set_tp(fake, &ops);
	KUNIT_EXPECT_STREQ(test, rca_id_reason(id, RDMA_CM_ALT_EVENT_REJECTED, 28),
			   "consumer defined");
	KUNIT_EXPECT_STREQ(test, rca_id_reason(id, RDMA_CM_ALT_EVENT_DISCONNECTED, 28),
			   "consumer defined");
	KUNIT_EXPECT_STREQ(test, rca_id_reason(id, RDMA_CM_ALT_EVENT_UNREACHABLE, 1),
			   "refused with SIDR status");
	KUNIT_EXPECT_NULL(test, rca_id_reason(id, RDMA_CM_ALT_EVENT_CONNECT_ERROR, 28));
	KUNIT_EXPECT_NULL(test, rca_id_reason(id, RDMA_CM_ALT_EVENT_REJECTED, 0));
	KUNIT_EXPECT_NULL(test, rca_id_reason(id, RDMA_CM_ALT_EVENT_UNREACHABLE, -ETIMEDOUT));
	ops.reject_msg = NULL;
	KUNIT_EXPECT_NULL(test, rca_id_reason(id, RDMA_CM_ALT_EVENT_REJECTED, 28));
	fake_set_tp(fake, before);
}

/* An MRA that cannot be sent is not logged: the program did not request it. */
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
	rca_id_flush_work(id);
	KUNIT_EXPECT_EQ(test, fake->fail, 0);
	KUNIT_EXPECT_EQ(test, kept_count(), before);
	fake_expect_state(test, id, RCA_ST_REP_RCVD);

	/* A failed operation of the program is logged. */
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
		rca_id_report_event_locked(id, events[i].type, events[i].status, &id->dst, id);
		spin_unlock_irqrestore(&id->lock, flags);
		KUNIT_EXPECT_EQ_MSG(test, kept_count() - before, (u64)events[i].kept,
				    "event %u, status %d", events[i].type, events[i].status);
		if (!events[i].kept)
			continue;
		KUNIT_EXPECT_EQ(test, kept_youngest()->event, events[i].type);
		KUNIT_EXPECT_EQ(test, kept_youngest()->status, events[i].status);
	}
}

static struct kunit_case diag_cases[] = {
	KUNIT_CASE(failed_operation_has_the_addresses_asked_for),
	KUNIT_CASE(what_went_well_or_was_interrupted_did_not_fail),
	KUNIT_CASE(numbers_of_the_kernel_stay_inside),
	KUNIT_CASE(what_the_end_of_an_id_ends_did_not_fail),
	KUNIT_CASE(change_of_the_network_is_told_once),
	KUNIT_CASE(reasons_have_the_names_of_their_events),
	KUNIT_CASE(patience_that_is_not_asked_for_is_no_failure),
	KUNIT_CASE(events_that_are_failures),
	{}
};

static struct kunit_suite diag_suite = {
	.name = "rdma_cm_alt_told",
	.init = fake_suite_init,
	.exit = fake_suite_exit,
	.test_cases = diag_cases,
};
kunit_test_suite(diag_suite);
