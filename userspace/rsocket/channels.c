// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Channels of events and completions.
 *
 * Locking: none.
 */
#include "rsocket/channels.h"

#include <fcntl.h>

#include "api/init.h"
#include "base/err.h"
#include "base/fd.h"
#include "core/channel.h"

struct rdma_event_channel *rcl_event_channel(void)
{
	struct rdma_event_channel *channel = NULL;
	int ret = rcl_init();

	if (!ret)
		ret = rcl_channel_create(&channel, true);
	if (ret) {
		rcl_fail(ret, __func__, "cannot make an event queue");
		return NULL;
	}
	fcntl(channel->fd, F_SETFL, fcntl(channel->fd, F_GETFL) | O_NONBLOCK);
	return channel;
}

struct ibv_comp_channel *rcl_comp_channel(struct ibv_context *verbs)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(verbs);

	if (channel)
		channel->fd = rcl_fd_raise(channel->fd);
	return channel;
}
