// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Commands on an id: create, destroy, bind, resolve, options, multicast groups.
 *
 * Locking: none of its own; operations take the id's op mutex.
 */
#include "ucm/ucm.h"

#include <linux/limits.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <rdma/ib_addr.h>

#include "cm/cm.h"
#include "ctx/ctx.h"
#include "lib/compat.h"
#include "lib/sockaddr.h"

/*
 * Check that an object belongs to a file: that @id, or the id of the membership, posts to @queue,
 * which outlives the call. An id that posts to no queue is being destroyed.
 */
static int check_owner(const struct rca_id *id, const struct rca_queue *queue)
{
	/* Pairs with rca_source_move() and rca_source_detach(). */
	const struct rca_queue *own = READ_ONCE(id->src.queue);

	if (own == queue)
		return 0;
	return own ? -EINVAL : -ENOENT;
}

/* Find an id of a file by its number, in any state: see rca_ucm_get_id(). */
static struct rca_id *find_id(const struct rca_queue *queue, u32 number)
{
	struct rca_obj *obj = rca_obj_find(number, RCA_KIND_ID);
	int ret;

	if (IS_ERR(obj))
		return ERR_PTR(-ENOENT);	/* memberships have numbers, too */
	ret = check_owner(rca_id_of(obj), queue);
	if (ret) {
		rca_obj_put(obj);
		return ERR_PTR(ret);
	}
	return rca_id_of(obj);
}

/**
 * rca_ucm_get_id() - find an id of a file by its number
 * @queue: queue of the file
 * @number: the number, from user space
 *
 * Context: Process context.
 * Return: the id with a reference, for rca_id_put(); -ENOENT: no such id; -EINVAL: it is another
 *         file's; -ENXIO: its device was removed.
 */
struct rca_id *rca_ucm_get_id(const struct rca_queue *queue, u32 number)
{
	struct rca_id *id = find_id(queue, number);

	if (IS_ERR(id) || rca_id_state(id) != RCA_ST_REMOVED)
		return id;
	rca_id_put(id);
	return ERR_PTR(-ENXIO);
}

/* The port space determines the QP type, but for RDMA_PS_IB, whose programs choose it. */
static int get_qp_type(const struct rdma_ucm_create_id *cmd)
{
	switch (cmd->ps) {
	case RDMA_PS_TCP:
		return IB_QPT_RC;
	case RDMA_PS_UDP:
	case RDMA_PS_IPOIB:
		return IB_QPT_UD;
	case RDMA_PS_IB:
		return cmd->qp_type;
	default:
		return -EINVAL;
	}
}

int rca_ucm_create_id(const struct rca_ucm_cmd *ucmd)
{
	const struct rdma_ucm_create_id *cmd = ucmd->in;
	struct rdma_ucm_create_id_resp resp;
	int qp_type = get_qp_type(cmd);
	struct rca_id *id;
	int ret;

	if (qp_type < 0)
		return qp_type;
	id = rca_id_create(ucmd->queue->ctx, ucmd->queue, cmd->ps, qp_type, cmd->uid);
	if (IS_ERR(id))
		return PTR_ERR(id);
	resp.id = id->obj.handle;
	ret = rca_ucm_respond(ucmd, cmd->response, &resp, sizeof(resp));
	if (ret)
		rca_id_abort(id);
	else
		rca_id_publish(id);
	return ret;
}

