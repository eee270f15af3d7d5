// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Ids and memberships, as tools see them.
 *
 * A dump goes through contexts in the order in which they were opened, and through each by
 * handle. What comes and goes meanwhile may be in it or not; nothing is in it twice.
 *
 * Locking: rca_id.op if it is free, else what is known without it; rca_id.lock.
 */
#include "netlink/netlink_ids.h"

#include <linux/ktime.h>
#include <net/genetlink.h>

#include "id/id.h"
#include "device/devices.h"
#include "ops/mcast.h"
#include "netlink/netlink_put.h"
#include "device/stats.h"

/* Where a dump is: cb->args. */
enum {
	AFTER,		/* contexts up to this one are done */
	WITHIN,		/* the one that POS is in */
	POS,
};

static int put_obj(struct sk_buff *skb, const struct rca_nl_reader *reader,
		   const struct rca_obj *obj)
{
	const struct rca_ctx *ctx = obj->ctx;
	u32 qp_num = READ_ONCE(obj->qp_num);

	if (rca_nl_put_u64(skb, RDMA_CM_ALT_NL_A_CTX, ctx->serial) ||
	    nla_put_u32(skb, RDMA_CM_ALT_NL_A_HANDLE, obj->handle) ||
	    nla_put_u32(skb, RDMA_CM_ALT_NL_A_AGE,
			(u32)ktime_get_boottime_seconds() - obj->born) ||
	    (qp_num && nla_put_u32(skb, RDMA_CM_ALT_NL_A_QPN, qp_num)))
		return -EMSGSIZE;
	return rca_nl_put_owner(skb, reader->users, rca_account_uid(&ctx->account),
				pid_vnr(ctx->pid), ctx->comm);
}

static int put_dev(struct sk_buff *skb, const struct rca_id *id)
{
	lockdep_assert_held(&id->op);
	if (!id->dev)
		return 0;
	if (rca_nl_put_port(skb, id->dev->ibdev, id->port_num))
		return -EMSGSIZE;
	return id->sgid_attr ? nla_put(skb, RDMA_CM_ALT_NL_A_SGID, sizeof(id->sgid_attr->gid),
				       &id->sgid_attr->gid) : 0;
}

static int put_place(struct sk_buff *skb, const struct rca_id *id, const union rca_addr *peer)
{
	lockdep_assert_held(&id->op);
	return rca_nl_put_addr(skb, RDMA_CM_ALT_NL_A_LOCAL, &id->local) ?:
	       rca_nl_put_addr(skb, RDMA_CM_ALT_NL_A_PEER, peer) ?:
	       put_dev(skb, id);
}

/* The device of an id that is busy is known without its operation, unlike its addresses. */
static int put_dev_of_busy(struct sk_buff *skb, struct rca_id *id)
{
	unsigned long flags;
	int ret;

	spin_lock_irqsave(&id->lock, flags);
	ret = id->dev ? rca_nl_put_port(skb, id->dev->ibdev, id->port_num) : 0;
	spin_unlock_irqrestore(&id->lock, flags);
	return ret ?: nla_put_flag(skb, RDMA_CM_ALT_NL_A_BUSY);
}

/* A connect over TCP may hold it for seconds: who reads does not wait for that. */
static int put_place_if_free(struct sk_buff *skb, struct rca_id *id, const union rca_addr *peer)
{
	int ret;

	if (!mutex_trylock(&id->op))
		return put_dev_of_busy(skb, id);
	ret = put_place(skb, id, peer);
	mutex_unlock(&id->op);
	return ret;
}

/* The private queue of an id that has none is of no interest. */
static int put_queue(struct sk_buff *skb, struct rca_id *id)
{
	struct rca_queue *queue = rca_source_queue(&id->src);
	u32 serial = queue ? queue->serial : 0;

	rca_queue_put(queue);	/* got by rca_source_queue() */
	return serial ? nla_put_u32(skb, RDMA_CM_ALT_NL_A_QUEUE, serial) : 0;
}

/* Both are of one moment. */
static int put_state(struct sk_buff *skb, struct rca_id *id)
{
	enum rca_state state;
	unsigned long flags;
	ktime_t since;

	spin_lock_irqsave(&id->lock, flags);
	state = id->state;
	since = id->since;
	spin_unlock_irqrestore(&id->lock, flags);
	if (nla_put_string(skb, RDMA_CM_ALT_NL_A_STATE, rca_state_name(state)))
		return -EMSGSIZE;
	if (rca_stats_span(state) == RCA_SPAN_NONE)
		return 0;
	return rca_nl_put_u64(skb, RDMA_CM_ALT_NL_A_SINCE,
			      ktime_to_ns(ktime_mono_to_real(since)));
}

