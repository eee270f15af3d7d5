/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Many connections between the two adapters of knobs.h at the same time, and a count of what
 * each end was told: each event comes once, whatever becomes of messages.
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
 * @count: how many
 * @id: the ids of both sides; 0: none yet
 * @accepted: the request of this number was
 * @told: how often each was told of an event
 * @deaf: clients that do not establish, servers that do not accept
 * @doubled: the fabric doubles messages: a request may come again when its connection has ended
 *           already; it is not accepted then, and not counted
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

/* Clients with their routes to a listener. */
void crowd_make(struct crowd *crowd, unsigned int count);
/* An option of all clients. */
void crowd_option(struct crowd *crowd, uint32_t name, const void *value, uint32_t len);
/* The clients ask for a connection. */
void crowd_ask(struct crowd *crowd);
/* The clients end it. */
void crowd_disconnect(struct crowd *crowd);
/* Takes what has come, and answers. */
void crowd_pump(struct crowd *crowd);
/* Until each was told one of these events; the time that took. */
double crowd_await(struct crowd *crowd, enum crowd_side side, uint32_t set);
/* Each was told each of these once, and nothing else. */
void crowd_expect(const struct crowd *crowd, enum crowd_side side, uint32_t set);
/* How often all of a side were told of these. */
unsigned int crowd_sum(const struct crowd *crowd, enum crowd_side side, uint32_t set);
/* How often one was. */
unsigned int crowd_told(const struct crowd *crowd, enum crowd_side side, unsigned int number,
			uint32_t set);
/* Destroys all ids and closes all. */
void crowd_end(struct crowd *crowd);

#endif /* CROWD_H */
