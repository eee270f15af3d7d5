// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * RDMA devices: ib_core adds and removes them, users hold references.
 *
 * A service ID must not be taken on a new device before the stock rdma_cm knows the
 * device: otherwise its add() would fail, and rdma_cm would not work on that device. So
 * a new device is listenable only after a fence: a work item registers and unregisters
 * an empty client, which ib_core delays until all add() callbacks have run.
 *
 * Locking: devices_lock protects the list of devices, rca_device.lock the ids of one.
 */
#undef pr_fmt
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "transport/transport.h"

#include <linux/err.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>

#include "lib/compat.h"
#include "net/net.h"

static LIST_HEAD(devices);
static DEFINE_SPINLOCK(devices_lock);
static u32 last_serial;
/* Ordered, for the fences of all devices. */
static struct workqueue_struct *fence_wq;

/*
 * ib_core calls the add() of clients in the order of their registration, and registers
 * no client while it does.
 */
static void fence_work(struct work_struct *work)
{
	struct rca_device *dev = container_of(work, struct rca_device, fence);
	struct ib_client *barrier;
	unsigned long flags;
	int ret;

	barrier = kzalloc(sizeof(*barrier), GFP_KERNEL | __GFP_NOFAIL);
	barrier->name = "rdma_cm_alt_fence";
	ret = ib_register_client(barrier);
	if (!ret)
		ib_unregister_client(barrier);
	else
		pr_warn("%s: fence failed (%pe), rdma_cm may fail on this device\n",
			dev_name(&dev->ibdev->dev), ERR_PTR(ret));
	kfree(barrier);

	spin_lock_irqsave(&dev->lock, flags);
	WRITE_ONCE(dev->listenable, true);
	spin_unlock_irqrestore(&dev->lock, flags);
	rca_tp_upcalls->devices_changed(NULL);
}

/* All ports of a device have the same transport. NULL: the device is not supported. */
static const struct rca_tp_ops *transport_of(struct ib_device *ibdev)
{
	u32 port;

	/* Limit of rca_id.port_num. */
	if (ibdev->phys_port_cnt > U16_MAX) {
		pr_err("%s: %u ports, more than %u, the device cannot be used\n",
		       dev_name(&ibdev->dev), ibdev->phys_port_cnt, U16_MAX);
		return NULL;
	}

	rdma_for_each_port(ibdev, port) {
		if (rdma_cap_ib_cm(ibdev, port))
			return &rca_tp_ib;
		if (rdma_protocol_iwarp(ibdev, port) && rdma_cap_iw_cm(ibdev, port))
			return &rca_tp_iw;
	}
	return NULL;
}

static void device_port_event(struct ib_event_handler *handler, struct ib_event *event)
{
	struct rca_device *dev = container_of(handler, struct rca_device, events);

	switch (event->event) {
	case IB_EVENT_DEVICE_FATAL:
		rca_trunks_port_changed(dev, 0, true);
		break;
	case IB_EVENT_GID_CHANGE:
		rca_tp_upcalls->devices_changed(NULL);
		fallthrough;
	case IB_EVENT_PORT_ACTIVE:
	case IB_EVENT_PORT_ERR:
	case IB_EVENT_LID_CHANGE:
	case IB_EVENT_PKEY_CHANGE:
	case IB_EVENT_SM_CHANGE:
	case IB_EVENT_CLIENT_REREGISTER:
		atomic_inc(&dev->path_epoch);
		rca_trunks_port_changed(dev, event->element.port_num,
					event->event == IB_EVENT_PORT_ACTIVE ||
					event->event == IB_EVENT_PORT_ERR);
		break;
	default:
		break;
	}
}

/* A network device was created or deleted, or moved between two namespaces. */
static int device_netdev_event(struct notifier_block *nb, unsigned long event, void *info)
{
	if (event == NETDEV_REGISTER || event == NETDEV_UNREGISTER)
		rca_tp_upcalls->devices_changed(dev_net(netdev_notifier_info_to_dev(info)));
	return NOTIFY_DONE;
}

