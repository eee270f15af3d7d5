// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Completion queues. A program polls its queue in its own memory.
 *
 * Locking: the queue's lock, from any context. The client is told with no lock held.
 */
#include "verbs.h"

#include <rdma/uverbs_ioctl.h>

static size_t element_size(const struct hca_cq *cq)
{
	return cq->user ? sizeof(struct ib_uverbs_wc) : sizeof(struct ib_wc);
}

/**
 * hca_create_cq() - a completion queue
 * @ibcq: the core's part of the new one
 * @attr: its attributes
 * @user: where the program learns how to map it; NULL for the kernel
 *
 * Context: process, may sleep.
 * Return: 0, -EOPNOTSUPP for flags, -EINVAL for a size beyond the adapter's, -ENOMEM, -EFAULT.
 */
int hca_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		  struct hca_cq_user *user)
{
	struct ib_udata *udata = hca_cq_udata(user);
	struct hca_device *dev = to_hca(ibcq->device);
	struct hca_cq *cq = to_hca_cq(ibcq);
	struct rxe_create_cq_resp resp;
	int ret;

	if (attr->flags)
		return -EOPNOTSUPP;
	if (!attr->cqe || attr->cqe > HCA_MAX_CQE)
		return -EINVAL;
	spin_lock_init(&cq->lock);
	cq->armed = 0;
	cq->user = udata;
	cq->queue = hca_queue_new(attr->cqe, element_size(cq));
	if (!cq->queue)
		return -ENOMEM;
	ibcq->cqe = cq->queue->mask;
	if (!udata)
		return 0;
	hca_queue_share(dev, cq->queue, udata, &resp.mi);
	ret = ib_copy_to_udata(udata, &resp, min(sizeof(resp), udata->outlen));
	if (ret)
		hca_queue_free(dev, cq->queue);
	return ret;
}

/**
 * hca_resize_cq() - a completion queue of another size, with what is in it
 * @ibcq: the queue
 * @entries: how many completions it must hold
 * @udata: where the program learns how to map the new one; NULL for the kernel
 *
 * Context: process, may sleep.
 * Return: 0, -EINVAL for a size beyond the adapter's or less than what is in it, -ENOMEM, -EFAULT.
 */
int hca_resize_cq(struct ib_cq *ibcq, int entries, struct ib_udata *udata)
{
	struct hca_device *dev = to_hca(ibcq->device);
	struct hca_cq *cq = to_hca_cq(ibcq);
	struct rxe_resize_cq_resp resp;
	struct hca_queue *queue;
	void *from, *to;
	int ret = 0;

	if (entries < 1 || entries > HCA_MAX_CQE)
		return -EINVAL;
	queue = hca_queue_new(entries, element_size(cq));
	if (!queue)
		return -ENOMEM;
	if (udata) {
		hca_queue_share(dev, queue, udata, &resp.mi);
		ret = ib_copy_to_udata(udata, &resp, min(sizeof(resp), udata->outlen));
		if (ret) {
			hca_queue_free(dev, queue);
			return ret;
		}
	}
	spin_lock_irq(&cq->lock);
	while ((from = hca_queue_client_used(cq->queue))) {
		to = hca_queue_next_free(queue);
		if (!to) {
			ret = -EINVAL;
			break;
		}
		memcpy(to, from, element_size(cq));
		hca_queue_produced(queue);
		hca_queue_client_consumed(cq->queue);
	}
	if (!ret) {
		swap(cq->queue, queue);
		ibcq->cqe = cq->queue->mask;
	}
	spin_unlock_irq(&cq->lock);
	hca_queue_free(dev, queue);
	return ret;
}

/**
 * hca_destroy_cq() - a completion queue goes
 * @ibcq: the queue, which no QP uses any more
 * @udata: unused
 *
 * Context: process, may sleep.
 * Return: 0.
 */
int hca_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	hca_queue_free(to_hca(ibcq->device), to_hca_cq(ibcq)->queue);
	return 0;
}

/**
 * hca_poll_cq() - a client in the kernel takes completions
 * @ibcq: the queue
 * @count: how many at most
 * @wc: where they go
 *
 * Context: any.
 * Return: how many there were.
 */
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

/**
 * hca_req_notify_cq() - the client wants to be told of the next completion
 * @ibcq: the queue
 * @flags: of which, and whether it wants to know that some are there already
 *
 * Context: any.
 * Return: 1 when it wants to know and some are there, else 0.
 */
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

/**
 * hca_cq_add() - something is complete
 * @ibcq: the queue it goes to
 * @wc: what is complete
 * @solicited: it failed, or the sender asked for the client's attention
 *
 * Context: any; what the client does when told must do with that, as with interrupts of hardware.
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
