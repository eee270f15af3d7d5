// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Addresses of an id: bind, resolve address and route, ports.
 *
 * Locking: none of its own.
 */
#include <endian.h>
#include <infiniband/ib.h>
#include <netinet/in.h>
#include <string.h>

#include "base/compiler.h"
#include "base/err.h"
#include "base/reason.h"
#include "base/sockaddr.h"
#include "core/context.h"
#include "event/event.h"
#include "id/cmid.h"
#include "id/report.h"

RCL_EXPORT int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *addr)
{
	struct rdma_cm_alt_resolve cmd = { 0 };
	struct rcl_id *priv = rcl_id_of(id);
	int ret;

	if (!id || !rcl_addr_len(addr))
		return rcl_fail_id(priv, -EINVAL, __func__,
				   "no id, no address, or an address family that is not supported");
	if (rcl_refuse_id(priv, __func__))
		return -1;
	cmd.pipe.steps = RDMA_CM_ALT_STEP_BIND;
	cmd.pipe.id = priv->handle;
	cmd.pipe.queue_fd = -1;
	rcl_addr_to_kernel(&cmd.pipe.src, addr);
	ret = RCL_CALL(RESOLVE, &cmd);
	if (ret)
		return rcl_fail_id(priv, ret, __func__, "%s is not bound%s", rcl_addr_text(addr).s,
				   rcl_errno_advice(ret));
	ret = rcl_id_set_route(priv, &cmd.out_route);
	if (ret)
		return rcl_fail_id(priv, ret, __func__, "bound, but its device cannot be opened");
	return 0;
}

RCL_EXPORT int rdma_resolve_addr(struct rdma_cm_id *id,
				 struct sockaddr *src_addr,
				 struct sockaddr *dst_addr, int timeout_ms)
{
	struct rdma_cm_alt_resolve cmd = { 0 };
	struct rcl_id *priv = rcl_id_of(id);
	struct sockaddr_storage before;
	bool sync;
	int ret;

	if (!id || !rcl_addr_len(dst_addr) || (src_addr && !rcl_addr_len(src_addr)))
		return rcl_fail_id(priv, -EINVAL, __func__,
				   "no id, no peer, or an address family that is not supported");
	if (rcl_refuse_id(priv, __func__))
		return -1;
	cmd.pipe.steps = RDMA_CM_ALT_STEP_ADDR;
	cmd.pipe.events = RDMA_CM_ALT_STEP_ADDR;
	cmd.pipe.id = priv->handle;
	cmd.pipe.queue_fd = -1;
	cmd.pipe.timeout_ms = (uint32_t)timeout_ms;
	rcl_addr_to_kernel(&cmd.pipe.src, src_addr);
	rcl_addr_to_kernel(&cmd.pipe.dst, dst_addr);
	/* During the command another thread may get the event and destroy the id. */
	sync = priv->sync;
	before = id->route.addr.dst_storage;
	memcpy(&id->route.addr.dst_storage, dst_addr, rcl_addr_len(dst_addr));
	ret = RCL_CALL_WITHOUT(RESOLVE, &cmd, out_route);
	if (ret) {
		id->route.addr.dst_storage = before;
		return rcl_fail_id(priv, ret, __func__, "%s is not looked up%s",
				   rcl_addr_text(dst_addr).s, rcl_errno_advice(ret));
	}
	if (!sync)
		return 0;
	ret = rcl_complete(priv);
	if (ret)
		return rcl_fail_id(priv, ret, __func__, "the address was not resolved");
	return 0;
}

RCL_EXPORT int rdma_resolve_route(struct rdma_cm_id *id, int timeout_ms)
{
	struct rdma_cm_alt_resolve cmd = { 0 };
	struct rcl_id *priv = rcl_id_of(id);
	bool sync;
	int ret;

	if (!id || !id->verbs)
		return rcl_fail_id(priv, -EINVAL, __func__,
				   "the id has no device; rdma_resolve_addr comes first");
	if (rcl_refuse_id(priv, __func__))
		return -1;
	sync = priv->sync;
	cmd.pipe.steps = RDMA_CM_ALT_STEP_ROUTE;
	cmd.pipe.events = RDMA_CM_ALT_STEP_ROUTE;
	cmd.pipe.id = priv->handle;
	cmd.pipe.queue_fd = -1;
	cmd.pipe.timeout_ms = (uint32_t)timeout_ms;
	ret = RCL_CALL_WITHOUT(RESOLVE, &cmd, out_route);
	if (ret)
		return rcl_fail_id(priv, ret, __func__, "the route is not looked up%s",
				   rcl_errno_advice(ret));
	if (!sync)
		return 0;	/* another thread may have destroyed the id */
	ret = rcl_complete(priv);
	if (ret)
		return rcl_fail_id(priv, ret, __func__, "the route was not resolved");
	return 0;
}

RCL_EXPORT __be16 rdma_get_src_port(struct rdma_cm_id *id)
{
	return id ? rcl_addr_port(&id->route.addr.src_addr) : 0;
}

RCL_EXPORT __be16 rdma_get_dst_port(struct rdma_cm_id *id)
{
	return id ? rcl_addr_port(&id->route.addr.dst_addr) : 0;
}
