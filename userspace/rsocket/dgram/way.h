/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The way to a queue pair of a peer. */
#ifndef RCL_RSOCKET_WAY_H
#define RCL_RSOCKET_WAY_H

#include "rsocket/dgram/dgram.h"

/**
 * struct rcl_way - the way to a queue pair
 * @ah: address handle
 * @qpn: number of the queue pair
 * @mtu: bytes of the longest datagram, with its header
 * @failed: a send has failed, so the way is not used any more
 * @refs: references of the peer and of sends in progress
 */
struct rcl_way {
	struct ibv_ah *ah;
	uint32_t qpn;
	uint32_t mtu;
	bool failed;
	unsigned int refs;
};

/* Creates the way from @local to queue pair @qpn, by the route of @id, with one reference. */
int rcl_way_create(struct rcl_way **out, const struct rcl_local *local, const struct rdma_cm_id *id,
		   uint32_t qpn);

struct rcl_way *rcl_way_hold(struct rcl_way *way);

/* @way may be NULL. */
void rcl_way_put(struct rcl_way *way);

#endif /* RCL_RSOCKET_WAY_H */
