// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Ioctls for the life of an id: create and resolve, listen, destroy.
 *
 * A new id is published, and its new queue's descriptor installed, when the
 * answer has arrived in user space and nothing can fail any more.
 *
 * Locking: none of its own; operations take the id's op mutex.
 */
#include "ioctl.h"

#include <linux/limits.h>
#include <linux/stddef.h>
#include <rdma/rdma_cm_alt.h>
#include <rdma/rdma_user_cm.h>

#include "cmid.h"
#include "listen.h"
#include "queuefd.h"
#include "resolve.h"
#include "teardown.h"

#define STEPS_RESOLVE (RDMA_CM_ALT_STEP_ADDR | RDMA_CM_ALT_STEP_ROUTE)
#define STEPS (RDMA_CM_ALT_STEP_CREATE | RDMA_CM_ALT_STEP_BIND | STEPS_RESOLVE)

/* What the steps but CREATE need of @pipe. */
static int decode_steps(struct rca_pipeline *out, const struct rdma_cm_alt_pipeline *pipe)
{
	int ret;

	out->steps = pipe->steps & ~RDMA_CM_ALT_STEP_CREATE;
	out->events = pipe->events;
	ret = rca_addr_from_user(&out->src, &pipe->src);
	if (!ret)
		ret = rca_addr_from_user(&out->dst, &pipe->dst);
	if (ret)
		return ret;

	if ((pipe->steps & RDMA_CM_ALT_STEP_BIND) && !rca_addr_is_set(&out->src))
		return -EINVAL;
	if (pipe->steps & RDMA_CM_ALT_STEP_ADDR) {
		if (!rca_addr_is_set(&out->dst))
			return -EINVAL;
		if (rca_addr_is_set(&out->src) && out->src.sa.sa_family != out->dst.sa.sa_family)
			return -EINVAL;
	}
	if ((pipe->steps & RDMA_CM_ALT_STEP_ROUTE) && !pipe->timeout_ms)
		return -EINVAL;
	/* Callers pass an int; an address whose time is over at once gets the shortest one. */
	out->timeout_ms = clamp_t(u32, pipe->timeout_ms, 1, INT_MAX);
	return 0;
}

static int check_qp_type(u16 ps, u8 qp_type)
{
	switch (ps) {
	case RDMA_PS_UDP:
	case RDMA_PS_IPOIB:
		return qp_type == IB_UVERBS_QPT_UD ? 0 : -EINVAL;
	case RDMA_PS_IB:
		if (qp_type == IB_UVERBS_QPT_UD)
			return 0;
		break;
	case RDMA_PS_TCP:
		break;
	default:
		return -EINVAL;
	}
	switch (qp_type) {
	case IB_UVERBS_QPT_RC:
	case IB_UVERBS_QPT_UC:
	case IB_UVERBS_QPT_XRC_INI:
	case IB_UVERBS_QPT_XRC_TGT:
		return 0;
	default:
		return -EINVAL;
	}
}

static int check_pipe(const struct rdma_cm_alt_pipeline *pipe)
{
	if ((pipe->steps | pipe->events) & ~STEPS)
		return -EOPNOTSUPP;
	if (pipe->flags & ~RDMA_CM_ALT_PIPE_NEW_QUEUE)
		return -EOPNOTSUPP;
	if (!pipe->steps || pipe->events & ~(pipe->steps & STEPS_RESOLVE))
		return -EINVAL;
	if (pipe->steps & RDMA_CM_ALT_STEP_CREATE) {
		if (pipe->id)
			return -EINVAL;
		if (pipe->flags & RDMA_CM_ALT_PIPE_NEW_QUEUE && pipe->queue_fd != -1)
			return -EINVAL;
		return check_qp_type(pipe->ps, pipe->qp_type);
	}
	if (pipe->flags || pipe->cookie || pipe->ps || pipe->qp_type)
		return -EINVAL;
	return pipe->queue_fd == 0 || pipe->queue_fd == -1 ? 0 : -EINVAL;
}

