/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Connection parameters from user space. */
#ifndef RCA_IOCTL_PARAM_H
#define RCA_IOCTL_PARAM_H

#include <linux/limits.h>
#include <linux/types.h>
#include <rdma/rdma_cm_alt.h>

#include "transport/transport.h"

/** RCA_PRIVATE_DATA_MAX - limit of all messages; each operation checks that of its message */
#define RCA_PRIVATE_DATA_MAX U8_MAX

int rca_param_private_data(u8 *data, u64 uptr, u32 len);
int rca_param_decode(struct rca_tp_conn *conn, const struct rdma_cm_alt_conn_param *param,
		     u8 *data);

#endif /* RCA_IOCTL_PARAM_H */
