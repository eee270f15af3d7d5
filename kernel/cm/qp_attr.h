/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Attributes for QP transitions. */
#ifndef RCA_QP_ATTR_H
#define RCA_QP_ATTR_H

#include "id/id.h"

u32 rca_qkey(const struct rca_id *id);
int rca_qkey_settle_locked(struct rca_id *id, u32 qkey);
int rca_qp_attr(struct rca_id *id, u32 qp_state, struct ib_uverbs_qp_attr *out);
bool rca_qp_attr_fill(struct rca_id *id, void *lower, struct rdma_cm_alt_qp_attr *out);

#endif /* RCA_QP_ATTR_H */
