/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What a caller may say of queue pairs. */
#ifndef RCA_QPOWNER_H
#define RCA_QPOWNER_H

#include <linux/types.h>

struct ib_device;

int rca_qpowner_check(struct ib_device *ibdev, u32 qp_num);
int rca_qpowner_check_qkey(u32 qkey);

#endif /* RCA_QPOWNER_H */
