/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the service thread does for streams: keep-alive, and what rshutdown() and rclose() left. */
#ifndef RCL_RSOCKET_ALIVE_H
#define RCL_RSOCKET_ALIVE_H

#include "rsocket/stream/stream.h"

/**
 * rcl_stream_keepalive - start or end keep-alive
 * @s: the locked stream, of which @s->keepalive_s has changed, or which was connected
 */
void rcl_stream_keepalive(struct rcl_stream *s);

/**
 * rcl_stream_look_later - let the service thread look at a stream when it is time to
 * @s: the locked stream, which has keep-alive, or something that rcl_stream_tell() could not send
 *
 * Return: 0; a negative errno: there is no service thread, and the calls of the program do it
 */
int rcl_stream_look_later(struct rcl_stream *s);

/**
 * rcl_stream_finish_later - let the service thread wait until all was sent, and drop the stream
 * @s: the locked stream, of which the service thread takes a reference
 * @deadline: time at which it is dropped in any case, nanoseconds of CLOCK_MONOTONIC
 *
 * The end of the process waits for it.
 *
 * Return: false: the service thread cannot do it
 */
bool rcl_stream_finish_later(struct rcl_stream *s, int64_t deadline);

#endif /* RCL_RSOCKET_ALIVE_H */
