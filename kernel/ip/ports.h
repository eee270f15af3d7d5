/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Binding ports, and listening on them. */
#ifndef RCA_PORTS_H
#define RCA_PORTS_H

#include "ip/porttable.h"

int rca_ports_bind(struct rca_bind *bind, struct net *net, u16 ps, const union rca_addr *addr);
int rca_ports_repick(struct rca_bind *bind);
int rca_ports_listen(struct rca_bind *bind);
void rca_ports_unlisten(struct rca_bind *bind);
int rca_ports_set_reuse(struct rca_bind *bind, bool reuse);
int rca_ports_set_afonly(struct rca_bind *bind, bool afonly);
void rca_ports_unbind(struct rca_bind *bind);
bool rca_ports_bound(const struct rca_bind *bind);
bool rca_ports_confined(const struct rca_bind *bind);
__be16 rca_ports_any(struct net *net);

#endif /* RCA_PORTS_H */
