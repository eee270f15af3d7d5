/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The queue of received datagrams; waiting for datagrams and for room to send. */
#ifndef RCL_RSOCKET_QUEUE_H
#define RCL_RSOCKET_QUEUE_H

#include "rsocket/dgram/dgram.h"

/*
 * Lets the service thread lock the socket if it waits for the lock; the socket, of which the caller
 * has a reference, may be unlocked meanwhile. A mutex is not fair: the thread of a program that is
 * always in calls would never leave it to others.
 */
void rcl_dgram_give_way(struct rcl_dgram *d);

/* Handles completions. */
void rcl_dgram_progress(struct rcl_dgram *d);

/*
 * Queues a copy of a datagram that was received over UDP; drops it if the queue is full, as UDP
 * does.
 */
void rcl_dgram_deliver(struct rcl_dgram *d, const union rcl_inet *from, const uint8_t *data,
		       size_t len);

/* Removes the first datagram of the queue, and frees its buffer. */
void rcl_dgram_drop(struct rcl_dgram *d);

/* Is there room for a send? Handles completions if few buffers are free. */
bool rcl_dgram_can_send(struct rcl_local *local);

/*
 * Makes the descriptor report the next change; with @sends, also a full send queue that gets room.
 */
void rcl_dgram_arm(struct rcl_dgram *d, bool sends);

/* Clears the readiness of the descriptor. */
void rcl_dgram_drain(struct rcl_dgram *d);

/*
 * Waits until @test is true; the socket is unlocked meanwhile. @sends: @test depends on completions
 * of sends. @deadline: nanoseconds of CLOCK_MONOTONIC; 0: do not wait. -EAGAIN after the deadline;
 * -EINTR or another negative errno.
 */
int rcl_dgram_wait(struct rcl_dgram *d, bool (*test)(struct rcl_dgram *d, void *arg), void *arg,
		   bool sends, int64_t deadline);

#endif /* RCL_RSOCKET_QUEUE_H */
