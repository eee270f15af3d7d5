// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Setting up a connection: request, reply, reject, and their parameters. */
#include "limits.h"
#include "rca_test.h"

/* A CONNECT of the client of a pair; tests change members. */
static struct rdma_cm_alt_connect connect_cmd(const struct pair *p)
{
	return (struct rdma_cm_alt_connect) {
		.size = sizeof(struct rdma_cm_alt_connect),
		.pipe.id = p->client,
		.param = {
			.qp_num = fresh_qp_num(),
			.responder_resources = 5,
			.initiator_depth = 3,
			.flow_control = 1,
			.retry_count = 6,
			.rnr_retry_count = 4,
			.srq = 1,
		},
	};
}

static struct rdma_cm_alt_accept accept_cmd(const struct pair *p)
{
	return (struct rdma_cm_alt_accept) {
		.size = sizeof(struct rdma_cm_alt_accept),
		.id = p->server,
		.cookie = SERVER,
		.param = {
			.qp_num = fresh_qp_num(),
			.responder_resources = 2,
			.initiator_depth = 1,
			.flow_control = 1,
			.rnr_retry_count = 5,
			.srq = 1,
		},
	};
}

TEST(connect_completes)
{
	struct pair p = get_connected();

	expect_no_events(&p);
}

static void check_family(const char *ip)
{
	struct pair p = get_routed(ip);
	event_t request;

	pair_send_req(&p, &request);
	EXPECT(addr_is(&request.route.src, ip));
	EXPECT_EQ(addr_port(&request.route.src), p.port);
	pair_send_rep(&p);
	pair_send_rtu(&p);
}

TEST(connect_completes_over_ipv6)
{
	check_family(HERE6);
}

TEST(connect_completes_on_another_device)
{
	check_family(ELSEWHERE);
}

TEST(request_tells_everything)
{
	struct pair p = get_routed(HERE);
	struct rdma_cm_alt_connect cmd = connect_cmd(&p);
	struct rdma_cm_alt_route route;
	event_t ev;

	EXPECT_EQ(rca_call(p.ctx, RDMA_CM_ALT_CONNECT, &cmd), 0);
	EXPECT_EQ(cmd.out_id, p.client);
	EXPECT_EQ(cmd.out_queue_fd, -1);
	EXPECT_EVENT_STATUS(p.lq, CONNECT_REQUEST, 0, 0, &ev);
	EXPECT_EQ(ev.length, sizeof(ev));
	EXPECT_EQ(ev.cookie, LISTENER);
	EXPECT_EQ(ev.listen_id, p.listener);
	EXPECT(ev.id != p.listener && ev.id != p.client);
	EXPECT_EQ(ev.flags & ~RDMA_CM_ALT_EVENT_F_UD, RDMA_CM_ALT_EVENT_F_ROUTE |
		  RDMA_CM_ALT_EVENT_F_CONN | RDMA_CM_ALT_EVENT_F_ECE | RDMA_CM_ALT_EVENT_F_QP);
	EXPECT_EQ(ev.qp_num, cmd.param.qp_num);
	/* The responder resources of one end are the initiator depth of the other. */
	EXPECT_EQ(ev.responder_resources, 3);
	EXPECT_EQ(ev.initiator_depth, 5);
	EXPECT_EQ(ev.flow_control, 1);
	EXPECT_EQ(ev.retry_count, 6);
	EXPECT_EQ(ev.rnr_retry_count, 4);
	EXPECT_EQ(ev.srq, 1);
	EXPECT_EQ(ev.private_data_len, 56);
	EXPECT_EQ(ev.route.num_paths, 1);
	EXPECT_EQ(ev.route.port_num, 1);
	EXPECT_EQ(rca_query(p.ctx, ev.id, &route), 0);
	EXPECT(!memcmp(&route, &ev.route, sizeof(route)));
}

TEST(response_tells_everything)
{
	struct pair p = get_requested(NULL);
	struct rdma_cm_alt_accept cmd = accept_cmd(&p);
	event_t ev;

	EXPECT_EQ(rca_call(p.ctx, RDMA_CM_ALT_ACCEPT, &cmd), 0);
	EXPECT_EVENT_STATUS(p.cq, CONNECT_RESPONSE, p.client, 0, &ev);
	EXPECT_EQ(ev.cookie, CLIENT);
	EXPECT_EQ(ev.listen_id, 0);
	EXPECT(ev.flags & RDMA_CM_ALT_EVENT_F_CONN);
	EXPECT(ev.flags & RDMA_CM_ALT_EVENT_F_QP);
	EXPECT_EQ(ev.qp_num, cmd.param.qp_num);
	EXPECT_EQ(ev.responder_resources, 1);
	EXPECT_EQ(ev.initiator_depth, 2);
	EXPECT_EQ(ev.flow_control, 1);
	EXPECT_EQ(ev.rnr_retry_count, 5);
	EXPECT_EQ(ev.srq, 1);
	EXPECT_EQ(ev.private_data_len, 196);
}