static struct notifier_block netdev_notifier = {
	.notifier_call = device_netdev_event,
};

/* On failure, the device or the port has no counters. */
static struct rca_stats __percpu **alloc_stats(struct ib_device *ibdev)
{
	struct rca_stats __percpu **stats;
	u32 port;

	stats = kcalloc(rdma_end_port(ibdev) + 1, sizeof(*stats), GFP_KERNEL);
	if (!stats)
		return NULL;
	rdma_for_each_port(ibdev, port)
		stats[port] = alloc_percpu(struct rca_stats);
	return stats;
}

static void free_stats(struct rca_device *dev)
{
	u32 port;

	if (!dev->stats)
		return;
	rdma_for_each_port(dev->ibdev, port)
		free_percpu(dev->stats[port]);
	kfree(dev->stats);
}

static struct ib_client client;

/* Returns 0 in any case: after an error ib_core would not call us again for the device. */
static int add_one(struct ib_device *ibdev)
{
	const struct rca_tp_ops *tp = transport_of(ibdev);
	struct rca_device *dev;
	unsigned long flags;

	if (!tp)
		return 0;
	dev = kzalloc(sizeof(*dev), GFP_KERNEL);
	if (!dev) {
		pr_err("%s: no memory, the device cannot be used\n",
		       dev_name(&ibdev->dev));
		return 0;
	}
	dev->ibdev = ibdev;
	dev->tp = tp;
	dev->conf = rca_port_sysfs_create(ibdev);
	dev->stats = alloc_stats(ibdev);
	if (RCA_PORT_PLACES)
		dev->places = rca_places_create(rdma_end_port(ibdev));
	refcount_set(&dev->ref, 1);	/* put in remove_one() */
	init_completion(&dev->gone);
	spin_lock_init(&dev->lock);
	INIT_LIST_HEAD(&dev->ids);
	mutex_init(&dev->demux_mutex);
	hash_init(dev->demuxes);
	INIT_WORK(&dev->fence, fence_work);
	ib_set_client_data(ibdev, &client, dev);

	spin_lock_irqsave(&devices_lock, flags);
	dev->serial = ++last_serial;
	list_add_tail(&dev->node, &devices);
	spin_unlock_irqrestore(&devices_lock, flags);
	INIT_IB_EVENT_HANDLER(&dev->events, ibdev, device_port_event);
	ib_register_event_handler(&dev->events);
	queue_work(fence_wq, &dev->fence);
	return 0;
}

static void remove_one(struct ib_device *ibdev, void *client_data)
{
	struct rca_device *dev = client_data;
	unsigned long flags;

	if (!dev)
		return;
	spin_lock_irqsave(&dev->lock, flags);
	WRITE_ONCE(dev->removing, true);	/* pairs with rca_device_next() */
	spin_unlock_irqrestore(&dev->lock, flags);

	ib_unregister_event_handler(&dev->events);
	flush_work(&dev->fence);
	rca_tp_upcalls->device_removed(dev);
	rca_trunks_device_removed(dev);
	rca_device_put(dev);
	wait_for_completion(&dev->gone);
	/* Keep the device in the list until rca_device_next() has moved on from it. */
	spin_lock_irqsave(&devices_lock, flags);
	list_del(&dev->node);
	spin_unlock_irqrestore(&devices_lock, flags);
	WARN_ON_ONCE(!list_empty(&dev->ids) || !hash_empty(dev->demuxes));
	mutex_destroy(&dev->demux_mutex);
	free_stats(dev);
	kfree_rcu(dev->places, rcu);
	rca_port_sysfs_destroy(dev->conf);
	kfree(dev);
}

static struct ib_client client = {
	.name = "rdma_cm_alt",
	.add = add_one,
	.remove = remove_one,
};

/*
 * Module init: register for devices. Returns 0 or a negative errno; devices may have been added and
 * removed then.
 */
