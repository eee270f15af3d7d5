// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Ioctls of pipelines: create an id, bind it, resolve address and route, connect, in
 * the combination of steps that the caller selects.
 *
 * A new id is published, and the descriptor of its new queue installed, after the
 * outputs were copied to user space, when nothing can fail any more.
 *
 * Locking: none of its own; operations take the id's op mutex.
 */
#include "user/ioctl.h"

#include <linux/limits.h>
#include <linux/stddef.h>
#include <rdma/rdma_cm_alt.h>
#include <rdma/rdma_user_cm.h>

#include "cm/connect.h"
#include "cm/connect_pipeline.h"
#include "cm/resolve.h"
#include "cm/teardown.h"
#include "id/id.h"
#include "user/ioctl_param.h"
#include "user/queuefd.h"

#define STEPS_RESOLVE (RDMA_CM_ALT_STEP_ADDR | RDMA_CM_ALT_STEP_ROUTE)
#define STEPS (RDMA_CM_ALT_STEP_CREATE | RDMA_CM_ALT_STEP_BIND | STEPS_RESOLVE)

/* Decode the inputs of all steps except CREATE. */
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
	/* Callers pass an int. A timeout of 0 for an address becomes the shortest timeout. */
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

/**
 * struct pipe_cmd - a RESOLVE or CONNECT that is being executed
 * @ucmd: the command
 * @user: the steps, as the caller passed them
 * @steps: the steps, decoded
 * @conn: parameters of the request that follows the steps; NULL: no request
 * @fill_outputs: fills in the outputs of the command
 */
struct pipe_cmd {
	struct rca_ucmd *ucmd;
	const struct rdma_cm_alt_pipeline *user;
	struct rca_pipeline steps;
	const struct rca_tp_conn *conn;
	void (*fill_outputs)(struct rca_ucmd *ucmd, struct rca_id *id, int queue_fd, u32 done);
};

static int do_steps(struct pipe_cmd *pipe, struct rca_id *id, u32 *done)
{
	if (pipe->conn && !pipe->user->steps)
		return rca_connect(id, pipe->conn);
	if (pipe->conn)
		return rca_pipeline_connect(id, &pipe->steps, pipe->conn, done);
	return pipe->steps.steps ? rca_resolve(id, &pipe->steps, done) : 0;
}

static int run_on_existing_id(struct pipe_cmd *pipe)
{
	struct rca_id *id;
	u32 done = 0;
	int ret;

	id = rca_id_lookup(pipe->ucmd->ctx, pipe->user->id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	ret = do_steps(pipe, id, &done);
	/* After a restart the steps that are done would fail. */
	if (ret == -ERESTARTSYS && done)
		ret = -EINTR;
	if (!ret) {
		pipe->fill_outputs(pipe->ucmd, id, -1, done);
		ret = rca_ucmd_respond(pipe->ucmd);
	}
	rca_id_put(id);
	return ret;
}

/* The queue of a new id: a new queue, that of a descriptor, or none. */
static int get_queue(struct rca_queuefd *qfd, struct rca_ctx *ctx,
		     const struct rdma_cm_alt_pipeline *pipe)
{
	if (pipe->flags & RDMA_CM_ALT_PIPE_NEW_QUEUE)
		return rca_queuefd_create(qfd, ctx, 0, 0, false);
	if (pipe->queue_fd != -1)
		return rca_queuefd_find(qfd, ctx, pipe->queue_fd);
	return 0;
}

static int run_on_new_id(struct pipe_cmd *pipe)
{
	const struct rdma_cm_alt_pipeline *user = pipe->user;
	/* Events that precede the publication of the id wait in a private queue. */
	bool later = user->steps & STEPS_RESOLVE;
	struct rca_queuefd qfd = { .fd = -1 };
	struct rca_id *id;
	u32 done = 0;
	int ret;

	ret = get_queue(&qfd, pipe->ucmd->ctx, user);
	if (ret)
		return ret;
	id = rca_id_create(pipe->ucmd->ctx, later ? NULL : qfd.queue, user->ps, user->qp_type,
			   user->cookie);
	if (IS_ERR(id)) {
		ret = PTR_ERR(id);
		goto err_put_queue;
	}
	ret = do_steps(pipe, id, &done);
	if (ret)
		goto err_abort_id;
	pipe->fill_outputs(pipe->ucmd, id, qfd.fd, done | RDMA_CM_ALT_STEP_CREATE);
	ret = rca_ucmd_respond(pipe->ucmd);
	if (ret)
		goto err_abort_id;
	rca_id_get(id);
	rca_id_publish(id);
	/* Fails only if another thread has already destroyed the id; then nothing needs to move. */
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

static int run_pipeline(struct pipe_cmd *pipe)
{
	int ret;

	ret = check_pipe(pipe->user);
	if (!ret)
		ret = decode_steps(&pipe->steps, pipe->user);
	if (ret)
		return ret;
	return pipe->user->steps & RDMA_CM_ALT_STEP_CREATE ? run_on_new_id(pipe) :
							  run_on_existing_id(pipe);
}

static void fill_resolve_outputs(struct rca_ucmd *ucmd, struct rca_id *id, int queue_fd, u32 done)
{
	struct rdma_cm_alt_resolve *cmd = ucmd->cmd;

	cmd->out_id = id->obj.handle;
	cmd->out_queue_fd = queue_fd;
	cmd->out_done = done;
	if (ucmd->size > offsetof(struct rdma_cm_alt_resolve, out_route))
		rca_id_fill_route(id, &cmd->out_route);
}

int rca_cmd_resolve(struct rca_ucmd *ucmd)
{
	struct rdma_cm_alt_resolve *cmd = ucmd->cmd;
	struct pipe_cmd pipe __uninitialized;	/* decode_steps() fills in the steps */

	pipe.ucmd = ucmd;
	pipe.user = &cmd->pipe;
	pipe.conn = NULL;
	pipe.fill_outputs = fill_resolve_outputs;
	return run_pipeline(&pipe);
}

static void fill_connect_outputs(struct rca_ucmd *ucmd, struct rca_id *id, int queue_fd, u32 done)
{
	struct rdma_cm_alt_connect *cmd = ucmd->cmd;

	cmd->out_id = id->obj.handle;
	cmd->out_queue_fd = queue_fd;
}

int rca_cmd_connect(struct rca_ucmd *ucmd)
{
	struct rdma_cm_alt_connect *cmd = ucmd->cmd;
	u8 data[RCA_PRIVATE_DATA_MAX] __uninitialized;
	struct rca_tp_conn conn __uninitialized;
	struct pipe_cmd pipe __uninitialized;	/* decode_steps() fills in the steps, if any */
	int ret;

	ret = rca_param_decode(&conn, &cmd->param, data);
	if (ret)
		return ret;
	pipe.ucmd = ucmd;
	pipe.user = &cmd->pipe;
	pipe.conn = &conn;
	pipe.fill_outputs = fill_connect_outputs;
	if (cmd->pipe.steps)
		return run_pipeline(&pipe);
	/* Without steps, CONNECT uses only the id of the pipeline. */
	return cmd->pipe.flags ? -EOPNOTSUPP : run_on_existing_id(&pipe);
}
