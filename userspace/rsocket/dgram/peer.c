// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The table of destinations. It is bounded, as each sender to the UDP socket gets an entry.
 *
 * Locking: rcl_sock.lock.
 */
#include "rsocket/dgram/peer.h"

#include <errno.h>
#include <stdlib.h>

#include "rsocket/dgram/local.h"
#include "rsocket/dgram/udp.h"
#include "rsocket/dgram/way.h"

/* After this time of silence, data is sent to a destination over UDP, which it answers. */
#define SILENCE_NS 1000000000LL

static uint32_t bucket_of(const union rcl_inet *addr)
{
	return rcl_inet_hash(addr) % RCL_PEER_BUCKETS;
}

struct rcl_peer *rcl_peer_find(struct rcl_dgram *d, const union rcl_inet *addr)
{
	struct rcl_peer *peer;

	LIST_FOREACH(peer, &d->buckets[bucket_of(addr)], link) {
		if (rcl_inet_equal(&peer->addr, addr))
			return peer;
	}
	return NULL;
}

struct rcl_peer *rcl_peer_by_qp(struct rcl_dgram *d, const union rcl_inet *addr, uint32_t qpn)
{
	struct rcl_peer *peer;

	TAILQ_FOREACH(peer, &d->peers, used) {
		if (peer->qpn == qpn && rcl_inet_same_host(&peer->addr, addr))
			return peer;
	}
	return NULL;
}

static void forget(struct rcl_dgram *d, struct rcl_peer *peer)
{
	if (peer->resolve)
		peer->resolve->peer = NULL;
	rcl_way_put(peer->way);
	LIST_REMOVE(peer, link);
	TAILQ_REMOVE(&d->peers, peer, used);
	d->peer_count--;
	free(peer);
}

/* Frees local addresses whose adapter is gone. */
static void free_dead_locals(struct rcl_dgram *d)
{
	struct rcl_peer *peer, *next;
	struct rcl_local *local;

	while ((local = rcl_local_dead(d))) {
		for (peer = TAILQ_FIRST(&d->peers); peer; peer = next) {
			next = TAILQ_NEXT(peer, used);
			if (peer->local == local)
				forget(d, peer);
		}
		rcl_local_free(d, local);
	}
}

static int add(struct rcl_dgram *d, const union rcl_inet *addr, struct rcl_peer **out)
{
	struct rcl_local *local;
	union rcl_inet source;
	struct rcl_peer *peer;
	int ret = rcl_udp_source(d->udp, addr, &source);

	free_dead_locals(d);
	if (!ret)
		ret = rcl_local_get(d, &source, &local);
	/* Peers answer to the port in the header of each datagram. */
	if (!ret)
		ret = rcl_udp_port(d->udp, d->sock.family, &local->addr.sin.sin_port);
	if (ret)
		return ret;
	if (d->peer_count == RCL_PEERS_MOST)
		forget(d, TAILQ_LAST(&d->peers, rcl_peer_list));
	peer = calloc(1, sizeof(*peer));
	if (!peer)
		return -ENOMEM;
	peer->addr = *addr;
	peer->local = local;
	LIST_INSERT_HEAD(&d->buckets[bucket_of(addr)], peer, link);
	TAILQ_INSERT_HEAD(&d->peers, peer, used);
	d->peer_count++;
	*out = peer;
	return 0;
}

int rcl_peer_get(struct rcl_dgram *d, const union rcl_inet *addr, struct rcl_peer **out)
{
	struct rcl_peer *peer = rcl_peer_find(d, addr);

	/* The address may have moved to another adapter. */
	if (peer && peer->local->dead) {
		forget(d, peer);
		peer = NULL;
	}
	if (!peer)
		return add(d, addr, out);
	TAILQ_REMOVE(&d->peers, peer, used);
	TAILQ_INSERT_HEAD(&d->peers, peer, used);
	*out = peer;
	return 0;
}

void rcl_peer_free_all(struct rcl_dgram *d)
{
	struct rcl_peer *peer;

	while ((peer = TAILQ_FIRST(&d->peers)))
		forget(d, peer);
}

bool rcl_peer_has_way(struct rcl_peer *peer, size_t len, int64_t now)
{
	int64_t last = peer->heard > peer->asked ? peer->heard : peer->asked;

	if (!peer->way || peer->way->failed || len > peer->way->mtu)
		return false;
	return now - last < SILENCE_NS;
}

void rcl_peer_set_way(struct rcl_peer *peer, struct rcl_way *way)
{
	rcl_way_put(peer->way);
	peer->way = way;
}
