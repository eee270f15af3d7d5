// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Options of an id.
 *
 * Locking: the id's lock around the timeout.
 */
#include <stdint.h>

#include "base/compiler.h"
#include "base/err.h"
#include "core/context.h"
#include "id/cmid.h"
#include "id/report.h"

/* The kernel uses the value in its messages, and the library for the QP. */
static void cache_ack_timeout(struct rcl_id *id, int level, int optname, const void *optval,
			      size_t optlen)
{
	if (level != RDMA_OPTION_ID || optname != RDMA_OPTION_ID_ACK_TIMEOUT ||
	    optlen != sizeof(id->ack_timeout))
		return;
	pthread_mutex_lock(&id->lock);
	id->ack_timeout = *(const uint8_t *)optval;
	id->ack_timeout_set = true;
	pthread_mutex_unlock(&id->lock);
}

RCL_EXPORT int rdma_set_option(struct rdma_cm_id *id, int level, int optname,
			       void *optval, size_t optlen)
{
	struct rdma_cm_alt_option cmd = { 0 };
	struct rcl_id *priv = rcl_id_of(id);
	int ret;

	if (!id || optlen > UINT32_MAX)
		return rcl_fail_id(priv, -EINVAL, __func__, "no id, or %zu bytes", optlen);
	if (rcl_refuse_id(priv, __func__))
		return -1;
	cmd.id = priv->handle;
	cmd.level = (uint32_t)level;
	cmd.optname = (uint32_t)optname;
	cmd.optlen = (uint32_t)optlen;
	cmd.optval_uptr = (uintptr_t)optval;
	ret = RCL_CALL(SET_OPTION, &cmd);
	if (ret)
		return rcl_fail_id(priv, ret, __func__, "level %d, option %d, %zu bytes",
				   level, optname, optlen);
	cache_ack_timeout(priv, level, optname, optval, optlen);
	return 0;
}
