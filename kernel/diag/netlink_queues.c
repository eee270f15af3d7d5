// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Dump of event queues: by context, in the order in which they were made.
 *
 * Locking: none of its own.
 */
#include <net/genetlink.h>
#include <net/net_namespace.h>

#include "diag/netlink.h"
#include "event/events.h"

static int put_queue(const struct rca_nl_dump *dump, struct rca_queue *queue)
{
	struct sk_buff *skb = dump->skb;
	struct rca_queue_stat stat;

	rca_queue_stat(queue, &stat);
	if (rca_nl_put_u64(skb, RDMA_CM_ALT_NL_A_CTX, queue->ctx->serial) ||
	    nla_put_u32(skb, RDMA_CM_ALT_NL_A_QUEUE, queue->serial) ||
	    nla_put_u32(skb, RDMA_CM_ALT_NL_A_IDS, stat.ids) ||
	    nla_put_u32(skb, RDMA_CM_ALT_NL_A_WAITING, stat.waiting) ||
	    (stat.ring && nla_put_u32(skb, RDMA_CM_ALT_NL_A_RING, stat.ring)) ||
	    nla_put_u32(skb, RDMA_CM_ALT_NL_A_READERS, stat.readers) ||
	    nla_put_u32(skb, RDMA_CM_ALT_NL_A_RECORD, queue->record_size))
		return -EMSGSIZE;
	return rca_nl_put_ctx_owner(dump, queue->ctx);
}

static int dump_queue(const struct rca_nl_dump *dump, struct rca_queue *queue)
{
	void *msg;

	if (queue->netns != dump->net->net_cookie)
		return 0;
	msg = rca_nl_msg_begin(dump, RDMA_CM_ALT_NL_QUEUE);
	if (!msg)
		return -EMSGSIZE;
	return rca_nl_msg_end(dump, msg, put_queue(dump, queue));
}

/* RCA_NL_POS: serial of the last queue that is done. */
static int dump_ctx_queues(const struct rca_nl_dump *dump, struct rca_ctx *ctx, const void *arg)
{
	long *pos = &dump->cb->args[RCA_NL_POS];
	struct rca_queue *queue = NULL;
	int ret;

	while ((queue = rca_queue_next(ctx, queue, *pos))) {
		ret = dump_queue(dump, queue);
		if (ret) {
			rca_queue_put(queue);	/* got by rca_queue_next() */
			return ret;
		}
		*pos = queue->serial;
		cond_resched();
	}
	return 0;
}

/* dumpit() of RDMA_CM_ALT_NL_QUEUE. */
int rca_nl_dump_queues(struct sk_buff *skb, struct netlink_callback *cb)
{
	return rca_nl_dump_ctxs(skb, cb, dump_ctx_queues, NULL);
}
