// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Completion queues. A program polls its queue in its own memory.
 *
 * Locking: the queue's lock, from any context. The client is told with no lock held.
 */
#include "verbs/verbs.h"

#include <rdma/uverbs_ioctl.h>

/* Returns -EOPNOTSUPP for flags, -EINVAL for a size beyond the limits of the device. */
int hca_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		  struct hca_cq_user *user)
{
	struct ib_udata *udata = hca_cq_udata(user);
	struct hca_device *dev = to_hca(ibcq->device);
	struct hca_cq *cq = to_hca_cq(ibcq);
	struct rxe_create_cq_resp resp;

	if (attr->flags)
		return -EOPNOTSUPP;
	if (!attr->cqe || attr->cqe > HCA_MAX_CQE)
		return -EINVAL;
	spin_lock_init(&cq->lock);
	cq->armed = 0;
	cq->user = udata;
	cq->queue = hca_queue_new(attr->cqe, udata ? sizeof(struct ib_uverbs_wc) :
						   sizeof(struct ib_wc));
	if (!cq->queue)
		return -ENOMEM;
	ibcq->cqe = cq->queue->mask;
	if (!udata)
		return 0;
	return hca_queue_give(dev, cq->queue, udata, &resp, sizeof(resp), &resp.mi);
}

int hca_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	hca_queue_free(to_hca(ibcq->device), to_hca_cq(ibcq)->queue);
	return 0;
}

int hca_poll_cq(struct ib_cq *ibcq, int count, struct ib_wc *wc)
{
	struct hca_cq *cq = to_hca_cq(ibcq);
	unsigned long flags;
	struct ib_wc *next;
	int i;

	spin_lock_irqsave(&cq->lock, flags);
	for (i = 0; i < count; i++) {
		next = hca_queue_client_used(cq->queue);
		if (!next)
			break;
		wc[i] = *next;
		hca_queue_client_consumed(cq->queue);
	}
	spin_unlock_irqrestore(&cq->lock, flags);
	return i;
}

int hca_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags)
{
	struct hca_cq *cq = to_hca_cq(ibcq);
	unsigned long irq;
	bool some;

	spin_lock_irqsave(&cq->lock, irq);
	/* The weaker of two wishes holds: any completion. */
	if (cq->armed != IB_CQ_NEXT_COMP)
		cq->armed = flags & IB_CQ_SOLICITED_MASK;
	some = hca_queue_client_used(cq->queue);
	spin_unlock_irqrestore(&cq->lock, irq);
	return some && (flags & IB_CQ_REPORT_MISSED_EVENTS);
}

static void to_user(struct ib_uverbs_wc *to, const struct ib_wc *wc)
{
	memset(to, 0, sizeof(*to));
	to->wr_id = wc->wr_id;
	to->status = wc->status;
	to->opcode = wc->opcode;
	to->byte_len = wc->byte_len;
	to->ex.imm_data = wc->ex.imm_data;
	to->qp_num = wc->qp->qp_num;
	to->src_qp = wc->src_qp;
	to->wc_flags = wc->wc_flags;
	to->pkey_index = wc->pkey_index;
	to->slid = wc->slid;
	to->sl = wc->sl;
	to->dlid_path_bits = wc->dlid_path_bits;
	to->port_num = wc->port_num;
}

/*
 * Adds a completion and calls the completion handler of an armed queue, with no lock held and in
 * the context of the caller, which may be an interrupt. @solicited: the work request failed, or
 * the sender set the solicited bit.
 */
void hca_cq_add(struct ib_cq *ibcq, const struct ib_wc *wc, bool solicited)
{
	struct hca_cq *cq = to_hca_cq(ibcq);
	unsigned long flags;
	bool tell = false;
	void *next;

	spin_lock_irqsave(&cq->lock, flags);
	next = hca_queue_next_free(cq->queue);
	if (next) {
		if (cq->user)
			to_user(next, wc);
		else
			memcpy(next, wc, sizeof(*wc));
		hca_queue_produced(cq->queue);
		tell = cq->armed == IB_CQ_NEXT_COMP || (cq->armed && solicited);
		if (tell)
			cq->armed = 0;
	}
	spin_unlock_irqrestore(&cq->lock, flags);
	if (!next)
		ibdev_warn_ratelimited(ibcq->device, "a completion queue overflows\n");
	else if (tell && ibcq->comp_handler)
		ibcq->comp_handler(ibcq, ibcq->cq_context);
}
