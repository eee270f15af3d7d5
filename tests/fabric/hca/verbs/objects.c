// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The small objects of the verbs: contexts, protection domains, XRC domains, address handles and
 * shared receive queues. The RDMA core keeps their lifetimes.
 *
 * Locking: address handles of programs are in a table with a lock of its own; the rest needs none.
 */
#include "verbs/verbs.h"

#include <rdma/uverbs_ioctl.h>

/* Contexts, protection domains and XRC domains have no state beyond that of the RDMA core. */
int hca_alloc_ucontext(struct ib_ucontext *context, struct ib_udata *udata)
{
	return 0;
}

void hca_dealloc_ucontext(struct ib_ucontext *context)
{
}

/*
 * Allows uverbs to take the objects away from a program when the adapter goes. What the program has
 * mapped is memory of its own, see hca_queue_mmap().
 */
void hca_disassociate_ucontext(struct ib_ucontext *context)
{
}

int hca_alloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	return 0;
}

int hca_dealloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	return 0;
}

int hca_alloc_xrcd(struct ib_xrcd *xrcd, struct ib_udata *udata)
{
	return 0;
}

int hca_dealloc_xrcd(struct ib_xrcd *xrcd, struct ib_udata *udata)
{
	return 0;
}

/* An address handle of a program gets a number, by which the send requests in the ring name it. */
int hca_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init, struct ib_udata *udata)
{
	struct hca_device *dev = to_hca(ibah->device);
	struct hca_ah *ah = to_hca_ah(ibah);
	struct rxe_create_ah_resp resp = {};
	int ret;

	ah->attr = *init->ah_attr;
	/* The core holds the GID for the handle; the pointer is not ours to keep. */
	ah->attr.grh.sgid_attr = NULL;
	ah->num = 0;
	if (!udata)
		return 0;
	ret = xa_alloc_irq(&dev->ahs, &ah->num, ah, XA_LIMIT(1, INT_MAX), GFP_KERNEL);
	if (ret)
		return ret;
	resp.ah_num = ah->num;
	ret = ib_copy_to_udata(udata, &resp, min(sizeof(resp), udata->outlen));
	if (ret)
		xa_erase_irq(&dev->ahs, ah->num);
	return ret;
}

/* ib_sa and ib_mad ask for the address of a handle before they send. */
int hca_query_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr)
{
	*attr = to_hca_ah(ibah)->attr;
	return 0;
}

int hca_destroy_ah(struct ib_ah *ibah, u32 flags)
{
	struct hca_device *dev = to_hca(ibah->device);
	struct hca_ah *ah = to_hca_ah(ibah);

	if (ah->num)
		xa_erase_irq(&dev->ahs, ah->num);
	return 0;
}

/* Returns -EOPNOTSUPP for tag matching, -EINVAL for sizes beyond the limits of the device. */
int hca_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init, struct ib_udata *udata)
{
	struct hca_device *dev = to_hca(ibsrq->device);
	struct hca_srq *srq = to_hca_srq(ibsrq);
	struct rxe_create_srq_resp resp = {};

	if (init->srq_type != IB_SRQT_BASIC && init->srq_type != IB_SRQT_XRC)
		return -EOPNOTSUPP;
	if (!init->attr.max_wr || init->attr.max_wr > HCA_MAX_WR ||
	    init->attr.max_sge > HCA_MAX_SGE)
		return -EINVAL;
	spin_lock_init(&srq->lock);
	srq->max_sge = init->attr.max_sge;
	srq->max_wr = init->attr.max_wr;
	srq->queue = hca_queue_new(srq->max_wr, sizeof(struct rxe_recv_wqe) +
				   srq->max_sge * sizeof(struct rxe_sge));
	if (!srq->queue)
		return -ENOMEM;
	if (!udata)
		return 0;
	return hca_queue_give(dev, srq->queue, udata, &resp, sizeof(resp), &resp.mi);
}

int hca_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr)
{
	struct hca_srq *srq = to_hca_srq(ibsrq);

	attr->max_wr = srq->max_wr;
	attr->max_sge = srq->max_sge;
	attr->srq_limit = 0;
	return 0;
}

int hca_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	hca_queue_free(to_hca(ibsrq->device), to_hca_srq(ibsrq)->queue);
	return 0;
}
