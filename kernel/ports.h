/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Port tables, one for each network namespace and port space: who may bind what. */
#ifndef RCA_PORTS_H
#define RCA_PORTS_H

#include <linux/list.h>
#include <net/net_namespace.h>

#include "sockaddr.h"

/**
 * struct rca_bind - an entry of a port table; lives in its id
 * @node: in the bucket of its port; unhashed: not bound (lock: bucket)
 * @net: namespace (immutable while bound; the owner holds a reference)
 * @addr: address and port (immutable while bound, but for rca_ports_repick())
 * @ps: port space (immutable while bound)
 * @reuse: may share address and port with other @reuse entries (lock: bucket)
 * @afonly: an IPv6 wildcard that does not take IPv4 (lock: bucket)
 * @chosen: the port was chosen by us, not by the caller (immutable while bound)
 * @listening: its owner listens (lock: bucket)
 */
struct rca_bind {
	struct hlist_node node;
	struct net *net;
	union rca_addr addr;
	u16 ps;
	bool reuse;
	bool afonly;
	bool chosen;
	bool listening;
};

int rca_ports_init(void);
void rca_ports_exit(void);
int rca_ports_bind(struct rca_bind *bind, struct net *net, u16 ps, const union rca_addr *addr);
int rca_ports_repick(struct rca_bind *bind);
int rca_ports_listen(struct rca_bind *bind);
void rca_ports_unlisten(struct rca_bind *bind);
int rca_ports_set_reuse(struct rca_bind *bind, bool reuse);
int rca_ports_set_afonly(struct rca_bind *bind, bool afonly);
void rca_ports_unbind(struct rca_bind *bind);
bool rca_ports_bound(const struct rca_bind *bind);
__be16 rca_ports_any(struct net *net);

#endif /* RCA_PORTS_H */
