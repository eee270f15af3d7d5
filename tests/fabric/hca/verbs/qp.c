// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Queue pairs: their life, states and attributes, and the multicast groups they are attached to.
 *
 * Locking: the QP's lock for its attributes, hca_lock for its groups. The adapter's table owns one
 * reference, and so does each packet on its way in, and each message of an RC QP on its way out;
 * destroying waits for the last.
 */
#include "verbs/verbs.h"

#include <linux/slab.h>
#include <rdma/uverbs_ioctl.h>

/* Which QPs are attached to which groups (lock: hca_lock). */
LIST_HEAD(hca_groups);

static int check_init(const struct ib_qp_init_attr *init)
{
	if (init->create_flags & ~(IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK | IB_QP_CREATE_NETIF_QP))
		return -EOPNOTSUPP;
	if (init->cap.max_send_wr > HCA_MAX_WR || init->cap.max_recv_wr > HCA_MAX_WR ||
	    init->cap.max_send_sge > HCA_MAX_SGE || init->cap.max_recv_sge > HCA_MAX_SGE ||
	    init->cap.max_inline_data > HCA_MAX_INLINE)
		return -EINVAL;
	switch (init->qp_type) {
	case IB_QPT_SMI:
	case IB_QPT_GSI:
	case IB_QPT_UD:
	case IB_QPT_RC:
	case IB_QPT_UC:
	case IB_QPT_XRC_INI:
	case IB_QPT_XRC_TGT:
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

/* make_queues: the rings of a QP, and for a program where they are. */
static int make_queues(struct hca_qp *qp, struct ib_qp_init_attr *init, struct ib_udata *udata)
{
	struct hca_device *dev = to_hca(qp->ib.device);
	struct rxe_create_qp_resp resp = {};
	size_t size;

	if (!init->srq && init->qp_type != IB_QPT_XRC_TGT) {
		size = sizeof(struct rxe_recv_wqe) + qp->cap.max_recv_sge * sizeof(struct rxe_sge);
		qp->rq = hca_queue_new(qp->cap.max_recv_wr, size);
		if (!qp->rq)
			return -ENOMEM;
	}
	if (!udata)
		return 0;
	size = max_t(size_t, qp->cap.max_send_sge * sizeof(struct rxe_sge), HCA_MAX_INLINE);
	qp->sq = hca_queue_new(qp->cap.max_send_wr, sizeof(struct rxe_send_wqe) + size);
	if (!qp->sq)
		return -ENOMEM;
	if (qp->rq)
		hca_queue_share(dev, qp->rq, udata, &resp.rq_mi);
	hca_queue_share(dev, qp->sq, udata, &resp.sq_mi);
	return ib_copy_to_udata(udata, &resp, min(sizeof(resp), udata->outlen));
}

/* enter: the QP gets its number; from now on packets find it. */
static int assign_number(struct hca_qp *qp, struct ib_qp_init_attr *init)
{
	struct hca_device *dev = to_hca(qp->ib.device);
	static u32 next = HCA_FIRST_QPN;
	int ret;

	if (init->qp_type == IB_QPT_SMI || init->qp_type == IB_QPT_GSI) {
		qp->ib.qp_num = init->qp_type == IB_QPT_GSI;
		qp->port = init->port_num;
		return xa_insert_irq(&dev->qps, hca_qp_key(qp->ib.qp_num, qp->port), qp,
				     GFP_KERNEL);
	}
	ret = xa_alloc_cyclic_irq(&dev->qps, &qp->ib.qp_num, qp,
				  XA_LIMIT(HCA_FIRST_QPN, 0xfffffe), &next, GFP_KERNEL);
	return min(ret, 0);
}

/*
 * Returns -EOPNOTSUPP for an unknown type or flags, -EINVAL for sizes beyond the limits of the
 * device, -EBUSY for a second QP0 or QP1 of a port.
 */
int hca_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init, struct ib_udata *udata)
{
	struct hca_device *dev = to_hca(ibqp->device);
	struct hca_qp *qp = to_hca_qp(ibqp);
	int ret;

	ret = check_init(init);
	if (ret)
		return ret;
	refcount_set(&qp->refs, 1);
	init_completion(&qp->gone);
	spin_lock_init(&qp->lock);
	mutex_init(&qp->sending);
	qp->attr.qp_state = IB_QPS_RESET;
	qp->attr.path_mig_state = IB_MIG_MIGRATED;
	qp->signal_all = init->sq_sig_type == IB_SIGNAL_ALL_WR;
	qp->no_loop = init->create_flags & IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK;
	qp->user = udata;
	if (udata)
		init->cap.max_inline_data = HCA_MAX_INLINE;
	qp->cap = init->cap;
	ret = make_queues(qp, init, udata);
	if (!ret)
		ret = assign_number(qp, init);
	if (ret) {
		hca_queue_free(dev, qp->rq);
		hca_queue_free(dev, qp->sq);
	}
	return ret;
}

/* keep: what a modify has set, for queries and the data path. */
static void copy_attrs(struct ib_qp_attr *to, const struct ib_qp_attr *attr, int mask)
{
	if (mask & IB_QP_ACCESS_FLAGS)
		to->qp_access_flags = attr->qp_access_flags;
	if (mask & IB_QP_PKEY_INDEX)
		to->pkey_index = attr->pkey_index;
	if (mask & IB_QP_PORT)
		to->port_num = attr->port_num;
	if (mask & IB_QP_QKEY)
		to->qkey = attr->qkey;
	if (mask & IB_QP_AV)
		to->ah_attr = attr->ah_attr;
	if (mask & IB_QP_ALT_PATH) {
		to->alt_ah_attr = attr->alt_ah_attr;
		to->alt_pkey_index = attr->alt_pkey_index;
		to->alt_port_num = attr->alt_port_num;
		to->alt_timeout = attr->alt_timeout;
	}
	if (mask & IB_QP_PATH_MTU)
		to->path_mtu = attr->path_mtu;
	if (mask & IB_QP_TIMEOUT)
		to->timeout = attr->timeout;
	if (mask & IB_QP_RETRY_CNT)
		to->retry_cnt = attr->retry_cnt;
	if (mask & IB_QP_RNR_RETRY)
		to->rnr_retry = attr->rnr_retry;
	if (mask & IB_QP_RQ_PSN)
		to->rq_psn = attr->rq_psn;
	if (mask & IB_QP_SQ_PSN)
		to->sq_psn = attr->sq_psn;
	if (mask & IB_QP_MAX_QP_RD_ATOMIC)
		to->max_rd_atomic = attr->max_rd_atomic;
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC)
		to->max_dest_rd_atomic = attr->max_dest_rd_atomic;
	if (mask & IB_QP_MIN_RNR_TIMER)
		to->min_rnr_timer = attr->min_rnr_timer;
	if (mask & IB_QP_PATH_MIG_STATE)
		to->path_mig_state = attr->path_mig_state;
	if (mask & IB_QP_DEST_QPN)
		to->dest_qp_num = attr->dest_qp_num;
	/* The core holds the GIDs; the pointers are not ours to keep. */
	to->ah_attr.grh.sgid_attr = NULL;
	to->alt_ah_attr.grh.sgid_attr = NULL;
}

