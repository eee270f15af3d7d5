/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The transport over iw_cm: iWARP, whose connections are TCP connections. */
#ifndef RCA_TRANSPORT_IW_H
#define RCA_TRANSPORT_IW_H

#include "transport/transport.h"

extern const struct rca_tp_ops rca_tp_iw;

void rca_tp_iw_init(const struct rca_tp_upcalls *upcalls);

#endif /* RCA_TRANSPORT_IW_H */
