// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Connections: connect, accept, reject, establish, disconnect, notify, and ECE.
 *
 * Locking: none of its own; the state of the connection is atomic.
 */
#include <rdma/rdma_cma_alt.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/err.h"
#include "base/reason.h"
#include "core/context.h"
#include "event/event.h"
#include "id/cmid.h"
#include "id/qp.h"
#include "id/report.h"

#define MAX_RETRIES 7
#define REASON_VENDOR_OPTION 35

static const char no_device[] =
	"the id has no device; rdma_resolve_addr or rdma_bind_addr comes first";

/* Are the parameters valid for this id? The device limits the depths. */
static int check_param(const struct rcl_id *id, const struct rdma_conn_param *p)
{
	const struct rcl_device *d = id->device;

	if (!p)
		return id->id.qp || id->id.qp_type == IBV_QPT_UD ? 0 : -EINVAL;
	if (id->id.ps != RDMA_PS_TCP)
		return 0;
	if (p->responder_resources != RDMA_MAX_RESP_RES &&
	    p->responder_resources > d->max_responder_resources)
		return -EINVAL;
	if (p->initiator_depth != RDMA_MAX_INIT_DEPTH &&
	    p->initiator_depth > d->max_initiator_depth)
		return -EINVAL;
	return 0;
}

static uint8_t at_most(uint8_t value, uint8_t max)
{
	return value < max ? value : max;
}

/*
 * Fills in the parameters for the kernel. Private data of an endpoint (ai_connect) precedes the
 * caller's; *out_buf, which has both, is freed after the command.
 */
static int fill_param(const struct rcl_id *id, const struct rdma_conn_param *src,
		      struct rdma_cm_alt_conn_param *dst, void **out_buf)
{
	size_t prefix = id->ep_connect ? id->ep_connect_len : 0;
	size_t len = src && src->private_data ? src->private_data_len : 0;
	const void *data = src ? src->private_data : NULL;
	uint8_t *buf;

	*out_buf = NULL;
	dst->responder_resources = id->responder_resources;
	dst->initiator_depth = id->initiator_depth;
	dst->flow_control = src ? src->flow_control : 0;
	dst->retry_count = src ? at_most(src->retry_count, MAX_RETRIES) : MAX_RETRIES;
	dst->rnr_retry_count = src ? at_most(src->rnr_retry_count, MAX_RETRIES) :
				     MAX_RETRIES;
	if (id->id.qp) {
		dst->qp_num = id->id.qp->qp_num;
		dst->srq = !!id->id.qp->srq;
	} else if (src) {
		dst->qp_num = src->qp_num;
		dst->srq = src->srq;
	}
	if (prefix) {
		if (prefix + len > UINT16_MAX)
			return -EINVAL;
		buf = malloc(prefix + len);
		if (!buf)
			return -ENOMEM;
		memcpy(buf, id->ep_connect, prefix);
		if (len)
			memcpy(buf + prefix, data, len);
		*out_buf = buf;
		data = buf;
		len += prefix;
	}
	dst->private_data_uptr = len ? (uintptr_t)data : 0;
	dst->private_data_len = (uint16_t)len;
	return 0;
}

RCL_EXPORT int rdma_connect(struct rdma_cm_id *id,
			    struct rdma_conn_param *conn_param)
{
	struct rdma_cm_alt_connect cmd = { 0 };
	struct rcl_id *priv = rcl_id_of(id);
	void *buf, *ep_connect;
	bool sync;
	int ret;

	if (!id || !priv->device)
		return rcl_fail_id(priv, -EINVAL, __func__, no_device);
	if (check_param(priv, conn_param))
		return rcl_fail_id(priv, -EINVAL, __func__,
				   "no parameters and no QP, or depths beyond the device's %u and %u",
				   priv->device->max_responder_resources,
				   priv->device->max_initiator_depth);
	if (rcl_refuse_id(priv, __func__))
		return -1;

	if (conn_param && conn_param->initiator_depth != RDMA_MAX_INIT_DEPTH)
		priv->initiator_depth = conn_param->initiator_depth;
	else
		priv->initiator_depth = priv->device->max_initiator_depth;
	if (conn_param && conn_param->responder_resources != RDMA_MAX_RESP_RES)
		priv->responder_resources = conn_param->responder_resources;
	else
		priv->responder_resources = priv->device->max_responder_resources;

