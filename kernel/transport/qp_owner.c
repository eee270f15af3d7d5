// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What a caller may say of queue pairs: a peer believes the number and the queue
 * key that it is told, and sends there.
 *
 * Locking: none.
 */
#include "transport/qp_owner.h"

#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <rdma/ib_mad.h>
#include <rdma/restrack.h>

/**
 * rca_qp_owner_check() - may the caller have peers connect to a QP?
 * @ibdev: the device
 * @qp_num: number of the QP
 *
 * One that ib_core knows must be his, or he needs CAP_NET_RAW. One that it does
 * not know may come from anywhere: there are drivers that make QPs by themselves.
 *
 * Context: Process context, with the credentials of the caller.
 * Return: 0 or -EPERM.
 */
int rca_qp_owner_check(struct ib_device *ibdev, u32 qp_num)
{
	struct rdma_restrack_entry *qp = rdma_restrack_get_byid(ibdev, RDMA_RESTRACK_QP, qp_num);
	bool own;

	if (IS_ERR(qp))
		return 0;
	own = !rdma_is_kernel_res(qp) && uid_eq(task_uid(qp->task), current_uid());
	rdma_restrack_put(qp);
	return own || capable(CAP_NET_RAW) ? 0 : -EPERM;
}

/**
 * rca_qp_owner_check_qkey() - may the caller give peers a queue key?
 * @qkey: the key
 *
 * Those with the highest bit are for privileged users (IBTA volume 1, 10.2.5).
 *
 * Context: Process context, with the credentials of the caller.
 * Return: 0 or -EPERM.
 */
int rca_qp_owner_check_qkey(u32 qkey)
{
	return !(qkey & IB_QP_SET_QKEY) || capable(CAP_NET_RAW) ? 0 : -EPERM;
}
