// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Channels of events and completions.
 *
 * The kernel ends the ids of a channel when its last descriptor is closed. A child of fork() would
 * keep the sockets of its parent alive with its copies, listeners above all, which nobody serves
 * after the end of the parent. So it closes them at once.
 *
 * Locking: channels_lock, which is held over fork(): a child knows all channels that it has.
 */
#include "rsocket/channels.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "api/init.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/fdtable.h"
#include "core/channel.h"

/* The open event channels. */
static struct rcl_fdtable channels;
static pthread_mutex_t channels_lock = PTHREAD_MUTEX_INITIALIZER;

static void before_fork(void)
{
	pthread_mutex_lock(&channels_lock);
}

static void in_parent(void)
{
	pthread_mutex_unlock(&channels_lock);
}

static void in_child(void)
{
	int fd = -1;

	while ((fd = rcl_fdtable_next(&channels, (unsigned int)fd + 1)) >= 0) {
		if (atomic_exchange(&rcl_fdtable_find(&channels, fd)->object, NULL))
			close(fd);
	}
	pthread_mutex_unlock(&channels_lock);
}

static void follow_forks(void)
{
	pthread_atfork(before_fork, in_parent, in_child);
}

struct rdma_event_channel *rcl_event_channel(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct rcl_fdslot *slot;
	struct rdma_event_channel *channel = NULL;
	int ret = rcl_init();

	pthread_once(&once, follow_forks);
	pthread_mutex_lock(&channels_lock);
	if (!ret)
		ret = rcl_channel_create(&channel, true);
	slot = ret ? NULL : rcl_fdtable_make(&channels, channel->fd);
	if (slot)
		atomic_store(&slot->object, channel);
	pthread_mutex_unlock(&channels_lock);
	if (ret) {
		rcl_fail(ret, __func__, "cannot make an event queue");
		return NULL;
	}
	fcntl(channel->fd, F_SETFL, fcntl(channel->fd, F_GETFL) | O_NONBLOCK);
	return channel;
}

void rcl_event_channel_close(struct rdma_event_channel *channel)
{
	struct rcl_fdslot *slot = rcl_fdtable_find(&channels, channel->fd);

	pthread_mutex_lock(&channels_lock);
	if (slot)
		atomic_store(&slot->object, NULL);
	rdma_destroy_event_channel(channel);
	pthread_mutex_unlock(&channels_lock);
}

struct ibv_comp_channel *rcl_comp_channel(struct ibv_context *verbs)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(verbs);

	if (channel)
		channel->fd = rcl_fd_raise(channel->fd);
	return channel;
}
