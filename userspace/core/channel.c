// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Event channels: made, read and closed.
 *
 * Locking: the ring's, while a record that lies there is being taken; what read()
 * gives the kernel gives to one reader.
 */
#include "core/channel.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/sys.h"
#include "core/context.h"
#include "core/ring.h"

/* The part of a record that says what happened, and to whom. */
#define RECORD_HEAD offsetof(struct rdma_cm_alt_event, listen_id)

/*
 * Reads in a row that say that records lie in a ring, where nobody finds any. One may: another
 * thread gives the ring up meanwhile. More of them mean that this is no queue, or another ring.
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
 * The read() of a channel, in which a thread may be cancelled. 0: what there is lies in a ring:
 * look there, or, when the channel has none, read once more.
 */
static ssize_t read_records(struct rdma_event_channel *channel, void *bytes, size_t size,
			    int most)
{
	/* Held: a thread may still be in here when another one destroys the channel. */
	struct rcl_ring *ring = rcl_ring_get(channel->fd);
	ssize_t ret;

	pthread_cleanup_push(put_ring, ring);
	ret = rcl_sys->read(channel->fd, bytes, (size_t)most * size);
	if (ret > 0 && ring)
		rcl_ring_was_read(ring, (unsigned int)((size_t)ret / size));
	/* A copy of the descriptor that the ring's channel has. */
	if (!ret && !ring)
		rcl_rings_give_up();
	pthread_cleanup_pop(1);
	return ret;
}

/*
 * After a read that said 0: is another one worth it? Without any rings it says that of no queue,
 * whatever the program has put in the place of the channel's descriptor.
 */
static bool is_patient(const struct rdma_event_channel *channel, struct rcl_patience *patience)
{
	__u32 pos = rcl_ring_position(channel->fd);

	if (pos != patience->pos)
		*patience = (struct rcl_patience) { .pos = pos };
	if (patience->reads == MAX_STRANGE)
		rcl_rings_give_up();
	return patience->reads++ <= MAX_STRANGE;
}

/* The size of a record; a process that was given its channel has not asked for it yet. */
static int record_size(size_t *size)
{
	int ret = rcl_context_open();

	*size = rcl_context_record_size();
	return ret;
}

int rcl_channel_next(struct rdma_event_channel *channel,
		     union rcl_record *record, struct rcl_ring **ring)
{
	struct rcl_patience patience = { 0 };
	size_t size;
	ssize_t len;
	int ret;

	ret = record_size(&size);
	if (ret)
		return ret;
	do {
		*ring = rcl_channel_look(channel, record);
		if (*ring)
			return 0;
		len = read_records(channel, record->bytes, size, 1);
	} while (!len && is_patient(channel, &patience));
	if (len < 0)
		return (int)len;
	if ((size_t)len < RECORD_HEAD)
		return -ENODATA;
	if ((size_t)len < sizeof(record->event))
		memset(record->bytes + len, 0, sizeof(record->event) - (size_t)len);
	return 0;
}

int rcl_channel_read_many(struct rdma_event_channel *channel, __u8 *bytes, size_t size, int most,
			  struct rcl_patience *patience)
{
	ssize_t len = read_records(channel, bytes, size, most);

	if (len < 0)
		return (int)len;
	if (!len && is_patient(channel, patience))
		return 0;
	return (size_t)len < size ? -ENODATA : (int)((size_t)len / size);
}

/* Has the kernel made what it was asked for? Its records have to be those of this library. */
static bool is_queue(const struct rdma_cm_alt_queue_create *cmd)
{
	return cmd->out_fd >= 0 && cmd->out_record_size == rcl_context_record_size();
}

int rcl_channel_create(struct rdma_event_channel **out)
{
	struct rdma_cm_alt_queue_create cmd = { .out_fd = -1 };
	int ret;

	ret = rcl_context_open();
	if (ret)
		return ret;
	if (rcl_context_has(RDMA_CM_ALT_FEATURE_RING))
		cmd.ring_entries = RCL_RING_ENTRIES;
	ret = RCL_CALL(QUEUE_CREATE, &cmd);
	if (ret)
		return ret;
	if (!is_queue(&cmd)) {
		rcl_log("the kernel made queue %d with records of %u bytes: that cannot be",
			cmd.out_fd, cmd.out_record_size);
		if (cmd.out_fd >= 0)
			rcl_sys->close(cmd.out_fd);
		return -EIO;
	}
	*out = rcl_channel_wrap(cmd.out_fd);
	if (!*out) {
		rcl_sys->close(cmd.out_fd);
		return -ENOMEM;
	}
	rcl_ring_add(&cmd);
	return 0;
}
