/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* IPoIB network devices on top of a port. */
#ifndef RCA_IPOIB_H
#define RCA_IPOIB_H

#include <linux/socket.h>
#include <rdma/ib_verbs.h>

#include "lib/types.h"

bool rca_ipoib_exists(struct ib_device *ibdev, u32 port, struct net *net);
void rca_ipoib_group(struct net *net, int ifindex, union ib_gid *mgid);
bool rca_ipoib_ip(struct ib_device *ibdev, u32 port, struct net *net, sa_family_t family,
		  bool linklocal, union rca_addr *addr);

#endif /* RCA_IPOIB_H */
