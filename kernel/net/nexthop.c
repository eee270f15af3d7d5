// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The next hop to a peer: the network device, and the hardware addresses of both ends
 * of the link. A lookup does not wait for the neighbour.
 *
 * Locking: none; lookups are under RCU.
 */
#include "net/net.h"

#include <linux/if_arp.h>
#include <linux/inetdevice.h>
#include <linux/netdevice.h>
#include <linux/string.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>
#include <net/ip6_route.h>
#include <net/neighbour.h>
#include <net/route.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>

#include "lib/compat.h"
#include "lib/sockaddr.h"

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

static int follow_route(struct dst_entry *route, enum hop hop, const union rca_addr *dst,
			struct rdma_dev_addr *addr, struct rca_neigh_key *missing)
{
	const void *ip = dst->sa.sa_family == AF_INET ? (const void *)&dst->in.sin_addr :
							(const void *)&dst->in6.sin6_addr;
	struct net_device *ndev = READ_ONCE(route->dev);
	struct neighbour *neigh;
	int ret = 0;

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
	neigh = dst_neigh_lookup(route, ip);
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

/*
 * IP addresses of network devices.
 *
 * Locking: RCU, and the lock of a network device's IPv6 addresses.
 */

static bool first_ip4(struct net_device *ndev, union rca_addr *addr)
{
	struct in_device *in_dev = __in_dev_get_rcu(ndev);
	struct in_ifaddr *ifa = in_dev ? rcu_dereference(in_dev->ifa_list) : NULL;

	if (!ifa)
		return false;
	rca_addr_set_any(addr, AF_INET);
	addr->in.sin_addr.s_addr = ifa->ifa_local;
	return true;
}

static bool first_ip6(struct net_device *ndev, bool linklocal, union rca_addr *addr)
{
#if IS_ENABLED(CONFIG_IPV6)
	struct inet6_dev *idev = __in6_dev_get(ndev);
	struct inet6_ifaddr *ifp;
	bool found = false;

	if (!idev)
		return false;
	rca_addr_set_any(addr, AF_INET6);
	read_lock_bh(&idev->lock);
	list_for_each_entry(ifp, &idev->addr_list, if_list) {
		addr->in6.sin6_addr = ifp->addr;
		found = !(ifp->flags & (IFA_F_TENTATIVE | IFA_F_DADFAILED)) &&
			rca_addr_is_linklocal(addr) == linklocal;
		if (found)
			break;
	}
	read_unlock_bh(&idev->lock);
	if (found && linklocal)
		addr->in6.sin6_scope_id = ndev->ifindex;
	return found;
#else
	return false;
#endif
}

/*
 * Get the first address of a network device, without a port: only link-local ones, or only others.
 * The caller holds the RCU read lock. False: there is no such address.
 */
bool rca_ifaddr_first(struct net_device *ndev, sa_family_t family, bool linklocal,
		      union rca_addr *addr)
{
	if (family == AF_INET)
		return !linklocal && first_ip4(ndev, addr);
	return family == AF_INET6 && first_ip6(ndev, linklocal, addr);
}

/*
 * IPoIB network devices on top of a port, which have the IP addresses of the port.
 *
 * Locking: RCU.
 */

/* Offset of the GID in an IPoIB hardware address (RFC 4391). */
#define IPOIB_GID	4

/* Check that @ndev is an IPoIB device of this port. */
static bool ndev_on_port(struct net_device *ndev, struct ib_device *ibdev, u32 port)
{
	const struct ib_gid_attr *attr;
	union ib_gid gid;

	if (ndev->type != ARPHRD_INFINIBAND)
		return false;
	memcpy(gid.raw, ndev->dev_addr + IPOIB_GID, sizeof(gid.raw));
	attr = rdma_find_gid_by_port(ibdev, &gid, IB_GID_TYPE_IB, port, NULL);
	if (IS_ERR(attr))
		return false;
	rdma_put_gid_attr(attr);
	return true;
}

/* Does a namespace have an IPoIB device of this port, up or not? Takes and releases RCU. */
bool rca_ipoib_exists(struct ib_device *ibdev, u32 port, struct net *net)
{
	struct net_device *ndev;
	bool found = false;

	rcu_read_lock();
	for_each_netdev_rcu(net, ndev) {
		found = ndev_on_port(ndev, ibdev, port);
		if (found)
			break;
	}
	rcu_read_unlock();
	return found;
}

/**
 * rca_ipoib_group() - get the broadcast group of the subnet of an IPoIB device (RFC 4391)
 * @net: namespace of the network device
 * @ifindex: the network device
 * @mgid: MGID of the group; 0: not an IPoIB device, or there is no such device
 *
 * Context: Any context. Takes and releases RCU.
 */
void rca_ipoib_group(struct net *net, int ifindex, union ib_gid *mgid)
{
	struct net_device *ndev;

	memset(mgid, 0, sizeof(*mgid));
	rcu_read_lock();
	ndev = dev_get_by_index_rcu(net, ifindex);
	if (ndev && ndev->type == ARPHRD_INFINIBAND)
		memcpy(mgid->raw, ndev->broadcast + IPOIB_GID, sizeof(mgid->raw));
	rcu_read_unlock();
}

/**
 * rca_ipoib_ip() - get an IP address of an InfiniBand port
 * @ibdev: the device
 * @port: port of the device
 * @net: namespace of the IPoIB device
 * @family: AF_INET or AF_INET6
 * @linklocal: only link-local addresses; false: only others
 * @addr: the address
 *
 * Context: Process context. Takes and releases RCU and the locks of network devices.
 * Return: true: an IPoIB device of the port has such an address.
 */
bool rca_ipoib_ip(struct ib_device *ibdev, u32 port, struct net *net, sa_family_t family,
		  bool linklocal, union rca_addr *addr)
{
	struct net_device *ndev;
	bool found = false;

	rcu_read_lock();
	for_each_netdev_rcu(net, ndev) {
		found = READ_ONCE(ndev->flags) & IFF_UP && ndev_on_port(ndev, ibdev, port) &&
			rca_ifaddr_first(ndev, family, linklocal, addr);
		if (found)
			break;
	}
	rcu_read_unlock();
	return found;
}
