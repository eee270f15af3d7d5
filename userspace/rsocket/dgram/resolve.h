/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Resolving the way to a destination, step by step with events. */
#ifndef RCL_RSOCKET_RESOLVE_H
#define RCL_RSOCKET_RESOLVE_H

#include "rsocket/dgram/dgram.h"

/**
 * rcl_resolve_start - begin to resolve the way to a destination
 * @d: the locked socket
 * @peer: the destination, whose way is not being resolved
 * @qpn: number of its queue pair
 *
 * Nothing happens if RCL_RESOLVES_MOST are in progress, or on failure: the next datagram from the
 * destination over UDP tries again.
 */
void rcl_resolve_start(struct rcl_dgram *d, struct rcl_peer *peer, uint32_t qpn);

/**
 * rcl_resolve_event - handle an event
 * @d: the locked socket
 * @event: of an id of rcl_resolve_start()
 *
 * Return: the resolution if it has ended, for rcl_resolve_free() after the event was acknowledged;
 * NULL if it continues
 */
struct rcl_resolve *rcl_resolve_event(struct rcl_dgram *d, const struct rdma_cm_event *event);

/** rcl_resolve_free - free a resolution; all events of its id are acknowledged */
void rcl_resolve_free(struct rcl_resolve *resolve);

/** rcl_resolve_free_all - free all of a socket, which no thread uses any more */
void rcl_resolve_free_all(struct rcl_dgram *d);

#endif /* RCL_RSOCKET_RESOLVE_H */
