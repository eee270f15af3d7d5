// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Multicast groups on Ethernet. There is no administrator to ask: the MGID is
 * made of the group's address, and routers and snooping switches have to hear
 * from the network device that somebody listens here (IGMP, MLD).
 *
 * Locking: RTNL protects which groups network devices are in for us. It is
 * taken with no lock of ours held, as others hold it around anything.
 */
#include "transport/group.h"

#include <kunit/visibility.h>
#include <linux/err.h>
#include <linux/igmp.h>
#include <linux/inetdevice.h>
#include <linux/list.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <net/ipv6.h>
#include <rdma/ib_addr.h>

#include "lib/sockaddr.h"

/* What a router may do with a packet to the group: RoCE v1 does not leave the link. */
#define HOPS_ROCE_V1	1
#define HOPS_ROCE_V2	IPV6_DEFAULT_HOPLIMIT

/**
 * struct group - a membership, as far as the network device is concerned
 * @node: in groups while @ndev is set (lock: RTNL)
 * @ndev: the device that is in the group for us; NULL: none, or it is gone (lock: RTNL)
 * @mgid: the group (immutable)
 */
struct group {
	struct list_head node;
	struct net_device *ndev;
	union ib_gid mgid;
};

static LIST_HEAD(groups);

static const struct in6_addr *group_ip6(const struct group *group)
{
	return (const struct in6_addr *)group->mgid.raw;
}

/* The IPv4 address that an MGID of RoCE v2 stands for; 0: it stands for an IPv6 one. */
static __be32 group_ip4(const struct group *group)
{
	const struct in6_addr *ip6 = group_ip6(group);

	return ipv6_addr_v4mapped(ip6) ? ip6->s6_addr32[3] : 0;
}

/* Are the memberships of @ndev still there? They go when it leaves the IP stack. */
static bool has_stack(const struct net_device *ndev, const struct group *group)
{
	if (group_ip4(group))
		return __in_dev_get_rtnl(ndev);
	return IS_ENABLED(CONFIG_IPV6) && __in6_dev_get(ndev);
}

static bool in_group(const struct in_device *in_dev, __be32 ip)
{
	const struct ip_mc_list *im;

	for (im = rtnl_dereference(in_dev->mc_list); im; im = rtnl_dereference(im->next_rcu))
		if (im->multiaddr == ip)
			return true;
	return false;
}

static int ndev_join(struct net_device *ndev, const struct group *group)
{
	struct in_device *in_dev;

	ASSERT_RTNL();
	if (!has_stack(ndev, group))
		return -ENODEV;
	if (!group_ip4(group))
		return ipv6_dev_mc_inc(ndev, group_ip6(group));
	in_dev = __in_dev_get_rtnl(ndev);
	ip_mc_inc_group(in_dev, group_ip4(group));
	/* It does not say that it had no memory, and there is nothing to leave then. */
	return in_group(in_dev, group_ip4(group)) ? 0 : -ENOMEM;
}

static void ndev_leave(struct group *group)
{
	struct net_device *ndev = group->ndev;

	ASSERT_RTNL();
	group->ndev = NULL;
	list_del(&group->node);
	if (!has_stack(ndev, group))
		return;
	if (group_ip4(group))
		ip_mc_dec_group(__in_dev_get_rtnl(ndev), group_ip4(group));
	else
		ipv6_dev_mc_dec(ndev, group_ip6(group));
}

/*
 * A device that leaves the IP stack takes its memberships along: it is
 * unregistered, goes to another namespace, or its MTU becomes too small. What
 * it joins afterwards is not ours to leave.
 */
static int netdev_event(struct notifier_block *nb, unsigned long event, void *info)
{
	struct net_device *ndev = netdev_notifier_info_to_dev(info);
	struct group *group, *next;

	if (event != NETDEV_UNREGISTER && event != NETDEV_CHANGEMTU)
		return NOTIFY_DONE;
	list_for_each_entry_safe(group, next, &groups, node)
		if (group->ndev == ndev && (event == NETDEV_UNREGISTER || !has_stack(ndev, group)))
			ndev_leave(group);
	return NOTIFY_DONE;
}

static struct notifier_block netdev_notifier = {
	.notifier_call = netdev_event,
};

/**
 * rca_group_init() - get to know when network devices go
 *
 * Context: Process context. Module init.
 * Return: 0 or a negative errno.
 */
int rca_group_init(void)
{
	return register_netdevice_notifier(&netdev_notifier);
}

/**
 * rca_group_exit() - undo rca_group_init()
 *
 * Context: Process context. Module exit; no group is joined any more.
 */
