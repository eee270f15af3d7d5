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
#include "transport/transport.h"

#include <linux/err.h>
#include <linux/hashtable.h>
#include <linux/igmp.h>
#include <linux/inetdevice.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_marshall.h>
#include <rdma/ib_sa.h>
#include <rdma/rdma_user_cm.h>

#include "ctx/ctx.h"
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

static int ndev_join(struct net_device *ndev, const struct group *group)
{
	const struct ip_mc_list *im;
	struct in_device *in_dev;

	ASSERT_RTNL();
	if (!has_stack(ndev, group))
		return -ENODEV;
	if (!group_ip4(group))
		return ipv6_dev_mc_inc(ndev, group_ip6(group));
	in_dev = __in_dev_get_rtnl(ndev);
	ip_mc_inc_group(in_dev, group_ip4(group));
	/* ip_mc_inc_group() does not report a lack of memory; then there is nothing to leave. */
	for (im = rtnl_dereference(in_dev->mc_list); im; im = rtnl_dereference(im->next_rcu))
		if (im->multiaddr == group_ip4(group))
			return 0;
	return -ENOMEM;
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

/*
 * Derive the MGID of a group over RoCE. An IPv6 address is the MGID. An IPv4 address is mapped to
 * IPv6: for RoCE v2 to a v4-mapped address, for RoCE v1 to a multicast address, as packets carry
 * it. -EINVAL: not a multicast address of IPv4 or IPv6.
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

/*
 * Join a group over RoCE. Sleeps; takes and releases RTNL, no other lock held. @ah is set to the
 * attributes of the group; its local GID is given by its index.
 *
 * Return: the membership, for rca_group_leave(); ERR_PTR(): -EINVAL: not the address of a group, or
 * the MTU is too small; -ENODEV: the network device is gone, or has no IP stack of this family;
 * -ENOMEM.
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

/*
 * Multicast groups over InfiniBand. The subnet administrator grants memberships and
 * assigns the LID of a group. It forgets all members when the subnet manager changes,
 * which ib_sa reports to each member.
 *
 * Locking: none of its own; ib_sa calls back from its workqueue.
 */

/* Offset of the GID in an IPoIB hardware address, and length of the address (RFC 4391). */
#define IPOIB_GID	4
#define IPOIB_LEN	20

/* Second byte of the signature in an MGID: IPoIB uses 0x1b, groups of RDMA_PS_UDP use 0x01. */
#define MGID_SIGNATURE	3
#define CM_SIGNATURE	0x01

/* IPv6 addresses that are MGIDs assigned by a subnet administrator: ff1x:a01b::/32. */
#define SA_ASSIGNED		0xff10a01b
#define SA_ASSIGNED_MASK	0xfff0ffff

/* Join states (IBTA volume 1, 15.2.5.17.2). */
#define JOIN_FULL_MEMBER	BIT(0)
#define JOIN_SEND_ONLY_FULL	BIT(3)

/* Counts our queries and memberships, so that ib_sa_unregister_client() can wait for callbacks. */
struct ib_sa_client rca_sa_client;

/**
 * struct rca_group_ib - a membership at the subnet administrator
 * @mc: membership of ib_sa (immutable)
 * @ibdev: the device
 * @port_num: port of the device
 * @owner: argument of the callback
 */
struct rca_group_ib {
	struct ib_sa_multicast *mc;
	struct ib_device *ibdev;
	u32 port_num;
	void *owner;
};

/*
 * Derive the MGID of a group over InfiniBand. An AF_IB address is the MGID, and so is an IPv6
 * address in the range that subnet administrators assign. Other addresses are mapped as IPoIB does,
 * with scope and partition of @subnet, the broadcast group of the IPoIB subnet; with @cm_signature
 * the MGID differs from that of the group of IPoIB itself. For a wildcard it is 0: the subnet
 * administrator assigns one. -EINVAL: not the address of a group.
 */
RCA_VISIBLE_IF_KUNIT
int rca_group_ib_mgid(const union rca_addr *group, const union ib_gid *subnet, bool cm_signature,
		      union ib_gid *mgid)
{
	u8 broadcast[IPOIB_LEN] = {}, mapped[IPOIB_LEN];

	memset(mgid, 0, sizeof(*mgid));
	if (rca_addr_is_any(group))
		return 0;
	if (!rca_addr_is_multicast(group))
		return -EINVAL;
	if (group->sa.sa_family == AF_IB) {
		memcpy(mgid->raw, &group->ib.sib_addr, sizeof(mgid->raw));
		return 0;
	}
	if (group->sa.sa_family == AF_INET6 &&
	    (be32_to_cpu(group->in6.sin6_addr.s6_addr32[0]) & SA_ASSIGNED_MASK) == SA_ASSIGNED) {
		memcpy(mgid->raw, &group->in6.sin6_addr, sizeof(mgid->raw));
		return 0;
	}
	memcpy(broadcast + IPOIB_GID, subnet->raw, sizeof(subnet->raw));
	if (group->sa.sa_family == AF_INET6)
		ipv6_ib_mc_map(&group->in6.sin6_addr, broadcast, mapped);
	else
		ip_ib_mc_map(group->in.sin_addr.s_addr, broadcast, mapped);
	memcpy(mgid->raw, mapped + IPOIB_GID, sizeof(mgid->raw));
	if (cm_signature)
		mgid->raw[MGID_SIGNATURE] = CM_SIGNATURE;
	return 0;
}

/*
 * The components of a member record that a join specifies. Members of an IPoIB group have to agree
 * on rate, MTU and hop limit, too.
 */
RCA_VISIBLE_IF_KUNIT ib_sa_comp_mask rca_group_ib_mask(u16 ps)
{
	ib_sa_comp_mask mask = IB_SA_MCMEMBER_REC_MGID | IB_SA_MCMEMBER_REC_PORT_GID |
			       IB_SA_MCMEMBER_REC_PKEY | IB_SA_MCMEMBER_REC_JOIN_STATE |
			       IB_SA_MCMEMBER_REC_QKEY | IB_SA_MCMEMBER_REC_SL |
			       IB_SA_MCMEMBER_REC_FLOW_LABEL | IB_SA_MCMEMBER_REC_TRAFFIC_CLASS;

	if (ps == RDMA_PS_IPOIB)
		mask |= IB_SA_MCMEMBER_REC_RATE | IB_SA_MCMEMBER_REC_RATE_SELECTOR |
			IB_SA_MCMEMBER_REC_MTU | IB_SA_MCMEMBER_REC_MTU_SELECTOR |
			IB_SA_MCMEMBER_REC_HOP_LIMIT;
	return mask;
}

/**
 * rca_group_ib_qkey() - get the queue key of a group that this host is a member of
 * @ibdev: the device
 * @port_num: its port
 * @mgid: the group
 *
 * Context: Any context.
 * Return: the key; 0: not a member.
 */
u32 rca_group_ib_qkey(struct ib_device *ibdev, u32 port_num, union ib_gid *mgid)
{
	struct ib_sa_mcmember_rec rec;

	if (ib_sa_get_mcmember_rec(ibdev, port_num, mgid, &rec))
		return 0;
	return be32_to_cpu(rec.qkey);
}

/* ib_sa callback: a join has ended, or a joined group is lost. */
static int ib_group_joined(int status, struct ib_sa_multicast *mc)
{
	struct rca_group_ib *group = mc->context;
	struct ib_uverbs_ah_attr user_ah = {};
	struct rdma_ah_attr ah = {};

	if (!status)
		status = ib_init_ah_from_mcmember(group->ibdev, group->port_num, &mc->rec, NULL,
						  IB_GID_TYPE_IB, &ah);
	if (!status) {
		ib_copy_ah_attr_to_user(group->ibdev, &user_ah, &ah);
		rdma_destroy_ah_attr(&ah);
	}
	rca_tp_upcalls->joined(group->owner, status, &user_ah, be32_to_cpu(mc->rec.qkey));
	return 0;	/* rca_group_ib_leave() frees @mc */
}

/*
 * Join a group over InfiniBand. Beside its address, a new group has the parameters of the broadcast
 * group of the IPoIB subnet. Sleeps. &rca_tp_upcalls.joined is called for @owner.
 *
 * Return: the membership; ERR_PTR(): -EINVAL: not the address of a group; -EADDRNOTAVAIL: no
 * network device is a member of the broadcast group; -ENODEV; -ENOMEM.
 */
struct rca_group_ib *rca_group_ib_join(struct ib_device *ibdev, const struct rca_tp_join *req,
				       void *owner)
{
	union ib_gid subnet = req->subnet, mgid;
	struct ib_sa_mcmember_rec rec;
	struct rca_group_ib *group;
	int ret;

	/* No subnet: the MGID 0 would find a group that is being joined by a wildcard. */
	if (!memchr_inv(subnet.raw, 0, sizeof(subnet.raw)))
		return ERR_PTR(-EADDRNOTAVAIL);
	ret = rca_group_ib_mgid(req->group, &subnet, req->ps == RDMA_PS_UDP, &mgid) ?:
	      ib_sa_get_mcmember_rec(ibdev, req->port_num, &subnet, &rec);
	if (ret)
		return ERR_PTR(ret);
	group = kzalloc(sizeof(*group), GFP_KERNEL_ACCOUNT);
	if (!group)
		return ERR_PTR(-ENOMEM);
	group->ibdev = ibdev;
	group->port_num = req->port_num;
	group->owner = owner;
	rec.mgid = mgid;
	rec.port_gid = req->sgid_attr->gid;
	rec.pkey = cpu_to_be16(req->pkey);
	rec.qkey = cpu_to_be32(req->qkey);
	rec.join_state = req->send_only ? JOIN_SEND_ONLY_FULL : JOIN_FULL_MEMBER;
	group->mc = ib_sa_join_multicast(&rca_sa_client, ibdev, req->port_num, &rec,
					 rca_group_ib_mask(req->ps), GFP_KERNEL_ACCOUNT,
					 ib_group_joined, group);
	if (IS_ERR(group->mc)) {
		ret = PTR_ERR(group->mc);
		kfree(group);
		return ERR_PTR(ret);
	}
	return group;
}

/* Leaves a group, or aborts the join. Process context. Sleeps; waits for a running callback. */
void rca_group_ib_leave(struct rca_group_ib *group)
{
	ib_sa_free_multicast(group->mc);
	kfree(group);
}
