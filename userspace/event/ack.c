// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Acknowledgement of events: rdma_ack_cm_event().
 *
 * Locking: none of its own.
 */
#include <stdlib.h>

#include "base/compiler.h"
#include "base/err.h"
#include "event/event.h"
#include "id/members.h"

RCL_EXPORT int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	struct rcl_event *ev = (struct rcl_event *)(void *)event;
	uint64_t member;
	struct rcl_id *id;

	if (!event)
		return rcl_fail(-EINVAL, __func__, "no event");
	member = ev->member;
	id = rcl_id_get(ev->cookie);
	free(ev);
	if (id) {
		/* The membership first: rdma_destroy_id(), which waits for the id, frees both. */
		if (member)
			rcl_member_ack(id, member);
		rcl_id_ack(id);
		rcl_id_put(id);
	}
	return 0;
}

void rcl_event_drop(struct rcl_id *id)
{
	if (id->id.event)
		rdma_ack_cm_event(id->id.event);
	id->id.event = NULL;
}
