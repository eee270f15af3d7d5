/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Queue pairs of local addresses. */
#ifndef RCL_RSOCKET_LOCAL_H
#define RCL_RSOCKET_LOCAL_H

#include "rsocket/dgram/dgram.h"

/*
 * Finds the queue pair of a local address, or creates it. -ENODEV: no adapter has the address;
 * -ENOBUFS: there are RCL_LOCALS_MOST; another negative errno.
 */
int rcl_local_get(struct rcl_dgram *d, const union rcl_inet *addr, struct rcl_local **out);

/* When no thread uses the socket. */
void rcl_local_free_all(struct rcl_dgram *d);

/* Returns a buffer to the receive queue. */
void rcl_local_post_recv(struct rcl_local *local, uint32_t slot);

/* The datagram in a buffer, with its header. */
const uint8_t *rcl_local_received(const struct rcl_local *local, uint32_t slot);

/* The buffer of the next send, RCL_SLOT_LEN bytes. A buffer must be free. */
uint8_t *rcl_local_send_buf(const struct rcl_local *local);

/* Sends the content of rcl_local_send_buf(). */
int rcl_local_send(struct rcl_local *local, struct rcl_way *way, size_t len);

/* Returns a dead local address without datagrams in the queue and waiting threads; or NULL. */
struct rcl_local *rcl_local_dead(const struct rcl_dgram *d);

/* No destination may use the local address. */
void rcl_local_free(struct rcl_dgram *d, struct rcl_local *local);

/*
 * Marks a local address as dead when its adapter is gone. Its channel, which reports EPOLLERR from
 * now on, is removed from the descriptor of the socket.
 */
void rcl_local_kill(struct rcl_dgram *d, struct rcl_local *local);

/* Handles completions of sends. */
void rcl_local_reap(struct rcl_local *local);

#endif /* RCL_RSOCKET_LOCAL_H */
