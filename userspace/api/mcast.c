// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Multicast: an id joins and leaves groups.
 *
 * Locking: none of its own.
 */
#include <stdatomic.h>

#include "base/compiler.h"
#include "base/err.h"
#include "base/sockaddr.h"
#include "core/context.h"
#include "event/event.h"
#include "id/members.h"
#include "id/report.h"

#define JOIN_ATTR_NEEDED \
	(RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS)

static int join_group(struct rcl_id *id, const struct sockaddr *addr, uint16_t join_flags,
		      void *context)
{
	struct rdma_cm_alt_join cmd = { .id = id->handle, .join_state = join_flags };
	struct rcl_member *member;
	bool sync = id->sync;
	int ret;

	member = rcl_member_add(id, addr, join_flags == RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER,
				context);
	if (!member)
		return -ENOMEM;
	cmd.cookie = member->cookie;
	rcl_addr_to_kernel(&cmd.group, addr);
	ret = RCL_CALL(JOIN, &cmd);
	/* On success another thread may have read the event, and left or destroyed the id. */
	if (!ret && !rcl_handle_valid(cmd.out_member))
		ret = -EIO;
	if (ret)
		rcl_member_remove(id, member);
	else
		atomic_store(&member->handle, cmd.out_member);
	rcl_member_put(member);
	if (ret || !sync)
		return ret;
	return rcl_complete(id);
}

static const char join_failed[] =
	"the group is not joined; the id must be for datagrams and have a device";

RCL_EXPORT int rdma_join_multicast_ex(struct rdma_cm_id *id,
				      struct rdma_cm_join_mc_attr_ex *mc_join_attr,
				      void *context)
{
	struct rdma_cm_join_mc_attr_ex *attr = mc_join_attr;
	struct rcl_id *priv = rcl_id_of(id);
	int ret;

	if (!id || !attr)
		return rcl_fail_id(priv, -EINVAL, __func__, "no id or no attributes");
	if (attr->comp_mask & ~(uint32_t)JOIN_ATTR_NEEDED)
		return rcl_fail_id(priv, -ENOTSUP, __func__, "comp_mask 0x%x",
				   attr->comp_mask);
	if (attr->comp_mask != JOIN_ATTR_NEEDED ||
	    attr->join_flags >= RDMA_MC_JOIN_FLAG_RESERVED ||
	    !rcl_addr_len(attr->addr))
		return rcl_fail_id(priv, -EINVAL, __func__,
				   "it needs an address of a supported family, and join flags: comp_mask 0x%x, flags %u",
				   attr->comp_mask, attr->join_flags);
	if (rcl_refuse_id(priv, __func__))
		return -1;
	ret = join_group(priv, attr->addr, (uint16_t)attr->join_flags, context);
	return ret ? rcl_fail_id(priv, ret, __func__, join_failed) : 0;
}

RCL_EXPORT int rdma_join_multicast(struct rdma_cm_id *id, struct sockaddr *addr,
				   void *context)
{
	struct rcl_id *priv = rcl_id_of(id);
	int ret;

	if (!id || !rcl_addr_len(addr))
		return rcl_fail_id(priv, -EINVAL, __func__,
				   "no id, no group, or an address family that is not supported");
	if (rcl_refuse_id(priv, __func__))
		return -1;
	ret = join_group(priv, addr, RDMA_MC_JOIN_FLAG_FULLMEMBER, context);
	return ret ? rcl_fail_id(priv, ret, __func__, join_failed) : 0;
}

/* A synchronous id holds its event, which the program cannot acknowledge. */
static void drop_own_event(struct rcl_id *id, const struct rcl_member *member)
{
	const struct rcl_event *held = (const void *)id->id.event;

	if (id->sync && held && held->member == member->cookie)
		rcl_event_drop(id);
}

RCL_EXPORT int rdma_leave_multicast(struct rdma_cm_id *id, struct sockaddr *addr)
{
	struct rdma_cm_alt_leave cmd = { 0 };
	struct rcl_id *priv = rcl_id_of(id);
	struct rcl_member *member;
	int ret;

	if (!id || !rcl_addr_len(addr))
		return rcl_fail_id(priv, -EINVAL, __func__,
				   "no id, no group, or an address family that is not supported");
	if (rcl_refuse_id(priv, __func__))
		return -1;
	member = rcl_member_unlist(priv, addr);
	if (!member)
		return rcl_fail_id(priv, -EADDRNOTAVAIL, __func__,
				   "the id is not in this group; address and port as in the join");
	drop_own_event(priv, member);
	cmd.member = atomic_load(&member->handle);
	rcl_begin_revoke(priv, &member->revoking);
	ret = RCL_CALL(LEAVE, &cmd);
	rcl_end_revoke(&member->revoking);
	if (!ret)
		rcl_member_wait_acked(priv, member, cmd.out_events_reported);
	rcl_member_free(member);
	if (ret)
		return rcl_fail_id(priv, ret, __func__, "the kernel did not leave");
	return 0;
}
