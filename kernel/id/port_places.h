/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The places of a port: how many CM requests ib_mad keeps outstanding for all users together. It
 * has such a limit since 6.17. A request beyond it is queued until an earlier one is answered, or
 * ib_cm gives it up. Connects to peers that answer are delayed by seconds if requests to dead
 * peers take all places.
 *
 * A peer is silent until it answers, and again when it has not answered for a while; see
 * send_window.c. Requests to silent peers of a port may take half of the places together, and the
 * first request to such a peer a few more, so that a peer that answers is found out beside many
 * dead ones. When half of the half is taken, requests to silent peers are repeated only a few times
 * before they give the place to another one that waits, and wait themselves. The window of a peer
 * that answers is smaller than the number of places.
 *
 * Locking: none; the counters are atomic. A limit may be exceeded by one for each processor.
 */
#ifndef RCA_PORT_PLACES_H
#define RCA_PORT_PLACES_H

#include <linux/atomic.h>

#include "device/devices.h"
#include "lib/compat.h"

/** RCA_PLACES_RETRIES - retransmissions of a request that has a place others wait for */
#define RCA_PLACES_RETRIES	3

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
	return !places || atomic_read(places) < (taken ? rca_places / 2 : rca_places / 8 * 7);
}

/* Is half of what silent peers may take taken? */
static inline bool rca_places_scarce(const atomic_t *places)
{
	return atomic_read(places) >= rca_places / 4;
}

#endif /* RCA_PORT_PLACES_H */
