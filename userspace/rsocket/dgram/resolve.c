// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Resolving ways.
 *
 * Only the service thread starts and ends resolutions, many at the same time. An id whose
 * destination was forgotten is destroyed at its next event: to destroy it at once, the thread would
 * have to wait for an event that the service thread may have just read.
 *
 * Locking: rcl_sock.lock.
 */
#include "rsocket/dgram/resolve.h"

#include <stdlib.h>

#include "rsocket/dgram/peer.h"
#include "rsocket/dgram/way.h"
#include "rsocket/wait.h"

/* Timeout of each step. */
#define STEP_MS 2000

/* Pause after a failure. */
#define RETRY_MS 1000

static int set_tos(const struct rcl_dgram *d, struct rdma_cm_id *id)
{
	uint8_t tos = (uint8_t)d->tos;

	if (d->tos < 0)
		return 0;
	return rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, sizeof(tos));
}

void rcl_resolve_start(struct rcl_dgram *d, struct rcl_peer *peer, uint32_t qpn)
{
	union rcl_inet source = peer->local->addr, to = peer->addr;
	struct rcl_resolve *resolve;

	if (d->resolve_count == RCL_RESOLVES_MOST)
		return;
	peer->retry = rcl_deadline(RETRY_MS);
	resolve = calloc(1, sizeof(*resolve));
	if (!resolve)
		return;
	if (rdma_create_id(d->channel, &resolve->id, resolve, RDMA_PS_UDP)) {
		free(resolve);
		return;
	}
	source.sin.sin_port = 0;
	if (set_tos(d, resolve->id) ||
	    rdma_resolve_addr(resolve->id, &source.sa, &to.sa, STEP_MS)) {
		rcl_resolve_free(resolve);
		return;
	}
	resolve->peer = peer;
	resolve->qpn = qpn;
	peer->resolve = resolve;
	LIST_INSERT_HEAD(&d->resolves, resolve, link);
	d->resolve_count++;
}

static void resolved(struct rcl_peer *peer, const struct rdma_cm_id *id, uint32_t qpn)
{
	struct rcl_way *way;

	if (!rcl_way_create(&way, peer->local, id, qpn))
		rcl_peer_set_way(peer, way);
}

struct rcl_resolve *rcl_resolve_event(struct rcl_dgram *d, const struct rdma_cm_event *event)
{
	struct rcl_resolve *resolve = event->id->context;
	struct rcl_peer *peer = resolve->peer;

	if (peer && event->event == RDMA_CM_EVENT_ADDR_RESOLVED &&
	    !rdma_resolve_route(resolve->id, STEP_MS))
		return NULL;
	if (peer && event->event == RDMA_CM_EVENT_ROUTE_RESOLVED)
		resolved(peer, resolve->id, resolve->qpn);
	if (peer)
		peer->resolve = NULL;
	LIST_REMOVE(resolve, link);
	d->resolve_count--;
	return resolve;
}

void rcl_resolve_free(struct rcl_resolve *resolve)
{
	rdma_destroy_id(resolve->id);
	free(resolve);
}

void rcl_resolve_free_all(struct rcl_dgram *d)
{
	struct rcl_resolve *resolve;

	while ((resolve = LIST_FIRST(&d->resolves))) {
		LIST_REMOVE(resolve, link);
		rcl_resolve_free(resolve);
	}
}
