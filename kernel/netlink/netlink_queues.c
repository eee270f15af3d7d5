// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Event queues, as tools see them: contexts in the order in which they were opened, and of each
 * the queues in the order in which they were made.
 *
 * Locking: none of its own.
 */
#include "netlink/netlink_queues.h"

#include <net/genetlink.h>
#include <net/net_namespace.h>

#include "event/events.h"
#include "netlink/netlink_put.h"

/* Where a dump is: cb->args. */
enum {
	AFTER,		/* contexts up to this one are done */
	WITHIN,		/* the one that QUEUE is in */
	QUEUE,		/* queues up to this one are done */
};

static int put_queue(struct sk_buff *skb, const struct rca_nl_reader *reader,
		     struct rca_queue *queue)
{
	const struct rca_ctx *ctx = queue->ctx;
	struct rca_queue_stat look;

	rca_queue_stat(queue, &look);
	if (rca_nl_put_u64(skb, RDMA_CM_ALT_NL_A_CTX, ctx->serial) ||
	    nla_put_u32(skb, RDMA_CM_ALT_NL_A_QUEUE, queue->serial) ||
	    nla_put_u32(skb, RDMA_CM_ALT_NL_A_IDS, look.ids) ||
	    nla_put_u32(skb, RDMA_CM_ALT_NL_A_WAITING, look.waiting) ||
	    (look.ring && nla_put_u32(skb, RDMA_CM_ALT_NL_A_RING, look.ring)) ||
	    nla_put_u32(skb, RDMA_CM_ALT_NL_A_READERS, look.readers) ||
	    nla_put_u32(skb, RDMA_CM_ALT_NL_A_RECORD, queue->record_size))
		return -EMSGSIZE;
	return rca_nl_put_owner(skb, reader->users, rca_account_uid(&ctx->account),
				pid_vnr(ctx->pid), ctx->comm);
}

static int dump_queue(struct sk_buff *skb, struct netlink_callback *cb,
		      const struct rca_nl_reader *reader, struct rca_queue *queue)
{
	void *msg;
	int ret;

	if (queue->netns != reader->net->net_cookie)
		return 0;
	msg = rca_nl_begin(skb, cb, RDMA_CM_ALT_NL_QUEUE);
	if (!msg)
		return -EMSGSIZE;
	ret = put_queue(skb, reader, queue);
	if (ret)
		genlmsg_cancel(skb, msg);
	else
		genlmsg_end(skb, msg);
	return ret;
}

static int dump_ctx(struct sk_buff *skb, struct netlink_callback *cb,
		    const struct rca_nl_reader *reader, struct rca_ctx *ctx)
{
	struct rca_queue *queue = NULL;
	int ret;

	if (!rca_nl_sees(reader, rca_account_uid(&ctx->account)))
		return 0;
	if (cb->args[WITHIN] != ctx->serial) {
		cb->args[WITHIN] = ctx->serial;
		cb->args[QUEUE] = 0;
	}
	while ((queue = rca_queue_next(ctx, queue, cb->args[QUEUE]))) {
		ret = dump_queue(skb, cb, reader, queue);
		if (ret) {
			rca_queue_put(queue);	/* got by rca_queue_next() */
			return ret;
		}
		cb->args[QUEUE] = queue->serial;
		cond_resched();
	}
	return 0;
}

/**
 * rca_nl_dump_queues() - RDMA_CM_ALT_NL_QUEUE
 * @skb: where
 * @cb: the dump
 *
 * Context: Process context. Sleeps.
 * Return: how much there is in @skb; 0: that was all; or a negative errno.
 */
int rca_nl_dump_queues(struct sk_buff *skb, struct netlink_callback *cb)
{
	const struct rca_nl_reader reader = rca_nl_reader(cb);
	struct rca_ctx *ctx = NULL;
	int ret = 0;

	while ((ctx = rca_ctx_next(ctx, cb->args[AFTER]))) {
		ret = dump_ctx(skb, cb, &reader, ctx);
		if (ret) {
			rca_ctx_put(ctx);	/* got by rca_ctx_next() */
			break;
		}
		cb->args[AFTER] = ctx->serial;
		cond_resched();
	}
	return ret && !skb->len ? ret : skb->len;
}
