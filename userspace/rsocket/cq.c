// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Completion queues and buffers.
 *
 * Locking: that of the caller.
 */
#include "rsocket/cq.h"

#include <sys/mman.h>
#include <unistd.h>

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

void *rcl_pages_map(size_t *len)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *memory;

	*len = (*len + page - 1) / page * page;
	memory = mmap(NULL, *len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return memory == MAP_FAILED ? NULL : memory;
}
