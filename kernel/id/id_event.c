// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Events of an id: allocation of records in advance, posting, and reports. One call reports what
 * has happened: to tracepoints, the kernel log, listeners of the netlink family, and the failure
 * log.
 *
 * Locking: rca_id.lock for the reserved record, for posting and for reports.
 */
#undef pr_fmt
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "id/id.h"

#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/memcontrol.h>
#include <linux/pid.h>
#include <linux/printk.h>
#include <linux/ratelimit.h>
#include <linux/sched/mm.h>
#include <linux/string.h>

#include "lib/testing.h"
#include "lib/trace.h"
#include "lib/uerrno.h"
#include "transport/transport.h"

/* Events that report a failure. The status of a user event has no meaning to the module. */
static const char * const failures[] = {
	[RDMA_CM_ALT_EVENT_ADDR_ERROR] = "address resolution failed",
	[RDMA_CM_ALT_EVENT_ROUTE_ERROR] = "route resolution failed",
	[RDMA_CM_ALT_EVENT_CONNECT_ERROR] = "connect failed",
	[RDMA_CM_ALT_EVENT_UNREACHABLE] = "unreachable",
	[RDMA_CM_ALT_EVENT_REJECTED] = "rejected",
	[RDMA_CM_ALT_EVENT_DISCONNECTED] = "disconnected",
	[RDMA_CM_ALT_EVENT_DEVICE_REMOVAL] = "its device is removed",
	[RDMA_CM_ALT_EVENT_MULTICAST_ERROR] = "multicast failed",
};

/* Describes the reason that a peer has sent as the status of an event; NULL: there is none. */
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
		rca_report(rca_reports_of(id->net), &report, failure);
}

/* Expects rca_id.op or rca_id.lock to be held by the caller. */
static bool is_monitored(const struct rca_id *id)
{
	return id->net && rca_reports_wanted(id->net);
}

/**
 * rca_id_report_event_locked() - report that an event is posted
 * @id: the id
 * @type: type of the event
 * @status: status of the event
 * @peer: the peer of the id; for a membership, the group
 * @conn: the id whose connection it is about: @id, or of a connection request the new one
 *
 * Context: Any context. Expects @id->lock to be held by the caller.
 */
void rca_id_report_event_locked(struct rca_id *id, u32 type, int status,
				const union rca_addr *peer, const struct rca_id *conn)
{
	const char *failure = type < ARRAY_SIZE(failures) ? failures[type] : NULL;

	if (type == RDMA_CM_ALT_EVENT_DISCONNECTED && !status)
		failure = NULL;
	trace_rca_event(id->obj.handle, &id->local.sa, &peer->sa, type, status);
	if (failure || is_monitored(id))
		report_locked(id, conn, &id->local, peer, NULL, type, status, failure);
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
	report_op(id, op, ret, local, peer, ret < 0 && rca_user_errno(ret) != -EINTR);
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

	if (!rca_reports_ratelimit(listener->net))
		return;
	spin_lock_irqsave(&listener->lock, flags);
	report_locked(listener, listener, &listener->local, peer, "request", 0,
		      rca_user_errno(ret), "request");
	spin_unlock_irqrestore(&listener->lock, flags);
}

/**
 * rca_id_new_event() - allocate a record for an event of an id or of a part of it
 * @id: the id
 * @gfp: flags for the allocation
 *
 * Context: Process context, as @gfp says. Takes and releases @id->lock.
 * Return: the record, for rca_post() or rca_event_free(); -EDQUOT; -ENOMEM.
 */
struct rca_event *rca_id_new_event(struct rca_id *id, gfp_t gfp)
{
	/* Records that user space has read from the ring are charged until they are reaped. */
	if (rca_account_full(&id->obj.ctx->account, RDMA_CM_ALT_RESOURCE_EVENTS))
		rca_source_reap(&id->src);
	return rca_event_alloc(id->obj.ctx, gfp);
}

/**
 * rca_id_reserve_event() - allocate the record for the event that an operation will cause
 * @id: the id
 *
 * Context: Process context. May sleep.
 * Return: 0; -EDQUOT; -ENOMEM.
 */
int rca_id_reserve_event(struct rca_id *id)
{
	struct rca_event *ev;

	lockdep_assert_held(&id->op);
	ev = rca_id_new_event(id, GFP_KERNEL_ACCOUNT);
	if (IS_ERR(ev))
		return PTR_ERR(ev);
	spin_lock_irq(&id->lock);
	swap(id->reserved, ev);
	spin_unlock_irq(&id->lock);
	rca_event_free(ev);
	return 0;
}