static int put_id(struct sk_buff *skb, const struct rca_nl_reader *reader, struct rca_obj *obj)
{
	struct rca_id *id = rca_id_of(obj);

	if (put_state(skb, id) ||
	    nla_put_u32(skb, RDMA_CM_ALT_NL_A_PS, id->ps) ||
	    nla_put_u32(skb, RDMA_CM_ALT_NL_A_QP_TYPE, id->qp_type) ||
	    put_queue(skb, id))
		return -EMSGSIZE;
	return put_place_if_free(skb, id, &id->dst) ?: put_obj(skb, reader, obj);
}

static int put_member(struct sk_buff *skb, const struct rca_nl_reader *reader, struct rca_obj *obj)
{
	struct rca_id *id = rca_member_id(obj);

	if (nla_put_u32(skb, RDMA_CM_ALT_NL_A_ID, id->obj.handle))
		return -EMSGSIZE;
	return put_place_if_free(skb, id, rca_member_group(obj)) ?: put_obj(skb, reader, obj);
}

/* One kind of objects. */
struct kind {
	u8 cmd;
	enum rca_kind kind;
	int (*put)(struct sk_buff *skb, const struct rca_nl_reader *reader, struct rca_obj *obj);
};

static const struct kind ids = { RDMA_CM_ALT_NL_ID, RCA_KIND_ID, put_id };
static const struct kind members = { RDMA_CM_ALT_NL_MEMBER, RCA_KIND_MEMBER, put_member };

static bool is_in_net(const struct rca_nl_reader *reader, struct rca_obj *obj)
{
	struct rca_id *id = obj->type->kind == RCA_KIND_ID ? rca_id_of(obj) : rca_member_id(obj);

	return net_eq(id->net, reader->net);
}

static int dump_obj(struct sk_buff *skb, struct netlink_callback *cb,
		    const struct rca_nl_reader *reader, const struct kind *kind,
		    struct rca_obj *obj)
{
	void *msg;
	int ret;

	if (obj->type->kind != kind->kind || !is_in_net(reader, obj))
		return 0;
	msg = rca_nl_begin(skb, cb, kind->cmd);
	if (!msg)
		return -EMSGSIZE;
	ret = kind->put(skb, reader, obj);
	if (ret)
		genlmsg_cancel(skb, msg);
	else
		genlmsg_end(skb, msg);
	return ret;
}

static int dump_ctx(struct sk_buff *skb, struct netlink_callback *cb,
		    const struct rca_nl_reader *reader, const struct kind *kind,
		    struct rca_ctx *ctx)
{
	unsigned long pos;
	struct rca_obj *obj;
	int ret = 0;

	if (!rca_nl_sees(reader, rca_account_uid(&ctx->account)))
		return 0;
	if (cb->args[WITHIN] != ctx->serial) {
		cb->args[WITHIN] = ctx->serial;
		cb->args[POS] = 0;
	}
	pos = cb->args[POS];
	while (!ret && (obj = rca_obj_next(ctx, &pos))) {
		ret = dump_obj(skb, cb, reader, kind, obj);
		rca_obj_put(obj);	/* got by rca_obj_next() */
		if (!ret)
			cb->args[POS] = pos;
		cond_resched();
	}
	return ret;
}

static int dump_kind(struct sk_buff *skb, struct netlink_callback *cb, const struct kind *kind)
{
	const struct rca_nl_reader reader = rca_nl_reader(cb);
	struct rca_ctx *ctx = NULL;
	int ret = 0;

	while ((ctx = rca_ctx_next(ctx, cb->args[AFTER]))) {
		ret = dump_ctx(skb, cb, &reader, kind, ctx);
		if (ret) {
			rca_ctx_put(ctx);	/* got by rca_ctx_next() */
			break;
		}
		cb->args[AFTER] = ctx->serial;
		cond_resched();
	}
	return ret && !skb->len ? ret : skb->len;
}

/**
 * rca_nl_dump_ids() - RDMA_CM_ALT_NL_ID
 * @skb: where
 * @cb: the dump
 *
 * Context: Process context. Sleeps.
 * Return: how much there is in @skb; 0: that was all; or a negative errno.
 */
int rca_nl_dump_ids(struct sk_buff *skb, struct netlink_callback *cb)
{
	return dump_kind(skb, cb, &ids);
}

/**
 * rca_nl_dump_members() - RDMA_CM_ALT_NL_MEMBER
 * @skb: where
 * @cb: the dump
 *
 * Context: Process context. Sleeps.
 * Return: as rca_nl_dump_ids().
 */
int rca_nl_dump_members(struct sk_buff *skb, struct netlink_callback *cb)
{
	return dump_kind(skb, cb, &members);
}
