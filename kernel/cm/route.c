// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The path of a RoCE connection: created from the state of the id, or given by user space.
 *
 * Locking: rca_id.op.
 */
#include "cm/route.h"

#include <linux/if_vlan.h>
#include <linux/minmax.h>
#include <linux/netdevice.h>
#include <net/route.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_sa.h>
#include <rdma/ib_user_sa.h>

#include "transport/devices.h"

/* 4.096 us * 2^16 = 268 ms: the value of stock 6.12 for Ethernet. */
#define ROCE_PACKET_LIFETIME	16

/* 2.4 hours: ib_cm computes with it in an int, and messages have 5 bits for it. */
#define MAX_PACKET_LIFETIME	31

/* Flags of the path records that user space may give; others have other uses. */
#define USABLE_PATH	(IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL)

struct prio_walk {
	int prio;
	int tc;
	bool found;
};

/*
 * Returns the traffic class of a priority on a VLAN device: that of its real device, or from its
 * egress map.
 */
static int vlan_tc(struct net_device *vlan, int prio)
{
	struct net_device *real = vlan_dev_real_dev(vlan);

	if (real->num_tc)
		return netdev_get_prio_tc_map(real, prio);
	return (vlan_dev_get_egress_qos_mask(vlan, prio) & VLAN_PRIO_MASK) >> VLAN_PRIO_SHIFT;
}

/* Looks only at the first lower device: the return value stops the walk. */
static int first_lower_tc(struct net_device *dev, struct netdev_nested_priv *priv)
{
	struct prio_walk *walk = priv->data;

	if (is_vlan_dev(dev))
		walk->tc = vlan_tc(dev, walk->prio);
	else if (dev->num_tc)
		walk->tc = netdev_get_prio_tc_map(dev, walk->prio);
	walk->found = true;
	return 1;
}

/* The service level is the traffic class of the network device for the TOS. */
static u8 tos_to_sl(struct net_device *ndev, u8 tos)
{
	struct prio_walk walk = { .prio = rt_tos2priority(tos) };
	struct netdev_nested_priv priv = { .data = &walk };

	if (is_vlan_dev(ndev))
		return vlan_tc(ndev, walk.prio);
	rcu_read_lock();
	netdev_walk_all_lower_dev_rcu(ndev, first_lower_tc, &priv);
	rcu_read_unlock();
	if (walk.found)
		return walk.tc;
	return ndev->num_tc ? netdev_get_prio_tc_map(ndev, walk.prio) : 0;
}

/*
 * Returns the service level of an id: the traffic class of its network device for its type of
 * service. Expects rca_id.op to be held by the caller.
 */
u8 rca_route_sl(struct rca_id *id)
{
	struct net_device *ndev = dev_get_by_index(id->net, id->link.ifindex);
	u8 sl = ndev ? tos_to_sl(ndev, rca_id_tos(id)) : 0;

	dev_put(ndev);
	return sl;
}

/*
 * RoCE v2 switches spread flows by the UDP source port, which is derived from the flow label: that
 * of the local IPv6 address if set, else a hash of both ports.
 */
static __be32 flow_label(struct rca_id *id)
{
	u32 label = 0;

	if (id->local.sa.sa_family == AF_INET6)
		label = be32_to_cpu(id->local.in6.sin6_flowinfo) & IB_GRH_FLOWLABEL_MASK;
	if (!label)
		label = (be16_to_cpu(rca_addr_port(&id->local)) * 31u +
			 be16_to_cpu(rca_addr_port(&id->dst))) & IB_GRH_FLOWLABEL_MASK;
	return cpu_to_be32(label);
}

/* Packets through a gateway must be routable. */
static enum ib_gid_type gid_type(struct rca_id *id)
{
	if (id->link.network == RDMA_NETWORK_IPV4 || id->link.network == RDMA_NETWORK_IPV6)
		return IB_GID_TYPE_ROCE_UDP_ENCAP;
	return id->sgid_attr->gid_type;
}

/* Set the RoCE members of a path, which replace those of InfiniBand. */
static void set_roce(struct rca_id *id, struct sa_path_rec *path)
{
	path->rec_type = sa_conv_gid_to_pathrec_type(gid_type(id));
	path->roce.route_resolved = true;
	sa_path_set_dmac(path, id->link.dmac);
}

