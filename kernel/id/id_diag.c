// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Diagnostics of an id: tracepoints, netlink notifications, and the failure log.
 *
 * Locking: rca_id.lock.
 */
#undef pr_fmt
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "id/id.h"

#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/pid.h>
#include <linux/printk.h>
#include <linux/ratelimit.h>
#include <linux/string.h>

#include "lib/testing.h"
#include "lib/trace.h"
#include "lib/uerrno.h"
#include "log/log.h"
#include "transport/transport.h"

/*
 * Describes an event that reports a failure, else returns NULL. The status of a user event has no
 * meaning to the module.
 */
static const char *failure_name(u32 type, int status)
{
	static const char * const names[] = {
		[RDMA_CM_ALT_EVENT_ADDR_ERROR] = "address resolution failed",
		[RDMA_CM_ALT_EVENT_ROUTE_ERROR] = "route resolution failed",
		[RDMA_CM_ALT_EVENT_CONNECT_ERROR] = "connect failed",
		[RDMA_CM_ALT_EVENT_UNREACHABLE] = "unreachable",
		[RDMA_CM_ALT_EVENT_REJECTED] = "rejected",
		[RDMA_CM_ALT_EVENT_DISCONNECTED] = "disconnected",
		[RDMA_CM_ALT_EVENT_DEVICE_REMOVAL] = "its device is removed",
		[RDMA_CM_ALT_EVENT_MULTICAST_ERROR] = "multicast failed",
	};

	if (type >= ARRAY_SIZE(names) || (type == RDMA_CM_ALT_EVENT_DISCONNECTED && !status))
		return NULL;
	return names[type];
}

/**
 * rca_id_reason() - describe the reason that a peer has sent
 * @id: the id
 * @event: type of the event that has the reason as its status
 * @reason: the reason
 *
 * Context: Any context.
 * Return: the description, or NULL if there is none.
 */
RCA_VISIBLE_IF_KUNIT const char *rca_id_reason(const struct rca_id *id, u32 event, int reason)
{
	if (reason <= 0)
		return NULL;
	switch (event) {
	case RDMA_CM_ALT_EVENT_UNREACHABLE:
		return "refused with SIDR status";
	case RDMA_CM_ALT_EVENT_REJECTED:
	case RDMA_CM_ALT_EVENT_DISCONNECTED:
		return id->dev && id->dev->tp->reject_msg ? id->dev->tp->reject_msg(reason) : NULL;
	default:
		return NULL;
	}
}

/* Log to the kernel log; enabled by dynamic debug. */
static void log_failure(const struct rca_id *id, const struct rca_report *report, const char *what)
{
	const char *dev = report->dev[0] ? report->dev : "no device";
	const char *why = rca_id_reason(id, report->event, report->status);

	if (report->status < 0)
		pr_debug_ratelimited("%s/%u: %pISpc to %pISpc: %s: %pe; %s[%d]\n", dev,
				     report->port, &report->local.sa, &report->peer.sa, what,
				     ERR_PTR(report->status), report->comm, pid_nr(report->pid));
	else if (!report->status)
		pr_debug_ratelimited("%s/%u: %pISpc to %pISpc: %s; %s[%d]\n", dev, report->port,
				     &report->local.sa, &report->peer.sa, what, report->comm,
				     pid_nr(report->pid));
	else if (why)
		pr_debug_ratelimited("%s/%u: %pISpc to %pISpc: %s: %s (%d); %s[%d]\n", dev,
				     report->port, &report->local.sa, &report->peer.sa, what, why,
				     report->status, report->comm, pid_nr(report->pid));
	else
		pr_debug_ratelimited("%s/%u: %pISpc to %pISpc: %s: %d; %s[%d]\n", dev,
				     report->port, &report->local.sa, &report->peer.sa, what,
				     report->status, report->comm, pid_nr(report->pid));
}

/*
 * @conn: the id whose connection it is about: @id, or of a connection request the new one
 *
 * Not inline: the report is large, and mostly not needed.
 */
static noinline void report_locked(struct rca_id *id, const struct rca_id *conn,
				   const union rca_addr *local,
				   const union rca_addr *peer, const char *op, u32 event,
				   int status, const char *failure)
{
	const struct rca_ctx *ctx = id->obj.ctx;
	struct rca_report report = { .event = event, .status = status };

	lockdep_assert_held(&id->lock);
	if (op)
		strscpy(report.op, op, sizeof(report.op));
	report.ctx = ctx->serial;
	report.handle = id->obj.handle;
	report.uid = ctx->uid;
	report.pid = ctx->pid;
	memcpy(report.comm, ctx->comm, sizeof(report.comm));
	report.state = id->state;
	report.before = id->before;
	report.ps = id->ps;
	/* Addresses are changed by operations, which report when they have ended. */
	report.local = *local;
	report.peer = *peer;
	if (id->dev) {
		/* A concurrent rename may change the content of the array. */
		strscpy(report.dev, id->dev->ibdev->name, sizeof(report.dev));
		report.port = id->port_num;
	}
	if (id->sgid_attr)
		report.sgid = id->sgid_attr->gid;
	rca_id_numbers(conn, &report.numbers);
	if (failure)
		log_failure(id, &report, failure);
	if (id->net)
		rca_log_report(id->net, &report, failure);
}

