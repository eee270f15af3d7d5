/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Work requests of the send queue: data, control messages, mappings, and their completions. */
#ifndef RCL_RSOCKET_POST_H
#define RCL_RSOCKET_POST_H

#include "rsocket/stream/stream.h"

/*
 * struct rcl_piece - data of one work request: memory of the caller or of the send buffer
 */
struct rcl_piece {
	struct ibv_sge sge[2];
	int count;
	uint32_t len;
	bool from_ring;
	bool is_inline;
};

/* Free work requests, without those reserved for control messages. */
uint32_t rcl_tx_slots_left(const struct rcl_stream *s);

/* Free bytes of the send buffer. */
uint32_t rcl_tx_bytes_left(const struct rcl_stream *s);

/*
 * May data be posted now? Switches to the next range of the peer's memory, if it has announced one.
 */
bool rcl_tx_may_send(struct rcl_stream *s);

/*
 * Have all work requests completed, and is no control message left to send? The last work request
 * of the stream must be signaled.
 */
bool rcl_tx_all_done(const struct rcl_stream *s);

/* Is the last work request in progress, and was it signaled? */
bool rcl_tx_will_complete(const struct rcl_stream *s);

/* Handles completions of sends. -ECONNRESET or -ETIMEDOUT: a work request has failed. */
int rcl_tx_reap(struct rcl_stream *s);

/* Posts data, which fits the peer's current range. rcl_tx_may_send() must be true. */
int rcl_tx_data(struct rcl_stream *s, const struct rcl_piece *piece);

/* Posts data to an address of the peer, without a message. A work request must be free. */
int rcl_tx_direct(struct rcl_stream *s, const struct rcl_piece *piece, uint64_t addr, uint32_t key);

/*
 * Announces a mapping, in the peer's byte order, as entry @index of the peer's table.
 * rcl_tx_may_send() must be true.
 */
int rcl_tx_iomap(struct rcl_stream *s, uint32_t index, const struct rcl_iomap *iomap);

/* May a control message be posted now? */
bool rcl_tx_may_control(const struct rcl_stream *s);

/*
 * Announces to the peer the total number of messages that it may send since the connect, and a
 * range of memory unless @target is NULL. rcl_tx_may_control() must be true.
 */
int rcl_tx_credit(struct rcl_stream *s, uint16_t limit, const struct rcl_target *target);

/* rcl_tx_may_control() must be true. */
int rcl_tx_control(struct rcl_stream *s, enum rcl_control control);

/*
 * Writes 0 bytes to the peer, whose program does not notice. The work request completes when the
 * peer's adapter has acknowledged the write, or fails without acknowledgement. rcl_tx_may_control()
 * must be true.
 */
int rcl_tx_probe(struct rcl_stream *s);

#endif /* RCL_RSOCKET_POST_H */
