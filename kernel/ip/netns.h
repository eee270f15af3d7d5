/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Run code of others in the network namespace that it means by "current". */
#ifndef RCA_NETNS_H
#define RCA_NETNS_H

#include <linux/nsproxy.h>

struct net;

/**
 * struct rca_netns - a task that is in another network namespace for a while
 * @proxy: its namespaces meanwhile
 * @old: those that it goes back to; NULL: it was in the right one
 */
struct rca_netns {
	struct nsproxy proxy;
	struct nsproxy *old;
};

void rca_netns_enter(struct rca_netns *visit, struct net *net);
void rca_netns_leave(struct rca_netns *visit);

#endif /* RCA_NETNS_H */
