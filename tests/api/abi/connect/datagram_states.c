// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Datagram ids: queue keys, the attributes of their QP, and ids that end while they are answered.
 * The operations in each state are in id/states.c.
 */
#include "rca_datagram.h"

TEST(queue_key_of_accept)
{
	struct pair p = get_datagram_requested(NULL);
	struct ib_uverbs_qp_attr attr;
	event_t ev;

	EXPECT_EQ(datagram_accept(&p, OTHER_QKEY), 0);
	EXPECT_EVENT_STATUS(p.cq, ESTABLISHED, p.client, 0, &ev);
	EXPECT_EQ(ev.qkey, OTHER_QKEY);
	/* Both ids have this key now. */
	EXPECT_EQ(rca_qp_attr(p.ctx, p.client, 1, &attr), 0);
	EXPECT_EQ(attr.qkey, OTHER_QKEY);
	EXPECT_EQ(rca_qp_attr(p.ctx, p.server, 1, &attr), 0);
	EXPECT_EQ(attr.qkey, OTHER_QKEY);
}

TEST(queue_key_that_does_not_fit_is_an_address_error)
{
	struct pair p = get_datagram_requested(NULL);
	struct ib_uverbs_qp_attr attr;
	event_t ev;

	/* This fixes another key for the client. */
	EXPECT_EQ(rca_qp_attr(p.ctx, p.client, 1, &attr), 0);
	EXPECT_EQ(datagram_accept(&p, OTHER_QKEY), 0);
	EXPECT_EVENT_STATUS(p.cq, ADDR_ERROR, p.client, -EINVAL, &ev);
	expect_no_qp(&ev);
	EXPECT_EQ(rca_connect(p.ctx, p.client, NULL, 0), -EINVAL);
	EXPECT_EQ(rca_disconnect(p.ctx, p.client), 0);
}

TEST(accept_with_a_second_queue_key_is_einval)
{
	struct pair p = get_datagram_requested(NULL);
	struct ib_uverbs_qp_attr attr;
	event_t ev;

	EXPECT_EQ(rca_qp_attr(p.ctx, p.server, 1, &attr), 0);
	EXPECT_EQ(datagram_accept(&p, OTHER_QKEY), -EINVAL);
	EXPECT_EQ(datagram_accept(&p, UDP_QKEY), 0);
	EXPECT_EVENT_STATUS(p.cq, ESTABLISHED, p.client, 0, &ev);
	EXPECT_EQ(ev.qkey, UDP_QKEY);
}

/* The attributes are the same for all three transitions, in every state with a device. */
static void check_attr(const struct pair *p, uint32_t id)
{
	struct ib_uverbs_qp_attr attr;

	for (uint32_t state = 1; state <= 3; state++) {
		EXPECT_EQ(rca_qp_attr(p->ctx, id, state, &attr), 0);
		EXPECT_EQ(attr.qp_attr_mask, QP_INIT);
		EXPECT_EQ(attr.qp_state, state);
		EXPECT_EQ(attr.qkey, UDP_QKEY);
		EXPECT_EQ(attr.port_num, 1);
		EXPECT_EQ(attr.pkey_index, 0);
	}
	EXPECT_EQ(rca_qp_attr(p->ctx, id, 0, &attr), -EINVAL);
	EXPECT_EQ(rca_qp_attr(p->ctx, id, 4, &attr), -EINVAL);
}

TEST(qp_attributes_do_not_depend_on_the_state)
{
	struct pair p = get_datagram_routed(THERE);
	uint32_t id = get_datagram(p.ctx, p.cq, RDMA_PS_UDP, 0);
	struct ib_uverbs_qp_attr attr;

	EXPECT_EQ(rca_qp_attr(p.ctx, id, 1, &attr), -EINVAL);
	EXPECT_EQ(rca_bind(p.ctx, id, HERE, 0), 0);
	check_attr(&p, id);
	check_attr(&p, p.listener);
	check_attr(&p, p.client);
	p = get_datagram_requested(NULL);
	check_attr(&p, p.server);
	check_attr(&p, p.client);
	EXPECT_EQ(datagram_accept(&p, 0), 0);
	EXPECT_EVENT(p.cq, ESTABLISHED, p.client);
	check_attr(&p, p.server);
	check_attr(&p, p.client);
}

