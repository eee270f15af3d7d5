// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * State transitions of an id's QP, and the source of their attributes.
 *
 * Locking: the id's lock around the stored attributes.
 */
#include <string.h>

#include "base/compiler.h"
#include "base/err.h"
#include "base/marshal.h"
#include "core/context.h"
#include "id/cmid.h"
#include "id/qp.h"
#include "id/report.h"

/* Higher bits of the mask are internal to the kernel; ibv_modify_qp() does not take them. */
#define USER_MASK_BITS ((int)((IBV_QP_DEST_QPN << 1) - 1))

void rcl_qp_cache_attr(struct rcl_id *id, const struct rdma_cm_alt_event *rec)
{
	const struct rdma_cm_alt_qp_attr *qp = &rec->qp;

	if (!(rec->flags & RDMA_CM_ALT_EVENT_F_QP) ||
	    !(qp->init_mask | qp->rtr_mask | qp->rts_mask))
		return;
	pthread_mutex_lock(&id->lock);
	id->qp_attr = *qp;
	pthread_mutex_unlock(&id->lock);
}

void rcl_qp_drop_init_attr(struct rcl_id *id)
{
	pthread_mutex_lock(&id->lock);
	id->qp_attr.init_mask = 0;
	pthread_mutex_unlock(&id->lock);
}

void rcl_qp_drop_attr(struct rcl_id *id)
{
	pthread_mutex_lock(&id->lock);
	id->qp_attr.init_mask = 0;
	id->qp_attr.rtr_mask = 0;
	id->qp_attr.rts_mask = 0;
	pthread_mutex_unlock(&id->lock);
}

/* The stored attributes for a state; false: query the kernel. */
static bool cached_attr(struct rcl_id *id, enum ibv_qp_state state,
			struct ib_uverbs_qp_attr *out)
{
	const struct rdma_cm_alt_qp_attr *qp = &id->qp_attr;
	uint32_t mask = 0;
	bool known;

	pthread_mutex_lock(&id->lock);
	/* A transport may need no attributes for RTS: valid with an empty mask. */
	known = state == IBV_QPS_INIT ? qp->init_mask : qp->rtr_mask | qp->rts_mask;
	if (state == IBV_QPS_INIT)
		mask = qp->init_mask;
	else if (state == IBV_QPS_RTR)
		mask = qp->rtr_mask;
	else if (state == IBV_QPS_RTS)
		mask = qp->rts_mask;
	else
		known = false;
	if (known) {
		*out = qp->attr;
		out->qp_attr_mask = mask;
	}
	pthread_mutex_unlock(&id->lock);
	return known;
}

/* Values of the id that replace those of the kernel. */
static void apply_overrides(struct rcl_id *id, struct ibv_qp_attr *attr, int mask)
{
	pthread_mutex_lock(&id->lock);
	if (id->accepted && (mask & IBV_QP_MAX_DEST_RD_ATOMIC))
		attr->max_dest_rd_atomic = id->responder_resources;
	if (id->accepted && (mask & IBV_QP_MAX_QP_RD_ATOMIC))
		attr->max_rd_atomic = id->initiator_depth;
	if (id->ack_timeout_set && (mask & IBV_QP_TIMEOUT))
		attr->timeout = id->ack_timeout;
	pthread_mutex_unlock(&id->lock);
}

int rcl_qp_attr(struct rcl_id *id, enum ibv_qp_state state,
		struct ibv_qp_attr *attr, int *mask)
{
	struct rdma_cm_alt_qp_attr_get cmd = { 0 };
	int ret;

	if (!cached_attr(id, state, &cmd.out_attr)) {
		cmd.id = id->handle;
		cmd.qp_state = state;
		ret = RCL_CALL(QP_ATTR, &cmd);
		if (ret)
			return ret;
	}
	rcl_qp_attr_from_kernel(attr, &cmd.out_attr);
	*mask = (int)cmd.out_attr.qp_attr_mask;
	apply_overrides(id, attr, *mask);
	return 0;
}

static int modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	mask &= USER_MASK_BITS;
	return mask ? rcl_verbs_err(ibv_modify_qp(qp, attr, mask)) : 0;
}

/* Moves to INIT; from INIT with the same attributes the move is omitted. */
static int move_to_init(struct rcl_id *id, struct ibv_qp *qp)
{
	const struct rcl_init *last = &id->init;
	struct ibv_qp_attr attr = { 0 };
	int mask, ret;

	ret = rcl_qp_attr(id, IBV_QPS_INIT, &attr, &mask);
	if (ret)
		return ret;
	if (last->qp == qp && last->qp_num == qp->qp_num && qp->state == IBV_QPS_INIT &&
	    last->access == attr.qp_access_flags && last->qkey == attr.qkey &&
	    last->pkey_index == attr.pkey_index && last->port_num == attr.port_num)
		return 0;
	attr.qp_state = IBV_QPS_INIT;
	ret = modify_qp(qp, &attr, mask);
	if (ret)
		return ret;
	id->init = (struct rcl_init) {
		.qp = qp, .qp_num = qp->qp_num, .access = attr.qp_access_flags,
		.qkey = attr.qkey, .pkey_index = attr.pkey_index, .port_num = attr.port_num,
	};
	return 0;
}

static int move_ud_to_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR };
	int ret;

	ret = modify_qp(qp, &attr, IBV_QP_STATE);
	if (ret)
		return ret;
	attr.qp_state = IBV_QPS_RTS;
	return modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

