/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Multicast groups over RoCE: MGIDs, and memberships of network devices (IGMP, MLD). */
#ifndef RCA_GROUP_H
#define RCA_GROUP_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>

#include "lib/types.h"
#include "transport/transport.h"

int rca_group_init(void);
void rca_group_exit(void);
void *rca_group_join(struct ib_device *ibdev, const struct rca_tp_join *req,
		     struct rdma_ah_attr *ah);
void rca_group_leave(void *membership);

#endif /* RCA_GROUP_H */
