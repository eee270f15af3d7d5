/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Queue pairs of local addresses. */
#ifndef RCL_RSOCKET_LOCAL_H
#define RCL_RSOCKET_LOCAL_H

#include "rsocket/dgram/dgram.h"

/**
 * rcl_local_get - find the queue pair of a local address, or create it
 * @d: the locked socket
 * @addr: the address
 * @out: set to the local address
 *
 * Return: 0; -ENODEV: no adapter has the address; -ENOBUFS: there are RCL_LOCALS_MOST; another
 * negative errno
 */
int rcl_local_get(struct rcl_dgram *d, const union rcl_inet *addr, struct rcl_local **out);

/** rcl_local_free_all - destroy all queue pairs of a socket, which no thread uses any more */
void rcl_local_free_all(struct rcl_dgram *d);

/**
 * rcl_local_post_recv - return a buffer to the receive queue
 * @local: whose buffer it is
 * @slot: number of the buffer
 */
void rcl_local_post_recv(struct rcl_local *local, uint32_t slot);

/** rcl_local_received - the datagram in a buffer, with its header */
const uint8_t *rcl_local_received(const struct rcl_local *local, uint32_t slot);

/**
 * rcl_local_send_buf - the buffer of the next send
 * @local: the local address, with a free buffer
 *
 * Return: RCL_SLOT_LEN bytes
 */
uint8_t *rcl_local_send_buf(const struct rcl_local *local);

/**
 * rcl_local_send - send the content of rcl_local_send_buf()
 * @local: the local address, with a free buffer
 * @way: way to the receiver
 * @len: bytes to send
 *
 * Return: 0 or a negative errno
 */
int rcl_local_send(struct rcl_local *local, struct rcl_way *way, size_t len);

/**
 * rcl_local_dead - find a local address that can be freed
 * @d: the locked socket
 *
 * Return: a dead one without datagrams in the queue and waiting threads; or NULL
 */
struct rcl_local *rcl_local_dead(const struct rcl_dgram *d);

/** rcl_local_free - free a local address that no destination uses */
void rcl_local_free(struct rcl_dgram *d, struct rcl_local *local);

/**
 * rcl_local_kill - mark a local address as dead, whose adapter is gone
 *
 * Its channel, which reports EPOLLERR from now on, is removed from the descriptor of the socket.
 */
void rcl_local_kill(struct rcl_dgram *d, struct rcl_local *local);

/** rcl_local_reap - handle completions of sends */
void rcl_local_reap(struct rcl_local *local);

#endif /* RCL_RSOCKET_LOCAL_H */
