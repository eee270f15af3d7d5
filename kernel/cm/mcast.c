// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Memberships: an id joins and leaves multicast groups.
 *
 * A membership is a child of its id with a handle of its own. LEAVE or destroying the id
 * ends it. When the device is removed, the group is left, and the membership stays until
 * one of these two, so that its delivered events can still be counted.
 *
 * Locking: rca_id.op for the list of an id and for the group of a membership. The transport
 * is called without it, because joining and leaving take RTNL. If the id is destroyed or
 * removed during a join, the group is left again.
 */
#include "cm/internal.h"

#include <linux/err.h>
#include <linux/slab.h>
#include <rdma/ib_cache.h>

#include "id/id.h"
#include "lib/trace.h"
#include "lib/uerrno.h"
#include "net/net.h"
#include "transport/transport.h"

/* The QP number of all members of a group (IBTA volume 1, 10.5.1). */
#define MULTICAST_QPN	0xffffff

/**
 * struct member_hw - the group of a membership in the transport
 * @dev: the device (holds a reference); NULL: the group is left
 * @group: returned by join() of the transport
 */
struct member_hw {
	struct rca_device *dev;
	void *group;
};

/**
 * struct rca_member - a membership
 * @obj: reference count, handle
 * @event_count: counts the delivered events of the membership
 * @id: the id (immutable; holds a reference)
 * @node: in &rca_opts.members; the list has a reference (lock: rca_id.op)
 * @hw: the group in the transport (lock: rca_id.op)
 * @addr: address of the group (immutable)
 * @cookie: user_arg of the events (immutable)
 * @ev: record for the result of the join; NULL: posted (lock: rca_id.lock; owned)
 * @lost_ev: record for the loss of the group; NULL: posted (lock: rca_id.lock; owned)
 * @published: user space knows the handle (lock: rca_id.lock)
 * @ended: the join has ended, @ev has the result (lock: rca_id.lock)
 * @lost: the group was joined and is lost, @lost_ev has the reason (lock: rca_id.lock)
 * @rcu: frees the membership after lookups without a lock
 */
struct rca_member {
	struct rca_obj obj;
	struct rca_event_count event_count;
	struct rca_id *id;
	struct list_head node;
	struct member_hw hw;
	union rca_addr addr;
	u64 cookie;
	struct rca_event *ev;
	struct rca_event *lost_ev;
	bool published;
	bool ended;
	bool lost;
	struct rcu_head rcu;
};

static struct rca_member *member_of(struct rca_obj *obj)
{
	return container_of(obj, struct rca_member, obj);
}

static void member_release(struct rca_obj *obj)
{
	struct rca_member *member = member_of(obj);

	WARN_ON_ONCE(member->hw.dev || !list_empty(&member->node));
	rca_event_free(member->ev);
	rca_event_free(member->lost_ev);
	atomic_dec(&member->id->opts->memberships);
	rca_uncharge(&obj->ctx->account, RDMA_CM_ALT_RESOURCE_MEMBERSHIPS, 1);
	rca_id_put(member->id);		/* got in member_create() */
	kfree_rcu(member, rcu);
}

static const struct rca_obj_type member_type = {
	.kind = RCA_KIND_MEMBER,
	.release = member_release,
};

/* Allocate the records for the result of the join and for the loss of the group. */
static int reserve_events(struct rca_member *member, struct rca_id *id)
{
	struct rca_event *ev;

	ev = rca_id_new_event(id, GFP_KERNEL_ACCOUNT);
	if (IS_ERR(ev))
		return PTR_ERR(ev);
	member->ev = ev;
	ev = rca_id_new_event(id, GFP_KERNEL_ACCOUNT);
	if (IS_ERR(ev))
		return PTR_ERR(ev);
	member->lost_ev = ev;
	return 0;
}

static struct rca_member *member_create(struct rca_id *id, const union rca_addr *group, u64 cookie)
{
	struct rca_opts *opts = rca_id_need_opts(id, GFP_KERNEL_ACCOUNT);
	struct rca_account *account = &id->obj.ctx->account;
	struct rca_member *member;
	int ret = -ENOBUFS;

