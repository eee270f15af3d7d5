// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The local side of an id: its address, its port, and the device and GID with the address.
 *
 * Locking: rca_id.op.
 */
#include "cm/internal.h"

#include <linux/if_arp.h>
#include <linux/netdevice.h>
#include <linux/string.h>
#include <net/ipv6.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>
#include <rdma/rdma_cm.h>

#include "net/net.h"
#include "transport/transport.h"

/*
 * InfiniBand addresses. A port is identified by a GID and a partition. The hardware address of an
 * IPoIB device contains both; an address of family AF_IB is both, and resolving it only selects a
 * local port.
 *
 * Locking: rca_id.op where an id is changed.
 */

/* Translate an AF_IB address, as rdma_translate_ip() does an IP address. */
static void translate_ib(const union rca_addr *sib, struct rdma_dev_addr *addr)
{
	union ib_gid gid;

	memcpy(gid.raw, &sib->ib.sib_addr, sizeof(gid.raw));
	addr->dev_type = ARPHRD_INFINIBAND;
	rdma_addr_set_sgid(addr, &gid);
	ib_addr_set_pkey(addr, be16_to_cpu(sib->ib.sib_pkey));
}

/* Store the result of address resolution, except for the network device. */
static void keep_ib_link(struct rca_link *link, struct rdma_dev_addr *addr)
{
	union ib_gid dgid;

	rdma_addr_get_dgid(addr, &dgid);
	link->ib = true;
	link->pkey = ib_addr_get_pkey(addr);
	memcpy(link->dgid, dgid.raw, sizeof(link->dgid));
}

static bool is_active(struct ib_device *ibdev, u32 port)
{
	enum ib_port_state state;

	return !ib_get_cached_port_state(ibdev, port, &state) && state == IB_PORT_ACTIVE;
}

/*
 * Returns a GID of the port that can reach @dgid: @dgid itself (loopback), or one of the same
 * subnet, for which the port must be active.
 */
static const struct ib_gid_attr *find_source(struct ib_device *ibdev, u32 port,
					     const union ib_gid *dgid)
{
	int len = ibdev->port_data[port].immutable.gid_tbl_len;
	bool active = is_active(ibdev, port);
	const struct ib_gid_attr *attr;
	int i;

	for (i = 0; i < len; i++) {
		attr = rdma_get_gid_attr(ibdev, port, i);
		if (IS_ERR(attr))
			continue;
		if (!memcmp(&attr->gid, dgid, sizeof(*dgid)) ||
		    (active && attr->gid.global.subnet_prefix == dgid->global.subnet_prefix))
			return attr;
		rdma_put_gid_attr(attr);
	}
	return NULL;
}

/* Returns the first GID of an active port. */
static const struct ib_gid_attr *first_gid(struct ib_device *ibdev, u32 port,
					   const union ib_gid *unused)
{
	const struct ib_gid_attr *attr;

	if (!is_active(ibdev, port))
		return NULL;
	attr = rdma_get_gid_attr(ibdev, port, 0);
	return IS_ERR(attr) ? NULL : attr;
}

typedef const struct ib_gid_attr *(*choose_gid)(struct ib_device *ibdev, u32 port,
						const union ib_gid *dgid);

/*
 * Finds the first port with the partition on which @choose returns a GID. Returns the GID, and its
 * device in *found, with references.
 */
static const struct ib_gid_attr *find_port(struct net *net, u16 pkey, choose_gid choose,
					   const union ib_gid *dgid, struct rca_device **found)
{
	const struct ib_gid_attr *attr;
	struct rca_device *dev = NULL;
	u32 port;
	u16 index;

	while ((dev = rca_device_next(dev))) {
		if (!rdma_dev_access_netns(dev->ibdev, net))
			continue;
		rdma_for_each_port(dev->ibdev, port) {
			/* rdma_cap_af_ib() is true of RoCE ports as well, which have no SA. */
			if (!rdma_protocol_ib(dev->ibdev, port) ||
			    ib_find_cached_pkey(dev->ibdev, port, pkey, &index))
				continue;
			attr = choose(dev->ibdev, port, dgid);
			if (attr) {
				*found = dev;
				return attr;
			}
		}
	}
	return NULL;
}

/*
 * Replace the GID of a wildcard or loopback address of family AF_IB by a local one: that of the id
 * if it is bound to a port, else the first of an active port with the partition. -ENODEV: none.
 */
int rca_addr_ib_own(struct rca_id *id, union rca_addr *dst)
{
	const struct ib_gid_attr *attr;
	struct rca_device *dev;

	lockdep_assert_held(&id->op);
	if (id->dev) {
		rca_addr_set_ip(dst, &id->local);
		return 0;
	}
	attr = find_port(id->net, be16_to_cpu(dst->ib.sib_pkey), first_gid, NULL, &dev);
	if (!attr)
		return -ENODEV;
	memcpy(&dst->ib.sib_addr, attr->gid.raw, sizeof(dst->ib.sib_addr));
	rdma_put_gid_attr(attr);
	rca_device_put(dev);
	return 0;
}

