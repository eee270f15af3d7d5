// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Multicast groups over RoCE. The MGID is derived from the IP address of the group,
 * and the network device joins the group, so that routers and snooping switches
 * learn of the member (IGMP, MLD).
 *
 * Locking: RTNL protects the table of groups that network devices have joined. It is
 * taken with no lock of ours held, because other code holds it around locks of its own; and by
 * workers, because a thread of a user may be held up, and everybody waits for RTNL.
 */
#include "transport/group.h"

#include <linux/err.h>
#include <linux/hashtable.h>
#include <linux/igmp.h>
#include <linux/inetdevice.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <net/ipv6.h>
#include <rdma/ib_addr.h>

#include "ctx/limits.h"
#include "lib/sockaddr.h"
#include "lib/testing.h"

/* Hop limits of packets to a group: RoCE v1 is not routed. */
#define HOPS_ROCE_V1	1
#define HOPS_ROCE_V2	IPV6_DEFAULT_HOPLIMIT

/**
 * struct group - a membership
 * @account: that of the member (immutable)
 * @node: in groups while @ndev is set (lock: RTNL)
 * @ndev: network device that has joined the group; NULL: none, or it is gone (lock: RTNL)
 * @mgid: the group (immutable)
 */
struct group {
	const struct rca_account *account;
	struct hlist_node node;
	struct net_device *ndev;
	union ib_gid mgid;
};

/* By network device: the events of one do not visit the memberships of others. */
static DEFINE_HASHTABLE(groups, 8);

static const struct in6_addr *group_ip6(const struct group *group)
{
	return (const struct in6_addr *)group->mgid.raw;
}

/* IPv4 address of a group of RoCE v2; 0: the group has an IPv6 address. */
static __be32 group_ip4(const struct group *group)
{
	const struct in6_addr *ip6 = group_ip6(group);

	return ipv6_addr_v4mapped(ip6) ? ip6->s6_addr32[3] : 0;
}

/* A device that leaves the IP stack loses its memberships. */
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
	/* ip_mc_inc_group() does not report a lack of memory; then there is nothing to leave. */
	return in_group(in_dev, group_ip4(group)) ? 0 : -ENOMEM;
}

static void ndev_leave(struct group *group)
{
	struct net_device *ndev = group->ndev;

	ASSERT_RTNL();
	group->ndev = NULL;
	hash_del(&group->node);
	if (!has_stack(ndev, group))
		return;
	if (group_ip4(group))
		ip_mc_dec_group(__in_dev_get_rtnl(ndev), group_ip4(group));
	else
		ipv6_dev_mc_dec(ndev, group_ip6(group));
}

/*
 * Forget the memberships of a device that leaves the IP stack, because it is unregistered,
 * moves to another namespace, or its MTU becomes too small. Later memberships of the same
 * device are not ours, and must not be left.
 */
static int group_netdev_event(struct notifier_block *nb, unsigned long event, void *info)
{
	struct net_device *ndev = netdev_notifier_info_to_dev(info);
	struct hlist_node *next;
	struct group *group;

	if (event != NETDEV_UNREGISTER && event != NETDEV_CHANGEMTU)
		return NOTIFY_DONE;
	hash_for_each_possible_safe(groups, group, next, node, (unsigned long)ndev)
		if (group->ndev == ndev && (event == NETDEV_UNREGISTER || !has_stack(ndev, group)))
			ndev_leave(group);
	return NOTIFY_DONE;
}

static struct notifier_block netdev_notifier = {
	.notifier_call = group_netdev_event,
};

/* Module init: watch the network devices. Returns 0 or a negative errno. */
int rca_group_init(void)
{
	return register_netdevice_notifier(&netdev_notifier);
}

/* Module exit; no group is joined any more. */
void rca_group_exit(void)
{
	WARN_ON_ONCE(!hash_empty(groups));
	unregister_netdevice_notifier(&netdev_notifier);
}

/**
 * rca_group_mgid() - derive the MGID of a group over RoCE
 * @group: address of the group
 * @type: RoCE version
 * @mgid: the MGID
 *
 * An IPv6 address is the MGID. An IPv4 address is mapped to IPv6: for RoCE v2 to a
 * v4-mapped address, for RoCE v1 to a multicast address, as packets carry it.
 *
 * Context: Any context.
 * Return: 0, or -EINVAL: not a multicast address of IPv4 or IPv6.
 */
RCA_VISIBLE_IF_KUNIT
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

/* The network device joins only for RoCE v2: packets of RoCE v1 are not IP packets. */
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
	hash_add(groups, &group->node, (unsigned long)ndev);
	return 0;
}

/**
 * struct joining - a join that a worker executes
 * @group: the membership
 * @req: its parameters
 * @ret: the result
 */
struct joining {
	struct group *group;
	const struct rca_tp_join *req;
	int ret;
};

static void join_under_rtnl(void *arg)
{
	struct joining *joining = arg;

	rtnl_lock();
	joining->ret = join_locked(joining->group, joining->req);
	rtnl_unlock();
}

static void leave_under_rtnl(void *arg)
{
	struct group *group = arg;

	rtnl_lock();
	if (group->ndev)
		ndev_leave(group);
	rtnl_unlock();
}

/**
 * rca_group_join() - join a group over RoCE
 * @ibdev: the device
 * @req: the group and the member; its port is RoCE
 * @ah: address handle attributes of the group; the local GID is given by its index
 *
 * Context: Process context. Sleeps. Takes and releases RTNL; no other lock held.
 * Return: the membership, for rca_group_leave(); ERR_PTR(): -EINVAL: not the
 * address of a group, or the MTU is too small; -ENODEV: the network device is
 * gone, or has no IP stack of this family; -ENOMEM.
 */
void *rca_group_join(struct ib_device *ibdev, const struct rca_tp_join *req,
		     struct rdma_ah_attr *ah)
{
	struct joining joining = { .req = req };
	struct group *group;
	int ret;

	group = kzalloc(sizeof(*group), GFP_KERNEL_ACCOUNT);
	if (!group)
		return ERR_PTR(-ENOMEM);
	ret = rca_group_mgid(req->group, req->sgid_attr->gid_type, &group->mgid);
	if (ret)
		goto err_free;
	group->account = req->account;
	joining.group = group;
	rca_account_call(group->account, RCA_LANE_RTNL, join_under_rtnl, &joining);
	ret = joining.ret;
	if (ret)
		goto err_free;
	fill_ah(ah, &group->mgid, req);
	return group;

err_free:
	kfree(group);
	return ERR_PTR(ret);
}

/* Undoes rca_group_join(). Process context. Sleeps. Takes and releases RTNL; no other lock held. */
void rca_group_leave(void *membership)
{
	struct group *group = membership;

	rca_account_call(group->account, RCA_LANE_RTNL, leave_under_rtnl, group);
	kfree(group);
}