	if (!opts)
		return ERR_PTR(-ENOMEM);
	if (atomic_inc_return(&opts->memberships) > RCA_MAX_MEMBERSHIPS)
		goto err_uncount;
	ret = rca_charge(account, RDMA_CM_ALT_RESOURCE_MEMBERSHIPS, 1);
	if (ret)
		goto err_uncount;
	ret = -ENOMEM;
	member = kzalloc(sizeof(*member), GFP_KERNEL_ACCOUNT);
	if (!member)
		goto err_uncharge;
	ret = reserve_events(member, id);
	if (ret)
		goto err_free;
	ret = rca_obj_reserve(&member->obj, id->obj.ctx, &member_type, GFP_KERNEL_ACCOUNT);
	if (ret)
		goto err_free;
	INIT_LIST_HEAD(&member->node);
	member->event_count.obj = &member->obj;
	member->id = rca_id_get(id);	/* put in member_release() */
	member->addr = *group;
	member->cookie = cookie;
	return member;

err_free:
	rca_event_free(member->ev);
	rca_event_free(member->lost_ev);
	kfree(member);
err_uncharge:
	rca_uncharge(account, RDMA_CM_ALT_RESOURCE_MEMBERSHIPS, 1);
err_uncount:
	atomic_dec(&opts->memberships);
	return ERR_PTR(ret);
}

/* Can the id have memberships? */
static int check_usable(struct rca_id *id)
{
	switch (rca_id_state(id)) {
	case RCA_ST_REMOVED:
		return -ENXIO;
	case RCA_ST_DESTROYING:
		return -ENOENT;
	default:
		return 0;
	}
}

/* Fill in the parameters of the join from the id; the caller puts @dev and the GID. */
static int get_join_request(struct rca_id *id, struct rca_tp_join *req, struct rca_device **dev)
{
	enum rca_state state;
	int ret = 0;

	mutex_lock(&id->op);
	state = rca_id_state(id);
	if (state == RCA_ST_REMOVED)
		ret = -ENXIO;
	else if (id->qp_type != IB_QPT_UD || !id->dev ||
		 (state != RCA_ST_BOUND && state != RCA_ST_ADDR_RESOLVED))
		ret = -EINVAL;
	if (!ret) {
		req->account = &id->obj.ctx->account;
		req->net = id->net;
		req->ifindex = id->link.ifindex;
		req->port_num = id->port_num;
		req->sgid_attr = id->sgid_attr;
		if (req->sgid_attr)
			rdma_hold_gid_attr(req->sgid_attr);
		req->ps = id->ps;
		req->qkey = rca_qkey(id);
		req->pkey = id->link.pkey;
		rca_ipoib_group(id->net, id->link.ifindex, &req->subnet);
		req->sl = rca_route_sl(id);
		req->traffic_class = rca_id_tos(id);
		*dev = rca_device_get(id->dev);	/* put in leave_group() */
	}
	mutex_unlock(&id->op);
	return ret;
}

/* When this returns, no upcall for the membership is running, and none follows. */
static void leave_group(struct member_hw hw)
{
	if (!hw.dev)
		return;
	if (hw.group)
		hw.dev->tp->leave(hw.group);
	rca_device_put(hw.dev);	/* got in get_join_request() */
}

/* Join the group and add the membership to the list of the id. */
static int member_join(struct rca_member *member, struct rca_tp_join *req)
{
	struct rca_id *id = member->id;
	struct member_hw hw = {};
	int ret;

	ret = get_join_request(id, req, &hw.dev);
	if (ret)
		return ret;
	hw.group = hw.dev->tp->join(hw.dev->ibdev, req, member);
	if (req->sgid_attr)
		rdma_put_gid_attr(req->sgid_attr);
	if (IS_ERR(hw.group)) {
		ret = PTR_ERR(hw.group);
		hw.group = NULL;
		goto err_leave_group;
	}
	mutex_lock(&id->op);
	ret = check_usable(id);
	if (!ret) {
		member->hw = hw;
		rca_obj_get(&member->obj);	/* put in member_leave() */
		list_add_tail(&member->node, &id->opts->members);
	}
	mutex_unlock(&id->op);
	if (!ret)
		return 0;

err_leave_group:
	leave_group(hw);
	return ret;
}

/* Undo member_join(). Several callers may do so concurrently. */
static void member_leave(struct rca_member *member)
{
	struct rca_id *id = member->id;
	struct member_hw hw;
	bool listed;

	mutex_lock(&id->op);
	hw = member->hw;
	member->hw = (struct member_hw){};
	listed = !list_empty(&member->node);
	list_del_init(&member->node);
	mutex_unlock(&id->op);
	leave_group(hw);
	if (listed)
		rca_obj_put(&member->obj);	/* the list's */
}

static void report_member(struct rca_id *id, const union rca_addr *group, const char *op, int ret)
{
	mutex_lock(&id->op);
	rca_id_report_op_on(id, op, ret, &id->local, group);
	mutex_unlock(&id->op);
}

