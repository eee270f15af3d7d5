// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Event channels of streams.
 *
 * rdma_destroy_id() waits until all events of the id are acknowledged. So the socket of an event
 * still exists, although it may be about to be freed; and a handler cannot destroy ids itself but
 * leaves this to rcl_events.settle. Reading some events changes the queue pair of the id, so a
 * queue pair may only be destroyed while no event is being read.
 *
 * Locking: rcl_events.reading.
 */
#include "rsocket/stream/events.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "rsocket/channels.h"
#include "rsocket/wait.h"

static bool try_hold(struct rcl_events *events)
{
	unsigned int refs = atomic_load(&events->refs);

	while (refs && !atomic_compare_exchange_weak(&events->refs, &refs, refs + 1))
		;
	return refs;
}

static void run(struct rcl_task *task)
{
	struct rcl_events *events = (void *)((char *)task - offsetof(struct rcl_events, task));

	/* The thread that drops the last reference waits in rcl_service_remove(). */
	if (!try_hold(events))
		return;
	rcl_events_read(events);
	rcl_events_put(events);
}

struct rcl_events *rcl_events_create(void (*handle)(struct rdma_cm_event *event),
				     void (*settle)(struct rcl_stream *s))
{
	struct rcl_events *events = calloc(1, sizeof(*events));

	if (!events)
		return NULL;
	events->channel = rcl_event_channel();
	if (!events->channel) {
		free(events);
		return NULL;
	}
	events->handle = handle;
	events->settle = settle;
	events->task = (struct rcl_task){
		.run = run, .fd = events->channel->fd, .due = RCL_FOREVER,
	};
	events->eventfd = -1;
	atomic_init(&events->refs, 1);
	pthread_mutex_init(&events->lock, NULL);
	pthread_mutex_init(&events->reading, NULL);
	return events;
}

struct rcl_events *rcl_events_hold(struct rcl_events *events)
{
	atomic_fetch_add(&events->refs, 1);
	return events;
}

void rcl_events_put(struct rcl_events *events)
{
	if (!events || atomic_fetch_sub(&events->refs, 1) != 1)
		return;
	rcl_service_remove(&events->task);
	rcl_event_channel_close(events->channel);
	if (events->eventfd >= 0)
		close(events->eventfd);
	pthread_mutex_destroy(&events->lock);
	pthread_mutex_destroy(&events->reading);
	free(events);
}

int rcl_events_serve(struct rcl_events *events)
{
	return events->task.added ? 0 : rcl_service_add(&events->task);
}

static bool get_event(struct rcl_events *events, struct rdma_cm_event **event)
{
	bool got;

	pthread_mutex_lock(&events->reading);
	got = !rdma_get_cm_event(events->channel, event);
	pthread_mutex_unlock(&events->reading);
	return got;
}

void rcl_events_read(struct rcl_events *events)
{
	struct rdma_cm_event *event;
	struct rcl_stream *s;

	while (get_event(events, &event)) {
		/* The context of a connect request is that of the listener. */
		s = event->id->context;
		if (!rcl_sock_try_hold(&s->sock)) {
			rdma_ack_cm_event(event);
			continue;
		}
		events->handle(event);
		rdma_ack_cm_event(event);
		if (events->settle)
			events->settle(s);
		rcl_sock_put(&s->sock);
	}
}
