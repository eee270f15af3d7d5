// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Event channels: made, read and closed.
 *
 * Locking: the ring's, while a record that lies there is being taken; what read()
 * gives the kernel gives to one reader.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "channel.h"
#include "compiler.h"
#include "context.h"
#include "devices.h"
#include "err.h"
#include "ring.h"
#include "sys.h"

/* The part of a record that says what happened, and to whom. */
#define RECORD_HEAD offsetof(struct rdma_cm_alt_event, listen_id)

/*
 * Reads that say that there is a ring, of a channel for which we have none. Another thread may
 * give it up during the first one.
 */
#define MAX_STRANGE 2

struct rdma_event_channel *rcl_channel_wrap(int fd)
{
	struct rdma_event_channel *channel = malloc(sizeof(*channel));

	if (channel) {
		channel->fd = fd;
		/* Of a program that closes descriptors behind our back. */
		rcl_ring_remove(fd);
	}
	return channel;
}

void rcl_channel_close(struct rdma_event_channel *channel)
{
	if (!channel)
		return;
	rcl_ring_remove(channel->fd);
	rcl_sys->close(channel->fd);
	free(channel);
}

struct rcl_ring *rcl_channel_look(struct rdma_event_channel *channel, union rcl_record *record)
{
	struct rcl_ring *ring = rcl_ring_of(channel->fd);

	return ring && rcl_ring_look(ring, record) ? ring : NULL;
}

static void put_ring(void *ring)
{
	rcl_ring_put(ring);
}

/*
 * The read() of a channel, in which a thread may be cancelled. *again: what there is lies in
 * a ring: look there, or, when the channel has none, read once more.
 */
static ssize_t read_records(struct rdma_event_channel *channel, void *bytes, size_t len,
			    bool *again)
{
	/* Held: a thread may still be in here when another one destroys the channel. */
	struct rcl_ring *ring = rcl_ring_get(channel->fd);
	size_t size = rcl_context_record_size();
	ssize_t ret;

	*again = false;
	pthread_cleanup_push(put_ring, ring);
	ret = rcl_sys->read(channel->fd, bytes, len);
	if (ret > 0 && ring)
		rcl_ring_was_read(ring, (unsigned int)((size_t)ret / size));
	if (!ret) {
		*again = true;
		/* A copy of the descriptor that the ring's channel has. */
		if (!ring)
			rcl_rings_give_up();
	}
	pthread_cleanup_pop(1);
	return ret;
}

int rcl_channel_next(struct rdma_event_channel *channel,
		     union rcl_record *record, struct rcl_ring **ring)
{
	int strange = 0;
	ssize_t len;
	bool again;

	do {
		*ring = rcl_channel_look(channel, record);
		if (*ring)
			return 0;
		len = read_records(channel, record->bytes, rcl_context_record_size(), &again);
	} while (again && (rcl_ring_of(channel->fd) || strange++ < MAX_STRANGE));
	if (len < 0)
		return (int)len;
	if ((size_t)len < RECORD_HEAD)
		return -ENODATA;
	if ((size_t)len < sizeof(record->event))
		memset(record->bytes + len, 0, sizeof(record->event) - len);
	return 0;
}

int rcl_channel_read_many(struct rdma_event_channel *channel, __u8 *bytes, int most)
{
	size_t size = rcl_context_record_size();
	int count, strange = 0;
	ssize_t len;
	bool again;

	do {
		len = read_records(channel, bytes, (size_t)most * size, &again);
		if (len < 0)
			return (int)len;
		if (again && rcl_ring_of(channel->fd))
			return 0;
	} while (again && strange++ < MAX_STRANGE);
	count = (int)((size_t)len / size);
	return count ? count : -ENODATA;
}

RCL_EXPORT struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct rdma_cm_alt_queue_create cmd = { .out_fd = -1 };
	struct rdma_event_channel *channel;
	int ret;

	ret = rcl_devices_init();
	if (!ret)
		ret = rcl_context_open();
	if (!ret) {
		if (rcl_context_has(RDMA_CM_ALT_FEATURE_RING))
			cmd.ring_entries = RCL_RING_ENTRIES;
		ret = RCL_CALL(QUEUE_CREATE, &cmd);
	}
	if (ret) {
		rcl_fail(ret, __func__, "cannot make an event queue");
		return NULL;
	}
	channel = rcl_channel_wrap(cmd.out_fd);
	if (!channel) {
		rcl_sys->close(cmd.out_fd);
		rcl_fail(-ENOMEM, __func__, "no memory for a channel");
		return NULL;
	}
	rcl_ring_add(&cmd);
	return channel;
}

RCL_EXPORT void rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	rcl_channel_close(channel);
}
