// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Memberships: an id joins multicast groups and leaves them.
 *
 * A membership is a child of its id with a handle of its own. It ends when it
 * is left, and with its id. When the device goes, its group is given up; the
 * rest of it stays until then, so that the events that were delivered can still
 * be counted.
 *
 * Locking: rca_id.op for the list of an id and for what a membership holds. The
 * transport is called without, as joining and leaving take RTNL: what a join
 * under way has got is given back when the id does not take it any more.
 */
#include "ops/mcast.h"

#include <kunit/visibility.h>
#include <linux/err.h>
#include <linux/slab.h>
#include <rdma/ib_cache.h>

#include "id/id.h"
#include "device/devices.h"
#include "ip/ipoib.h"
#include "resolve/qp_attr.h"
#include "resolve/route.h"
#include "lib/trace.h"
#include "lib/uerrno.h"

/* The number that stands for all members of a group (IBTA volume 1, 10.5.1). */
#define MULTICAST_QPN	0xffffff

/**
 * struct grip - what a membership holds of the world below
 * @dev: the device (holds a reference); NULL: nothing
 * @group: the transport's membership
 */
struct grip {
	struct rca_device *dev;
	void *group;
};

/**
 * struct rca_member - a membership
 * @obj: reference count, handle
 * @event_count: its events that were delivered
 * @id: the id (immutable; holds a reference)
 * @node: in &rca_opts.members, where it holds a reference (lock: rca_id.op)
 * @grip: what it holds (lock: rca_id.op)
 * @addr: address of the group (immutable)
 * @cookie: comes back with its events (immutable)
 * @ev: record for the event of its join (lock: rca_id.lock once it is posted; owned)
 * @lost_ev: record for the event of its loss; NULL: posted (lock: rca_id.lock; owned)
 * @published: user space knows it (lock: rca_id.lock)
 * @ended: the join has ended, and @ev says how (lock: rca_id.lock)
 * @lost: the group was joined and is lost, and @lost_ev says why (lock: rca_id.lock)
 * @rcu: for lookups without a lock
 */
struct rca_member {
	struct rca_obj obj;
	struct rca_event_count event_count;
	struct rca_id *id;
	struct list_head node;
	struct grip grip;
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

