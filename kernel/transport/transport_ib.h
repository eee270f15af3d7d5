/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The transport over ib_cm: InfiniBand and RoCE. */
#ifndef RCA_TRANSPORT_IB_H
#define RCA_TRANSPORT_IB_H

#include "transport/transport.h"

extern const struct rca_tp_ops rca_tp_ib;

void rca_tp_ib_init(const struct rca_tp_upcalls *upcalls);

#endif /* RCA_TRANSPORT_IB_H */
