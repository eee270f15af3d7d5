/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The IP side of the host: next hops, neighbours, interfaces, ports. */
#ifndef RCA_NET_NET_H
#define RCA_NET_NET_H

#include <linux/if_ether.h>
#include <linux/list.h>
#include <linux/nsproxy.h>
#include <linux/socket.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <net/net_namespace.h>
#include <rdma/ib_verbs.h>

#include "lib/sockaddr.h"
#include "lib/types.h"

struct ib_device;
struct ib_gid_attr;
struct neighbour;
struct net;
struct net_device;
struct rdma_dev_addr;

/* IP addresses of network devices. */

bool rca_ifaddr_first(struct net_device *ndev, sa_family_t family, bool linklocal,
		      union rca_addr *addr);

/* IPoIB network devices on top of a port. */

bool rca_ipoib_exists(struct ib_device *ibdev, u32 port, struct net *net);
void rca_ipoib_group(struct net *net, int ifindex, union ib_gid *mgid);
bool rca_ipoib_ip(struct ib_device *ibdev, u32 port, struct net *net, sa_family_t family,
		  bool linklocal, union rca_addr *addr);

/* Ports of iWARP devices, and their network devices. */

const struct ib_gid_attr *rca_iwport_find(struct ib_device *ibdev, u32 port, struct net *net,
					  int ifindex);
bool rca_iwport_ip(struct ib_device *ibdev, u32 port, struct net *net, sa_family_t family,
		   bool linklocal, union rca_addr *addr);

/* Waiting for the hardware addresses of neighbours, and watching for others. */

/** RCA_NEIGH_BATCH - most waiters and watchers that are looked at without a pause */
#define RCA_NEIGH_BATCH 64

/**
 * struct rca_neigh_key - identifies a neighbour; compared with memcmp(), padding included
 * @net: namespace; never dereferenced
 * @ifindex: network device
 * @len: bytes of @ip; 0: no neighbour
 * @ip: IP address
 */
struct rca_neigh_key {
	const struct net *net;
	int ifindex;
	u32 len;
	u8 ip[16];
};

/**
 * struct rca_neigh_wait - a waiter for a neighbour
 * @node: entry in the table (lock: of the waiters)
 * @waits: it is in the table (lock: of the waiters)
 * @key: the neighbour (immutable while it waits)
 * @wake: called when the hardware address of the neighbour is known, and ends the wait: in softirq,
 *        or in process context with softirqs off; the lock of the waiters is held
 */
struct rca_neigh_wait {
	struct list_head node;
	bool waits;
	struct rca_neigh_key key;
	void (*wake)(struct rca_neigh_wait *wait);
};

/**
 * struct rca_neigh_addr - a neighbour that was looked up; zero: none was
 * @key: the neighbour
 * @known: @mac is its hardware address
 * @mac: see @known
 */
struct rca_neigh_addr {
	struct rca_neigh_key key;
	bool known;
	u8 mac[ETH_ALEN];
};

/* Changes that watchers are notified of, as bits: a bond has failed over; a neighbour. */
enum { RCA_NETDEV_CHANGED, RCA_NEIGH_CHANGED };

/*
 * Notifies a watcher of changes, not necessarily of its own neighbour or network device. @found is
 * for rca_neigh_look_up(), as many may watch one neighbour. Process context, under RCU and with the
 * lock of the bucket held.
 */
typedef void (*rca_neigh_watch_fn)(struct hlist_node *watch, unsigned long changes,
				   struct rca_neigh_addr *found);

int rca_neigh_init(rca_neigh_watch_fn fn);
void rca_neigh_exit(void);
void rca_neigh_key(struct rca_neigh_key *key, const struct net *net, int ifindex,
		   const union rca_addr *addr);
void rca_neigh_set_key(struct rca_neigh_key *key, const struct neighbour *neigh);
void rca_neigh_wait(struct rca_neigh_wait *wait);
void rca_neigh_unwait(struct rca_neigh_wait *wait);
u16 rca_neigh_watch(struct hlist_node *watch, const struct rca_neigh_key *key);
void rca_neigh_unwatch(struct hlist_node *watch, u16 place);
bool rca_neigh_look_up(struct rca_neigh_addr *found, const struct rca_neigh_key *key,
		       struct net_device *ndev);

/* Switch the network namespace of the current task. */

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

/* The next hop to a peer, from the routes and neighbours of the host. */

int rca_nexthop(union rca_addr *src, const union rca_addr *dst, struct rdma_dev_addr *addr,
		struct rca_neigh_key *missing);

/* Port tables, one for each network namespace and port space. */

/**
 * struct rca_bucket - the bindings of some ports
 * @lock: protects @binds and the members of each binding
 * @binds: &rca_bind.node, one of each group (lock: @lock)
 */
struct rca_bucket {
	spinlock_t lock;
	struct hlist_head binds;
};

/**
 * struct rca_bind - a binding: an entry of a port table, embedded in its id
 * @node: in the bucket of its port; fake: in the group of one that is; unhashed: not bound (lock:
 *        bucket)
 * @group: ring of the bindings that conflict with the same bindings; empty if @node is not shared
 *         (lock: bucket)
 * @net: namespace (immutable while bound; referenced by the id)
 * @addr: address and port (immutable while bound, except by rca_ports_repick())
 * @ps: port space (immutable while bound)
 * @reuse: may share address and port with other @reuse bindings (lock: bucket)
 * @afonly: an IPv6 wildcard that does not cover IPv4 (lock: bucket)
 * @chosen: the port was chosen by rca_ports_bind(), not by its caller (immutable while bound)
 * @listening: the id listens (lock: bucket)
 * @privileged: a low port was bound with the right to ports of the host (immutable while bound)
 */
struct rca_bind {
	struct hlist_node node;
	struct list_head group;
	struct net *net;
	union rca_addr addr;
	u16 ps;
	bool reuse;
	bool afonly;
	bool chosen;
	bool listening;
	bool privileged;
};

int rca_ports_select_ib(u16 *ps, struct sockaddr_ib *sib);
int rca_ports_init(void);
void rca_ports_exit(void);

/* Binding ports, and listening on them. */

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

#endif
