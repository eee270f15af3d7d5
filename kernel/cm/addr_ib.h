/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* InfiniBand addresses: hardware addresses of IPoIB devices, and GIDs of family AF_IB. */
#ifndef RCA_ADDR_IB_H
#define RCA_ADDR_IB_H

#include "id/id.h"

struct net_device;
struct rdma_dev_addr;

void rca_addr_ib_translate(const union rca_addr *sib, struct rdma_dev_addr *addr);
const struct ib_gid_attr *rca_addr_ib_gid(struct ib_device *ibdev, u32 port, struct net *net,
					  struct rdma_dev_addr *addr);
void rca_addr_ib_keep(struct rca_link *link, struct rdma_dev_addr *addr);
void rca_addr_ib_keep_ndev(struct rca_link *link, const struct net_device *ndev);
int rca_addr_ib_own(struct rca_id *id, union rca_addr *dst);
int rca_addr_ib_resolve(struct rca_id *id);

#endif /* RCA_ADDR_IB_H */
