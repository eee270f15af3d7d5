// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Acknowledgement of events: rdma_ack_cm_event(), and their memory.
 *
 * Locking: none of its own.
 */
#include <stdatomic.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "base/err.h"
#include "event/event.h"
#include "id/members.h"

/* The latest event that was freed, or NULL: the next one often needs no malloc(). */
static struct rcl_event *_Atomic spare;

struct rcl_event *rcl_event_alloc(void)
{
	struct rcl_event *ev = atomic_exchange(&spare, NULL);

	return ev ? ev : malloc(sizeof(*ev));
}

void rcl_event_free(struct rcl_event *ev)
{
	free(atomic_exchange(&spare, ev));
}

RCL_EXPORT int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	struct rcl_event *ev = (struct rcl_event *)(void *)event;
	uint64_t member;
	struct rcl_id *id;

	if (!event)
		return rcl_fail(-EINVAL, __func__, "no event");
	member = ev->member;
	id = rcl_id_get(ev->cookie);
	rcl_event_free(ev);
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