/**
 * rca_join() - join a multicast group
 * @id: the id
 * @group: address of the group
 * @send_only: the id sends to the group and receives nothing
 * @cookie: user_arg of the events of the membership
 *
 * The caller ends with rca_join_publish() or rca_join_abort(); no event is posted before.
 *
 * Context: Process context. Sleeps. Takes and releases @id->op and RTNL.
 * Return: the membership, which owns its handle, or an ERR_PTR(): -EINVAL: wrong state, QP
 * type or address; -ENODEV: the network device does not exist any more; -ENXIO: the device
 * was removed; -ENOENT: the id is being destroyed; -EOPNOTSUPP: the transport has no
 * multicast; -ENOBUFS: the id has RCA_MAX_MEMBERSHIPS; -EDQUOT: a limit of the context or the
 * user; -ENOMEM.
 */
struct rca_member *rca_join(struct rca_id *id, const union rca_addr *group, bool send_only,
			    u64 cookie)
{
	struct rca_tp_join req = { .group = group, .send_only = send_only };
	struct rca_member *member = member_create(id, group, cookie);
	int ret;

	if (IS_ERR(member)) {
		report_member(id, group, "join", PTR_ERR(member));
		return member;
	}
	ret = member_join(member, &req);
	trace_rca_member(id->obj.handle, member->obj.handle, &group->sa, "join", ret);
	report_member(id, group, "join", ret);
	if (!ret)
		return member;
	rca_obj_unreserve(&member->obj);
	rca_obj_put(&member->obj);
	return ERR_PTR(ret);
}
RCA_EXPORT(rca_join);

u32 rca_join_handle(const struct rca_member *member)
{
	return member->obj.handle;
}
RCA_EXPORT(rca_join_handle);

static void post_record_locked(struct rca_member *member, struct rca_event **record)
{
	struct rca_id *id = member->id;
	struct rca_event *ev = *record;

	lockdep_assert_held(&id->lock);
	*record = NULL;
	rca_id_report_event_locked(id, ev->rec.type, ev->rec.status, &member->addr, id);
	rca_post_part(&id->src, &member->event_count, ev);
}

/* Post the pending events of a membership if user space knows its handle. */
static void post_pending_locked(struct rca_member *member)
{
	lockdep_assert_held(&member->id->lock);
	if (!member->published || check_usable(member->id))
		return;
	if (member->ended && member->ev)
		post_record_locked(member, &member->ev);
	if (member->lost && member->lost_ev)
		post_record_locked(member, &member->lost_ev);
}

/**
 * rca_join_publish() - publish the handle of a membership, and post its pending events
 * @member: a membership from rca_join(); consumes the caller's reference
 *
 * Context: Process context. Takes and releases the id's op mutex.
 * Return: 0; -ENXIO or -ENOENT: the device was removed or the id destroyed meanwhile, and the
 * membership is released.
 */
int rca_join_publish(struct rca_member *member)
{
	struct rca_id *id = member->id;
	unsigned long flags;
	int ret;

	mutex_lock(&id->op);
	ret = check_usable(id);
	if (!ret) {
		/* Other callers need the op mutex before they can use the handle. */
		rca_obj_publish(&member->obj);
		spin_lock_irqsave(&id->lock, flags);
		member->published = true;
		post_pending_locked(member);
		spin_unlock_irqrestore(&id->lock, flags);
	}
	mutex_unlock(&id->op);
	if (ret)
		rca_join_abort(member);
	return ret;
}
RCA_EXPORT(rca_join_publish);

/**
 * rca_join_abort() - release a membership that was not published
 * @member: the membership; consumes the caller's reference
 *
 * Context: Process context. Sleeps. Takes and releases the id's op mutex and RTNL.
 */
void rca_join_abort(struct rca_member *member)
{
	rca_obj_unreserve(&member->obj);
	member_leave(member);
	rca_obj_put(&member->obj);
}
RCA_EXPORT(rca_join_abort);

/* The record for a result of the join, or for the loss of the group. */
static void fill_record(struct rca_member *member, struct rdma_cm_alt_event *rec, int status,
			const struct ib_uverbs_ah_attr *ah, u32 qkey)
{
	rec->type = status ? RDMA_CM_ALT_EVENT_MULTICAST_ERROR : RDMA_CM_ALT_EVENT_MULTICAST_JOIN;
	rec->status = rca_user_errno(status);
	rec->member = member->obj.handle;
	rec->user_arg = member->cookie;
	if (status)
		return;
	rec->flags = RDMA_CM_ALT_EVENT_F_UD;
	rec->qp_num = MULTICAST_QPN;
	rec->ah_attr = *ah;
	rec->qkey = qkey;
}

