// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Ioctls for multicast: join a group, leave it.
 *
 * Locking: none of its own; operations take the id's op mutex.
 */
#include "ioctl/ioctl.h"

#include <linux/err.h>
#include <rdma/rdma_cm_alt.h>
#include <rdma/rdma_user_cm.h>

#include "id/id.h"
#include "ops/mcast.h"
#include "lib/sockaddr.h"

static int join(struct rca_ucmd *ucmd, struct rca_id *id, const union rca_addr *group)
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

/**
 * rca_cmd_join() - execute RDMA_CM_ALT_JOIN
 * @ucmd: the command
 *
 * Context: Process context. Sleeps.
 * Return: 0 or a negative errno.
 */
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
	ret = join(ucmd, id, &group);
	rca_id_put(id);
	return ret;
}

/**
 * rca_cmd_leave() - execute RDMA_CM_ALT_LEAVE
 * @ucmd: the command
 *
 * Context: Process context. Sleeps.
 * Return: 0 or a negative errno.
 */
int rca_cmd_leave(struct rca_ucmd *ucmd)
{
	struct rdma_cm_alt_leave *cmd = ucmd->cmd;
	int ret;

	ret = rca_leave(ucmd->ctx, cmd->member, &cmd->out_events_reported);
	return ret ?: rca_ucmd_respond(ucmd);
}