int hca_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask, struct ib_udata *udata)
{
	struct hca_qp *qp = to_hca_qp(ibqp);
	enum ib_qp_state from, to;
	bool ok;

	if (mask & ~IB_QP_ATTR_STANDARD_BITS)
		return -EOPNOTSUPP;
	spin_lock_irq(&qp->lock);
	from = mask & IB_QP_CUR_STATE ? attr->cur_qp_state : qp->attr.qp_state;
	to = mask & IB_QP_STATE ? attr->qp_state : from;
	ok = ib_modify_qp_is_ok(from, to, ibqp->qp_type, mask);
	if (ok) {
		copy_attrs(&qp->attr, attr, mask);
		qp->attr.qp_state = to;
		if (mask & IB_QP_PORT)
			qp->port = attr->port_num;
	}
	spin_unlock_irq(&qp->lock);
	if (!ok)
		return -EINVAL;
	if (to == IB_QPS_ERR || to == IB_QPS_RESET)
		hca_flush_receives(qp);
	return 0;
}

/* A message of an RC QP could not be delivered. What was posted to receive is flushed. */
void hca_qp_fail(struct hca_qp *qp)
{
	bool fails;

	spin_lock_irq(&qp->lock);
	fails = qp->attr.qp_state == IB_QPS_RTS || qp->attr.qp_state == IB_QPS_SQD;
	if (fails)
		qp->attr.qp_state = IB_QPS_ERR;
	spin_unlock_irq(&qp->lock);
	if (fails)
		hca_flush_receives(qp);
}

