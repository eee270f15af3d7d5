/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The event ring of a channel, from which events are taken without a system call. */
#ifndef RCL_RING_H
#define RCL_RING_H

#include <rdma/rdma_cm_alt.h>
#include <stdbool.h>

#include "core/channel.h"

struct rcl_ring;

/** RCL_RING_ENTRIES - records of a channel's ring */
#define RCL_RING_ENTRIES 64

/** RCL_RING_AFTER - events that are read before the ring is mapped, as it costs memory */
#define RCL_RING_AFTER 8

/**
 * rcl_ring_add - register the ring of a new queue
 * @queue: result of the command that created the queue. If it has no ring, an invalid one, or there
 *         is no memory, the events are read by read() alone
 */
void rcl_ring_add(const struct rdma_cm_alt_queue_create *queue);

/**
 * rcl_ring_remove - unregister the ring of a descriptor, before it is closed or after it was reused
 * @fd: the descriptor
 */
void rcl_ring_remove(int fd);

/**
 * rcl_ring_of - find a ring
 * @fd: descriptor of the queue: programs may copy the struct of a channel
 *
 * Return: the ring, valid until the queue is closed, or NULL
 */
struct rcl_ring *rcl_ring_of(int fd);

/**
 * rcl_ring_get - find a ring and take a reference
 * @fd: descriptor of the queue
 *
 * Return: the ring, for rcl_ring_put(), or NULL
 */
struct rcl_ring *rcl_ring_get(int fd);

/**
 * rcl_ring_hold - take another reference
 * @ring: the ring, or NULL
 *
 * Return: @ring, for rcl_ring_put()
 */
struct rcl_ring *rcl_ring_hold(struct rcl_ring *ring);

/**
 * rcl_ring_put - drop a reference
 * @ring: the ring, or NULL
 */
void rcl_ring_put(struct rcl_ring *ring);

/**
 * rcl_ring_lock - keep other threads from taking records
 * @ring: the ring, or NULL
 *
 * For a moment: nothing that sleeps is called with the lock held.
 */
void rcl_ring_lock(struct rcl_ring *ring);

/**
 * rcl_ring_unlock - release the lock of rcl_ring_lock()
 * @ring: the ring, or NULL
 */
void rcl_ring_unlock(struct rcl_ring *ring);

/**
 * rcl_ring_peek - copy the next record, and keep the ring locked
 * @ring: the ring
 * @record: filled in
 *
 * Return: true when there is one: rcl_ring_done() has to follow, after the record was counted on
 * its id, or rcl_ring_unlock(), which leaves it in the ring. false: the channel has to be read by
 * read().
 */
bool rcl_ring_peek(struct rcl_ring *ring, union rcl_record *record);

/**
 * rcl_ring_taken_back - has the kernel taken the record back since rcl_ring_peek()?
 * @ring: the ring
 *
 * To be asked after the id's number of commands (revoking): when none is dropping or moving events
 * of the id any more, it is the record's type that tells whether one has done so.
 *
 * Return: true if it has
 */
bool rcl_ring_taken_back(const struct rcl_ring *ring);

/**
 * rcl_ring_done - advance the head over the record, and unlock the ring
 * @ring: the ring, or NULL when the record was read by read()
 */
void rcl_ring_done(struct rcl_ring *ring);

/**
 * rcl_ring_position - number of records that were taken from a ring
 * @fd: descriptor of the queue
 *
 * Return: the number; 0 when there is no ring
 */
__u32 rcl_ring_position(int fd);

/**
 * rcl_ring_count_reads - count events that were read by read(), and map the ring after some of them
 * @ring: the ring
 * @count: number of events
 */
void rcl_ring_count_reads(struct rcl_ring *ring, unsigned int count);

/**
 * rcl_rings_disable - unmap all rings, and never map them again
 *
 * For descriptors that the library does not know: a program may copy the descriptor of a channel,
 * and the kernel has no query for the queue of a descriptor. The caller has no lock of the library.
 */
void rcl_rings_disable(void);

/**
 * rcl_ring_check_channel - an id is about to be created on a channel, or moved to it
 * @channel: the channel, or NULL. If its descriptor is unknown all rings are disabled: the ring
 *           of the id could not be locked when it is destroyed.
 */
void rcl_ring_check_channel(const struct rdma_event_channel *channel);

/**
 * rcl_rings_lock - before fork(): disable all rings, and lock them
 *
 * The child has no mapping, and the kernel lets nobody read a queue while its ring is mapped. After
 * munmap() the kernel takes unread records back, and the first process that reads gets them.
 */
void rcl_rings_lock(void);

/** rcl_rings_unlock - after fork(), in both processes */
void rcl_rings_unlock(void);

#endif /* RCL_RING_H */