void rca_group_exit(void)
{
	WARN_ON_ONCE(!list_empty(&groups));
	unregister_netdevice_notifier(&netdev_notifier);
}

/**
 * rca_group_mgid() - the MGID of a group on Ethernet
 * @group: address of the group
 * @type: RoCE version
 * @mgid: the MGID
 *
 * An IPv6 group is its own MGID. An IPv4 group is mapped into IPv6: for RoCE v2
 * in the usual way, for v1 into a multicast address, as the packets carry it.
 *
 * Context: Any context.
 * Return: 0, or -EINVAL: not the address of a group, or of another family.
 */
int rca_group_mgid(const union rca_addr *group, enum ib_gid_type type, union ib_gid *mgid)
{
	struct in6_addr *ip6 = (struct in6_addr *)mgid->raw;

	switch (group->sa.sa_family) {
	case AF_INET:
		ipv6_addr_set_v4mapped(group->in.sin_addr.s_addr, ip6);
		break;
	case AF_INET6:
		*ip6 = group->in6.sin6_addr;
		break;
	default:
		return -EINVAL;
	}
	if (!ipv6_addr_v4mapped(ip6))
		return ipv6_addr_is_multicast(ip6) ? 0 : -EINVAL;
	if (!ipv4_is_multicast(ip6->s6_addr32[3]))
		return -EINVAL;
	if (type != IB_GID_TYPE_ROCE_UDP_ENCAP)
		ip6->s6_addr32[0] = cpu_to_be32(0xff0e0000);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(rca_group_mgid);

static void fill_ah(struct rdma_ah_attr *ah, union ib_gid *mgid, const struct rca_tp_join *req)
{
	bool v2 = req->sgid_attr->gid_type == IB_GID_TYPE_ROCE_UDP_ENCAP;

	ah->type = RDMA_AH_ATTR_TYPE_ROCE;
	rdma_ah_set_port_num(ah, req->port_num);
	rdma_ah_set_sl(ah, req->sl);
	rdma_ah_set_static_rate(ah, IB_RATE_PORT_CURRENT);
	rdma_ah_set_grh(ah, mgid, 0, req->sgid_attr->index, v2 ? HOPS_ROCE_V2 : HOPS_ROCE_V1,
			req->traffic_class);
}

/* Packets of RoCE v1 are no IP packets: IGMP and MLD do not concern them. */
static int join_locked(struct group *group, const struct rca_tp_join *req)
{
	struct net_device *ndev = __dev_get_by_index(req->net, req->ifindex);
	int ret;

	ASSERT_RTNL();
	if (!ndev)
		return -ENODEV;
	if (!iboe_get_mtu(ndev->mtu))
		return -EINVAL;
	if (req->send_only || req->sgid_attr->gid_type != IB_GID_TYPE_ROCE_UDP_ENCAP)
		return 0;
	ret = ndev_join(ndev, group);
	if (ret)
		return ret;
	group->ndev = ndev;
	list_add_tail(&group->node, &groups);
	return 0;
}

/**
 * rca_group_join() - join a group
 * @ibdev: the device; its port is RoCE
 * @req: what is to be joined
 * @ah: how to send to the group; the local GID is by its index
 *
 * Context: Process context. Sleeps. Takes and releases RTNL; no other lock held.
 * Return: the membership, for rca_group_leave(); ERR_PTR(): -EINVAL the address
 * is none of a group, or the MTU is too small; -ENODEV the network device is
 * gone, or does not speak the protocol; -ENOMEM.
 */
void *rca_group_join(struct ib_device *ibdev, const struct rca_tp_join *req,
		     struct rdma_ah_attr *ah)
{
	struct group *group;
	int ret;

	group = kzalloc(sizeof(*group), GFP_KERNEL_ACCOUNT);
	if (!group)
		return ERR_PTR(-ENOMEM);
	ret = rca_group_mgid(req->group, req->sgid_attr->gid_type, &group->mgid);
	if (ret)
		goto err_free;
	rtnl_lock();
	ret = join_locked(group, req);
	rtnl_unlock();
	if (ret)
		goto err_free;
	fill_ah(ah, &group->mgid, req);
	return group;

err_free:
	kfree(group);
	return ERR_PTR(ret);
}

/**
 * rca_group_leave() - leave a group
 * @group: what rca_group_join() returned
 *
 * Context: Process context. Sleeps. Takes and releases RTNL; no other lock held.
 */
void rca_group_leave(void *group)
{
	struct group *this = group;

	rtnl_lock();
	if (this->ndev)
		ndev_leave(this);
	rtnl_unlock();
	kfree(this);
}
