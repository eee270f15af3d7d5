/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The reports of init_net, for tests that cause failures. */
#ifndef RCA_KEPT_H
#define RCA_KEPT_H
#include <linux/delay.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/string.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>

#include "event/event.h"
#include "lib/testing.h"

/* The last failure; its serial number is 0 when there is none. Its process may have exited. */
static noinline __maybe_unused const struct rca_report *kept_youngest(void)
{
	/* Too large for the stack. */
	static struct rca_report report, next;

	memset(&report, 0, sizeof(report));
	while (rca_reports_next(&init_net, report.serial, &next)) {
		put_pid(next.pid);
		report = next;
	}
	return &report;
}

/* The number of failures until now. */
static inline u64 kept_count(void)
{
	return kept_youngest()->serial;
}

/* Waits until the log accepts refused requests again: it keeps few of them per second. */
static inline void kept_has_room(void)
{
	msleep(1100);
}

/* Waits until all records of a namespace were sent. Its work is queued again for each of them. */
static inline void reports_flush(struct rca_reports *reports)
{
	do {
		flush_work(&reports->work);
	} while (work_busy(&reports->work));
}

/* Sends notifications to a function from now on, or to the group again: not those before. */
static inline void reports_hook(rca_report_hook_t hook)
{
	reports_flush(rca_reports_of(&init_net));
	WRITE_ONCE(rca_report_hook, hook);
	synchronize_rcu();
	reports_flush(rca_reports_of(&init_net));
}

#endif /* RCA_KEPT_H */
