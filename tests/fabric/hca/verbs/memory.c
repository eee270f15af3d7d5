// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Memory regions, and copying to and from what work requests point at.
 *
 * The adapter is registered for virtual DMA: an address of the kernel's is a pointer. Memory of a
 * program is reached by the pages that its region has pinned.
 *
 * Locking: the adapter's mutex @memory keeps a program's region while it is copied.
 */
#include "verbs/verbs.h"

#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <rdma/ib_umem.h>

/* The region of all kernel memory. */
struct ib_mr *hca_get_dma_mr(struct ib_pd *pd, int access)
{
	struct hca_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL);

	return mr ? &mr->ib : ERR_PTR(-ENOMEM);
}

struct ib_mr *hca_reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 iova, int access,
			      HCA_DMAH_ARG struct ib_udata *udata)
{
	struct hca_device *dev = to_hca(pd->device);
	struct hca_mr *mr;
	int ret;

	mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->umem = ib_umem_get(&dev->ib, start, length, access);
	if (IS_ERR(mr->umem)) {
		ret = PTR_ERR(mr->umem);
		goto err_free;
	}
	mr->access = access;
	mr->ib.pd = pd;
	mr->ib.iova = iova;
	mr->ib.length = length;
	ret = xa_alloc_irq(&dev->mrs, &mr->ib.lkey, mr, XA_LIMIT(1, INT_MAX), GFP_KERNEL);
	if (ret)
		goto err_release;
	mr->ib.rkey = mr->ib.lkey;
	return &mr->ib;

err_release:
	ib_umem_release(mr->umem);
err_free:
	kfree(mr);
	return ERR_PTR(ret);
}

/* Waits for a copy to or from the region. */
int hca_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct hca_device *dev = to_hca(ibmr->device);
	struct hca_mr *mr = to_hca_mr(ibmr);

	if (mr->umem) {
		mutex_lock(&dev->memory);
		xa_erase_irq(&dev->mrs, ibmr->lkey);
		mutex_unlock(&dev->memory);
		ib_umem_release(mr->umem);
	}
	kfree(mr);
	return 0;
}

/* Copies a piece of a region; the mutex memory is held. */
static int copy_region(struct hca_mr *mr, u64 at, void *kernel, size_t len, bool in)
{
	struct sg_table *sgt;
	size_t did;
	off_t off;

	if (at < mr->ib.iova || len > mr->ib.length || at - mr->ib.iova > mr->ib.length - len)
		return -EFAULT;
	sgt = &mr->umem->sgt_append.sgt;
	off = ib_umem_offset(mr->umem) + (at - mr->ib.iova);
	if (in)
		did = sg_pcopy_from_buffer(sgt->sgl, sgt->orig_nents, kernel, len, off);
	else
		did = sg_pcopy_to_buffer(sgt->sgl, sgt->orig_nents, kernel, len, off);
	return did == len ? 0 : -EFAULT;
}

/* Copies a piece of a program's memory; the mutex memory is held. */
static int copy_user(struct hca_qp *qp, const struct ib_sge *sge, size_t skip, void *kernel,
		     size_t len, bool in)
{
	struct hca_device *dev = to_hca(qp->ib.device);
	struct hca_mr *mr = xa_load(&dev->mrs, sge->lkey);

	if (!mr || mr->ib.pd != qp->ib.pd)
		return -EFAULT;
	return copy_region(mr, sge->addr + skip, kernel, len, in);
}

static int copy_sges(struct hca_qp *qp, const struct ib_sge *sge, u32 count, size_t skip, u8 *buf,
		     size_t len, bool in)
{
	struct hca_device *dev = to_hca(qp->ib.device);
	int ret = 0;

	if (qp->user)
		mutex_lock(&dev->memory);
	for (; count && len && !ret; count--, sge++) {
		size_t piece;

		if (skip >= sge->length) {
			skip -= sge->length;
			continue;
		}
		piece = min_t(size_t, sge->length - skip, len);
		if (qp->user)
			ret = copy_user(qp, sge, skip, buf, piece, in);
		else if (in)
			memcpy((void *)(uintptr_t)sge->addr + skip, buf, piece);
		else
			memcpy(buf, (void *)(uintptr_t)sge->addr + skip, piece);
		skip = 0;
		buf += piece;
		len -= piece;
	}
	if (qp->user)
		mutex_unlock(&dev->memory);
	return ret ?: len ? -EMSGSIZE : 0;
}

/*
 * Reads the data of a send request. Returns -EFAULT outside of the regions of the program,
 * -EMSGSIZE when the scatter list is shorter than @len. Process context for a QP of a program, any
 * context for one of the kernel.
 */
int hca_gather(struct hca_qp *qp, const struct ib_sge *sge, u32 count, void *to, size_t len)
{
	return copy_sges(qp, sge, count, 0, to, len, false);
}

/* Writes behind the first @skip bytes of a scatter list; else as hca_gather(). */
int hca_scatter(struct hca_qp *qp, const struct ib_sge *sge, u32 count, size_t skip,
		const void *from, size_t len)
{
	return copy_sges(qp, sge, count, skip, (u8 *)from, len, true);
}

/*
 * Writes what an RDMA write of the peer carries. Returns -EACCES if the QP or the region does not
 * allow it, -EFAULT outside of the region. Process context.
 */
int hca_write_remote(struct hca_qp *qp, u64 addr, u32 rkey, const void *from, size_t len)
{
	struct hca_device *dev = to_hca(qp->ib.device);
	struct hca_mr *mr;
	int ret = -EACCES;

	if (!(READ_ONCE(qp->attr.qp_access_flags) & IB_ACCESS_REMOTE_WRITE))
		return -EACCES;
	/* Without data neither key nor address count. */
	if (!len)
		return 0;
	mutex_lock(&dev->memory);
	mr = xa_load(&dev->mrs, rkey);
	if (mr && mr->ib.pd == qp->ib.pd && (mr->access & IB_ACCESS_REMOTE_WRITE))
		ret = copy_region(mr, addr, (void *)from, len, true);
	mutex_unlock(&dev->memory);
	return ret;
}
