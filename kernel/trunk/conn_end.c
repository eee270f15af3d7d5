// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What ends connections over a trunk without a message of the peer: their timers, and the loss of
 * the session.
 *
 * Locking: rca_trunk.lock, which is not held while an owner is called.
 */
#include "trunk/conn.h"

#include <linux/errno.h>
#include <linux/jiffies.h>
#include <rdma/ib_cm.h>

#include "trunk/trunk.h"

/* What the owner is told when the timer of its connection has run out. */
static void set_timeout(struct rca_trunk_conn *conn, struct rca_tp_event *event)
{
	switch (conn->state) {
	case RCA_CONN_REP_SENT:
		event->input = RCA_IN_REP_TIMEOUT;
		event->status = -ETIMEDOUT;
		break;
	case RCA_CONN_TIMEWAIT:
		conn->state = RCA_CONN_CLOSED;
		event->input = RCA_IN_TIMEWAIT_EXIT;
		break;
	case RCA_CONN_DREQ_SENT:
		rca_conn_enter_timewait(conn);
		event->input = RCA_IN_DREQ_TIMEOUT;
		event->status = -ETIMEDOUT;
		break;
	default:
		rca_conn_give_up(conn);
		event->input = RCA_IN_REQ_TIMEOUT;
		event->status = -ETIMEDOUT;
		break;
	}
}

/* What the owner is told when the session was lost: the peer does not have the connection. */
static void set_loss(struct rca_trunk_conn *conn, struct rca_tp_event *event)
{
	rca_conn_withdraw(conn);
	if (conn->state == RCA_CONN_UP || conn->state == RCA_CONN_DREQ_SENT) {
		rca_conn_enter_timewait(conn);
		event->input = RCA_IN_DREQ_TIMEOUT;
		/* The message about the session may have come before that about the connection. */
		event->status = conn->trunk->peer_ended ? 0 : -ETIMEDOUT;
	} else {
		/* A request is then repeated, and goes another way. */
		rca_conn_stop_timer(conn);
		conn->state = RCA_CONN_CLOSED;
		event->input = RCA_IN_REJ;
		event->status = IB_CM_REJ_STALE_CONN;
	}
}

/* Tells the owner of an event. The lock of the trunk is released meanwhile. */
static void tell(struct rca_trunk_conn *conn, const struct rca_tp_event *event)
{
	struct rca_trunk *trunk = conn->trunk;

	spin_unlock(&trunk->lock);
	rca_conn_call_back(conn, event);
	spin_lock(&trunk->lock);
	rca_conn_callback_done(conn);
}

/* Returns true if an owner was told. Sets @next to the time of the next timer, 0: there is none. */
static bool end_first(struct rca_trunk *trunk, u64 *next)
{
	struct rca_tp_event event = {};
	struct rca_trunk_conn *conn;
	struct timerqueue_node *node;

	lockdep_assert_held(&trunk->lock);
	node = timerqueue_getnext(&trunk->timers);
	*next = node ? node->expires : 0;
	if (!node || time_after64(*next, get_jiffies_64()))
		return false;
	conn = container_of(node, struct rca_trunk_conn, timer);
	rca_conn_stop_timer(conn);
	conn->callbacks++;
	if (!rca_conn_has_session(conn) && conn->state != RCA_CONN_TIMEWAIT)
		set_loss(conn, &event);
	else
		set_timeout(conn, &event);
	tell(conn, &event);
	return true;
}

/* Work of &rca_trunk.timer. */
void rca_conn_timer_work(struct work_struct *work)
{
	struct rca_trunk *trunk = container_of(to_delayed_work(work), struct rca_trunk, timer);
	u64 next;

	spin_lock(&trunk->lock);
	trunk->timer_at = 0;
	while (end_first(trunk, &next))
		;
	if (next)
		rca_conn_wake_at(trunk, next);
	spin_unlock(&trunk->lock);
	rca_trunk_put(trunk);	/* got in rca_conn_wake_at() */
}

/* Drops what waits to be sent. */
static void drop_waiting(struct rca_trunk *trunk)
{
	struct rca_trunk_conn *conn;

	lockdep_assert_held(&trunk->lock);
	while (!list_empty(&trunk->waiting)) {
		conn = list_first_entry(&trunk->waiting, struct rca_trunk_conn, waiting);
		list_del_init(&conn->waiting);
		rca_conn_withdraw(conn);
		rca_conn_put_locked(conn);	/* got in rca_conn_send() */
	}
}

/* Tells the owner that the session was lost. The lock of the trunk is released meanwhile. */
static void lose(struct rca_trunk_conn *conn)
{
	struct rca_tp_event event = {};

	conn->callbacks++;
	set_loss(conn, &event);
	tell(conn, &event);
}

static bool is_request(const struct rca_trunk_conn *conn)
{
	return !conn->is_answer && conn->to_send & BIT(RCA_RECORD_REQ);
}

/**
 * rca_conn_not_linked() - requests that wait for a link, which could not be opened, go another way
 * @trunk: the trunk, which has no link; the caller has a reference
 *
 * Context: Process context. May sleep. From the work of @trunk, the only one that reads the list
 * while there is no link.
 */
void rca_conn_not_linked(struct rca_trunk *trunk)
{
	struct rca_trunk_conn *conn;
	LIST_HEAD(kept);

	spin_lock(&trunk->lock);
	while (!list_empty(&trunk->waiting)) {
		conn = list_first_entry(&trunk->waiting, struct rca_trunk_conn, waiting);
		/* What stays is passed once, however many requests come after it. */
		if (is_request(conn))
			lose(conn);
		else
			list_move_tail(&conn->waiting, &kept);
	}
	list_splice(&kept, &trunk->waiting);
	spin_unlock(&trunk->lock);
}

static bool is_lost(const struct rca_trunk_conn *conn)
{
	return conn->state != RCA_CONN_NEW && conn->state < RCA_CONN_TIMEWAIT;
}

/**
 * rca_conn_lost() - end all connections of a session that is lost
 * @trunk: the trunk, which has no session now; the caller has a reference
 *
 * Context: Process context. May sleep.
 */
void rca_conn_lost(struct rca_trunk *trunk)
{
	struct rca_trunk_conn *conn;
	unsigned long number = 0;

	spin_lock(&trunk->lock);
	drop_waiting(trunk);
	while ((conn = xa_find(&trunk->conns, &number, ULONG_MAX, XA_PRESENT))) {
		number++;
		rca_conn_forget(conn);
		/* One that is being created hears of it when it sends its request. */
		if (is_lost(conn))
			lose(conn);
	}
	spin_unlock(&trunk->lock);
}
