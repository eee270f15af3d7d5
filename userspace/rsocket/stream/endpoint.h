/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The queue pair, completion queues and buffers of a stream. */
#ifndef RCL_RSOCKET_ENDPOINT_H
#define RCL_RSOCKET_ENDPOINT_H

#include "rsocket/stream/stream.h"

/*
 * Creates the queue pair, its queues and buffers, and posts all receives. The id has a device,
 * which limits the sizes. After a failure the caller must call rcl_endpoint_destroy().
 */
int rcl_endpoint_create(struct rcl_stream *s);

/* Undoes rcl_endpoint_create(), when no other thread uses the stream. */
void rcl_endpoint_destroy(struct rcl_stream *s);

/* Fills in the hello of this end. */
void rcl_endpoint_hello(const struct rcl_stream *s, struct rcl_hello *hello);

/* Processes the hello of the peer. */
void rcl_endpoint_connected(struct rcl_stream *s, const struct rcl_hello *hello);

int rcl_endpoint_post_receives(struct rcl_stream *s, unsigned int count);

/*
 * Makes an event in the completion channel, for a thread that sleeps in ibv_get_cq_event(), without
 * the peer. Returns false if the adapter has no queue pair for it.
 */
bool rcl_endpoint_wake(struct rcl_stream *s);

/* Moves the queue pair to the error state: all work requests are flushed. */
void rcl_endpoint_fail(struct rcl_stream *s);

#endif /* RCL_RSOCKET_ENDPOINT_H */
