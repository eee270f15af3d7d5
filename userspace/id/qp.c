// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The QP of an id, and CQs for it: create and destroy.
 *
 * Locking: none; the program does not use the QP of one id in two threads at once.
 */
#include "id/qp.h"

#include <string.h>

#include "base/compiler.h"
#include "base/err.h"
#include "id/cmid.h"
#include "id/members.h"
#include "id/report.h"

void rcl_cqs_destroy(struct rdma_cm_id *id)
{
	bool made = rcl_id_of(id)->made_send_cq;
	/* What the program has put into the id for sends alone stays, as with librdmacm. */
	bool send_cq = id->send_cq && (id->recv_cq || made);
	bool send_channel = id->send_cq_channel && (id->recv_cq_channel || made);

	if (id->recv_cq && id->recv_cq != id->send_cq)
		ibv_destroy_cq(id->recv_cq);
	if (send_cq)
		ibv_destroy_cq(id->send_cq);
	if (id->recv_cq_channel && id->recv_cq_channel != id->send_cq_channel)
		ibv_destroy_comp_channel(id->recv_cq_channel);
	if (send_channel)
		ibv_destroy_comp_channel(id->send_cq_channel);
	id->recv_cq = NULL;
	id->recv_cq_channel = NULL;
	if (send_cq)
		id->send_cq = NULL;
	if (send_channel)
		id->send_cq_channel = NULL;
	rcl_id_of(id)->made_send_cq = false;
}

static int create_cq(struct rdma_cm_id *id, uint32_t size,
		     struct ibv_comp_channel **out_channel, struct ibv_cq **out_cq)
{
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	int ret;

	if (size > INT32_MAX)
		return -EINVAL;
	errno = ENOMEM;
	channel = ibv_create_comp_channel(id->verbs);
	if (!channel)
		return rcl_errno();
	errno = ENOMEM;
	cq = ibv_create_cq(id->verbs, (int)size, id, channel, 0);
	if (!cq) {
		ret = rcl_errno();
		ibv_destroy_comp_channel(channel);
		return ret;
	}
	*out_channel = channel;
	*out_cq = cq;
	return 0;
}

/* Undoes rcl_cqs_create(). Other CQs of the id, as for an XRC SRQ, stay. */
static void undo_cqs(struct rdma_cm_id *id, bool send, bool recv)
{
	if (recv) {
		ibv_destroy_cq(id->recv_cq);
		ibv_destroy_comp_channel(id->recv_cq_channel);
		id->recv_cq = NULL;
		id->recv_cq_channel = NULL;
	}
	if (send) {
		ibv_destroy_cq(id->send_cq);
		ibv_destroy_comp_channel(id->send_cq_channel);
		id->send_cq = NULL;
		id->send_cq_channel = NULL;
		rcl_id_of(id)->made_send_cq = false;
	}
}

int rcl_cqs_create(struct rdma_cm_id *id, uint32_t send_size, uint32_t recv_size)
{
	int ret = 0;

	if (recv_size)
		ret = create_cq(id, recv_size, &id->recv_cq_channel, &id->recv_cq);
	if (ret || !send_size)
		return ret;
	ret = create_cq(id, send_size, &id->send_cq_channel, &id->send_cq);
	if (ret)
		undo_cqs(id, false, recv_size);
	else
		rcl_id_of(id)->made_send_cq = true;
	return ret;
}

static int check_qp_attr(const struct rdma_cm_id *id, const struct ibv_qp_init_attr_ex *attr)
{
	if (id->qp || !id->verbs)
		return -EINVAL;
	if ((attr->comp_mask & IBV_QP_INIT_ATTR_PD) && attr->pd &&
	    attr->pd->context != id->verbs)
		return -EINVAL;
	if (id->send_cq && attr->send_cq && id->send_cq != attr->send_cq)
		return -EINVAL;
	if (id->recv_cq && attr->recv_cq && id->recv_cq != attr->recv_cq)
		return -EINVAL;
	return 0;
}

/* Receive completions of a QP without receives of its own: those of its SRQ. */
static uint32_t shared_recvs(struct ibv_srq *srq)
{
	struct ibv_srq_attr attr = { 0 };

	if (!srq || ibv_query_srq(srq, &attr) || !attr.max_wr)
		return 1;
	return attr.max_wr;
}

/*
 * Sizes of the CQs that the id must create; 0: none. libibverbs needs both CQs even for a QP that
 * never sends or never receives, except for XRC types, which have no such queue.
 */
static void cq_sizes(const struct rdma_cm_id *id,
		     const struct ibv_qp_init_attr_ex *attr,
		     uint32_t *send, uint32_t *recv)
{
	bool sends = id->qp_type != IBV_QPT_XRC_RECV;
	bool receives = sends && id->qp_type != IBV_QPT_XRC_SEND;

	*send = *recv = 0;
	if (!attr->send_cq && !id->send_cq)
		*send = attr->cap.max_send_wr ? attr->cap.max_send_wr : sends;
	if (attr->recv_cq || id->recv_cq)
		return;
	*recv = attr->cap.max_recv_wr;
	if (!*recv && receives)
		*recv = shared_recvs(attr->srq ? attr->srq : id->srq);
}

