/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The next hop to a peer, from the routes and neighbours of the host. */
#ifndef RCA_NEXTHOP_H
#define RCA_NEXTHOP_H

#include "ip/neigh_wait.h"
#include "lib/sockaddr.h"

struct rdma_dev_addr;

int rca_nexthop(union rca_addr *src, const union rca_addr *dst, struct rdma_dev_addr *addr,
		struct rca_neigh_key *missing);

#endif /* RCA_NEXTHOP_H */
