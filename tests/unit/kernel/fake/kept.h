/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the first network namespace keeps of failures, for the tests that cause some. */
#ifndef RCA_KEPT_H
#define RCA_KEPT_H

#include <linux/delay.h>
#include <linux/pid.h>
#include <linux/string.h>
#include <net/net_namespace.h>

#include "log/failure_log.h"

/* The youngest failure; its serial number is 0 when there is none. Its process may be gone. */
static noinline __maybe_unused const struct rca_report *kept_youngest(void)
{
	/* A stack has no room for many of them. */
	static struct rca_report report, next;

	memset(&report, 0, sizeof(report));
	while (rca_log_next(&init_net, report.serial, &next)) {
		put_pid(next.pid);
		report = next;
	}
	return &report;
}

/* How many there were until now. */
static inline u64 kept_count(void)
{
	return kept_youngest()->serial;
}

/* Few refused requests are kept of each second, and the tests before may have caused more. */
static inline void kept_has_room(void)
{
	msleep(1100);
}

#endif /* RCA_KEPT_H */
