/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The mapped ring of a channel: events that are taken without a system call.
 */
#ifndef RCL_RING_H
#define RCL_RING_H

#include <rdma/rdma_cm_alt.h>
#include <stdbool.h>

#include "core/channel.h"

struct rcl_ring;

/** RCL_RING_ENTRIES - records that a channel's ring has */
#define RCL_RING_ENTRIES 64

/** RCL_RING_AFTER - events that a channel has delivered when its ring is worth its memory */
#define RCL_RING_AFTER 8

/**
 * rcl_ring_add - a new queue may have a ring
 * @queue: how it was created; without a ring, with one that is too small to be true, or
 *         without memory for it, its events come by read() alone
 */
void rcl_ring_add(const struct rdma_cm_alt_queue_create *queue);

/**
 * rcl_ring_remove - a queue is closed next, or a descriptor is another queue now
 * @fd: of the queue
 */
void rcl_ring_remove(int fd);

/**
 * rcl_ring_of - the ring of a queue
 * @fd: of the queue, by which rings are found: programs copy channels
 *
 * Return: the ring, which is there until the queue is closed, or NULL
 */
struct rcl_ring *rcl_ring_of(int fd);

/**
 * rcl_ring_get - the same, to keep
 * @fd: of the queue
 *
 * Return: the ring with a reference, for rcl_ring_put(), or NULL
 */
struct rcl_ring *rcl_ring_get(int fd);

/**
 * rcl_ring_hold - take one more reference
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
 * rcl_ring_lock - keep others from taking records
 * @ring: the ring, or NULL
 *
 * Held around calls that make the kernel take records back. They may sleep.
 */
void rcl_ring_lock(struct rcl_ring *ring);

/**
 * rcl_ring_unlock - and let them again
 * @ring: the ring, or NULL
 */
void rcl_ring_unlock(struct rcl_ring *ring);

/**
 * rcl_ring_look - copy the next record, and stay in the way of other threads
 * @ring: the ring
 * @record: filled in
 *
 * Return: true: there is one; rcl_ring_done() has to follow when it was counted on
 * its id. false: there is none, which proves nothing: the next step is read().
 */
bool rcl_ring_look(struct rcl_ring *ring, union rcl_record *record);

/**
 * rcl_ring_done - the record was counted: tell the kernel that it was taken
 * @ring: the ring, or NULL when the record came by read()
 */
void rcl_ring_done(struct rcl_ring *ring);

/**
 * rcl_ring_position - how far the ring of a queue was read
 * @fd: of the queue
 *
 * Return: a number that changes whenever anybody takes a record; 0 when there is no ring
 */
__u32 rcl_ring_position(int fd);

/**
 * rcl_ring_was_read - events came by read(); after some of them the ring is mapped
 * @ring: the ring
 * @count: how many
 */
void rcl_ring_was_read(struct rcl_ring *ring, unsigned int count);

/**
 * struct rcl_ring_set - rings that are locked together
 * @wanted: all of them, until it is closed
 * @locked: those that are, from then on
 *
 * A thread that has a ring locked locks another one only in a set, all in one order,
 * and between rcl_ring_set_open() and rcl_ring_set_close(), where one thread is at a time.
 */
struct rcl_ring_set {
	struct rcl_ring *wanted;
	struct rcl_ring *locked;
};

/**
 * rcl_ring_set_open - an empty set; the caller has no ring locked
 * @set: the set
 */
void rcl_ring_set_open(struct rcl_ring_set *set);

/**
 * rcl_ring_set_add - one more ring, which is not locked yet
 * @set: the set, not closed yet
 * @ring: the ring, with a reference that passes to the set, or NULL
 *
 * Return: false when it is NULL or in the set already
 */
bool rcl_ring_set_add(struct rcl_ring_set *set, struct rcl_ring *ring);

/**
 * rcl_ring_set_lock - lock all of them, the locked ones after they were unlocked
 * @set: the set, not closed yet
 */
void rcl_ring_set_lock(struct rcl_ring_set *set);

/**
 * rcl_ring_set_close - all rings are there that are wanted, and locked
 * @set: the set
 */
void rcl_ring_set_close(struct rcl_ring_set *set);

/**
 * rcl_ring_set_unlock - unlock all of them
 * @set: the set, closed; over with this call
 */
void rcl_ring_set_unlock(struct rcl_ring_set *set);

/**
 * rcl_rings_give_up - unmap all rings, for good
 *
 * A program may copy a channel's descriptor, and there is no asking which queue the copy is.
 * The caller has no lock of the library.
 */
void rcl_rings_give_up(void);

/**
 * rcl_ring_expect - an id is going to be on a channel of the program's
 * @channel: the channel, or NULL. When its descriptor is not known all rings are given up:
 *           nobody could lock the right one when the id is destroyed.
 */
void rcl_ring_expect(const struct rdma_event_channel *channel);

/**
 * rcl_rings_lock - before fork(): unmap all rings, for good
 *
 * A child has no mapping, and while there is one it may not read: the kernel
 * takes unread records back now, and whoever reads first gets them.
 */
void rcl_rings_lock(void);

/** rcl_rings_unlock - after fork(), in both processes */
void rcl_rings_unlock(void);

#endif /* RCL_RING_H */
