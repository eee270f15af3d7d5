/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The table of destinations. */
#ifndef RCL_RSOCKET_PEER_H
#define RCL_RSOCKET_PEER_H

#include "rsocket/dgram/dgram.h"

/** rcl_peer_init - start with an empty table */
void rcl_peer_init(struct rcl_dgram *d);

/** rcl_peer_find - the destination of an address, or NULL; the socket is locked */
struct rcl_peer *rcl_peer_find(struct rcl_dgram *d, const union rcl_inet *addr);

/**
 * rcl_peer_by_qp - find a destination by its queue pair
 * @d: the locked socket
 * @addr: its address; the port does not count
 * @qpn: number of the queue pair
 *
 * Return: the destination, or NULL
 */
struct rcl_peer *rcl_peer_by_qp(struct rcl_dgram *d, const union rcl_inet *addr, uint32_t qpn);

/**
 * rcl_peer_get - find the destination of an address, or add it
 * @d: the locked socket
 * @addr: the address
 * @out: what was found; it may be forgotten when the socket is unlocked
 *
 * Return: 0 or a negative errno: there is no way to the address
 */
int rcl_peer_get(struct rcl_dgram *d, const union rcl_inet *addr, struct rcl_peer **out);

/** rcl_peer_free_all - forget all destinations */
void rcl_peer_free_all(struct rcl_dgram *d);

/**
 * rcl_peer_has_way - may a datagram go to the queue pair of a destination?
 * @peer: the destination
 * @len: bytes of the datagram with its header
 * @now: nanoseconds of CLOCK_MONOTONIC
 *
 * It goes by UDP while the way is not known, when it is too long for a packet, and now and then to
 * a destination that nothing comes from, as its queue pair may be another one meanwhile.
 */
bool rcl_peer_has_way(struct rcl_peer *peer, size_t len, int64_t now);

/**
 * rcl_peer_set_way - from now on datagrams go to this queue pair
 * @peer: the destination
 * @way: the way, whose reference passes to it; NULL: none
 */
void rcl_peer_set_way(struct rcl_peer *peer, struct rcl_way *way);

#endif /* RCL_RSOCKET_PEER_H */
