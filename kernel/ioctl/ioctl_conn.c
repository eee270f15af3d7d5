// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Ioctls for connections: accept, reject, establish, disconnect, notify. Connect is in
 * ioctl_pipe.c.
 *
 * Locking: none of its own; operations take the id's op mutex.
 */
#include "ioctl/ioctl.h"

#include <rdma/rdma_cm_alt.h>

#include "id/id.h"
#include "connect/connect.h"
#include "ioctl/ioctl_param.h"

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
	u8 data[RCA_PRIVATE_DATA_MAX];
	struct rca_tp_conn conn;
	struct rca_id *id;
	int ret;

	ret = rca_param_decode(&conn, &cmd->param, data);
	if (ret)
		return ret;
	id = rca_id_lookup(ucmd->ctx, cmd->id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	ret = rca_accept_as(id, cmd->cookie, &conn, cmd->flags & RDMA_CM_ALT_ACCEPT_QUIET);
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
	u8 data[RCA_PRIVATE_DATA_MAX];
	struct rca_id *id;
	int ret;

	ret = rca_param_private_data(data, cmd->private_data_uptr, cmd->private_data_len);
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
