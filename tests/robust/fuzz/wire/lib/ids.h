/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The ids of a program that plays a sequence, and the events that each of them may have. */
#ifndef WIRE_IDS_H
#define WIRE_IDS_H

#include "rca_test.h"

#define IDS 32	/* more than the messages of a sequence can cause */

#define EVENT(name) RDMA_CM_ALT_EVENT_##name
#define BIT(name) (1u << EVENT(name))
#define REPORTED (BIT(CONNECT_RESPONSE) | BIT(ESTABLISHED))
#define ENDED (BIT(REJECTED) | BIT(DISCONNECTED) | BIT(UNREACHABLE) | BIT(CONNECT_ERROR))

/**
 * struct known - an id of the program
 * @id: its number
 * @client: it has sent a request
 * @datagram: it is one of the port space UDP
 * @answered: the program has accepted or rejected it
 * @established: rdma_establish() has succeeded
 * @part: of which of the two captures it is
 * @local: its identifier there, or 0
 * @events: those that it has had, a bit each
 * @over: when it had an event after which ib_cm does not answer for it, or 0
 */
struct known {
	uint32_t id;
	bool client;
	bool datagram;
	bool answered;
	bool established;
	uint8_t part;
	uint32_t local;
	unsigned int events;
	double over;
};

/* All ids of a sequence, the oldest first. */
struct ids {
	unsigned int count;
	struct known all[IDS];
};

/* A new id; NULL: there are IDS already. */
struct known *ids_add(struct ids *ids, uint32_t id, bool client, bool datagram);
/* The id with a number, or NULL. */
struct known *ids_find(struct ids *ids, uint32_t id);
/* The id whose messages have an identifier of a capture, or NULL. */
struct known *ids_local(struct ids *ids, unsigned int part, uint32_t local);
/* The oldest request that has no answer, or NULL. */
struct known *ids_request(struct ids *ids, bool datagram);
/*
 * Note an event. @confirmed: the peer has sent an RTU. Returns what is wrong with the event after
 * the earlier ones of the id, or NULL.
 */
const char *ids_event(struct known *known, unsigned int type, bool confirmed);

#endif /* WIRE_IDS_H */
