// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The debug log, and the failure of public functions.
 *
 * Locking: none; each line is one write to stderr. Callers may hold locks, and writing to stderr
 * is a cancellation point: cancellation is disabled meanwhile.
 */
#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "base/err.h"

static pthread_once_t log_once = PTHREAD_ONCE_INIT;
static bool log_on;

static void log_init(void)
{
	const char *env = getenv("RDMA_CM_ALT_DEBUG");

	log_on = env && *env && strcmp(env, "0");
}

bool rcl_log_enabled(void)
{
	pthread_once(&log_once, log_init);
	return log_on;
}

void rcl_log(const char *fmt, ...)
{
	char line[RCL_LINE_MAX];
	int saved = errno, before;
	va_list ap;

	if (!rcl_log_enabled())
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	before = rcl_cancel_disable();
	fprintf(stderr, "rdma_cm_alt: %s\n", line);
	rcl_cancel_restore(before);
	errno = saved;
}

int rcl_fail(int err, const char *call, const char *fmt, ...)
{
	char what[RCL_LINE_MAX];
	va_list ap;

	if (rcl_log_enabled()) {
		va_start(ap, fmt);
		vsnprintf(what, sizeof(what), fmt, ap);
		va_end(ap);
		rcl_log("%s: %s: %s", call, what, strerror(-err));
	}
	errno = -err;
	return -1;
}
