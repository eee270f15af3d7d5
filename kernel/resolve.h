/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* From an address to a device, a GID and a path: bind, address and route resolution. */
#ifndef RCA_RESOLVE_H
#define RCA_RESOLVE_H

#include "cmid.h"

/**
 * struct rca_pipeline - the steps of a RESOLVE, decoded
 * @steps: RDMA_CM_ALT_STEP_BIND, _ADDR, _ROUTE
 * @events: of @steps: whose success event is wanted
 * @timeout_ms: bound of each of the steps ADDR and ROUTE
 * @src: local address; AF_UNSPEC: none
 * @dst: address of the peer
 */
struct rca_pipeline {
	u32 steps;
	u32 events;
	u32 timeout_ms;
	union rca_addr src;
	union rca_addr dst;
};

int rca_resolve(struct rca_id *id, const struct rca_pipeline *pipe, u32 *done);
int rca_resolve_bind_locked(struct rca_id *id, const union rca_addr *src);
int rca_resolve_set_path_locked(struct rca_id *id, const struct sa_path_rec *path);
void rca_resolve_cancel(struct rca_id *id);

#endif /* RCA_RESOLVE_H */