/* Bind an id to a port that reaches its peer. */
static int choose_port(struct rca_id *id)
{
	union ib_gid *dgid = (union ib_gid *)&id->dst.ib.sib_addr;
	const struct ib_gid_attr *attr;
	struct rca_device *dev;
	int ret;

	attr = find_port(id->net, be16_to_cpu(id->dst.ib.sib_pkey), find_source, dgid, &dev);
	if (!attr)
		return -ENODEV;
	ret = rca_id_attach(id, dev, attr->port_num, attr);
	if (!ret)
		memcpy(&id->local.ib.sib_addr, attr->gid.raw, sizeof(id->local.ib.sib_addr));
	else
		rdma_put_gid_attr(attr);
	rca_device_put(dev);
	return ret;
}

/*
 * Resolve the AF_IB address of the peer of an id that is bound to one. Sends nothing: looks for a
 * local port with the partition of the peer that has the GID of the peer or one of the same subnet.
 * -ENODEV: there is none.
 */
int rca_addr_ib_resolve(struct rca_id *id)
{
	struct rdma_dev_addr addr = { .net = id->net };
	int ret;

	lockdep_assert_held(&id->op);
	if (!id->dev) {
		ret = choose_port(id);
		if (ret)
			return ret;
	}
	translate_ib(&id->local, &addr);
	rdma_addr_set_dgid(&addr, (union ib_gid *)&id->dst.ib.sib_addr);
	keep_ib_link(&id->link, &addr);
	return 0;
}

static int is_device(struct net_device *lower, struct netdev_nested_priv *priv)
{
	return lower == priv->data;
}

/*
 * May the GID table of a RoCE port have a GID of @ndev? It has those of the port's own network
 * device, and of devices on top of it (VLANs, bonds, macvlans). A table has up to 1,024 entries,
 * and searching it in vain reads all of them.
 */
static bool may_have_gid_of(struct ib_device *ibdev, u32 port, struct net_device *ndev)
{
	/* Only compared: ib_core may drop its reference at any time. Some drivers do not set it. */
	void *own = rcu_access_pointer(ibdev->port_data[port].netdev);
	struct netdev_nested_priv priv = { .data = own };
	bool may_have;

	if (!own || own == ndev)
		return true;
	rcu_read_lock();
	may_have = netdev_walk_all_lower_dev_rcu(ndev, is_device, &priv);
	rcu_read_unlock();
	return may_have;
}

/*
 * Soft-RoCE makes the GUID of a device of the hardware address of its network device. One that has
 * none (TUN, WireGuard) gave the same GUID to all hosts, by which ib_cm knows a peer, before rxe
 * chose one at random; stock refuses such devices on these kernels, too.
 */
static bool has_own_guid(const struct ib_device *ibdev)
{
	static const u8 of_no_address[sizeof(ibdev->node_guid)] = { 0x02, [3] = 0xff, [4] = 0xfe };

	return memcmp(&ibdev->node_guid, of_no_address, sizeof(of_no_address));
}

/* Find the GID of @local on a port of @dev, if the network device of @addr belongs to the port. */
static const struct ib_gid_attr *find_gid(struct rca_id *id, struct rca_device *dev, u32 port,
					  const union rca_addr *local,
					  struct rdma_dev_addr *addr)
{
	struct ib_device *ibdev = dev->ibdev;
	struct net *net = id->net;
	const struct ib_gid_attr *attr = ERR_PTR(-ENODEV);
	struct net_device *ndev;
	union ib_gid gid;

	if (!rdma_dev_access_netns(ibdev, net))
		return ERR_PTR(-ENODEV);
	if (addr->dev_type == ARPHRD_INFINIBAND) {
		if (!rdma_protocol_ib(ibdev, port))
			return ERR_PTR(-ENODEV);
		rdma_addr_get_sgid(addr, &gid);
		return rdma_find_gid_by_port(ibdev, &gid, IB_GID_TYPE_IB, port, NULL);
	}
	if (rdma_protocol_iwarp(ibdev, port))
		return rca_iwport_find(ibdev, port, net, addr->bound_dev_if);
	if (!rdma_protocol_roce(ibdev, port))
		return ERR_PTR(-ENODEV);
	if (addr->dev_type == ARPHRD_NONE && !has_own_guid(ibdev))
		return ERR_PTR(-ENODEV);
	rdma_ip2gid((struct sockaddr *)&local->sa, &gid);
	ndev = dev_get_by_index(net, addr->bound_dev_if);
	if (!ndev)
		return ERR_PTR(-ENODEV);
	if (may_have_gid_of(ibdev, port, ndev))
		attr = rdma_find_gid_by_port(ibdev, &gid, rca_id_gid_type(id, dev, port), port,
					     ndev);
	dev_put(ndev);
	return attr;
}

/*
 * Bind an id without a device to the one with the address @local, which the network device of @addr
 * has. -ENODEV: no RDMA device that the id may use has it; -EINVAL: the id is of RDMA_PS_IPOIB, and
 * the network device is not IPoIB.
 */
