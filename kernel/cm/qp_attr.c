// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Attributes for QP transitions: for one transition on request, or all known ones in an event.
 *
 * Locking: rca_qp_attr() takes rca_id.op, and rca_id.lock for the queue key; the attributes
 * for events are of members that do not change.
 */
#include "cm/cm.h"

#include <rdma/ib_cache.h>
#include <rdma/ib_marshall.h>
#include <rdma/rdma_cm_ib.h>
#include <rdma/rdma_user_cm.h>

#include "lib/compat.h"
#include "net/net.h"
#include "transport/transport.h"

/* Port and partition of the QP. */
static int port_attr(struct rca_id *id, struct ib_qp_attr *attr, int *mask)
{
	u16 pkey = id->link.ib ? id->link.pkey : IB_DEFAULT_PKEY_FULL;

	attr->port_num = id->port_num;
	attr->pkey_index = 0;
	if (id->dev->tp->over_tcp) {
		*mask = IB_QP_STATE | IB_QP_PORT;
		return 0;
	}
	*mask = IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT;
	return ib_find_cached_pkey(id->dev->ibdev, id->port_num, pkey, &attr->pkey_index);
}

/* Attributes before a connection: no remote access. */
static int unconnected_attr(struct rca_id *id, struct ib_qp_attr *attr, int *mask)
{
	int ret = port_attr(id, attr, mask);

	attr->qp_access_flags = 0;
	*mask |= IB_QP_ACCESS_FLAGS;
	return ret;
}

/* Attributes of a connection for the transition to @state. */
static int connected_attr(struct rca_id *id, void *lower, enum ib_qp_state state,
			  struct ib_qp_attr *attr, int *mask)
{
	const struct rca_opts *opts = rca_id_opts(id);
	int ret;

	attr->qp_state = state;
	ret = id->tp->qp_attr(lower, attr, mask);
	if (ret)
		return ret;
	if (id->dev->tp->over_tcp) {
		attr->port_num = id->port_num;
		*mask |= IB_QP_PORT;
	}
	/* It is sent to the peer in the REQ or REP; ib_cm knows it when the REP is sent. */
	if (*mask & IB_QP_RQ_PSN)
		attr->rq_psn = id->psn;
	/* Pairs with set_ack_timeout(). */
	if ((*mask & IB_QP_TIMEOUT) && smp_load_acquire(&opts->ack_timeout_set))
		attr->timeout = READ_ONCE(opts->ack_timeout);
	return 0;
}

/*
 * The queue key of a datagram id: the settled one, else that of the port space. That of
 * RDMA_PS_IPOIB is the key of the broadcast group of the subnet; it is 0 if the network device is
 * not IPoIB or not a member of the group. @id->dev must not change: with @id->op held, or in a
 * callback.
 */
u32 rca_qkey(const struct rca_id *id)
{
	u32 qkey = READ_ONCE(id->qkey);	/* pairs with rca_qkey_settle_locked() */
	union ib_gid mgid;

	if (qkey)
		return qkey;
	if (id->ps != RDMA_PS_IPOIB)
		return RDMA_UDP_QKEY;
	if (!id->dev || !id->link.ib)
		return 0;
	rca_ipoib_group(id->net, id->link.ifindex, &mgid);
	return rca_group_ib_qkey(id->dev->ibdev, id->port_num, &mgid);
}

/* Attributes of datagrams: the same for all peers and transitions, as with stock. */
static int datagram_attr(struct rca_id *id, struct ib_qp_attr *attr, int *mask)
{
	int ret = port_attr(id, attr, mask);

	attr->qkey = rca_qkey(id);
	*mask |= IB_QP_QKEY;
	return ret ?: attr->qkey ? 0 : -EINVAL;
}

/* Fix the queue key once it has been used. -EINVAL: it is 0, or differs from the settled one. */
int rca_qkey_settle_locked(struct rca_id *id, u32 qkey)
{
	lockdep_assert_held(&id->lock);
	if (!qkey || (id->qkey && id->qkey != qkey))
		return -EINVAL;
	WRITE_ONCE(id->qkey, qkey);	/* pairs with rca_qkey() */
	return 0;
}

/*
 * Attributes of an id whose request waits for retransmission. The cm_id has none then; those of a
 * request that was sent do not depend on the peer, so they are the same.
 */
static int requested_attr(struct rca_id *id, struct ib_qp_attr *attr, int *mask)
{
	int ret = port_attr(id, attr, mask);

	attr->qp_access_flags = IB_ACCESS_REMOTE_WRITE;
	if (id->setup->retry->conn.responder_resources)
		attr->qp_access_flags |= IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC |
					 rca_flush_access(id->dev->ibdev);
	*mask |= IB_QP_ACCESS_FLAGS;
	return ret;
}

