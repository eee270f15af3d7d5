// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The work item of an id: operations that callbacks may not do, and timeouts. There is one work
 * item per id, because an id waits for one thing at a time, which follows from its state. And
 * disconnecting, most of which is done by the work.
 *
 * Locking: the work runs with rca_id.op held.
 */
#include "cm/internal.h"

#include <linux/jiffies.h>
#include <linux/memcontrol.h>
#include <linux/sched/mm.h>

#include "transport/transport.h"

/* Timewait after an unanswered DREQ: longer than any packet to the QP can be delayed. */
#define TIMEWAIT	msecs_to_jiffies(1000)

/*
 * Send a DREQ. If the peer's RTU has not arrived yet, the DREQ has to wait for it; the work of the
 * id is queued when it arrives. Returns 0 if the DREP has to be waited for, 1 if not, or a negative
 * errno if the DREQ could not be sent.
 */
int rca_id_send_dreq(struct rca_id *id)
{
	int ret;

	lockdep_assert_held(&id->op);
	/* Set before the result is known: the RTU may arrive at any time. */
	if (id->setup)
		WRITE_ONCE(id->setup->unsent, true);	/* pairs with handle_conn_event() */
	ret = id->tp->disconnect(id->lower);
	if (id->setup && ret == -EAGAIN)
		return 0;
	if (id->setup)
		WRITE_ONCE(id->setup->unsent, false);
	return ret;
}

static void send_disconnect(struct rca_id *id)
{
	int ret = rca_id_send_dreq(id);

	if (!ret)
		return;
	/* If the DREQ could not be sent, the local end is disconnected nevertheless. */
	rca_window_end(id, false);
	rca_id_step_post(id, ret > 0 ? RCA_IN_DREP : RCA_IN_DISCONNECT_FAIL, NULL, 0);
}

/* How long an id that is destroyed waits for the DREP of its peer, in jiffies. */
unsigned long rca_id_linger(const struct rca_id *id)
{
	const struct rca_timing timing = rca_id_timing(id);

	return msecs_to_jiffies(rca_timing_linger(&timing, id->repeat));
}

/* Send a DREQ as soon as the send window has room. */
static void start_disconnect(struct rca_id *id)
{
	const struct rca_timing timing = rca_id_timing(id);
	unsigned long timeout = msecs_to_jiffies(rca_timing_drep_timeout(&timing, id->repeat));

	lockdep_assert_held(&id->op);
	/* TCP has timeouts of its own. */
	if (id->dev->tp->over_tcp) {
		send_disconnect(id);
		return;
	}
	rca_id_cancel_work(id);	/* the deadline of the connect no longer applies */
	/* Over a trunk there is mostly nothing to wait for. */
	if (id->tp->reliable) {
		send_disconnect(id);
		if (rca_id_state(id) != RCA_ST_DREQ_SENT)
			return;
	}
	/* Without memory to wait, send at once; ib_cm's own timeout then applies. */
	if (!rca_id_need_setup(id)) {
		if (!id->tp->reliable)
			send_disconnect(id);
		return;
	}
	id->setup->drep_deadline = jiffies + timeout;
	if (!id->tp->reliable && rca_window_begin(id))
		send_disconnect(id);
	/* The pacer may have granted a slot meanwhile; do not postpone the work. */
	rca_id_queue_work_later(id, timeout);
}

/**
 * rca_disconnect() - end a connection
 * @id: the id
 *
 * Context: Process context. Sleeps. Takes and releases @id->op.
 * Return: 0; -EINVAL the id was never connected; -ENXIO.
 */
int rca_disconnect(struct rca_id *id)
{
	struct rca_step step;
	int ret;

	mutex_lock(&id->op);
	step = rca_id_step(id, RCA_IN_DISCONNECT);
	ret = step.err;
	if (step.verdict == RCA_TAKE)
		start_disconnect(id);
	rca_id_report_op(id, "disconnect", ret);
	mutex_unlock(&id->op);
	return ret;
}
RCA_EXPORT(rca_disconnect);

/* Destroy the cm_id of a connection that has ended. The timewait, if any, is still to come. */
static void drop_ended(struct rca_id *id)
{
	rca_window_end(id, false);
	rca_id_drop_lower(id);
	rca_id_cancel_work(id);	/* a slot may just have been granted; nothing is left to send */
}