int rca_local_device(struct rca_id *id, const union rca_addr *local, struct rdma_dev_addr *addr)
{
	const struct ib_gid_attr *attr;
	struct rca_device *dev = NULL;
	u32 port;

	lockdep_assert_held(&id->op);
	if (id->ps == RDMA_PS_IPOIB && addr->dev_type != ARPHRD_INFINIBAND)
		return -EINVAL;
	while ((dev = rca_device_next(dev))) {
		rdma_for_each_port(dev->ibdev, port) {
			attr = find_gid(id, dev, port, local, addr);
			if (IS_ERR(attr))
				continue;
			if (!rca_id_attach(id, dev, port, attr)) {
				rca_device_put(dev);
				return 0;
			}
			rdma_put_gid_attr(attr);
		}
	}
	return -ENODEV;
}

/*
 * Store the part of an address resolution that the route needs. The id stops watching for changes
 * of the network.
 */
void rca_local_keep_link(struct rca_id *id, struct rdma_dev_addr *addr)
{
	lockdep_assert_held(&id->op);
	rca_id_unwatch(id);
	spin_lock_irq(&id->lock);
	memset(&id->link, 0, sizeof(id->link));
	id->link.ifindex = addr->bound_dev_if;
	if (addr->dev_type == ARPHRD_INFINIBAND) {
		keep_ib_link(&id->link, addr);
	} else {
		memcpy(id->link.dmac, addr->dst_dev_addr, ETH_ALEN);
		memcpy(id->link.smac, addr->src_dev_addr, ETH_ALEN);
		id->link.hoplimit = addr->hoplimit;
		id->link.network = addr->network;
	}
	spin_unlock_irq(&id->lock);
}

/*
 * Must rca_id_bind() be called? TCP connections are identified by their ports. IB and RoCE
 * connections are not: any number of ids may use the same port to one destination.
 */
bool rca_local_needs_port(const struct rca_id *id)
{
	lockdep_assert_held(&id->op);
	return id->dev && id->dev->tp->over_tcp && !rca_id_bound(id);
}

static void default_afonly(struct rca_id *id, sa_family_t family)
{
	if (id->afonly_set)
		return;
	id->afonly = family == AF_INET;
#if IS_ENABLED(CONFIG_IPV6)
	if (family == AF_INET6)
		id->afonly = id->net->ipv6.sysctl.bindv6only;
#endif
}

/*
 * The address of an id that owns no port: a port that others may have, too. The service ID of an
 * AF_IB address is completed. Returns 0 or -EPROTONOSUPPORT.
 */
static int complete_address(struct rca_id *id)
{
	u16 ps = id->ps;
	int ret = 0;

	if (id->local.sa.sa_family == AF_IB)
		ret = rca_ports_select_ib(&ps, &id->local.ib);
	if (!ret)
		rca_addr_set_port(&id->local, rca_ports_any(id->net));
	return ret;
}

/*
 * Bind an id to a local address; a wildcard or loopback address selects no device. @take_port:
 * allocate a port in any case, as bind does; an active id otherwise needs one only on iWARP or if
 * @src has a port.
 *
 * Returns 0; -EINVAL wrong state, or link-local without scope; -EADDRNOTAVAIL not a local
 * address, or a conflict that involves a wildcard; -EADDRINUSE; -EACCES; -ENODEV no RDMA device has
 * the address; -EPROTONOSUPPORT the service ID of an AF_IB address is of another port space.
 */
int rca_local_set(struct rca_id *id, const union rca_addr *src, bool take_port)
{
	struct rdma_dev_addr addr = { .net = id->net, .bound_dev_if = rca_addr_scope(src) };
	int ret;

	lockdep_assert_held(&id->op);
	ret = rca_id_may(id, RCA_IN_BIND);
	if (ret)
		return ret;
	if (rca_addr_is_linklocal(src) && !addr.bound_dev_if)
		return -EINVAL;
	if (!rca_addr_is_wildcard(src)) {
		if (src->sa.sa_family == AF_IB)
			translate_ib(src, &addr);
		else
			ret = rdma_translate_ip(&src->sa, &addr);
		if (!ret)
			ret = rca_local_device(id, src, &addr);
		if (ret)
			return ret;
	}
	default_afonly(id, src->sa.sa_family);
	id->local = *src;
	if (take_port || rca_addr_port(src) || rca_local_needs_port(id)) {
		ret = rca_id_bind(id, src);
		if (ret)
			goto err_detach;
		id->local = id->opts->bind->addr;	/* an AF_IB address was completed */
	} else {
		ret = complete_address(id);
		if (ret)
			goto err_detach;
	}
	/* There is no peer yet, but programs read the family of both addresses. */
	rca_addr_set_any(&id->dst, src->sa.sa_family);
	rca_local_keep_link(id, &addr);
	if (rca_id_step(id, RCA_IN_BIND).verdict != RCA_TAKE) {
		ret = -EINVAL;
		goto err_unbind;
	}
	if (id->dev)
		rca_id_watch_netdev(id);
	return 0;

err_unbind:
	rca_id_unbind(id);
err_detach:
	rca_id_detach(id);
	memset(&id->local, 0, sizeof(id->local));
	memset(&id->dst, 0, sizeof(id->dst));
	return ret;
}
