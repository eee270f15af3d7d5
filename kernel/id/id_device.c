// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The device, GID, port and addresses of an id, and their description for user space.
 *
 * Locking: rca_id.op, unless the id is unpublished. Device, port and GID are changed with
 * rca_id.lock held as well; the list of ids of a device is protected by rca_device.lock, taken
 * inside it.
 */
#include <kunit/visibility.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_sa.h>

#include "id/id.h"
#include "device/devices.h"
#include "id/send_window.h"

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
	unsigned long flags;
	bool removing;

	spin_lock_irqsave(&id->lock, flags);
	spin_lock(&dev->lock);
	removing = dev->removing;
	if (!removing) {
		id->dev = rca_device_get(dev);	/* put in rca_id_detach() */
		id->port_num = port_num;
		id->sgid_attr = sgid_attr;
		list_add_tail(&id->dev_node, &dev->ids);
	}
	spin_unlock(&dev->lock);
	spin_unlock_irqrestore(&id->lock, flags);
	return removing ? -ENODEV : 0;
}
EXPORT_SYMBOL_IF_KUNIT(rca_id_attach);

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
	unsigned long flags;

	if (!dev)
		return;
	WARN_ON_ONCE(id->lower);
	rca_id_unwatch(id);
	rca_window_release(id);
	spin_lock_irqsave(&id->lock, flags);
	spin_lock(&dev->lock);
	list_del_init(&id->dev_node);
	spin_unlock(&dev->lock);
	id->sgid_attr = NULL;
	id->port_num = 0;
	id->dev = NULL;
	spin_unlock_irqrestore(&id->lock, flags);
	if (sgid_attr)
		rdma_put_gid_attr(sgid_attr);
	rca_device_put(dev);
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
EXPORT_SYMBOL_IF_KUNIT(rca_id_bind);

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

static void pack_path(struct ib_path_rec_data *out, struct sa_path_rec *rec, u32 which)
{
	struct sa_path_rec ib;

	/* User space expects InfiniBand records. */
	if (rec->rec_type == SA_PATH_REC_TYPE_OPA) {
		sa_convert_path_opa_to_ib(&ib, rec);
		rec = &ib;
	}
	out->flags = IB_PATH_GMP | IB_PATH_BIDIRECTIONAL | which;
	ib_sa_pack_path(rec, out->path_rec);
}

/**
 * rca_id_fill_route_locked() - describe addresses, device and paths of an id to user space
 * @id: the id
 * @route: filled in as far as known
 *
 * Context: Process context. Expects @id->op to be held by the caller, or @id to be unpublished.
 */
void rca_id_fill_route_locked(struct rca_id *id, struct rdma_cm_alt_route *route)
{
	memset(route, 0, sizeof(*route));
	rca_addr_to_user(&route->src, &id->local);
	rca_addr_to_user(&route->dst, &id->dst);
	if (!id->dev)
		return;
	route->node_guid = (__force u64)id->dev->ibdev->node_guid;
	route->ibdev_index = id->dev->ibdev->index;
	route->port_num = id->port_num;
	if (id->sgid_attr)
		memcpy(route->sgid, id->sgid_attr->gid.raw, sizeof(route->sgid));
	/* iWARP has no partitions; its GIDs are hardware addresses. */
	if (id->dev->tp->over_tcp) {
		memcpy(route->dgid, id->link.dmac, sizeof(id->link.dmac));
		return;
	}
	/* RoCE has only the default partition (IBTA annex A16.4.3). */
	route->pkey = cpu_to_be16(id->link.ib ? id->link.pkey : IB_DEFAULT_PKEY_FULL);
	if (id->link.ib)
		memcpy(route->dgid, id->link.dgid, sizeof(route->dgid));
	else if (rca_addr_is_set(&id->dst) && !rca_addr_is_any(&id->dst))
		rdma_ip2gid(&id->dst.sa, (union ib_gid *)route->dgid);
	if (!id->setup || !id->setup->path)
		return;
	pack_path(&route->path[0], id->setup->path, IB_PATH_PRIMARY);
	route->num_paths = 1;
	if (id->setup->alt_path) {
		pack_path(&route->path[1], id->setup->alt_path, IB_PATH_ALTERNATE);
		route->num_paths = 2;
	}
}

/* rca_id_fill_route_locked() that takes rca_id.op. */
void rca_id_fill_route(struct rca_id *id, struct rdma_cm_alt_route *route)
{
	mutex_lock(&id->op);
	rca_id_fill_route_locked(id, route);
	mutex_unlock(&id->op);
}
EXPORT_SYMBOL_IF_KUNIT(rca_id_fill_route);
