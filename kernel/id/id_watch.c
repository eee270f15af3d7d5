// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Ids that watch for changes of the network: a bond that fails over to a device with another
 * hardware address, or a neighbour that gets another one. Work compares the addresses of an id with
 * the present ones, see net/neigh.c.
 *
 * Locking: rca_id.op to begin and to end. Posting an event to an id needs neither memory nor a
 * mutex, so it is done with a spinlock held.
 */
#include "id/id.h"

#include <linux/bits.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_verbs.h>

#include "net/net.h"
#include "transport/transport.h"

/*
 * Low bits of &rca_id.watch: the changes that the id watches for. The higher bits are its place in
 * the table of neighbours.
 */
enum { NOTHING, NETDEV, NETDEV_AND_PEER, KIND = 3 };
#define KIND_BITS	2

/**
 * rca_id_watch_netdev() - watch the hardware address of the network device of an id
 * @id: the id; it has a device, and does not watch
 *
 * Does nothing without a network device. Ends with rca_id_unwatch().
 *
 * Context: Process context. Expects @id->op to be held by the caller, or @id to be unpublished.
 */
void rca_id_watch_netdev(struct rca_id *id)
{
	struct rca_neigh_key key;
	u16 place;

	if (!id->link.ifindex)
		return;
	rca_neigh_key(&key, id->net, id->link.ifindex, &id->dst);
	/* Without a peer, any place: ids that only watch their device are spread over the table. */
	if (!key.len || rca_addr_is_any(&id->dst)) {
		key.len = sizeof(id);
		memcpy(key.ip, &id, sizeof(id));
	}
	place = rca_neigh_watch(&id->watch_node, &key);
	WRITE_ONCE(id->watch, place << KIND_BITS | NETDEV);
}

/**
 * rca_id_watch_peer() - watch the hardware addresses of the peer and of the network device of an id
 * @id: the id; it watches its network device since its address was resolved
 *
 * Only on RoCE, where the path contains the address of the peer. A peer behind a gateway is not
 * watched. May be called repeatedly. Ends with rca_id_unwatch().
 *
 * Context: Process context.
 */
void rca_id_watch_peer(struct rca_id *id)
{
	lockdep_assert_held(&id->op);
	if (!id->watch || !id->dev || !rdma_protocol_roce(id->dev->ibdev, id->port_num))
		return;
	/* The peer was known when watching began, so the place is right. */
	WRITE_ONCE(id->watch, (id->watch & ~KIND) | NETDEV_AND_PEER);	/* pairs with compare() */
}

/**
 * rca_id_unwatch() - stop watching for changes of the network
 * @id: the id
 *
 * Context: Process context. Expects @id->op to be held by the caller, or @id to be unpublished.
 */
void rca_id_unwatch(struct rca_id *id)
{
	if (!id->watch)
		return;
	rca_neigh_unwatch(&id->watch_node, id->watch >> KIND_BITS);
	WRITE_ONCE(id->watch, NOTHING);
}

/* Ids of requests get no events until they are accepted. */
static bool takes_events(const struct rca_id *id)
{
	switch (id->state) {
	case RCA_ST_REQ_RCVD:
	case RCA_ST_SIDR_RCVD:
	case RCA_ST_REMOVED:
	case RCA_ST_DESTROYING:
		return false;
	default:
		return true;
	}
}

/* Its connection goes on: the adapter follows the neighbour, or the QP fails. */
static bool was_connected(const struct rca_id *id)
{
	switch (id->state) {
	case RCA_ST_CONNECTED:
	case RCA_ST_DREQ_SENT:
	case RCA_ST_DISCONNECTED:
	case RCA_ST_CLOSED:
	case RCA_ST_SIDR_DONE:
		return true;
	default:
		return false;
	}
}

/*
 * Post an event if the hardware address @on_route of @id differs from @now. The work does not know
 * which neighbour, or which bond, has changed: an id whose address was another before gets another
 * event.
 */
