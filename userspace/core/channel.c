// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Event channels: create, read, close.
 *
 * Locking: the lock of the ring while a record is taken from it. The kernel gives a record that is
 * read by read() to one thread.
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
#include "core/process.h"
#include "core/ring.h"

/* The part of a record with the type and the id of the event, which every kernel has. */
#define RECORD_HEAD offsetof(struct rdma_cm_alt_event, listen_id)

/*
 * A read of 0 bytes says that records are in the ring. If the ring is empty, another thread may
 * just have disabled it. More such reads in a row mean that the descriptor is no queue, or that
 * the records are in the ring of another descriptor.
 */
#define MAX_EMPTY_READS 2

struct rdma_event_channel *rcl_channel_wrap(int fd)
{
	struct rdma_event_channel *channel = malloc(sizeof(*channel));

	if (channel) {
		channel->fd = fd;
		/* The ring of a descriptor that the program has closed itself. */
		rcl_ring_remove(fd);
		rcl_process_made_fd(fd);
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

struct rcl_ring *rcl_channel_peek(struct rdma_event_channel *channel, union rcl_record *record)
{
	struct rcl_ring *ring = rcl_ring_of(channel->fd);

	return ring && rcl_ring_peek(ring, record) ? ring : NULL;
}

static void put_ring(void *ring)
{
	rcl_ring_put(ring);
}

/*
 * read() of a channel, in which the thread may be cancelled. Returns 0 when the records are in a
 * ring: the caller looks there, or reads again when the channel has no ring.
 */
static ssize_t read_records(struct rdma_event_channel *channel, void *bytes, size_t size,
			    int most)
{
	/* Referenced: another thread may destroy the channel during the read. */
	struct rcl_ring *ring = rcl_ring_get(channel->fd);
	ssize_t ret;

	pthread_cleanup_push(put_ring, ring);
	ret = rcl_sys->read(channel->fd, bytes, (size_t)most * size);
	if (ret > 0 && ring)
		rcl_ring_count_reads(ring, (unsigned int)((size_t)ret / size));
	/* The descriptor is a copy (dup) of that of the ring's channel. */
	if (!ret && !ring)
		rcl_rings_disable();
	pthread_cleanup_pop(1);
	return ret;
}

/*
 * May the channel be read again after a read of 0 bytes? When all rings are disabled no queue
 * returns 0, so the descriptor is another file, which the program has put in its place.
 */
static bool may_reread(const struct rdma_event_channel *channel, struct rcl_reread *reread)
{
	__u32 pos = rcl_ring_position(channel->fd);

	if (pos != reread->pos)
		*reread = (struct rcl_reread) { .pos = pos };
	if (reread->reads == MAX_EMPTY_READS)
		rcl_rings_disable();
	return reread->reads++ <= MAX_EMPTY_READS;
}

/* The size of a record. A process that got its channel from another one opens the device here. */
static int record_size(size_t *size)
{
	int ret = rcl_context_open();

	*size = rcl_context_record_size();
	return ret;
}

int rcl_channel_next(struct rdma_event_channel *channel,
		     union rcl_record *record, struct rcl_ring **ring)
{
	struct rcl_reread reread = { 0 };
	size_t size;
	ssize_t len;
	int ret;

	ret = record_size(&size);
	if (ret)
		return ret;
	do {
		*ring = rcl_channel_peek(channel, record);
		if (*ring)
			return 0;
		len = read_records(channel, record->bytes, size, 1);
	} while (!len && may_reread(channel, &reread));
	if (len < 0)
		return (int)len;
	if ((size_t)len < RECORD_HEAD)
		return -ENODATA;
	if ((size_t)len < sizeof(record->event))
		memset(record->bytes + len, 0, sizeof(record->event) - (size_t)len);
	return 0;
}

int rcl_channel_read_many(struct rdma_event_channel *channel, __u8 *bytes, size_t size, int most,
			  struct rcl_reread *reread)
{
	ssize_t len = read_records(channel, bytes, size, most);

	if (len < 0)
		return (int)len;
	if (!len && may_reread(channel, reread))
		return 0;
	return (size_t)len < size ? -ENODATA : (int)((size_t)len / size);
}

/* Is the kernel's answer a queue with records of the size that INFO has reported? */
static bool is_queue(const struct rdma_cm_alt_queue_create *cmd)
{
	return cmd->out_fd >= 0 && cmd->out_record_size == rcl_context_record_size();
}

int rcl_channel_create(struct rdma_event_channel **out, bool internal)
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
		rcl_log("the kernel created queue %d with records of %u bytes: invalid",
			cmd.out_fd, cmd.out_record_size);
		if (cmd.out_fd >= 0)
			rcl_sys->close(cmd.out_fd);
		return -EIO;
	}
	if (internal)
		cmd.out_fd = rcl_sys->raise(cmd.out_fd);
	*out = rcl_channel_wrap(cmd.out_fd);
	if (!*out) {
		rcl_sys->close(cmd.out_fd);
		return -ENOMEM;
	}
	rcl_ring_add(&cmd);
	return 0;
}