TEST(established_has_the_cookie_of_accept)
{
	struct pair p = get_accepted(NULL);
	event_t ev;

	EXPECT_EQ(rca_establish(p.ctx, p.client), 0);
	EXPECT_EVENT_STATUS(p.lq, ESTABLISHED, p.server, 0, &ev);
	EXPECT_EQ(ev.cookie, SERVER);
	EXPECT_EQ(ev.listen_id, 0);
}

TEST(retries_are_at_most_7)
{
	struct pair p = get_routed(HERE);
	struct rdma_cm_alt_connect cmd = connect_cmd(&p);
	event_t ev;

	cmd.param.retry_count = 8;
	cmd.param.rnr_retry_count = 255;
	EXPECT_EQ(rca_call(p.ctx, RDMA_CM_ALT_CONNECT, &cmd), 0);
	EXPECT_EVENT_STATUS(p.lq, CONNECT_REQUEST, 0, 0, &ev);
	EXPECT_EQ(ev.retry_count, 7);
	EXPECT_EQ(ev.rnr_retry_count, 7);
}

TEST(numbers_beyond_24_bits_are_einval)
{
	struct pair p = get_routed(HERE);
	struct rdma_cm_alt_connect cmd = connect_cmd(&p);
	struct rdma_cm_alt_accept acc;

	cmd.param.qp_num = 1 << 24;
	EXPECT_EQ(rca_call(p.ctx, RDMA_CM_ALT_CONNECT, &cmd), -EINVAL);
	cmd = connect_cmd(&p);
	cmd.param.ece_vendor_id = 1 << 24;
	EXPECT_EQ(rca_call(p.ctx, RDMA_CM_ALT_CONNECT, &cmd), -EINVAL);
	cmd.param.ece_vendor_id = 0;
	EXPECT_EQ(rca_call(p.ctx, RDMA_CM_ALT_CONNECT, &cmd), 0);
	acc = accept_cmd(&p);
	acc.param.qp_num = 1 << 24;
	EXPECT_EQ(rca_call(p.ctx, RDMA_CM_ALT_ACCEPT, &acc), -EINVAL);
}

TEST(ece_travels_both_ways)
{
	struct pair p = get_routed(HERE);
	struct rdma_cm_alt_connect cmd = connect_cmd(&p);
	struct rdma_cm_alt_accept acc;
	event_t ev;

	cmd.param.ece_vendor_id = 0x123456;
	cmd.param.ece_attr_mod = 0x89abcdef;
	EXPECT_EQ(rca_call(p.ctx, RDMA_CM_ALT_CONNECT, &cmd), 0);
	EXPECT_EVENT_STATUS(p.lq, CONNECT_REQUEST, 0, 0, &ev);
	EXPECT(ev.flags & RDMA_CM_ALT_EVENT_F_ECE);
	EXPECT_EQ(ev.ece_vendor_id, 0x123456);
	EXPECT_EQ(ev.ece_attr_mod, 0x89abcdef);
	p.server = ev.id;
	acc = accept_cmd(&p);
	acc.param.ece_vendor_id = 0xfedcba;
	acc.param.ece_attr_mod = 0x01234567;
	EXPECT_EQ(rca_call(p.ctx, RDMA_CM_ALT_ACCEPT, &acc), 0);
	EXPECT_EVENT_STATUS(p.cq, CONNECT_RESPONSE, p.client, 0, &ev);
	EXPECT(ev.flags & RDMA_CM_ALT_EVENT_F_ECE);
	EXPECT_EQ(ev.ece_vendor_id, 0xfedcba);
	EXPECT_EQ(ev.ece_attr_mod, 0x01234567);
}

static void check_reject(uint32_t reason, int seen)
{
	struct pair p = get_requested(NULL);
	event_t ev;

	EXPECT_EQ(rca_reject(p.ctx, p.server, reason, NULL, 0), 0);
	EXPECT_EVENT_STATUS(p.cq, REJECTED, p.client, seen, &ev);
	EXPECT(ev.flags & RDMA_CM_ALT_EVENT_F_CONN);
	EXPECT_EQ(rca_reject(p.ctx, p.server, reason, NULL, 0), -EINVAL);
	EXPECT_EQ(rca_accept(p.ctx, p.server, SERVER, NULL, 0), -EINVAL);
	EXPECT(!event_waits(p.lq));
}

TEST(reject_reasons)
{
	check_reject(0, 28);
	check_reject(28, 28);
	check_reject(35, 35);
}

TEST(other_reject_reasons_are_einval)
{
	static const uint32_t reasons[] = { 1, 8, 10, 27, 29, 34, 36, 0x80000000, 0xffffffff };
	struct pair p = get_requested(NULL);

	for (int i = 0; i < 9; i++)
		EXPECT_EQ(rca_reject(p.ctx, p.server, reasons[i], NULL, 0), -EINVAL);
	EXPECT_EQ(rca_reject(p.ctx, p.server, 28, NULL, 0), 0);
	EXPECT_EVENT_STATUS(p.cq, REJECTED, p.client, 28, NULL);
}

