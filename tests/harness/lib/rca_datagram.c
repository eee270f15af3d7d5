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

	await_addr(ctx, queue, id, ip, port);
	await_route(ctx, queue, id);
	return id;
}

struct pair get_datagram_listening(uint16_t ps, const char *ip, uint32_t backlog)
{
	int ctx = get_ctx();
	struct pair p = { .ctx = ctx, .lq = get_queue(ctx), .cq = get_queue(ctx) };

	p.listener = get_datagram(ctx, p.lq, ps, LISTENER);
	EXPECT_EQ(rca_bind(ctx, p.listener, ip, 0), 0);
	EXPECT_EQ(rca_listen(ctx, p.listener, backlog), 0);
	p.port = get_port(ctx, p.listener);
	return p;
}

void datagram_listen(struct pair *p, uint16_t ps, const char *ip, uint32_t backlog)
{
	*p = get_datagram_listening(ps, ip, backlog);
}

struct pair get_datagram_routed(const char *ip)
{
	struct pair p = get_datagram_listening(RDMA_PS_UDP, ip, 0);

	p.client = get_asker(p.ctx, p.cq, RDMA_PS_UDP, ip, p.port);
	return p;
}

struct pair get_datagram_requested(event_t *request)
{
	struct pair p = get_datagram_routed(THERE);

	pair_send_req(&p, request);
	return p;
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

struct pair get_datagram_connected(event_t *established)
{
	struct pair p = get_datagram_requested(NULL);

	EXPECT_EQ(datagram_accept(&p, 0), 0);
	EXPECT_EVENT_STATUS(p.cq, ESTABLISHED, p.client, 0, established);
	return p;
}

void expect_no_qp(const event_t *ev)
{
	static const struct ib_uverbs_ah_attr none;

	EXPECT_EQ(ev->qp_num, 0);
	EXPECT_EQ(ev->qkey, 0);
	EXPECT(!memcmp(&ev->ah_attr, &none, sizeof(none)));
}
