/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Ids and memberships, as tools see them. */
#ifndef RCA_NETLINK_IDS_H
#define RCA_NETLINK_IDS_H

struct netlink_callback;
struct sk_buff;

int rca_nl_dump_ids(struct sk_buff *skb, struct netlink_callback *cb);
int rca_nl_dump_members(struct sk_buff *skb, struct netlink_callback *cb);

#endif /* RCA_NETLINK_IDS_H */
