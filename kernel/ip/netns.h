/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Switch the network namespace of the current task. */
#ifndef RCA_NETNS_H
#define RCA_NETNS_H

#include <linux/nsproxy.h>

struct net;

/**
 * struct rca_netns - state of a task that has switched its network namespace
 * @proxy: namespaces of the task meanwhile
 * @old: namespaces to switch back to; NULL: no switch was needed
 */
struct rca_netns {
	struct nsproxy proxy;
	struct nsproxy *old;
};

void rca_netns_enter(struct rca_netns *visit, struct net *net);
void rca_netns_leave(struct rca_netns *visit);

#endif /* RCA_NETNS_H */