/**
 * rca_id_reserve_answer() - allocate the record for the answer of the peer, and fill in the route
 * @id: the id; its route is resolved
 *
 * A program that executes all steps in one call learns the route from the answer.
 *
 * Context: Process context. May sleep. Expects @id->op to be held by the caller.
 * Return: 0; -EDQUOT; -ENOMEM.
 */
int rca_id_reserve_answer(struct rca_id *id)
{
	int ret;

	ret = rca_id_reserve_event(id);
	if (ret)
		return ret;
	spin_lock_irq(&id->lock);
	rca_id_fill_route_locked(id, &id->reserved->rec.route);
	id->reserved->rec.flags |= RDMA_CM_ALT_EVENT_F_ROUTE;
	spin_unlock_irq(&id->lock);
	return 0;
}

/* Frees the reserved record: the operation failed, and causes no event. Process context. */
void rca_id_unreserve_event(struct rca_id *id)
{
	struct rca_event *ev = NULL;

	spin_lock_irq(&id->lock);
	swap(id->reserved, ev);
	spin_unlock_irq(&id->lock);
	rca_event_free(ev);
}

/**
 * rca_id_event() - get the reserved record, or allocate one
 * @id: the id
 *
 * Context: Process context. May sleep. Charges the memory cgroup of the id.
 * Return: the record, or NULL: the event must be posted without a record.
 */
struct rca_event *rca_id_event(struct rca_id *id)
{
	struct mem_cgroup *old_memcg;
	struct rca_event *ev = NULL;

	spin_lock_irq(&id->lock);
	swap(id->reserved, ev);
	spin_unlock_irq(&id->lock);
	if (!ev) {
		old_memcg = set_active_memcg(id->obj.ctx->memcg);
		ev = rca_id_new_event(id, RCA_GFP_CALLBACK);
		set_active_memcg(old_memcg);
	}
	return IS_ERR(ev) ? NULL : ev;
}

/**
 * rca_id_post_locked() - post an event of an id
 * @id: the id
 * @ev: record, which passes to the queue; NULL: post the event as a notice
 * @type: type of the event
 * @status: status of the event; user space gets rca_user_errno() of it
 *
 * Context: Any context.
 */
void rca_id_post_locked(struct rca_id *id, struct rca_event *ev, u32 type, int status)
{
	lockdep_assert_held(&id->lock);
	status = rca_user_errno(status);
	rca_id_report_event_locked(id, type, status, &id->dst, id);
	if (ev) {
		ev->rec.type = type;
		ev->rec.status = status;
		rca_post(&id->src, ev);
		return;
	}
	rca_post_notice(&id->src, type, status);
}

/**
 * rca_id_step_post_locked() - apply an input to the state machine of an id, and post its event
 * @id: the id
 * @input: the input
 * @ev: record for the event, or NULL: see rca_id_post_locked(); set to NULL if it was posted
 * @status: status of the event
 *
 * Context: Any context. Expects @id->lock to be held by the caller.
 * Return: the step that was taken.
 */
struct rca_step rca_id_step_post_locked(struct rca_id *id, enum rca_input input,
					struct rca_event **ev, int status)
{
	struct rca_step step = rca_id_step_locked(id, input);

	if (step.verdict != RCA_TAKE || step.post == RCA_NO_EVENT ||
	    (id->quiet && step.post == RDMA_CM_ALT_EVENT_ESTABLISHED))
		return step;
	rca_id_post_locked(id, *ev, step.post, status);
	*ev = NULL;
	return step;
}

/*
 * rca_id_step_post_locked() that takes rca_id.lock, and frees a record that was not posted. Process
 * context.
 */
struct rca_step rca_id_step_post(struct rca_id *id, enum rca_input input, struct rca_event *ev,
				 int status)
{
	struct rca_step step;

	spin_lock_irq(&id->lock);
	step = rca_id_step_post_locked(id, input, &ev, status);
	spin_unlock_irq(&id->lock);
	rca_event_free(ev);
	return step;
}

/**
 * rca_id_step_post_reserved() - rca_id_step_post() with the reserved record or a new one
 * @id: the id
 * @input: the input
 * @status: status of the event
 *
 * If the step posts no event, the reserved record stays reserved: the answer of the peer, which
 * needs it, may still come.
 *
 * Context: Process context. May sleep. Charges the memory cgroup of the id.
 * Return: the step that was taken.
 */
struct rca_step rca_id_step_post_reserved(struct rca_id *id, enum rca_input input, int status)
{
	struct rca_event *ev = READ_ONCE(id->reserved) ? NULL : rca_id_event(id);
	struct rca_step step;

