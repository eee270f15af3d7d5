/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Steps that lead to a question: addresses of the rig, ids in every state, events. Functions
 * named make_* or get_* end the group when they fail.
 */
#ifndef STEPS_H
#define STEPS_H

#include <arpa/inet.h>
#include <netinet/in.h>

#include "answer.h"

#define HERE "10.9.0.1"		/* on rxe0 */
#define THERE "10.9.0.2"	/* on rxe0, too */
#define HERE6 "fd00:9::1"
#define THERE6 "fd00:9::2"
#define ELSEWHERE "10.7.0.1"	/* on rxe1 */
#define NOBODY "10.7.0.97"	/* a neighbour on rxe1 that does not answer */
#define NOT_OURS "192.0.2.1"	/* no address of this machine, and no route to it */

/* How long an event may take, in ms. */
#define SOON 20000

/* After this time without an event, in ms, the answer is "nothing happens". */
#define QUIET 400

/* An address; valid until the 16th next call. ip NULL is the IPv4 wildcard. */
struct sockaddr *at(const char *ip, int port);

struct rdma_event_channel *channel(void);
struct rdma_cm_id *make_id(struct rdma_event_channel *ch, enum rdma_port_space ps);
struct rdma_cm_id *make_bound(struct rdma_event_channel *ch, const char *ip, int port);
/* Address resolved; then the route, too. */
struct rdma_cm_id *make_resolved(struct rdma_event_channel *ch, const char *ip, int port);
struct rdma_cm_id *make_routed(struct rdma_event_channel *ch, const char *ip, int port);
struct rdma_cm_id *make_listener(struct rdma_event_channel *ch, const char *ip, int *port);
/* A QP of depth 4 in each direction; type is the id's. */
void make_qp(struct rdma_cm_id *id);
struct ibv_qp_init_attr qp_attr(void);
int port_of(struct rdma_cm_id *id);

/* The next event; NULL after ms milliseconds. */
struct rdma_cm_event *get_event(struct rdma_event_channel *ch, int ms);
/* The next event, which must be this one; acknowledges it. */
void expect(struct rdma_event_channel *ch, enum rdma_cm_event_type event);
/* The next CONNECT_REQUEST's id; acknowledges the event. */
struct rdma_cm_id *get_child(struct rdma_event_channel *ch);

/* Print the next event and acknowledge it; or "no event". */
void event_answer(const char *check, struct rdma_event_channel *ch, int ms);
/* The same with the parameters of a connection, or of a datagram. */
void conn_answer(const char *check, struct rdma_event_channel *ch);
void show_conn(const char *check, const struct rdma_cm_event *event);
void show_ud(const char *check, const struct rdma_cm_event *event);
/* The event that a synchronous id holds. */
void sync_event_answer(const char *check, const struct rdma_cm_id *id);
/* "no event" is the expected answer. */
void quiet_answer(const char *check, struct rdma_event_channel *ch);

/* Addresses of an id: both families, with ports as they relate to `port`. */
void addr_answer(const char *check, struct rdma_cm_id *id, int port);

/* Two connected ids, on two channels, with QPs. */
struct pair {
	struct rdma_event_channel *active, *passive;
	struct rdma_cm_id *listener, *client, *child;
	int port;
};

struct rdma_conn_param conn_param(void);
/* Up to the client's route; to the fetched request; to ESTABLISHED on both sides. */
struct pair make_halves(enum rdma_port_space ps, bool qp);
struct pair make_requested(void);
struct pair make_pair(void);
void end_pair(struct pair *pair);

/* State of a QP: its name. */
const char *qp_state(struct ibv_qp *qp);

#endif /* STEPS_H */
