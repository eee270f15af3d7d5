// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Multicast: join and leave groups, attach the QP when the join is done.
 *
 * Locking: the id's lock for the list of memberships and around attaching and
 * detaching, so that a QP is not attached for a membership that is just left.
 * The table's references keep a membership alive beyond that.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "api/addr.h"
#include "base/cancel.h"
#include "base/compiler.h"
#include "core/context.h"
#include "base/err.h"
#include "event/event.h"
#include "base/log.h"
#include "id/members.h"
#include "base/table.h"

#define JOIN_ATTR_NEEDED \
	(RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS)

struct rcl_member *rcl_member_get(const struct rcl_id *id, uint64_t cookie)
{
	struct rcl_member *member = rcl_table_get(RCL_KIND_MEMBER, cookie);

	if (member && member->owner != id->cookie) {
		rcl_member_put(member);
		member = NULL;
	}
	return member;
}

void rcl_member_put(struct rcl_member *member)
{
	if (rcl_table_put(member->cookie))
		free(member);
}

static void forget(struct rcl_member *member)
{
	if (rcl_table_kill(member->cookie))
		free(member);
}

/* With the id's lock held, as all that follows up to attach(). */
static bool listed(const struct rcl_id *id, const struct rcl_member *member)
{
	const struct rcl_member *m = id->members;

	while (m && m != member)
		m = m->next;
	return m;
}

static void unlist(struct rcl_id *id, struct rcl_member *member)
{
	struct rcl_member **pos = &id->members;

	while (*pos && *pos != member)
		pos = &(*pos)->next;
	if (*pos)
		*pos = member->next;
}

static bool same_group(const struct rcl_member *a, const struct rcl_member *b)
{
	return a->mlid == b->mlid && !memcmp(&a->mgid, &b->mgid, sizeof(a->mgid));
}

/* Verbs attach a QP to a group once, however many memberships ask for it. */
static bool needed_by_another(const struct rcl_id *id, const struct rcl_member *member)
{
	const struct rcl_member *m;

	for (m = id->members; m; m = m->next) {
		if (m != member && m->attached == id->id.qp && same_group(m, member))
			return true;
	}
	return false;
}

/* The program may have attached the QP itself: it is detached all the same. */
static void detach(struct rcl_id *id, struct rcl_member *member)
{
	member->attached = NULL;
	if (!id->id.qp || !member->joined || member->send_only ||
	    needed_by_another(id, member))
		return;
	ibv_detach_mcast(id->id.qp, &member->mgid, member->mlid);
}

static int attach(struct rcl_id *id, struct rcl_member *member)
{
	int ret;

	if (!id->id.qp || member->send_only)
		return 0;
	ret = rcl_verbs_err(ibv_attach_mcast(id->id.qp, &member->mgid, member->mlid));
	if (!ret)
		member->attached = id->id.qp;
	return ret;
}

int rcl_member_joined(struct rcl_id *id, struct rcl_member *member,
		      const struct ibv_ah_attr *ah)
{
	int ret = 0;

	pthread_mutex_lock(&id->lock);
	/* A second event for it, which no kernel has a reason for, does not change the group. */
	if (listed(id, member) && !member->joined) {
		member->mgid = ah->grh.dgid;
		member->mlid = ah->dlid;
		member->joined = true;
		ret = attach(id, member);
	}
	pthread_mutex_unlock(&id->lock);
	if (ret)
		rcl_log("id %u: joined a group, but its QP cannot be attached: %s", id->handle,
			strerror(-ret));
	return ret;
}

void rcl_member_take(struct rcl_id *id, struct rcl_member *member)
{
	pthread_mutex_lock(&id->lock);
	member->events_taken++;
	pthread_mutex_unlock(&id->lock);
}

void rcl_members_in_child(struct rcl_id *id)
{
	struct rcl_member *m;

	for (m = id->members; m; m = m->next)
		m->events_acked = m->events_taken;
}

void rcl_member_ack(struct rcl_id *id, uint64_t cookie)
{
	struct rcl_member *member = rcl_member_get(id, cookie);

	if (!member)
		return;
	pthread_mutex_lock(&id->lock);
	member->events_acked++;
	pthread_cond_broadcast(&id->acked_cond);
	pthread_mutex_unlock(&id->lock);
	rcl_member_put(member);
}

void rcl_members_detach(struct rcl_id *id)
{
	struct rcl_member *m;
	int cancel;

	cancel = rcl_lock(&id->lock);
	for (m = id->members; m; m = m->next) {
		if (m->attached && m->attached == id->id.qp)
			detach(id, m);
	}
	rcl_unlock(&id->lock, cancel);
}

void rcl_members_free(struct rcl_id *id)
{
	struct rcl_member *m, *next;

	for (m = id->members; m; m = next) {
		next = m->next;
		forget(m);
	}
	id->members = NULL;
}

