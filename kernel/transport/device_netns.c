// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Which devices can receive requests for a network namespace. A service ID has one
 * user per device, across all namespaces, so a listener takes it only on devices on
 * which a request for its namespace can arrive.
 *
 * Locking: RCU for the network devices; the rest is locked by ib_core.
 */
#include "transport/device_netns.h"

#include <linux/netdevice.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>

#include "ip/ipoib.h"
#include "transport/devices.h"

static bool gid_in_net(const struct ib_gid_attr *attr, const struct net *net)
{
	struct net_device *ndev;
	bool ret;

	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(attr);
	ret = !IS_ERR(ndev) && net_eq(dev_net(ndev), net);
	rcu_read_unlock();
	return ret;
}

/* A RoCE port has GIDs of its network device and of those above it, each in a namespace. */
static bool roce_port_in_net(struct ib_device *ibdev, u32 port, const struct net *net)
{
	int len = ibdev->port_data[port].immutable.gid_tbl_len;
	const struct ib_gid_attr *attr;
	bool found = false;
	int i;

	for (i = 0; i < len && !found; i++) {
		attr = rdma_get_gid_attr(ibdev, port, i);
		if (IS_ERR(attr))
			continue;
		found = gid_in_net(attr, net);
		rdma_put_gid_attr(attr);
	}
	return found;
}

/* An iWARP device has one network device; VLANs may be on top of it, in other namespaces. */
static bool iwarp_dev_in_net(struct ib_device *ibdev, struct net *net)
{
	struct net_device *ndev;
	struct ib_device *found;
	bool ret = false;

	rcu_read_lock();
	for_each_netdev_rcu(net, ndev) {
		found = ib_device_get_by_netdev(rdma_vlan_dev_real_dev(ndev) ?: ndev,
						ibdev->ops.driver_id);
		if (!found)
			continue;
		ret = found == ibdev;
		ib_device_put(found);
		if (ret)
			break;
	}
	rcu_read_unlock();
	return ret;
}

/* Is the device one of this namespace? Other namespaces see it in the shared mode only. */
bool rca_device_in_netns(struct rca_device *dev, const struct net *net)
{
	return net_eq(read_pnet(&dev->ibdev->coredev.rdma_net), net);
}

/**
 * rca_device_serves_netns() - check whether a device can receive requests for a namespace
 * @dev: the device; the caller has a reference
 * @net: the namespace
 *
 * In the exclusive mode of the RDMA subsystem a device is in one namespace, and is
 * removed and added again when it moves. In the shared mode the answer depends on the
 * network devices. An InfiniBand device serves its own namespace, where it also has AF_IB
 * addresses, and those that have an IPoIB interface on it.
 *
 * The answer changes with GIDs and network devices, see &rca_devices_ops.changed.
 *
 * Context: Any context.
 * Return: true: it can.
 */
bool rca_device_serves_netns(struct rca_device *dev, struct net *net)
{
	struct ib_device *ibdev = dev->ibdev;
	u32 port;

	if (!rdma_dev_access_netns(ibdev, net))
		return false;
	if (dev->tp->over_tcp)
		return iwarp_dev_in_net(ibdev, net);
	rdma_for_each_port(ibdev, port) {
		if (rdma_protocol_roce(ibdev, port) ? roce_port_in_net(ibdev, port, net) :
		    rca_device_in_netns(dev, net) || rca_ipoib_exists(ibdev, port, net))
			return true;
	}
	return false;
}
