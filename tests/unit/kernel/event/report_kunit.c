// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of kernel/event/report.c: the failure log of a namespace and its bounds, and notifications.
 *
 * They use the initial network namespace, whose earlier records they drop, and get the
 * notifications in place of the group of the netlink family meanwhile.
 */
#include <kunit/test.h>
#include <linux/irqflags.h>
#include <linux/pid.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <net/net_namespace.h>

#include "event/event.h"
#include "fake/kept.h"
#include "lib/testing.h"

static void report_one(u32 handle, bool keep)
{
	struct rca_report report = { .handle = handle, .op = "test", .status = -EINVAL };

	rca_report(rca_reports_of(&init_net), &report, keep);
}

static void failure_is_kept_as_it_was_told(struct kunit *test)
{
	struct rca_report told = { .handle = 7, .event = 3, .status = -ENODEV, .dev = "rxe0" };
	struct rca_report kept;
	u64 before = kept_count();

	told.pid = task_tgid(current);
	rca_report(rca_reports_of(&init_net), &told, true);
	KUNIT_ASSERT_TRUE(test, rca_reports_next(&init_net, before, &kept));
	KUNIT_EXPECT_EQ(test, kept.handle, 7u);
	KUNIT_EXPECT_EQ(test, kept.event, 3u);
	KUNIT_EXPECT_EQ(test, kept.status, -ENODEV);
	KUNIT_EXPECT_STREQ(test, kept.dev, "rxe0");
	KUNIT_EXPECT_PTR_EQ(test, kept.pid, task_tgid(current));
	KUNIT_EXPECT_GT(test, kept.at, 0ULL);
	KUNIT_EXPECT_GT(test, kept.serial, before);
	put_pid(kept.pid);
	KUNIT_EXPECT_FALSE(test, rca_reports_next(&init_net, kept.serial, &kept));
}

static void what_goes_well_is_not_kept(struct kunit *test)
{
	u64 before = kept_count();

	report_one(1, false);
	KUNIT_EXPECT_EQ(test, kept_count(), before);
}

static void oldest_goes_first(struct kunit *test)
{
	struct rca_report report;
	u64 after = 0, last;
	u32 count = 0, i;

	for (i = 0; i < 2 * RCA_REPORTS_KEPT + 3; i++)
		report_one(i, true);
	last = kept_count();
	while (rca_reports_next(&init_net, after, &report)) {
		put_pid(report.pid);
		if (after)
			KUNIT_EXPECT_EQ(test, report.serial, after + 1);
		after = report.serial;
		count++;
	}
	KUNIT_EXPECT_EQ(test, count, (u32)RCA_REPORTS_KEPT);
	KUNIT_EXPECT_EQ(test, after, last);
	KUNIT_EXPECT_EQ(test, report.handle, 2u * RCA_REPORTS_KEPT + 2);
}

/* A record holds a reference on its process, which must not leak. */
static void processes_are_not_kept_for_ever(struct kunit *test)
{
	struct pid *pid = get_pid(task_tgid(current));
	struct rca_report report = { .pid = pid, .op = "test", .status = -EINVAL };
	unsigned int before, i;

	for (i = 0; i < RCA_REPORTS_KEPT; i++)
		report_one(i, true);
	before = refcount_read(&pid->count);
	for (i = 0; i < RCA_REPORTS_KEPT; i++)
		rca_report(rca_reports_of(&init_net), &report, true);
	KUNIT_EXPECT_EQ(test, refcount_read(&pid->count), before + RCA_REPORTS_KEPT);
	for (i = 0; i < RCA_REPORTS_KEPT; i++)
		report_one(i, true);
	KUNIT_EXPECT_EQ(test, refcount_read(&pid->count), before);
	put_pid(pid);
}

/* The records that the receiver got. */
static struct {
	unsigned int reports;
	unsigned int losses;
	u32 last_handle;
	bool in_order;
	bool may_sleep;
} received;

