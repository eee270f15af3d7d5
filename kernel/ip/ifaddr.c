// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * IP addresses of network devices.
 *
 * Locking: RCU, and the lock of a network device's IPv6 addresses.
 */
#include "ip/ifaddr.h"

#include <linux/inetdevice.h>
#include <linux/netdevice.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>

#include "lib/sockaddr.h"

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
 * rca_ifaddr_first() - get the first address of a network device
 * @ndev: the network device
 * @family: AF_INET or AF_INET6
 * @linklocal: only link-local addresses; false: only others
 * @addr: the address, without a port
 *
 * Context: Any context, under RCU. Takes and releases the lock of the IPv6 addresses of @ndev.
 * Return: true: @ndev has such an address.
 */
bool rca_ifaddr_first(struct net_device *ndev, sa_family_t family, bool linklocal,
		      union rca_addr *addr)
{
	if (family == AF_INET)
		return !linklocal && first_ip4(ndev, addr);
	return family == AF_INET6 && first_ip6(ndev, linklocal, addr);
}
