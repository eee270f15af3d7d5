// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Retransmission of connection requests, and their deadline.
 *
 * A peer that still has a connection with a QP of the same number, because this host was restarted
 * or a DREQ was lost, rejects the REQ as stale and sends a DREQ for the old connection (IBTA volume
 * 1, 12.9.8.3.1). ib_cm answers that DREQ, the peer drops the old connection, and the next REQ
 * succeeds. The program is therefore not told of the reject.
 *
 * ib_cm retransmits an unanswered REQ a number of times, which is one retry interval; see timing.c.
 * The next retry interval has twice the timeout. It uses the same cm_id: a peer that did receive
 * the earlier REQ would regard a REQ of another cm_id as stale. If the path was a cached one, the
 * subnet administrator is asked for another one before.
 *
 * A peer retransmits its REP by a timer and as often as the REQ said, which is not long. When a
 * program has not answered the REP for a quarter of that time, the peer is sent an MRA. It is not
 * sent earlier, because ib_cm stops retransmissions for the duration of an MRA, and the RTU that
 * follows may be lost.
 *
 * Where ib_mad limits the requests of a port, a request may have to give its place to others before
 * its interval is over; see id/pacing.c. It is withdrawn then: ib_cm stops only when its cm_id is
 * destroyed, which informs the peer, so the next REQ, with another cm_id, is not stale.
 *
 * Locking: rca_id.op to keep, send and drop a request; only rca_id.lock in callbacks.
 */
#include "cm/internal.h"

#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/overflow.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <rdma/rdma_cm_alt.h>

#include "id/id.h"
#include "lib/wire.h"
#include "transport/transport.h"

/*
 * A peer drops its stale connection after a round trip, or after some seconds if a message is lost.
 */
#define FIRST_DELAY	msecs_to_jiffies(20)
#define LONGEST_DELAY	msecs_to_jiffies(4000)

/* Longer than any interval that the program has not asked for. */
#define LONG_INTERVAL	msecs_to_jiffies(10000)

/*
 * Random delay, as a fraction of an interval, so that hosts that lost the network together do not
 * retransmit together.
 */
#define JITTER		4

/* End the request without a connection: by the last reject of the peer, or by a timeout. */
static bool end_with_event(struct rca_id *id, enum rca_input input, int status)
{
	return rca_id_step_post_reserved(id, input, status).verdict == RCA_TAKE;
}

/*
 * The request cannot be retransmitted. One that needs a trunk, and gets none after the session was
 * lost, cannot reach its peer.
 */
static void abort_retransmit(struct rca_id *id, int err)
{
	const struct rca_retry *retry = id->setup->retry;

	rca_window_end(id, false);
	if (retry->trunk_only && !id->lower)
		end_with_event(id, RCA_IN_REQ_TIMEOUT, -ETIMEDOUT);
	else if (retry->why == RCA_IN_STALE)
		end_with_event(id, RCA_IN_REJ, IB_CM_REJ_STALE_CONN);
	else
		end_with_event(id, RCA_IN_REQ_TIMEOUT, err);
}

/* After a stale reject, the cm_id is in timewait and cannot send. */
static int renew_lower(struct rca_id *id)
{
	rca_id_drop_lower(id);
	return rca_lower_create(id);
}

/* The request waits for a slot. A deadline that the program has set still applies. */
static void wait_for_slot(struct rca_id *id)
{
	struct rca_retry *retry = id->setup->retry;
	long left = retry->deadline - jiffies;

	if (!retry->waits) {
		retry->waits = true;
		retry->since = jiffies;
	}
	/* The pacer may have granted a slot meanwhile; do not postpone the work. */
	if (retry->limited)
		rca_id_queue_work_later(id, max(left, 0L));
}

/*
 * A slot was granted: the wait for it does not count as silence of the peer. If the request was
 * sent before, and the peer was silent itself while others waited for the same places, it does:
 * the request would last for ever.
 */
