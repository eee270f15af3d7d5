/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Counts of ports, as tools see them. */
#ifndef RCA_NETLINK_PORTS_H
#define RCA_NETLINK_PORTS_H

struct netlink_callback;
struct sk_buff;

int rca_nl_start_ports(struct netlink_callback *cb);
int rca_nl_dump_ports(struct sk_buff *skb, struct netlink_callback *cb);

#endif /* RCA_NETLINK_PORTS_H */
