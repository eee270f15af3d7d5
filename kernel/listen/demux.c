// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Service IDs that we hold on devices. ib_cm gives a service ID to one user per
 * device, whatever the IP address or network namespace, so all our listeners
 * behind one share it here.
 *
 * Locking: rca_device.demux_mutex; requests walk the slots under RCU.
 */
#include "listen/demux.h"

#include <linux/rculist.h>
#include <linux/slab.h>

#include "device/devices.h"

static u64 service_id_key(__be64 service_id)
{
	return be64_to_cpu(service_id);
}

static struct rca_demux *demux_find(struct rca_device *dev, __be64 service_id)
{
	struct rca_demux *demux;

	lockdep_assert_held(&dev->demux_mutex);
	/* There the address decides, too, and iw_cm names the listener. */
	if (dev->tp->over_tcp)
		return NULL;
	hash_for_each_possible(dev->demuxes, demux, node, service_id_key(service_id))
		if (demux->service_id == service_id)
			return demux;
	return NULL;
}

/* Take the service ID on the device. Requests may come in at once, and find the slot. */
static struct rca_demux *demux_create(struct rca_device *dev, const struct rca_tp_listen *req,
				      struct rca_slot *slot)
{
	struct rca_demux *demux;

	lockdep_assert_held(&dev->demux_mutex);
	demux = kzalloc(sizeof(*demux), GFP_KERNEL_ACCOUNT);
	if (!demux)
		return ERR_PTR(-ENOMEM);
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
	rca_device_get(dev);	/* put in demux_destroy() */
	hash_add(dev->demuxes, &demux->node, service_id_key(demux->service_id));
	return demux;
}

/* Waits for requests that are being handled; they take none of our locks. */
static void demux_destroy(struct rca_demux *demux)
{
	struct rca_device *dev = demux->dev;

	lockdep_assert_held(&dev->demux_mutex);
	hash_del(&demux->node);
	dev->tp->unlisten(demux->handle);
	kfree_rcu(demux, rcu);
}

/**
 * rca_demux_join() - put a listener behind a service ID of a device
 * @dev: the device
 * @req: the service ID, taken for us when it is not ours yet, and what else it takes
 * @id: the listening id; must stay until rca_demux_leave() was called
 *
 * Context: Process context. Sleeps. Takes and releases @dev->demux_mutex.
 * Return: the slot, -EBUSY when another user of the device has the service
 * ID, or another ERR_PTR().
 */
struct rca_slot *rca_demux_join(struct rca_device *dev, const struct rca_tp_listen *req,
				struct rca_id *id)
{
	struct rca_demux *demux;
	struct rca_slot *slot;

	slot = kzalloc(sizeof(*slot), GFP_KERNEL_ACCOUNT);
	if (!slot)
		return ERR_PTR(-ENOMEM);
	slot->id = id;
	INIT_LIST_HEAD(&slot->listener_node);
	mutex_lock(&dev->demux_mutex);
	demux = demux_find(dev, req->service_id);
	if (demux) {
		slot->demux = demux;
		list_add_tail_rcu(&slot->node, &demux->slots);
	} else {
		demux = demux_create(dev, req, slot);
	}
	mutex_unlock(&dev->demux_mutex);
	if (IS_ERR(demux)) {
		kfree(slot);
		return ERR_CAST(demux);
	}
	return slot;
}

/**
 * rca_demux_leave() - take a listener away; the last one gives the service ID back
 * @slot: the slot; freed
 *
 * No request finds the listener any more when this returns; one that found it
 * before may still be handled, and holds a reference of the id.
 *
 * Context: Process context. Sleeps. Takes and releases rca_device.demux_mutex.
 */
void rca_demux_leave(struct rca_slot *slot)
{
	struct rca_demux *demux = slot->demux;
	struct rca_device *dev = demux->dev;
	bool last;

	mutex_lock(&dev->demux_mutex);
	list_del_rcu(&slot->node);
	last = list_empty(&demux->slots);
	if (last)
		demux_destroy(demux);
	mutex_unlock(&dev->demux_mutex);
	if (last)
		rca_device_put(dev);
	kfree_rcu(slot, rcu);
}

/**
 * rca_demux_first() - any slot of a device
 * @dev: the device
 *
 * Context: Process context. Sleeps. Takes and releases @dev->demux_mutex. The
 * caller keeps others from adding and removing slots of @dev.
 * Return: a slot, or NULL.
 */
struct rca_slot *rca_demux_first(struct rca_device *dev)
{
	struct rca_slot *slot = NULL;
	struct rca_demux *demux;
	int bucket;

	mutex_lock(&dev->demux_mutex);
	hash_for_each(dev->demuxes, bucket, demux, node) {
		slot = list_first_entry(&demux->slots, struct rca_slot, node);
		break;
	}
	mutex_unlock(&dev->demux_mutex);
	return slot;
}