static void answer(struct rca_ucmd *ucmd, struct rca_id *id, int queue_fd, u32 done)
{
	struct rdma_cm_alt_resolve *cmd = ucmd->cmd;

	cmd->out_id = id->obj.handle;
	cmd->out_queue_fd = queue_fd;
	cmd->out_done = done;
	if (ucmd->size > offsetof(struct rdma_cm_alt_resolve, out_route))
		rca_id_fill_route(id, &cmd->out_route);
}

static int resolve_existing(struct rca_ucmd *ucmd, const struct rca_pipeline *pipe)
{
	struct rdma_cm_alt_resolve *cmd = ucmd->cmd;
	struct rca_id *id;
	u32 done = 0;
	int ret;

	id = rca_id_lookup(ucmd->ctx, cmd->pipe.id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	ret = rca_resolve(id, pipe, &done);
	if (!ret) {
		answer(ucmd, id, -1, done);
		ret = rca_ucmd_respond(ucmd);
	}
	rca_id_put(id);
	return ret;
}

/* The queue of a new id: a new one, that of a descriptor, or none. */
static int get_queue(struct rca_queuefd *qfd, struct rca_ctx *ctx,
		     const struct rdma_cm_alt_pipeline *pipe)
{
	if (pipe->flags & RDMA_CM_ALT_PIPE_NEW_QUEUE)
		return rca_queuefd_create(qfd, ctx, 0, false);
	if (pipe->queue_fd != -1)
		return rca_queuefd_find(qfd, ctx, pipe->queue_fd);
	return 0;
}

static int resolve_new(struct rca_ucmd *ucmd, const struct rca_pipeline *pipe)
{
	struct rdma_cm_alt_resolve *cmd = ucmd->cmd;
	/* Events that come before the id can be named wait in a queue of its own. */
	bool later = pipe->steps & STEPS_RESOLVE;
	struct rca_queuefd qfd = { .fd = -1 };
	struct rca_id *id;
	u32 done = 0;
	int ret;

	ret = get_queue(&qfd, ucmd->ctx, &cmd->pipe);
	if (ret)
		return ret;
	id = rca_id_create(ucmd->ctx, later ? NULL : qfd.queue, cmd->pipe.ps, cmd->pipe.qp_type,
			   cmd->pipe.cookie);
	if (IS_ERR(id)) {
		ret = PTR_ERR(id);
		goto err_put_queue;
	}
	if (pipe->steps) {
		ret = rca_resolve(id, pipe, &done);
		if (ret)
			goto err_abort_id;
	}
	answer(ucmd, id, qfd.fd, done | RDMA_CM_ALT_STEP_CREATE);
	ret = rca_ucmd_respond(ucmd);
	if (ret)
		goto err_abort_id;
	rca_id_get(id);
	rca_id_publish(id);
	/* Fails when another thread has destroyed the id already: there is nothing to move then. */
	if (later && qfd.queue)
		rca_source_move(&id->src, qfd.queue, NULL, NULL);
	rca_id_put(id);
	rca_queuefd_install(&qfd);
	return 0;

err_abort_id:
	rca_id_abort(id);
err_put_queue:
	rca_queuefd_put(&qfd);
	return ret;
}

/**
 * rca_cmd_resolve() - execute RDMA_CM_ALT_RESOLVE
 * @ucmd: the command
 *
 * Context: Process context. Sleeps.
 * Return: 0 or a negative errno.
 */
int rca_cmd_resolve(struct rca_ucmd *ucmd)
{
	struct rdma_cm_alt_resolve *cmd = ucmd->cmd;
	struct rca_pipeline pipe;
	int ret;

	ret = check_pipe(&cmd->pipe);
	if (!ret)
		ret = decode_steps(&pipe, &cmd->pipe);
	if (ret)
		return ret;
	if (cmd->pipe.steps & RDMA_CM_ALT_STEP_CREATE)
		return resolve_new(ucmd, &pipe);
	return resolve_existing(ucmd, &pipe);
}

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
