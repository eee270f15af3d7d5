// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Datagram ids: service ID resolution, answered with a QP or refused, and its events.
 */
#include "rca_datagram.h"

TEST(port_spaces_take_datagrams_where_stock_does)
{
	int ctx = get_ctx();
	uint32_t id;

	get_datagram(ctx, -1, RDMA_PS_UDP, 0);
	get_datagram(ctx, -1, RDMA_PS_IPOIB, 0);
	get_datagram(ctx, -1, RDMA_PS_IB, 0);
	EXPECT_EQ(rca_create(ctx, -1, RDMA_PS_TCP, IB_UVERBS_QPT_UD, 0, &id), -EINVAL);
	for (int type = 0; type < 256; type++) {
		if (type == IB_UVERBS_QPT_UD)
			continue;
		EXPECT_EQ(rca_create(ctx, -1, RDMA_PS_UDP, type, 0, &id), -EINVAL);
		EXPECT_EQ(rca_create(ctx, -1, RDMA_PS_IPOIB, type, 0, &id), -EINVAL);
	}
}

TEST(request_tells_everything)
{
	event_t ev;
	struct pair p = get_datagram_requested(&ev);
	struct rdma_cm_alt_route route;

	EXPECT_EQ(ev.length, sizeof(ev));
	EXPECT_EQ(ev.cookie, LISTENER);
	EXPECT_EQ(ev.listen_id, p.listener);
	EXPECT(ev.id != p.listener && ev.id != p.client);
	/* The QP attributes are left to QP_ATTR, which fixes the queue key. */
	EXPECT_EQ(ev.flags, RDMA_CM_ALT_EVENT_F_ROUTE | RDMA_CM_ALT_EVENT_F_UD);
	expect_no_qp(&ev);
	EXPECT_EQ(ev.private_data_len, 180);
	EXPECT_EQ(ev.route.port_num, 1);
	EXPECT_EQ(ev.route.num_paths, 0);
	EXPECT(addr_is(&ev.route.src, THERE));
	EXPECT_EQ(addr_port(&ev.route.src), p.port);
	EXPECT(addr_is(&ev.route.dst, HERE) || addr_is(&ev.route.dst, THERE));
	EXPECT_EQ(addr_port(&ev.route.dst), get_port(p.ctx, p.client));
	EXPECT_EQ(rca_query(p.ctx, ev.id, &route), 0);
	EXPECT(!memcmp(&route, &ev.route, sizeof(route)));
}

static void check_established(const char *ip)
{
	struct pair p = get_datagram_routed(ip);
	struct rdma_cm_alt_route route;
	event_t ev;

	EXPECT_EQ(rca_query(p.ctx, p.client, &route), 0);
	pair_send_req(&p, &ev);
	EXPECT_EQ(datagram_accept(&p, 0), 0);
	EXPECT_EVENT_STATUS(p.cq, ESTABLISHED, p.client, 0, &ev);
	EXPECT_EQ(ev.cookie, CLIENT);
	EXPECT_EQ(ev.listen_id, 0);
	EXPECT_EQ(ev.flags, RDMA_CM_ALT_EVENT_F_UD | RDMA_CM_ALT_EVENT_F_ROUTE);
	EXPECT_EQ(ev.qp_num, DATAGRAM_QP);
	EXPECT_EQ(ev.qkey, UDP_QKEY);
	EXPECT_EQ(ev.private_data_len, 136);
	EXPECT_EQ(ev.ah_attr.is_global, 1);
	EXPECT_EQ(ev.ah_attr.port_num, route.port_num);
	EXPECT(!memcmp(ev.ah_attr.grh.dgid, route.dgid, 16));
	EXPECT(ev.ah_attr.grh.hop_limit > 0);
	/* The server gets no event. */
	expect_no_events(&p);
}

TEST(established_tells_everything)
{
	check_established(THERE);
}

TEST(established_over_ipv6)
{
	check_established(HERE6);
}

TEST(established_on_another_device)
{
	check_established(ELSEWHERE);
}

