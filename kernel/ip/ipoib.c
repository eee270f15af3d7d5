// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * IPoIB network devices on top of a port, which have the IP addresses of the port.
 *
 * Locking: RCU.
 */
#include "ip/ipoib.h"

#include <linux/if_arp.h>
#include <linux/netdevice.h>
#include <linux/string.h>
#include <rdma/ib_cache.h>

#include "ip/ifaddr.h"

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