static void post_if_changed(struct rca_id *id, const u8 *on_route, const u8 *now, u32 type)
{
	unsigned long flags;

	/* An id keeps its addresses while it watches. */
	if (!memcmp(on_route, now, ETH_ALEN))
		return;
	/* The id may have no reference left; its state then lets no event pass. */
	spin_lock_irqsave(&id->lock, flags);
	if (was_connected(id))
		type = RDMA_CM_ALT_EVENT_ADDR_CHANGE;
	if (takes_events(id))
		rca_id_post_net_locked(id, type);
	spin_unlock_irqrestore(&id->lock, flags);
}

/*
 * Post the events of an id. A bond has failed over: ids that were bound or resolved with another
 * hardware address get ADDR_CHANGE. Ids whose paths have another address of the neighbour get
 * UNREACHABLE with -ETIMEDOUT, but ADDR_CHANGE once they have been connected.
 */
static void compare(struct hlist_node *watch, unsigned long changes, struct rca_neigh_addr *found)
{
	struct rca_id *id = hlist_entry(watch, struct rca_id, watch_node);
	struct net *net = READ_ONCE(id->net);
	struct net_device *ndev = net ? dev_get_by_index_rcu(net, id->link.ifindex) : NULL;
	struct rca_neigh_key key;

	if (!ndev)
		return;
	if (changes & BIT(RCA_NETDEV_CHANGED) && netif_is_bond_master(ndev))
		post_if_changed(id, id->link.smac, ndev->dev_addr, RDMA_CM_ALT_EVENT_ADDR_CHANGE);
	if (changes & BIT(RCA_NEIGH_CHANGED) && (READ_ONCE(id->watch) & KIND) == NETDEV_AND_PEER) {
		rca_neigh_key(&key, net, ndev->ifindex, &id->dst);
		if (rca_neigh_look_up(found, &key, ndev))
			post_if_changed(id, id->link.dmac, found->mac,
					RDMA_CM_ALT_EVENT_UNREACHABLE);
	}
}

/* Module init: changes of the network are reported from here on. Returns 0 or a negative errno. */
int rca_netwatch_init(void)
{
	return rca_neigh_init(compare);
}

/*
 * The device, GID, lower cm_id and port of an id.
 *
 * Locking: rca_id.op, unless the id is unpublished. Device, port and GID are changed with
 * rca_id.lock held as well; the list of ids of a device is protected by rca_device.lock, taken
 * inside it.
 */

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
 * Context: Process context. Sleeps. Never under a lock that a callback takes.
 */
void rca_id_drop_lower(struct rca_id *id)
{
	const struct rca_tp_ops *tp = id->tp;
	void *lower = id->lower;

	lockdep_assert_held(&id->op);
	if (!lower)
		return;
	WRITE_ONCE(id->lower, NULL);
	/* Pairs with rca_id_numbers(): hidden before its memory waits for the grace period. */
	smp_wmb();
	tp->destroy(lower);
	rca_peer_qp_release(id);
	if (tp->owner) {
		WRITE_ONCE(id->tp, id->dev->tp);	/* pairs with rca_id_numbers() */
		module_put(tp->owner);	/* got in rca_trunks_create() or rca_req_handler_for() */
	}
}

/**
 * rca_id_bind() - allocate a port for an id that has none
 * @id: the id
 * @addr: address and port; port 0 selects any
 *
 * On success the bind of the option state contains address and port.
 *
 * Context: Process context. May sleep.
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

/* Releases the port of an id, if it owns one. */
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

/*
 * GID type and type of service of an id. Options of the id take precedence over the program's
 * defaults for ports, and these over the settings of the port.
 *
 * Locking: rca_id.op.
 */

/**
 * struct rca_defaults - defaults of a program for ports
 * @count: number of entries in @port
 * @port: defaults of a port
 */
struct rca_defaults {
	u32 count;
	struct rdma_cm_alt_port_default port[];
};

static int check_gid_type(u8 type)
{
	return type == IB_UVERBS_GID_TYPE_ROCE_V1 || type == IB_UVERBS_GID_TYPE_ROCE_V2 ? 0 :
											 -EINVAL;
}

static enum ib_gid_type to_ib_gid_type(u8 type)
{
	return type == IB_UVERBS_GID_TYPE_ROCE_V1 ? IB_GID_TYPE_ROCE : IB_GID_TYPE_ROCE_UDP_ENCAP;
}

