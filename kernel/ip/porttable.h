/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Port tables, one for each network namespace and port space. */
#ifndef RCA_PORTTABLE_H
#define RCA_PORTTABLE_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <net/net_namespace.h>

#include "lib/sockaddr.h"

/**
 * struct rca_bind - a binding: an entry of a port table, embedded in its id
 * @node: in the bucket of its port; fake: in the group of one that is; unhashed: not bound (lock:
 *        bucket)
 * @group: ring of the bindings that conflict with the same bindings; empty if @node is not shared
 *         (lock: bucket)
 * @net: namespace (immutable while bound; referenced by the id)
 * @addr: address and port (immutable while bound, except by rca_ports_repick())
 * @ps: port space (immutable while bound)
 * @reuse: may share address and port with other @reuse bindings (lock: bucket)
 * @afonly: an IPv6 wildcard that does not cover IPv4 (lock: bucket)
 * @chosen: the port was chosen by rca_ports_bind(), not by its caller (immutable while bound)
 * @listening: the id listens (lock: bucket)
 * @privileged: a low port was bound with the right to ports of the host (immutable while bound)
 */
struct rca_bind {
	struct hlist_node node;
	struct list_head group;
	struct net *net;
	union rca_addr addr;
	u16 ps;
	bool reuse;
	bool afonly;
	bool chosen;
	bool listening;
	bool privileged;
};

/**
 * struct rca_bucket - the bindings of some ports
 * @lock: protects @binds and the members of each binding
 * @binds: &rca_bind.node, one of each group (lock: @lock)
 */
struct rca_bucket {
	spinlock_t lock;
	struct hlist_head binds;
};

int rca_ports_select_ib(u16 *ps, struct sockaddr_ib *sib);
struct rca_bucket *rca_ports_table(struct net *net, u16 ps);
struct rca_bucket *rca_ports_bucket(struct rca_bucket *table, u16 port);
struct rca_bucket *rca_bind_table(const struct rca_bind *bind);
struct rca_bucket *rca_bind_bucket(const struct rca_bind *bind);
int rca_ports_init(void);
void rca_ports_exit(void);

#endif /* RCA_PORTTABLE_H */