/* Asking for the queue key by QP_ATTR fixes it, so events do not have it. */
TEST(resolved_events_leave_the_attributes_to_be_asked_for)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_datagram(ctx, queue, RDMA_PS_UDP, 0);
	event_t ev;

	EXPECT_EQ(rca_resolve_addr(ctx, id, NULL, THERE, 1), 0);
	EXPECT_EVENT_STATUS(queue, ADDR_RESOLVED, id, 0, &ev);
	EXPECT_EQ(ev.flags, RDMA_CM_ALT_EVENT_F_ROUTE);
	EXPECT_EQ(ev.qp.init_mask, 0);
	EXPECT_EQ(ev.qp.attr.qkey, 0);
	EXPECT_EQ(rca_resolve_route(ctx, id), 0);
	EXPECT_EVENT_STATUS(queue, ROUTE_RESOLVED, id, 0, &ev);
	EXPECT_EQ(ev.flags, RDMA_CM_ALT_EVENT_F_ROUTE);
	EXPECT_EQ(ev.qp.attr.qkey, 0);
}

struct answerer {
	struct pair *pair;
	int stop;
	int requests;
};

/* Answers requests in four ways, in turn. */
static void *answer_requests(void *arg)
{
	struct answerer *answerer = arg;
	struct pair p = *answerer->pair;
	event_t ev;

	while (!__atomic_load_n(&answerer->stop, __ATOMIC_SEQ_CST)) {
		if (!event_comes(p.lq, 1))
			continue;
		get_event(p.lq, &ev);
		EXPECT_EQ(ev.type, RDMA_CM_ALT_EVENT_CONNECT_REQUEST);
		p.server = ev.id;
		switch (answerer->requests++ % 4) {
		case 0:
			EXPECT_EQ(datagram_accept(&p, 0), 0);
			break;
		case 1:
			EXPECT_EQ(rca_reject(p.ctx, p.server, 0, NULL, 0), 0);
			break;
		case 2:
			EXPECT_EQ(datagram_accept(&p, 0), 0);
			EXPECT_EQ(rca_destroy(p.ctx, p.server), 0);
			break;
		default:
			EXPECT_EQ(rca_destroy(p.ctx, p.server), 0);
		}
	}
	return NULL;
}

TEST(ids_end_while_their_answers_come)
{
	enum { ROUNDS = 120 };
	struct answerer answerer = {};
	pthread_t thread;
	struct pair p;
	event_t ev;

	ktap_timeout(600);
	p = get_datagram_listening(RDMA_PS_UDP, THERE, 0);
	answerer.pair = &p;
	EXPECT_EQ(pthread_create(&thread, NULL, answer_requests, &answerer), 0);
	for (int i = 0; i < ROUNDS; i++) {
		p.client = get_asker(p.ctx, p.cq, RDMA_PS_UDP, THERE, p.port);
		EXPECT_EQ(rca_connect(p.ctx, p.client, NULL, 0), 0);
		usleep(i % 12 * 250);
		EXPECT_EQ(rca_destroy(p.ctx, p.client), 0);
		/* A destroyed id has no more events. */
		EXPECT(!event_waits(p.cq));
	}
	/* The answer to one more request shows that the requests before it have arrived. */
	p.client = get_asker(p.ctx, p.cq, RDMA_PS_UDP, THERE, p.port);
	EXPECT_EQ(rca_connect(p.ctx, p.client, NULL, 0), 0);
	get_event(p.cq, &ev);
	EXPECT(ev.type == RDMA_CM_ALT_EVENT_ESTABLISHED ||
	       (ev.type == RDMA_CM_ALT_EVENT_UNREACHABLE && ev.status == SIDR_REJECT));
	__atomic_store_n(&answerer.stop, 1, __ATOMIC_SEQ_CST);
	EXPECT_EQ(pthread_join(thread, NULL), 0);
	EXPECT(answerer.requests > 0);
}

KTAP_MAIN
