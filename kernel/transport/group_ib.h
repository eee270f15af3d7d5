/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Multicast groups over InfiniBand, and our client of ib_sa. */
#ifndef RCA_GROUP_IB_H
#define RCA_GROUP_IB_H

#include <rdma/ib_sa.h>

#include "lib/types.h"
#include "transport/transport.h"

/**
 * typedef rca_group_ib_done - a join has ended, or a joined group is lost
 * @member: as passed to rca_group_ib_join()
 * @status: 0, or why the join failed; -ENETRESET: the group was joined, and is lost
 * @ah: address handle attributes of the group; NULL with an error
 * @qkey: queue key of the group
 */
typedef void (*rca_group_ib_done)(void *member, int status, struct rdma_ah_attr *ah, u32 qkey);

extern struct ib_sa_client rca_sa_client;

struct rca_group_ib;

u32 rca_group_ib_qkey(struct ib_device *ibdev, u32 port_num, const union ib_gid *mgid);
struct rca_group_ib *rca_group_ib_join(struct ib_device *ibdev, const struct rca_tp_join *req,
				       rca_group_ib_done done, void *member);
void rca_group_ib_leave(struct rca_group_ib *group);

#endif /* RCA_GROUP_IB_H */
