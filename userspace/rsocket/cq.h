/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Completion queues with an event channel. */
#ifndef RCL_RSOCKET_CQ_H
#define RCL_RSOCKET_CQ_H

#include <infiniband/verbs.h>
#include <stdbool.h>

/**
 * struct rcl_cq - a completion queue
 * @cq: the queue
 * @armed: the channel reports the next completion, or has reported one that was not read
 * @unacked: events that were read from the channel and not acknowledged
 */
struct rcl_cq {
	struct ibv_cq *cq;
	bool armed;
	unsigned int unacked;
};

/**
 * rcl_cq_arm - request an event for the next completion
 * @cq: the queue; nothing happens if it is armed
 *
 * There is no event for earlier completions, so the caller has to poll the queue afterwards.
 */
void rcl_cq_arm(struct rcl_cq *cq);

/** rcl_cq_told - count an event that was read from the channel */
void rcl_cq_told(struct rcl_cq *cq);

/** rcl_cq_destroy - acknowledge the events of a queue, and destroy it; no QP uses it */
void rcl_cq_destroy(struct rcl_cq *cq);

#endif /* RCL_RSOCKET_CQ_H */
