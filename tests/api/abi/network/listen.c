// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Listening: which listener gets a request, the backlog, and sharing a device with stock. */
#include "rca_test.h"
#include "stock_cm.h"

#define PORT 7471

TEST(unbound_id_listens_everywhere_on_a_free_port)
{
	struct rdma_cm_alt_listen cmd = { .size = sizeof(cmd) };
	int ctx = get_ctx();

	cmd.id = get_id(ctx, -1, 0);
	EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_LISTEN, &cmd), 0);
	EXPECT(addr_is(&cmd.out_route.src, "0.0.0.0"));
	EXPECT(addr_port(&cmd.out_route.src) != 0);
	EXPECT_EQ(cmd.out_route.node_guid, 0);
}

TEST(bound_id_listens_on_its_device)
{
	struct rdma_cm_alt_listen cmd = { .size = sizeof(cmd) };
	int ctx = get_ctx();

	cmd.id = get_bound(ctx, -1, HERE, PORT);
	EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_LISTEN, &cmd), 0);
	EXPECT(addr_is(&cmd.out_route.src, HERE));
	EXPECT_EQ(addr_port(&cmd.out_route.src), PORT);
	EXPECT(cmd.out_route.node_guid != 0);
}

TEST(listen_twice_is_einval)
{
	int ctx = get_ctx();
	uint32_t id = get_bound(ctx, -1, HERE, 0);

	EXPECT_EQ(rca_listen(ctx, id, 5), 0);
	EXPECT_EQ(rca_listen(ctx, id, 5), -EINVAL);
}

TEST(any_backlog_is_taken)
{
	static const uint32_t backlogs[] = { 0, 1, 1024, 1025, 0x7fffffff, 0xffffffff };
	int ctx = get_ctx();

	for (int i = 0; i < 6; i++)
		EXPECT_EQ(rca_listen(ctx, get_id(ctx, -1, 0), backlogs[i]), 0);
}

TEST(listeners_on_addresses_of_one_device_share_a_port)
{
	int ctx = get_ctx(), cq = get_queue(ctx);
	int q1 = get_queue(ctx), q2 = get_queue(ctx);
	uint32_t one = get_bound(ctx, q1, HERE, PORT), two = get_bound(ctx, q2, THERE, PORT);
	uint32_t to_one, to_two;
	event_t ev;

	EXPECT_EQ(rca_listen(ctx, one, 0), 0);
	EXPECT_EQ(rca_listen(ctx, two, 0), 0);
	to_one = get_client(ctx, cq, HERE, PORT, 0);
	to_two = get_client(ctx, cq, THERE, PORT, 0);
	EXPECT_EQ(rca_connect(ctx, to_two, NULL, 0), 0);
	EXPECT_EVENT_STATUS(q2, CONNECT_REQUEST, 0, 0, &ev);
	EXPECT_EQ(ev.listen_id, two);
	EXPECT(addr_is(&ev.route.src, THERE));
	EXPECT_EQ(rca_connect(ctx, to_one, NULL, 0), 0);
	EXPECT_EVENT_STATUS(q1, CONNECT_REQUEST, 0, 0, &ev);
	EXPECT_EQ(ev.listen_id, one);
	EXPECT(addr_is(&ev.route.src, HERE));
	EXPECT(!event_waits(q2));
}

static void check_wildcard(const char *any, const char *ip)
{
	struct pair p = get_listening(any);
	struct rdma_cm_alt_route route;
	event_t ev;

	p.client = get_client(p.ctx, p.cq, ip, p.port, CLIENT);
	pair_send_req(&p, &ev);
	/* The new id has the address that the request was sent to. */
	EXPECT(addr_is(&ev.route.src, ip));
	EXPECT_EQ(addr_port(&ev.route.src), p.port);
	EXPECT_EQ(rca_query(p.ctx, p.client, &route), 0);
	EXPECT(!memcmp(&ev.route.dst, &route.src, sizeof(route.src)));
	EXPECT(ev.route.node_guid != 0);
}

TEST(wildcard_gets_every_address)
{
	check_wildcard("0.0.0.0", HERE);
	check_wildcard("0.0.0.0", THERE);
}

TEST(loopback_listener_is_a_wildcard)
{
	check_wildcard("127.0.0.1", HERE);
}

