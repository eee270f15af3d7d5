// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Completion queues.
 *
 * Locking: that of the caller.
 */
#include "rsocket/cq.h"


void rcl_cq_arm(struct rcl_cq *cq)
{
	if (!cq->armed && !ibv_req_notify_cq(cq->cq, 0))
		cq->armed = true;
}

void rcl_cq_told(struct rcl_cq *cq)
{
	cq->unacked++;
	cq->armed = false;
}

void rcl_cq_destroy(struct rcl_cq *cq)
{
	if (!cq->cq)
		return;
	ibv_ack_cq_events(cq->cq, cq->unacked);
	ibv_destroy_cq(cq->cq);
	cq->cq = NULL;
}