static void end_wait_for_slot(const struct rca_id *id, struct rca_retry *retry)
{
	if (retry->waits && !retry->limited && !(retry->sent && rca_window_silent(id)))
		retry->deadline += jiffies - retry->since;
	retry->waits = false;
}

/* A single round lasts as long as its timers say; after a withdrawal, until the deadline. */
static u32 round_ms(const struct rca_retry *retry)
{
	long left = retry->deadline - jiffies;

	if (retry->once && !(rca_places && retry->sent))
		return U32_MAX;
	return left > 0 ? jiffies_to_msecs(left) : 0;
}

/*
 * A round of a request that may be withdrawn. One that is sent in a single round, or has a long
 * interval, is given up when its first round, or interval, would have ended.
 */
static void begin_round(struct rca_retry *retry, struct rca_req_timers *timers)
{
	unsigned long interval = msecs_to_jiffies(timers->interval_ms);

	/* ib_cm does not sleep while it destroys a cm_id that allows no retransmission. */
	if (!timers->retries && !retry->once && interval > LONG_INTERVAL)
		timers->retries = 1;
	if (retry->sent)
		return;
	if (!retry->limited && time_after(jiffies + interval, retry->deadline))
		retry->deadline = jiffies + interval;
	if (retry->once)
		retry->deadline = jiffies + interval * (timers->retries + 1);
}

static void set_timers(struct rca_id *id, struct rca_tp_req *req)
{
	const struct rca_timing timing = rca_id_timing(id);
	struct rca_retry *retry = id->setup->retry;
	struct rca_req_timers timers;

	rca_timing_req(&timing, retry->lifetime, retry->intervals, rca_window_unanswered(id),
		       round_ms(retry), &timers);
	if (rca_places)
		begin_round(retry, &timers);
	req->remote_timeout = timers.remote;
	req->local_timeout = timers.local;
	req->retries = timers.retries;
	spin_lock_irq(&id->lock);
	id->repeat = rca_timing_repeat(timers.interval_ms);
	spin_unlock_irq(&id->lock);
	/* Pairs with timeout_delay(). */
	WRITE_ONCE(retry->interval, msecs_to_jiffies(timers.interval_ms));
	WRITE_ONCE(retry->sent, jiffies);
	/* Pairs with rca_retry_replied_locked(). */
	WRITE_ONCE(retry->late, msecs_to_jiffies(timers.late_ms));
}

/* Send the request that is kept with the id. */
int rca_retry_send(struct rca_id *id)
{
	struct rca_tp_req req = {
		.conn = id->setup->retry->conn,
		.path = &id->setup->path,
		.path_in = id->setup->path_in,
		.path_out = id->setup->path_out,
		.sgid_attr = id->sgid_attr,
		.service_id = rca_wire_addr_service_id(id->ps, &id->dst),
	};
	long left;

	lockdep_assert_held(&id->op);
	set_timers(id, &req);
	if (id->tp->reliable) {
		/* The time until the deadline, and that of an MRA, which a trunk does not have. */
		left = id->setup->retry->deadline - jiffies;
		req.wait_ms = jiffies_to_msecs(max(left, 0L)) + rca_timing_ms(RCA_MAX_MRA);
	}
	return id->tp->connect(id->lower, &req);
}

/* Returns true if the request has to wait for another path. */
static bool wait_for_path(struct rca_id *id)
{
	struct rca_retry *retry = id->setup->retry;
	bool post;
	int ret;

	if (id->setup->query) {
		ret = rca_path_query_continue(id, &post);
		/* Without an answer, the old path is tried again. */
		if (ret != -EINPROGRESS)
			rca_id_report_own_op(id, "renew-path", ret);
		return ret == -EINPROGRESS;
	}
	if (!retry->doubts)
		return false;
	retry->doubts = false;
	if (!rca_route_ib_renew(id))
		return false;
	if (retry->limited)
		rca_id_queue_work_later(id, max_t(long, retry->deadline - jiffies, 0));
	return true;
}

