/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The path of an id: created for RoCE, which needs no message, or given by user space. */
#ifndef RCA_ROUTE_H
#define RCA_ROUTE_H

#include "id/id.h"

int rca_route_roce(struct rca_id *id);
int rca_route_set(struct rca_id *id, const struct sa_path_rec *given);
int rca_route_parse(struct sa_path_rec *path, const void *records, u32 len);
u8 rca_route_sl(struct rca_id *id);

#endif /* RCA_ROUTE_H */
