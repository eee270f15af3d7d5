// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * IPoIB devices above a port: which IP addresses the port has by them.
 *
 * Locking: RCU.
 */
#include "ip/ipoib.h"

#include <linux/if_arp.h>
#include <linux/netdevice.h>
#include <linux/string.h>
#include <rdma/ib_cache.h>

#include "ip/ifaddr.h"

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

/**
 * rca_ipoib_group() - the group that stands for all of the subnet of an IPoIB device (RFC 4391)
 * @net: namespace of the network device
 * @ifindex: the network device
 * @mgid: its MGID; 0: it is no IPoIB device, or is not there
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
		found = is_above(ndev, ibdev, port) &&
			rca_ifaddr_first(ndev, family, linklocal, addr);
		if (found)
			break;
	}
	rcu_read_unlock();
	return found;
}