static void resend_request(struct rca_id *id)
{
	struct rca_retry *retry = id->setup->retry;
	int ret = 0;

	lockdep_assert_held(&id->op);
	if (wait_for_path(id))
		return;
	/* The new cm_id may be of a transport that needs a slot. */
	if (retry->why == RCA_IN_STALE)
		ret = renew_lower(id);
	if (!ret && !rca_window_begin(id)) {
		/* It has a new cm_id, and needs no other one. */
		spin_lock_irq(&id->lock);
		if (retry->why == RCA_IN_STALE)
			retry->why = RCA_IN_HELD;
		spin_unlock_irq(&id->lock);
		wait_for_slot(id);
		return;
	}
	end_wait_for_slot(id, retry);
	/* It was sent, and has given its place to others. */
	if (!ret && rca_places && retry->why == RCA_IN_HELD && retry->sent &&
	    time_after_eq(jiffies, retry->deadline))
		ret = -ETIMEDOUT;
	if (retry->why == RCA_IN_SILENCE)
		retry->intervals++;
	/*
	 * Destruction of the id and removal of its device wait for rca_id.op, then destroy the
	 * cm_id.
	 */
	if (!ret && rca_id_step(id, RCA_IN_RETRY).verdict == RCA_TAKE)
		ret = rca_retry_send(id);
	if (ret)
		abort_retransmit(id, ret);
	else
		rca_retry_arm(id);
}

/*
 * End a request whose deadline is over. Destroying the cm_id stops its retransmissions, and informs
 * the peer.
 */
void rca_retry_end(struct rca_id *id)
{
	lockdep_assert_held(&id->op);
	if (!end_with_event(id, RCA_IN_REQ_TIMEOUT, -ETIMEDOUT))
		return;
	rca_window_end(id, false);
	rca_id_drop_lower(id);
}

/* The program has not answered the REP for a while. */
static void send_mra(struct rca_id *id)
{
	const struct rca_timing timing = rca_id_timing(id);
	int ret = id->tp->send_mra(id->lower, rca_timing_mra(&timing));

	/* Fails if the peer has given up, or without memory for the message. */
	rca_id_report_own_op(id, "send-mra", ret);
}

/* A request has given its place to others. */
static void withdraw_req(struct rca_id *id)
{
	struct rca_retry *retry = id->setup->retry;
	int ret;

	if (rca_id_step(id, RCA_IN_HELD).verdict != RCA_TAKE)
		return;
	spin_lock_irq(&id->lock);
	retry->why = RCA_IN_HELD;
	spin_unlock_irq(&id->lock);
	rca_window_end(id, false);
	ret = renew_lower(id);
	if (ret)
		abort_retransmit(id, ret);
	else
		resend_request(id);
}

/*
 * Send a request again, give it up, or ask the peer to wait, in the state RCA_ST_REQ_SENT,
 * RCA_ST_REQ_WAIT or RCA_ST_REP_RCVD.
 */
void rca_retry_continue(struct rca_id *id)
{
	const struct rca_retry *retry = id->setup ? id->setup->retry : NULL;

	lockdep_assert_held(&id->op);
	if (!retry)
		return;
	if (rca_id_state(id) == RCA_ST_REP_RCVD)
		send_mra(id);
	else if (retry->limited && time_after_eq(jiffies, retry->deadline))
		rca_retry_end(id);
	else if (rca_id_state(id) == RCA_ST_REQ_WAIT)
		resend_request(id);
	else if (rca_places && rca_gate_yield(&id->setup->place, id->setup->slot.gate))
		withdraw_req(id);
	else
		rca_retry_arm(id);
}

/* @len: room for private data */
static struct rca_retry *alloc_retry(struct rca_id *id, size_t len)
{
	struct rca_retry *retry = kzalloc(struct_size(retry, data, len), GFP_KERNEL_ACCOUNT);
	const struct rca_timing timing = rca_id_timing(id);

