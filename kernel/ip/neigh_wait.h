/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Waiting for the hardware addresses of neighbours. */
#ifndef RCA_NEIGH_WAIT_H
#define RCA_NEIGH_WAIT_H

#include <linux/list.h>
#include <linux/types.h>

struct neighbour;
struct net;
struct rca_neigh;

/** RCA_NEIGH_BATCH - most waiters that are woken without a pause */
#define RCA_NEIGH_BATCH 64

/**
 * struct rca_neigh_key - identifies a neighbour; compared with memcmp(), padding included
 * @net: namespace; never dereferenced
 * @ifindex: network device
 * @len: bytes of @ip; 0: no neighbour
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
 * @node: entry in the waiters of @neigh (lock: of the table)
 * @neigh: what it waits for; NULL: it does not wait (lock: of the table)
 * @key: the neighbour (immutable while it waits)
 * @wake: called when the hardware address of the neighbour is known, and ends the wait: in softirq,
 *        or in process context with softirqs off; the lock of the table is held
 */
struct rca_neigh_wait {
	struct list_head node;
	struct rca_neigh *neigh;
	struct rca_neigh_key key;
	void (*wake)(struct rca_neigh_wait *wait);
};

int rca_neigh_init(void);
void rca_neigh_exit(void);
void rca_neigh_set_key(struct rca_neigh_key *key, const struct neighbour *neigh);
void rca_neigh_wait(struct rca_neigh_wait *wait);
void rca_neigh_unwait(struct rca_neigh_wait *wait);
void rca_neigh_changed(const struct neighbour *neigh);

#endif /* RCA_NEIGH_WAIT_H */
