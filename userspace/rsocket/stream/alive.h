/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Streams in the service thread: keep-alive, and what rshutdown() and rclose() could not send. */
#ifndef RCL_RSOCKET_ALIVE_H
#define RCL_RSOCKET_ALIVE_H

#include "rsocket/stream/stream.h"

/**
 * rcl_stream_keepalive - start or end keep-alive
 * @s: the locked stream; @s->keepalive_s has changed, or the stream was connected
 */
void rcl_stream_keepalive(struct rcl_stream *s);

/**
 * rcl_stream_look_later - let the service thread check a stream when it is due
 * @s: the locked stream, which has keep-alive, or a message that rcl_stream_tell() could not send
 *
 * Return: 0; a negative errno: there is no service thread, and calls of the program have to do it
 */
int rcl_stream_look_later(struct rcl_stream *s);

/**
 * rcl_stream_finish_later - let the service thread send all data of a closed stream and end it
 * @s: the locked stream; the service thread takes a reference
 * @deadline: when the stream is ended in any case, nanoseconds of CLOCK_MONOTONIC
 *
 * The process does not end before.
 *
 * Return: false if there is no service thread
 */
bool rcl_stream_finish_later(struct rcl_stream *s, int64_t deadline);

#endif /* RCL_RSOCKET_ALIVE_H */
