// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Ioctls that operate on an existing id: listening, connections, multicast, service
 * records, destroy.
 * Those that create an id, and connect, are in ioctl_pipe.c.
 *
 * Locking: none of its own; operations take the id's op mutex.
 */
#include "user/ioctl.h"

#include <linux/err.h>
#include <linux/limits.h>
#include <rdma/rdma_cm_alt.h>
#include <rdma/rdma_user_cm.h>

#include "cm/connect.h"
#include "cm/listen.h"
#include "cm/mcast.h"
#include "cm/service.h"
#include "cm/teardown.h"
#include "id/id.h"
#include "lib/sockaddr.h"
#include "user/ioctl_param.h"

int rca_cmd_listen(struct rca_ucmd *ucmd)
{
	struct rdma_cm_alt_listen *cmd = ucmd->cmd;
	struct rca_id *id;
	int ret;

	id = rca_id_lookup(ucmd->ctx, cmd->id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	ret = rca_listen(id, cmd->backlog);
	if (!ret) {
		rca_id_fill_route(id, &cmd->out_route);
		ret = rca_ucmd_respond(ucmd);
	}
	rca_id_put(id);
	return ret;
}

int rca_cmd_accept(struct rca_ucmd *ucmd)
{
	struct rdma_cm_alt_accept *cmd = ucmd->cmd;
	u8 data[RCA_PRIVATE_DATA_MAX] __uninitialized;
	struct rca_tp_conn conn __uninitialized;
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

int rca_cmd_reject(struct rca_ucmd *ucmd)
{
	struct rdma_cm_alt_reject *cmd = ucmd->cmd;
	u8 data[RCA_PRIVATE_DATA_MAX] __uninitialized;
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

/* Operations without parameters. */
static int call_with_id(struct rca_ctx *ctx, u32 handle, int (*op)(struct rca_id *id))
{
	struct rca_id *id = rca_id_lookup(ctx, handle);
	int ret;

	if (IS_ERR(id))
		return PTR_ERR(id);
	ret = op(id);
	rca_id_put(id);
	return ret;
}

int rca_cmd_establish(struct rca_ucmd *ucmd)
{
	struct rdma_cm_alt_establish *cmd = ucmd->cmd;

	return call_with_id(ucmd->ctx, cmd->id, rca_establish);
}

int rca_cmd_disconnect(struct rca_ucmd *ucmd)
{
	struct rdma_cm_alt_disconnect *cmd = ucmd->cmd;

	return call_with_id(ucmd->ctx, cmd->id, rca_disconnect);
}

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

static int join_group(struct rca_ucmd *ucmd, struct rca_id *id, const union rca_addr *group)
{
	struct rdma_cm_alt_join *cmd = ucmd->cmd;
	bool send_only = cmd->join_state == RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER;
	struct rca_member *member;
	int ret;

	member = rca_join(id, group, send_only, cmd->cookie);
	if (IS_ERR(member))
		return PTR_ERR(member);
	cmd->out_member = rca_join_handle(member);
	ret = rca_ucmd_respond(ucmd);
	if (ret) {
		rca_join_abort(member);
		return ret;
	}
	return rca_join_publish(member);
}

int rca_cmd_join(struct rca_ucmd *ucmd)
{
	struct rdma_cm_alt_join *cmd = ucmd->cmd;
	union rca_addr group;
	struct rca_id *id;
	int ret;

	if (cmd->join_state >= RDMA_MC_JOIN_FLAG_RESERVED)
		return -EINVAL;
	ret = rca_addr_from_user(&group, &cmd->group);
	if (ret)
		return ret;
	id = rca_id_lookup(ucmd->ctx, cmd->id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	ret = join_group(ucmd, id, &group);
	rca_id_put(id);
	return ret;
}

int rca_cmd_leave(struct rca_ucmd *ucmd)
{
	struct rdma_cm_alt_leave *cmd = ucmd->cmd;
	int ret;

	ret = rca_leave(ucmd->ctx, cmd->member, &cmd->out_events_reported);
	return ret ?: rca_ucmd_respond(ucmd);
}

int rca_cmd_destroy(struct rca_ucmd *ucmd)
{
	struct rdma_cm_alt_destroy *cmd = ucmd->cmd;
	int ret;

	ret = rca_destroy(ucmd->ctx, cmd->id, &cmd->out_events_reported);
	return ret ?: rca_ucmd_respond(ucmd);
}

int rca_cmd_resolve_service(struct rca_ucmd *ucmd)
{
	struct rdma_cm_alt_resolve_service *cmd = ucmd->cmd;
	struct rca_service_wanted wanted = {
		.has_id = cmd->flags & RDMA_CM_ALT_SERVICE_BY_ID,
		.service_id = cmd->service_id,
		.name_len = cmd->name_len,
	};
	struct rca_id *id;
	int ret;

	if (cmd->name_len > sizeof(wanted.name) || !cmd->timeout_ms ||
	    (cmd->service_id && !wanted.has_id))
		return -EINVAL;
	if (copy_from_user(wanted.name, u64_to_user_ptr(cmd->name_uptr), cmd->name_len))
		return -EFAULT;
	id = rca_id_lookup(ucmd->ctx, cmd->id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	ret = rca_service_resolve(id, &wanted, min_t(u32, cmd->timeout_ms, INT_MAX));
	rca_id_put(id);
	return ret;
}
