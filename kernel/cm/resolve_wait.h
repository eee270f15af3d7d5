/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Address resolutions that wait for a neighbour. */
#ifndef RCA_RESOLVE_WAIT_H
#define RCA_RESOLVE_WAIT_H

#include "id/id.h"

struct rca_neigh_key;
struct rdma_dev_addr;

/**
 * struct rca_pipeline - decoded steps of RESOLVE
 * @steps: RDMA_CM_ALT_STEP_BIND, _ADDR, _ROUTE
 * @events: those of @steps that post an event on success
 * @timeout_ms: timeout of each of the steps ADDR and ROUTE
 * @src: local address; AF_UNSPEC for none
 * @dst: address of the peer
 */
struct rca_pipeline {
	u32 steps;
	u32 events;
	u32 timeout_ms;
	union rca_addr src;
	union rca_addr dst;
};

/* Called when the next hop has been resolved or resolution has failed. */
typedef void (*rca_resolve_done)(struct rca_id *id, const struct rca_pipeline *pipe,
				 union rca_addr *src, struct rdma_dev_addr *addr, int status);

void rca_resolve_start_from(const struct rca_id *id, union rca_addr *src,
			    struct rdma_dev_addr *addr);
int rca_resolve_wait(struct rca_id *id, const struct rca_pipeline *pipe,
		     const struct rca_neigh_key *missing, int how, rca_resolve_done done);
void rca_resolve_cancel(struct rca_id *id);

#endif /* RCA_RESOLVE_WAIT_H */
