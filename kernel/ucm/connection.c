// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Commands on a connection, from listen and connect to disconnect.
 *
 * Locking: none of its own; operations take the id's op mutex.
 */
#include "ucm/ucm.h"

#include <rdma/ib_cm.h>

#include "cm/cm.h"

/* Sysctl net.rdma_ucm.max_backlog, with the default of rdma_ucm. */
unsigned int rca_ucm_max_backlog = 1024;

/* Largest value of a 24-bit field of a CM message. */
#define WIRE24_MAX 0xffffff

/* Only ids with AF_IB addresses choose their queue key. */
static u32 get_qkey(struct rca_id *id, u32 qkey)
{
	bool ib;

	mutex_lock(&id->op);
	ib = id->local.sa.sa_family == AF_IB;
	mutex_unlock(&id->op);
	return ib ? qkey : 0;
}

/* Decode the parameters of a connection, which stay in @param. */
static void get_conn(struct rca_tp_conn *conn, struct rca_id *id,
		     const struct rdma_ucm_conn_param *param, const struct rdma_ucm_ece *ece)
{
	*conn = (struct rca_tp_conn) {
		.qp_num = param->qp_num & WIRE24_MAX,
		.qkey = param->qkey ? get_qkey(id, param->qkey) : 0,
		.responder_resources = param->responder_resources,
		.initiator_depth = param->initiator_depth,
		.flow_control = param->flow_control,
		.retry_count = param->retry_count,
		.rnr_retry_count = param->rnr_retry_count,
		.srq = !!param->srq,
		.ece_vendor_id = ece->vendor_id & WIRE24_MAX,
		.ece_attr_mod = ece->attr_mod,
		.private_data = param->private_data,
		.private_data_len = param->private_data_len,
	};
}

int rca_ucm_connect(const struct rca_ucm_cmd *ucmd)
{
	const struct rdma_ucm_connect *cmd = ucmd->in;
	struct rca_tp_conn conn __uninitialized;
	struct rca_id *id;
	int ret;

	if (!cmd->conn_param.valid)
		return -EINVAL;
	id = rca_ucm_get_id(ucmd->queue, cmd->id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	get_conn(&conn, id, &cmd->conn_param, &cmd->ece);
	ret = rca_connect(id, &conn);
	rca_id_put(id);
	return ret;
}

int rca_ucm_listen(const struct rca_ucm_cmd *ucmd)
{
	const struct rdma_ucm_listen *cmd = ucmd->in;
	u32 backlog = READ_ONCE(rca_ucm_max_backlog);
	struct rca_id *id;
	int ret;

	if (cmd->backlog && cmd->backlog < backlog)
		backlog = cmd->backlog;
	id = rca_ucm_get_id(ucmd->queue, cmd->id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	ret = rca_listen(id, backlog);
	rca_id_put(id);
	return ret;
}

/*
 * Without parameters the command completes a connection on the active side, or answers a request
 * for datagrams without naming a QP.
 */
int rca_ucm_accept(const struct rca_ucm_cmd *ucmd)
{
	const struct rdma_ucm_accept *cmd = ucmd->in;
	struct rca_tp_conn conn = {};
	enum rca_state state;
	struct rca_id *id;
	int ret;

	id = rca_ucm_get_id(ucmd->queue, cmd->id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	if (cmd->conn_param.valid) {
		get_conn(&conn, id, &cmd->conn_param, &cmd->ece);
		ret = rca_accept(id, cmd->uid, &conn);
		/* rdma_cm rejects a request that it cannot accept, and the library expects that. */
		state = rca_id_state(id);
		if (ret && (state == RCA_ST_REQ_RCVD || state == RCA_ST_SIDR_RCVD))
			rca_reject(id, IB_CM_REJ_CONSUMER_DEFINED, NULL, 0);
	} else if (id->qp_type == IB_QPT_UD) {
		ret = rca_accept(id, 0, &conn);
	} else {
		ret = rca_establish(id);
	}
	rca_id_put(id);
	return ret;
}

int rca_ucm_reject(const struct rca_ucm_cmd *ucmd)
{
	const struct rdma_ucm_reject *cmd = ucmd->in;
	struct rca_id *id;
	int ret;

	id = rca_ucm_get_id(ucmd->queue, cmd->id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	ret = rca_reject(id, cmd->reason, cmd->private_data, cmd->private_data_len);
	rca_id_put(id);
	return ret;
}

int rca_ucm_disconnect(const struct rca_ucm_cmd *ucmd)
{
	const struct rdma_ucm_disconnect *cmd = ucmd->in;
	struct rca_id *id = rca_ucm_get_id(ucmd->queue, cmd->id);
	int ret;

	if (IS_ERR(id))
		return PTR_ERR(id);
	ret = rca_disconnect(id);
	rca_id_put(id);
	return ret;
}

int rca_ucm_init_qp_attr(const struct rca_ucm_cmd *ucmd)
{
	const struct rdma_ucm_init_qp_attr *cmd = ucmd->in;
	struct ib_uverbs_qp_attr attr = {};
	struct rca_id *id;
	int ret;

	if (cmd->qp_state > IB_QPS_ERR)
		return -EINVAL;
	id = rca_ucm_get_id(ucmd->queue, cmd->id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	ret = rca_qp_attr(id, cmd->qp_state, &attr);
	rca_id_put(id);
	return ret ?: rca_ucm_respond(ucmd, cmd->response, &attr, sizeof(attr));
}

int rca_ucm_notify(const struct rca_ucm_cmd *ucmd)
{
	const struct rdma_ucm_notify *cmd = ucmd->in;
	struct rca_id *id = rca_ucm_get_id(ucmd->queue, cmd->id);
	int ret;

	if (IS_ERR(id))
		return PTR_ERR(id);
	ret = rca_notify(id, cmd->event);
	rca_id_put(id);
	return ret;
}