int rca_devices_init(void)
{
	int ret;

	fence_wq = alloc_ordered_workqueue("rdma_cm_alt_fence", 0);
	if (!fence_wq)
		return -ENOMEM;
	ret = ib_register_client(&client);
	if (ret)
		goto err_wq;
	ret = register_netdevice_notifier(&netdev_notifier);
	if (ret)
		goto err_client;
	return 0;

err_client:
	ib_unregister_client(&client);
err_wq:
	destroy_workqueue(fence_wq);
	return ret;
}

/* Module exit; all devices are removed when it returns. */
void rca_devices_exit(void)
{
	unregister_netdevice_notifier(&netdev_notifier);
	ib_unregister_client(&client);
	destroy_workqueue(fence_wq);
}

/* The caller has a reference, or the device cannot be removed now. Returns @dev. Any context. */
struct rca_device *rca_device_get(struct rca_device *dev)
{
	refcount_inc(&dev->ref);
	return dev;
}
RCA_EXPORT(rca_device_get);

/* @dev may be freed when this returns. Any context. */
void rca_device_put(struct rca_device *dev)
{
	if (refcount_dec_and_test(&dev->ref))
		complete(&dev->gone);
}
RCA_EXPORT(rca_device_put);

/**
 * rca_device_next() - iterate over the devices
 * @prev: the previous device, whose reference is put; NULL: start
 *
 * Context: Any context.
 * Return: the next device that is not being removed, with a reference, or NULL.
 */
struct rca_device *rca_device_next(struct rca_device *prev)
{
	struct rca_device *dev, *next = NULL;
	bool found = !prev;
	unsigned long flags;

	spin_lock_irqsave(&devices_lock, flags);
	list_for_each_entry(dev, &devices, node) {
		if (found && !READ_ONCE(dev->removing) && refcount_inc_not_zero(&dev->ref)) {
			next = dev;
			break;
		}
		if (dev == prev)
			found = true;
	}
	spin_unlock_irqrestore(&devices_lock, flags);
	if (prev)
		rca_device_put(prev);
	return next;
}

/* Is the device with this number in the list? Any context. */
bool rca_device_exists(u32 serial)
{
	struct rca_device *dev;
	unsigned long flags;
	bool found = false;

	spin_lock_irqsave(&devices_lock, flags);
	list_for_each_entry(dev, &devices, node)
		found |= dev->serial == serial;
	spin_unlock_irqrestore(&devices_lock, flags);
	return found;
}

/**
 * rca_device_wait_listenable() - wait until service IDs may be taken on a device
 * @dev: the device; the caller has a reference
 *
 * Context: Process context. Sleeps; not in device_removed() or devices_changed().
 */
void rca_device_wait_listenable(struct rca_device *dev)
{
	if (!READ_ONCE(dev->listenable))
		flush_work(&dev->fence);
}

/*
 * Which devices can receive requests for a network namespace. A service ID has one
 * user per device, across all namespaces, so a listener takes it only on devices on
 * which a request for its namespace can arrive.
 *
 * Locking: RCU for the network devices; the rest is locked by ib_core.
 */

/* A RoCE port has GIDs of its network device and of those above it, each in a namespace. */
static bool roce_port_in_net(struct ib_device *ibdev, u32 port, const struct net *net)
{
	int len = ibdev->port_data[port].immutable.gid_tbl_len;
	const struct ib_gid_attr *attr;
	struct net_device *ndev;
	bool found = false;
	int i;

	for (i = 0; i < len && !found; i++) {
		attr = rdma_get_gid_attr(ibdev, port, i);
		if (IS_ERR(attr))
			continue;
		rcu_read_lock();
		ndev = rdma_read_gid_attr_ndev_rcu(attr);
		found = !IS_ERR(ndev) && net_eq(dev_net(ndev), net);
		rcu_read_unlock();
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
 * The answer changes with GIDs and network devices, see &rca_tp_upcalls.devices_changed.
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
