// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Handling of CM events: messages of the peer, and timeouts of messages that it did not answer.
 *
 * Locking: only rca_id.lock.
 */
#include "cm/internal.h"

#include <linux/rcupdate.h>
#include <rdma/ib_cm.h>

#include "id/id.h"
#include "transport/transport.h"

/*
 * Does the event contain more than a status, or may another of its type wait to be read? The record
 * of a request may have the route.
 */
static bool needs_record(const struct rca_tp_event *event)
{
	return event->has_conn || event->input == RCA_IN_REQ_TIMEOUT ||
	       event->input == RCA_IN_REP_TIMEOUT;
}

/* Is it a message of the peer? The report of a timeout may come late. */
static bool is_message(enum rca_input input)
{
	return input == RCA_IN_REP || input == RCA_IN_REJ || input == RCA_IN_DREQ ||
	       input == RCA_IN_DREP;
}

/* Has ib_cm stopped retransmitting, because the peer did not answer? */
static bool is_timeout(enum rca_input input)
{
	return input == RCA_IN_REQ_TIMEOUT || input == RCA_IN_DREQ_TIMEOUT;
}

/* The peer has no room for the request, and no time is left to repeat it. */
static const struct rca_tp_event held_too_long = {
	.input = RCA_IN_REQ_TIMEOUT,
	.status = -ETIMEDOUT,
};

/* What the peer would have sent if it had found a stale connection. */
static const struct rca_tp_event stale_event = {
	.input = RCA_IN_REJ,
	.status = IB_CM_REJ_STALE_CONN,
	.has_conn = true,
};

static u8 handle_conn_event(struct rca_id *id, void *lower, const struct rca_tp_event *event)
{
	/* While QPs are compared, a reply that the id waits for claims the QP of the peer. */
	bool claims = event->input == RCA_IN_REP && rca_trunks_used() &&
		      rca_id_state(id) == RCA_ST_REQ_SENT;
	struct rca_event *ev = NULL;
	struct rca_step step;
	bool again;

	if (is_message(event->input))
		rca_window_end(id, true);
	else if (rca_places && event->input == RCA_IN_REQ_TIMEOUT)
		rca_window_end(id, false);	/* ib_mad has ended the request */
	if (claims && !rca_peer_qp_claim(id, event->ca_guid, event->conn.qp_num)) {
		id->tp->reject(lower, IB_CM_REJ_STALE_CONN, NULL, 0);
		event = &stale_event;
	}
	if (rca_retry_again(id, event))
		return 0;
	if (event->input == RCA_IN_HELD)
		event = &held_too_long;
	if (needs_record(event)) {
		ev = rca_id_event(id);
		if (ev && event->has_conn)
			rca_event_set_conn(ev, &event->conn);
		if (ev && event->input == RCA_IN_REP &&
		    rca_qp_attr_fill(id, lower, &ev->rec.qp))
			ev->rec.flags |= RDMA_CM_ALT_EVENT_F_QP;
	}

	spin_lock_irq(&id->lock);
	if (id->state == RCA_ST_REQ_RCVD &&
	    (event->input == RCA_IN_REJ || event->input == RCA_IN_DREQ))
		WRITE_ONCE(id->peer_gone, true);	/* pairs with refusal_errno() */
	step = rca_id_step_post_locked(id, event->input, &ev, event->status);
	if (step.verdict == RCA_TAKE && step.next == RCA_ST_REP_RCVD)
		rca_retry_replied_locked(id);
	/* Pairs with rca_id_send_dreq(). */
	again = event->input == RCA_IN_RTU && id->setup && READ_ONCE(id->setup->unsent);
	if ((step.action & RCA_ACT_FINISH) && id->setup)
		WRITE_ONCE(id->setup->unsent, false);
	spin_unlock_irq(&id->lock);
	rca_event_free(ev);
	/* The id has been ended, or sends its request again. */
	if (claims && step.verdict != RCA_TAKE)
		rca_peer_qp_release(id);
	if (event->rtu_data && step.verdict == RCA_TAKE)
		rca_hello_read(id, event);
	/*
	 * The state has changed, so the message is not sent again, and no longer counts as
	 * unanswered.
	 */
	if (step.verdict == RCA_TAKE && is_timeout(event->input))
		rca_window_end(id, false);

	/* In the state closed, the transport answers late messages without the cm_id. */
	if (again || (step.action & RCA_ACT_FINISH) ||
	    (step.verdict == RCA_TAKE && step.next == RCA_ST_CLOSED))
		rca_id_queue_work(id);
	return step.action;
}

/**
 * rca_cm_event() - handle a CM event of an id
 * @owner: the id
 * @lower: its cm_id
 * @event: message of the peer, or timeout
 *
 * Context: Process context, callback of a transport. May sleep. Takes and releases the state lock
 * of @owner.
 * Return: what the transport must do (enum rca_action).
 */
u8 rca_cm_event(void *owner, void *lower, const struct rca_tp_event *event)
{
	struct rca_id *id = owner;
	u8 action = 0;
	bool alive;

	/*
	 * ib_cm reports a timeout after it has put its reference of the cm_id: destroy() does not
	 * wait for that callback, and the owner may be being freed.
	 */
	rcu_read_lock();
	alive = rca_obj_tryget(&id->obj);
	rcu_read_unlock();
	if (!alive)
		return 0;
	/* A late report about a cm_id that was replaced, or for the id that had this memory. */
	if (READ_ONCE(id->lower) != lower)
		goto out_put;
	if (id->qp_type == IB_QPT_UD)
		rca_sidr_event(id, event);
	else
		action = handle_conn_event(id, lower, event);
out_put:
	rca_id_put(id);		/* got above */
	return action;
}
