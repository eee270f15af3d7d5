/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Work requests of the send queue: data, control messages, mappings, and their completions. */
#ifndef RCL_RSOCKET_POST_H
#define RCL_RSOCKET_POST_H

#include "rsocket/stream/stream.h"

/**
 * struct rcl_piece - data of one work request: memory of the caller or of the send buffer
 */
struct rcl_piece {
	struct ibv_sge sge[2];
	int count;
	uint32_t len;
	bool from_ring;
	bool is_inline;
};

/** rcl_tx_slots_left - free work requests, without those reserved for control messages */
uint32_t rcl_tx_slots_left(const struct rcl_stream *s);

/** rcl_tx_bytes_left - free bytes of the send buffer */
uint32_t rcl_tx_bytes_left(const struct rcl_stream *s);

/**
 * rcl_tx_may_send - may data be posted now?
 * @s: the locked stream
 *
 * Switches to the next range of the peer's memory, if it has announced one.
 */
bool rcl_tx_may_send(struct rcl_stream *s);

/**
 * rcl_tx_all_done - have all work requests completed, and is no control message left to send?
 * @s: the locked stream, of which the last work request is signaled
 */
bool rcl_tx_all_done(const struct rcl_stream *s);

/** rcl_tx_will_complete - is the last work request in progress, and was it signaled? */
bool rcl_tx_will_complete(const struct rcl_stream *s);

/**
 * rcl_tx_reap - handle completions of sends
 * @s: the locked stream
 *
 * Return: 0; -ECONNRESET or -ETIMEDOUT: a work request has failed
 */
int rcl_tx_reap(struct rcl_stream *s);

/**
 * rcl_tx_data - post data to the peer's current range
 * @s: the locked stream; rcl_tx_may_send() is true
 * @piece: the data, which fits the range
 *
 * Return: 0 or a negative errno
 */
int rcl_tx_data(struct rcl_stream *s, const struct rcl_piece *piece);

/**
 * rcl_tx_direct - post data to an address of the peer, without a message
 * @s: the locked stream with a free work request
 * @piece: the data
 * @addr: address in the peer's memory
 * @key: its rkey
 *
 * Return: 0 or a negative errno
 */
int rcl_tx_direct(struct rcl_stream *s, const struct rcl_piece *piece, uint64_t addr, uint32_t key);

/**
 * rcl_tx_iomap - announce a mapping to the peer
 * @s: the locked stream; rcl_tx_may_send() is true
 * @index: of the entry of its table
 * @iomap: the mapping, in its byte order
 *
 * Return: 0 or a negative errno
 */
int rcl_tx_iomap(struct rcl_stream *s, uint32_t index, const struct rcl_iomap *iomap);

/** rcl_tx_may_control - may a control message be posted now? */
bool rcl_tx_may_control(const struct rcl_stream *s);

/**
 * rcl_tx_credit - announce to the peer how many messages it may send, and optionally a range
 * @s: the locked stream; rcl_tx_may_control() is true
 * @limit: total number of messages since the connect
 * @target: the range; NULL: none
 *
 * Return: 0 or a negative errno
 */
int rcl_tx_credit(struct rcl_stream *s, uint16_t limit, const struct rcl_target *target);

/**
 * rcl_tx_control - send a control message
 * @s: the locked stream; rcl_tx_may_control() is true
 * @control: &enum rcl_control
 *
 * Return: 0 or a negative errno
 */
int rcl_tx_control(struct rcl_stream *s, enum rcl_control control);

/**
 * rcl_tx_probe - write 0 bytes to the peer, whose program does not notice
 * @s: the locked stream; rcl_tx_may_control() is true
 *
 * Completes when the peer's adapter has acknowledged the write, or fails without acknowledgement.
 *
 * Return: 0 or a negative errno
 */
int rcl_tx_probe(struct rcl_stream *s);

#endif /* RCL_RSOCKET_POST_H */