/*
 * The peer has lost the connection: see peer_qp.c. The transport does not know that, and informs
 * the peer when the cm_id is destroyed.
 */
static void end_stale(struct rca_id *id)
{
	WRITE_ONCE(id->peer_qp.stale, false);
	drop_ended(id);
	if (rca_id_state(id) != RCA_ST_DISCONNECTED)
		return;
	/* Without memory to wait, report the end of the timewait at once. */
	if (rca_id_need_setup(id))
		rca_id_queue_work_at(id, TIMEWAIT);
	else
		rca_id_step_post(id, RCA_IN_TIMEWAIT_EXIT, NULL, 0);
}

/*
 * May a DREQ that had to wait be sent now? It waits for a slot of the send window, which the id has
 * if this returns true, or for the RTU of the peer. Until the RTU, each attempt to send the DREQ is
 * harmless.
 */
bool rca_id_dreq_is_due(struct rca_id *id)
{
	lockdep_assert_held(&id->op);
	return id->setup->unsent || (rca_window_granted(id) && rca_window_begin(id));
}

static void continue_disconnect(struct rca_id *id)
{
	long left;

	if (!id->setup)
		return;
	left = id->setup->drep_deadline - jiffies;
	if (rca_id_dreq_is_due(id))
		send_disconnect(id);
	if (left > 0) {
		rca_id_queue_work_later(id, left);
		return;
	}
	/*
	 * The peer does not answer our DREQ. ib_cm would go on retransmitting it, so destroy the
	 * cm_id, and wait for the timewait here.
	 */
	if (rca_id_step_post(id, RCA_IN_DREQ_TIMEOUT, NULL, 0).verdict != RCA_TAKE)
		return;
	drop_ended(id);
	rca_id_queue_work_at(id, TIMEWAIT);
}

/* Send the DREQ of an id being destroyed. Returns true if its DREP has to be waited for. */
static bool continue_destroy(struct rca_id *id)
{
	if (!id->lower || !id->setup)
		return false;
	/* The RTU has not come in time. */
	if (id->setup->unsent && time_after_eq(jiffies, id->setup->drep_deadline))
		return false;
	if (!rca_id_dreq_is_due(id) || rca_id_send_dreq(id))
		return false;
	rca_id_queue_work_later(id, rca_id_linger(id));
	return true;
}

static void id_work(struct work_struct *work)
{
	struct rca_id *id = container_of(work, struct rca_id, work);
	struct mem_cgroup *old_memcg;

	/* Charge the memory cgroup of the program: a kernel thread has none. */
	old_memcg = set_active_memcg(id->obj.ctx->memcg);
	mutex_lock(&id->op);
	switch (rca_id_state(id)) {
	case RCA_ST_ADDR_QUERY:
	case RCA_ST_ROUTE_QUERY:
		rca_resolve_continue(id);
		rca_connect_continue(id);
		break;
	case RCA_ST_REQ_SENT:
	case RCA_ST_REQ_WAIT:
	case RCA_ST_REP_RCVD:
		rca_retry_continue(id);
		break;
	case RCA_ST_SIDR_SENT:
		rca_sidr_continue(id);
		break;
	case RCA_ST_DREQ_SENT:
		continue_disconnect(id);
		break;
	case RCA_ST_FAILED:
		rca_path_query_cancel(id);	/* its request has ended meanwhile */
		if (READ_ONCE(id->peer_qp.stale))
			end_stale(id);
		break;
	case RCA_ST_DISCONNECTED:
		if (READ_ONCE(id->peer_qp.stale))
			end_stale(id);
		else if (!id->lower)
			rca_id_step_post(id, RCA_IN_TIMEWAIT_EXIT, NULL, 0);
		break;
	case RCA_ST_CLOSED:
	case RCA_ST_SIDR_DONE:
		rca_id_drop_lower(id);
		break;
	case RCA_ST_DESTROYING:
		if (continue_destroy(id))
			break;
		rca_resolve_cancel(id);
		rca_id_drop_lower(id);
		rca_id_detach(id);
		rca_id_cancel_work(id);
		break;
	default:
		break;
	}
	mutex_unlock(&id->op);
	set_active_memcg(old_memcg);
	rca_id_put(id);		/* got in rca_id_queue_work() */
}

/* Module init: ids can be created. Returns 0 or -ENOMEM. */
int rca_ids_init(void)
{
	return rca_id_cache_init(id_work);
}
