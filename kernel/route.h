/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The path of an id. RoCE's needs no message. */
#ifndef RCA_ROUTE_H
#define RCA_ROUTE_H

#include "cmid.h"

int rca_route_roce(struct rca_id *id);

#endif /* RCA_ROUTE_H */
