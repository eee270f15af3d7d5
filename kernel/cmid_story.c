// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What is told of an id: to tracepoints, to who listens, and, where something went
 * wrong, to who asks later.
 *
 * Locking: rca_id.lock.
 */
#include <linux/errno.h>
#include <linux/ratelimit.h>
#include <linux/string.h>

#include "cmid.h"
#include "devices.h"
#include "story.h"
#include "trace.h"

/* Not inline: a story is large, and mostly there is none. */
static noinline void tell_locked(struct rca_id *id, const union rca_addr *peer, const char *op,
				 u32 event, int status, bool keep)
{
	const struct rca_ctx *ctx = id->obj.ctx;
	struct rca_story story = { .op = op, .event = event, .status = status };

	lockdep_assert_held(&id->lock);
	story.ctx = ctx->serial;
	story.handle = id->obj.handle;
	story.uid = rca_account_uid(&ctx->account);
	story.pid = ctx->pid;
	memcpy(story.comm, ctx->comm, sizeof(story.comm));
	story.state = id->state;
	story.ps = id->ps;
	/* Operations change addresses, and tell of themselves when they have. */
	story.local = id->local;
	story.peer = *peer;
	if (id->dev) {
		/* It may be renamed now: the array stays. */
		strscpy(story.dev, id->dev->ibdev->name, sizeof(story.dev));
		story.port = id->port_num;
	}
	if (id->sgid_attr)
		story.sgid = id->sgid_attr->gid;
	rca_story_tell(id->net, &story, keep);
}

/* What a program has to be told of as a failure. A user's own events are his own business. */
static bool is_failure(u32 type, int status)
{
	switch (type) {
	case RDMA_CM_ALT_EVENT_ADDR_ERROR:
	case RDMA_CM_ALT_EVENT_ROUTE_ERROR:
	case RDMA_CM_ALT_EVENT_CONNECT_ERROR:
	case RDMA_CM_ALT_EVENT_UNREACHABLE:
	case RDMA_CM_ALT_EVENT_REJECTED:
	case RDMA_CM_ALT_EVENT_DEVICE_REMOVAL:
	case RDMA_CM_ALT_EVENT_MULTICAST_ERROR:
		return true;
	case RDMA_CM_ALT_EVENT_DISCONNECTED:
		return status;
	default:
		return false;
	}
}

/**
 * rca_id_tell_event_locked() - an event of an id is posted
 * @id: the id
 * @type: its type
 * @status: its status
 *
 * Context: Any context. Expects @id->lock to be held by the caller.
 */
void rca_id_tell_event_locked(struct rca_id *id, u32 type, int status)
{
	bool failed = is_failure(type, status);

	trace_rca_event(id->obj.handle, &id->local.sa, &id->dst.sa, type, status);
	if (failed || rca_story_wanted(id->net))
		tell_locked(id, &id->dst, NULL, type, status, failed);
}

/**
 * rca_id_tell_op() - an operation on an id has come to its end
 * @id: the id
 * @op: its name, which stays
 * @ret: what it returns; what a signal has interrupted did not fail
 *
 * Context: Process context. Expects @id->op to be held by the caller. Takes and releases @id->lock.
 */
void rca_id_tell_op(struct rca_id *id, const char *op, int ret)
{
	bool failed = ret < 0 && ret != -ERESTARTSYS && ret != -EINTR;
	unsigned long flags;

	trace_rca_op(id->obj.handle, &id->local.sa, &id->dst.sa, op, ret);
	if (!failed && !rca_story_wanted(id->net))
		return;
	spin_lock_irqsave(&id->lock, flags);
	tell_locked(id, &id->dst, op, 0, ret, failed);
	spin_unlock_irqrestore(&id->lock, flags);
}

/* Of a flood of requests only some are told, or nothing else would be kept. */
static struct ratelimit_state refusals =
	RATELIMIT_STATE_INIT_FLAGS("refusals", HZ, 8, RATELIMIT_MSG_ON_RELEASE);

/**
 * rca_id_tell_refused() - a listener did not get a request
 * @listener: the listener
 * @peer: who sent it
 * @ret: why
 *
 * Context: Process context, callback of a transport. Takes and releases @listener->lock.
 */
void rca_id_tell_refused(struct rca_id *listener, const union rca_addr *peer, int ret)
{
	unsigned long flags;

	if (!__ratelimit(&refusals))
		return;
	spin_lock_irqsave(&listener->lock, flags);
	tell_locked(listener, peer, "request", 0, ret, true);
	spin_unlock_irqrestore(&listener->lock, flags);
}
