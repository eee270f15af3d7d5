/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Calls of librdmacm, stock's or the drop-in, in steps. An error ends the process: see
 * meter_error().
 */
#ifndef CM_H
#define CM_H

#include <rdma/rdma_cma.h>

#include "ktap.h"

#define HERE "10.9.0.1"		/* of the rig: an address of rxe0 */
#define NOBODY "10.7.0.99"	/* a neighbour that does not answer */
#define GROUP "239.9.1.1"

struct rdma_event_channel *get_channel(void);
struct rdma_cm_id *get_cm_id(struct rdma_event_channel *channel);
/* An id that listens on an address, and its port. */
struct rdma_cm_id *get_listener(struct rdma_event_channel *channel, int backlog);
/* The next event but TIMEWAIT_EXIT must be of this type; the id that it is for, or its new one. */
struct rdma_cm_id *await(struct rdma_event_channel *channel, enum rdma_cm_event_type wanted);
/* The address and the route of a service; @port is in host byte order. */
void find(struct rdma_event_channel *channel, struct rdma_cm_id *id, uint16_t port);
/* A request, whose answer an event reports; and the answer of a server. */
void request(struct rdma_cm_id *id);
void answer(struct rdma_cm_id *id);
struct sockaddr *address_of(const char *ip, uint16_t port);

#endif /* CM_H */
