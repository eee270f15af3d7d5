// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Dumps of ids and multicast memberships.
 *
 * A dump goes through contexts in the order in which they were opened, and through
 * each context by handle. An object that is created or destroyed during the dump may
 * be missing or included; no object is included twice.
 *
 * Locking: rca_id.op where it is free, else only what is known without it; rca_id.lock.
 */
#include <linux/ktime.h>
#include <net/genetlink.h>

#include "cm/lower.h"
#include "cm/mcast.h"
#include "diag/netlink.h"
#include "id/id.h"
#include "lib/testing.h"
#include "transport/devices.h"
#include "transport/stats.h"

static int put_obj(const struct rca_nl_dump *dump, const struct rca_obj *obj)
{
	u32 age = (u32)ktime_get_boottime_seconds() - obj->born;
	u32 qp_num = READ_ONCE(obj->qp_num);
	struct sk_buff *skb = dump->skb;

	if (rca_nl_put_u64(skb, RDMA_CM_ALT_NL_A_CTX, obj->ctx->serial) ||
	    nla_put_u32(skb, RDMA_CM_ALT_NL_A_HANDLE, obj->handle) ||
	    nla_put_u32(skb, RDMA_CM_ALT_NL_A_AGE, age) ||
	    (qp_num && nla_put_u32(skb, RDMA_CM_ALT_NL_A_QPN, qp_num)))
		return -EMSGSIZE;
	return rca_nl_put_ctx_owner(dump, obj->ctx);
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

/**
 * rca_nl_put_transport() - put what the connection of an id is made over, and why no trunk
 * @skb: message buffer
 * @id: the id
 *
 * Context: Process context. Expects @id->op to be held by the caller.
 * Return: 0; -EMSGSIZE: the buffer is full.
 */
RCA_VISIBLE_IF_KUNIT int rca_nl_put_transport(struct sk_buff *skb, const struct rca_id *id)
{
	const char *why;
	union ib_gid dgid;

	lockdep_assert_held(&id->op);
	if (!id->dev || !id->lower)
		return 0;
	why = rca_lower_why(id);
	if (nla_put_string(skb, RDMA_CM_ALT_NL_A_TRANSPORT, id->tp->name) ||
	    (why && nla_put_string(skb, RDMA_CM_ALT_NL_A_NO_TRUNK, why)))
		return -EMSGSIZE;
	if (id->tp->over_tcp || !rca_id_dgid(id, &dgid))
		return 0;
	return nla_put(skb, RDMA_CM_ALT_NL_A_DGID, sizeof(dgid), &dgid);
}

/* While an operation is under way, the device of an id can be read, but not its addresses. */
static int put_dev_of_busy(struct sk_buff *skb, struct rca_id *id)
{
	unsigned long flags;
	int ret;

	spin_lock_irqsave(&id->lock, flags);
	ret = id->dev ? rca_nl_put_port(skb, id->dev->ibdev, id->port_num) : 0;
	spin_unlock_irqrestore(&id->lock, flags);
	return ret ?: nla_put_flag(skb, RDMA_CM_ALT_NL_A_BUSY);
}

/*
 * A connect over TCP may hold the op mutex for seconds: the reader does not wait for that.
 * @connection: put the transport of the id, too
 */
static int put_addrs(struct sk_buff *skb, struct rca_id *id, const union rca_addr *peer,
		     bool connection)
{
	int ret;

	if (!mutex_trylock(&id->op))
		return put_dev_of_busy(skb, id);
	ret = rca_nl_put_addr(skb, RDMA_CM_ALT_NL_A_LOCAL, &id->local) ?:
	      rca_nl_put_addr(skb, RDMA_CM_ALT_NL_A_PEER, peer) ?:
	      put_dev(skb, id);
	if (!ret && connection)
		ret = rca_nl_put_transport(skb, id);
	mutex_unlock(&id->op);
	return ret;
}

/* The private queue of an id has the serial 0, and is not reported. */
static int put_queue(struct sk_buff *skb, struct rca_id *id)
{
	struct rca_queue *queue = rca_source_queue(&id->src);
	u32 serial = queue ? queue->serial : 0;

	rca_queue_put(queue);	/* got by rca_source_queue() */
	return serial ? nla_put_u32(skb, RDMA_CM_ALT_NL_A_QUEUE, serial) : 0;
}

/* State and time are read under one lock, so they belong together. */
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

static int put_id(const struct rca_nl_dump *dump, struct rca_obj *obj)
{
	struct rca_id *id = rca_id_of(obj);
	struct sk_buff *skb = dump->skb;
	struct rca_tp_numbers numbers;

	rca_id_numbers(id, &numbers);
	if (put_state(skb, id) ||
	    nla_put_u32(skb, RDMA_CM_ALT_NL_A_PS, id->ps) ||
	    nla_put_u32(skb, RDMA_CM_ALT_NL_A_QP_TYPE, id->qp_type) ||
	    rca_nl_put_numbers(skb, &numbers) || put_queue(skb, id))
		return -EMSGSIZE;
	return put_addrs(skb, id, &id->dst, true) ?: put_obj(dump, obj);
}

static int put_member(const struct rca_nl_dump *dump, struct rca_obj *obj)
{
	struct rca_id *id = rca_member_id(obj);

	if (nla_put_u32(dump->skb, RDMA_CM_ALT_NL_A_ID, id->obj.handle))
		return -EMSGSIZE;
	return put_addrs(dump->skb, id, rca_member_group(obj), false) ?: put_obj(dump, obj);
}

/**
 * struct dump_kind - what a dump contains
 * @cmd: command of its messages
 * @kind: kind of the objects
 * @put: puts the attributes of one
 */
struct dump_kind {
	u8 cmd;
	enum rca_kind kind;
	int (*put)(const struct rca_nl_dump *dump, struct rca_obj *obj);
};

static const struct dump_kind ids = { RDMA_CM_ALT_NL_ID, RCA_KIND_ID, put_id };
static const struct dump_kind members = { RDMA_CM_ALT_NL_MEMBER, RCA_KIND_MEMBER, put_member };

static bool obj_in_net(struct rca_obj *obj, const struct net *net)
{
	struct rca_id *id = obj->type->kind == RCA_KIND_ID ? rca_id_of(obj) : rca_member_id(obj);

	/* For comparison only: a destroyed id may leave its namespace now. */
	return net_eq(READ_ONCE(id->net), net);
}

static int dump_obj(const struct rca_nl_dump *dump, const struct dump_kind *kind,
		    struct rca_obj *obj)
{
	void *msg;

	if (obj->type->kind != kind->kind || !obj_in_net(obj, dump->net))
		return 0;
	msg = rca_nl_msg_begin(dump, kind->cmd);
	if (!msg)
		return -EMSGSIZE;
	return rca_nl_msg_end(dump, msg, kind->put(dump, obj));
}

/* RCA_NL_POS: position of rca_obj_next(). */
static int dump_ctx_objs(const struct rca_nl_dump *dump, struct rca_ctx *ctx, const void *kind)
{
	unsigned long pos = dump->cb->args[RCA_NL_POS];
	struct rca_obj *obj;
	int ret = 0;

	while (!ret && (obj = rca_obj_next(ctx, &pos))) {
		ret = dump_obj(dump, kind, obj);
		rca_obj_put(obj);	/* got by rca_obj_next() */
		if (!ret)
			dump->cb->args[RCA_NL_POS] = pos;
		cond_resched();
	}
	return ret;
}

/* dumpit() of RDMA_CM_ALT_NL_ID. */
int rca_nl_dump_ids(struct sk_buff *skb, struct netlink_callback *cb)
{
	return rca_nl_dump_ctxs(skb, cb, dump_ctx_objs, &ids);
}

/* dumpit() of RDMA_CM_ALT_NL_MEMBER. */
int rca_nl_dump_members(struct sk_buff *skb, struct netlink_callback *cb)
{
	return rca_nl_dump_ctxs(skb, cb, dump_ctx_objs, &members);
}