static int fill_path(struct rca_id *id, struct sa_path_rec *path, struct net_device *ndev)
{
	const struct rca_opts *opts = rca_id_opts(id);

	set_roce(id, path);
	rdma_ip2gid(&id->local.sa, &path->sgid);
	rdma_ip2gid(&id->dst.sa, &path->dgid);
	path->hop_limit = id->link.hoplimit;
	path->reversible = 1;
	path->pkey = cpu_to_be16(IB_DEFAULT_PKEY_FULL);
	path->mtu_selector = IB_SA_EQ;
	path->mtu = iboe_get_mtu(ndev->mtu);
	path->rate_selector = IB_SA_EQ;
	path->rate = IB_RATE_PORT_CURRENT;
	path->sl = tos_to_sl(ndev, rca_id_tos(id));
	path->traffic_class = rca_id_tos(id);
	path->packet_life_time_selector = IB_SA_EQ;
	/* IBTA 12.7.34: timeout = 2 * lifetime + the delay of the CA, which is small. */
	path->packet_life_time = opts->ack_timeout ?
		min(opts->ack_timeout - 1, MAX_PACKET_LIFETIME) : ROCE_PACKET_LIFETIME;
	if (rdma_protocol_roce_udp_encap(id->dev->ibdev, id->port_num))
		path->flow_label = flow_label(id);
	return path->mtu ? 0 : -EINVAL;
}

/**
 * rca_route_roce() - create the path of an id on RoCE; on iWARP it needs none
 * @id: the id; its address is resolved
 *
 * Context: Process context. Sleeps. Expects @id->op to be held by the caller.
 * Return: 0; -ENODEV the network device is gone; -EINVAL its MTU is too small.
 */
int rca_route_roce(struct rca_id *id)
{
	struct sa_path_rec path = {};
	struct net_device *ndev;
	int ret;

	lockdep_assert_held(&id->op);
	/* TCP uses the routes of the host. */
	if (id->dev->tp->over_tcp)
		return 0;
	ndev = dev_get_by_index(id->net, id->link.ifindex);
	if (!ndev)
		return -ENODEV;
	ret = fill_path(id, &path, ndev);
	dev_put(ndev);
	if (!ret)
		rca_id_set_path(id, &path);
	return ret;
}

/**
 * rca_route_parse() - select the usable path from records of user space
 * @path: filled in
 * @records: array of struct ib_path_rec_data
 * @len: its length in bytes
 *
 * Context: Any context. Pure.
 * Return: 0; -EINVAL if @len is not a whole number of records, none of them is an outgoing,
 * reversible primary path, or its packet lifetime does not fit messages.
 */
int rca_route_parse(struct sa_path_rec *path, const void *records, u32 len)
{
	const struct ib_path_rec_data *rec = records;
	u32 left = len / sizeof(*rec);

	if (len % sizeof(*rec))
		return -EINVAL;
	while (left && rec->flags != USABLE_PATH) {
		rec++;
		left--;
	}
	if (!left)
		return -EINVAL;
	memset(path, 0, sizeof(*path));
	path->rec_type = SA_PATH_REC_TYPE_IB;
	ib_sa_unpack_path((void *)rec->path_rec, path);
	return path->packet_life_time > MAX_PACKET_LIFETIME ? -EINVAL : 0;
}

/**
 * rca_route_set() - set the path of an id that user space has resolved
 * @id: the id; its address is resolved
 * @given: the path; GIDs, partition key, MTU, rate and times are used as given
 *
 * Context: Process context. Sleeps. Expects @id->op to be held by the caller.
 * Return: 0; -ENODEV the network device is gone.
 */
int rca_route_set(struct rca_id *id, const struct sa_path_rec *given)
{
	struct sa_path_rec path = *given;
	struct net_device *ndev;

	lockdep_assert_held(&id->op);
	ndev = dev_get_by_index(id->net, id->link.ifindex);
	if (!ndev)
		return -ENODEV;
	dev_put(ndev);
	if (!id->dev->tp->over_tcp)
		set_roce(id, &path);
	rca_id_set_path(id, &path);
	return 0;
}
