// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Index of the peers' QPs: which id is connected to the QP of a CA GUID and a number.
 *
 * A QP has one connection at a time. If a request or a reply names the QP of a connection that
 * exists, the peer has lost that connection: it is stale (IBTA volume 1, 12.9.8.3.1). It is ended,
 * and the new one is rejected with the reason IB_CM_REJ_STALE_CONN. An initiator then repeats its
 * request, which succeeds.
 *
 * ib_cm does this for its own connections, but neither sees those of another transport, nor do they
 * see its. So the index has the connections of all transports, and leaves conflicts between two
 * connections of ib_cm to ib_cm. It is only used while the module of trunks is loaded; connections
 * that were made before are not in it.
 *
 * As in ib_cm, a QP that is connected to itself would have two connections, and is refused.
 *
 * An id claims the QP of its peer when it receives the number: in a callback of its lower cm_id, or
 * in the callback of the request before the id gets the lower cm_id. It releases the QP after the
 * lower cm_id was destroyed. The index takes no reference: an id is removed before its last
 * reference is put.
 *
 * Locking: peer_qps_lock, outside of rca_id.lock. Process context.
 */
#include "id/id.h"

#include <linux/rhashtable.h>
#include <linux/spinlock.h>
#include <linux/stddef.h>

#include "transport/transport.h"

/* The key is in the id itself: two members without a gap. */
#define KEY_OFFSET	offsetof(struct rca_id, peer_qp.ca_guid)
#define KEY_LEN		(offsetofend(struct rca_id, peer_qp.qp_num) - KEY_OFFSET)
static_assert(sizeof(__be64) + sizeof(u32) == KEY_LEN);

static const struct rhashtable_params peer_qps_params = {
	.key_len = KEY_LEN,
	.key_offset = KEY_OFFSET,
	.head_offset = offsetof(struct rca_id, peer_qp.node),
	/* Not shrunk: connections come and go, and a bucket is small beside an id. */
};

static struct rhashtable peer_qps;
static DEFINE_SPINLOCK(peer_qps_lock);

/* Module init. Returns 0 or -ENOMEM. */
int rca_peer_qps_init(void)
{
	return rhashtable_init(&peer_qps, &peer_qps_params);
}

/* Module exit, when no id exists any more. */
void rca_peer_qps_exit(void)
{
	rhashtable_destroy(&peer_qps);
}

static void remove_id(struct rca_id *id)
{
	lockdep_assert_held(&peer_qps_lock);
	if (!id->peer_qp.listed)
		return;
	rhashtable_remove_fast(&peer_qps, &id->peer_qp.node, peer_qps_params);
	WRITE_ONCE(id->peer_qp.listed, false);
}

/*
 * End a connection that the peer has lost, as if it had ended it; its work destroys the lower
 * cm_id. Returns false if the connection has ended before, or is being destroyed, which may take as
 * long as the thread of another user does not run: its QP may be used again.
 */
static bool end_stale_locked(struct rca_id *id)
{
	bool destroyed = id->state == RCA_ST_DESTROYING;
	struct rca_event *ev = NULL;
	struct rca_step step;

	lockdep_assert_held(&id->lock);
	switch (id->state) {
	case RCA_ST_REQ_SENT:
	case RCA_ST_REQ_WAIT:
		/* Its reply is just being handled. The new connection is tried again after that. */
		return true;
	case RCA_ST_REQ_RCVD:
		WRITE_ONCE(id->peer_gone, true);	/* pairs with refusal_errno() */
		fallthrough;
	case RCA_ST_REP_SENT:
	case RCA_ST_REP_RCVD:
		step = rca_id_step_post_locked(id, RCA_IN_REJ, &ev, IB_CM_REJ_STALE_CONN);
		break;
	case RCA_ST_CONNECTED:
	case RCA_ST_DREQ_SENT:
	case RCA_ST_DESTROYING:		/* it waits for no DREP any more */
		step = rca_id_step_post_locked(id, RCA_IN_DREQ, &ev, 0);
		break;
	default:
		return false;
	}
	if ((step.action & RCA_ACT_FINISH) && id->setup)
		WRITE_ONCE(id->setup->unsent, false);
	WRITE_ONCE(id->peer_qp.stale, true);	/* pairs with id_work() */
	/* Under the lock: the work begins the timewait, and cancels work that was queued before. */
	rca_id_queue_work(id);
	return !destroyed;
}

/**
 * rca_peer_qp_claim() - note the QP of the peer of a connection
 * @id: the id, which has a device and got the QP number in a request or a reply
 * @ca_guid: CA GUID of the peer
 * @qp_num: the QP number
 *
 * If the QP is that of another connection, that one is ended.
 *
 * Context: Process context, callback of a transport. Does not sleep. Takes and releases the state
 * lock of another id.
 * Return: false if the caller must reject the request or reply with IB_CM_REJ_STALE_CONN. True also
 * if the index is not used, or without memory.
 */
bool rca_peer_qp_claim(struct rca_id *id, __be64 ca_guid, u32 qp_num)
{
	struct rca_id *old;
	bool stale = false;

	/* The QP of an XRC target serves several connections. */
	if (!rca_trunks_used() || id->dev->tp->over_tcp ||
	    (id->qp_type != IB_QPT_RC && id->qp_type != IB_QPT_UC))
		return true;
	spin_lock(&peer_qps_lock);
	remove_id(id);	/* the QP of an earlier reply */
	id->peer_qp.ca_guid = ca_guid;
	id->peer_qp.qp_num = qp_num;
	old = rhashtable_lookup_fast(&peer_qps, &id->peer_qp.ca_guid, peer_qps_params);
	if (old) {
		spin_lock_irq(&old->lock);
		/* Between two of its own connections, ib_cm has compared the QPs already. */
		stale = !(id->tp == old->tp && id->tp->finds_stale) && end_stale_locked(old);
		spin_unlock_irq(&old->lock);
		if (!stale)
			remove_id(old);
	}
	/* Without memory the connection goes on, and is not in the index. */
	if (!stale && !rhashtable_insert_fast(&peer_qps, &id->peer_qp.node, peer_qps_params))
		WRITE_ONCE(id->peer_qp.listed, true);	/* pairs with rca_peer_qp_release() */
	spin_unlock(&peer_qps_lock);
	return !stale;
}

/**
 * rca_peer_qp_release() - give up the QP of the peer, if the id has one
 * @id: the id, which has no lower cm_id
 *
 * Context: Process context.
 */
void rca_peer_qp_release(struct rca_id *id)
{
	/* Pairs with rca_peer_qp_claim(), which callbacks of the lower cm_id have called. */
	if (!READ_ONCE(id->peer_qp.listed))
		return;
	spin_lock(&peer_qps_lock);
	remove_id(id);
	spin_unlock(&peer_qps_lock);
}
