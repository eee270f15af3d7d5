// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of kernel/log/failure_log.c and notify.c: what a namespace keeps, and how much of it;
 * and what who listens hears.
 *
 * They use the first network namespace, whose stories of before they leave behind, and listen in
 * place of the netlink family meanwhile.
 *
 * Locking: none of their own.
 */
#include "log/failure_log.h"

#include <kunit/test.h>
#include <linux/irqflags.h>
#include <linux/pid.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <net/net_namespace.h>

#include "fake/kept.h"

static void tell(u32 handle, bool keep)
{
	struct rca_report report = { .handle = handle, .op = "test", .status = -EINVAL };

	rca_log_report(&init_net, &report, keep);
}

static void failure_is_kept_as_it_was_told(struct kunit *test)
{
	struct rca_report told = { .handle = 7, .event = 3, .status = -ENODEV, .dev = "rxe0" };
	struct rca_report kept;
	u64 before = kept_count();

	told.pid = task_tgid(current);
	rca_log_report(&init_net, &told, true);
	KUNIT_ASSERT_TRUE(test, rca_log_next(&init_net, before, &kept));
	KUNIT_EXPECT_EQ(test, kept.handle, 7u);
	KUNIT_EXPECT_EQ(test, kept.event, 3u);
	KUNIT_EXPECT_EQ(test, kept.status, -ENODEV);
	KUNIT_EXPECT_STREQ(test, kept.dev, "rxe0");
	KUNIT_EXPECT_PTR_EQ(test, kept.pid, task_tgid(current));
	KUNIT_EXPECT_GT(test, kept.at, 0ULL);
	KUNIT_EXPECT_GT(test, kept.serial, before);
	put_pid(kept.pid);
	KUNIT_EXPECT_FALSE(test, rca_log_next(&init_net, kept.serial, &kept));
}

static void what_goes_well_is_not_kept(struct kunit *test)
{
	u64 before = kept_count();

	tell(1, false);
	KUNIT_EXPECT_EQ(test, kept_count(), before);
}

static void oldest_goes_first(struct kunit *test)
{
	struct rca_report report;
	u64 after = 0, last;
	u32 count = 0, i;

	for (i = 0; i < 2 * RCA_LOG_ENTRIES + 3; i++)
		tell(i, true);
	last = kept_count();
	while (rca_log_next(&init_net, after, &report)) {
		put_pid(report.pid);
		if (after)
			KUNIT_EXPECT_EQ(test, report.serial, after + 1);
		after = report.serial;
		count++;
	}
	KUNIT_EXPECT_EQ(test, count, (u32)RCA_LOG_ENTRIES);
	KUNIT_EXPECT_EQ(test, after, last);
	KUNIT_EXPECT_EQ(test, report.handle, 2u * RCA_LOG_ENTRIES + 2);
}

/* The reference of the process is given back with the story: a leak of it would show here. */
static void processes_are_not_kept_for_ever(struct kunit *test)
{
	struct pid *pid = get_pid(task_tgid(current));
	struct rca_report report = { .pid = pid, .op = "test", .status = -EINVAL };
	unsigned int before, i;

	for (i = 0; i < RCA_LOG_ENTRIES; i++)
		tell(i, true);
	before = refcount_read(&pid->count);
	for (i = 0; i < RCA_LOG_ENTRIES; i++)
		rca_log_report(&init_net, &report, true);
	KUNIT_EXPECT_EQ(test, refcount_read(&pid->count), before + RCA_LOG_ENTRIES);
	for (i = 0; i < RCA_LOG_ENTRIES; i++)
		tell(i, true);
	KUNIT_EXPECT_EQ(test, refcount_read(&pid->count), before);
	put_pid(pid);
}

/* What the listener has heard. */
static struct {
	unsigned int reports;
	unsigned int losses;
	u32 last_handle;
	bool in_order;
	bool may_sleep;
} heard;

static bool wanted(struct net *net)
{
	return net_eq(net, &init_net);
}

