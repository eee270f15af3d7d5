// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The debug log of an id: its failing calls and its events of failures.
 *
 * Locking: none.
 */
#include "id/report.h"

#include <rdma/rdma_cma.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/log.h"
#include "base/reason.h"
#include "base/sockaddr.h"
#include "id/cmid.h"

struct id_text {
	char s[320];
};

static struct id_text id_text(const struct rcl_id *id)
{
	struct id_text text = { "id NULL" };

	if (id)
		snprintf(text.s, sizeof(text.s), "id %u (%s, device %s, local %s, peer %s)",
			 id->handle, id->sync ? "synchronous" : "asynchronous",
			 id->id.verbs ? ibv_get_device_name(id->id.verbs->device) : "none",
			 rcl_addr_text(&id->id.route.addr.src_addr).s,
			 rcl_addr_text(&id->id.route.addr.dst_addr).s);
	return text;
}

void rcl_log_event(const struct rcl_id *id, const struct rdma_cm_event *event)
{
	const char *text, *advice;

	if (!rcl_log_enabled())
		return;
	text = rcl_event_text(event);
	if (!text)
		return;
	advice = rcl_event_advice(event);
	rcl_log("%s: %s, status %d: %s%s%s", id_text(id).s, rdma_event_str(event->event),
		event->status, text, advice ? "; " : "", advice ? advice : "");
}

int rcl_fail_id(const struct rcl_id *id, int err, const char *call, const char *fmt, ...)
{
	char what[RCL_LINE_MAX];
	va_list ap;

	/* Programs with O_NONBLOCK get EAGAIN all the time: it is no failure. */
	if (!rcl_log_enabled() || err == -EAGAIN) {
		errno = -err;
		return -1;
	}
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return rcl_fail(err, call, "%s: %s", id_text(id).s, what);
}

static const char of_parent[] =
	"the process that has made it lives, and only that one may use it; a child makes its own";

bool rcl_refuse_id_of_parent(const struct rcl_id *id, const char *call)
{
	if (!id || rcl_process_owns(id->maker))
		return false;
	rcl_fail_id(id, -EACCES, call, of_parent);
	return true;
}

bool rcl_refuse_channel_of_parent(const struct rdma_event_channel *channel, const char *call)
{
	if (!channel || rcl_process_owns_fd(channel->fd))
		return false;
	rcl_fail(-EACCES, call, "channel fd %d: %s", channel->fd, of_parent);
	return true;
}