	if (!retry)
		return NULL;
	retry->lifetime = id->setup->path.packet_life_time;
	retry->limited = timing.deadline_ms;
	retry->once = rca_timing_once(&timing);
	retry->deadline = jiffies +
		msecs_to_jiffies(rca_timing_total(&timing, retry->lifetime));
	retry->delay = FIRST_DELAY;
	return retry;
}

/*
 * Keep a connection request for retransmission, until rca_setup_drop_request(). The private data of
 * @conn is the user's part, RCA_WIRE_USER_MAX bytes at most. Returns 0 or -ENOMEM.
 */
int rca_retry_keep(struct rca_id *id, const struct rca_tp_conn *conn)
{
	u8 trunk = rca_id_opts(id)->trunk;
	struct rca_retry *retry;

	lockdep_assert_held(&id->op);
	retry = alloc_retry(id, RCA_WIRE_HDR_LEN + conn->private_data_len);
	if (!retry)
		return -ENOMEM;
	retry->elsewhere = trunk == RDMA_CM_ALT_TRUNK_NEVER;
	retry->trunk_only = trunk == RDMA_CM_ALT_TRUNK_REQUIRE ||
			    conn->private_data_len > rca_tp_private_max(id->dev->tp, RCA_WIRE_REQ,
									id->dst.sa.sa_family);
	retry->conn = *conn;
	retry->conn.private_data = retry->data;
	retry->conn.private_data_len = rca_wire_put_private(retry->data, &id->local, &id->dst,
							    conn->private_data,
							    conn->private_data_len);
	id->setup->retry = retry;
	return 0;
}

/*
 * Keep the private data of a request for datagrams, which ib_cm alone retransmits, until
 * rca_setup_drop_request(); but only if its deadline or its place requires that. Returns 0 or
 * -ENOMEM.
 */
int rca_retry_keep_datagram(struct rca_id *id, const struct rca_tp_conn *conn)
{
	const struct rca_timing timing = rca_id_timing(id);
	struct rca_retry *retry;

	lockdep_assert_held(&id->op);
	if (!rca_places && !timing.deadline_ms)
		return 0;
	retry = alloc_retry(id, conn->private_data_len);
	if (!retry)
		return -ENOMEM;
	retry->conn.private_data = memcpy(retry->data, conn->private_data, conn->private_data_len);
	retry->conn.private_data_len = conn->private_data_len;
	id->setup->retry = retry;
	return 0;
}

/* Arm the timer for the deadline of a request that was sent, and for the end of its place. */
void rca_retry_arm(struct rca_id *id)
{
	const struct rca_retry *retry = id->setup->retry;
	long left = LONG_MAX;

	lockdep_assert_held(&id->op);
	if (!retry)
		return;
	/* Until then it keeps its place in any case; then the work checks if others need it. */
	if (rca_places)
		left = rca_gate_hold(&id->setup->place);
	if (retry->limited)
		left = min_t(long, left, retry->deadline - jiffies);
	if (left == LONG_MAX)
		return;
	/* If it already waits for retransmission, the timer is set to an earlier time. */
	spin_lock_irq(&id->lock);
	if (id->state == RCA_ST_REQ_SENT || id->state == RCA_ST_SIDR_SENT)
		rca_id_queue_work_at(id, max(left, 0L));
	spin_unlock_irq(&id->lock);
}

/* Let a new request wait for a slot in the send window: rca_window_begin() returned false. */
void rca_retry_hold(struct rca_id *id)
{
	lockdep_assert_held(&id->op);
	id->setup->retry->why = RCA_IN_HELD;
	rca_id_step(id, RCA_IN_HELD);
	wait_for_slot(id);
}

