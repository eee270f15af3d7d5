// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * InfiniBand addresses. A port is identified by a GID and a partition. The hardware address of an
 * IPoIB device contains both; an address of family AF_IB is both, and resolving it only selects a
 * local port.
 *
 * Locking: rca_id.op where an id is changed.
 */
#include "cm/addr_ib.h"

#include <linux/if_arp.h>
#include <linux/netdevice.h>
#include <linux/string.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>

#include "transport/devices.h"

/* Offset of the partition key in the broadcast address of an IPoIB device (RFC 4391). */
#define IPOIB_PKEY	8

/**
 * rca_addr_ib_translate() - translate an AF_IB address, as rdma_translate_ip() does an IP address
 * @sib: the address
 * @addr: filled in as far as known; its namespace is kept
 *
 * Context: Any context.
 */
void rca_addr_ib_translate(const union rca_addr *sib, struct rdma_dev_addr *addr)
{
	union ib_gid gid;

	memcpy(gid.raw, &sib->ib.sib_addr, sizeof(gid.raw));
	addr->dev_type = ARPHRD_INFINIBAND;
	rdma_addr_set_sgid(addr, &gid);
	ib_addr_set_pkey(addr, be16_to_cpu(sib->ib.sib_pkey));
}

/**
 * rca_addr_ib_gid() - find the GID of a local hardware address on a port
 * @ibdev: the device
 * @port: its port
 * @net: namespace of the user of the GID
 * @addr: the hardware address, as the source
 *
 * Context: Any context.
 * Return: the GID with a reference, or an ERR_PTR(): -ENODEV if the port is not InfiniBand or not
 * accessible from @net; another errno if it has no such GID.
 */
const struct ib_gid_attr *rca_addr_ib_gid(struct ib_device *ibdev, u32 port, struct net *net,
					  struct rdma_dev_addr *addr)
{
	union ib_gid gid;

	if (!rdma_protocol_ib(ibdev, port) || !rdma_dev_access_netns(ibdev, net))
		return ERR_PTR(-ENODEV);
	rdma_addr_get_sgid(addr, &gid);
	return rdma_find_gid_by_port(ibdev, &gid, IB_GID_TYPE_IB, port, NULL);
}

/**
 * rca_addr_ib_keep() - store the result of address resolution
 * @link: filled in, except for the network device
 * @addr: the result
 *
 * Context: Any context.
 */
void rca_addr_ib_keep(struct rca_link *link, struct rdma_dev_addr *addr)
{
	union ib_gid dgid;

	rdma_addr_get_dgid(addr, &dgid);
	link->ib = true;
	link->pkey = ib_addr_get_pkey(addr);
	memcpy(link->dgid, dgid.raw, sizeof(link->dgid));
}

/**
 * rca_addr_ib_keep_ndev() - store the local part of the hardware address of an IPoIB device
 * @link: filled in, except for the GID of the peer
 * @ndev: the device
 *
 * Context: Any context.
 */
void rca_addr_ib_keep_ndev(struct rca_link *link, const struct net_device *ndev)
{
	link->ib = true;
	link->ifindex = ndev->ifindex;
	link->pkey = ndev->broadcast[IPOIB_PKEY] << 8 | ndev->broadcast[IPOIB_PKEY + 1];
}

/*
 * Does the port have AF_IB addresses, and the partition? rdma_cap_af_ib() is true of RoCE ports
 * as well, which have no SA.
 */
static bool has_partition(struct ib_device *ibdev, u32 port, u16 pkey)
{
	u16 index;

	return rdma_protocol_ib(ibdev, port) &&
	       !ib_find_cached_pkey(ibdev, port, pkey, &index);
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

	while ((dev = rca_device_next(dev))) {
		if (!rdma_dev_access_netns(dev->ibdev, net))
			continue;
		rdma_for_each_port(dev->ibdev, port) {
			if (!has_partition(dev->ibdev, port, pkey))
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

/**
 * rca_addr_ib_own() - replace a wildcard or loopback address by a local GID
 * @id: the id
 * @dst: an AF_IB address; service ID and partition are kept
 *
 * Uses the GID of the id if it is bound to a port, else the first GID of an active port with the
 * partition.
 *
 * Context: Process context. Expects @id->op to be held by the caller.
 * Return: 0, or -ENODEV if no port has a GID.
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

/**
 * rca_addr_ib_resolve() - resolve the AF_IB address of a peer
 * @id: the id, bound to an AF_IB address; its destination is the address of the peer
 *
 * Sends nothing. Looks for a local port with the partition of the peer that has the GID of the peer
 * or one of the same subnet.
 *
 * Context: Process context. Expects @id->op to be held by the caller.
 * Return: 0, or -ENODEV if there is no such port.
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
	rca_addr_ib_translate(&id->local, &addr);
	rdma_addr_set_dgid(&addr, (union ib_gid *)&id->dst.ib.sib_addr);
	rca_addr_ib_keep(&id->link, &addr);
	return 0;
}
