// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Multicast groups over InfiniBand. The subnet administrator grants memberships and
 * assigns the LID of a group. It forgets all members when the subnet manager changes,
 * which ib_sa reports to each member.
 *
 * Locking: none of its own; ib_sa calls back from its workqueue.
 */
#include "transport/group_ib.h"

#include <linux/err.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <net/if_inet6.h>
#include <net/ip.h>
#include <rdma/ib_sa.h>
#include <rdma/rdma_user_cm.h>

#include "lib/sockaddr.h"
#include "lib/testing.h"

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
 * @done: callback
 * @member: argument of @done
 */
struct rca_group_ib {
	struct ib_sa_multicast *mc;
	struct ib_device *ibdev;
	u32 port_num;
	rca_group_ib_done done;
	void *member;
};

static bool sa_assigned(const struct in6_addr *addr)
{
	return (be32_to_cpu(addr->s6_addr32[0]) & SA_ASSIGNED_MASK) == SA_ASSIGNED;
}

/**
 * rca_group_ib_mgid() - derive the MGID of a group over InfiniBand
 * @group: address of the group; a wildcard: the subnet administrator assigns an MGID
 * @subnet: MGID of the broadcast group of the IPoIB subnet, which has scope and partition
 * @cm_signature: make the MGID differ from that of the group of IPoIB itself
 * @mgid: the MGID
 *
 * An AF_IB address is the MGID, and so is an IPv6 address in the range that subnet
 * administrators assign. Other addresses are mapped as IPoIB does.
 *
 * Context: Any context. Pure.
 * Return: 0, or -EINVAL: not the address of a group.
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
	if (group->sa.sa_family == AF_INET6 && sa_assigned(&group->in6.sin6_addr)) {
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

/**
 * rca_group_ib_mask() - components of a member record that a join specifies
 * @ps: port space of the member
 *
 * Members of an IPoIB group have to agree on rate, MTU and hop limit, too.
 *
 * Context: Any context. Pure.
 * Return: the component mask.
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

/* Get the record of a group that this host is a member of. */
static int get_record(struct ib_device *ibdev, u32 port_num, const union ib_gid *mgid,
		      struct ib_sa_mcmember_rec *rec)
{
	union ib_gid key = *mgid;

	return ib_sa_get_mcmember_rec(ibdev, port_num, &key, rec);
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
u32 rca_group_ib_qkey(struct ib_device *ibdev, u32 port_num, const union ib_gid *mgid)
{
	struct ib_sa_mcmember_rec rec;

	return get_record(ibdev, port_num, mgid, &rec) ? 0 : be32_to_cpu(rec.qkey);
}

/* ib_sa callback: a join has ended, or a joined group is lost. */
static int ib_group_joined(int status, struct ib_sa_multicast *mc)
{
	struct rca_group_ib *group = mc->context;
	struct rdma_ah_attr ah = {};

	if (!status)
		status = ib_init_ah_from_mcmember(group->ibdev, group->port_num, &mc->rec, NULL,
						  IB_GID_TYPE_IB, &ah);
	group->done(group->member, status, status ? NULL : &ah, be32_to_cpu(mc->rec.qkey));
	if (!status)
		rdma_destroy_ah_attr(&ah);
	return 0;	/* rca_group_ib_leave() frees @mc */
}

/**
 * rca_group_ib_join() - join a group over InfiniBand
 * @ibdev: the device
 * @req: the group and the member; its port is InfiniBand
 * @done: called once when the join has ended, possibly before this returns, and
 *        once more when the group is lost; not after rca_group_ib_leave()
 * @member: argument of @done
 *
 * Beside its address, a new group has the parameters of the broadcast group of the
 * IPoIB subnet.
 *
 * Context: Process context. Sleeps.
 * Return: the membership; ERR_PTR(): -EINVAL: not the address of a group;
 * -EADDRNOTAVAIL: no network device is a member of the broadcast group;
 * -ENODEV; -ENOMEM.
 */
struct rca_group_ib *rca_group_ib_join(struct ib_device *ibdev, const struct rca_tp_join *req,
				       rca_group_ib_done done, void *member)
{
	struct ib_sa_mcmember_rec rec;
	struct rca_group_ib *group;
	union ib_gid mgid;
	int ret;

	/* No subnet: the MGID 0 would find a group that is being joined by a wildcard. */
	if (!memchr_inv(req->subnet.raw, 0, sizeof(req->subnet.raw)))
		return ERR_PTR(-EADDRNOTAVAIL);
	ret = rca_group_ib_mgid(req->group, &req->subnet, req->ps == RDMA_PS_UDP, &mgid) ?:
	      get_record(ibdev, req->port_num, &req->subnet, &rec);
	if (ret)
		return ERR_PTR(ret);
	group = kzalloc(sizeof(*group), GFP_KERNEL_ACCOUNT);
	if (!group)
		return ERR_PTR(-ENOMEM);
	group->ibdev = ibdev;
	group->port_num = req->port_num;
	group->done = done;
	group->member = member;
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
