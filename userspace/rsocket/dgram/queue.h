/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The queue of received datagrams; waiting for datagrams and for room to send. */
#ifndef RCL_RSOCKET_QUEUE_H
#define RCL_RSOCKET_QUEUE_H

#include "rsocket/dgram/dgram.h"

/**
 * rcl_dgram_give_way - let the service thread lock the socket if it waits for the lock
 * @d: the locked socket, of which the caller has a reference; may be unlocked meanwhile
 *
 * A mutex is not fair: a program that is in calls all the time would never leave it to others.
 */
void rcl_dgram_give_way(struct rcl_dgram *d);

/** rcl_dgram_progress - handle completions; the socket is locked */
void rcl_dgram_progress(struct rcl_dgram *d);

/**
 * rcl_dgram_deliver - queue a datagram that was received over UDP
 * @d: the locked socket
 * @from: its sender
 * @data: the bytes, which are copied
 * @len: their number
 *
 * It is dropped if the queue is full, as with UDP.
 */
void rcl_dgram_deliver(struct rcl_dgram *d, const union rcl_inet *from, const uint8_t *data,
		       size_t len);

/** rcl_dgram_drop - remove the first datagram of the queue, and free its buffer */
void rcl_dgram_drop(struct rcl_dgram *d);

/**
 * rcl_dgram_can_send - is there room for a send?
 * @local: the local address to send from
 *
 * Handles completions if few buffers are free.
 */
bool rcl_dgram_can_send(struct rcl_local *local);

/**
 * rcl_dgram_arm - make the descriptor report the next change
 * @d: the locked socket
 * @sends: also when a full send queue gets room
 */
void rcl_dgram_arm(struct rcl_dgram *d, bool sends);

/** rcl_dgram_drain - clear the readiness of the descriptor; the socket is locked */
void rcl_dgram_drain(struct rcl_dgram *d);

/**
 * rcl_dgram_wait - wait until a condition is true
 * @d: the locked socket; it is unlocked meanwhile
 * @test: the condition
 * @arg: passed to it
 * @sends: the condition is about sends
 * @deadline: nanoseconds of CLOCK_MONOTONIC; 0: do not wait
 *
 * Return: 0; -EAGAIN: the deadline is over; -EINTR or another negative errno
 */
int rcl_dgram_wait(struct rcl_dgram *d, bool (*test)(struct rcl_dgram *d, void *arg), void *arg,
		   bool sends, int64_t deadline);

#endif /* RCL_RSOCKET_QUEUE_H */
