/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The failure log of init_net, for tests that cause failures. */
#ifndef RCA_KEPT_H
#define RCA_KEPT_H
#include <linux/delay.h>
#include <linux/pid.h>
#include <linux/string.h>
#include <net/net_namespace.h>

#include "log/log.h"

/* The last failure; its serial number is 0 when there is none. Its process may have exited. */
static noinline __maybe_unused const struct rca_report *kept_youngest(void)
{
	/* Too large for the stack. */
	static struct rca_report report, next;

	memset(&report, 0, sizeof(report));
	while (rca_log_next(&init_net, report.serial, &next)) {
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

#endif /* RCA_KEPT_H */