	spin_lock_irq(&id->lock);
	step = rca_id_step_post_locked(id, input, ev ? &ev : &id->reserved, status);
	spin_unlock_irq(&id->lock);
	rca_event_free(ev);
	return step;
}

/*
 * Post an event about a change of the network: RDMA_CM_ALT_EVENT_ADDR_CHANGE, or
 * RDMA_CM_ALT_EVENT_UNREACHABLE, whose status is -ETIMEDOUT. An event that is already waiting to be
 * read is neither posted nor reported again.
 */
void rca_id_post_net_locked(struct rca_id *id, u32 type)
{
	int status = type == RDMA_CM_ALT_EVENT_UNREACHABLE ? -ETIMEDOUT : 0;

	lockdep_assert_held(&id->lock);
	if (rca_post_notice(&id->src, type, status))
		rca_id_report_event_locked(id, type, status, &id->dst, id);
}

/**
 * rca_id_post_user() - post a user event
 * @id: the id, in any state
 * @type: type of the event, from the range of user events
 * @status: status of the event; not interpreted by the module
 * @arg: argument of the event
 *
 * Context: Process context. May sleep. Takes and releases @id->lock.
 * Return: 0; -ENOBUFS if RCA_MAX_USER_EVENTS of the id are already waiting; -EDQUOT; -ENOMEM.
 */
int rca_id_post_user(struct rca_id *id, u32 type, int status, u64 arg)
{
	struct rca_opts *opts = rca_id_need_opts(id, GFP_KERNEL_ACCOUNT);
	struct rca_event *ev = NULL;
	int ret = -ENOBUFS;

	if (!opts)
		return -ENOMEM;
	if (atomic_inc_return(&opts->user_events) > RCA_MAX_USER_EVENTS)
		rca_source_reap(&id->src);	/* some may have been read from the ring */
	if (atomic_read(&opts->user_events) <= RCA_MAX_USER_EVENTS) {
		ev = rca_id_new_event(id, GFP_KERNEL_ACCOUNT);
		ret = PTR_ERR_OR_ZERO(ev);
	}
	if (ret) {
		atomic_dec(&opts->user_events);
		return ret;
	}
	ev->credit = &opts->user_events;
	ev->rec.type = type;
	ev->rec.status = status;
	ev->rec.user_status = status;
	ev->rec.user_arg = arg;
	spin_lock_irq(&id->lock);
	rca_id_report_event_locked(id, type, status, &id->dst, id);
	rca_post(&id->src, ev);
	spin_unlock_irq(&id->lock);
	return 0;
}
RCA_EXPORT(rca_id_post_user);

/**
 * rca_event_set_conn() - copy the parameters of the peer into a record, as seen by the receiver
 * @ev: the record
 * @conn: the parameters, as seen by the sender
 *
 * The depths are swapped: the responder resources of the peer limit the requests that we may have
 * outstanding (IBTA volume 1, 12.7.29 and 12.7.30).
 *
 * Context: Any context.
 */
void rca_event_set_conn(struct rca_event *ev, const struct rca_tp_conn *conn)
{
	struct rdma_cm_alt_event *rec = &ev->rec;

	rec->flags |= RDMA_CM_ALT_EVENT_F_CONN | RDMA_CM_ALT_EVENT_F_ECE;
	rec->qp_num = conn->qp_num;
	rec->responder_resources = conn->initiator_depth;
	rec->initiator_depth = conn->responder_resources;
	rec->flow_control = conn->flow_control;
	rec->retry_count = conn->retry_count;
	rec->rnr_retry_count = conn->rnr_retry_count;
	rec->srq = conn->srq;
	rec->ece_vendor_id = conn->ece_vendor_id;
	rec->ece_attr_mod = conn->ece_attr_mod;
	rec->private_data_len = conn->private_data_len;
	memcpy(rec->private_data, conn->private_data, conn->private_data_len);
}

/**
 * rca_event_set_ud() - copy the datagram parameters of the peer into a record
 * @ev: the record; its address handle attributes are kept
 * @conn: number and queue key of the peer's QP, or 0 if not given; private data
 *
 * Context: Any context.
 */
void rca_event_set_ud(struct rca_event *ev, const struct rca_tp_conn *conn)
{
	struct rdma_cm_alt_event *rec = &ev->rec;

	rec->flags |= RDMA_CM_ALT_EVENT_F_UD;
	rec->qp_num = conn->qp_num;
	rec->qkey = conn->qkey;
	rec->private_data_len = conn->private_data_len;
	memcpy(rec->private_data, conn->private_data, conn->private_data_len);
}
