/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* riomap(), riounmap() and riowrite(): writing to memory of the peer. */
#ifndef RCL_RSOCKET_IOMAP_H
#define RCL_RSOCKET_IOMAP_H

#include <sys/types.h>

#include "rsocket/stream/stream.h"

/**
 * rcl_stream_map - riomap()
 * @s: the locked stream
 * @buf: memory of this end
 * @len: its bytes
 * @prot: PROT_WRITE: the peer may write to it; PROT_NONE: it is not announced
 * @offset: its offset for the peer; -1: set to the address, which may be negative if off_t has 32
 *	bits
 *
 * Return: 0, or a negative errno
 */
int rcl_stream_map(struct rcl_stream *s, void *buf, size_t len, int prot, off_t *offset);

/** rcl_stream_unmap - riounmap() of a locked stream; -EINVAL: it is not mapped */
int rcl_stream_unmap(struct rcl_stream *s, void *buf, size_t len);

/**
 * rcl_stream_write - riowrite()
 * @s: the locked stream
 * @buf: the bytes
 * @len: their number
 * @offset: offset of the peer's riomap()
 * @flags: MSG_DONTWAIT or 0
 *
 * Return: bytes that were written, fewer than @len where the mappings of the peer end; or a
 * negative errno
 */
ssize_t rcl_stream_write(struct rcl_stream *s, const void *buf, size_t len, off_t offset,
			 int flags);

/*
 * Announces all new mappings to the peer. @deadline: nanoseconds of CLOCK_MONOTONIC; 0: do not
 * wait, -EAGAIN.
 */
int rcl_maps_send(struct rcl_stream *s, int64_t deadline);

#endif /* RCL_RSOCKET_IOMAP_H */