TEST(established_in_rdma_ps_ib)
{
	struct pair p = get_datagram_listening(RDMA_PS_IB, THERE, 0);
	event_t ev;

	p.client = get_asker(p.ctx, p.cq, RDMA_PS_IB, THERE, p.port);
	pair_send_req(&p, &ev);
	EXPECT_EQ(datagram_accept(&p, 0), 0);
	EXPECT_EVENT_STATUS(p.cq, ESTABLISHED, p.client, 0, &ev);
	EXPECT_EQ(ev.qkey, UDP_QKEY);
}

TEST(reject_is_status_2)
{
	struct pair p = get_datagram_requested(NULL);
	event_t ev;

	EXPECT_EQ(rca_reject(p.ctx, p.server, 27, NULL, 0), -EINVAL);
	EXPECT_EQ(rca_reject(p.ctx, p.server, 0, NULL, 0), 0);
	EXPECT_EVENT_STATUS(p.cq, UNREACHABLE, p.client, SIDR_REJECT, &ev);
	EXPECT_EQ(ev.flags, RDMA_CM_ALT_EVENT_F_UD | RDMA_CM_ALT_EVENT_F_ROUTE);
	expect_no_qp(&ev);
}

TEST(reject_reasons_make_no_difference)
{
	struct pair p = get_datagram_requested(NULL);

	EXPECT_EQ(rca_reject(p.ctx, p.server, 35, NULL, 0), 0);
	EXPECT_EVENT_STATUS(p.cq, UNREACHABLE, p.client, SIDR_REJECT, NULL);
}

TEST(nobody_listens_is_status_1)
{
	struct pair p = get_datagram_routed(THERE);

	EXPECT_EQ(rca_destroy(p.ctx, p.listener), 0);
	EXPECT_EQ(rca_connect(p.ctx, p.client, NULL, 0), 0);
	EXPECT_EVENT_STATUS(p.cq, UNREACHABLE, p.client, SIDR_UNSUPPORTED, NULL);
}

TEST(destroy_of_the_request_refuses_it)
{
	struct pair p = get_datagram_requested(NULL);

	EXPECT_EQ(rca_destroy(p.ctx, p.server), 0);
	EXPECT_EVENT_STATUS(p.cq, UNREACHABLE, p.client, SIDR_REJECT, NULL);
}

TEST(destroy_of_the_listener_refuses_what_nobody_read)
{
	struct pair p = get_datagram_routed(THERE);

	EXPECT_EQ(rca_connect(p.ctx, p.client, NULL, 0), 0);
	EXPECT(event_comes(p.lq, PATIENCE));
	EXPECT_EQ(rca_destroy(p.ctx, p.listener), 0);
	EXPECT_EVENT_STATUS(p.cq, UNREACHABLE, p.client, SIDR_REJECT, NULL);
}

TEST(destroy_while_the_request_waits)
{
	struct pair p = get_datagram_requested(NULL);

	EXPECT_EQ(rca_destroy(p.ctx, p.client), 0);
	/* The server is not notified. */
	EXPECT_EQ(datagram_accept(&p, 0), 0);
	expect_no_events(&p);
}

TEST(full_backlog_refuses)
{
	struct pair p = get_datagram_listening(RDMA_PS_UDP, THERE, 1);
	uint32_t one, two;

	one = get_asker(p.ctx, p.cq, RDMA_PS_UDP, THERE, p.port);
	two = get_asker(p.ctx, p.cq, RDMA_PS_UDP, THERE, p.port);
	EXPECT_EQ(rca_connect(p.ctx, one, NULL, 0), 0);
	EXPECT(event_comes(p.lq, PATIENCE));
	EXPECT_EQ(rca_connect(p.ctx, two, NULL, 0), 0);
	EXPECT_EVENT_STATUS(p.cq, UNREACHABLE, two, SIDR_REJECT, NULL);
	/* Reading the first request frees its place in the backlog. */
	EXPECT_EVENT(p.lq, CONNECT_REQUEST, 0);
	two = get_asker(p.ctx, p.cq, RDMA_PS_UDP, THERE, p.port);
	EXPECT_EQ(rca_connect(p.ctx, two, NULL, 0), 0);
	EXPECT_EVENT(p.lq, CONNECT_REQUEST, 0);
}

