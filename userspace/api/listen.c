// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The passive side: rdma_listen(), and rdma_get_request() of a synchronous listener.
 *
 * Locking: none of its own.
 */
#include "api/destroy.h"
#include "base/compiler.h"
#include "base/err.h"
#include "base/reason.h"
#include "core/context.h"
#include "event/event.h"
#include "id/cmid.h"
#include "id/report.h"

RCL_EXPORT int rdma_listen(struct rdma_cm_id *id, int backlog)
{
	struct rdma_cm_alt_listen cmd = { 0 };
	struct rcl_id *priv = rcl_id_of(id);
	bool before;
	int ret;

	if (!id)
		return rcl_fail_id(priv, -EINVAL, __func__, "no id");
	if (rcl_refuse_id(priv, __func__))
		return -1;
	cmd.id = priv->handle;
	cmd.backlog = backlog > 0 ? (uint32_t)backlog : 0;
	/* Before the command: another thread may read a request before it returns. */
	before = atomic_exchange(&priv->listening, true);
	ret = RCL_CALL(LISTEN, &cmd);
	if (ret)
		priv->listening = before;
	if (ret)
		return rcl_fail_id(priv, ret, __func__,
				   "the kernel does not listen%s", rcl_errno_advice(ret));
	ret = rcl_id_set_route(priv, &cmd.out_route);
	if (ret)
		return rcl_fail_id(priv, ret, __func__,
				   "the id listens, but its device cannot be opened");
	return 0;
}

/* The QP with the attributes that were given to rdma_create_ep(). */
static int create_ep_qp(struct rcl_id *listener, struct rdma_cm_id *child)
{
	struct ibv_qp_init_attr attr;

	if (!listener->ep_attr)
		return 0;
	attr = *listener->ep_attr;
	return rdma_create_qp(child, listener->id.pd, &attr) ? rcl_errno() : 0;
}

static int request_error(const struct rdma_cm_event *event)
{
	int ret = rcl_event_error(event);

	if (!ret && event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		ret = -EINVAL;
	return ret;
}

RCL_EXPORT int rdma_get_request(struct rdma_cm_id *listen, struct rdma_cm_id **id)
{
	struct rcl_id *priv = rcl_id_of(listen);
	struct rdma_cm_event *event;
	int ret;

	if (!listen || !id || !priv->sync)
		return rcl_fail_id(priv, -EINVAL, __func__,
				   "it is not synchronous; rdma_get_cm_event has its requests");
	if (rcl_refuse_id(priv, __func__))
		return -1;
	rcl_id_drop_request(priv);
	rcl_event_drop(priv);
	ret = rcl_event_next(listen->channel, &event);
	if (ret)
		return rcl_fail_id(priv, ret, __func__, "no request could be taken");
	ret = request_error(event);
	if (!ret)
		ret = create_ep_qp(priv, event->id);
	if (ret) {
		listen->event = event;
		/* Only the id of a request is new: other events are of other ids. */
		if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
			priv->failed_request = rcl_id_of(event->id)->cookie;
		return rcl_fail_id(priv, ret, __func__, "event %s, status %d",
				   rdma_event_str(event->event), event->status);
	}
	event->id->event = event;
	*id = event->id;
	return 0;
}
