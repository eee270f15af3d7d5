// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Ids for XRC QPs. The software devices have no such QPs, but what the
 * connection manager does for them needs none.
 */
#include "rca_test.h"

#define INI IB_UVERBS_QPT_XRC_INI
#define TGT IB_UVERBS_QPT_XRC_TGT

static const uint16_t spaces[] = { RDMA_PS_TCP, RDMA_PS_IB };
static const uint8_t types[] = { INI, TGT };

static uint32_t get_typed(int ctx, int queue, uint16_t ps, uint8_t type, uint64_t cookie)
{
	uint32_t id;

	EXPECT_EQ(rca_create(ctx, queue, ps, type, cookie, &id), 0);
	return id;
}

static uint32_t get_typed_client(int ctx, int queue, uint8_t type, uint16_t port)
{
	uint32_t id = get_typed(ctx, queue, RDMA_PS_IB, type, CLIENT);

	await_addr(ctx, queue, id, THERE, port);
	await_route(ctx, queue, id);
	return id;
}

static void listen_typed(struct pair *p, uint8_t type)
{
	p->ctx = get_ctx();
	p->lq = get_queue(p->ctx);
	p->cq = get_queue(p->ctx);
	p->listener = get_typed(p->ctx, p->lq, RDMA_PS_IB, type, LISTENER);
	EXPECT_EQ(rca_bind(p->ctx, p->listener, THERE, 0), 0);
	EXPECT_EQ(rca_listen(p->ctx, p->listener, 0), 0);
	p->port = get_port(p->ctx, p->listener);
}

TEST(both_types_can_be_made_bound_and_resolved)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	struct ib_uverbs_qp_attr attr;

	for (int i = 0; i < 4; i++) {
		uint32_t id = get_typed(ctx, queue, spaces[i / 2], types[i % 2], 0);

		EXPECT_EQ(rca_bind(ctx, id, HERE, 0), 0);
		EXPECT_EQ(rca_qp_attr(ctx, id, 1, &attr), 0);
		await_addr(ctx, queue, id, THERE, 1);
		await_route(ctx, queue, id);
	}
}

TEST(target_cannot_ask)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_typed_client(ctx, queue, TGT, 7998);

	/* No message says that a target asks. */
	EXPECT_EQ(rca_connect(ctx, id, NULL, 0), -EINVAL);
	EXPECT(!event_waits(queue));
	EXPECT_EQ(rca_destroy(ctx, id), 0);
}

TEST(initiator_connects_to_a_target)
{
	struct ib_uverbs_qp_attr attr;
	struct pair p;
	event_t ev;

	listen_typed(&p, TGT);
	p.client = get_typed_client(p.ctx, p.cq, INI, p.port);
	EXPECT_EQ(rca_connect(p.ctx, p.client, "xrc", 3), 0);
	EXPECT_EVENT_STATUS(p.lq, CONNECT_REQUEST, 0, 0, &ev);
	EXPECT(!memcmp(ev.private_data, "xrc", 3));
	p.server = ev.id;
	EXPECT_EQ(rca_accept(p.ctx, p.server, SERVER, NULL, 0), 0);
	EXPECT_EVENT_STATUS(p.cq, CONNECT_RESPONSE, p.client, 0, &ev);
	EXPECT(ev.qp.rtr_mask && ev.qp.rts_mask);
	EXPECT_EQ(rca_qp_attr(p.ctx, p.client, 3, &attr), 0);
	pair_send_rtu(&p);
	EXPECT_EQ(rca_qp_attr(p.ctx, p.server, 2, &attr), 0);
	EXPECT_EQ(rca_disconnect(p.ctx, p.server), 0);
	EXPECT_EVENT(p.cq, DISCONNECTED, p.client);
	EXPECT_EVENT(p.lq, DISCONNECTED, p.server);
}

/* Its QP may serve others, as with stock; an initiator's may not. */
TEST(target_goes_without_a_word)
{
	for (int i = 0; i < 2; i++) {
		struct pair p;
		event_t ev;

		listen_typed(&p, TGT);
		p.client = get_typed_client(p.ctx, p.cq, INI, p.port);
		pair_send_req(&p, &ev);
		pair_send_rep(&p);
		EXPECT_EQ(rca_establish(p.ctx, p.client), 0);
		EXPECT_EVENT(p.lq, ESTABLISHED, ev.id);
		EXPECT_EQ(rca_destroy(p.ctx, i ? ev.id : p.client), 0);
		if (i)
			EXPECT(!event_comes(p.cq, 1));
		else
			EXPECT_EVENT(p.lq, DISCONNECTED, ev.id);
	}
}

static void check_rejected(uint8_t client, uint8_t listener)
{
	struct pair p;

	listen_typed(&p, listener);
	p.client = get_typed_client(p.ctx, p.cq, client, p.port);
	EXPECT_EQ(rca_connect(p.ctx, p.client, NULL, 0), 0);
	EXPECT_EVENT_STATUS(p.cq, REJECTED, p.client, 28, NULL);
	EXPECT(!event_waits(p.lq));
}

TEST(types_that_do_not_fit_are_rejected)
{
	check_rejected(INI, INI);
	check_rejected(INI, IB_UVERBS_QPT_RC);
	check_rejected(IB_UVERBS_QPT_RC, TGT);
	check_rejected(IB_UVERBS_QPT_RC, INI);
	check_rejected(IB_UVERBS_QPT_UC, IB_UVERBS_QPT_RC);
}

TEST(unreliable_connection_connects)
{
	struct pair p;
	event_t ev;

	listen_typed(&p, IB_UVERBS_QPT_UC);
	p.client = get_typed_client(p.ctx, p.cq, IB_UVERBS_QPT_UC, p.port);
	pair_send_req(&p, &ev);
	pair_send_rep(&p);
	EXPECT_EQ(rca_establish(p.ctx, p.client), 0);
	EXPECT_EVENT(p.lq, ESTABLISHED, ev.id);
}

KTAP_MAIN
