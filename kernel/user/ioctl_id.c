// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Ioctls that operate on an existing id: listening, connections, multicast, service
 * records, destroy.
 *
 * Locking: none of its own; operations take the id's op mutex.
 */
#include "user/user.h"

#include <linux/cred.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/nospec.h>
#include <linux/slab.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/uidgid.h>
#include <rdma/rdma_cm_alt.h>
#include <rdma/rdma_user_cm.h>

#include "cm/cm.h"
#include "ctx/ctx.h"
#include "event/queue.h"
#include "id/id.h"
#include "lib/sockaddr.h"

/*
 * Connection parameters from user space: copied, checked, decoded.
 *
 * Locking: none.
 */

/* Largest value of a 24-bit field of a CM message. */
#define WIRE24_MAX 0xffffff

/*
 * Copy the private data of a message from user space to a buffer of RCA_PRIVATE_DATA_MAX bytes.
 * -EINVAL: too long for any message.
 */
static int rca_param_private_data(u8 *data, u64 uptr, u32 len)
{
	if (len > RCA_PRIVATE_DATA_MAX)
		return -EINVAL;
	if (len && copy_from_user(data, u64_to_user_ptr(uptr), len))
		return -EFAULT;
	return 0;
}

/*
 * Decode the parameters of a connection. The private data of @conn is in @data, a buffer of
 * RCA_PRIVATE_DATA_MAX bytes. -EINVAL: a value too large for its field, or too much private data.
 */
static int rca_param_decode(struct rca_tp_conn *conn, const struct rdma_cm_alt_conn_param *param,
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
	return rca_param_private_data(data, param->private_data_uptr, param->private_data_len);
}

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

/*
 * Ioctls of pipelines: create an id, bind it, resolve address and route, connect, in
 * the combination of steps that the caller selects.
 *
 * A new id is published, and the descriptor of its new queue installed, after the
 * outputs were copied to user space, when nothing can fail any more.
 *
 * Locking: none of its own; operations take the id's op mutex.
 */

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

/**
 * struct pipe_cmd - a RESOLVE or CONNECT that is being executed
 * @ucmd: the command
 * @user: the steps, as the caller passed them
 * @steps: the steps, decoded
 * @conn: CONNECT: parameters of the request that follows the steps; RESOLVE: NULL
 */
struct pipe_cmd {
	struct rca_ucmd *ucmd;
	const struct rdma_cm_alt_pipeline *user;
	struct rca_pipeline steps;
	const struct rca_tp_conn *conn;
};

static int do_steps(struct pipe_cmd *pipe, struct rca_id *id, u32 *done)
{
	if (pipe->conn && !pipe->user->steps)
		return rca_connect(id, pipe->conn);
	if (pipe->conn)
		return rca_pipeline_connect(id, &pipe->steps, pipe->conn, done);
	return pipe->steps.steps ? rca_resolve(id, &pipe->steps, done) : 0;
}

