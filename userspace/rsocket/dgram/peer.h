/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The table of destinations. */
#ifndef RCL_RSOCKET_PEER_H
#define RCL_RSOCKET_PEER_H

#include "rsocket/dgram/dgram.h"

/* The destination of an address, or NULL. */
struct rcl_peer *rcl_peer_find(struct rcl_dgram *d, const union rcl_inet *addr);

/*
 * Finds a destination by its address, without the port, and the number of its queue pair; or NULL.
 */
struct rcl_peer *rcl_peer_by_qp(struct rcl_dgram *d, const union rcl_inet *addr, uint32_t qpn);

/*
 * Finds the destination of an address, or adds it. It may be forgotten as soon as the socket is
 * unlocked. A negative errno: the address cannot be reached.
 */
int rcl_peer_get(struct rcl_dgram *d, const union rcl_inet *addr, struct rcl_peer **out);

void rcl_peer_free_all(struct rcl_dgram *d);

/*
 * Can a datagram of @len bytes, with its header, be sent to the queue pair of a destination? It is
 * sent over UDP while the way is unknown, if it is too long for a packet, and from time to time to
 * a silent destination, whose queue pair may have changed. @now: nanoseconds of CLOCK_MONOTONIC.
 */
bool rcl_peer_has_way(struct rcl_peer *peer, size_t len, int64_t now);

/* The reference of @way passes to the destination. NULL: the way is unknown. */
void rcl_peer_set_way(struct rcl_peer *peer, struct rcl_way *way);

#endif /* RCL_RSOCKET_PEER_H */
