/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Netlink. */
#ifndef RCA_DIAG_DIAG_H
#define RCA_DIAG_DIAG_H

#include <linux/netlink.h>
#include <linux/uidgid.h>
#include <rdma/rdma_cm_alt_netlink.h>

#include "lib/types.h"

/* The generic netlink family: dumps of what there is, and notifications. */

/**
 * struct rca_nl_dump - a call of dumpit(), and what its reader may see
 * @skb: message buffer to fill
 * @cb: state of the dump
 * @net: network namespace of the reader
 * @uid: user of the reader
 * @userns: user namespace in which user IDs are reported
 * @all: the reader may see objects of other users
 */
struct rca_nl_dump {
	struct sk_buff *skb;
	struct netlink_callback *cb;
	struct net *net;
	kuid_t uid;
	struct user_namespace *userns;
	bool all;
};

/* Progress of a dump that rca_nl_dump_ctxs() makes: indices of cb->args. */
enum {
	RCA_NL_DONE,	/* serial of the last context that is complete */
	RCA_NL_CTX,	/* serial of the context that RCA_NL_POS is in */
	RCA_NL_POS,	/* for the callback: position in the context, 0 at its start */
};

struct rca_device;
struct rca_peer_key;

int rca_netlink_init(void);
void rca_netlink_exit(void);
void rca_nl_trunk_barred(struct rca_device *dev, const struct rca_peer_key *peer);

/* netlink_dump.c: callbacks of the family */
int rca_nl_dump_ids(struct sk_buff *skb, struct netlink_callback *cb);
int rca_nl_dump_members(struct sk_buff *skb, struct netlink_callback *cb);
int rca_nl_dump_queues(struct sk_buff *skb, struct netlink_callback *cb);
int rca_nl_start_ports(struct netlink_callback *cb);
int rca_nl_dump_ports(struct sk_buff *skb, struct netlink_callback *cb);
int rca_nl_start_table(struct netlink_callback *cb);
int rca_nl_dump_table(struct sk_buff *skb, struct netlink_callback *cb);
int rca_nl_done_table(struct netlink_callback *cb);

/* netlink_dump.c: what dumps have in common */
void rca_nl_allow_dumps(void);
int rca_nl_start(struct netlink_callback *cb);
struct rca_nl_dump rca_nl_dump_start(struct sk_buff *skb, struct netlink_callback *cb);
bool rca_nl_may_see(const struct rca_nl_dump *dump, kuid_t uid);
void *rca_nl_msg_begin(const struct rca_nl_dump *dump, u8 cmd);
int rca_nl_msg_end(const struct rca_nl_dump *dump, void *msg, int ret);

#endif
