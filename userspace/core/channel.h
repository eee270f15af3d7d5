/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Event channels: a queue of the kernel and its file descriptor, which
 * programs poll() and switch to O_NONBLOCK themselves.
 */
#ifndef RCL_CHANNEL_H
#define RCL_CHANNEL_H

#include <rdma/rdma_cm_alt.h>
#include <rdma/rdma_cma.h>

struct rcl_ring;

/**
 * union rcl_record - room for one event record of any kernel
 * @event: the part that this library knows
 * @bytes: the largest record
 */
union rcl_record {
	struct rdma_cm_alt_event event;
	__u8 bytes[4096];
};

/**
 * struct rcl_patience - reads of a channel that found records in its ring, where none are
 * @pos: how far the ring was read then
 * @reads: how many of them there were since somebody took a record
 */
struct rcl_patience {
	__u32 pos;
	int reads;
};

/**
 * rcl_channel_create - a channel with a new queue of the kernel
 * @out: the channel, for rcl_channel_close()
 *
 * Return: 0 or a negative errno
 */
int rcl_channel_create(struct rdma_event_channel **out);

/**
 * rcl_channel_wrap - a channel for a queue that exists
 * @fd: of the queue; belongs to the channel on success
 *
 * Return: the channel, or NULL when there is no memory
 */
struct rdma_event_channel *rcl_channel_wrap(int fd);

/**
 * rcl_channel_close - close the queue and free the channel
 * @channel: from rcl_channel_wrap(), or NULL
 */
void rcl_channel_close(struct rdma_event_channel *channel);

/**
 * rcl_channel_next - take the next record off a channel
 * @channel: the channel; blocks when it is empty, unless its fd has O_NONBLOCK
 * @record: filled in; members that an older kernel does not know are zero
 * @ring: where the record lies until rcl_ring_done(), which has to follow on
 *        success; NULL: it came by read()
 *
 * Return: 0, -EAGAIN, -EINTR or another negative errno
 */
int rcl_channel_next(struct rdma_event_channel *channel,
		     union rcl_record *record, struct rcl_ring **ring);

/**
 * rcl_channel_look - the next record that lies in a channel's ring
 * @channel: the channel
 * @record: filled in
 *
 * Return: the ring, for rcl_ring_done(), which has to follow; NULL: nothing lies
 * there, or there is no ring, which proves nothing: the next step is a read
 */
struct rcl_ring *rcl_channel_look(struct rdma_event_channel *channel, union rcl_record *record);

/**
 * rcl_channel_read_many - take records off a channel that do not lie in its ring
 * @channel: the channel; blocks when it is empty, unless its fd has O_NONBLOCK
 * @bytes: room for @most records
 * @size: bytes of one, rcl_context_record_size()
 * @most: how many at most
 * @patience: 0 before the first call
 *
 * Return: how many there were; 0: records came into the ring meanwhile; -EAGAIN,
 * -EINTR or another negative errno
 */
int rcl_channel_read_many(struct rdma_event_channel *channel, __u8 *bytes, size_t size, int most,
			  struct rcl_patience *patience);

#endif /* RCL_CHANNEL_H */
