/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Events on their way to the program: decoded, acted upon, counted.
 */
#ifndef RCL_EVENT_H
#define RCL_EVENT_H

#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdint.h>

#include "id/cmid.h"

/**
 * struct rcl_event - an event that the program holds
 * @event: the public half; the first member
 * @cookie: of the id on which it counts: the listener of a connection request
 * @member: cookie of the membership on which it counts as well, or 0
 * @private_data: where the public half points to
 */
struct rcl_event {
	struct rdma_cm_event event;
	uint64_t cookie;
	uint64_t member;
	uint8_t private_data[256];
};

/**
 * enum rcl_fate - what becomes of a record
 * @RCL_DELIVER: the program gets it
 * @RCL_SWALLOW: it means nothing to the program
 */
enum rcl_fate {
	RCL_DELIVER = 0,
	RCL_SWALLOW = 1,
};

/**
 * struct rcl_claim - the id on which a record counts
 * @id: with a reference; NULL: there is none any more
 * @counted: it was counted; if not, the id is as good as destroyed
 */
struct rcl_claim {
	struct rcl_id *id;
	bool counted;
};

/**
 * rcl_event_claim - count a record on its id
 * @rec: the record, which may lie in the ring still
 *
 * Return: for rcl_event_work(), which has to follow
 */
struct rcl_claim rcl_event_claim(const struct rdma_cm_alt_event *rec);

/**
 * rcl_event_work - do what a record means for its id, and make an event of it
 * @channel: where it came from; its ring is not locked
 * @claim: of the record; over with this call
 * @rec: the record
 * @ev: filled in
 *
 * Return: &enum rcl_fate, or a negative errno: swallow it and fail the read
 */
int rcl_event_work(struct rdma_event_channel *channel, struct rcl_claim claim,
		   const struct rdma_cm_alt_event *rec, struct rcl_event *ev);

/**
 * rcl_event_next - the next event of a channel that is for the program
 * @channel: the channel; blocks unless its fd has O_NONBLOCK
 * @out: the event, for rdma_ack_cm_event()
 *
 * Return: 0, -EAGAIN, -EINTR or another negative errno
 */
int rcl_event_next(struct rdma_event_channel *channel,
		   struct rdma_cm_event **out);

/**
 * rcl_event_drop - acknowledge the event that a synchronous id holds, if any
 * @id: the id
 */
void rcl_event_drop(struct rcl_id *id);

/**
 * rcl_event_error - what an event means as the result of a call
 * @event: the event
 *
 * Return: 0 or a negative errno
 */
int rcl_event_error(const struct rdma_cm_event *event);

/**
 * rcl_complete - end of a call that causes an event
 * @id: the id. Of an asynchronous one the program takes the event itself; a
 *      synchronous one waits for it and keeps it in id.event.
 *
 * Return: 0 or the negative errno of the event; -EAGAIN when the channel has
 * O_NONBLOCK and the event is not there yet
 */
int rcl_complete(struct rcl_id *id);

#endif /* RCL_EVENT_H */
