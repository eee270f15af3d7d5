/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Checks of QP numbers and queue keys that a caller passes. */
#ifndef RCA_QP_OWNER_H
#define RCA_QP_OWNER_H

#include <linux/types.h>

struct ib_device;

int rca_qp_owner_check(struct ib_device *ibdev, u32 qp_num);
int rca_qp_owner_check_qkey(u32 qkey);

#endif /* RCA_QP_OWNER_H */