/**
 * rca_mcast_joined() - upcall: the result of a join, or the loss of the group
 * @owner: the membership, which the transport keeps alive until this returns
 * @status: 0: joined; otherwise a negative errno: the join failed, or the group is lost
 * @ah: address handle attributes of the group; with @status 0 only
 * @qkey: queue key of the group; with @status 0 only
 *
 * All members of a group need the same queue key, so this settles the key of the id. A group with
 * another key than that of the id is an error.
 *
 * Context: Process context, upcall of a transport. Takes and releases the id's state lock.
 */
void rca_mcast_joined(void *owner, int status, const struct ib_uverbs_ah_attr *ah, u32 qkey)
{
	struct rca_member *member = owner;
	struct rca_id *id = member->id;
	unsigned long flags;

	spin_lock_irqsave(&id->lock, flags);
	if (!status)
		status = rca_qkey_settle_locked(id, qkey);
	if (!member->ended) {
		fill_record(member, &member->ev->rec, status, ah, qkey);
		member->ended = true;
	} else if (!member->lost) {
		fill_record(member, &member->lost_ev->rec, status, ah, qkey);
		member->lost = true;
	}
	post_pending_locked(member);
	spin_unlock_irqrestore(&id->lock, flags);
}

/**
 * rca_leave() - leave a multicast group
 * @ctx: the context
 * @handle: handle of the membership
 * @reported: set to the number of delivered events of the membership
 *
 * Context: Process context. Sleeps. Takes and releases the id's op mutex and RTNL.
 * Return: 0; -ENOENT, also for all but one of several callers; -EINVAL: not a membership.
 */
int rca_leave(struct rca_ctx *ctx, u32 handle, u32 *reported)
{
	struct rca_obj *obj = rca_obj_claim_handle(ctx, handle, RCA_KIND_MEMBER);
	struct rca_member *member;

	if (IS_ERR(obj))
		return PTR_ERR(obj);
	member = member_of(obj);
	member_leave(member);
	*reported = rca_source_drop(&member->id->src, &member->event_count);
	trace_rca_member(member->id->obj.handle, handle, &member->addr.sa, "leave", 0);
	report_member(member->id, &member->addr, "leave", 0);
	rca_obj_put(obj);	/* the table's */
	return 0;
}
RCA_EXPORT(rca_leave);

/* The first membership of the id; NULL: none. */
static struct rca_member *first_member(struct rca_id *id)
{
	lockdep_assert_held(&id->op);
	if (!id->opts)
		return NULL;
	return list_first_entry_or_null(&id->opts->members, struct rca_member, node);
}

/*
 * Leave the groups of an id whose device is being removed; its state permits no new membership.
 * Takes and releases rca_id.op and RTNL.
 */
void rca_mcast_drop(struct rca_id *id)
{
	struct rca_member *member;
	struct member_hw hw;

	do {
		hw = (struct member_hw){};
		mutex_lock(&id->op);
		member = first_member(id);
		if (member) {
			hw = member->hw;
			member->hw = (struct member_hw){};
			/* Memberships that still have a group stay in front. */
			list_move_tail(&member->node, &id->opts->members);
		}
		mutex_unlock(&id->op);
		leave_group(hw);
	} while (hw.dev);
}

/*
 * Release the memberships of an id that is being destroyed: its state permits no new one, and its
 * events are not delivered any more. Takes and releases rca_id.op and RTNL.
 */
void rca_mcast_end(struct rca_id *id)
{
	struct rca_member *member;

	for (;;) {
		mutex_lock(&id->op);
		member = first_member(id);
		if (member)
			rca_obj_get(&member->obj);
		mutex_unlock(&id->op);
		if (!member)
			return;
		member_leave(member);
		if (rca_obj_claim(&member->obj))
			rca_obj_put(&member->obj);	/* the table's */
		rca_obj_put(&member->obj);
	}
}

/* The id of an object of kind RCA_KIND_MEMBER, which has a reference on the id. */
struct rca_id *rca_member_id(struct rca_obj *obj)
{
	return member_of(obj)->id;
}
RCA_EXPORT(rca_member_id);

/* The address of the group of an object of kind RCA_KIND_MEMBER. */
const union rca_addr *rca_member_group(struct rca_obj *obj)
{
	return &member_of(obj)->addr;
}
