// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Ioctls of queries and options: use of limited resources, QP attributes, addresses,
 * paths and service records of an id.
 *
 * Locking: none of its own; operations take the id's op mutex.
 */
#include "user/ioctl.h"

#include <linux/cred.h>
#include <linux/nospec.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uidgid.h>
#include <rdma/rdma_cm_alt.h>

#include "cm/options.h"
#include "cm/qp_attr.h"
#include "cm/service.h"
#include "ctx/limits.h"
#include "id/id.h"

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
