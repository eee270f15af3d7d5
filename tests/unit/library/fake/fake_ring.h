/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Rings of the fake kernel's queues. All functions are called with its lock held, except those
 * for tests.
 */
#ifndef FAKE_RING_H
#define FAKE_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <rdma/rdma_cm_alt.h>

/** fake_ring_create - allow a ring for a queue that was just created */
void fake_ring_create(struct rdma_cm_alt_queue_create *cmd, __u32 record_size);

/** fake_ring_map - mmap() of the head word or the records; NULL: it fails */
void *fake_ring_map(int fd, size_t len, __u64 offset);

/** fake_ring_owner - the queue whose records are mapped there, or -1 */
int fake_ring_owner(const void *map);

/** fake_ring_take_back - the next unread record when the mapping goes; false: no more */
bool fake_ring_take_back(int fd, struct rdma_cm_alt_event *event);

/** fake_ring_stop - the records are unmapped */
void fake_ring_stop(int fd);

/** fake_ring_close - the queue is closed */
void fake_ring_close(int fd);

/** fake_ring_has_room - is there a mapped ring with room for a record? */
bool fake_ring_has_room(int fd);

/** fake_ring_put - a record; false: there is no room, or no ring */
bool fake_ring_put(int fd, const struct rdma_cm_alt_event *event);

/** fake_ring_reap - the next record that was taken; false: no more */
bool fake_ring_reap(int fd, struct rdma_cm_alt_event *event);

/** fake_ring_unread - are there records that were not taken? */
bool fake_ring_unread(int fd);

/** fake_ring_void - take the records of an id back, or of one membership of it if not 0 */
void fake_ring_void(int fd, __u32 owner, __u32 member);

/** fake_ring_header - the header of a mapped ring, for tests that corrupt it; or NULL */
struct rdma_cm_alt_ring *fake_ring_header(int fd);

/** fake_ring_mapped - for tests: is there a ring in use on this queue? */
bool fake_ring_mapped(int fd);

#endif /* FAKE_RING_H */