	ret = fill_param(priv, conn_param, &cmd.param, &buf);
	if (ret)
		return rcl_fail_id(priv, ret, __func__, "the private data does not fit");
	cmd.pipe.id = priv->handle;
	cmd.pipe.queue_fd = -1;
	cmd.param.ece_vendor_id = priv->local_ece.vendor_id;
	cmd.param.ece_attr_mod = priv->local_ece.options;
	/* The access flags of the QP depend on the depths of the request. */
	rcl_qp_drop_init_attr(priv);
	/* During the command another thread may get the event and destroy the id. */
	sync = priv->sync;
	ep_connect = priv->ep_connect;
	priv->ep_connect = NULL;
	ret = RCL_CALL(CONNECT, &cmd);
	free(buf);
	if (ret == -ECONNABORTED) {
		/* Another thread has destroyed the id: it must not be used any more. */
		free(ep_connect);
		return rcl_fail(ret, __func__, "the id was destroyed meanwhile");
	}
	if (ret)
		priv->ep_connect = ep_connect;
	if (ret == -EINVAL)
		return rcl_fail_id(priv, ret, __func__,
				   "no request was sent; is the route resolved, are %u bytes of private data too many without a trunk?",
				   cmd.param.private_data_len);
	if (ret == -EOPNOTSUPP)
		return rcl_fail_id(priv, ret, __func__,
				   "no trunk to the peer is open, which the id requires, or an iWARP device has no datagrams");
	if (ret)
		return rcl_fail_id(priv, ret, __func__, "no connection%s", rcl_errno_advice(ret));
	free(ep_connect);
	if (!sync)
		return 0;
	ret = rcl_complete(priv);
	if (ret)
		return rcl_fail_id(priv, ret, __func__, "no connection; the event has status %d",
				   id->event ? id->event->status : 0);
	return 0;
}

/* Depths of an accept: the caller's, else those of the request, limited by the device. */
static void set_accept_depths(struct rcl_id *id, const struct rdma_conn_param *p)
{
	if (p && p->initiator_depth != RDMA_MAX_INIT_DEPTH)
		id->initiator_depth = p->initiator_depth;
	else
		id->initiator_depth = at_most(id->initiator_depth,
					      id->device->max_initiator_depth);
	if (p && p->responder_resources != RDMA_MAX_RESP_RES)
		id->responder_resources = p->responder_resources;
	else
		id->responder_resources = at_most(id->responder_resources,
						  id->device->max_responder_resources);
}

/* After a failed accept the QP cannot be used: reject the request for which the peer waits. */
static void reject_request(struct rcl_id *id)
{
	struct rdma_cm_alt_reject cmd = { .id = id->handle };

	rcl_qp_error(id);
	RCL_CALL(REJECT, &cmd);
}

static int accept_request(struct rdma_cm_id *id, struct rdma_conn_param *conn_param, bool quiet,
			  const char *call)
{
	struct rdma_cm_alt_accept cmd = { .flags = quiet ? RDMA_CM_ALT_ACCEPT_QUIET : 0 };
	struct rcl_id *priv = rcl_id_of(id);
	void *buf;
	bool sync;
	int ret;

	if (!id || !priv->device)
		return rcl_fail_id(priv, -EINVAL, call,
				   "no id, or one that is no connection request");
	if (check_param(priv, conn_param) || (!conn_param && !id->qp))
		return rcl_fail_id(priv, -EINVAL, call,
				   "no parameters and no QP, or depths beyond the device's %u and %u",
				   priv->device->max_responder_resources,
				   priv->device->max_initiator_depth);
	if (rcl_refuse_id(priv, call))
		return -1;
	set_accept_depths(priv, conn_param);
	ret = fill_param(priv, conn_param, &cmd.param, &buf);
	if (ret)
		return rcl_fail_id(priv, ret, call, "the private data does not fit");
	if (id->qp_type != IBV_QPT_UD) {
		ret = rcl_qp_connect(priv, priv->responder_resources,
				     priv->initiator_depth);
		if (ret) {
			free(buf);
			return rcl_fail_id(priv, ret, call,
					   "the QP does not move to RTS");
		}
	}
	cmd.id = priv->handle;
	cmd.cookie = priv->cookie;
	/* The vendor of the request, and the options on which both sides agree. */
	cmd.param.ece_vendor_id = priv->remote_ece.vendor_id;
	cmd.param.ece_attr_mod = priv->local_ece.options;
	rcl_qp_drop_init_attr(priv);
	/* During the command another thread may get the event and destroy the id. */
	sync = priv->sync && !quiet;
	priv->accepted = true;
	/* No ESTABLISHED follows. */
	priv->quiet = quiet;
	if (quiet)
		priv->connected = id->qp_type != IBV_QPT_UD;
	ret = RCL_CALL(ACCEPT, &cmd);
	free(buf);
	if (ret) {
		priv->accepted = false;
		if (quiet)
			priv->connected = false;
		reject_request(priv);
		return rcl_fail_id(priv, ret, call, "the kernel did not accept the request");
	}
	if (!sync)
		return 0;
	if (id->qp_type == IBV_QPT_UD) {
		rcl_event_drop(priv);
		return 0;
	}
	ret = rcl_complete(priv);
	if (ret)
		return rcl_fail_id(priv, ret, call, "no connection; the event has status %d",
				   id->event ? id->event->status : 0);
	return 0;
}

RCL_EXPORT int rdma_accept(struct rdma_cm_id *id,
			   struct rdma_conn_param *conn_param)
{
	return accept_request(id, conn_param, false, __func__);
}

RCL_EXPORT int rdma_alt_accept(struct rdma_cm_id *id, struct rdma_conn_param *conn_param,
			       unsigned int flags)
{
	if (flags & ~(unsigned int)RDMA_ALT_ACCEPT_QUIET)
		return rcl_fail_id(rcl_id_of(id), -EINVAL, __func__, "unknown flags 0x%x", flags);
	return accept_request(id, conn_param, flags & RDMA_ALT_ACCEPT_QUIET, __func__);
}

