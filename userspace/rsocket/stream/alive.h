/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Streams in the service thread: keep-alive, and messages that were not sent at once. */
#ifndef RCL_RSOCKET_ALIVE_H
#define RCL_RSOCKET_ALIVE_H

#include "rsocket/stream/stream.h"

/* Starts or ends keep-alive after @s->keepalive_s has changed, or after the connect. */
void rcl_stream_keepalive(struct rcl_stream *s);

/*
 * Lets the service thread check a stream at its next due time: for keep-alive, or to send a message
 * that rcl_stream_tell() could not send. A negative errno: there is no service thread, and calls of
 * the program have to do it.
 */
int rcl_stream_look_later(struct rcl_stream *s);

/* Time after which a peer that takes nothing is given up. */
#define RCL_LINGER_MS 10000

/*
 * Lets the service thread, which takes a reference, send all data of a closed stream and end it, or
 * end it when the peer has taken nothing for RCL_LINGER_MS. Returns false if there is no service
 * thread.
 */
bool rcl_stream_finish_later(struct rcl_stream *s);

/* At the end of the process, waits for closed streams, but not after @deadline. */
void rcl_streams_left(int64_t deadline);

#endif /* RCL_RSOCKET_ALIVE_H */
