/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The places of a port: how many CM requests, and how many queries of the subnet administrator,
 * ib_mad keeps outstanding for all users together. It has such a limit since 6.17. Where there is
 * none, nothing is left of this.
 */
#ifndef RCA_PORT_PLACES_H
#define RCA_PORT_PLACES_H

#include <linux/limits.h>

#include "id/id.h"
#include "lib/compat.h"
#include "transport/devices.h"
#include "transport/places.h"

#if IS_ENABLED(CONFIG_RDMA_CM_ALT_KUNIT)
/* Unit tests change it. */
extern unsigned int rca_places;
#else
#define rca_places RCA_PORT_PLACES
#endif

struct rca_port_place;

#if RCA_COUNTS_PLACES
bool rca_place_take(struct rca_port_place *place, struct rca_port_places *port, bool silent,
		    bool first);
void rca_place_give(struct rca_port_place *place);
long rca_place_left(const struct rca_port_place *place);
bool rca_place_is_wanted(struct rca_port_place *place, bool alive);
void rca_place_withdraw(struct rca_port_place *place);
bool rca_place_begin(struct rca_id *id, bool silent, bool first);
void rca_place_end(struct rca_id *id);

/* The place of the connection request of an id, which has a setup. */
static inline struct rca_port_place *rca_place_of(const struct rca_id *id)
{
	return &id->setup->place;
}

/* Returns the places of the device that an id is on; NULL if there is no limit. */
static inline struct rca_device_places *rca_places_of(const struct rca_id *id)
{
	return rca_places ? id->dev->places : NULL;
}
#else
static inline long rca_place_left(const struct rca_port_place *place)
{
	return LONG_MAX;
}

static inline bool rca_place_is_wanted(struct rca_port_place *place, bool alive)
{
	return false;
}

static inline void rca_place_withdraw(struct rca_port_place *place)
{
}

static inline bool rca_place_begin(struct rca_id *id, bool silent, bool first)
{
	return true;
}

static inline void rca_place_end(struct rca_id *id)
{
}

static inline struct rca_port_place *rca_place_of(const struct rca_id *id)
{
	return NULL;
}

static inline struct rca_device_places *rca_places_of(const struct rca_id *id)
{
	return NULL;
}
#endif

#endif /* RCA_PORT_PLACES_H */
