// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Checks of QP numbers and queue keys that a caller passes: a peer believes them,
 * and sends there.
 *
 * Locking: none.
 */
#include "transport/transport.h"

#include <linux/cred.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_verbs.h>
#include <rdma/restrack.h>

#include "lib/compat.h"

static bool may_use(const struct ib_device *ibdev, const struct rdma_restrack_entry *qp)
{
	return (!rdma_is_kernel_res(qp) && uid_eq(task_uid(qp->task), current_uid())) ||
	       rdma_dev_has_raw_cap(ibdev);
}

/*
 * May the caller have peers connect to a QP? 0 or -EPERM. A QP that ib_core knows must belong to
 * the user of the caller, unless the caller has CAP_NET_RAW. The management QPs 0 and 1, which
 * ports of iWARP do not have, belong to the kernel. A number that ib_core does not know is
 * accepted, because some drivers create QPs without ib_core.
 */
int rca_qp_owner_check(struct ib_device *ibdev, u32 qp_num)
{
	struct rdma_restrack_entry *qp;
	bool ok;

	/* restrack has them under their number and port. */
	if (qp_num <= 1 && !rdma_protocol_iwarp(ibdev, rdma_start_port(ibdev)))
		return rdma_dev_has_raw_cap(ibdev) ? 0 : -EPERM;
	qp = rdma_restrack_get_byid(ibdev, RDMA_RESTRACK_QP, qp_num);
	if (IS_ERR(qp))
		return 0;
	ok = may_use(ibdev, qp);
	rdma_restrack_put(qp);
	return ok ? 0 : -EPERM;
}

/*
 * Check as rca_qp_owner_check(), and keep the number of the QP in use: over iWARP the driver looks
 * the QP up by its number. Until rca_qp_owner_release_iw() it finds no other QP than the one that
 * was checked. NULL: ib_core does not know it. May sleep.
 */
struct ib_qp *rca_qp_owner_hold_iw(struct ib_device *ibdev, u32 qp_num)
{
	struct rdma_restrack_entry *res = rdma_restrack_get_byid(ibdev, RDMA_RESTRACK_QP, qp_num);
	struct ib_qp *qp;

	if (IS_ERR(res))
		return NULL;
	qp = container_of(res, struct ib_qp, res);
	/* While restrack is referenced, the QP is not destroyed. */
	if (may_use(ibdev, res))
		ibdev->ops.iw_add_ref(qp);
	else
		qp = ERR_PTR(-EPERM);
	rdma_restrack_put(res);
	return qp;
}

/* Release the QP from rca_qp_owner_hold_iw(), which may be NULL. */
void rca_qp_owner_release_iw(struct ib_device *ibdev, struct ib_qp *qp)
{
	if (qp)
		ibdev->ops.iw_rem_ref(qp);
}

/**
 * rca_qp_owner_check_qkey() - check that the caller may give a queue key to peers
 * @ibdev: the device
 * @qkey: the key
 *
 * Keys with the highest bit set are for privileged users (IBTA volume 1, 10.2.5): those with
 * CAP_NET_RAW, or all while the administrator has set privileged-qkey (rdma-system(8)).
 *
 * Context: Process context, with the credentials of the caller.
 * Return: 0 or -EPERM.
 */
int rca_qp_owner_check_qkey(const struct ib_device *ibdev, u32 qkey)
{
	if (!(qkey & IB_QP_SET_QKEY) || rdma_nl_get_privileged_qkey() ||
	    rdma_dev_has_raw_cap(ibdev))
		return 0;
	return -EPERM;
}