/* Expects rca_id.op or rca_id.lock to be held by the caller. */
static bool is_monitored(const struct rca_id *id)
{
	return id->net && rca_monitor_wanted(id->net);
}

/**
 * rca_id_report_event_on_locked() - report that an event of a part of an id is posted
 * @id: the id
 * @type: type of the event
 * @status: status of the event
 * @peer: the peer of that part; for a membership, the group
 *
 * Context: Any context. Expects @id->lock to be held by the caller.
 */
void rca_id_report_event_on_locked(struct rca_id *id, u32 type, int status,
				   const union rca_addr *peer)
{
	const char *failure = failure_name(type, status);

	trace_rca_event(id->obj.handle, &id->local.sa, &peer->sa, type, status);
	if (failure || is_monitored(id))
		report_locked(id, id, &id->local, peer, NULL, type, status, failure);
}

/**
 * rca_id_report_request_locked() - report that a connection request is posted
 * @listener: the listener
 * @child: the new id
 *
 * Context: Any context. Expects @listener->lock to be held by the caller.
 */
void rca_id_report_request_locked(struct rca_id *listener, const struct rca_id *child)
{
	const u32 type = RDMA_CM_ALT_EVENT_CONNECT_REQUEST;

	trace_rca_event(listener->obj.handle, &listener->local.sa, &listener->dst.sa, type, 0);
	if (is_monitored(listener))
		report_locked(listener, child, &listener->local, &listener->dst, NULL, type, 0,
			      NULL);
}

/* rca_id_report_event_on_locked() for an event of the id itself. */
void rca_id_report_event_locked(struct rca_id *id, u32 type, int status)
{
	rca_id_report_event_on_locked(id, type, status, &id->dst);
}

/* An operation that was interrupted by a signal has not failed. */
static bool has_failed(int ret)
{
	return ret < 0 && rca_user_errno(ret) != -EINTR;
}

static void report_op(struct rca_id *id, const char *op, int ret, const union rca_addr *local,
		      const union rca_addr *peer, bool failed)
{
	unsigned long flags;

	trace_rca_op(id->obj.handle, &local->sa, &peer->sa, op, ret);
	if (!failed && !is_monitored(id))
		return;
	spin_lock_irqsave(&id->lock, flags);
	/* The error is the intended result of destroying the id during the operation. */
	failed = failed && id->state != RCA_ST_DESTROYING;
	report_locked(id, id, local, peer, op, 0, rca_user_errno(ret), failed ? op : NULL);
	spin_unlock_irqrestore(&id->lock, flags);
}

/**
 * rca_id_report_op_on() - report the end of an operation with addresses of its own
 * @id: the id
 * @op: name of the operation, shorter than RCA_REPORT_OP_LEN
 * @ret: its result; interruption by a signal or by destruction of the id is not a failure
 * @local: local address
 * @peer: peer address
 *
 * Context: Process context. Expects @id->op to be held by the caller. Takes and releases @id->lock.
 */
void rca_id_report_op_on(struct rca_id *id, const char *op, int ret, const union rca_addr *local,
			 const union rca_addr *peer)
{
	report_op(id, op, ret, local, peer, has_failed(ret));
}

/* rca_id_report_op_on() with the addresses of the id. */
void rca_id_report_op(struct rca_id *id, const char *op, int ret)
{
	rca_id_report_op_on(id, op, ret, &id->local, &id->dst);
}

/*
 * rca_id_report_op() for an operation that no program has requested; never reported as a failure.
 */
void rca_id_report_own_op(struct rca_id *id, const char *op, int ret)
{
	report_op(id, op, ret, &id->local, &id->dst, false);
}

/**
 * rca_id_report_refused() - report that a request was not given to a listener
 * @listener: the listener
 * @peer: sender of the request
 * @ret: the reason, a negative errno
 *
 * Context: Process context, callback of a transport. Takes and releases @listener->lock.
 */
void rca_id_report_refused(struct rca_id *listener, const union rca_addr *peer, int ret)
{
	unsigned long flags;

	if (!rca_monitor_ratelimit(listener->net))
		return;
	spin_lock_irqsave(&listener->lock, flags);
	report_locked(listener, listener, &listener->local, peer, "request", 0,
		      rca_user_errno(ret), "request");
	spin_unlock_irqrestore(&listener->lock, flags);
}
