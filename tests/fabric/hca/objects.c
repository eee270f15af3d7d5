// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The small objects of the verbs: contexts, protection domains, XRC domains, address handles and
 * shared receive queues. The RDMA core keeps their lifetimes.
 *
 * Locking: address handles of programs are in a table with a lock of its own; the rest needs none.
 */
#include "verbs.h"

#include <rdma/uverbs_ioctl.h>

/**
 * hca_alloc_ucontext() - a program opens the adapter
 * @context: the core's part, there is nothing more
 * @udata: unused
 *
 * Context: process.
 * Return: 0.
 */
int hca_alloc_ucontext(struct ib_ucontext *context, struct ib_udata *udata)
{
	return 0;
}

/**
 * hca_dealloc_ucontext() - a program closed the adapter
 * @context: the core's part
 *
 * Context: process.
 */
void hca_dealloc_ucontext(struct ib_ucontext *context)
{
}

/**
 * hca_disassociate_ucontext() - the adapter goes while a program has it open
 * @context: the program's
 *
 * That the function exists tells uverbs that it may take the objects away from the program. What
 * the program has mapped is memory of its own then, see hca_queue_mmap().
 *
 * Context: process.
 */
void hca_disassociate_ucontext(struct ib_ucontext *context)
{
}

/**
 * hca_alloc_pd() - a protection domain
 * @pd: the core's part, there is nothing more
 * @udata: unused
 *
 * Context: process.
 * Return: 0.
 */
int hca_alloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	return 0;
}

/**
 * hca_dealloc_pd() - a protection domain goes
 * @pd: the core's part
 * @udata: unused
 *
 * Context: process.
 * Return: 0.
 */
int hca_dealloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	return 0;
}

/**
 * hca_alloc_xrcd() - an XRC domain
 * @xrcd: the core's part, there is nothing more
 * @udata: unused
 *
 * Context: process.
 * Return: 0.
 */
int hca_alloc_xrcd(struct ib_xrcd *xrcd, struct ib_udata *udata)
{
	return 0;
}

/**
 * hca_dealloc_xrcd() - an XRC domain goes
 * @xrcd: the core's part
 * @udata: unused
 *
 * Context: process.
 * Return: 0.
 */
int hca_dealloc_xrcd(struct ib_xrcd *xrcd, struct ib_udata *udata)
{
	return 0;
}

/**
 * hca_create_ah() - an address handle, for the kernel or for a program
 * @ibah: the core's part of the new one
 * @init: the address
 * @udata: where the program learns the number; NULL for the kernel
 *
 * Context: any for the kernel, process for a program.
 * Return: 0, -EFAULT, -ENOMEM, or -EBUSY when there are no numbers left.
 */
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

/**
 * hca_query_ah() - the address in an address handle
 * @ibah: the handle
 * @attr: where it goes
 *
 * Context: any.
 * Return: 0.
 */
int hca_query_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr)
{
	*attr = to_hca_ah(ibah)->attr;
	return 0;
}

/**
 * hca_destroy_ah() - an address handle goes
 * @ibah: the handle
 * @flags: unused
 *
 * Context: any for the kernel's, process for a program's.
 * Return: 0.
 */
int hca_destroy_ah(struct ib_ah *ibah, u32 flags)
{
	struct hca_device *dev = to_hca(ibah->device);
	struct hca_ah *ah = to_hca_ah(ibah);

	if (ah->num)
		xa_erase_irq(&dev->ahs, ah->num);
	return 0;
}

/**
 * hca_create_srq() - a shared receive queue
 * @ibsrq: the core's part of the new one
 * @init: its attributes
 * @udata: where the program learns how to map it; NULL for the kernel
 *
 * Context: process, may sleep.
 * Return: 0, -EINVAL for sizes beyond the adapter's, -EOPNOTSUPP for tag matching, -ENOMEM,
 * -EFAULT.
 */
int hca_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init, struct ib_udata *udata)
{
	struct hca_device *dev = to_hca(ibsrq->device);
	struct hca_srq *srq = to_hca_srq(ibsrq);
	struct rxe_create_srq_resp resp = {};
	int ret;

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
	hca_queue_share(dev, srq->queue, udata, &resp.mi);
	ret = ib_copy_to_udata(udata, &resp, min(sizeof(resp), udata->outlen));
	if (ret)
		hca_queue_free(dev, srq->queue);
	return ret;
}

/**
 * hca_query_srq() - the attributes of a shared receive queue
 * @ibsrq: the queue
 * @attr: where they go
 *
 * Context: any.
 * Return: 0.
 */
int hca_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr)
{
	struct hca_srq *srq = to_hca_srq(ibsrq);

	attr->max_wr = srq->max_wr;
	attr->max_sge = srq->max_sge;
	attr->srq_limit = 0;
	return 0;
}

/**
 * hca_destroy_srq() - a shared receive queue goes
 * @ibsrq: the queue, which no QP uses any more
 * @udata: unused
 *
 * Context: process, may sleep.
 * Return: 0.
 */
int hca_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	hca_queue_free(to_hca(ibsrq->device), to_hca_srq(ibsrq)->queue);
	return 0;
}