int hca_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		 struct ib_qp_init_attr *init)
{
	struct hca_qp *qp = to_hca_qp(ibqp);

	spin_lock_irq(&qp->lock);
	*attr = qp->attr;
	spin_unlock_irq(&qp->lock);
	attr->cur_qp_state = attr->qp_state;
	attr->cap = qp->cap;
	memset(init, 0, sizeof(*init));
	init->event_handler = ibqp->event_handler;
	init->qp_context = ibqp->qp_context;
	init->send_cq = ibqp->send_cq;
	init->recv_cq = ibqp->recv_cq;
	init->srq = ibqp->srq;
	init->cap = qp->cap;
	init->sq_sig_type = qp->signal_all ? IB_SIGNAL_ALL_WR : IB_SIGNAL_REQ_WR;
	init->qp_type = ibqp->qp_type;
	return 0;
}

/*
 * ib_mad's ib_mad_port_close() destroys its QPs while the worker of their CQ may still handle a
 * completion: that posts a receive to a QP that has been freed. The worker ends before.
 */
static void wait_for_worker(struct ib_cq *cq)
{
	if (cq->poll_ctx != IB_POLL_WORKQUEUE && cq->poll_ctx != IB_POLL_UNBOUND_WORKQUEUE)
		return;
	do {
		flush_work(&cq->work);
	} while (work_pending(&cq->work));
}

/* Waits for packets that the QP is receiving, and for its own, of which it hears no more. */
int hca_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct hca_device *dev = to_hca(ibqp->device);
	struct hca_qp *qp = to_hca_qp(ibqp);
	struct hca_group *group, *next;
	LIST_HEAD(groups);

	xa_erase_irq(&dev->qps, hca_qp_key(ibqp->qp_num, qp->port));
	spin_lock_irq(&hca_lock);
	list_for_each_entry_safe(group, next, &hca_groups, entry)
		if (group->qp == qp)
			list_move(&group->entry, &groups);
	spin_unlock_irq(&hca_lock);
	list_for_each_entry_safe(group, next, &groups, entry)
		kfree(group);
	spin_lock_irq(&qp->lock);
	qp->attr.qp_state = IB_QPS_RESET;
	spin_unlock_irq(&qp->lock);
	hca_qp_put(qp);
	wait_for_completion(&qp->gone);
	if (ibqp->qp_type == IB_QPT_SMI || ibqp->qp_type == IB_QPT_GSI) {
		wait_for_worker(ibqp->send_cq);
		wait_for_worker(ibqp->recv_cq);
	}
	hca_queue_free(dev, qp->rq);
	hca_queue_free(dev, qp->sq);
	return 0;
}

/*
 * The QP with a number, with a reference for hca_qp_put(), or NULL. @key is from hca_qp_key().
 * Any context.
 */
struct hca_qp *hca_qp_get(struct hca_device *dev, u32 key)
{
	struct hca_qp *qp;
	unsigned long flags;

	xa_lock_irqsave(&dev->qps, flags);
	qp = xa_load(&dev->qps, key);
	if (qp)
		refcount_inc(&qp->refs);
	xa_unlock_irqrestore(&dev->qps, flags);
	return qp;
}

void hca_qp_put(struct hca_qp *qp)
{
	if (refcount_dec_and_test(&qp->refs))
		complete(&qp->gone);
}

int hca_attach_mcast(struct ib_qp *ibqp, union ib_gid *mgid, u16 mlid)
{
	struct hca_group *group = kzalloc(sizeof(*group), GFP_KERNEL);

	if (!group)
		return -ENOMEM;
	group->qp = to_hca_qp(ibqp);
	group->mgid = *mgid;
	group->mlid = mlid;
	spin_lock_irq(&hca_lock);
	list_add_tail(&group->entry, &hca_groups);
	spin_unlock_irq(&hca_lock);
	return 0;
}

int hca_detach_mcast(struct ib_qp *ibqp, union ib_gid *mgid, u16 mlid)
{
	struct hca_group *group, *found = NULL;

	spin_lock_irq(&hca_lock);
	list_for_each_entry(group, &hca_groups, entry) {
		if (group->qp == to_hca_qp(ibqp) && group->mlid == mlid &&
		    !memcmp(&group->mgid, mgid, sizeof(*mgid))) {
			found = group;
			list_del(&group->entry);
			break;
		}
	}
	spin_unlock_irq(&hca_lock);
	kfree(found);
	return found ? 0 : -EINVAL;
}
