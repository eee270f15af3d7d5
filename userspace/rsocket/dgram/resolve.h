/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Resolving the way to a destination, step by step with events. */
#ifndef RCL_RSOCKET_RESOLVE_H
#define RCL_RSOCKET_RESOLVE_H

#include "rsocket/dgram/dgram.h"

/*
 * Begins to resolve the way to a destination, whose way is not being resolved. Nothing happens if
 * RCL_RESOLVES_MOST resolutions are in progress, or on failure: the next datagram from the
 * destination over UDP tries again.
 */
void rcl_resolve_start(struct rcl_dgram *d, struct rcl_peer *peer, uint32_t qpn);

/*
 * Handles an event of an id of rcl_resolve_start(). Returns NULL if the resolution continues;
 * otherwise the caller acknowledges the event, then calls rcl_resolve_free().
 */
struct rcl_resolve *rcl_resolve_event(struct rcl_dgram *d, const struct rdma_cm_event *event);

/* All events of its id must be acknowledged. */
void rcl_resolve_free(struct rcl_resolve *resolve);

/* When no thread uses the socket. */
void rcl_resolve_free_all(struct rcl_dgram *d);

#endif /* RCL_RSOCKET_RESOLVE_H */
