/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Progress of a stream: handling completions, giving credits, waiting. */
#ifndef RCL_RSOCKET_PROGRESS_H
#define RCL_RSOCKET_PROGRESS_H

#include "rsocket/stream/stream.h"

/* Handles completions, and gives credits to the peer. */
void rcl_stream_progress(struct rcl_stream *s);

/* Announces credits and free memory to the peer, if enough of either is new. */
void rcl_stream_give(struct rcl_stream *s);

/*
 * Sends a control message, or a probe, to the peer of a connected stream. Without a free work
 * request, a later rcl_stream_progress() sends it: see @s->tx.owed.
 */
void rcl_stream_tell(struct rcl_stream *s, enum rcl_control control);

/*
 * Processes the end of the connection. @err: negative errno for SO_ERROR; 0: the peer has
 * disconnected.
 */
void rcl_stream_broken(struct rcl_stream *s, int err);

/*
 * Processes the end of a connection without DISCONNECT: unless the peer has ended its direction by
 * SHUTDOWN, it is an error, since data may be missing.
 */
void rcl_stream_lost(struct rcl_stream *s);

/*
 * Ends a connection whose socket the program has closed: nothing more is sent, and calls of other
 * threads return. The queue pair is destroyed when these have returned.
 */
void rcl_stream_finish(struct rcl_stream *s);

/*
 * Waits until @test is true; the stream, which has an endpoint, is unlocked meanwhile. @sends:
 * @test depends on completions of sends, too. @deadline: nanoseconds of CLOCK_MONOTONIC; 0: do not
 * wait. -EAGAIN after the deadline; -EINTR or another negative errno.
 */
int rcl_stream_wait(struct rcl_stream *s, bool (*test)(struct rcl_stream *s), bool sends,
		    int64_t deadline);

/*
 * Requests an event for the next completion of a receive and, with @sends, of a send. The stream
 * has an endpoint.
 */
void rcl_stream_arm(struct rcl_stream *s, bool sends);

/* Reads and discards the events of the completion channel. The stream has an endpoint. */
void rcl_stream_drain(struct rcl_stream *s);

/* Wakes all waiting threads after a change that no completion has made. */
void rcl_stream_wake(struct rcl_stream *s);

#endif /* RCL_RSOCKET_PROGRESS_H */
