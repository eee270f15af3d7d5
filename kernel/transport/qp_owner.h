/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Checks of QP numbers and queue keys that a caller passes. */
#ifndef RCA_QP_OWNER_H
#define RCA_QP_OWNER_H

#include <linux/types.h>

struct ib_device;
struct ib_qp;

int rca_qp_owner_check(struct ib_device *ibdev, u32 qp_num);
struct ib_qp *rca_qp_owner_hold_iw(struct ib_device *ibdev, u32 qp_num);
void rca_qp_owner_release_iw(struct ib_device *ibdev, struct ib_qp *qp);
int rca_qp_owner_check_qkey(const struct ib_device *ibdev, u32 qkey);

#endif /* RCA_QP_OWNER_H */
