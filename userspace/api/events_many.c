// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * rdma_alt_get_cm_events(): all pending events of a channel in one system call, or in none.
 *
 * Locking: as in event.c.
 */
#include <pthread.h>
#include <rdma/rdma_cma_alt.h>
#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "base/compiler.h"
#include "base/err.h"
#include "base/log.h"
#include "core/channel.h"
#include "core/context.h"
#include "core/ring.h"
#include "event/event.h"
#include "id/report.h"

/* Records of one read(), about 64 KiB. */
#define MAX_EVENTS 64

/**
 * struct batch - memory for events, allocated before the read so that no event is lost
 * @ev: the events
 * @bytes: buffer for their records
 * @size: bytes of a record
 * @most: number of events that fit
 * @used: number of events for the program
 */
struct batch {
	struct rcl_event *ev[MAX_EVENTS];
	__u8 *bytes;
	size_t size;
	int most;
	int used;
};

static int alloc_batch(struct batch *batch, int count)
{
	batch->size = rcl_context_record_size();
	for (batch->most = 0; batch->most < count; batch->most++) {
		batch->ev[batch->most] = malloc(sizeof(*batch->ev[0]));
		if (!batch->ev[batch->most])
			break;
	}
	batch->used = 0;
	batch->bytes = malloc((size_t)batch->most * batch->size + 1);
	return batch->most && batch->bytes ? 0 : -ENOMEM;
}

/* Also the cleanup handler of a cancelled thread. */
static void free_batch(void *arg)
{
	struct batch *batch = arg;
	int i;

	for (i = batch->used; i < batch->most; i++)
		free(batch->ev[i]);
	free(batch->bytes);
}

/* Handles a record. Sets *err when it fails. */
static void add_event(struct rdma_event_channel *channel, struct rcl_claim claim,
		      const union rcl_record *rec, struct batch *batch, int *err)
{
	int ret = rcl_event_handle(channel, claim, &rec->event, batch->ev[batch->used]);

	if (ret < 0)
		*err = ret;
	if (ret == RCL_DELIVER)
		batch->used++;
}

static void from_ring(struct rdma_event_channel *channel, struct batch *batch, int *err)
{
	unsigned int pauses = 0;
	struct rcl_claim claim;
	struct rcl_ring *ring;
	union rcl_record rec;

	/* One by one: handling a record may change what the next one means. */
	while (batch->used < batch->most) {
		ring = rcl_channel_peek(channel, &rec);
		if (!ring)
			break;
		if (rcl_event_take(&rec.event, ring, &claim)) {
			add_event(channel, claim, &rec, batch, err);
			continue;
		}
		if (batch->used)
			break;
		*err = rcl_event_pause(&pauses);
		if (*err)
			break;
	}
}

static void from_read(struct rdma_event_channel *channel, int records, struct batch *batch,
		      int *err)
{
	struct rcl_claim claim;
	union rcl_record rec;
	int i;

	for (i = 0; i < records; i++) {
		memset(&rec.event, 0, sizeof(rec.event));
		memcpy(rec.bytes, batch->bytes + (size_t)i * batch->size, batch->size);
		rcl_event_take(&rec.event, NULL, &claim);
		add_event(channel, claim, &rec, batch, err);
	}
}

/* Reads until there is an event for the program. */
static int fill_batch(struct rdma_event_channel *channel, struct batch *batch)
{
	struct rcl_reread reread = { 0 };
	int cancel, got, ret = 0;

	do {
		pthread_testcancel();
		cancel = rcl_cancel_disable();
		from_ring(channel, batch, &ret);
		rcl_cancel_restore(cancel);
		if (batch->used || ret)
			break;
		got = rcl_channel_read_many(channel, batch->bytes, batch->size, batch->most,
					    &reread);
		if (got < 0)
			return got;
		cancel = rcl_cancel_disable();
		from_read(channel, got, batch, &ret);
		rcl_cancel_restore(cancel);
	} while (!batch->used && !ret);
	return ret;
}

static int get_events(struct rdma_event_channel *channel, struct rdma_cm_event **events, int count)
{
	struct batch batch;
	int i, ret;

	ret = alloc_batch(&batch, count < MAX_EVENTS ? count : MAX_EVENTS);
	pthread_cleanup_push(free_batch, &batch);
	if (!ret)
		ret = fill_batch(channel, &batch);
	if (batch.used && ret)
		rcl_log("channel fd %d: an event is dropped: %s", channel->fd, strerror(-ret));
	for (i = 0; i < batch.used; i++)
		events[i] = &batch.ev[i]->event;
	pthread_cleanup_pop(1);
	return batch.used ? batch.used : ret;
}

RCL_EXPORT int rdma_alt_get_cm_events(struct rdma_event_channel *channel,
				      struct rdma_cm_event **events, int count)
{
	int ret;

	if (!channel || !events || count < 1)
		return rcl_fail(-EINVAL, __func__, "no channel, or no buffer for events");
	if (rcl_refuse_channel(channel, __func__))
		return -1;
	ret = rcl_context_open();
	if (!ret)
		ret = get_events(channel, events, count);
	if (ret > 0)
		return ret;
	if (ret == -EAGAIN || ret == -EINTR) {
		errno = -ret;
		return -1;
	}
	return rcl_fail(ret, __func__, "cannot read from channel fd %d", channel->fd);
}
