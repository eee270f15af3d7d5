// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Which id an event is counted on, and whether it may be taken from its ring.
 *
 * Locking: the lock of the ring from the look at the record until it is counted.
 */
#include <time.h>

#include "base/log.h"
#include "core/ring.h"
#include "event/event.h"
#include "id/members.h"
#include "id/request.h"

/*
 * The first pause while the kernel takes a record back, which it does early in a command, and the
 * number of times that the pause is doubled, to 1.3 ms.
 */
#define PAUSE_NS 20000
#define DOUBLED 6

/*
 * How often to look for the id of an event that has no cookie: for 2.5 ms, as its request may have
 * been read, or for a second while another thread handles a request, as that may open a device.
 */
#define LOOKS (DOUBLED + 1)
#define LOOKS_WHILE_PENDING 800

/* The id of a record, by its cookie; the handle in the record must match. */
static struct rcl_id *find_id(const struct rdma_cm_alt_event *rec)
{
	bool request = rec->type == RDMA_CM_ALT_EVENT_CONNECT_REQUEST;
	uint32_t handle = request ? rec->listen_id : rec->id;
	struct rcl_id *id;

	if (!rcl_handle_valid(rec->id) || !rcl_handle_valid(handle))
		return NULL;
	id = rec->cookie ? rcl_id_get(rec->cookie) : rcl_id_find(handle);
	if (id && !rcl_id_matches(id, handle, request)) {
		rcl_log("event %u with the cookie of id %u names id %u", rec->type, id->handle,
			handle);
		rcl_id_put(id);
		id = NULL;
	}
	return id;
}

static bool is_of_member(const struct rdma_cm_alt_event *rec)
{
	return rec->type == RDMA_CM_ALT_EVENT_MULTICAST_JOIN ||
	       rec->type == RDMA_CM_ALT_EVENT_MULTICAST_ERROR;
}

/* Is a command running in which the kernel takes this record back? */
static bool is_revoked(const struct rcl_id *id, const struct rdma_cm_alt_event *rec)
{
	struct rcl_member *member;
	bool revoked = id->revoking;

	if (revoked || !is_of_member(rec))
		return revoked;
	member = rcl_member_get(id, rec->user_arg);
	if (member) {
		revoked = member->revoking;
		rcl_member_put(member);
	}
	return revoked;
}

bool rcl_event_take(const struct rdma_cm_alt_event *rec, struct rcl_ring *ring,
		    struct rcl_claim *claim)
{
	struct rcl_id *id = find_id(rec);

	/* In this order: a whole command may have run since the record was copied. */
	if (ring && ((id && is_revoked(id, rec)) || rcl_ring_taken_back(ring))) {
		rcl_ring_unlock(ring);
		if (id)
			rcl_id_put(id);
		return false;
	}
	claim->id = id;
	claim->counted = id && rcl_id_count_event(id);
	if (rec->type == RDMA_CM_ALT_EVENT_CONNECT_REQUEST)
		rcl_request_begin();
	rcl_ring_done(ring);
	return true;
}

static void pause_longer(unsigned int *pauses)
{
	struct timespec pause = { .tv_nsec = PAUSE_NS << *pauses };

	nanosleep(&pause, NULL);
	if (*pauses < DOUBLED)
		++*pauses;
}

int rcl_event_pause(unsigned int *pauses)
{
	if (rcl_revoking_here())
		return -EAGAIN;
	pause_longer(pauses);
	return 0;
}

/* May another thread be making the id of this event? */
static bool may_come_early(const struct rdma_cm_alt_event *rec)
{
	return !rec->cookie && rec->type != RDMA_CM_ALT_EVENT_CONNECT_REQUEST &&
	       rcl_handle_valid(rec->id);
}

void rcl_event_claim_late(const struct rdma_cm_alt_event *rec, struct rcl_claim *claim)
{
	unsigned int pauses = 0, looks;
	bool last = false;

	if (claim->id || !may_come_early(rec))
		return;
	for (looks = 1; !claim->id && !last; looks++) {
		pause_longer(&pauses);
		/* In this order: the id has its handle before its request is done. */
		last = looks >= (rcl_requests_pending() ? LOOKS_WHILE_PENDING : LOOKS);
		claim->id = last ? rcl_request_owe(rec->id) : rcl_id_find(rec->id);
	}
	claim->counted = claim->id && rcl_id_count_event(claim->id);
}