static int respond(struct pipe_cmd *pipe, struct rca_id *id, int queue_fd, u32 done)
{
	if (pipe->conn) {
		struct rdma_cm_alt_connect *cmd = pipe->ucmd->cmd;

		cmd->out_id = id->obj.handle;
		cmd->out_queue_fd = queue_fd;
	} else {
		struct rdma_cm_alt_resolve *cmd = pipe->ucmd->cmd;

		cmd->out_id = id->obj.handle;
		cmd->out_queue_fd = queue_fd;
		cmd->out_done = done;
		if (pipe->ucmd->size > offsetof(struct rdma_cm_alt_resolve, out_route))
			rca_id_fill_route(id, &cmd->out_route);
	}
	return rca_ucmd_respond(pipe->ucmd);
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
	if (!ret)
		ret = respond(pipe, id, -1, done);
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

/* Create the id of a command. Without @queue it gets a private one, which GET_EVENT reads. */
static struct rca_id *create_id(struct pipe_cmd *pipe, struct rca_queue *queue)
{
	const struct rdma_cm_alt_pipeline *user = pipe->user;
	struct rca_ctx *ctx = pipe->ucmd->ctx;
	struct rca_queue *own = NULL;
	struct rca_id *id;

	if (!queue) {
		own = rca_queue_create(ctx, sizeof(struct rdma_cm_alt_event), false);
		if (IS_ERR(own))
			return ERR_CAST(own);
		queue = own;
	}
	id = rca_id_create(ctx, queue, user->ps, user->qp_type, user->cookie);
	rca_queue_put(own);	/* the id has a reference of its own */
	return id;
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
	id = create_id(pipe, later ? NULL : qfd.queue);
	if (IS_ERR(id)) {
		ret = PTR_ERR(id);
		goto err_put_queue;
	}
	ret = do_steps(pipe, id, &done) ?:
	      respond(pipe, id, qfd.fd, done | RDMA_CM_ALT_STEP_CREATE);
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
	const struct rdma_cm_alt_pipeline *user = pipe->user;
	bool create = user->steps & RDMA_CM_ALT_STEP_CREATE;
	int ret;

	if ((user->steps | user->events) & ~STEPS)
		return -EOPNOTSUPP;
	if (user->flags & ~RDMA_CM_ALT_PIPE_NEW_QUEUE)
		return -EOPNOTSUPP;
	if (!user->steps || user->events & ~(user->steps & STEPS_RESOLVE))
		return -EINVAL;
	if (create) {
		if (user->id)
			return -EINVAL;
		if (user->flags & RDMA_CM_ALT_PIPE_NEW_QUEUE && user->queue_fd != -1)
			return -EINVAL;
		ret = check_qp_type(user->ps, user->qp_type);
		if (ret)
			return ret;
	} else {
		if (user->flags || user->cookie || user->ps || user->qp_type)
			return -EINVAL;
		if (user->queue_fd != 0 && user->queue_fd != -1)
			return -EINVAL;
	}
	ret = decode_steps(&pipe->steps, user);
	if (ret)
		return ret;
	return create ? run_on_new_id(pipe) : run_on_existing_id(pipe);
}

int rca_cmd_resolve(struct rca_ucmd *ucmd)
{
	struct rdma_cm_alt_resolve *cmd = ucmd->cmd;
	struct pipe_cmd pipe __uninitialized;	/* decode_steps() fills in the steps */

	pipe.ucmd = ucmd;
	pipe.user = &cmd->pipe;
	pipe.conn = NULL;
	return run_pipeline(&pipe);
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
	if (cmd->pipe.steps)
		return run_pipeline(&pipe);
	/* Without steps, CONNECT uses only the id of the pipeline. */
	return cmd->pipe.flags ? -EOPNOTSUPP : run_on_existing_id(&pipe);
}

/*
 * Ioctls of queries and options: use of limited resources, QP attributes, addresses,
 * paths and service records of an id.
 *
 * Locking: none of its own; operations take the id's op mutex.
 */

int rca_cmd_usage(struct rca_ucmd *ucmd)
{
	const struct rca_account *account = &ucmd->ctx->account;
	struct rdma_cm_alt_usage *cmd = ucmd->cmd;
	struct rca_usage context, user;

	if (cmd->resource >= RCA_RESOURCES)
		return -EOPNOTSUPP;
	rca_account_usage(account, array_index_nospec(cmd->resource, RCA_RESOURCES), &context,
			  &user);
	/*
	 * The file may have been passed to another user, who must not learn about its
	 * opener's other contexts; nor may subordinate users about those of their user.
	 */
	if (!uid_eq(current_uid(), rca_account_uid(account)))
		memset(&user, 0, sizeof(user));
	cmd->out_context_used = context.used;
	cmd->out_context_limit = context.limit;
	cmd->out_context_refused = context.refused;
	cmd->out_user_used = user.used;
	cmd->out_user_limit = user.limit;
	cmd->out_user_refused = user.refused;
	return rca_ucmd_respond(ucmd);
}

int rca_cmd_qp_attr(struct rca_ucmd *ucmd)
{
	struct rdma_cm_alt_qp_attr_get *cmd = ucmd->cmd;
	struct rca_id *id;
	int ret;

	id = rca_id_lookup(ucmd->ctx, cmd->id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	memset(&cmd->out_attr, 0, sizeof(cmd->out_attr));
	ret = rca_qp_attr(id, cmd->qp_state, &cmd->out_attr);
	rca_id_put(id);
	return ret ?: rca_ucmd_respond(ucmd);
}

int rca_cmd_query(struct rca_ucmd *ucmd)
{
	struct rdma_cm_alt_query *cmd = ucmd->cmd;
	struct rca_id *id;
	int ret = 0;

	id = rca_id_lookup(ucmd->ctx, cmd->id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	if (rca_id_state(id) == RCA_ST_REMOVED)
		ret = -ENXIO;
	else
		rca_id_fill_route(id, &cmd->out_route);
	rca_id_put(id);
	return ret ?: rca_ucmd_respond(ucmd);
}

int rca_cmd_services(struct rca_ucmd *ucmd)
{
	struct rdma_cm_alt_services *cmd = ucmd->cmd;
	struct rca_services *services;
	struct rca_id *id;
	int ret = 0;

	id = rca_id_lookup(ucmd->ctx, cmd->id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	services = rca_services_copy(id);
	rca_id_put(id);
	if (IS_ERR(services))
		return PTR_ERR(services);
	cmd->out_count = services->count;
	if (copy_to_user(u64_to_user_ptr(cmd->services_uptr), services->list,
			 min(cmd->count, services->count) * sizeof(*services->list)))
		ret = -EFAULT;
	kfree(services);
	return ret ?: rca_ucmd_respond(ucmd);
}

int rca_cmd_set_option(struct rca_ucmd *ucmd)
{
	struct rdma_cm_alt_option *cmd = ucmd->cmd;
	struct rca_id *id;
	void *val;
	int ret;

	if (cmd->optlen > RCA_OPTION_MAX)
		return -EINVAL;
	val = memdup_user(u64_to_user_ptr(cmd->optval_uptr), cmd->optlen);
	if (IS_ERR(val))
		return PTR_ERR(val);
	id = rca_id_lookup(ucmd->ctx, cmd->id);
	if (IS_ERR(id)) {
		ret = PTR_ERR(id);
		goto out_free_val;
	}
	ret = rca_set_option(id, cmd->level, cmd->optname, val, cmd->optlen);
	rca_id_put(id);
out_free_val:
	kfree(val);
	return ret;
}

int rca_cmd_get_option(struct rca_ucmd *ucmd)
{
	struct rdma_cm_alt_option *cmd = ucmd->cmd;
	u8 val[RCA_OPTION_OUT_MAX] __aligned(8) = {};
	u32 len = min_t(u32, cmd->optlen, sizeof(val));
	struct rca_id *id;
	int ret;

	id = rca_id_lookup(ucmd->ctx, cmd->id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	ret = rca_get_option(id, cmd->level, cmd->optname, val, &len);
	rca_id_put(id);
	if (ret)
		return ret;
	if (WARN_ON_ONCE(len > sizeof(val)))
		return -EINVAL;
	if (copy_to_user(u64_to_user_ptr(cmd->optval_uptr), val, len))
		return -EFAULT;
	cmd->optlen = len;
	return rca_ucmd_respond(ucmd);
}