/* Free a request that could not be sent. The id is not in the state RCA_ST_REQ_SENT any more. */
void rca_retry_drop(struct rca_id *id)
{
	lockdep_assert_held(&id->op);
	rca_window_end(id, false);
	kfree(id->setup->retry);
	id->setup->retry = NULL;
}

/* Arm the timer for an MRA when the REP has arrived. */
void rca_retry_replied_locked(struct rca_id *id)
{
	lockdep_assert_held(&id->lock);
	/* Pairs with set_timers(). The deadline of the request no longer applies. */
	if (id->setup && id->setup->retry)
		rca_id_queue_work_at(id, READ_ONCE(id->setup->retry->late));
}

/*
 * Returns the delay after an unanswered retry interval in jiffies; -1 if the request is not to be
 * retransmitted. A failure before the end of the interval is not a timeout, and would repeat.
 */
static long timeout_delay(const struct rca_retry *retry)
{
	/* Pairs with set_timers(). */
	unsigned long interval = READ_ONCE(retry->interval);
	unsigned long most = interval / JITTER;
	long left = retry->deadline - jiffies;

	if (retry->once || time_before(jiffies + 1, READ_ONCE(retry->sent) + interval))
		return -1;
	/* While time is left, begin another interval. */
	if (retry->limited)
		most = min_t(unsigned long, most, max(left, 0L) / 2);
	return 1 + reciprocal_scale(get_random_u32(), most + 1);
}

static enum rca_input retry_reason(const struct rca_tp_event *event)
{
	switch (event->input) {
	case RCA_IN_REJ:
		return event->status == IB_CM_REJ_STALE_CONN || event->elsewhere ?
		       RCA_IN_STALE : RCA_IN_COUNT;
	case RCA_IN_REQ_TIMEOUT:
		return RCA_IN_SILENCE;
	case RCA_IN_HELD:
		return RCA_IN_HELD;
	default:
		return RCA_IN_COUNT;
	}
}

/*
 * Decide whether the request is retransmitted after a CM event. If so, the program is not told of
 * the event.
 */
bool rca_retry_again(struct rca_id *id, const struct rca_tp_event *event)
{
	enum rca_input why = retry_reason(event);
	struct rca_retry *retry;
	unsigned long flags;
	bool retransmit = false;
	long delay, left;

	if (why == RCA_IN_COUNT)
		return false;
	spin_lock_irqsave(&id->lock, flags);
	/* It waits to be sent again, and needs another cm_id for that. */
	if (id->state == RCA_ST_REQ_WAIT && why == RCA_IN_STALE && id->setup->retry) {
		id->setup->retry->why = why;
		retransmit = true;
	}
	if (id->state != RCA_ST_REQ_SENT || !id->setup->retry)
		goto out_unlock;
	retry = id->setup->retry;	/* neither is freed in this state */
	/* It cannot go elsewhere: the answer counts. */
	if (event->elsewhere && retry->trunk_only)
		goto out_unlock;
	delay = why == RCA_IN_SILENCE ? timeout_delay(retry) : retry->delay;
	if (event->elsewhere) {
		retry->elsewhere = true;
		delay = 0;
	}
	left = retry->deadline - jiffies;
	if (delay < 0 || left <= 0)
		goto out_unlock;
	if (delay >= left) {
		/* With a deadline set by the program, report the timeout at the deadline. */
		if (why != RCA_IN_SILENCE || !retry->limited)
			goto out_unlock;
		delay = left;
	}
	rca_id_step_locked(id, why);
	retry->why = why;
	retry->doubts = why == RCA_IN_SILENCE;
	/* Under the lock, so that a thread that ends the id later cancels the work. */
	rca_id_queue_work_at(id, delay);
	if (why != RCA_IN_SILENCE && delay)
		retry->delay = min(2 * retry->delay, LONGEST_DELAY);
	retransmit = true;
out_unlock:
	spin_unlock_irqrestore(&id->lock, flags);
	return retransmit;
}
