/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the QP saw, told to ib_cm. */
#ifndef RCA_TRANSPORT_IB_NOTIFY_H
#define RCA_TRANSPORT_IB_NOTIFY_H

#include <rdma/ib_verbs.h>

struct ib_cm_id;

int rca_tp_ib_notify(struct ib_cm_id *cm_id, enum ib_event_type event);
void rca_tp_ib_notified(const struct ib_cm_id *cm_id);

#endif /* RCA_TRANSPORT_IB_NOTIFY_H */
