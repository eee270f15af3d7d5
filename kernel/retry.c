// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Connection requests that are sent again. A peer that still has a connection with
 * a QP of this number, because this host was started again or a disconnect request
 * got lost, rejects our request as stale and asks us to disconnect the old one
 * (IBTA volume 1, 12.9.8.3.1). That is answered by ib_cm, the peer forgets, and the
 * next request is as good as any: so the application need not know.
 *
 * Locking: rca_id.op to keep, send and drop a request; rca_id.lock alone in
 * callbacks.
 */
#include "retry.h"

#include <linux/jiffies.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "devices.h"

/* The peer needs a round trip to forget, and some seconds when a message is lost. */
#define FIRST_DELAY	msecs_to_jiffies(20)
#define LONGEST_DELAY	msecs_to_jiffies(4000)

/* Sixteen requests with the usual timers over RoCE: when one without an answer gives up. */
#define PATIENCE	msecs_to_jiffies(77000)

/* There is no memory to ask again, or no way: the last answer of the peer is the result. */
static void give_up(struct rca_id *id)
{
	struct rca_event *ev = rca_id_event(id);
	struct rca_step step;
	unsigned long flags;

	spin_lock_irqsave(&id->lock, flags);
	step = rca_id_step_locked(id, RCA_IN_REJ);
	if (step.verdict == RCA_TAKE) {
		rca_id_post_locked(id, ev, step.post, IB_CM_REJ_STALE_CONN);
		ev = NULL;
	}
	spin_unlock_irqrestore(&id->lock, flags);
	rca_event_free(ev);
}

/* The old lower id is in timewait, and cannot send any more. */
static void send_again(struct rca_id *id)
{
	struct rca_retry *retry = id->retry;
	void *lower;

	lockdep_assert_held(&id->op);
	rca_id_drop_lower(id);
	lower = id->dev->tp->create(id->dev->ibdev, id);
	if (IS_ERR(lower)) {
		give_up(id);
		return;
	}
	id->lower = lower;
	/* Who destroys the id, or removes its device, waits for us and takes the lower id then. */
	if (rca_id_step(id, RCA_IN_RETRY).verdict == RCA_TAKE && retry->send(id, &retry->conn))
		give_up(id);
}

/**
 * rca_retry_keep() - keep a connection request as long as it may have to be sent again
 * @id: the id; rca_id_drop_path() frees the request
 * @conn: its parameters; private data is the user's part, which fits a request
 * @send: sends it; called with @id->op held
 *
 * Context: Process context. May sleep. Expects @id->op to be held by the caller.
 * Return: 0; -EINVAL more private data than that; -ENOMEM.
 */
int rca_retry_keep(struct rca_id *id, const struct rca_tp_conn *conn,
		   int (*send)(struct rca_id *id, const struct rca_tp_conn *conn))
{
	struct rca_retry *retry;

	lockdep_assert_held(&id->op);
	if (conn->private_data_len > sizeof(retry->data))
		return -EINVAL;
	retry = kzalloc(sizeof(*retry), GFP_KERNEL_ACCOUNT);
	if (!retry)
		return -ENOMEM;
	retry->again = send_again;
	retry->send = send;
	retry->conn = *conn;
	retry->conn.private_data = retry->data;
	if (conn->private_data_len)
		memcpy(retry->data, conn->private_data, conn->private_data_len);
	retry->deadline = jiffies + PATIENCE;
	retry->delay = FIRST_DELAY;
	id->retry = retry;
	return 0;
}

/**
 * rca_retry_drop() - the request was not sent
 * @id: the id; not in the state RCA_ST_REQ_SENT
 *
 * Context: Process context. Expects @id->op to be held by the caller.
 */
void rca_retry_drop(struct rca_id *id)
{
	lockdep_assert_held(&id->op);
	kfree(id->retry);
	id->retry = NULL;
}

/**
 * rca_retry_stale() - is this a reject after which the request is sent again?
 * @id: the id
 * @event: what came for it
 *
 * Context: Any context. Takes and releases @id->lock.
 * Return: true: the request will be sent again, nobody needs to know of @event.
 */
bool rca_retry_stale(struct rca_id *id, const struct rca_tp_event *event)
{
	struct rca_retry *retry;
	unsigned long flags;
	bool again = false;

	if (event->input != RCA_IN_REJ || event->status != IB_CM_REJ_STALE_CONN)
		return false;
	spin_lock_irqsave(&id->lock, flags);
	retry = id->retry;	/* in this state it stays */
	if (id->state == RCA_ST_REQ_SENT && retry &&
	    time_before(jiffies + retry->delay, retry->deadline)) {
		rca_id_step_locked(id, RCA_IN_STALE);
		/* Under the lock: who ends the id comes later, and stops the work. */
		rca_id_kick_later(id, retry->delay);
		retry->delay = min(2 * retry->delay, LONGEST_DELAY);
		again = true;
	}
	spin_unlock_irqrestore(&id->lock, flags);
	return again;
}