static int fill_qp_attr(struct rcl_id *id, struct ibv_qp_init_attr_ex *attr)
{
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || !attr->pd) {
		attr->comp_mask |= IBV_QP_INIT_ATTR_PD;
		attr->pd = id->id.pd;
	}
	if (id->id.qp_type == IBV_QPT_XRC_RECV &&
	    (!(attr->comp_mask & IBV_QP_INIT_ATTR_XRCD) || !attr->xrcd)) {
		errno = EOPNOTSUPP;
		attr->xrcd = rcl_device_xrcd(id->device);
		if (!attr->xrcd)
			return rcl_errno();
		attr->comp_mask |= IBV_QP_INIT_ATTR_XRCD;
	}
	if (!attr->send_cq)
		attr->send_cq = id->id.send_cq;
	if (!attr->recv_cq)
		attr->recv_cq = id->id.recv_cq;
	if (!attr->srq)
		attr->srq = id->id.srq;
	return 0;
}

static int start_qp(struct rcl_id *id, struct ibv_qp *qp)
{
	int ret = rcl_ece_start(id, qp);

	if (!ret)
		ret = rcl_qp_start(id, qp);
	if (!ret)
		ret = rcl_ece_agreed(id, qp);
	return ret;
}

/* Changes members of *attr; the callers restore them. */
static int create_qp(struct rcl_id *id, struct ibv_qp_init_attr_ex *attr)
{
	uint32_t send_size, recv_size;
	struct ibv_qp *qp;
	int ret;

	ret = check_qp_attr(&id->id, attr);
	if (ret)
		return ret;
	cq_sizes(&id->id, attr, &send_size, &recv_size);
	ret = rcl_cqs_create(&id->id, send_size, recv_size);
	if (ret)
		return ret;
	ret = fill_qp_attr(id, attr);
	if (ret)
		goto err_cqs;
	errno = EINVAL;
	qp = ibv_create_qp_ex(id->id.verbs, attr);
	if (!qp) {
		ret = rcl_errno();
		goto err_cqs;
	}
	ret = start_qp(id, qp);
	if (ret)
		goto err_qp;
	id->id.pd = qp->pd;
	id->id.qp = qp;
	return 0;
err_qp:
	id->init.qp = NULL;
	ibv_destroy_qp(qp);
err_cqs:
	undo_cqs(&id->id, send_size, recv_size);
	return ret;
}

static const char qp_failed[] =
	"no QP; the id needs a device and no QP yet, a PD of that device, sizes within its limits";

RCL_EXPORT int rdma_create_qp_ex(struct rdma_cm_id *id,
				 struct ibv_qp_init_attr_ex *attr)
{
	struct rcl_id *priv = rcl_id_of(id);
	uint32_t comp_mask;
	struct ibv_cq *send_cq, *recv_cq;
	struct ibv_xrcd *xrcd = NULL;
	struct ibv_srq *srq;
	struct ibv_pd *pd;
	int ret;

	if (!id || !attr)
		return rcl_fail_id(priv, -EINVAL, __func__, "no id or no attributes");
	if (rcl_refuse_id(priv, __func__))
		return -1;
	/*
	 * Not a copy, as the caller's struct may be longer than ours. Its pointers are restored:
	 * the CQs that the id creates are destroyed with the QP.
	 */
	comp_mask = attr->comp_mask;
	send_cq = attr->send_cq;
	recv_cq = attr->recv_cq;
	srq = attr->srq;
	pd = attr->pd;
	if (comp_mask & IBV_QP_INIT_ATTR_XRCD)
		xrcd = attr->xrcd;
	ret = create_qp(priv, attr);
	attr->pd = pd;
	if (comp_mask & IBV_QP_INIT_ATTR_XRCD)
		attr->xrcd = xrcd;
	attr->comp_mask = comp_mask;
	attr->send_cq = send_cq;
	attr->recv_cq = recv_cq;
	attr->srq = srq;
	return ret ? rcl_fail_id(priv, ret, __func__, qp_failed) : 0;
}

RCL_EXPORT int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd,
			      struct ibv_qp_init_attr *qp_init_attr)
{
	struct ibv_qp_init_attr_ex attr = { 0 };
	struct rcl_id *priv = rcl_id_of(id);
	int ret;

	if (!id || !qp_init_attr)
		return rcl_fail_id(priv, -EINVAL, __func__, "no id or no attributes");
	if (rcl_refuse_id(priv, __func__))
		return -1;
	/* The long struct begins with the members of the short one. */
	memcpy(&attr, qp_init_attr, sizeof(*qp_init_attr));
	attr.comp_mask = IBV_QP_INIT_ATTR_PD;
	attr.pd = pd;
	ret = create_qp(priv, &attr);
	if (ret)
		return rcl_fail_id(priv, ret, __func__, qp_failed);
	qp_init_attr->cap = attr.cap;
	return 0;
}

RCL_EXPORT void rdma_destroy_qp(struct rdma_cm_id *id)
{
	if (!id || !id->qp || rcl_refuse_id(rcl_id_of(id), __func__))
		return;
	/* A QP that is attached to a group cannot be destroyed. */
	rcl_members_detach(rcl_id_of(id));
	ibv_destroy_qp(id->qp);
	id->qp = NULL;
	rcl_id_of(id)->init.qp = NULL;
	/* CQs of an XRC SRQ are destroyed with the SRQ. */
	if (id->qp_type != IBV_QPT_XRC_RECV || !id->srq)
		rcl_cqs_destroy(id);
}
