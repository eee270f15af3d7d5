// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Events of the program's own, and the names of all events.
 *
 * Locking: none.
 */
#include "id/cmid.h"
#include "base/compiler.h"
#include "core/context.h"
#include "base/err.h"
#include "base/rdma_cma_new.h"

RCL_EXPORT int rdma_write_cm_event(struct rdma_cm_id *id,
				   enum rdma_cm_event_type event, int status,
				   uint64_t arg)
{
	struct rdma_cm_alt_post_event cmd = { 0 };
	struct rcl_id *priv = rcl_id_of(id);
	int ret;

	if (!id || (unsigned int)event != RDMA_CM_ALT_EVENT_USER)
		return rcl_fail_id(priv, -EINVAL, __func__,
				   "no id, or event %u, which is not RDMA_CM_EVENT_USER",
				   (unsigned int)event);
	cmd.id = priv->handle;
	cmd.type = RDMA_CM_ALT_EVENT_USER;
	cmd.status = status;
	cmd.arg = arg;
	ret = RCL_CALL(POST_EVENT, &cmd);
	return ret ? rcl_fail_id(priv, ret, __func__, "the event is not posted") : 0;
}

static const char * const event_names[] = {
	[RDMA_CM_ALT_EVENT_ADDR_RESOLVED] = "RDMA_CM_EVENT_ADDR_RESOLVED",
	[RDMA_CM_ALT_EVENT_ADDR_ERROR] = "RDMA_CM_EVENT_ADDR_ERROR",
	[RDMA_CM_ALT_EVENT_ROUTE_RESOLVED] = "RDMA_CM_EVENT_ROUTE_RESOLVED",
	[RDMA_CM_ALT_EVENT_ROUTE_ERROR] = "RDMA_CM_EVENT_ROUTE_ERROR",
	[RDMA_CM_ALT_EVENT_CONNECT_REQUEST] = "RDMA_CM_EVENT_CONNECT_REQUEST",
	[RDMA_CM_ALT_EVENT_CONNECT_RESPONSE] = "RDMA_CM_EVENT_CONNECT_RESPONSE",
	[RDMA_CM_ALT_EVENT_CONNECT_ERROR] = "RDMA_CM_EVENT_CONNECT_ERROR",
	[RDMA_CM_ALT_EVENT_UNREACHABLE] = "RDMA_CM_EVENT_UNREACHABLE",
	[RDMA_CM_ALT_EVENT_REJECTED] = "RDMA_CM_EVENT_REJECTED",
	[RDMA_CM_ALT_EVENT_ESTABLISHED] = "RDMA_CM_EVENT_ESTABLISHED",
	[RDMA_CM_ALT_EVENT_DISCONNECTED] = "RDMA_CM_EVENT_DISCONNECTED",
	[RDMA_CM_ALT_EVENT_DEVICE_REMOVAL] = "RDMA_CM_EVENT_DEVICE_REMOVAL",
	[RDMA_CM_ALT_EVENT_MULTICAST_JOIN] = "RDMA_CM_EVENT_MULTICAST_JOIN",
	[RDMA_CM_ALT_EVENT_MULTICAST_ERROR] = "RDMA_CM_EVENT_MULTICAST_ERROR",
	[RDMA_CM_ALT_EVENT_ADDR_CHANGE] = "RDMA_CM_EVENT_ADDR_CHANGE",
	[RDMA_CM_ALT_EVENT_TIMEWAIT_EXIT] = "RDMA_CM_EVENT_TIMEWAIT_EXIT",
	[RDMA_CM_ALT_EVENT_ADDRINFO_RESOLVED] = "RDMA_CM_EVENT_ADDRINFO_RESOLVED",
	[RDMA_CM_ALT_EVENT_ADDRINFO_ERROR] = "RDMA_CM_EVENT_ADDRINFO_ERROR",
};

RCL_EXPORT const char *rdma_event_str(enum rdma_cm_event_type event)
{
	unsigned int i = (unsigned int)event;

	return i < ARRAY_SIZE(event_names) ? event_names[i] : "UNKNOWN EVENT";
}