static void hear(struct net *net, const struct rca_report *report)
{
	heard.in_order &= report->handle == heard.last_handle + 1;
	heard.may_sleep &= in_task() && !irqs_disabled() && !rcu_preempt_depth();
	heard.last_handle = report->handle;
	heard.reports++;
}

static void hear_loss(struct net *net)
{
	heard.losses++;
}

static const struct rca_monitor_ops ears = {
	.wanted = wanted,
	.tell = hear,
	.lost = hear_loss,
};

/* From the place where stories are told: with a lock held, and interrupts off. */
static void tell_many(u32 count)
{
	static DEFINE_SPINLOCK(lock);
	const struct rca_monitor_ops *before;
	unsigned long flags;
	u32 i;

	memset(&heard, 0, sizeof(heard));
	heard.in_order = true;
	heard.may_sleep = true;
	before = rca_monitor_set(&ears);
	spin_lock_irqsave(&lock, flags);
	for (i = 1; i <= count; i++)
		tell(i, false);
	spin_unlock_irqrestore(&lock, flags);
	rca_monitor_flush();
	rca_monitor_set(before);
}

/* It sends over network devices, which must not be done where stories are told. */
static void listener_is_told_where_it_may_sleep(struct kunit *test)
{
	tell_many(100);
	KUNIT_EXPECT_EQ(test, heard.reports, 100u);
	KUNIT_EXPECT_EQ(test, heard.losses, 0u);
	KUNIT_EXPECT_TRUE(test, heard.in_order);
	KUNIT_EXPECT_TRUE(test, heard.may_sleep);
}

/*
 * A flood is bounded, and who listens is told once that something is missing. What another
 * processor has told meanwhile made room for more.
 */
static void listener_is_told_what_it_misses(struct kunit *test)
{
	tell_many(4 * RCA_MONITOR_QUEUE_MAX);
	KUNIT_EXPECT_GE(test, heard.reports, (unsigned int)RCA_MONITOR_QUEUE_MAX);
	if (num_online_cpus() == 1) {
		KUNIT_EXPECT_EQ(test, heard.reports, (unsigned int)RCA_MONITOR_QUEUE_MAX);
		KUNIT_EXPECT_EQ(test, heard.losses, 1u);
		KUNIT_EXPECT_TRUE(test, heard.in_order);
	}
	KUNIT_EXPECT_TRUE(test, heard.losses || heard.reports == 4 * RCA_MONITOR_QUEUE_MAX);
	KUNIT_EXPECT_TRUE(test, heard.may_sleep);
}

/* Of each story two more come of it, until there have been so many. */
static struct {
	unsigned int left;
	unsigned int losses;
} flood;

static void hear_flood(struct net *net, const struct rca_report *report)
{
	if (!flood.left)
		return;
	flood.left--;
	tell(1, false);
	tell(2, false);
}

static void hear_loss_of_flood(struct net *net)
{
	flood.losses += !!flood.left;
}

static const struct rca_monitor_ops flooded = {
	.wanted = wanted,
	.tell = hear_flood,
	.lost = hear_loss_of_flood,
};

/* And not only when it is over: that may be never. Not with each of them, either. */
static void listener_is_told_while_it_misses_it(struct kunit *test)
{
	const struct rca_monitor_ops *before;

	flood.left = 6 * RCA_MONITOR_QUEUE_MAX;
	flood.losses = 0;
	before = rca_monitor_set(&flooded);
	tell(1, false);
	rca_monitor_flush();
	rca_monitor_set(before);
	KUNIT_EXPECT_EQ(test, flood.left, 0u);
	KUNIT_EXPECT_GE(test, flood.losses, 4u);
	KUNIT_EXPECT_LE(test, flood.losses, 6u);
}

static void nobody_has_to_listen(struct kunit *test)
{
	const struct rca_monitor_ops *before = rca_monitor_set(NULL);

	memset(&heard, 0, sizeof(heard));
	KUNIT_EXPECT_FALSE(test, rca_monitor_wanted(&init_net));
	tell(1, false);
	rca_monitor_set(&ears);
	KUNIT_EXPECT_TRUE(test, rca_monitor_wanted(&init_net));
	rca_monitor_flush();
	KUNIT_EXPECT_EQ(test, heard.reports, 0u);
	rca_monitor_set(before);
}