static void receive(struct net *net, const struct rca_report *report)
{
	if (!report) {
		received.losses++;
		return;
	}
	received.in_order &= report->handle == received.last_handle + 1;
	received.may_sleep &= in_task() && !irqs_disabled() && !rcu_preempt_depth();
	received.last_handle = report->handle;
	received.reports++;
}

/* Report as ids do: with a lock held, and interrupts disabled. */
static void report_many(u32 count)
{
	static DEFINE_SPINLOCK(lock);
	unsigned long flags;
	u32 i;

	memset(&received, 0, sizeof(received));
	received.in_order = true;
	received.may_sleep = true;
	reports_hook(receive);
	spin_lock_irqsave(&lock, flags);
	for (i = 1; i <= count; i++)
		report_one(i, false);
	spin_unlock_irqrestore(&lock, flags);
	reports_hook(NULL);
}

/* The receiver transmits over network devices, which is not allowed in atomic context. */
static void listener_is_told_where_it_may_sleep(struct kunit *test)
{
	report_many(100);
	KUNIT_EXPECT_EQ(test, received.reports, 100u);
	KUNIT_EXPECT_EQ(test, received.losses, 0u);
	KUNIT_EXPECT_TRUE(test, received.in_order);
	KUNIT_EXPECT_TRUE(test, received.may_sleep);
}

/*
 * The queue is bounded, and a loss is reported once. Records that another CPU delivers meanwhile
 * make space for more.
 */
static void listener_is_told_what_it_misses(struct kunit *test)
{
	report_many(4 * RCA_REPORTS_WAIT_MAX);
	KUNIT_EXPECT_GE(test, received.reports, (unsigned int)RCA_REPORTS_WAIT_MAX);
	if (num_online_cpus() == 1) {
		KUNIT_EXPECT_EQ(test, received.reports, (unsigned int)RCA_REPORTS_WAIT_MAX);
		KUNIT_EXPECT_EQ(test, received.losses, 1u);
		KUNIT_EXPECT_TRUE(test, received.in_order);
	}
	KUNIT_EXPECT_TRUE(test, received.losses || received.reports == 4 * RCA_REPORTS_WAIT_MAX);
	KUNIT_EXPECT_TRUE(test, received.may_sleep);
}

/* Each record causes two more, until the number is reached. */
static struct {
	unsigned int left;
	unsigned int losses;
} flood;

static void receive_flood(struct net *net, const struct rca_report *report)
{
	if (!report)
		flood.losses += !!flood.left;
	if (!report || !flood.left)
		return;
	flood.left--;
	report_one(1, false);
	report_one(2, false);
}

/* A loss is reported during the flood, which may never end, but not for each record. */
static void listener_is_told_while_it_misses_it(struct kunit *test)
{
	flood.left = 6 * RCA_REPORTS_WAIT_MAX;
	flood.losses = 0;
	reports_hook(receive_flood);
	report_one(1, false);
	reports_hook(NULL);
	KUNIT_EXPECT_EQ(test, flood.left, 0u);
	KUNIT_EXPECT_GE(test, flood.losses, 4u);
	KUNIT_EXPECT_LE(test, flood.losses, 6u);
}

static void nobody_has_to_listen(struct kunit *test)
{
	memset(&received, 0, sizeof(received));
	KUNIT_EXPECT_FALSE(test, rca_reports_wanted(&init_net));
	report_one(1, false);
	reports_hook(receive);
	KUNIT_EXPECT_TRUE(test, rca_reports_wanted(&init_net));
	reports_hook(NULL);
	KUNIT_EXPECT_EQ(test, received.reports, 0u);
}

/* Records that were not delivered before the receiver is removed are dropped. */
static void who_has_gone_hears_nothing(struct kunit *test)
{
	u32 i;

	reports_hook(receive);
	for (i = 0; i < 2 * RCA_REPORTS_WAIT_MAX; i++)
		report_one(i, false);
	reports_hook(NULL);
	memset(&received, 0, sizeof(received));
	reports_hook(receive);
	reports_hook(NULL);
	KUNIT_EXPECT_EQ(test, received.reports, 0u);
	KUNIT_EXPECT_EQ(test, received.losses, 0u);
}

