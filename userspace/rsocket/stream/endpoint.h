/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The queue pair, completion queues and buffers of a stream. */
#ifndef RCL_RSOCKET_ENDPOINT_H
#define RCL_RSOCKET_ENDPOINT_H

#include "rsocket/stream/stream.h"

/**
 * rcl_endpoint_create - create what a connection needs, and post all receives
 * @s: the locked stream; its id has a device
 *
 * The sizes of the stream become those that the device can have.
 *
 * Return: 0 or a negative errno; on failure rcl_endpoint_destroy() has to follow
 */
int rcl_endpoint_create(struct rcl_stream *s);

/**
 * rcl_endpoint_destroy - destroy what rcl_endpoint_create() has created
 * @s: the stream, which nobody else uses any more
 */
void rcl_endpoint_destroy(struct rcl_stream *s);

/**
 * rcl_endpoint_hello - what this end tells the peer
 * @s: the stream with an endpoint
 * @hello: filled in
 */
void rcl_endpoint_hello(const struct rcl_stream *s, struct rcl_hello *hello);

/**
 * rcl_endpoint_connected - take over what the peer has told
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

/** rcl_endpoint_fail - move the queue pair to the error state: all that was posted completes */
void rcl_endpoint_fail(struct rcl_stream *s);

#endif /* RCL_RSOCKET_ENDPOINT_H */
