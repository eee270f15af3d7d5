// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Events that a program posts itself.
 *
 * Locking: none.
 */
#include "base/compiler.h"
#include "base/err.h"
#include "base/rdma_cma_new.h"
#include "core/context.h"
#include "id/cmid.h"
#include "id/report.h"

RCL_EXPORT int rdma_write_cm_event(struct rdma_cm_id *id,
				   enum rdma_cm_event_type event, int status,
				   uint64_t arg)
{
	struct rdma_cm_alt_post_event cmd = { 0 };
	struct rcl_id *priv = rcl_id_of(id);
	int ret;

	if (!id || (unsigned int)event != RDMA_CM_ALT_EVENT_USER)
		return rcl_fail_id(priv, -EINVAL, __func__,
				   "no id, or event %u, which is not RDMA_CM_EVENT_USER",
				   (unsigned int)event);
	if (rcl_refuse_id(priv, __func__))
		return -1;
	cmd.id = priv->handle;
	cmd.type = RDMA_CM_ALT_EVENT_USER;
	cmd.status = status;
	cmd.arg = arg;
	ret = RCL_CALL(POST_EVENT, &cmd);
	return ret ? rcl_fail_id(priv, ret, __func__, "the event is not posted") : 0;
}
