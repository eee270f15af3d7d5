// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The calls that a program begins with: devices, event channels, ids.
 *
 * Locking: none of its own.
 */
#include "api/create.h"

#include "api/init.h"
#include "base/compiler.h"
#include "base/err.h"
#include "base/sys.h"
#include "core/channel.h"
#include "core/context.h"
#include "core/devices.h"
#include "core/ring.h"
#include "id/report.h"
#include "id/stockconf.h"

RCL_EXPORT struct ibv_context **rdma_get_devices(int *num_devices)
{
	struct ibv_context **list = NULL;
	int count;

	rcl_fork_init();
	count = rcl_devices_get(&list);
	if (num_devices)
		*num_devices = count < 0 ? 0 : count;
	if (count < 0)
		rcl_fail(count, __func__, "cannot list the RDMA devices");
	return list;
}

RCL_EXPORT void rdma_free_devices(struct ibv_context **list)
{
	if (list)
		rcl_devices_put(list);
}

RCL_EXPORT struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct rdma_event_channel *channel = NULL;
	int ret;

	ret = rcl_init();
	if (!ret)
		ret = rcl_channel_create(&channel, false);
	if (ret)
		rcl_fail(ret, __func__, "cannot make an event queue");
	return channel;
}

RCL_EXPORT void rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	rcl_channel_close(channel);
}

int rcl_id_create(struct rdma_event_channel *channel, void *context,
		  enum rdma_port_space ps, enum ibv_qp_type qp_type,
		  struct rcl_id **out)
{
	struct rdma_cm_alt_resolve cmd = { 0 };
	struct rcl_id *id;
	int ret;

	ret = rcl_init();
	if (ret)
		return ret;
	rcl_ring_check_channel(channel);
	id = rcl_id_new(channel, context, ps, qp_type);
	if (!id)
		return -ENOMEM;
	cmd.pipe.steps = RDMA_CM_ALT_STEP_CREATE;
	cmd.pipe.flags = channel ? 0 : RDMA_CM_ALT_PIPE_NEW_QUEUE;
	cmd.pipe.queue_fd = channel ? channel->fd : -1;
	cmd.pipe.cookie = id->cookie;
	cmd.pipe.ps = (uint16_t)ps;
	cmd.pipe.qp_type = rcl_id_connected_type(ps, qp_type);
	cmd.out_queue_fd = -1;
	ret = RCL_CALL_WITHOUT(RESOLVE, &cmd, out_route);
	if (!ret)
		ret = rcl_id_check_created(id, cmd.out_id, !channel, cmd.out_queue_fd);
	if (ret)
		goto err;
	rcl_stockconf_apply(cmd.out_id);
	if (!channel) {
		id->id.channel = rcl_channel_wrap(cmd.out_queue_fd);
		if (!id->id.channel) {
			/* The kernel destroys the id with the last descriptor of its queue. */
			rcl_sys->close(cmd.out_queue_fd);
			ret = -ENOMEM;
			goto err;
		}
	}
	*out = id;
	return 0;
err:
	rcl_id_free(id);
	return ret;
}

RCL_EXPORT int rdma_create_id(struct rdma_event_channel *channel,
			      struct rdma_cm_id **id, void *context,
			      enum rdma_port_space ps)
{
	enum ibv_qp_type qp_type = IBV_QPT_RC;
	struct rcl_id *priv;
	int ret;

	if (!id || (unsigned int)ps > UINT16_MAX)
		return rcl_fail(-EINVAL, __func__,
				"no pointer for the id, or invalid port space 0x%x", ps);
	if (channel && channel->fd < 0)
		return rcl_fail(-EBADF, __func__, "channel fd %d", channel->fd);
	if (rcl_refuse_channel(channel, __func__))
		return -1;
	if (ps == RDMA_PS_UDP || ps == RDMA_PS_IPOIB)
		qp_type = IBV_QPT_UD;
	ret = rcl_id_create(channel, context, ps, qp_type, &priv);
	if (ret)
		return rcl_fail(ret, __func__, "port space 0x%x, channel fd %d", ps,
				channel ? channel->fd : -1);
	*id = &priv->id;
	return 0;
}