static int reject_with_reason(struct rdma_cm_id *id, const void *private_data, uint8_t len,
			      uint32_t reason, const char *call)
{
	struct rdma_cm_alt_reject cmd = { .reason = reason };
	struct rcl_id *priv = rcl_id_of(id);
	int ret;

	if (!id)
		return rcl_fail_id(priv, -EINVAL, call, "no id");
	if (rcl_refuse_id(priv, call))
		return -1;
	cmd.id = priv->handle;
	if (private_data && len) {
		cmd.private_data_uptr = (uintptr_t)private_data;
		cmd.private_data_len = len;
	}
	ret = RCL_CALL(REJECT, &cmd);
	if (ret)
		return rcl_fail_id(priv, ret, call,
				   "no request is pending, or %u bytes of private data are too many for its transport",
				   len);
	return 0;
}

RCL_EXPORT int rdma_reject(struct rdma_cm_id *id, const void *private_data,
			   uint8_t private_data_len)
{
	return reject_with_reason(id, private_data, private_data_len, 0, __func__);
}

RCL_EXPORT int rdma_reject_ece(struct rdma_cm_id *id, const void *private_data,
			       uint8_t private_data_len)
{
	return reject_with_reason(id, private_data, private_data_len, REASON_VENDOR_OPTION,
				  __func__);
}

RCL_EXPORT int rdma_establish(struct rdma_cm_id *id)
{
	struct rdma_cm_alt_establish cmd = { 0 };
	struct rcl_id *priv = rcl_id_of(id);
	bool before;
	int ret;

	if (!id || id->qp)
		return rcl_fail_id(priv, -EINVAL, __func__,
				   "no id, or one with a QP: it is established without a call");
	if (rcl_refuse_id(priv, __func__))
		return -1;
	cmd.id = priv->handle;
	/* Before the command: DISCONNECTED may be read before it returns. */
	before = atomic_exchange(&priv->connected, true);
	ret = RCL_CALL(ESTABLISH, &cmd);
	if (ret) {
		priv->connected = before;
		return rcl_fail_id(priv, ret, __func__, "no CONNECT_RESPONSE came before");
	}
	return 0;
}

RCL_EXPORT int rdma_disconnect(struct rdma_cm_id *id)
{
	struct rdma_cm_alt_disconnect cmd = { 0 };
	struct rcl_id *priv = rcl_id_of(id);
	bool sync;
	int ret;

	if (!id)
		return rcl_fail_id(priv, -EINVAL, __func__, "no id");
	if (rcl_refuse_id(priv, __func__))
		return -1;
	ret = rcl_qp_shutdown(priv);
	if (ret)
		return rcl_fail_id(priv, ret, __func__,
				   "the id has no device, or its QP does not stop");
	/* The kernel has answered the peer's DREQ, or the peer ours. */
	if (priv->ended)
		return 0;
	cmd.id = priv->handle;
	sync = priv->sync;
	ret = RCL_CALL(DISCONNECT, &cmd);
	if (ret)
		return rcl_fail_id(priv, ret, __func__, "it was never connected");
	/* Only an established connection ends with an event. */
	while (sync && priv->connected) {
		ret = rcl_complete(priv);
		if (ret == -ENODEV && !priv->connected)
			break;
		if (ret)
			return rcl_fail_id(priv, ret, __func__, "the peer did not answer");
	}
	return 0;
}

RCL_EXPORT int rdma_notify(struct rdma_cm_id *id, enum ibv_event_type event)
{
	struct rdma_cm_alt_notify cmd = { .event = event };
	struct rcl_id *priv = rcl_id_of(id);
	int ret;

	if (!id)
		return rcl_fail_id(priv, -EINVAL, __func__, "no id");
	if (rcl_refuse_id(priv, __func__))
		return -1;
	cmd.id = priv->handle;
	ret = RCL_CALL(NOTIFY, &cmd);
	if (ret)
		return rcl_fail_id(priv, ret, __func__, "asynchronous event %d", event);
	return 0;
}

RCL_EXPORT int rdma_set_local_ece(struct rdma_cm_id *id, struct ibv_ece *ece)
{
	struct rcl_id *priv = rcl_id_of(id);

	if (!id || id->qp || !ece || !ece->vendor_id || ece->comp_mask)
		return rcl_fail_id(priv, -EINVAL, __func__,
				   "the id has a QP of its own, or there is no vendor");
	priv->local_ece.vendor_id = ece->vendor_id;
	priv->local_ece.options = ece->options;
	return 0;
}

RCL_EXPORT int rdma_get_remote_ece(struct rdma_cm_id *id, struct ibv_ece *ece)
{
	struct rcl_id *priv = rcl_id_of(id);

	if (!id || id->qp || !ece)
		return rcl_fail_id(priv, -EINVAL, __func__,
				   "the id has a QP of its own, or no pointer for the data");
	*ece = (struct ibv_ece) {
		.vendor_id = priv->remote_ece.vendor_id,
		.options = priv->remote_ece.options,
	};
	return 0;
}
