// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The debug log and the report of failing calls.
 *
 * Locking: none; each line is one write to stderr. Callers may hold locks: stdio would let a
 * cancelled thread end with them.
 */
#include <netinet/in.h>
#include <arpa/inet.h>
#include <infiniband/ib.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "id/cmid.h"
#include "base/err.h"
#include "base/log.h"
#include "base/reason.h"

#define RCL_LINE_MAX 768

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
	before = rcl_no_cancel();
	fprintf(stderr, "rdma_cm_alt: %s\n", line);
	rcl_cancel(before);
	errno = saved;
}

static void format_addr(char *buf, size_t len, const struct sockaddr *sa)
{
	const struct sockaddr_in6 *sin6 = (const void *)sa;
	const struct sockaddr_in *sin = (const void *)sa;
	const struct sockaddr_ib *sib = (const void *)sa;
	char text[INET6_ADDRSTRLEN] = "?";

	switch (sa->sa_family) {
	case AF_INET:
		inet_ntop(AF_INET, &sin->sin_addr, text, sizeof(text));
		snprintf(buf, len, "%s:%u", text, ntohs(sin->sin_port));
		break;
	case AF_INET6:
		inet_ntop(AF_INET6, &sin6->sin6_addr, text, sizeof(text));
		snprintf(buf, len, "[%s]:%u", text, ntohs(sin6->sin6_port));
		break;
	case AF_IB:
		inet_ntop(AF_INET6, &sib->sib_addr, text, sizeof(text));
		snprintf(buf, len, "gid %s sid 0x%llx", text,
			 (unsigned long long)be64toh(sib->sib_sid));
		break;
	default:
		snprintf(buf, len, "-");
		break;
	}
}

struct rcl_addr_text rcl_addr_text(const struct sockaddr *sa)
{
	struct rcl_addr_text text;

	format_addr(text.s, sizeof(text.s), sa);
	return text;
}

static void describe_id(char *buf, size_t len, const struct rcl_id *id)
{
	if (!id) {
		snprintf(buf, len, "id NULL");
		return;
	}
	snprintf(buf, len, "id %u (%s, device %s, local %s, peer %s)",
		 id->handle, id->sync ? "synchronous" : "asynchronous",
		 id->id.verbs ? ibv_get_device_name(id->id.verbs->device) : "none",
		 rcl_addr_text(&id->id.route.addr.src_addr).s,
		 rcl_addr_text(&id->id.route.addr.dst_addr).s);
}

void rcl_log_event(const struct rcl_id *id, const struct rdma_cm_event *event)
{
	const char *text, *advice;
	char who[320];

	if (!rcl_log_enabled())
		return;
	text = rcl_event_text(event);
	if (!text)
		return;
	advice = rcl_event_advice(event);
	describe_id(who, sizeof(who), id);
	rcl_log("%s: %s, status %d: %s%s%s", who, rdma_event_str(event->event), event->status,
		text, advice ? "; " : "", advice ? advice : "");
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

int rcl_fail_id(const struct rcl_id *id, int err, const char *call,
		const char *fmt, ...)
{
	char what[RCL_LINE_MAX], who[320];
	va_list ap;

	/* A non-blocking caller hears EAGAIN all day long: that is no failure. */
	if (rcl_log_enabled() && err != -EAGAIN) {
		va_start(ap, fmt);
		vsnprintf(what, sizeof(what), fmt, ap);
		va_end(ap);
		describe_id(who, sizeof(who), id);
		rcl_log("%s: %s: %s: %s", call, who, what, strerror(-err));
	}
	errno = -err;
	return -1;
}
