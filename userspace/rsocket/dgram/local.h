/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Queue pairs of local addresses. */
#ifndef RCL_RSOCKET_LOCAL_H
#define RCL_RSOCKET_LOCAL_H

#include "rsocket/dgram/dgram.h"

/**
 * rcl_local_get - find the queue pair of a local address, or create it
 * @d: the locked socket
 * @addr: the address
 * @out: what was found
 *
 * Return: 0; -ENODEV: no adapter has the address; -ENOBUFS: there are RCL_LOCALS_MOST; another
 * negative errno
 */
int rcl_local_get(struct rcl_dgram *d, const union rcl_inet *addr, struct rcl_local **out);

/** rcl_local_free_all - destroy all queue pairs of a socket; nobody uses it any more */
void rcl_local_free_all(struct rcl_dgram *d);

/**
 * rcl_local_post_recv - give a buffer back to the adapter
 * @local: whose buffer it is
 * @slot: number of the buffer
 */
void rcl_local_post_recv(struct rcl_local *local, uint32_t slot);

/** rcl_local_received - the datagram in a buffer, with its header */
const uint8_t *rcl_local_received(const struct rcl_local *local, uint32_t slot);

/**
 * rcl_local_send_buf - the buffer of the next send
 * @local: it has a free one
 *
 * Return: RCL_SLOT_LEN bytes
 */
uint8_t *rcl_local_send_buf(const struct rcl_local *local);

/**
 * rcl_local_send - send what is in the buffer of the next send
 * @local: it has a free one
 * @way: to whom
 * @len: bytes of the buffer
 *
 * Return: 0 or a negative errno
 */
int rcl_local_send(struct rcl_local *local, struct rcl_way *way, size_t len);

/**
 * rcl_local_dead - find a local address that is of no use any more
 * @d: the locked socket
 *
 * Return: one that is dead, and has no datagram and no thread that waits for it; or NULL
 */
struct rcl_local *rcl_local_dead(const struct rcl_dgram *d);

/** rcl_local_free - free a local address, which no destination has */
void rcl_local_free(struct rcl_dgram *d, struct rcl_local *local);

/**
 * rcl_local_kill - the adapter of a local address is gone
 *
 * Its channel says EPOLLERR from now on, and would keep the descriptor of the socket ready.
 */
void rcl_local_kill(struct rcl_dgram *d, struct rcl_local *local);

/** rcl_local_reap - handle completions of sends */
void rcl_local_reap(struct rcl_local *local);

#endif /* RCL_RSOCKET_LOCAL_H */