int rca_ucm_destroy_id(const struct rca_ucm_cmd *ucmd)
{
	const struct rdma_ucm_destroy_id *cmd = ucmd->in;
	struct rdma_ucm_destroy_id_resp resp;
	struct rca_id *id;
	int ret;

	id = find_id(ucmd->queue, cmd->id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	ret = rca_destroy(id->obj.ctx, id->obj.handle, &resp.events_reported);
	rca_id_put(id);
	return ret ?: rca_ucm_respond(ucmd, cmd->response, &resp, sizeof(resp));
}

/*
 * Decode an address that has @room bytes. Returns its size; 0: unknown family, or it does not fit.
 */
static u16 get_addr(union rca_addr *addr, const void *from, size_t room)
{
	u16 size = rdma_addr_size((struct sockaddr *)from);
	struct rdma_cm_alt_sockaddr user = {};

	if (size > room)
		return 0;
	memcpy(user.bytes, from, size);
	rca_addr_from_user(addr, &user);
	return size;
}

static int resolve(const struct rca_ucm_cmd *ucmd, u32 number, const struct rca_pipeline *pipe)
{
	struct rca_id *id = rca_ucm_get_id(ucmd->queue, number);
	u32 done = 0;
	int ret = -EINVAL;

	if (IS_ERR(id))
		return PTR_ERR(id);
	if (pipe->timeout_ms || pipe->steps != RDMA_CM_ALT_STEP_ROUTE)
		ret = rca_resolve(id, pipe, &done);
	rca_id_put(id);
	return ret;
}

int rca_ucm_bind_ip(const struct rca_ucm_cmd *ucmd)
{
	struct rca_pipeline pipe = { .steps = RDMA_CM_ALT_STEP_BIND };
	const struct rdma_ucm_bind_ip *cmd = ucmd->in;

	if (!get_addr(&pipe.src, &cmd->addr, sizeof(cmd->addr)))
		return -EINVAL;
	return resolve(ucmd, cmd->id, &pipe);
}

int rca_ucm_bind(const struct rca_ucm_cmd *ucmd)
{
	struct rca_pipeline pipe = { .steps = RDMA_CM_ALT_STEP_BIND };
	const struct rdma_ucm_bind *cmd = ucmd->in;

	if (cmd->reserved || !cmd->addr_size ||
	    get_addr(&pipe.src, &cmd->addr, sizeof(cmd->addr)) != cmd->addr_size)
		return -EINVAL;
	return resolve(ucmd, cmd->id, &pipe);
}

/* Resolve the address in @pipe. A timeout of 0 becomes the shortest one. */
static int resolve_addr(const struct rca_ucm_cmd *ucmd, u32 number, struct rca_pipeline *pipe,
			u32 timeout_ms)
{
	if (rca_addr_is_set(&pipe->src) && pipe->src.sa.sa_family != pipe->dst.sa.sa_family)
		return -EINVAL;
	pipe->steps = RDMA_CM_ALT_STEP_ADDR;
	pipe->events = RDMA_CM_ALT_STEP_ADDR;
	pipe->timeout_ms = clamp_t(u32, timeout_ms, 1, INT_MAX);
	return resolve(ucmd, number, pipe);
}

int rca_ucm_resolve_ip(const struct rca_ucm_cmd *ucmd)
{
	const struct rdma_ucm_resolve_ip *cmd = ucmd->in;
	struct rca_pipeline pipe = {};

	if (!get_addr(&pipe.src, &cmd->src_addr, sizeof(cmd->src_addr)) &&
	    cmd->src_addr.sin6_family)
		return -EINVAL;
	if (!get_addr(&pipe.dst, &cmd->dst_addr, sizeof(cmd->dst_addr)))
		return -EINVAL;
	return resolve_addr(ucmd, cmd->id, &pipe, cmd->timeout_ms);
}

int rca_ucm_resolve_addr(const struct rca_ucm_cmd *ucmd)
{
	const struct rdma_ucm_resolve_addr *cmd = ucmd->in;
	struct rca_pipeline pipe = {};

	if (cmd->reserved || !cmd->dst_size ||
	    get_addr(&pipe.dst, &cmd->dst_addr, sizeof(cmd->dst_addr)) != cmd->dst_size)
		return -EINVAL;
	if (cmd->src_size &&
	    get_addr(&pipe.src, &cmd->src_addr, sizeof(cmd->src_addr)) != cmd->src_size)
		return -EINVAL;
	return resolve_addr(ucmd, cmd->id, &pipe, cmd->timeout_ms);
}

int rca_ucm_resolve_route(const struct rca_ucm_cmd *ucmd)
{
	const struct rdma_ucm_resolve_route *cmd = ucmd->in;
	struct rca_pipeline pipe = {
		.steps = RDMA_CM_ALT_STEP_ROUTE,
		.events = RDMA_CM_ALT_STEP_ROUTE,
		.timeout_ms = min_t(u32, cmd->timeout_ms, INT_MAX),
	};

	return resolve(ucmd, cmd->id, &pipe);
}

int rca_ucm_resolve_ib_service(const struct rca_ucm_cmd *ucmd)
{
	const struct rdma_ucm_resolve_ib_service *cmd = ucmd->in;
	struct rca_service_wanted wanted = {
		.has_id = cmd->ibs.flags & RDMA_USER_CM_IB_SERVICE_FLAG_ID,
		.service_id = cmd->ibs.service_id,
	};
	struct rca_id *id;
	int ret;

	static_assert(sizeof(wanted.name) == sizeof(cmd->ibs.service_name));
	if (cmd->ibs.flags & RDMA_USER_CM_IB_SERVICE_FLAG_NAME) {
		memcpy(wanted.name, cmd->ibs.service_name, sizeof(wanted.name));
		wanted.name_len = strnlen(wanted.name, sizeof(wanted.name));
	}
	id = rca_ucm_get_id(ucmd->queue, cmd->id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	/* The timeout of rdma_cm. */
	ret = rca_service_resolve(id, &wanted, 2000);
	rca_id_put(id);
	return ret;
}

int rca_ucm_set_option(const struct rca_ucm_cmd *ucmd)
{
	const struct rdma_ucm_set_option *cmd = ucmd->in;
	int ret = -ENOSYS;
	struct rca_id *id;
	void *val;

	if (cmd->optlen > RCA_OPTION_MAX)
		return -EINVAL;
	id = rca_ucm_get_id(ucmd->queue, cmd->id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	val = memdup_user(u64_to_user_ptr(cmd->optval), cmd->optlen);
	if (IS_ERR(val)) {
		ret = PTR_ERR(val);
		goto out_put_id;
	}
	/* The engine has another level, which rdma_ucm does not know. */
	if (cmd->level == RDMA_OPTION_ID || cmd->level == RDMA_OPTION_IB)
		ret = rca_set_option(id, cmd->level, cmd->optname, val, cmd->optlen);
	kfree(val);
out_put_id:
	rca_id_put(id);
	return ret;
}

static int join(const struct rca_ucm_cmd *ucmd, u32 number, const union rca_addr *group,
		bool send_only, u64 uid, u64 response)
{
	struct rdma_ucm_create_id_resp resp;
	struct rca_member *member;
	struct rca_id *id;
	int ret;

	if (ucmd->out_len < sizeof(resp))
		return -ENOSPC;
	id = rca_ucm_get_id(ucmd->queue, number);
	if (IS_ERR(id))
		return PTR_ERR(id);
	member = rca_join(id, group, send_only, uid);
	rca_id_put(id);		/* the membership has a reference */
	if (IS_ERR(member))
		return PTR_ERR(member);
	resp.id = rca_join_handle(member);
	ret = rca_ucm_respond(ucmd, response, &resp, sizeof(resp));
	if (ret) {
		rca_join_abort(member);
		return ret;
	}
	return rca_join_publish(member);
}

int rca_ucm_join_ip_mcast(const struct rca_ucm_cmd *ucmd)
{
	const struct rdma_ucm_join_ip_mcast *cmd = ucmd->in;
	union rca_addr group;

	if (!get_addr(&group, &cmd->addr, sizeof(cmd->addr)))
		return -EINVAL;
	return join(ucmd, cmd->id, &group, false, cmd->uid, cmd->response);
}

int rca_ucm_join_mcast(const struct rca_ucm_cmd *ucmd)
{
	const struct rdma_ucm_join_mcast *cmd = ucmd->in;
	union rca_addr group;
	u16 size = get_addr(&group, &cmd->addr, sizeof(cmd->addr));

	if (!size || size != cmd->addr_size || cmd->join_flags >= RDMA_MC_JOIN_FLAG_RESERVED)
		return -EINVAL;
	return join(ucmd, cmd->id, &group,
		    cmd->join_flags == RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER, cmd->uid,
		    cmd->response);
}

int rca_ucm_leave_mcast(const struct rca_ucm_cmd *ucmd)
{
	const struct rdma_ucm_destroy_id *cmd = ucmd->in;
	struct rca_obj *obj = rca_obj_find(cmd->id, RCA_KIND_MEMBER);
	struct rdma_ucm_destroy_id_resp resp;
	int ret;

	if (IS_ERR(obj))
		return -ENOENT;		/* ids have numbers, too */
	ret = check_owner(rca_member_id(obj), ucmd->queue) ?:
	      rca_leave(obj->ctx, obj->handle, &resp.events_reported);
	rca_obj_put(obj);
	return ret ?: rca_ucm_respond(ucmd, cmd->response, &resp, sizeof(resp));
}
