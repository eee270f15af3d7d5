// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* What an id waits for, by state. */
#include <errno.h>
#include <string.h>

#include "tool/core/tool.h"
#include "tool/explain/advice_table.h"

/* @failure: the event of a timeout; NULL: the state does not wait for an answer. */
static const struct {
	const char *states, *what, *failure;
} waits[] = {
	{ "addr-query",
	  "the neighbour's answer, which link address it has (ARP, neighbour discovery)",
	  "ADDR_ERROR" },
	{ "route-query", "the subnet manager's answer, the path record", "ROUTE_ERROR" },
	{ "req-sent", "the peer's reply to the connect request", "UNREACHABLE" },
	{ "req-wait", "the time to repeat the connect request, which got no answer that counts",
	  "UNREACHABLE" },
	{ "rep-sent", "the client's ready-to-use, its answer to the accept", "UNREACHABLE" },
	{ "sidr-sent", "the peer's answer, which QP serves that port", "UNREACHABLE" },
	{ "dreq-sent", "the peer's answer to the disconnect request", "DISCONNECTED" },
	{ "idle", "its program: rdma_bind_addr() or rdma_resolve_addr()", NULL },
	{ "bound", "its program: rdma_listen() or rdma_resolve_addr()", NULL },
	{ "addr-resolved", "its program: rdma_resolve_route()", NULL },
	{ "route-resolved", "its program: rdma_connect()", NULL },
	{ "rep-rcvd", "its program: rdma_establish()", NULL },
	{ "req-rcvd sidr-rcvd", "its program: rdma_accept() or rdma_reject()", NULL },
	{ "listen", "requests of clients", NULL },
	{ "disconnected closed failed removed", "its program: rdma_destroy_id()", NULL },
};

const char *waits_for(const char *state)
{
	for (size_t i = 0; state && i < COUNT(waits); i++)
		if (advice_is_among(state, waits[i].states))
			return waits[i].what;
	return NULL;
}

const struct line *waits_advice(const char *state)
{
	for (size_t i = 0; state && i < COUNT(waits); i++)
		if (waits[i].failure && advice_is_among(state, waits[i].states))
			return advice_line(waits[i].failure, state, -ETIMEDOUT);
	return NULL;
}
