// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Which devices may bring requests to a network namespace. A service ID is one
 * per device for all users in all namespaces, so a listener takes it only where
 * somebody can ask for it.
 *
 * Locking: RCU for the network devices; the rest is ib_core's.
 */
#include "device/device_netns.h"

#include <linux/netdevice.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>

#include "device/devices.h"

static void (*tell)(void);

/* A device of IP networking has come, or has moved here from another namespace. */
static int netdev_event(struct notifier_block *nb, unsigned long event, void *info)
{
	if (event == NETDEV_REGISTER)
		tell();
	return NOTIFY_DONE;
}

static struct notifier_block netdev_notifier = {
	.notifier_call = netdev_event,
};

/**
 * rca_device_netns_init() - watch what changes the answers of rca_device_serves_netns()
 * @changed: called when some may be different, under RTNL; must not sleep. GIDs
 *           of a RoCE device are not watched here: see &rca_devices_ops.changed.
 *
 * Context: Process context. Module init. @changed may be called before this returns.
 * Return: 0 or a negative errno.
 */
int rca_device_netns_init(void (*changed)(void))
{
	tell = changed;
	return register_netdevice_notifier(&netdev_notifier);
}

/**
 * rca_device_netns_exit() - watch no longer
 *
 * Context: Process context. Module exit. Nothing is called any more when it returns.
 */
void rca_device_netns_exit(void)
{
	unregister_netdevice_notifier(&netdev_notifier);
}

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

/* A RoCE port has GIDs of its network device and of those above it, each in some namespace. */
static bool roce_reaches(struct ib_device *ibdev, u32 port, const struct net *net)
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

/* An iWARP device has a network device, and VLANs may be above it. */
static bool iwarp_reaches(struct ib_device *ibdev, struct net *net)
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

/**
 * rca_device_serves_netns() - can requests come from a device to a namespace?
 * @dev: the device; the caller has a reference
 * @net: the namespace
 *
 * In the exclusive mode of the RDMA subsystem a device is in one namespace,
 * and comes and goes as a new one when it moves. In the shared mode it depends
 * on network devices. An InfiniBand device may have AF_IB addresses and IPoIB
 * interfaces anywhere: it reaches all that may use it.
 *
 * Context: Any context.
 * Return: true: they can.
 */
bool rca_device_serves_netns(struct rca_device *dev, struct net *net)
{
	struct ib_device *ibdev = dev->ibdev;
	u32 port;

	if (!rdma_dev_access_netns(ibdev, net))
		return false;
	rdma_for_each_port(ibdev, port) {
		if (rdma_protocol_roce(ibdev, port)) {
			if (roce_reaches(ibdev, port, net))
				return true;
		} else if (!rdma_protocol_iwarp(ibdev, port) || iwarp_reaches(ibdev, net)) {
			return true;
		}
	}
	return false;
}