TEST(ipv6_wildcard_gets_both_families)
{
	check_wildcard("::", HERE6);
	check_wildcard("::", HERE);
}

TEST(wildcard_of_one_family_rejects_the_other)
{
	int ctx = get_ctx(), lq = get_queue(ctx), cq = get_queue(ctx), on = 1;
	uint32_t listener = get_id(ctx, lq, 0), client;

	EXPECT_EQ(rca_set_option(ctx, listener, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &on,
				 sizeof(on)), 0);
	EXPECT_EQ(rca_bind(ctx, listener, "::", PORT), 0);
	EXPECT_EQ(rca_listen(ctx, listener, 0), 0);
	client = get_client(ctx, cq, HERE, PORT, 0);
	EXPECT_EQ(rca_connect(ctx, client, NULL, 0), 0);
	EXPECT_EVENT_STATUS(cq, REJECTED, client, 28, NULL);
	EXPECT(!event_waits(lq));
}

TEST(nobody_listens_is_reason_8)
{
	int ctx = get_ctx(), cq = get_queue(ctx);
	uint32_t client = get_client(ctx, cq, HERE, 7999, 0);

	EXPECT_EQ(rca_connect(ctx, client, NULL, 0), 0);
	EXPECT_EVENT_STATUS(cq, REJECTED, client, 8, NULL);
}

TEST(listener_on_another_address_is_reason_28)
{
	struct pair p = get_listening(HERE);
	uint32_t client = get_client(p.ctx, p.cq, THERE, p.port, 0);

	EXPECT_EQ(rca_connect(p.ctx, client, NULL, 0), 0);
	EXPECT_EVENT_STATUS(p.cq, REJECTED, client, 28, NULL);
	EXPECT(!event_waits(p.lq));
}

TEST(request_for_another_port_space_finds_nobody)
{
	int ctx = get_ctx(), lq = get_queue(ctx), cq = get_queue(ctx);
	uint32_t listener, client;

	EXPECT_EQ(rca_create(ctx, lq, RDMA_PS_IB, IB_UVERBS_QPT_RC, 0, &listener), 0);
	EXPECT_EQ(rca_bind(ctx, listener, HERE, PORT), 0);
	EXPECT_EQ(rca_listen(ctx, listener, 0), 0);
	client = get_client(ctx, cq, HERE, PORT, 0);
	EXPECT_EQ(rca_connect(ctx, client, NULL, 0), 0);
	EXPECT_EVENT_STATUS(cq, REJECTED, client, 8, NULL);
}

TEST(port_space_ib_connects)
{
	int ctx = get_ctx(), lq = get_queue(ctx), cq = get_queue(ctx);
	uint32_t listener, client;

	EXPECT_EQ(rca_create(ctx, lq, RDMA_PS_IB, IB_UVERBS_QPT_RC, 0, &listener), 0);
	EXPECT_EQ(rca_bind(ctx, listener, HERE, PORT), 0);
	EXPECT_EQ(rca_listen(ctx, listener, 0), 0);
	EXPECT_EQ(rca_create(ctx, cq, RDMA_PS_IB, IB_UVERBS_QPT_RC, 0, &client), 0);
	await_addr(ctx, cq, client, HERE, PORT);
	await_route(ctx, cq, client);
	EXPECT_EQ(rca_connect(ctx, client, NULL, 0), 0);
	EXPECT_EVENT(lq, CONNECT_REQUEST, 0);
}

/* Number of connection requests received so far. */
static unsigned long requests(void)
{
	FILE *file = fopen("/sys/class/infiniband/rxe0/ports/1/cm_rx_msgs/req", "re");
	unsigned long count;

	EXPECT(file && fscanf(file, "%lu", &count) == 1);
	fclose(file);
	return count;
}

