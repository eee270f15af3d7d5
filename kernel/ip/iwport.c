// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Ports of iWARP devices. A port has one GID, which is made of the hardware address of
 * its network device. IP addresses are handled by TCP.
 *
 * Locking: RCU.
 */
#include "ip/iwport.h"

#include <linux/if_arp.h>
#include <linux/if_vlan.h>
#include <linux/netdevice.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>

#include "ip/ifaddr.h"

/*
 * Check that the port of a GID is on @ndev. Kernels before 6.12 do not set the network
 * device of such a GID, so the hardware address is compared.
 */
static bool gid_on_ndev(const struct ib_gid_attr *attr, const struct net_device *ndev)
{
	const struct net_device *own = rcu_dereference(attr->ndev);

	if (own)
		return own == ndev;
	return ndev->type != ARPHRD_INFINIBAND &&
	       !memcmp(attr->gid.raw, ndev->dev_addr, ETH_ALEN);
}

/* A VLAN belongs to the port of its real device, and a real device to the port of its VLAN. */
static bool port_serves_ndev(const struct ib_gid_attr *attr, struct net_device *ndev)
{
	struct net_device *own = rcu_dereference(attr->ndev);

	if (gid_on_ndev(attr, ndev))
		return true;
	if (is_vlan_dev(ndev) && gid_on_ndev(attr, vlan_dev_real_dev(ndev)))
		return true;
	return own && is_vlan_dev(own) && vlan_dev_real_dev(own) == ndev;
}

/**
 * rca_iwport_find() - get the GID of a port, if the port serves a network device
 * @ibdev: the device
 * @port: port of the device
 * @net: the network namespace
 * @ifindex: the network device
 *
 * Context: Process context.
 * Return: the GID with a reference, or ERR_PTR(-ENODEV).
 */
const struct ib_gid_attr *rca_iwport_find(struct ib_device *ibdev, u32 port, struct net *net,
					  int ifindex)
{
	const struct ib_gid_attr *attr = rdma_get_gid_attr(ibdev, port, 0);
	struct net_device *ndev;
	bool found;

	if (IS_ERR(attr))
		return attr;
	rcu_read_lock();
	ndev = dev_get_by_index_rcu(net, ifindex);
	found = ndev && port_serves_ndev(attr, ndev);
	rcu_read_unlock();
	if (found)
		return attr;
	rdma_put_gid_attr(attr);
	return ERR_PTR(-ENODEV);
}

/*
 * rca_iwport_ip() - get an IP address of an iWARP port
 *
 * Parameters, context and return value are those of rca_ipoib_ip().
 */
bool rca_iwport_ip(struct ib_device *ibdev, u32 port, struct net *net, sa_family_t family,
		   bool linklocal, union rca_addr *addr)
{
	const struct ib_gid_attr *attr = rdma_get_gid_attr(ibdev, port, 0);
	struct net_device *ndev;
	bool found = false;

	if (IS_ERR(attr))
		return false;
	rcu_read_lock();
	for_each_netdev_rcu(net, ndev) {
		found = READ_ONCE(ndev->flags) & IFF_UP && gid_on_ndev(attr, ndev) &&
			rca_ifaddr_first(ndev, family, linklocal, addr);
		if (found)
			break;
	}
	rcu_read_unlock();
	rdma_put_gid_attr(attr);
	return found;
}
