/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The transport over trunks. */
#ifndef RCA_TRANSPORT_TRUNK_H
#define RCA_TRANSPORT_TRUNK_H

#include "transport/transport.h"
#include "trunk/trunk.h"

const struct rca_tp_upcalls *rca_tp_trunk_init(const struct rca_tp_upcalls *upcalls);
extern const struct rca_tp_ops rca_tp_trunk;
extern const struct rca_trunk_upcalls rca_tp_trunk_upcalls;

#endif /* RCA_TRANSPORT_TRUNK_H */
