/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The next hop to a peer, from the routes and neighbours of the host, and waiting for it. */
#ifndef RCA_NEXTHOP_H
#define RCA_NEXTHOP_H

#include <linux/list.h>

#include "lib/sockaddr.h"

struct neighbour;
struct net;
struct rdma_dev_addr;

/**
 * struct rca_neigh_key - identifies a neighbour; compared with memcmp(), padding included
 * @net: namespace; never dereferenced
 * @ifindex: network device
 * @len: bytes of @ip
 * @ip: IP address
 */
struct rca_neigh_key {
	const struct net *net;
	int ifindex;
	u32 len;
	u8 ip[16];
};

/**
 * struct rca_neigh_wait - a waiter for a neighbour
 * @node: in the table of waiters (lock: of the table)
 * @key: the neighbour (immutable while in the table)
 * @wake: called once, when the hardware address of the neighbour is known: in any context,
 *        with the lock of the table held and interrupts off
 */
struct rca_neigh_wait {
	struct hlist_node node;
	struct rca_neigh_key key;
	void (*wake)(struct rca_neigh_wait *wait);
};

int rca_nexthop(union rca_addr *src, const union rca_addr *dst, struct rdma_dev_addr *addr,
		struct rca_neigh_key *missing);
void rca_nexthop_wait(struct rca_neigh_wait *wait);
void rca_nexthop_unwait(struct rca_neigh_wait *wait);
void rca_nexthop_neigh_changed(const struct neighbour *neigh);

#endif /* RCA_NEXTHOP_H */
