// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The device, GID, lower cm_id and port of an id.
 *
 * Locking: rca_id.op, unless the id is unpublished. Device, port and GID are changed with
 * rca_id.lock held as well; the list of ids of a device is protected by rca_device.lock, taken
 * inside it.
 */
#include <linux/slab.h>
#include <rdma/ib_cache.h>

#include "id/id.h"
#include "id/peer_qp.h"
#include "id/send_window.h"
#include "transport/devices.h"

/**
 * rca_id_attach() - bind an id to a device
 * @id: the id; it has no device
 * @dev: the device
 * @port_num: port of the device
 * @sgid_attr: local GID; on success its reference passes to the id
 *
 * Context: Process context. Expects @id->op to be held by the caller, or @id to be unpublished.
 * Return: 0, or -ENODEV if the device is being removed.
 */
int rca_id_attach(struct rca_id *id, struct rca_device *dev, u32 port_num,
		  const struct ib_gid_attr *sgid_attr)
{
	bool removing;

	spin_lock_irq(&id->lock);
	spin_lock(&dev->lock);
	removing = dev->removing;
	if (!removing) {
		id->dev = rca_device_get(dev);	/* put in rca_id_detach() */
		id->tp = dev->tp;
		id->port_num = port_num;
		id->sgid_attr = sgid_attr;
		list_add_tail(&id->dev_node, &dev->ids);
	}
	spin_unlock(&dev->lock);
	spin_unlock_irq(&id->lock);
	return removing ? -ENODEV : 0;
}

/**
 * rca_id_detach() - release the device of an id, if it has one
 * @id: the id; it has no lower cm_id
 *
 * Context: Process context. Expects @id->op to be held by the caller, or @id to be unpublished.
 */
void rca_id_detach(struct rca_id *id)
{
	const struct ib_gid_attr *sgid_attr = id->sgid_attr;
	struct rca_device *dev = id->dev;

	if (!dev)
		return;
	WARN_ON_ONCE(id->lower);
	rca_id_unwatch(id);
	rca_window_release(id);
	spin_lock_irq(&id->lock);
	spin_lock(&dev->lock);
	list_del_init(&id->dev_node);
	spin_unlock(&dev->lock);
	id->sgid_attr = NULL;
	id->port_num = 0;
	id->dev = NULL;
	spin_unlock_irq(&id->lock);
	if (sgid_attr)
		rdma_put_gid_attr(sgid_attr);
	rca_device_put(dev);
}

/**
 * rca_id_drop_lower() - destroy the transport's cm_id, if there is one
 * @id: the id
 *
 * No callback of the cm_id runs afterwards, and those that run meanwhile are ignored.
 *
 * Context: Process context. Sleeps. Expects @id->op to be held by the caller; never under a lock
 * that a callback takes.
 */
void rca_id_drop_lower(struct rca_id *id)
{
	void *lower = id->lower;

	lockdep_assert_held(&id->op);
	if (!lower)
		return;
	WRITE_ONCE(id->lower, NULL);
	/* Pairs with rca_id_numbers(): hidden before its memory waits for the grace period. */
	smp_wmb();
	id->tp->destroy(lower);
	if (READ_ONCE(id->peer_qp.listed))
		rca_peer_qp_release(id);
}

/**
 * rca_id_bind() - allocate a port for an id that has none
 * @id: the id
 * @addr: address and port; port 0 selects any
 *
 * On success the bind of the option state contains address and port.
 *
 * Context: Process context. May sleep. Expects @id->op to be held by the caller.
 * Return: 0, -ENOMEM, or an errno of rca_ports_bind().
 */
int rca_id_bind(struct rca_id *id, const union rca_addr *addr)
{
	struct rca_opts *opts = rca_id_need_opts(id, GFP_KERNEL_ACCOUNT);
	struct rca_bind *bind;

	lockdep_assert_held(&id->op);
	if (!opts)
		return -ENOMEM;
	if (!opts->bind)
		opts->bind = kzalloc(sizeof(*bind), GFP_KERNEL_ACCOUNT);
	bind = opts->bind;
	if (!bind)
		return -ENOMEM;
	bind->reuse = id->reuse;
	bind->afonly = id->afonly;
	return rca_ports_bind(bind, id->net, id->ps, addr);
}

/* Releases the port of an id, if it owns one. Expects rca_id.op to be held by the caller. */
void rca_id_unbind(struct rca_id *id)
{
	struct rca_bind *bind = rca_id_opts(id)->bind;

	lockdep_assert_held(&id->op);
	if (bind)
		rca_ports_unbind(bind);
}

/* Returns whether an id owns a port. Expects rca_id.op to be held by the caller. */
bool rca_id_bound(const struct rca_id *id)
{
	const struct rca_bind *bind = rca_id_opts(id)->bind;

	return bind && rca_ports_bound(bind);
}
