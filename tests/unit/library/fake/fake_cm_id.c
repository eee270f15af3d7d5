// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The ids of the fake CM.
 *
 * Locking: that of the fake kernel.
 */
#include "fake/fake_cm_id.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <infiniband/verbs.h>

#include "fake/fake_cm.h"

#define FIRST_FREE_PORT 49152

struct fake_cm_id fake_cm_ids[FAKE_MAX_IDS];
static __u16 next_port;

/* The family and the port are in the same place for IPv4 and IPv6. */
static __be16 *port_of(struct rdma_cm_alt_sockaddr *addr)
{
	return &((struct sockaddr_in *)(void *)addr->bytes)->sin_port;
}

static const void *ip_of(const struct rdma_cm_alt_sockaddr *addr, size_t *len)
{
	if (addr->family == AF_INET6) {
		*len = sizeof(struct in6_addr);
		return &addr->bytes[offsetof(struct sockaddr_in6, sin6_addr)];
	}
	*len = sizeof(struct in_addr);
	return &addr->bytes[offsetof(struct sockaddr_in, sin_addr)];
}

static bool is_any(const struct rdma_cm_alt_sockaddr *addr)
{
	static const __u8 zeros[sizeof(struct in6_addr)];
	size_t len;
	const void *ip = ip_of(addr, &len);

	return !memcmp(ip, zeros, len);
}

/* The wildcard of IPv6 stands for all addresses, that of IPv4 for those of IPv4. */
static bool covers(const struct rdma_cm_alt_sockaddr *any, const struct rdma_cm_alt_sockaddr *addr)
{
	return is_any(any) && (any->family == AF_INET6 || addr->family == any->family);
}

/* Do two addresses, one of which may be a wildcard, with equal ports overlap? */
static bool overlap(const struct rdma_cm_alt_sockaddr *a, const struct rdma_cm_alt_sockaddr *b)
{
	struct rdma_cm_alt_sockaddr x = *a, y = *b;
	size_t len;
	const void *ip = ip_of(a, &len);

	if (*port_of(&x) != *port_of(&y))
		return false;
	if (covers(a, b) || covers(b, a))
		return true;
	return a->family == b->family && !memcmp(ip, ip_of(b, &len), len);
}

bool fake_cm_alive(__u32 handle)
{
	return handle && handle < FAKE_MAX_IDS && fake.ids[handle].alive;
}

static bool port_in_use(__u32 handle)
{
	struct fake_cm_id *id = &fake_cm_ids[handle];
	__u32 h;

	for (h = 1; h < FAKE_MAX_IDS; h++) {
		struct fake_cm_id *other = &fake_cm_ids[h];
		bool shared = id->reuse && other->reuse && other->state != CM_LISTEN;

		/* Ids of requests have the port of their listener. */
		if (h != handle && fake_cm_alive(h) && other->ps == id->ps && !other->listener &&
		    other->src.family && !shared && overlap(&id->src, &other->src))
			return true;
	}
	return false;
}

int fake_cm_bind(__u32 handle, const struct rdma_cm_alt_sockaddr *addr)
{
	struct fake_cm_id *id = &fake_cm_ids[handle];

	id->src = *addr;
	if (!*port_of(&id->src)) {
		do {
			*port_of(&id->src) = htons(next_port++);
		} while (port_in_use(handle));
	} else if (port_in_use(handle)) {
		id->src.family = 0;
		return -EADDRINUSE;
	}
	return 0;
}

/* The address from which an id connects that names none. */
static struct rdma_cm_alt_sockaddr own_address(__u16 family)
{
	struct rdma_cm_alt_sockaddr src = fake.route.src;
	struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6 };

	*port_of(&src) = 0;
	if (family == AF_INET6) {
		inet_pton(AF_INET6, "fd00::1", &sin6.sin6_addr);
		memcpy(src.bytes, &sin6, sizeof(sin6));
	}
	return src;
}

int fake_cm_place(__u32 handle, const struct rdma_cm_alt_pipeline *pipe)
{
	struct fake_cm_id *id = &fake_cm_ids[handle];
	struct rdma_cm_alt_sockaddr src;
	int ret = 0;

	if (pipe->steps & RDMA_CM_ALT_STEP_CREATE)
		*id = (struct fake_cm_id) { .ps = pipe->ps, .qp_type = pipe->qp_type };
	if (pipe->steps & RDMA_CM_ALT_STEP_BIND)
		ret = fake_cm_bind(handle, &pipe->src);
	if (ret || !(pipe->steps & RDMA_CM_ALT_STEP_ADDR))
		return ret;
	id->dst = pipe->dst;
	src = pipe->src.family ? pipe->src : own_address(pipe->dst.family);
	/* A bound id keeps its port, and leaves the wildcard for an address. */
	if (id->src.family && is_any(&id->src)) {
		*port_of(&src) = *port_of(&id->src);
		id->src = src;
	} else if (!id->src.family) {
		ret = fake_cm_bind(handle, &src);
	}
	return ret;
}

bool fake_cm_iwarp(void)
{
	return fake.features & RDMA_CM_ALT_FEATURE_IWARP;
}

void fake_cm_qp_attr(__u32 handle, struct rdma_cm_alt_qp_attr *qp)
{
	const struct fake_cm_id *id = &fake_cm_ids[handle % FAKE_MAX_IDS];
	const struct fake_cm_id *peer = &fake_cm_ids[id->peer];

	*qp = fake.qp;
	if (id->qp_type == IBV_QPT_UD) {
		qp->init_mask |= IBV_QP_QKEY;
		qp->attr.qkey = FAKE_UD_QKEY;
	} else if (fake_cm_iwarp()) {
		/* The driver moves the QP. */
		qp->init_mask = IBV_QP_STATE | IBV_QP_ACCESS_FLAGS;
		qp->rtr_mask = 0;
		qp->rts_mask = 0;
	} else if (id->peer) {
		qp->rtr_mask |= IBV_QP_DEST_QPN;
		qp->rts_mask |= IBV_QP_RNR_RETRY;
		qp->attr.dest_qp_num = peer->qp_num;
		qp->attr.rnr_retry = peer->rnr_retry;
	}
}

void fake_cm_route(__u32 handle, struct rdma_cm_alt_route *route)
{
	const struct fake_cm_id *id = &fake_cm_ids[handle % FAKE_MAX_IDS];

	*route = fake.route;
	route->src = id->src;
	route->dst = id->dst;
	if (!id->src.family || is_any(&id->src)) {
		route->node_guid = 0;
		route->port_num = 0;
		route->num_paths = 0;
	}
}

void fake_cm_fill(struct rdma_cm_alt_event *event)
{
	fake_cm_route(event->id, &event->route);
	fake_cm_qp_attr(event->id, &event->qp);
}

__u32 fake_cm_listener(const struct fake_cm_id *id)
{
	__u32 h;

	for (h = 1; h < FAKE_MAX_IDS; h++) {
		const struct fake_cm_id *other = &fake_cm_ids[h];

		if (fake_cm_alive(h) && other->state == CM_LISTEN && other->ps == id->ps &&
		    overlap(&other->src, &id->dst))
			return h;
	}
	return 0;
}

void fake_cm_ids_reset(void)
{
	memset(fake_cm_ids, 0, sizeof(fake_cm_ids));
	next_port = FIRST_FREE_PORT;
}
