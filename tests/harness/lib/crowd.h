/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Many connections at the same time between the two adapters of knobs.h, and a count of the events
 * of each end: each event arrives once, whatever happens to the messages.
 */
#ifndef CROWD_H
#define CROWD_H

#include "fabric.h"

#define CROWD_MAX 512
#define CROWD_TYPES (RDMA_CM_ALT_EVENT_TIMEWAIT_EXIT + 1)

enum crowd_side { CLIENTS, SERVERS };

/* Sets of events. */
#define TOLD(type) (1u << RDMA_CM_ALT_EVENT_##type)

/**
 * struct crowd - connections, by number
 * @p: the listener, and the queues of both sides
 * @count: number of connections
 * @id: the ids of both sides; 0: none yet
 * @accepted: whether the request was accepted
 * @told: number of events of each id, by type
 * @deaf: clients do not establish, servers do not accept
 * @doubled: the fabric duplicates messages: a request may arrive again after its connection has
 *           ended; it is neither accepted nor counted then
 */
struct crowd {
	struct pair p;
	unsigned int count;
	uint32_t id[2][CROWD_MAX];
	bool accepted[CROWD_MAX];
	uint8_t told[2][CROWD_MAX][CROWD_TYPES];
	bool deaf[2];
	bool doubled;
};

/* Create a listener, and clients with their routes to it. */
void crowd_make(struct crowd *crowd, unsigned int count);
/* Set an option of all clients. */
void crowd_option(struct crowd *crowd, uint32_t name, const void *value, uint32_t len);
/* Connect all clients. */
void crowd_ask(struct crowd *crowd);
/* Disconnect all clients. */
void crowd_disconnect(struct crowd *crowd);
/* Read all events, and answer them. */
void crowd_pump(struct crowd *crowd);
/* Wait until each end of the side has one of the events in @set. Returns the seconds it took. */
double crowd_await(struct crowd *crowd, enum crowd_side side, uint32_t set);
/* Each end of the side has each event of @set once, and no other. */
void crowd_expect(const struct crowd *crowd, enum crowd_side side, uint32_t set);
/* Number of events in @set, of all ends of a side. */
unsigned int crowd_sum(const struct crowd *crowd, enum crowd_side side, uint32_t set);
/* Number of events in @set, of one end. */
unsigned int crowd_told(const struct crowd *crowd, enum crowd_side side, unsigned int number,
			uint32_t set);
/* Destroy all ids and close all descriptors. */
void crowd_end(struct crowd *crowd);

#endif /* CROWD_H */
