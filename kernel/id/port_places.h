/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The places of a port: how many CM requests ib_mad keeps outstanding for all users together. It
 * has such a limit since 6.17. Requests beyond it are queued. A request that is not answered in
 * time is queued behind them, so it gives its place up after one interval if others wait. Connects
 * to peers that answer are delayed by seconds if there are many requests to dead peers.
 *
 * A peer is silent until it answers, and again when it has not answered for a while; see
 * send_window.c. Requests to silent peers of a port may take half of the places together. The first
 * request to such a peer is always sent: it finds out whether the peer answers, and ib_mad keeps
 * the order of such requests. The window of a peer that answers is smaller than the number of
 * places.
 *
 * Locking: none; the counters are atomic. A limit may be exceeded by one for each processor.
 */
#ifndef RCA_PORT_PLACES_H
#define RCA_PORT_PLACES_H

#include <linux/atomic.h>

#include "device/devices.h"
#include "lib/compat.h"

#if IS_ENABLED(CONFIG_KUNIT)
/* Unit tests change it. */
extern unsigned int rca_places;
#else
#define rca_places RCA_PORT_PLACES
#endif

/* Returns the counter of a port; NULL if there is no limit. */
static inline atomic_t *rca_places_of(const struct rca_device *dev, u32 port)
{
	return rca_places && dev->silent ? &dev->silent[port] : NULL;
}

/* Returns the size of a send window. */
static inline unsigned int rca_places_window(void)
{
	return rca_places / 4 * 3;
}

/* Counts messages to silent peers. */
static inline void rca_places_add(atomic_t *places, int more)
{
	if (places)
		atomic_add(more, places);
}

/* May a silent peer with @taken messages get another one? */
static inline bool rca_places_free(const atomic_t *places, unsigned int taken)
{
	return !places || !taken || atomic_read(places) < rca_places / 2;
}

#endif /* RCA_PORT_PLACES_H */
