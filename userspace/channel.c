// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Event channels: made, read and closed.
 *
 * Locking: none; the kernel gives each record to one reader.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "channel.h"
#include "compiler.h"
#include "context.h"
#include "devices.h"
#include "err.h"
#include "sys.h"

/* The part of a record that says what happened, and to whom. */
#define RECORD_HEAD offsetof(struct rdma_cm_alt_event, listen_id)

struct rdma_event_channel *rcl_channel_wrap(int fd)
{
	struct rdma_event_channel *channel = malloc(sizeof(*channel));

	if (channel)
		channel->fd = fd;
	return channel;
}

void rcl_channel_close(struct rdma_event_channel *channel)
{
	if (!channel)
		return;
	rcl_sys->close(channel->fd);
	free(channel);
}

int rcl_channel_next(struct rdma_event_channel *channel,
		     union rcl_record *record)
{
	size_t size = rcl_context_record_size();
	ssize_t len;

	len = rcl_sys->read(channel->fd, record->bytes, size);
	if (len < 0)
		return (int)len;
	if ((size_t)len < RECORD_HEAD)
		return -ENODATA;
	if ((size_t)len < sizeof(record->event))
		memset(record->bytes + len, 0, sizeof(record->event) - len);
	return 0;
}

RCL_EXPORT struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct rdma_cm_alt_queue_create cmd = { .out_fd = -1 };
	struct rdma_event_channel *channel;
	int ret;

	ret = rcl_devices_init();
	if (!ret)
		ret = RCL_CALL(QUEUE_CREATE, &cmd);
	if (ret) {
		rcl_fail(ret, __func__, "cannot make an event queue");
		return NULL;
	}
	channel = rcl_channel_wrap(cmd.out_fd);
	if (!channel) {
		rcl_sys->close(cmd.out_fd);
		rcl_fail(-ENOMEM, __func__, "no memory for a channel");
	}
	return channel;
}

RCL_EXPORT void rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	rcl_channel_close(channel);
}
