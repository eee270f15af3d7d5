/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Event channels of streams. A connecting socket has its own channel; a listener shares its channel
 * with the sockets that it has accepted.
 */
#ifndef RCL_RSOCKET_EVENTS_H
#define RCL_RSOCKET_EVENTS_H

#include "rsocket/stream/stream.h"

/**
 * struct rcl_events - an event channel of the connection manager
 * @channel: the channel, with O_NONBLOCK
 * @handle: handles an event; called by the thread that reads the channel, without a lock
 * @settle: called after the event was acknowledged, with the context of its id; or NULL
 * @refs: sockets that have ids on it
 * @task: of the service thread
 * @reading: held while an event is being read, which may change the queue pair of its id
 * @lock: protects the members below; no other lock is taken under it
 * @listener: the listener, until its rclose(); no reference
 * @children: its sockets that raccept() has not taken, oldest first, linked by rcl_stream.next
 * @most: limit of @answered
 * @answered: number of children whose request was accepted
 * @ready: number of children that raccept() may take; @eventfd is readable while it is not 0
 * @eventfd: of a listener, else -1
 */
struct rcl_events {
	struct rdma_event_channel *channel;
	void (*handle)(struct rdma_cm_event *event);
	void (*settle)(struct rcl_stream *s);
	atomic_uint refs;
	struct rcl_task task;
	pthread_mutex_t reading;
	pthread_mutex_t lock;
	struct rcl_stream *listener;
	struct rcl_stream *children;
	unsigned int most;
	unsigned int answered;
	unsigned int ready;
	int eventfd;
};

/*
 * @settle, or NULL, is called after an event was acknowledged. Returns NULL with errno set on
 * failure.
 */
struct rcl_events *rcl_events_create(void (*handle)(struct rdma_cm_event *event),
				     void (*settle)(struct rcl_stream *s));

struct rcl_events *rcl_events_hold(struct rcl_events *events);

/* The last put closes the channel; none of its sockets may be locked. @events may be NULL. */
void rcl_events_put(struct rcl_events *events);

/* Lets the service thread read the channel from now on, unless it does so already. */
int rcl_events_serve(struct rcl_events *events);

/* Handles all events of a channel, none of whose sockets may be locked. */
void rcl_events_read(struct rcl_events *events);

#endif /* RCL_RSOCKET_EVENTS_H */
