/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Event channels: an event queue of the kernel and its file descriptor. Programs poll it and set
 * O_NONBLOCK themselves.
 */
#ifndef RCL_CHANNEL_H
#define RCL_CHANNEL_H

#include <rdma/rdma_cm_alt.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>

struct rcl_ring;

/**
 * union rcl_record - an event record of any kernel
 * @event: the members that this library knows
 * @bytes: as long as the largest record
 */
union rcl_record {
	struct rdma_cm_alt_event event;
	__u8 bytes[4096];
};

/**
 * struct rcl_reread - reads of 0 bytes of a channel whose ring was empty
 * @pos: position of the ring at the latest one
 * @reads: how many there were at this position
 */
struct rcl_reread {
	__u32 pos;
	int reads;
};

/**
 * rcl_channel_create - create a queue and a channel for it
 * @out: the channel, for rcl_channel_close()
 * @internal: the program does not know its descriptor: see rcl_fd_raise()
 *
 * Return: 0 or a negative errno
 */
int rcl_channel_create(struct rdma_event_channel **out, bool internal);

/**
 * rcl_channel_wrap - create a channel for an existing queue
 * @fd: descriptor of the queue; the channel owns it on success
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
 * rcl_channel_next - take the next record from a channel
 * @channel: the channel; blocks when it is empty, unless its fd has O_NONBLOCK
 * @record: filled in; members that an older kernel does not know are zero
 * @ring: the locked ring from which the record was copied: on success rcl_ring_done() has to
 *        follow; NULL: the record was read by read()
 *
 * Return: 0, -EAGAIN, -EINTR or another negative errno
 */
int rcl_channel_next(struct rdma_event_channel *channel,
		     union rcl_record *record, struct rcl_ring **ring);

/**
 * rcl_channel_peek - copy the next record of a channel's ring
 * @channel: the channel
 * @record: filled in
 *
 * Return: the locked ring: rcl_ring_done() has to follow; NULL: there is no record in a ring, and
 * the channel has to be read
 */
struct rcl_ring *rcl_channel_peek(struct rdma_event_channel *channel, union rcl_record *record);

/**
 * rcl_channel_read_many - read records from a channel that are not in its ring
 * @channel: the channel; blocks when it is empty, unless its fd has O_NONBLOCK
 * @bytes: buffer for @most records
 * @size: bytes of one, rcl_context_record_size()
 * @most: maximum number of records
 * @reread: zero before the first call
 *
 * Return: number of records; 0: there are records in the ring now; -EAGAIN, -EINTR or another
 * negative errno
 */
int rcl_channel_read_many(struct rdma_event_channel *channel, __u8 *bytes, size_t size, int most,
			  struct rcl_reread *reread);

#endif /* RCL_CHANNEL_H */
