/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The path of an id: RoCE's, which needs no message, and the conversion of path records. */
#ifndef RCA_ROUTE_H
#define RCA_ROUTE_H

#include "cmid.h"

int rca_route_roce(struct rca_id *id);
void rca_route_pack(struct ib_path_rec_data *out, struct sa_path_rec *rec, u32 flags);

#endif /* RCA_ROUTE_H */
