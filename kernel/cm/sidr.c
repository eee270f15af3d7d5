// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Connect, accept and reject of datagram ids. Instead of a connection there is service ID
 * resolution (SIDR, IBTA volume 1, 12.11): the client asks for the QP behind a port, and the server
 * answers with QP number and queue key, or refuses.
 *
 * Locking: as in connect.c: rca_id.op during each operation, only rca_id.lock in callbacks. An
 * operation changes the state before it sends.
 *
 * ib_cm retransmits a SIDR request. On kernels that limit the requests of a port it waits for a
 * place before, and may have to give it to others; see id/pacing.c.
 */
#include "cm/internal.h"

#include <linux/jiffies.h>
#include <linux/string.h>
#include <rdma/ib_cm.h>
#include <rdma/rdma_cm_alt.h>

#include "id/id.h"
#include "lib/wire.h"
#include "transport/transport.h"

/*
 * Allocate the record for the answer, and fill in what is known of the peer. The path is not needed
 * when the answer arrives, so it need not be kept.
 */
static int reserve_answer(struct rca_id *id)
{
	struct ib_uverbs_ah_attr attr = {};
	unsigned long flags;
	int ret;

	lockdep_assert_held(&id->op);
	ret = id->dev->tp->ah_attr(id->dev->ibdev, id->port_num, &id->setup->path, id->sgid_attr,
				   &attr);
	if (ret)
		return ret;
	ret = rca_id_reserve_answer(id);
	if (ret)
		return ret;
	spin_lock_irqsave(&id->lock, flags);
	id->reserved->rec.ah_attr = attr;
	spin_unlock_irqrestore(&id->lock, flags);
	return 0;
}

static int send_sidr_req(struct rca_id *id, const struct rca_tp_conn *user)
{
	const struct rca_timing timing = rca_id_timing(id);
	struct rca_retry *retry = id->setup->retry;
	u8 data[IB_CM_SIDR_REQ_PRIVATE_DATA_SIZE] = {};
	struct rca_tp_req req = {
		.conn.qp_type = IB_QPT_UD,
		.conn.private_data = data,
		.path = &id->setup->path,
		.sgid_attr = id->sgid_attr,
		.service_id = rca_wire_addr_service_id(id->ps, &id->dst),
	};

	req.answer_ms = rca_timing_datagram(&timing, id->setup->path.packet_life_time,
					    &req.retries);
	req.conn.private_data_len = rca_wire_put_private(data, &id->local, &id->dst,
							 user->private_data,
							 user->private_data_len);
	if (rca_places) {
		/* A request that is withdrawn is given up when its retransmissions would end. */
		if (!retry->limited && !retry->sent)
			retry->deadline = jiffies +
				msecs_to_jiffies(req.answer_ms) * (req.retries + 1);
		retry->sent = jiffies;
	}
	return id->dev->tp->sidr_request(id->lower, &req);
}

/* Send the request, or let it wait for a place of its port: the work of the id sends it then. */
static int send_or_wait(struct rca_id *id, const struct rca_tp_conn *user)
{
	if (!rca_places)
		return send_sidr_req(id, user);
	id->setup->retry->waits = !rca_place_begin(id, RCA_TICKET_SILENT | RCA_TICKET_FIRST);
	return id->setup->retry->waits ? 0 : send_sidr_req(id, user);
}

static int make_lower(struct rca_id *id)
{
	void *lower = id->dev->tp->create(id->dev->ibdev, id);

	if (IS_ERR(lower))
		return PTR_ERR(lower);
	smp_store_release(&id->lower, lower);	/* pairs with rca_id_numbers() */
	return 0;
}

/*
 * The request has given its place to others: ib_cm stops only when its cm_id is destroyed. Returns
 * true if it has to be sent again, with another cm_id.
 */
static bool withdraw_sidr_req(struct rca_id *id)
{
	rca_id_drop_lower(id);
	/* No answer comes any more; has one come before? */
	if (rca_id_state(id) != RCA_ST_SIDR_SENT)
		return false;
	if (time_before(jiffies, id->setup->retry->deadline) && !make_lower(id))
		return true;
	rca_retry_end(id);
	return false;
}

/* Send a SIDR request that has waited, withdraw it or give it up, in the state RCA_ST_SIDR_SENT. */
void rca_sidr_continue(struct rca_id *id)
{
	const struct rca_retry *retry = id->setup->retry;
	bool sends;

	lockdep_assert_held(&id->op);
	if (!retry)
		return;
	sends = retry->waits;
	if (retry->limited && time_after_eq(jiffies, retry->deadline)) {
		rca_retry_end(id);
		return;
	}
	if (rca_places && rca_gate_yield(&id->setup->place, NULL)) {
		sends = withdraw_sidr_req(id);
		if (!sends)
			return;
	}
	if (sends && send_or_wait(id, &retry->conn))
		rca_retry_end(id);
	else
		rca_retry_arm(id);
}

/*
 * rca_connect() of a datagram id, for a caller that holds rca_id.op; of @conn only the private data
 * are used. -EOPNOTSUPP: the id requires a trunk, which has no datagrams.
 */
