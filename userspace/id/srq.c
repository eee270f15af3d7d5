// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The shared receive queue of an id: create and destroy.
 *
 * Locking: none; the program does not use the queues of one id in two threads at once.
 */
#include <rdma/rdma_verbs.h>
#include <string.h>

#include "base/compiler.h"
#include "base/err.h"
#include "id/cmid.h"
#include "id/qp.h"
#include "id/report.h"

/* XRC domain and CQ of an XRC SRQ. *made: a CQ was created. */
static int fill_xrc(struct rcl_id *id, struct ibv_srq_init_attr_ex *attr, bool *made)
{
	int ret;

	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_XRCD) || !attr->xrcd) {
		errno = EOPNOTSUPP;
		attr->xrcd = rcl_device_xrcd(id->device);
		if (!attr->xrcd)
			return rcl_errno();
	}
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_CQ) || !attr->cq) {
		if (!id->id.recv_cq) {
			ret = rcl_cqs_create(&id->id, 0,
					     attr->attr.max_wr ? attr->attr.max_wr : 1);
			if (ret)
				return ret;
			*made = true;
		}
		attr->cq = id->id.recv_cq;
	}
	attr->comp_mask |= IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
	return 0;
}

/* Changes members of *attr; the callers restore them. */
static int create_srq(struct rcl_id *id, struct ibv_srq_init_attr_ex *attr)
{
	struct ibv_srq *srq;
	bool made = false;
	int ret;

	if (!id->id.verbs || id->id.srq || !(attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE))
		return -EINVAL;
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) || !attr->pd) {
		attr->pd = id->id.pd;
		attr->comp_mask |= IBV_SRQ_INIT_ATTR_PD;
	} else if (attr->pd->context != id->id.verbs) {
		return -EINVAL;
	}
	if (attr->srq_type == IBV_SRQT_XRC) {
		ret = fill_xrc(id, attr, &made);
		if (ret)
			return ret;
	}
	errno = EINVAL;
	srq = ibv_create_srq_ex(id->id.verbs, attr);
	if (!srq) {
		ret = rcl_errno();
		if (made)
			rcl_cqs_destroy(&id->id);
		return ret;
	}
	if (!id->id.pd)
		id->id.pd = attr->pd;
	id->id.srq = srq;
	return 0;
}

static const char srq_failed[] =
	"no shared queue; the id needs a device and none yet, comp_mask a type, sizes in limits";

RCL_EXPORT int rdma_create_srq_ex(struct rdma_cm_id *id,
				  struct ibv_srq_init_attr_ex *attr)
{
	struct rcl_id *priv = rcl_id_of(id);
	struct ibv_xrcd *xrcd;
	uint32_t comp_mask;
	struct ibv_cq *cq;
	struct ibv_pd *pd;
	int ret;

	if (!id || !attr)
		return rcl_fail_id(priv, -EINVAL, __func__, "no id or no attributes");
	if (rcl_refuse_id(priv, __func__))
		return -1;
	/*
	 * Not a copy, as the caller's struct may be longer than ours. Its pointers are restored:
	 * what the id fills in is destroyed with the SRQ.
	 */
	comp_mask = attr->comp_mask;
	pd = attr->pd;
	xrcd = attr->xrcd;
	cq = attr->cq;
	ret = create_srq(priv, attr);
	attr->comp_mask = comp_mask;
	attr->pd = pd;
	attr->xrcd = xrcd;
	attr->cq = cq;
	return ret ? rcl_fail_id(priv, ret, __func__, srq_failed) : 0;
}

RCL_EXPORT int rdma_create_srq(struct rdma_cm_id *id, struct ibv_pd *pd,
			       struct ibv_srq_init_attr *attr)
{
	struct ibv_srq_init_attr_ex ex = { 0 };
	struct rcl_id *priv = rcl_id_of(id);
	int ret;

	if (!id || !attr)
		return rcl_fail_id(priv, -EINVAL, __func__, "no id or no attributes");
	if (rcl_refuse_id(priv, __func__))
		return -1;
	/* The long struct begins with the members of the short one. */
	memcpy(&ex, attr, sizeof(*attr));
	ex.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
	ex.srq_type = id->qp_type == IBV_QPT_XRC_RECV ? IBV_SRQT_XRC : IBV_SRQT_BASIC;
	ex.pd = pd;
	ret = create_srq(priv, &ex);
	if (ret)
		return rcl_fail_id(priv, ret, __func__, srq_failed);
	attr->attr = ex.attr;
	return 0;
}

RCL_EXPORT void rdma_destroy_srq(struct rdma_cm_id *id)
{
	if (!id || !id->srq || rcl_refuse_id(rcl_id_of(id), __func__))
		return;
	ibv_destroy_srq(id->srq);
	id->srq = NULL;
	/* A QP still uses the CQs. */
	if (!id->qp)
		rcl_cqs_destroy(id);
}