/* Two namespaces; records of the second have FEW in their handle. */
#define FEW 0x10000

static struct {
	unsigned int many;
	unsigned int few;
	unsigned int between;
	unsigned int losses;
	bool from_the_future;
} two;

static void receive_two(struct net *net, const struct rca_report *report)
{
	if (!report) {
		two.losses++;
		return;
	}
	two.from_the_future |= report->at > ktime_get_real_ns();
	if (report->handle < FEW) {
		two.many++;
	} else {
		/* All of them, in their order. */
		two.few += report->handle == FEW + two.few;
		two.between = two.many;
	}
}

static void report_to(struct rca_reports *reports, u32 handle, unsigned int count)
{
	struct rca_report report = { .op = "test", .at = U64_MAX };
	unsigned int i;

	for (i = 0; i < count; i++) {
		report.handle = handle + i;
		rca_report(reports, &report, false);
	}
}

/* A namespace with many records neither uses up the space of another nor delays it. */
static void namespaces_do_not_crowd_each_other_out(struct kunit *test)
{
	struct rca_reports *reports = kunit_kcalloc(test, 2, sizeof(*reports), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, reports);
	rca_reports_init(&reports[0], &init_net);
	rca_reports_init(&reports[1], &init_net);
	memset(&two, 0, sizeof(two));
	reports_hook(receive_two);
	preempt_disable();
	report_to(&reports[0], 0, 2 * RCA_REPORTS_WAIT_MAX);
	report_to(&reports[1], FEW, 10);
	preempt_enable();
	reports_flush(&reports[0]);
	reports_flush(&reports[1]);
	reports_hook(NULL);
	/* The time of a record is that of its turn in the queue. */
	KUNIT_EXPECT_FALSE(test, two.from_the_future);
	KUNIT_EXPECT_EQ(test, two.few, 10u);
	KUNIT_EXPECT_GE(test, two.many, (unsigned int)RCA_REPORTS_WAIT_MAX);
	KUNIT_EXPECT_FALSE(test, reports[0].delivering);
	KUNIT_EXPECT_FALSE(test, reports[1].delivering);
	if (num_online_cpus() > 1)
		return;
	KUNIT_EXPECT_EQ(test, two.many, (unsigned int)RCA_REPORTS_WAIT_MAX);
	KUNIT_EXPECT_EQ(test, two.between, 10u);
	KUNIT_EXPECT_EQ(test, two.losses, 1u);
}

static void few_refusals_are_told(struct kunit *test)
{
	unsigned int told = 0, i;

	for (i = 0; i < 1000; i++)
		told += rca_reports_ratelimit(&init_net);
	KUNIT_EXPECT_GT(test, told, 0u);
	KUNIT_EXPECT_LT(test, told, 100u);
}

static struct kunit_case log_cases[] = {
	KUNIT_CASE(failure_is_kept_as_it_was_told),
	KUNIT_CASE(what_goes_well_is_not_kept),
	KUNIT_CASE(oldest_goes_first),
	KUNIT_CASE(processes_are_not_kept_for_ever),
	KUNIT_CASE(listener_is_told_where_it_may_sleep),
	KUNIT_CASE(listener_is_told_what_it_misses),
	KUNIT_CASE(listener_is_told_while_it_misses_it),
	KUNIT_CASE(nobody_has_to_listen),
	KUNIT_CASE(who_has_gone_hears_nothing),
	KUNIT_CASE(namespaces_do_not_crowd_each_other_out),
	KUNIT_CASE(few_refusals_are_told),
	{}
};

static struct kunit_suite log_suite = {
	.name = "rdma_cm_alt_story",
	.test_cases = log_cases,
};
kunit_test_suite(log_suite);