/**
 * rca_id_set_gid_type() - set option RDMA_CM_ALT_OPTION_GID_TYPE
 * @id: the id
 * @type: enum ib_uverbs_gid_type: RoCE v1 or v2
 *
 * Context: Process context.
 * Return: 0; -EINVAL if @type is another one or the id has a device; -ENOMEM.
 */
int rca_id_set_gid_type(struct rca_id *id, u8 type)
{
	struct rca_opts *opts;

	lockdep_assert_held(&id->op);
	if (check_gid_type(type) || id->dev)
		return -EINVAL;
	opts = rca_id_need_opts(id, GFP_KERNEL_ACCOUNT);
	if (!opts)
		return -ENOMEM;
	opts->gid_type = type;
	return 0;
}

/**
 * rca_id_set_port_defaults() - set option RDMA_CM_ALT_OPTION_PORT_DEFAULTS
 * @id: the id
 * @val: array of struct rdma_cm_alt_port_default
 * @len: its length in bytes; 0 removes the defaults
 *
 * Context: Process context. Sleeps.
 * Return: 0; -EINVAL if length or values are wrong or the id has a device; -ENOMEM.
 */
int rca_id_set_port_defaults(struct rca_id *id, const void *val, u32 len)
{
	const struct rdma_cm_alt_port_default *port = val;
	u32 count = len / sizeof(*port), i;
	struct rca_defaults *defaults;
	struct rca_opts *opts;

	lockdep_assert_held(&id->op);
	if (len % sizeof(*port) || id->dev)
		return -EINVAL;
	for (i = 0; i < count; i++)
		if (check_gid_type(port[i].gid_type) ||
		    memchr_inv(port[i].__reserved, 0, sizeof(port[i].__reserved)))
			return -EINVAL;
	opts = rca_id_need_opts(id, GFP_KERNEL_ACCOUNT);
	if (!opts)
		return -ENOMEM;
	defaults = kmalloc(struct_size(defaults, port, count), GFP_KERNEL_ACCOUNT);
	if (!defaults)
		return -ENOMEM;
	defaults->count = count;
	memcpy(defaults->port, val, len);
	kfree(opts->defaults);
	opts->defaults = defaults;
	return 0;
}

static const struct rdma_cm_alt_port_default *find_default(const struct rca_id *id,
							   const struct rca_device *dev, u32 port)
{
	const struct rca_defaults *defaults = rca_id_opts(id)->defaults;
	u32 i;

	for (i = 0; defaults && i < defaults->count; i++)
		if (defaults->port[i].ibdev_index == dev->ibdev->index &&
		    defaults->port[i].port_num == port)
			return &defaults->port[i];
	return NULL;
}

/**
 * rca_id_gid_type() - get the type of the GID that an id uses on a port
 * @id: the id
 * @dev: the device
 * @port: the port
 *
 * Context: Process context. Expects @id->op to be held by the caller.
 * Return: the type.
 */
enum ib_gid_type rca_id_gid_type(const struct rca_id *id, const struct rca_device *dev, u32 port)
{
	const struct rdma_cm_alt_port_default *preset;
	u8 type = rca_id_opts(id)->gid_type;

	if (type)
		return to_ib_gid_type(type);
	preset = find_default(id, dev, port);
	return preset ? to_ib_gid_type(preset->gid_type) : rca_port_sysfs_gid_type(dev->conf, port);
}

/**
 * rca_id_tos() - get the type of service of an id
 * @id: the id
 *
 * Context: Process context. Expects @id->op to be held by the caller.
 * Return: the type of service; also 0 if it was not set and the id has no device yet.
 */
u8 rca_id_tos(const struct rca_id *id)
{
	const struct rca_opts *opts = rca_id_opts(id);
	const struct rdma_cm_alt_port_default *preset;

	if (opts->tos_set || !id->dev)
		return opts->tos;
	preset = find_default(id, id->dev, id->port_num);
	return preset ? preset->tos : rca_port_sysfs_tos(id->dev->conf, id->port_num);
}