int rca_sidr_connect_locked(struct rca_id *id, const struct rca_tp_conn *conn)
{
	struct rca_step step;
	int ret;

	lockdep_assert_held(&id->op);
	ret = rca_id_may(id, RCA_IN_SIDR);
	if (ret)
		return ret;
	if (rca_id_opts(id)->trunk == RDMA_CM_ALT_TRUNK_REQUIRE)
		return -EOPNOTSUPP;
	if (conn->private_data_len > rca_wire_private_max(RCA_WIRE_SIDR_REQ, id->dst.sa.sa_family))
		return -EINVAL;
	ret = reserve_answer(id);
	if (ret)
		return ret;
	ret = make_lower(id);
	if (ret)
		goto err_unreserve;
	ret = rca_retry_keep_datagram(id, conn);
	if (ret)
		goto err_drop_lower;
	step = rca_id_step(id, RCA_IN_SIDR);
	ret = step.err;
	if (step.verdict != RCA_TAKE)
		goto err_drop_request;
	ret = send_or_wait(id, conn);
	if (ret) {
		rca_id_step(id, RCA_IN_CONNECT_FAIL);
		goto err_drop_request;
	}
	rca_retry_arm(id);
	return 0;

err_drop_request:
	rca_retry_drop(id);
err_drop_lower:
	rca_id_drop_lower(id);
err_unreserve:
	rca_id_unreserve_event(id);
	return ret;
}

/* Make the transition of accept, and set the cookie. If it fails, nothing has changed. */
static int step_accept(struct rca_id *id, u64 cookie, u32 qkey)
{
	struct rca_step step;
	unsigned long flags;
	int ret;

	spin_lock_irqsave(&id->lock, flags);
	ret = rca_id_may(id, RCA_IN_ACCEPT) ?: rca_qkey_settle_locked(id, qkey);
	if (!ret) {
		step = rca_id_step_locked(id, RCA_IN_ACCEPT);
		ret = step.err;
	}
	if (!ret)
		rca_source_set_cookie_locked(&id->src, cookie);
	spin_unlock_irqrestore(&id->lock, flags);
	return ret;
}

/*
 * rca_accept_as() of a datagram id: no event follows. A queue key of 0 is that of the port space.
 * -EINVAL wrong state, private data too long, or another queue key than the settled one, or -EPERM
 * the QP is another user's or the queue key privileged: the request still waits; another errno: the
 * request was refused.
 */
int rca_sidr_accept(struct rca_id *id, u64 cookie, const struct rca_tp_conn *conn)
{
	struct rca_tp_conn rep = *conn;
	int ret = -EINVAL;

	mutex_lock(&id->op);
	if (conn->private_data_len > rca_wire_private_max(RCA_WIRE_SIDR_REP, id->dst.sa.sa_family))
		goto out_unlock;
	rep.qp_type = IB_QPT_UD;
	rep.qkey = conn->qkey ?: rca_qkey(id);
	/* May the caller announce this QP and queue key to the peer? */
	ret = rca_id_may(id, RCA_IN_ACCEPT) ?:
	      id->dev->tp->check_qp(id->dev->ibdev, conn->qp_num) ?:
	      rca_qp_owner_check_qkey(id->dev->ibdev, conn->qkey) ?:
	      step_accept(id, cookie, rep.qkey);
	if (ret)
		goto out_unlock;
	WRITE_ONCE(id->obj.qp_num, conn->qp_num);	/* for diagnostics */
	ret = id->dev->tp->sidr_reply(id->lower, IB_SIDR_SUCCESS, &rep);
	if (ret)
		rca_id_step(id, RCA_IN_ACCEPT_FAIL);
	rca_id_drop_lower(id);		/* refuses a request that was not answered */
out_unlock:
	rca_id_report_op(id, "accept", ret);
	mutex_unlock(&id->op);
	return ret;
}

/* rca_reject() of a datagram id. */
int rca_sidr_reject(struct rca_id *id, const void *data, u32 len)
{
	struct rca_tp_conn rep = { .private_data = data };
	struct rca_step step;
	int ret = -EINVAL;

	mutex_lock(&id->op);
	if (len > rca_wire_private_max(RCA_WIRE_SIDR_REP, id->dst.sa.sa_family))
		goto out_unlock;
	rep.private_data_len = len;
	step = rca_id_step(id, RCA_IN_REJECT);
	ret = step.err;
	if (step.verdict != RCA_TAKE)
		goto out_unlock;
	ret = id->dev->tp->sidr_reply(id->lower, IB_SIDR_REJECT, &rep);
	rca_id_drop_lower(id);		/* see rca_sidr_accept() */
out_unlock:
	rca_id_report_op(id, "reject", ret);
	mutex_unlock(&id->op);
	return ret;
}

/* rca_cm_event() of a datagram id: answer of the peer, or timeout. */
void rca_sidr_event(struct rca_id *id, const struct rca_tp_event *event)
{
	struct rca_event *ev = rca_id_event(id);
	struct rca_tp_conn conn = event->conn;
	enum rca_input input = event->input;
	int status = event->status;
	struct rca_step step;
	unsigned long flags;

	rca_window_end(id, false);
	spin_lock_irqsave(&id->lock, flags);
	if (input == RCA_IN_REP && id->state == RCA_ST_SIDR_SENT &&
	    rca_qkey_settle_locked(id, event->conn.qkey)) {
		input = RCA_IN_BAD_QKEY;
		status = -EINVAL;
	}
	if (ev && input != RCA_IN_REP) {
		/* The QP is unusable: the program gets only the private data. */
		memset(&ev->rec.ah_attr, 0, sizeof(ev->rec.ah_attr));
		conn.qp_num = 0;
		conn.qkey = 0;
	}
	if (ev && event->has_conn)
		rca_event_set_ud(ev, &conn);
	step = rca_id_step_post_locked(id, input, &ev, status);
	spin_unlock_irqrestore(&id->lock, flags);
	rca_event_free(ev);

	/* The cm_id has no further use. */
	if ((step.action & RCA_ACT_FINISH) ||
	    (step.verdict == RCA_TAKE && step.next == RCA_ST_SIDR_DONE))
		rca_id_queue_work(id);
}
