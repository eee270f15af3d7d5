// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Switch the network namespace of the current task, for drivers that create sockets in
 * it, as siw does in iw_cm_connect() and iw_cm_listen(). An id belongs to the namespace
 * of its creator, but a worker runs in the initial one, and a program may have moved to
 * another one.
 *
 * Locking: task_lock() of the current task, which other tasks take to read its namespaces.
 */
#include "net/net.h"

#include <linux/delay.h>
#include <linux/sched/task.h>
#include <net/net_namespace.h>

#include "lib/compat.h"

static void set_proxy(struct nsproxy *proxy)
{
	task_lock(current);
	current->nsproxy = proxy;
	task_unlock(current);
}

/**
 * rca_netns_enter() - switch the current task to a network namespace
 * @visit: filled in, for rca_netns_leave()
 * @net: the namespace; the caller has a reference until it leaves
 *
 * Until rca_netns_leave() the task may only call other modules: no fork, no exit, no
 * return to user space.
 *
 * Context: Process context.
 */
void rca_netns_enter(struct rca_netns *visit, struct net *net)
{
	visit->old = NULL;
	if (net_eq(current->nsproxy->net_ns, net))
		return;
	visit->old = current->nsproxy;
	visit->proxy = *visit->old;
	rca_nsproxy_init(&visit->proxy);
	visit->proxy.net_ns = net;
	set_proxy(&visit->proxy);
}

/**
 * rca_netns_leave() - switch the current task back
 * @visit: from rca_netns_enter()
 *
 * Context: Process context. May sleep.
 */
void rca_netns_leave(struct rca_netns *visit)
{
	if (!visit->old)
		return;
	set_proxy(visit->old);
	/* Other tasks hold a reference while they read it, for setns(2) and pidfds. */
	while (rca_nsproxy_count(&visit->proxy) > 1)
		usleep_range(50, 200);
}
