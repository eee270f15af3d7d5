/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What messages of the generic netlink family are made of, and who may see what. */
#ifndef RCA_NETLINK_PUT_H
#define RCA_NETLINK_PUT_H

#include <linux/netlink.h>
#include <linux/uidgid.h>
#include <rdma/rdma_cm_alt_netlink.h>

#include "lib/types.h"

struct ib_device;

/**
 * struct rca_nl_reader - who reads, and what he may see
 * @net: his network namespace
 * @uid: who he is
 * @users: how he calls users
 * @all: he may see what is others'
 */
struct rca_nl_reader {
	struct net *net;
	kuid_t uid;
	struct user_namespace *users;
	bool all;
};

struct rca_nl_reader rca_nl_reader(struct netlink_callback *cb);
bool rca_nl_sees(const struct rca_nl_reader *reader, kuid_t uid);
void *rca_nl_begin(struct sk_buff *skb, struct netlink_callback *cb, u8 cmd);
int rca_nl_put_owner(struct sk_buff *skb, struct user_namespace *users, kuid_t uid,
		     pid_t pid, const char *comm);
int rca_nl_put_addr(struct sk_buff *skb, int attr, const union rca_addr *addr);
int rca_nl_put_port(struct sk_buff *skb, const struct ib_device *ibdev, u32 port);
int rca_nl_put_u64(struct sk_buff *skb, int attr, u64 value);

#endif /* RCA_NETLINK_PUT_H */