TEST(reply_may_be_rejected)
{
	struct pair p = get_accepted(NULL);

	EXPECT_EQ(rca_reject(p.ctx, p.client, 0, NULL, 0), 0);
	EXPECT_EVENT_STATUS(p.lq, REJECTED, p.server, 28, NULL);
}

TEST(destroy_of_the_request_rejects_it)
{
	struct pair p = get_requested(NULL);

	EXPECT_EQ(rca_destroy(p.ctx, p.server), 0);
	EXPECT_EVENT_STATUS(p.cq, REJECTED, p.client, 28, NULL);
}

TEST(accept_after_the_peer_gave_up_is_econnreset)
{
	struct pair p = get_requested(NULL);

	EXPECT_EQ(rca_destroy(p.ctx, p.client), 0);
	/* There is no event. Another connection's request shows that the reject has arrived. */
	p.client = get_client(p.ctx, p.cq, THERE, p.port, CLIENT);
	EXPECT_EQ(rca_connect(p.ctx, p.client, NULL, 0), 0);
	EXPECT_EVENT(p.lq, CONNECT_REQUEST, 0);
	EXPECT_EQ(rca_accept(p.ctx, p.server, SERVER, NULL, 0), -ECONNRESET);
	EXPECT(!event_waits(p.lq));
}

TEST(many_connections_of_one_listener)
{
	enum { MANY = 30 };
	struct pair p = get_listening(HERE);
	uint32_t clients[MANY];
	event_t ev;

	for (int i = 0; i < MANY; i++)
		clients[i] = get_client(p.ctx, p.cq, HERE, p.port, i);
	for (int i = 0; i < MANY; i++) {
		uint8_t number = i;

		EXPECT_EQ(rca_connect(p.ctx, clients[i], &number, 1), 0);
	}
	for (int i = 0; i < MANY; i++) {
		EXPECT_EVENT_STATUS(p.lq, CONNECT_REQUEST, 0, 0, &ev);
		EXPECT_EQ(rca_accept(p.ctx, ev.id, 1000 + ev.private_data[0], NULL, 0), 0);
	}
	for (int i = 0; i < MANY; i++) {
		EXPECT_EVENT_STATUS(p.cq, CONNECT_RESPONSE, 0, 0, &ev);
		EXPECT_EQ(ev.id, clients[ev.cookie]);
		EXPECT_EQ(rca_establish(p.ctx, ev.id), 0);
	}
	for (int i = 0; i < MANY; i++) {
		EXPECT_EVENT_STATUS(p.lq, ESTABLISHED, 0, 0, &ev);
		EXPECT(ev.cookie >= 1000 && ev.cookie < 1000 + MANY);
	}
}

TEST(traffic_may_come_before_ready_to_use)
{
	struct pair p = get_accepted(NULL);

	EXPECT_EQ(rca_notify(p.ctx, p.server, 4 /* IBV_EVENT_COMM_EST */), 0);
	EXPECT_EVENT(p.lq, ESTABLISHED, p.server);
	EXPECT_EQ(rca_notify(p.ctx, p.server, 4), -EISCONN);
	/* The RTU still arrives, and is ignored. */
	EXPECT_EQ(rca_establish(p.ctx, p.client), 0);
	EXPECT_EQ(rca_disconnect(p.ctx, p.client), 0);
	EXPECT_EVENT(p.lq, DISCONNECTED, p.server);
}

/* The lower id waits in the background for the peer's RTU, but not when the peer is gone. */
TEST(notified_id_is_destroyed_at_once)
{
	struct pair p = get_accepted(NULL);
	uint32_t before = usage_as(0, p.ctx, IDS).out_user_used;
	time_t began;

	EXPECT_EQ(rca_notify(p.ctx, p.server, 4), 0);
	began = time(NULL);
	EXPECT_EQ(rca_destroy(p.ctx, p.server), 0);
	EXPECT(time(NULL) - began <= 3);
	EXPECT_EQ(rca_destroy(p.ctx, p.client), 0);
	while (usage_as(0, p.ctx, IDS).out_user_used > before - 2 && time(NULL) - began <= 6)
		usleep(10000);
	EXPECT(time(NULL) - began <= 6);
}

TEST(notify_of_other_events_is_einval)
{
	struct pair p = get_accepted(NULL);

	for (uint32_t event = 0; event < 32; event++)
		if (event != 4)
			EXPECT_EQ(rca_notify(p.ctx, p.server, event), -EINVAL);
	EXPECT_EQ(rca_notify(p.ctx, p.server, 4), 0);
	EXPECT_EVENT(p.lq, ESTABLISHED, p.server);
}

/* There is no alternate path to migrate to. */
TEST(notify_of_a_migrated_path_is_einval)
{
	struct pair p = get_connected();

	EXPECT_EQ(rca_notify(p.ctx, p.server, 6 /* IBV_EVENT_PATH_MIG */), -EINVAL);
	EXPECT_EQ(rca_notify(p.ctx, p.client, 6 /* IBV_EVENT_PATH_MIG */), -EINVAL);
}

KTAP_MAIN
