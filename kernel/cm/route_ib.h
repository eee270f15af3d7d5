/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The path of an id on InfiniBand, from the subnet administrator. */
#ifndef RCA_ROUTE_IB_H
#define RCA_ROUTE_IB_H

#include "cm/path_query.h"

int rca_route_ib_start(struct rca_id *id, u32 timeout_ms, rca_path_done done, bool post);
bool rca_route_ib_renew(struct rca_id *id, rca_path_done done);
void rca_route_ib_forget(struct rca_id *id);
void rca_route_ib_set(struct rca_id *id, const struct sa_path_rec *given);

#endif /* RCA_ROUTE_IB_H */
