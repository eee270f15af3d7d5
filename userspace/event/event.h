/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Events: decode, handle, deliver, acknowledge. */
#ifndef RCL_EVENT_H
#define RCL_EVENT_H

#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdint.h>

#include "id/cmid.h"

struct rcl_ring;

/**
 * struct rcl_event - an event that was delivered to the program
 * @event: the public half; the first member
 * @cookie: of the id on which it is counted; for a connection request the listener
 * @member: cookie of the membership on which it is counted, too, or 0
 * @private_data: the private data to which the public half points
 */
struct rcl_event {
	struct rdma_cm_event event;
	uint64_t cookie;
	uint64_t member;
	uint8_t private_data[256];
};

/**
 * rcl_event_alloc - memory for an event, not cleared
 *
 * Return: the event, for rcl_event_free(), or NULL
 */
struct rcl_event *rcl_event_alloc(void);

/**
 * rcl_event_free - free an event
 * @ev: the event; kept for the next rcl_event_alloc()
 */
void rcl_event_free(struct rcl_event *ev);

/**
 * enum rcl_disposition - what to do with a record
 * @RCL_DELIVER: deliver it to the program
 * @RCL_DROP: drop it
 */
enum rcl_disposition {
	RCL_DELIVER = 0,
	RCL_DROP = 1,
};

/**
 * struct rcl_claim - the id on which a record is counted
 * @id: the id with a reference; NULL: it was destroyed, or another thread is about to make it
 * @counted: false: the id is being destroyed, and the record dropped
 */
struct rcl_claim {
	struct rcl_id *id;
	bool counted;
};

/**
 * rcl_event_take - find the id of a record, count the record on it, and take it from its ring
 * @rec: the record
 * @ring: the locked ring, which is unlocked; NULL: the record was read by read()
 * @claim: the id, for rcl_event_handle(), which has to follow
 *
 * Return: false: the record stays in the ring, as the kernel is taking it back or has done so. Look
 * again after rcl_event_pause()
 */
bool rcl_event_take(const struct rdma_cm_alt_event *rec, struct rcl_ring *ring,
		    struct rcl_claim *claim);

/**
 * rcl_event_pause - wait a moment until the kernel has taken a record back
 * @pauses: how often the pause was doubled, 0 at first
 *
 * Also for a channel with O_NONBLOCK: there may be events behind the record, and poll() with
 * EPOLLET does not report them again. The command of the other thread ends without the reader.
 *
 * Return: 0, or -EAGAIN when it is a command of this thread, which waits for the reader
 */
int rcl_event_pause(unsigned int *pauses);

/**
 * rcl_event_claim_late - wait for the id of an event, if another thread may be making it
 * @rec: the record, which was taken
 * @claim: filled in; nothing is done if it has an id
 *
 * The event of a connection request and an event of its id may be read by two threads.
 */
void rcl_event_claim_late(const struct rdma_cm_alt_event *rec, struct rcl_claim *claim);

/**
 * rcl_event_handle - update the id of a record, and fill in the event
 * @channel: channel of the record; its ring is not locked
 * @claim: of the record; its reference is dropped
 * @rec: the record
 * @ev: filled in
 *
 * Return: &enum rcl_disposition, or a negative errno: drop the record, and fail the read
 */
int rcl_event_handle(struct rdma_event_channel *channel, struct rcl_claim claim,
		     const struct rdma_cm_alt_event *rec, struct rcl_event *ev);

/**
 * rcl_event_next - read the next event of a channel that is delivered to the program
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
 * rcl_event_error - the status of an event as the result of a call
 * @event: the event
 *
 * Return: 0 or a negative errno
 */
int rcl_event_error(const struct rdma_cm_event *event);

/**
 * rcl_complete - end of a call that causes an event
 * @id: the id. A synchronous id waits for the event, and keeps it in id.event. For an asynchronous
 *      one nothing is done.
 *
 * Return: 0 or the negative errno of the event; -EAGAIN when the channel has O_NONBLOCK and there
 * is no event yet
 */
int rcl_complete(struct rcl_id *id);

#endif /* RCL_EVENT_H */