TEST(requests_beyond_the_backlog_come_later)
{
	int ctx = get_ctx(), lq = get_queue(ctx), cq = get_queue(ctx);
	uint32_t listener = get_bound(ctx, lq, HERE, PORT);
	unsigned long before = requests();
	uint32_t clients[2];
	event_t ev;

	/* The peer sends the request again after 4.3 s. */
	EXPECT_EQ(rca_listen(ctx, listener, 1), 0);
	for (int i = 0; i < 2; i++) {
		clients[i] = get_client(ctx, cq, HERE, PORT, i);
		EXPECT_EQ(rca_connect(ctx, clients[i], NULL, 0), 0);
	}
	/* Both requests must have been received and handled before the backlog has room. */
	while (requests() < before + 2)
		usleep(10000);
	usleep(500000);
	EXPECT_EVENT_STATUS(lq, CONNECT_REQUEST, 0, 0, &ev);
	EXPECT(!event_waits(lq));
	EXPECT(!event_waits(cq));
	EXPECT_EVENT_STATUS(lq, CONNECT_REQUEST, 0, 0, &ev);
	EXPECT_EQ(rca_accept(ctx, ev.id, 0, NULL, 0), 0);
	EXPECT_EVENT(cq, CONNECT_RESPONSE, 0);
}

TEST(requests_that_were_read_do_not_count)
{
	int ctx = get_ctx(), lq = get_queue(ctx), cq = get_queue(ctx);
	uint32_t listener = get_bound(ctx, lq, HERE, PORT);

	EXPECT_EQ(rca_listen(ctx, listener, 1), 0);
	for (int i = 0; i < 5; i++) {
		EXPECT_EQ(rca_connect(ctx, get_client(ctx, cq, HERE, PORT, 0), NULL, 0), 0);
		EXPECT(event_comes(lq, PATIENCE));
		EXPECT_EVENT(lq, CONNECT_REQUEST, 0);
	}
}

TEST(requests_nobody_read_are_rejected_with_their_listener)
{
	int ctx = get_ctx(), lq = get_queue(ctx), cq = get_queue(ctx);
	uint32_t listener = get_bound(ctx, lq, HERE, PORT), client;

	EXPECT_EQ(rca_listen(ctx, listener, 0), 0);
	client = get_client(ctx, cq, HERE, PORT, 0);
	EXPECT_EQ(rca_connect(ctx, client, NULL, 0), 0);
	EXPECT(event_comes(lq, PATIENCE));
	EXPECT_EQ(rca_destroy(ctx, listener), 0);
	EXPECT(!event_waits(lq));
	EXPECT_EVENT_STATUS(cq, REJECTED, client, 28, NULL);
}

TEST(request_that_was_read_outlives_its_listener)
{
	struct pair p = get_requested(NULL);

	EXPECT_EQ(rca_destroy(p.ctx, p.listener), 0);
	pair_send_rep(&p);
	pair_send_rtu(&p);
}

TEST(port_may_be_listened_on_again_at_once)
{
	int ctx = get_ctx();

	for (int i = 0; i < 20; i++) {
		uint32_t id = get_bound(ctx, -1, i % 2 ? HERE : "0.0.0.0", PORT);

		EXPECT_EQ(rca_listen(ctx, id, 0), 0);
		EXPECT_EQ(rca_destroy(ctx, id), 0);
	}
}

/* An id of the stock rdma_cm. */
static uint32_t stock_bound(int fd, uint16_t port)
{
	uint32_t id = stock_id(fd);

	EXPECT_EQ(stock_bind(fd, id, HERE, port), 0);
	return id;
}

TEST(port_that_the_stock_stack_listens_on_is_eaddrinuse)
{
	int ctx = get_ctx(), fd = stock_open();
	uint32_t id = get_bound(ctx, -1, HERE, PORT);

	EXPECT_EQ(stock_listen(fd, stock_bound(fd, PORT)), 0);
	EXPECT_EQ(rca_listen(ctx, id, 0), -EADDRINUSE);
	EXPECT_EQ(rca_listen(ctx, get_bound(ctx, -1, "0.0.0.0", PORT + 1), 0), 0);
	/* The failed call changed nothing. */
	MUST(close(fd));
	EXPECT_EQ(rca_listen(ctx, id, 0), 0);
}

TEST(stock_stack_cannot_have_our_port)
{
	int ctx = get_ctx(), fd = stock_open();
	uint32_t id = get_bound(ctx, -1, HERE, PORT), theirs = stock_bound(fd, PORT);

	EXPECT_EQ(rca_listen(ctx, id, 0), 0);
	EXPECT(stock_listen(fd, theirs) < 0);
	EXPECT_EQ(rca_destroy(ctx, id), 0);
	EXPECT_EQ(stock_listen(fd, stock_bound(fd, PORT + 1)), 0);
}

KTAP_MAIN
