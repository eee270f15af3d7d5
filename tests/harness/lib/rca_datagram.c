// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "rca_datagram.h"

uint32_t get_datagram(int ctx, int queue, uint16_t ps, uint64_t cookie)
{
	uint32_t id;

	EXPECT_EQ(rca_create(ctx, queue, ps, IB_UVERBS_QPT_UD, cookie, &id), 0);
	return id;
}

uint32_t get_asker(int ctx, int queue, uint16_t ps, const char *ip, uint16_t port)
{
	uint32_t id = get_datagram(ctx, queue, ps, CLIENT);

	EXPECT_EQ(rca_resolve_addr(ctx, id, NULL, ip, port), 0);
	EXPECT_EVENT(queue, ADDR_RESOLVED, id);
	EXPECT_EQ(rca_resolve_route(ctx, id), 0);
	EXPECT_EVENT(queue, ROUTE_RESOLVED, id);
	return id;
}

void datagram_listen(struct pair *p, uint16_t ps, const char *ip, uint32_t backlog)
{
	p->ctx = get_ctx();
	p->lq = get_queue(p->ctx);
	p->cq = get_queue(p->ctx);
	p->listener = get_datagram(p->ctx, p->lq, ps, LISTENER);
	EXPECT_EQ(rca_bind(p->ctx, p->listener, ip, 0), 0);
	EXPECT_EQ(rca_listen(p->ctx, p->listener, backlog), 0);
	p->port = get_port(p->ctx, p->listener);
}

void datagram_route(struct pair *p, const char *ip)
{
	datagram_listen(p, RDMA_PS_UDP, ip, 0);
	p->client = get_asker(p->ctx, p->cq, RDMA_PS_UDP, ip, p->port);
}

void datagram_request(struct pair *p, event_t *request)
{
	event_t own;

	request = request ?: &own;
	datagram_route(p, THERE);
	EXPECT_EQ(rca_connect(p->ctx, p->client, NULL, 0), 0);
	EXPECT_EVENT_STATUS(p->lq, CONNECT_REQUEST, 0, 0, request);
	p->server = request->id;
}

int datagram_accept(const struct pair *p, uint32_t qkey)
{
	struct rdma_cm_alt_accept cmd = {
		.size = sizeof(cmd),
		.id = p->server,
		.cookie = SERVER,
		.param = { .qp_num = DATAGRAM_QP, .qkey = qkey },
	};

	return rca_call(p->ctx, RDMA_CM_ALT_ACCEPT, &cmd);
}

void datagram_connect(struct pair *p, event_t *established)
{
	datagram_request(p, NULL);
	EXPECT_EQ(datagram_accept(p, 0), 0);
	EXPECT_EVENT_STATUS(p->cq, ESTABLISHED, p->client, 0, established);
}