int rcl_qp_start(struct rcl_id *id, struct ibv_qp *qp)
{
	int ret;

	id->init.qp = NULL;
	ret = move_to_init(id, qp);
	if (!ret && id->id.qp_type == IBV_QPT_UD)
		ret = move_ud_to_rts(qp);
	return ret;
}

int rcl_qp_connect(struct rcl_id *id, uint8_t responder_resources,
		   uint8_t initiator_depth)
{
	struct ibv_qp *qp = id->id.qp;
	struct ibv_qp_attr attr = { 0 };
	int mask, ret;

	if (!qp)
		return 0;
	ret = move_to_init(id, qp);
	if (ret)
		return ret;

	ret = rcl_qp_attr(id, IBV_QPS_RTR, &attr, &mask);
	if (ret)
		return ret;
	attr.qp_state = IBV_QPS_RTR;
	if (responder_resources != RDMA_MAX_RESP_RES)
		attr.max_dest_rd_atomic = responder_resources;
	ret = modify_qp(qp, &attr, mask);
	if (ret)
		return ret;

	ret = rcl_qp_attr(id, IBV_QPS_RTS, &attr, &mask);
	if (ret)
		return ret;
	attr.qp_state = IBV_QPS_RTS;
	if (initiator_depth != RDMA_MAX_INIT_DEPTH)
		attr.max_rd_atomic = initiator_depth;
	return modify_qp(qp, &attr, mask);
}

static int set_qp_state(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	return qp ? modify_qp(qp, &attr, IBV_QP_STATE) : 0;
}

int rcl_qp_error(struct rcl_id *id)
{
	return set_qp_state(id->id.qp, IBV_QPS_ERR);
}

int rcl_qp_shutdown(struct rcl_id *id)
{
	if (!id->id.verbs || !id->id.verbs->device)
		return -EINVAL;
	switch (id->id.verbs->device->transport_type) {
	case IBV_TRANSPORT_IB:
		return rcl_qp_error(id);
	case IBV_TRANSPORT_IWARP:
		return set_qp_state(id->id.qp, IBV_QPS_SQD);
	default:
		return -EINVAL;
	}
}

/* Providers without ECE return EOPNOTSUPP. */
static int ece_result(int ret)
{
	ret = rcl_verbs_err(ret);
	return ret == -EOPNOTSUPP ? 0 : ret;
}

int rcl_ece_start(struct rcl_id *id, struct ibv_qp *qp)
{
	struct ibv_ece ece = { 0 };
	int ret;

	ret = ece_result(ibv_query_ece(qp, &ece));
	if (ret)
		return ret;
	id->local_ece.vendor_id = ece.vendor_id;
	id->local_ece.options = ece.options;
	if (!id->remote_ece.vendor_id)
		return 0;
	/* A peer of another vendor: no options. */
	if (id->remote_ece.vendor_id == ece.vendor_id)
		ece.options = id->remote_ece.options;
	else
		ece.options = 0;
	return ece_result(ibv_set_ece(qp, &ece));
}

int rcl_ece_agreed(struct rcl_id *id, struct ibv_qp *qp)
{
	struct ibv_ece ece = { 0 };
	int ret;

	if (!id->remote_ece.vendor_id)
		return 0;
	ret = ece_result(ibv_query_ece(qp, &ece));
	if (!ret)
		id->local_ece.options = ece.options;
	return ret;
}

static int set_peer_ece(struct rcl_id *id, const struct rcl_ece *remote)
{
	struct ibv_ece ece = {
		.vendor_id = remote->vendor_id,
		.options = remote->options,
	};

	/* A peer without ECE: our vendor, no options. */
	if (!remote->vendor_id)
		ece.vendor_id = id->local_ece.vendor_id;
	else if (remote->vendor_id != id->local_ece.vendor_id)
		return -EINVAL;
	id->remote_ece.vendor_id = remote->vendor_id;
	if (!ece.vendor_id)
		return 0;
	return ece_result(ibv_set_ece(id->id.qp, &ece));
}

int rcl_qp_establish(struct rcl_id *id, const struct rcl_ece *remote)
{
	struct rdma_cm_alt_establish cmd = { .id = id->handle };
	struct ibv_ece ece = { 0 };
	int ret;

	ret = set_peer_ece(id, remote);
	if (!ret)
		ret = rcl_qp_connect(id, RDMA_MAX_RESP_RES, RDMA_MAX_INIT_DEPTH);
	if (!ret)
		ret = RCL_CALL(ESTABLISH, &cmd);
	if (!ret)
		ret = ece_result(ibv_query_ece(id->id.qp, &ece));
	if (ret)
		rcl_qp_error(id);
	else
		id->local_ece.options = ece.options;
	return ret;
}

RCL_EXPORT int rdma_init_qp_attr(struct rdma_cm_id *id,
				 struct ibv_qp_attr *qp_attr,
				 int *qp_attr_mask)
{
	struct rcl_id *priv = rcl_id_of(id);
	int ret;

	if (!id || !qp_attr || !qp_attr_mask)
		return rcl_fail_id(priv, -EINVAL, __func__,
				   "no id, or no pointers for the attributes");
	ret = rcl_qp_attr(priv, qp_attr->qp_state, qp_attr, qp_attr_mask);
	if (ret)
		return rcl_fail_id(priv, ret, __func__, "no attributes for QP state %d now",
				   qp_attr->qp_state);
	return 0;
}
