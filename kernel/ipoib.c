// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * IPoIB devices above a port: which IP addresses the port has by them.
 *
 * Locking: RCU, and the lock of a network device's IPv6 addresses.
 */
#include "ipoib.h"

#include <linux/if_arp.h>
#include <linux/inetdevice.h>
#include <linux/netdevice.h>
#include <linux/string.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>
#include <rdma/ib_cache.h>

#include "sockaddr.h"

/* Where an IPoIB hardware address has its GID (RFC 4391). */
#define IPOIB_GID	4

/* Is it an IPoIB device of this port that works? */
static bool is_above(struct net_device *ndev, struct ib_device *ibdev, u32 port)
{
	const struct ib_gid_attr *attr;
	union ib_gid gid;

	if (ndev->type != ARPHRD_INFINIBAND || !(READ_ONCE(ndev->flags) & IFF_UP))
		return false;
	memcpy(gid.raw, ndev->dev_addr + IPOIB_GID, sizeof(gid.raw));
	attr = rdma_find_gid_by_port(ibdev, &gid, IB_GID_TYPE_IB, port, NULL);
	if (IS_ERR(attr))
		return false;
	rdma_put_gid_attr(attr);
	return true;
}

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

/**
 * rca_ipoib_ip() - an IP address of a port, which an IPoIB device above it has
 * @ibdev: the device
 * @port: its port
 * @net: namespace of the network device
 * @family: AF_INET or AF_INET6
 * @linklocal: a link-local address, else any other
 * @addr: the address
 *
 * Context: Process context. Takes and releases RCU and the locks of network devices.
 * Return: whether there is one.
 */
bool rca_ipoib_ip(struct ib_device *ibdev, u32 port, struct net *net, sa_family_t family,
		  bool linklocal, union rca_addr *addr)
{
	struct net_device *ndev;
	bool found = false;

	rcu_read_lock();
	for_each_netdev_rcu(net, ndev) {
		if (!is_above(ndev, ibdev, port))
			continue;
		if (family == AF_INET)
			found = !linklocal && first_ip4(ndev, addr);
		else
			found = first_ip6(ndev, linklocal, addr);
		if (found)
			break;
	}
	rcu_read_unlock();
	return found;
}