/* Does the request wait for retransmission, or did it when the cm_id was asked? */
static bool retransmits(struct rca_id *id)
{
	enum rca_state state = rca_id_state(id);

	return id->setup && id->setup->retry &&
	       (state == RCA_ST_REQ_WAIT || state == RCA_ST_REQ_SENT);
}

/**
 * rca_qp_attr() - get the attributes for a QP transition
 * @id: the id
 * @qp_state: the new state: IB_QPS_INIT, IB_QPS_RTR or IB_QPS_RTS
 * @out: the attributes with their mask
 *
 * Context: Process context. Sleeps. Takes and releases @id->op.
 * Return: 0; -EINVAL no such transition, no device, or not available in the state of the
 * connection; -ENOENT the port no longer has the partition; -ENXIO the device was removed.
 */
int rca_qp_attr(struct rca_id *id, u32 qp_state, struct ib_uverbs_qp_attr *out)
{
	struct ib_qp_attr attr = { .qp_state = qp_state };
	enum rca_state state;
	unsigned long flags;
	int ret, mask = 0;

	if (qp_state < IB_QPS_INIT || qp_state > IB_QPS_RTS)
		return -EINVAL;
	mutex_lock(&id->op);
	state = rca_id_state(id);
	if (state == RCA_ST_REMOVED)
		ret = -ENXIO;
	else if (!id->dev)
		ret = -EINVAL;
	else if (id->qp_type == IB_QPT_UD)
		ret = datagram_attr(id, &attr, &mask);
	else if (id->lower)
		ret = connected_attr(id, id->lower, qp_state, &attr, &mask);
	else if (state <= RCA_ST_ROUTE_RESOLVED)
		ret = unconnected_attr(id, &attr, &mask);
	else
		ret = -EINVAL;	/* the attributes have ended with the connection */
	if (ret == -EINVAL && qp_state == IB_QPS_INIT && retransmits(id))
		ret = requested_attr(id, &attr, &mask);
	if (!ret && id->qp_type == IB_QPT_UD) {
		/* The program sets up its QP with this queue key. */
		spin_lock_irqsave(&id->lock, flags);
		ret = rca_qkey_settle_locked(id, attr.qkey);
		spin_unlock_irqrestore(&id->lock, flags);
	}
	if (!ret) {
		memset(out, 0, sizeof(*out));
		out->qp_attr_mask = mask;
		ib_copy_qp_attr_to_user(id->dev->ibdev, out, &attr);
	}
	mutex_unlock(&id->op);
	return ret;
}
RCA_EXPORT(rca_qp_attr);

/*
 * Fill in the attributes for an event before there is a connection: only those of the transition to
 * INIT. @out is zero before. Returns true if they are known. Does nothing for datagrams: a program
 * must call rca_qp_attr(), which settles the queue key.
 */
bool rca_qp_attr_fill_init(struct rca_id *id, struct rdma_cm_alt_qp_attr *out)
{
	struct ib_qp_attr attr __uninitialized;
	int mask;

	lockdep_assert_held(&id->op);
	if (!id->dev || id->qp_type == IB_QPT_UD || unconnected_attr(id, &attr, &mask))
		return false;
	out->init_mask = mask;
	out->attr.qp_access_flags = attr.qp_access_flags;
	out->attr.pkey_index = attr.pkey_index;
	out->attr.port_num = attr.port_num;
	return true;
}

/*
 * Fill in all known attributes of a connection for an event, with a mask for each transition; @out
 * is zero before. Those of the three transitions do not contradict each other. Returns true if at
 * least the transition to INIT is known.
 *
 * In a callback of @lower, which must not be destroyed meanwhile. Not under @id->lock.
 */
bool rca_qp_attr_fill(struct rca_id *id, void *lower, struct rdma_cm_alt_qp_attr *out)
{
	struct ib_qp_attr attr = {};
	int mask = 0;

	if (connected_attr(id, lower, IB_QPS_INIT, &attr, &mask))
		return false;
	out->init_mask = mask;
	if (!connected_attr(id, lower, IB_QPS_RTR, &attr, &mask))
		out->rtr_mask = mask;
	if (out->rtr_mask && !connected_attr(id, lower, IB_QPS_RTS, &attr, &mask))
		out->rts_mask = mask;
	attr.qp_state = 0;
	ib_copy_qp_attr_to_user(id->dev->ibdev, &out->attr, &attr);
	return true;
}
