// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The next hop to a peer: the network device, and the hardware addresses of both ends
 * of the link. A lookup does not wait for the neighbour.
 *
 * Locking: none; lookups are under RCU.
 */
#include "ip/nexthop.h"

#include <linux/if_arp.h>
#include <linux/netdevice.h>
#include <net/ip6_route.h>
#include <net/neighbour.h>
#include <net/route.h>
#include <rdma/ib_addr.h>

#include "lib/compat.h"

/* Where a route leads to. */
enum hop { HOP_PEER, HOP_GATEWAY, HOP_OWN };

static struct dst_entry *route_v4(union rca_addr *src, const union rca_addr *dst,
				  struct rdma_dev_addr *addr, enum hop *hop)
{
	struct flowi4 fl4 = {
		.flowi4_oif = addr->bound_dev_if,
		.daddr = dst->in.sin_addr.s_addr,
		.saddr = src->in.sin_addr.s_addr,
	};
	struct rtable *rt = ip_route_output_key(addr->net, &fl4);

	if (IS_ERR(rt))
		return ERR_CAST(rt);
	src->in.sin_addr.s_addr = fl4.saddr;
	addr->hoplimit = ip4_dst_hoplimit(&rt->dst);
	if (rt->rt_type == RTN_LOCAL)
		*hop = HOP_OWN;
	else if (rt->rt_uses_gateway)
		*hop = HOP_GATEWAY;
	return &rt->dst;
}

static struct dst_entry *route_v6(union rca_addr *src, const union rca_addr *dst,
				  struct rdma_dev_addr *addr, enum hop *hop)
{
#if IS_ENABLED(CONFIG_IPV6)
	struct flowi6 fl6 = {
		.flowi6_oif = addr->bound_dev_if,
		.daddr = dst->in6.sin6_addr,
		.saddr = src->in6.sin6_addr,
	};
	struct dst_entry *route;
	u32 flags;

	route = rca_route_v6(addr->net, &fl6);
	if (IS_ERR(route))
		return route;
	if (ipv6_addr_any(&src->in6.sin6_addr))
		src->in6.sin6_addr = fl6.saddr;
	addr->hoplimit = ip6_dst_hoplimit(route);
	flags = container_of(route, struct rt6_info, dst)->rt6i_flags;
	if (flags & RTF_LOCAL)
		*hop = HOP_OWN;
	else if (flags & RTF_GATEWAY)
		*hop = HOP_GATEWAY;
	return route;
#else
	return ERR_PTR(-EADDRNOTAVAIL);
#endif
}

/* A local address is reached through the device that has it, which connects to itself. */
static int resolve_own_address(const union rca_addr *dst, struct rdma_dev_addr *addr)
{
	struct rdma_dev_addr owner = { .net = addr->net };

	/* The loopback device also has routes to addresses that no device has. */
	if (rdma_translate_ip(&dst->sa, &owner) || rdma_translate_ip(&dst->sa, addr))
		return -ENODEV;
	memcpy(addr->dst_dev_addr, addr->src_dev_addr, sizeof(addr->dst_dev_addr));
	return 0;
}

static int resolve_neigh(struct dst_entry *route, struct net_device *ndev,
			 const union rca_addr *dst, struct rdma_dev_addr *addr,
			 struct rca_neigh_key *missing)
{
	const void *ip = dst->sa.sa_family == AF_INET ? (const void *)&dst->in.sin_addr :
							(const void *)&dst->in6.sin6_addr;
	struct neighbour *neigh = dst_neigh_lookup(route, ip);
	int ret = 0;

	if (!neigh)
		return -EAGAIN;
	if (READ_ONCE(neigh->nud_state) & NUD_VALID) {
		neigh_ha_snapshot(addr->dst_dev_addr, neigh, ndev);
	} else {
		rca_neigh_set_key(missing, neigh);
		neigh_event_send(neigh, NULL);
		ret = -EAGAIN;
	}
	neigh_release(neigh);
	return ret;
}

static int follow_route(struct dst_entry *route, enum hop hop, const union rca_addr *dst,
			struct rdma_dev_addr *addr, struct rca_neigh_key *missing)
{
	struct net_device *ndev = READ_ONCE(route->dev);

	addr->network = RDMA_NETWORK_IB;
	/* In a VRF, packets to an own address leave through the device of the VRF. */
	if (hop == HOP_OWN || ndev->flags & IFF_LOOPBACK)
		return resolve_own_address(dst, addr);
	addr->bound_dev_if = ndev->ifindex;
	if (rdma_translate_ip(&dst->sa, addr))
		return -ENODEV;
	if (hop == HOP_GATEWAY) {
		/* The path leads to the peer itself, whose GID user space (ibacm) resolves. */
		if (ndev->type == ARPHRD_INFINIBAND)
			return -EOPNOTSUPP;
		/* RoCE v1 is not routed, so this is RoCE v2. */
		addr->network = dst->sa.sa_family == AF_INET ? RDMA_NETWORK_IPV4 :
							       RDMA_NETWORK_IPV6;
	}
	return resolve_neigh(route, ndev, dst, addr, missing);
}

/**
 * rca_nexthop() - look up the next hop to a peer
 * @src: local address, IPv4 or IPv6; a wildcard is replaced by the address of the route
 * @dst: address of the peer, of the same family
 * @addr: namespace, and network device if a certain one is required; the rest is filled in
 * @missing: with -EAGAIN: the neighbour, which has been asked for its hardware address. Its
 *           len is 0 when there was no memory for the neighbour
 *
 * Context: Process context.
 * Return: 0; -EAGAIN: the hardware address of the neighbour is not known yet; -EOPNOTSUPP: a
 * gateway of an IPoIB network, which ib_addr can resolve; -ENODEV; -ENOMEM; or another errno of
 * the route lookup.
 */
int rca_nexthop(union rca_addr *src, const union rca_addr *dst, struct rdma_dev_addr *addr,
		struct rca_neigh_key *missing)
{
	struct dst_entry *route;
	enum hop hop = HOP_PEER;
	int ret;

	memset(missing, 0, sizeof(*missing));
	rcu_read_lock();
	route = dst->sa.sa_family == AF_INET ? route_v4(src, dst, addr, &hop) :
					       route_v6(src, dst, addr, &hop);
	ret = PTR_ERR_OR_ZERO(route);
	if (ret == -ENOBUFS)	/* no memory for the route */
		ret = -ENOMEM;
	if (!ret) {
		ret = follow_route(route, hop, dst, addr, missing);
		dst_release(route);
	}
	rcu_read_unlock();
	return ret;
}
