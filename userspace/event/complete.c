// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Synchronous ids: a call waits for its event, whose status is the result of the call.
 *
 * Locking: none of its own.
 */
#include "base/err.h"
#include "event/event.h"
#include "id/cmid.h"

int rcl_event_error(const struct rdma_cm_event *event)
{
	if (event->event == RDMA_CM_EVENT_REJECTED)
		return -ECONNREFUSED;
	if (event->event == RDMA_CM_EVENT_DEVICE_REMOVAL && !event->status)
		return -ENODEV;
	/* The program has posted it to end the wait: the call has not succeeded. */
	if ((unsigned int)event->event == RDMA_CM_ALT_EVENT_USER && !event->status)
		return -EINTR;
	/* Reasons of peers are positive. A program may post any status. */
	return rcl_result(event->status > 0 ? -event->status : event->status);
}

int rcl_complete(struct rcl_id *id)
{
	int ret;

	if (!id->sync)
		return 0;
	do {
		rcl_event_drop(id);
		ret = rcl_event_next(id->id.channel, &id->id.event);
		if (ret)
			return ret;
		/* Not the result of a call. */
	} while (id->id.event->event == RDMA_CM_EVENT_ADDR_CHANGE);
	return rcl_event_error(id->id.event);
}
