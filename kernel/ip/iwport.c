// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Ports of iWARP devices. They have one GID, made of the hardware address of
 * the network device that they are on; IP addresses are the business of TCP.
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
 * Is the port of this GID on @ndev? Kernels before 6.12 do not tell the network
 * device of such a GID, and its hardware address has to do.
 */
static bool gid_is_of(const struct ib_gid_attr *attr, const struct net_device *ndev)
{
	const struct net_device *own = rcu_dereference(attr->ndev);

	if (own)
		return own == ndev;
	return ndev->type != ARPHRD_INFINIBAND &&
	       !memcmp(attr->gid.raw, ndev->dev_addr, ETH_ALEN);
}

/* A VLAN is on the port of its real device, and a port of a VLAN carries the real device. */
static bool port_carries(const struct ib_gid_attr *attr, struct net_device *ndev)
{
	struct net_device *own = rcu_dereference(attr->ndev);

	if (gid_is_of(attr, ndev))
		return true;
	if (is_vlan_dev(ndev) && gid_is_of(attr, vlan_dev_real_dev(ndev)))
		return true;
	return own && is_vlan_dev(own) && vlan_dev_real_dev(own) == ndev;
}

/**
 * rca_iwport_find() - the GID of a port, if it is on a network device
 * @ibdev: the device
 * @port: its port
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
	found = ndev && port_carries(attr, ndev);
	rcu_read_unlock();
	if (found)
		return attr;
	rdma_put_gid_attr(attr);
	return ERR_PTR(-ENODEV);
}

/**
 * rca_iwport_ip() - an IP address of a port, which its network device has
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
		found = READ_ONCE(ndev->flags) & IFF_UP && gid_is_of(attr, ndev) &&
			rca_ifaddr_first(ndev, family, linklocal, addr);
		if (found)
			break;
	}
	rcu_read_unlock();
	rdma_put_gid_attr(attr);
	return found;
}
