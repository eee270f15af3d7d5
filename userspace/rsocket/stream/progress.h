/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Progress of a stream: completions are handled, credits given, and threads wait for it. */
#ifndef RCL_RSOCKET_PROGRESS_H
#define RCL_RSOCKET_PROGRESS_H

#include "rsocket/stream/stream.h"

/**
 * rcl_stream_progress - handle what has arrived, and tell the peer what it may send
 * @s: the locked stream
 */
void rcl_stream_progress(struct rcl_stream *s);

/**
 * rcl_stream_give - tell the peer what it may send, if it is time to
 * @s: the locked stream
 */
void rcl_stream_give(struct rcl_stream *s);

/**
 * rcl_stream_tell - tell the peer the end of one direction or of both
 * @s: the locked stream, which is connected
 * @control: RCL_CONTROL_DISCONNECT or RCL_CONTROL_SHUTDOWN
 *
 * If there is no work request for the message, it is left to a later rcl_stream_progress(), and
 * @s->tx.owed tells it.
 */
void rcl_stream_tell(struct rcl_stream *s, enum rcl_control control);

/**
 * rcl_stream_broken - the connection has ended
 * @s: the locked stream
 * @err: what SO_ERROR tells, a negative errno; 0: the peer has ended it
 */
void rcl_stream_broken(struct rcl_stream *s, int err);

/**
 * rcl_stream_wait - wait until something is true
 * @s: the locked stream with an endpoint; unlocked meanwhile
 * @test: what has to be true, or become true by completions
 * @sends: completions of sends count, too
 * @deadline: nanoseconds of CLOCK_MONOTONIC; 0: do not wait
 *
 * Return: 0: it is true; -EAGAIN: not before the deadline; -EINTR or another negative errno
 */
int rcl_stream_wait(struct rcl_stream *s, bool (*test)(struct rcl_stream *s), bool sends,
		    int64_t deadline);

/**
 * rcl_stream_arm - let the completion channel tell the next completion
 * @s: the locked stream with an endpoint
 * @sends: that of a send, too
 */
void rcl_stream_arm(struct rcl_stream *s, bool sends);

/**
 * rcl_stream_drain - take the events of the completion channel
 * @s: the locked stream with an endpoint
 */
void rcl_stream_drain(struct rcl_stream *s);

/**
 * rcl_stream_wake - wake all threads that wait for a change
 * @s: the locked stream, which has changed otherwise than by completions
 */
void rcl_stream_wake(struct rcl_stream *s);

#endif /* RCL_RSOCKET_PROGRESS_H */