	WARN_ON_ONCE(member->grip.dev || !list_empty(&member->node));
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

/* The records of its events: that it has joined, or not, and that it has lost the group. */
static int reserve_events(struct rca_member *member, struct rca_id *id)
{
	struct rca_event *ev;

	ev = rca_id_new_event(id);
	if (IS_ERR(ev))
		return PTR_ERR(ev);
	member->ev = ev;
	ev = rca_id_new_event(id);
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

/* The id is still one that can have memberships. */
static int check_alive(struct rca_id *id)
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

static int check_joinable(struct rca_id *id)
{
	enum rca_state state = rca_id_state(id);

	if (state == RCA_ST_REMOVED)
		return -ENXIO;
	if (id->qp_type != IB_QPT_UD || !id->dev)
		return -EINVAL;
	return state == RCA_ST_BOUND || state == RCA_ST_ADDR_RESOLVED ? 0 : -EINVAL;
}

/* What the transport needs to know of the id; put_request() gives back what it holds. */
static int get_request(struct rca_id *id, struct rca_tp_join *req, struct rca_device **dev)
{
	int ret;

	mutex_lock(&id->op);
	ret = check_joinable(id);
	if (!ret) {
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
		*dev = rca_device_get(id->dev);	/* put in give_up() */
	}
	mutex_unlock(&id->op);
	return ret;
}

static void put_request(struct rca_tp_join *req)
{
	if (req->sgid_attr)
		rdma_put_gid_attr(req->sgid_attr);
}

static struct grip take_grip(struct rca_member *member)
{
	struct grip grip = member->grip;

	lockdep_assert_held(&member->id->op);
	member->grip = (struct grip){};
	return grip;
}

/* No upcall for the membership comes afterwards. */
static void give_up(struct grip grip)
{
	if (!grip.dev)
		return;
	if (grip.group)
		grip.dev->tp->leave(grip.group);
	rca_device_put(grip.dev);	/* got in get_request() */
}

/* Joins the group and makes the membership one of the id's. */
static int start(struct rca_member *member, struct rca_tp_join *req)
{
	struct rca_id *id = member->id;
	struct grip grip = {};
	int ret;

	ret = get_request(id, req, &grip.dev);
	if (ret)
		return ret;
	grip.group = grip.dev->tp->join(grip.dev->ibdev, req, member);
	put_request(req);
	if (IS_ERR(grip.group)) {
		ret = PTR_ERR(grip.group);
		grip.group = NULL;
		goto err_give_up;
	}
	mutex_lock(&id->op);
	ret = check_alive(id);
	if (!ret) {
		member->grip = grip;
		rca_obj_get(&member->obj);	/* put in end() and rca_mcast_end() */
		list_add_tail(&member->node, &id->opts->members);
	}
	mutex_unlock(&id->op);
	if (!ret)
		return 0;

err_give_up:
	give_up(grip);
	return ret;
}

/* The opposite of start(), whoever else ends it meanwhile. */
static void end(struct rca_member *member)
{
	struct rca_id *id = member->id;
	struct grip grip;
	bool listed;

	mutex_lock(&id->op);
	grip = take_grip(member);
	listed = !list_empty(&member->node);
	list_del_init(&member->node);
	mutex_unlock(&id->op);
	give_up(grip);
	if (listed)
		rca_obj_put(&member->obj);	/* the list's */
}

static void tell(struct rca_id *id, const union rca_addr *group, const char *op, int ret)
{
	mutex_lock(&id->op);
	rca_id_report_op_on(id, op, ret, &id->local, group);
	mutex_unlock(&id->op);
}

/**
 * rca_join() - join a multicast group
 * @id: the id
 * @group: address of the group
 * @send_only: nothing of the group needs to be delivered here
 * @cookie: comes back with the events of the membership
 *
 * End with rca_join_publish() or rca_join_abort(); no event is posted before.
 *
 * Context: Process context. Sleeps. Takes and releases @id->op and RTNL.
 * Return: the membership, which owns its handle, or an ERR_PTR(): -EINVAL wrong
 * state, QP type or address; -ENODEV the network device is gone; -ENXIO the
 * device was removed; -ENOENT the id is being destroyed; -EOPNOTSUPP the
 * transport has no multicast; -ENOBUFS: it has RCA_MAX_MEMBERSHIPS; -ENOMEM.
 */
struct rca_member *rca_join(struct rca_id *id, const union rca_addr *group, bool send_only,
			    u64 cookie)
{
	struct rca_tp_join req = { .group = group, .send_only = send_only };
	struct rca_member *member = member_create(id, group, cookie);
	int ret;

	if (IS_ERR(member)) {
		tell(id, group, "join", PTR_ERR(member));
		return member;
	}
	ret = start(member, &req);
	trace_rca_member(id->obj.handle, member->obj.handle, &group->sa, "join", ret);
	tell(id, group, "join", ret);
	if (!ret)
		return member;
	rca_obj_unreserve(&member->obj);
	rca_obj_put(&member->obj);
	return ERR_PTR(ret);
}
EXPORT_SYMBOL_IF_KUNIT(rca_join);

/**
 * rca_join_handle() - the handle of a membership
 * @member: the membership
 *
 * Context: Any context.
 * Return: the handle.
 */
u32 rca_join_handle(const struct rca_member *member)
{
	return member->obj.handle;
}
EXPORT_SYMBOL_IF_KUNIT(rca_join_handle);

static void post_record_locked(struct rca_member *member, struct rca_event **record)
{
	struct rca_id *id = member->id;
	struct rca_event *ev = *record;

	lockdep_assert_held(&id->lock);
	*record = NULL;
	rca_id_report_event_on_locked(id, ev->rec.type, ev->rec.status, &member->addr);
	rca_post_part(&id->src, &member->event_count, ev);
}

/* Posts what has happened to a membership, when user space can name it. */
static void post_locked(struct rca_member *member)
{
	lockdep_assert_held(&member->id->lock);
	if (!member->published || check_alive(member->id))
		return;
	if (member->ended && member->ev)
		post_record_locked(member, &member->ev);
	if (member->lost && member->lost_ev)
		post_record_locked(member, &member->lost_ev);
}

/**
 * rca_join_publish() - make the handle of a membership known, and its event
 * @member: a membership from rca_join(); the caller's reference passes on
 *
 * Context: Process context. Takes and releases the id's op mutex.
 * Return: 0; -ENXIO or -ENOENT: device or id went away meanwhile, and the
 * membership with them.
 */
int rca_join_publish(struct rca_member *member)
{
	struct rca_id *id = member->id;
	unsigned long flags;
	int ret;

	mutex_lock(&id->op);
	ret = check_alive(id);
	if (!ret) {
		/* Not found by others before we let go of the mutex. */
		rca_obj_publish(&member->obj);
		spin_lock_irqsave(&id->lock, flags);
		member->published = true;
		post_locked(member);
		spin_unlock_irqrestore(&id->lock, flags);
	}
	mutex_unlock(&id->op);
	if (ret)
		rca_join_abort(member);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(rca_join_publish);

/**
 * rca_join_abort() - end a membership that was not published
 * @member: the membership; the caller's reference is put
 *
 * Context: Process context. Sleeps. Takes and releases the id's op mutex and RTNL.
 */
void rca_join_abort(struct rca_member *member)
{
	rca_obj_unreserve(&member->obj);
	end(member);
	rca_obj_put(&member->obj);
}
EXPORT_SYMBOL_IF_KUNIT(rca_join_abort);

/* What is told of a membership. */
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
 * rca_mcast_joined() - a join has ended, or the group is lost
 * @owner: the membership
 * @status: how, or why
 * @ah: how to send to the group; with @status 0 only
 * @qkey: queue key of the group; with @status 0 only
 *
 * Members of a group need the same key, so the id keeps that from now on; a
 * group with another one than it has is of no use.
 *
 * Context: Process context: an upcall of a transport, which holds its
 * membership until it returns. Takes and releases the id's state lock.
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
	post_locked(member);
	spin_unlock_irqrestore(&id->lock, flags);
}
EXPORT_SYMBOL_IF_KUNIT(rca_mcast_joined);

/**
 * rca_leave() - leave a multicast group
 * @ctx: the context
 * @handle: handle of the membership
 * @reported: how many events of the membership were delivered
 *
 * Context: Process context. Sleeps. Takes and releases the id's op mutex and RTNL.
 * Return: 0; -ENOENT, also for all but one of several callers; -EINVAL: no membership.
 */
int rca_leave(struct rca_ctx *ctx, u32 handle, u32 *reported)
{
	struct rca_obj *obj = rca_obj_claim_handle(ctx, handle, RCA_KIND_MEMBER);
	struct rca_member *member;

	if (IS_ERR(obj))
		return PTR_ERR(obj);
	member = member_of(obj);
	end(member);
	*reported = rca_source_drop(&member->id->src, &member->event_count);
	trace_rca_member(member->id->obj.handle, handle, &member->addr.sa, "leave", 0);
	tell(member->id, &member->addr, "leave", 0);
	rca_obj_put(obj);	/* the table's */
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(rca_leave);

/* A membership of the id; NULL: it has none. */
static struct rca_member *first_member(struct rca_id *id)
{
	lockdep_assert_held(&id->op);
	if (!id->opts)
		return NULL;
	return list_first_entry_or_null(&id->opts->members, struct rca_member, node);
}

/**
 * rca_mcast_drop() - give up the groups of an id whose device goes away
 * @id: the id; its state takes no new membership
 *
 * Context: Process context. Sleeps. Takes and releases @id->op and RTNL.
 */
void rca_mcast_drop(struct rca_id *id)
{
	struct rca_member *member;
	struct grip grip;

	do {
		grip = (struct grip){};
		mutex_lock(&id->op);
		member = first_member(id);
		if (member) {
			grip = take_grip(member);
			/* Those that hold something stay in front. */
			list_move_tail(&member->node, &id->opts->members);
		}
		mutex_unlock(&id->op);
		give_up(grip);
	} while (grip.dev);
}

/**
 * rca_mcast_end() - end the memberships of an id that is being destroyed
 * @id: the id; its state takes no new membership, and no event of it is delivered any more
 *
 * Context: Process context. Sleeps. Takes and releases @id->op and RTNL.
 */
void rca_mcast_end(struct rca_id *id)
{
	struct rca_member *member;
	struct grip grip = {};

	for (;;) {
		mutex_lock(&id->op);
		member = first_member(id);
		if (member) {
			grip = take_grip(member);
			list_del_init(&member->node);
		}
		mutex_unlock(&id->op);
		if (!member)
			return;
		give_up(grip);
		if (rca_obj_claim(&member->obj))
			rca_obj_put(&member->obj);	/* the table's */
		rca_obj_put(&member->obj);		/* the list's */
	}
}

/**
 * rca_member_id() - the id that is a member
 * @obj: an object of kind RCA_KIND_MEMBER, which holds a reference of it
 *
 * Context: Any context.
 * Return: the id.
 */
struct rca_id *rca_member_id(struct rca_obj *obj)
{
	return member_of(obj)->id;
}

/**
 * rca_member_group() - the group that a membership is in
 * @obj: an object of kind RCA_KIND_MEMBER
 *
 * Context: Any context.
 * Return: its address.
 */
const union rca_addr *rca_member_group(struct rca_obj *obj)
{
	return &member_of(obj)->addr;
}
