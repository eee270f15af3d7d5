/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The queue pair, completion queues and buffers of a stream. */
#ifndef RCL_RSOCKET_ENDPOINT_H
#define RCL_RSOCKET_ENDPOINT_H

#include "rsocket/stream/stream.h"

/**
 * rcl_endpoint_create - create the queue pair, its queues and buffers, and post all receives
 * @s: the locked stream; its id has a device
 *
 * The sizes of the stream are limited to those of the device.
 *
 * Return: 0 or a negative errno; after a failure rcl_endpoint_destroy() must be called
 */
int rcl_endpoint_create(struct rcl_stream *s);

/**
 * rcl_endpoint_destroy - undo rcl_endpoint_create()
 * @s: the stream, which no other thread uses any more
 */
void rcl_endpoint_destroy(struct rcl_stream *s);

/**
 * rcl_endpoint_hello - fill in the hello of this end
 * @s: the stream with an endpoint
 * @hello: filled in
 */
void rcl_endpoint_hello(const struct rcl_stream *s, struct rcl_hello *hello);

/**
 * rcl_endpoint_connected - process the hello of the peer
 * @s: the stream with an endpoint
 * @hello: from the peer
 */
void rcl_endpoint_connected(struct rcl_stream *s, const struct rcl_hello *hello);

/**
 * rcl_endpoint_post_receives - post receives
 * @s: the stream
 * @count: their number
 *
 * Return: 0 or a negative errno
 */
int rcl_endpoint_post_receives(struct rcl_stream *s, unsigned int count);

/** rcl_endpoint_fail - move the queue pair to the error state: all work requests are flushed */
void rcl_endpoint_fail(struct rcl_stream *s);

#endif /* RCL_RSOCKET_ENDPOINT_H */
