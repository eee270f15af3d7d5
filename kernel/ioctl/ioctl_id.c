// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Ioctls for the life of an id: listen, destroy. It begins in ioctl_pipe.c.
 *
 * Locking: none of its own; operations take the id's op mutex.
 */
#include "ioctl/ioctl.h"

#include <rdma/rdma_cm_alt.h>

#include "id/id.h"
#include "listen/listen.h"
#include "ops/teardown.h"

/**
 * rca_cmd_listen() - execute RDMA_CM_ALT_LISTEN
 * @ucmd: the command
 *
 * Context: Process context. Sleeps.
 * Return: 0 or a negative errno.
 */
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

/**
 * rca_cmd_destroy() - execute RDMA_CM_ALT_DESTROY
 * @ucmd: the command
 *
 * Context: Process context. Sleeps.
 * Return: 0 or a negative errno.
 */
int rca_cmd_destroy(struct rca_ucmd *ucmd)
{
	struct rdma_cm_alt_destroy *cmd = ucmd->cmd;
	int ret;

	ret = rca_destroy(ucmd->ctx, cmd->id, &cmd->out_events_reported);
	return ret ?: rca_ucmd_respond(ucmd);
}