static struct rcl_member *new_member(const struct rcl_id *id, const struct sockaddr *addr,
				     uint16_t join_flags, void *context)
{
	struct rcl_member *member = calloc(1, sizeof(*member));

	if (!member)
		return NULL;
	member->cookie = rcl_table_add(RCL_KIND_MEMBER, member);
	if (!member->cookie) {
		free(member);
		return NULL;
	}
	member->owner = id->cookie;
	member->send_only = join_flags == RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER;
	member->context = context;
	memcpy(&member->addr, addr, rcl_addr_len(addr));
	return member;
}

static int join(struct rcl_id *id, const struct sockaddr *addr,
		uint16_t join_flags, void *context)
{
	struct rdma_cm_alt_join cmd = { 0 };
	struct rcl_member *member;
	bool sync = id->sync;
	int ret;

	member = new_member(id, addr, join_flags, context);
	if (!member)
		return -ENOMEM;
	cmd.id = id->handle;
	cmd.join_state = join_flags;
	cmd.cookie = member->cookie;
	rcl_addr_to_kernel(&cmd.group, addr);
	/* Once the kernel has it, another thread may get the event, leave and destroy the id. */
	rcl_member_get(id, member->cookie);
	pthread_mutex_lock(&id->lock);
	member->next = id->members;
	id->members = member;
	pthread_mutex_unlock(&id->lock);

	ret = RCL_CALL(JOIN, &cmd);
	if (!ret && !rcl_handle_valid(cmd.out_member))
		ret = -EIO;
	if (ret) {
		pthread_mutex_lock(&id->lock);
		unlist(id, member);
		pthread_mutex_unlock(&id->lock);
		forget(member);
	} else {
		atomic_store(&member->handle, cmd.out_member);
	}
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
				   "it needs an address of a family that is ours, and join flags: comp_mask 0x%x, flags %u",
				   attr->comp_mask, attr->join_flags);
	ret = join(priv, attr->addr, (uint16_t)attr->join_flags, context);
	return ret ? rcl_fail_id(priv, ret, __func__, join_failed) : 0;
}

RCL_EXPORT int rdma_join_multicast(struct rdma_cm_id *id, struct sockaddr *addr,
				   void *context)
{
	struct rcl_id *priv = rcl_id_of(id);
	int ret;

	if (!id || !rcl_addr_len(addr))
		return rcl_fail_id(priv, -EINVAL, __func__,
				   "no id, no group, or a family that is not ours");
	ret = join(priv, addr, RDMA_MC_JOIN_FLAG_FULLMEMBER, context);
	return ret ? rcl_fail_id(priv, ret, __func__, join_failed) : 0;
}

/* The latest membership in a group that the kernel knows; off the list, QP detached. */
static struct rcl_member *take(struct rcl_id *id, const struct sockaddr *addr)
{
	struct rcl_member *m;
	int cancel;

	cancel = rcl_lock(&id->lock);
	for (m = id->members; m; m = m->next) {
		if (atomic_load(&m->handle) &&
		    !memcmp(&m->addr, addr, rcl_addr_len(addr)))
			break;
	}
	if (m) {
		detach(id, m);
		unlist(id, m);
	}
	rcl_unlock(&id->lock, cancel);
	return m;
}

/* The program cannot ack what the synchronous id holds. */
static void drop_own_event(struct rcl_id *id, const struct rcl_member *member)
{
	const struct rcl_event *held = (const void *)id->id.event;

	if (id->sync && held && held->member == member->cookie)
		rcl_event_drop(id);
}

static void wait_acked(struct rcl_id *id, const struct rcl_member *member,
		       uint32_t reported)
{
	pthread_mutex_lock(&id->lock);
	if (id->shared)
		reported = member->events_taken;
	if ((int32_t)(reported - member->events_acked) > 0)
		rcl_log("id %u: rdma_leave_multicast waits for rdma_ack_cm_event of %u more events",
			id->handle, reported - member->events_acked);
	while ((int32_t)(reported - member->events_acked) > 0)
		rcl_cond_wait(&id->acked_cond, &id->lock);
	pthread_mutex_unlock(&id->lock);
}

RCL_EXPORT int rdma_leave_multicast(struct rdma_cm_id *id, struct sockaddr *addr)
{
	struct rdma_cm_alt_leave cmd = { 0 };
	struct rcl_id *priv = rcl_id_of(id);
	struct rcl_member *member;
	struct rcl_ring *ring;
	int ret;

	if (!id || !rcl_addr_len(addr))
		return rcl_fail_id(priv, -EINVAL, __func__,
				   "no id, no group, or a family that is not ours");
	member = take(priv, addr);
	if (!member)
		return rcl_fail_id(priv, -EADDRNOTAVAIL, __func__,
				   "the id is not in this group; address and port as in the join");
	drop_own_event(priv, member);
	cmd.member = atomic_load(&member->handle);
	ring = rcl_id_lock_ring(priv);
	ret = RCL_CALL(LEAVE, &cmd);
	rcl_id_unlock_ring(ring);
	if (!ret)
		wait_acked(priv, member, cmd.out_events_reported);
	forget(member);
	if (ret)
		return rcl_fail_id(priv, ret, __func__, "the kernel did not leave");
	return 0;
}
