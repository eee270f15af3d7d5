// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The move of an id to another channel: rdma_migrate_id().
 *
 * Locking: the id's lock around its channel.
 */
#include "event/move.h"

#include <stdlib.h>

#include "base/compiler.h"
#include "core/channel.h"
#include "core/context.h"
#include "core/process.h"
#include "core/ring.h"
#include "event/event.h"
#include "id/report.h"

static int set_queue(struct rcl_id *id, struct rdma_event_channel *channel,
		     struct rdma_cm_alt_set_queue *cmd)
{
	cmd->id = id->handle;
	cmd->flags = RDMA_CM_ALT_SET_QUEUE_COOKIE;
	cmd->cookie = id->cookie;
	cmd->queue_fd = channel ? channel->fd : -1;
	cmd->out_queue_fd = -1;
	if (!channel)
		cmd->flags |= RDMA_CM_ALT_SET_QUEUE_NEW;
	return RCL_CALL(SET_QUEUE, cmd);
}

int rcl_id_move(struct rcl_id *id, struct rdma_event_channel *channel)
{
	struct rdma_event_channel *old = id->sync ? id->id.channel : NULL;
	struct rdma_cm_alt_set_queue cmd = { 0 };
	struct rdma_event_channel *own = NULL;
	struct rcl_ring *ring, *before;
	int ret;

	if (!channel) {
		own = rcl_channel_wrap(-1);
		if (!own)
			return -ENOMEM;
	}
	rcl_ring_check_channel(channel);
	rcl_id_begin_revoke(id);
	ret = set_queue(id, channel, &cmd);
	if (!ret && own && cmd.out_queue_fd < 0)
		ret = -EIO;
	if (ret) {
		rcl_id_end_revoke(id);
		free(own);
		return ret;
	}
	if (own)
		own->fd = cmd.out_queue_fd;
	ring = channel ? rcl_ring_get(channel->fd) : NULL;
	pthread_mutex_lock(&id->lock);
	before = id->ring;
	id->id.channel = own ? own : channel;
	id->fd = channel ? channel->fd : -1;
	id->ring = ring;
	id->sync = own;
	pthread_mutex_unlock(&id->lock);
	rcl_id_end_revoke(id);
	rcl_ring_put(before);
	if (own) {
		rcl_ring_remove(own->fd);	/* as in rcl_channel_wrap() */
		rcl_process_made_fd(own->fd);
	}
	if (old) {
		rcl_event_drop(id);
		rcl_channel_close(old);
	}
	rcl_id_wait_acked(id, cmd.out_events_reported);
	return 0;
}

RCL_EXPORT int rdma_migrate_id(struct rdma_cm_id *id,
			       struct rdma_event_channel *channel)
{
	struct rcl_id *priv = rcl_id_of(id);
	int ret;

	if (!id || (priv->sync && !channel))
		return rcl_fail_id(priv, -EINVAL, __func__,
				   "no id, or it is synchronous already");
	if (rcl_refuse_id(priv, __func__) || rcl_refuse_channel(channel, __func__))
		return -1;
	/* The kernel takes -1 for no queue. */
	ret = channel && channel->fd < 0 ? -EBADF : rcl_id_move(priv, channel);
	if (ret)
		return rcl_fail_id(priv, ret, __func__, "it does not move to channel fd %d",
				   channel ? channel->fd : -1);
	return 0;
}
