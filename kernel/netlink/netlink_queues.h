/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Event queues, as tools see them. */
#ifndef RCA_NETLINK_QUEUES_H
#define RCA_NETLINK_QUEUES_H

struct netlink_callback;
struct sk_buff;

int rca_nl_dump_queues(struct sk_buff *skb, struct netlink_callback *cb);

#endif /* RCA_NETLINK_QUEUES_H */
