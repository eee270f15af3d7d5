/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The table of destinations. */
#ifndef RCL_RSOCKET_PEER_H
#define RCL_RSOCKET_PEER_H

#include "rsocket/dgram/dgram.h"

/** rcl_peer_find - the destination of an address, or NULL; the socket is locked */
struct rcl_peer *rcl_peer_find(struct rcl_dgram *d, const union rcl_inet *addr);

/**
 * rcl_peer_by_qp - find a destination by its queue pair
 * @d: the locked socket
 * @addr: its address; the port is ignored
 * @qpn: number of the queue pair
 *
 * Return: the destination, or NULL
 */
struct rcl_peer *rcl_peer_by_qp(struct rcl_dgram *d, const union rcl_inet *addr, uint32_t qpn);

/**
 * rcl_peer_get - find the destination of an address, or add it
 * @d: the locked socket
 * @addr: the address
 * @out: set to the destination, which may be forgotten as soon as the socket is unlocked
 *
 * Return: 0, or a negative errno if the address cannot be reached
 */
int rcl_peer_get(struct rcl_dgram *d, const union rcl_inet *addr, struct rcl_peer **out);

/** rcl_peer_free_all - forget all destinations */
void rcl_peer_free_all(struct rcl_dgram *d);

/**
 * rcl_peer_has_way - can a datagram be sent to the queue pair of a destination?
 * @peer: the destination
 * @len: bytes of the datagram with its header
 * @now: nanoseconds of CLOCK_MONOTONIC
 *
 * It is sent over UDP while the way is unknown, if it is too long for a packet, and from time to
 * time to a silent destination, whose queue pair may have changed.
 */
bool rcl_peer_has_way(struct rcl_peer *peer, size_t len, int64_t now);

/**
 * rcl_peer_set_way - set the way to a destination
 * @peer: the destination
 * @way: the way, whose reference passes to the destination; NULL: none
 */
void rcl_peer_set_way(struct rcl_peer *peer, struct rcl_way *way);

#endif /* RCL_RSOCKET_PEER_H */
