// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Ioctls for connections: connect, accept, reject, establish, disconnect, notify.
 *
 * Locking: none of its own; operations take the id's op mutex.
 */
#include "ioctl.h"

#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/uaccess.h>
#include <rdma/rdma_cm_alt.h>

#include "cmid.h"
#include "connect.h"

/* No message carries more; what each can carry is for the operation to check. */
#define PRIVATE_DATA_MAX U8_MAX
/* Numbers that have 24 bits on the wire. */
#define WIRE24_MAX 0xffffff

static int get_private_data(u8 *data, u64 uptr, u32 len)
{
	if (len > PRIVATE_DATA_MAX)
		return -EINVAL;
	if (len && copy_from_user(data, u64_to_user_ptr(uptr), len))
		return -EFAULT;
	return 0;
}

/* @data holds the private data as long as @conn is used: PRIVATE_DATA_MAX bytes. */
static int decode_conn(struct rca_tp_conn *conn, const struct rdma_cm_alt_conn_param *param,
		       u8 *data)
{
	if (param->qp_num > WIRE24_MAX || param->ece_vendor_id > WIRE24_MAX)
		return -EINVAL;
	*conn = (struct rca_tp_conn) {
		.qp_num = param->qp_num,
		.qkey = param->qkey,
		.responder_resources = param->responder_resources,
		.initiator_depth = param->initiator_depth,
		.flow_control = param->flow_control,
		.retry_count = param->retry_count,
		.rnr_retry_count = param->rnr_retry_count,
		.srq = !!param->srq,
		.ece_vendor_id = param->ece_vendor_id,
		.ece_attr_mod = param->ece_attr_mod,
		.private_data = data,
		.private_data_len = param->private_data_len,
	};
	return get_private_data(data, param->private_data_uptr, param->private_data_len);
}

/**
 * rca_cmd_connect() - execute RDMA_CM_ALT_CONNECT
 * @ucmd: the command
 *
 * Context: Process context. Sleeps.
 * Return: 0 or a negative errno.
 */
int rca_cmd_connect(struct rca_ucmd *ucmd)
{
	struct rdma_cm_alt_connect *cmd = ucmd->cmd;
	u8 data[PRIVATE_DATA_MAX];
	struct rca_tp_conn conn;
	struct rca_id *id;
	int ret;

	/* No step is built in, see out_connect_steps of rca_cmd_info(). */
	if (cmd->pipe.steps || cmd->pipe.flags)
		return -EOPNOTSUPP;
	ret = decode_conn(&conn, &cmd->param, data);
	if (ret)
		return ret;
	id = rca_id_lookup(ucmd->ctx, cmd->pipe.id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	ret = rca_connect(id, &conn);
	rca_id_put(id);
	if (ret)
		return ret;
	cmd->out_id = cmd->pipe.id;
	cmd->out_queue_fd = -1;
	return rca_ucmd_respond(ucmd);
}

/**
 * rca_cmd_accept() - execute RDMA_CM_ALT_ACCEPT
 * @ucmd: the command
 *
 * Context: Process context. Sleeps.
 * Return: 0 or a negative errno.
 */
int rca_cmd_accept(struct rca_ucmd *ucmd)
{
	struct rdma_cm_alt_accept *cmd = ucmd->cmd;
	u8 data[PRIVATE_DATA_MAX];
	struct rca_tp_conn conn;
	struct rca_id *id;
	int ret;

	ret = decode_conn(&conn, &cmd->param, data);
	if (ret)
		return ret;
	id = rca_id_lookup(ucmd->ctx, cmd->id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	ret = rca_accept(id, cmd->cookie, &conn);
	rca_id_put(id);
	return ret;
}

/**
 * rca_cmd_reject() - execute RDMA_CM_ALT_REJECT
 * @ucmd: the command
 *
 * Context: Process context. Sleeps.
 * Return: 0 or a negative errno.
 */
int rca_cmd_reject(struct rca_ucmd *ucmd)
{
	struct rdma_cm_alt_reject *cmd = ucmd->cmd;
	u8 data[PRIVATE_DATA_MAX];
	struct rca_id *id;
	int ret;

	ret = get_private_data(data, cmd->private_data_uptr, cmd->private_data_len);
	if (ret)
		return ret;
	id = rca_id_lookup(ucmd->ctx, cmd->id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	ret = rca_reject(id, cmd->reason, data, cmd->private_data_len);
	rca_id_put(id);
	return ret;
}

static int with_id(struct rca_ctx *ctx, u32 handle, int (*op)(struct rca_id *id))
{
	struct rca_id *id = rca_id_lookup(ctx, handle);
	int ret;

	if (IS_ERR(id))
		return PTR_ERR(id);
	ret = op(id);
	rca_id_put(id);
	return ret;
}

/**
 * rca_cmd_establish() - execute RDMA_CM_ALT_ESTABLISH
 * @ucmd: the command
 *
 * Context: Process context. Sleeps.
 * Return: 0 or a negative errno.
 */
int rca_cmd_establish(struct rca_ucmd *ucmd)
{
	struct rdma_cm_alt_establish *cmd = ucmd->cmd;

	return with_id(ucmd->ctx, cmd->id, rca_establish);
}

/**
 * rca_cmd_disconnect() - execute RDMA_CM_ALT_DISCONNECT
 * @ucmd: the command
 *
 * Context: Process context. Sleeps.
 * Return: 0 or a negative errno.
 */
int rca_cmd_disconnect(struct rca_ucmd *ucmd)
{
	struct rdma_cm_alt_disconnect *cmd = ucmd->cmd;

	return with_id(ucmd->ctx, cmd->id, rca_disconnect);
}

/**
 * rca_cmd_notify() - execute RDMA_CM_ALT_NOTIFY
 * @ucmd: the command
 *
 * Context: Process context. Sleeps.
 * Return: 0 or a negative errno.
 */
int rca_cmd_notify(struct rca_ucmd *ucmd)
{
	struct rdma_cm_alt_notify *cmd = ucmd->cmd;
	struct rca_id *id;
	int ret;

	id = rca_id_lookup(ucmd->ctx, cmd->id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	ret = rca_notify(id, cmd->event);
	rca_id_put(id);
	return ret;
}
