// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * All events of a channel that are there, in one system call, or in none.
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

/* Records of one read(), about 64 KiB. */
#define MOST 64

/**
 * struct room - room for events, made before the read: one that was taken must not be lost
 * @ev: the events
 * @bytes: for their records
 * @size: bytes of one
 * @most: how many
 * @used: how many of them the program gets
 */
struct room {
	struct rcl_event *ev[MOST];
	__u8 *bytes;
	size_t size;
	int most;
	int used;
};

static int make_room(struct room *room, int count)
{
	room->size = rcl_context_record_size();
	for (room->most = 0; room->most < count; room->most++) {
		room->ev[room->most] = malloc(sizeof(*room->ev[0]));
		if (!room->ev[room->most])
			break;
	}
	room->used = 0;
	room->bytes = malloc((size_t)room->most * room->size + 1);
	return room->most && room->bytes ? 0 : -ENOMEM;
}

/* Also of a thread that is cancelled. */
static void drop_room(void *arg)
{
	struct room *room = arg;
	int i;

	for (i = room->used; i < room->most; i++)
		free(room->ev[i]);
	free(room->bytes);
}

/* One record: @err is set when it fails, and left as it is otherwise. */
static void take(struct rdma_event_channel *channel, struct rcl_claim claim,
		 const union rcl_record *rec, struct room *room, int *err)
{
	int ret = rcl_event_work(channel, claim, &rec->event, room->ev[room->used]);

	if (ret < 0)
		*err = ret;
	if (ret == RCL_DELIVER)
		room->used++;
}

static void from_ring(struct rdma_event_channel *channel, struct room *room, int *err)
{
	struct rcl_claim claim;
	struct rcl_ring *ring;
	union rcl_record rec;

	/* One by one: what a record means may have to be done before the next one is looked at. */
	while (room->used < room->most) {
		ring = rcl_channel_look(channel, &rec);
		if (!ring)
			break;
		claim = rcl_event_claim(&rec.event);
		rcl_ring_done(ring);
		take(channel, claim, &rec, room, err);
	}
}

static void from_read(struct rdma_event_channel *channel, int records, struct room *room, int *err)
{
	union rcl_record rec;
	int i;

	for (i = 0; i < records; i++) {
		memset(&rec.event, 0, sizeof(rec.event));
		memcpy(rec.bytes, room->bytes + (size_t)i * room->size, room->size);
		take(channel, rcl_event_claim(&rec.event), &rec, room, err);
	}
}

/* Until there is an event for the program. */
static int fill(struct rdma_event_channel *channel, struct room *room)
{
	struct rcl_patience patience = { 0 };
	int cancel, got, ret = 0;

	do {
		pthread_testcancel();
		cancel = rcl_no_cancel();
		from_ring(channel, room, &ret);
		rcl_cancel(cancel);
		if (room->used || ret)
			break;
		got = rcl_channel_read_many(channel, room->bytes, room->size, room->most,
					    &patience);
		if (got < 0)
			return got;
		cancel = rcl_no_cancel();
		from_read(channel, got, room, &ret);
		rcl_cancel(cancel);
	} while (!room->used && !ret);
	return ret;
}

static int get_events(struct rdma_event_channel *channel, struct rdma_cm_event **events, int count)
{
	struct room room;
	int i, ret;

	ret = make_room(&room, count < MOST ? count : MOST);
	pthread_cleanup_push(drop_room, &room);
	if (!ret)
		ret = fill(channel, &room);
	if (room.used && ret)
		rcl_log("channel fd %d: an event is dropped: %s", channel->fd, strerror(-ret));
	for (i = 0; i < room.used; i++)
		events[i] = &room.ev[i]->event;
	pthread_cleanup_pop(1);
	return room.used ? room.used : ret;
}

RCL_EXPORT int rdma_alt_get_cm_events(struct rdma_event_channel *channel,
				      struct rdma_cm_event **events, int count)
{
	int ret;

	if (!channel || !events || count < 1)
		return rcl_fail(-EINVAL, __func__, "no channel, or no place for events");
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