/* What was not told when somebody goes is told to nobody. */
static void who_has_gone_hears_nothing(struct kunit *test)
{
	const struct rca_monitor_ops *before = rca_monitor_set(&ears);
	u32 i;

	for (i = 0; i < 2 * RCA_MONITOR_QUEUE_MAX; i++)
		tell(i, false);
	rca_monitor_set(NULL);
	memset(&heard, 0, sizeof(heard));
	rca_monitor_set(&ears);
	rca_monitor_flush();
	KUNIT_EXPECT_EQ(test, heard.reports, 0u);
	KUNIT_EXPECT_EQ(test, heard.losses, 0u);
	rca_monitor_set(before);
}

/* Two namespaces; stories of the second have FEW in their handle. */
#define FEW 0x10000

static struct {
	unsigned int many;
	unsigned int few;
	unsigned int between;
	unsigned int losses;
} two;

static void hear_two(struct net *net, const struct rca_report *report)
{
	if (report->handle < FEW) {
		two.many++;
	} else {
		/* All of them, in their order. */
		two.few += report->handle == FEW + two.few;
		two.between = two.many;
	}
}

static void hear_two_lose(struct net *net)
{
	two.losses++;
}

static const struct rca_monitor_ops ears_for_two = {
	.wanted = wanted,
	.tell = hear_two,
	.lost = hear_two_lose,
};

static void leave_many(struct rca_monitor_queue *queue, u32 handle, unsigned int count)
{
	struct rca_report report = { .op = "test" };
	unsigned int i;

	for (i = 0; i < count; i++) {
		report.handle = handle + i;
		rca_monitor_enqueue(queue, &report);
	}
}

/* Who makes much happen in his namespace takes no room of another, and does not let it wait. */
static void namespaces_do_not_crowd_each_other_out(struct kunit *test)
{
	struct rca_monitor_queue *queue = kunit_kcalloc(test, 2, sizeof(*queue), GFP_KERNEL);
	const struct rca_monitor_ops *before;

	KUNIT_ASSERT_NOT_NULL(test, queue);
	rca_monitor_queue_init(&queue[0], &init_net);
	rca_monitor_queue_init(&queue[1], &init_net);
	memset(&two, 0, sizeof(two));
	before = rca_monitor_set(&ears_for_two);
	preempt_disable();
	leave_many(&queue[0], 0, 2 * RCA_MONITOR_QUEUE_MAX);
	leave_many(&queue[1], FEW, 10);
	preempt_enable();
	rca_monitor_flush();
	rca_monitor_set(before);
	KUNIT_EXPECT_EQ(test, two.few, 10u);
	KUNIT_EXPECT_GE(test, two.many, (unsigned int)RCA_MONITOR_QUEUE_MAX);
	KUNIT_EXPECT_TRUE(test, list_empty(&queue[0].turn));
	KUNIT_EXPECT_TRUE(test, list_empty(&queue[1].turn));
	if (num_online_cpus() > 1)
		return;
	KUNIT_EXPECT_EQ(test, two.many, (unsigned int)RCA_MONITOR_QUEUE_MAX);
	KUNIT_EXPECT_EQ(test, two.between, 10u);
	KUNIT_EXPECT_EQ(test, two.losses, 1u);
}

static void few_refusals_are_told(struct kunit *test)
{
	unsigned int told = 0, i;

	for (i = 0; i < 1000; i++)
		told += rca_monitor_ratelimit(&init_net);
	KUNIT_EXPECT_GT(test, told, 0u);
	KUNIT_EXPECT_LT(test, told, 100u);
}

static struct kunit_case story_cases[] = {
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

static struct kunit_suite story_suite = {
	.name = "rdma_cm_alt_story",
	.test_cases = story_cases,
};
kunit_test_suite(story_suite);
