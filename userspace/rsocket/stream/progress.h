/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Progress of a stream: handling completions, giving credits, waiting. */
#ifndef RCL_RSOCKET_PROGRESS_H
#define RCL_RSOCKET_PROGRESS_H

#include "rsocket/stream/stream.h"

/**
 * rcl_stream_progress - handle completions, and give credits to the peer
 * @s: the locked stream
 */
void rcl_stream_progress(struct rcl_stream *s);

/**
 * rcl_stream_give - announce credits and free memory to the peer, if enough of either is new
 * @s: the locked stream
 */
void rcl_stream_give(struct rcl_stream *s);

/**
 * rcl_stream_tell - send the peer a message about the end of one or both directions
 * @s: the locked stream, which is connected
 * @control: RCL_CONTROL_DISCONNECT or RCL_CONTROL_SHUTDOWN
 *
 * If there is no free work request, @s->tx.owed is set, and a later rcl_stream_progress() sends the
 * message.
 */
void rcl_stream_tell(struct rcl_stream *s, enum rcl_control control);

/**
 * rcl_stream_broken - process the end of the connection
 * @s: the locked stream
 * @err: negative errno for SO_ERROR; 0: the peer has disconnected
 */
void rcl_stream_broken(struct rcl_stream *s, int err);

/**
 * rcl_stream_wait - wait for a condition
 * @s: the locked stream with an endpoint; unlocked meanwhile
 * @test: the condition, which completions may change
 * @sends: it depends on completions of sends, too
 * @deadline: nanoseconds of CLOCK_MONOTONIC; 0: do not wait
 *
 * Return: 0: it is true; -EAGAIN: not before the deadline; -EINTR or another negative errno
 */
int rcl_stream_wait(struct rcl_stream *s, bool (*test)(struct rcl_stream *s), bool sends,
		    int64_t deadline);

/**
 * rcl_stream_arm - request an event for the next completion
 * @s: the locked stream with an endpoint
 * @sends: also for the completion of a send
 */
void rcl_stream_arm(struct rcl_stream *s, bool sends);

/**
 * rcl_stream_drain - read and discard the events of the completion channel
 * @s: the locked stream with an endpoint
 */
void rcl_stream_drain(struct rcl_stream *s);

/**
 * rcl_stream_wake - wake all waiting threads after a change that was not made by a completion
 * @s: the locked stream
 */
void rcl_stream_wake(struct rcl_stream *s);

#endif /* RCL_RSOCKET_PROGRESS_H */
