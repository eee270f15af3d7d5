// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Service IDs that the module holds on devices. ib_cm gives a service ID to one user per
 * device, whatever the IP address or network namespace, so our listeners share it here.
 *
 * Locking: rca_device.demux_mutex; requests walk the slots under RCU, and over a trunk find the
 * demux under RCU.
 */
#include "cm/demux.h"

#include <linux/rculist.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "id/id.h"
#include "transport/devices.h"

static u64 service_id_key(__be64 service_id)
{
	return be64_to_cpu(service_id);
}

static struct rca_demux *demux_find(struct rca_device *dev, __be64 service_id)
{
	struct rca_demux *demux;

	lockdep_assert_held(&dev->demux_mutex);
	/* iw_cm selects the listener, also by address, so each listener has its own demux. */
	if (dev->tp->over_tcp)
		return NULL;
	hash_for_each_possible(dev->demuxes, demux, node, service_id_key(service_id))
		if (demux->service_id == service_id)
			return demux;
	return NULL;
}

/* Listen for the service ID on the device. Requests may arrive at once, and find the slot. */
static struct rca_demux *demux_create(struct rca_device *dev, const struct rca_tp_listen *req,
				      struct rca_slot *slot, gfp_t gfp)
{
	struct rca_demux *demux;

	lockdep_assert_held(&dev->demux_mutex);
	demux = kzalloc(sizeof(*demux), gfp);
	if (!demux)
		return ERR_PTR(-ENOMEM);
	refcount_set(&demux->ref, 1);
	demux->service_id = req->service_id;
	demux->dev = dev;
	INIT_LIST_HEAD(&demux->slots);
	slot->demux = demux;
	list_add_tail_rcu(&slot->node, &demux->slots);
	demux->handle = dev->tp->listen(dev->ibdev, req, demux);
	if (IS_ERR(demux->handle)) {
		struct rca_demux *err = ERR_CAST(demux->handle);

		kfree(demux);
		return err;
	}
	rca_device_get(dev);	/* put in rca_demux_leave() */
	hash_add_rcu(dev->demuxes, &demux->node, service_id_key(demux->service_id));
	return demux;
}

/* Puts a reference of a demux. Any context. */
void rca_demux_put(struct rca_demux *demux)
{
	if (refcount_dec_and_test(&demux->ref))
		kfree_rcu(demux, rcu);
}

/* Waits for requests that are being handled; their handlers do not take @demux_mutex. */
static void demux_destroy(struct rca_demux *demux)
{
	struct rca_device *dev = demux->dev;

	lockdep_assert_held(&dev->demux_mutex);
	hash_del_rcu(&demux->node);
	dev->tp->unlisten(demux->handle);
	rca_demux_put(demux);	/* got in demux_create() */
}

/**
 * rca_demux_join() - add a listener to a service ID of a device
 * @dev: the device
 * @req: the service ID, which is requested from the transport if the module does not hold
 *       it yet, with the parameters for that
 * @id: the listening id; must exist until rca_demux_leave()
 * @gfp: allocation flags; other users wait for the locks of the caller, and for @dev->demux_mutex
 *
 * Context: Process context. Sleeps. Takes and releases @dev->demux_mutex.
 * Return: the slot, or an ERR_PTR(): -EBUSY: another user of the device has the service ID;
 * -ENXIO: the device is being removed; -ENOMEM.
 */
struct rca_slot *rca_demux_join(struct rca_device *dev, const struct rca_tp_listen *req,
				struct rca_id *id, gfp_t gfp)
{
	struct rca_demux *demux;
	struct rca_slot *slot;

	slot = kzalloc(sizeof(*slot), gfp);
	if (!slot)
		return ERR_PTR(-ENOMEM);
	slot->id = id;
	INIT_LIST_HEAD(&slot->listener_node);
	mutex_lock(&dev->demux_mutex);
	demux = demux_find(dev, req->service_id);
	if (READ_ONCE(dev->removing)) {
		demux = ERR_PTR(-ENXIO);	/* pairs with rca_demux_first_net() */
	} else if (demux) {
		slot->demux = demux;
		list_add_tail_rcu(&slot->node, &demux->slots);
	} else {
		demux = demux_create(dev, req, slot, gfp);
	}
	mutex_unlock(&dev->demux_mutex);
	if (IS_ERR(demux)) {
		kfree(slot);
		return ERR_CAST(demux);
	}
	return slot;
}

/**
 * rca_demux_leave() - remove a listener; the last one releases the service ID
 * @slot: the slot; freed
 *
 * When this returns, no request finds the listener any more. A request that found it
 * before may still be handled, and holds a reference on the id.
 *
 * Context: Process context. Sleeps. Takes and releases rca_device.demux_mutex.
 */
void rca_demux_leave(struct rca_slot *slot)
{
	struct rca_demux *demux = slot->demux;
	struct rca_device *dev = demux->dev;
	bool last;

	/* Another listener's put may be the last one while this mutex is still being released. */
	rca_device_get(dev);
	mutex_lock(&dev->demux_mutex);
	list_del_rcu(&slot->node);
	last = list_empty(&demux->slots);
	if (last)
		demux_destroy(demux);
	mutex_unlock(&dev->demux_mutex);
	if (last)
		rca_device_put(dev);	/* got in demux_create() */
	rca_device_put(dev);
	kfree_rcu(slot, rcu);
}

static struct rca_slot *first_slot(struct rca_device *dev)
{
	struct rca_demux *demux;
	int bucket;

	lockdep_assert_held(&dev->demux_mutex);
	hash_for_each(dev->demuxes, bucket, demux, node)
		return list_first_entry(&demux->slots, struct rca_slot, node);
	return NULL;
}

/**
 * rca_demux_get() - find a service ID of a device
 * @dev: the device
 * @service_id: the service ID
 *
 * Context: Any context.
 * Return: the demux with a reference, although it may have been given up meanwhile, or NULL.
 */
struct rca_demux *rca_demux_get(struct rca_device *dev, __be64 service_id)
{
	struct rca_demux *demux, *found = NULL;

	rcu_read_lock();
	hash_for_each_possible_rcu(dev->demuxes, demux, node, service_id_key(service_id)) {
		if (demux->service_id == service_id && refcount_inc_not_zero(&demux->ref)) {
			found = demux;
			break;
		}
	}
	rcu_read_unlock();
	return found;
}

/**
 * rca_demux_first_net() - the namespace of the first listener of a device that is being removed
 * @dev: the device
 *
 * Context: Process context. Sleeps. Takes and releases @dev->demux_mutex.
 * Return: the namespace, with a reference; NULL: there is no listener, nor will there be one.
 */
struct net *rca_demux_first_net(struct rca_device *dev)
{
	struct net *net = NULL;
	struct rca_slot *slot;

	mutex_lock(&dev->demux_mutex);
	slot = first_slot(dev);
	if (slot)
		net = get_net(slot->id->net);
	mutex_unlock(&dev->demux_mutex);
	return net;
}

/**
 * rca_demux_first() - the slot of the first listener of a device
 * @dev: the device
 * @net: the namespace; the caller prevents that its listeners leave the device
 *
 * Context: Process context. Sleeps. Takes and releases @dev->demux_mutex.
 * Return: the slot; NULL: there is none, or the first listener is of another namespace.
 */
struct rca_slot *rca_demux_first(struct rca_device *dev, const struct net *net)
{
	struct rca_slot *slot;

	mutex_lock(&dev->demux_mutex);
	slot = first_slot(dev);
	if (slot && !net_eq(slot->id->net, net))
		slot = NULL;
	mutex_unlock(&dev->demux_mutex);
	return slot;
}