TEST(connection_request_for_a_datagram_port)
{
	struct pair p;
	uint32_t id;

	/* In RDMA_PS_IB connections and datagrams of a port have the same service ID. */
	p = get_datagram_listening(RDMA_PS_IB, THERE, 0);
	EXPECT_EQ(rca_create(p.ctx, p.cq, RDMA_PS_IB, IB_UVERBS_QPT_RC, CLIENT, &id), 0);
	await_addr(p.ctx, p.cq, id, THERE, p.port);
	await_route(p.ctx, p.cq, id);
	EXPECT_EQ(rca_connect(p.ctx, id, NULL, 0), 0);
	EXPECT_EVENT_STATUS(p.cq, REJECTED, id, 28, NULL);
	EXPECT(!event_waits(p.lq));
}

TEST(ports_of_datagrams_are_their_own)
{
	int ctx = get_ctx();
	uint16_t port = get_port(ctx, get_bound(ctx, -1, HERE, 0));
	uint32_t id = get_datagram(ctx, -1, RDMA_PS_UDP, 0);
	uint32_t other = get_datagram(ctx, -1, RDMA_PS_UDP, 0);

	EXPECT_EQ(rca_bind(ctx, id, HERE, port), 0);
	EXPECT_EQ(rca_listen(ctx, id, 0), 0);
	EXPECT_EQ(rca_bind(ctx, other, HERE, port), -EADDRINUSE);
}

TEST(numbers_beyond_24_bits_are_einval)
{
	struct rdma_cm_alt_accept cmd = { .size = sizeof(cmd), .param.qp_num = 1 << 24 };
	struct pair p = get_datagram_requested(NULL);

	cmd.id = p.server;
	EXPECT_EQ(rca_call(p.ctx, RDMA_CM_ALT_ACCEPT, &cmd), -EINVAL);
	EXPECT_EQ(datagram_accept(&p, 0), 0);
	EXPECT_EVENT(p.cq, ESTABLISHED, p.client);
}

/* RDMA_PS_IPOIB takes addresses of IPoIB interfaces only. */
TEST(ipoib_needs_an_ipoib_interface)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_datagram(ctx, queue, RDMA_PS_IPOIB, 0);

	EXPECT_EQ(rca_bind(ctx, id, HERE, 0), -EINVAL);
	EXPECT_EQ(rca_resolve_addr(ctx, id, HERE, THERE, 1), -EINVAL);
	EXPECT_EQ(rca_resolve_addr(ctx, id, NULL, THERE, 1), 0);
	EXPECT_EVENT_STATUS(queue, ADDR_ERROR, id, -EINVAL, NULL);
	id = get_datagram(ctx, queue, RDMA_PS_IPOIB, 0);
	EXPECT_EQ(rca_bind(ctx, id, "0.0.0.0", 0), 0);
	EXPECT_EQ(rca_listen(ctx, id, 0), 0);
}

TEST(many_requests_of_one_listener)
{
	enum { MANY = 30 };
	bool seen[MANY] = {};
	struct pair p = get_datagram_listening(RDMA_PS_UDP, HERE, 0);
	uint32_t clients[MANY];
	event_t ev;

	for (int i = 0; i < MANY; i++)
		clients[i] = get_asker(p.ctx, p.cq, RDMA_PS_UDP, HERE, p.port);
	for (int i = 0; i < MANY; i++) {
		uint8_t number = i;

		EXPECT_EQ(rca_connect(p.ctx, clients[i], &number, 1), 0);
	}
	for (int i = 0; i < MANY; i++) {
		EXPECT_EVENT_STATUS(p.lq, CONNECT_REQUEST, 0, 0, &ev);
		EXPECT_EQ(rca_accept(p.ctx, ev.id, SERVER, ev.private_data, 1), 0);
	}
	for (int i = 0; i < MANY; i++) {
		EXPECT_EVENT_STATUS(p.cq, ESTABLISHED, 0, 0, &ev);
		EXPECT(ev.private_data[0] < MANY && !seen[ev.private_data[0]]);
		EXPECT_EQ(ev.id, clients[ev.private_data[0]]);
		seen[ev.private_data[0]] = true;
	}
}

KTAP_MAIN
