// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Loopback addresses and wildcards as destination: an address of a device replaces them. */
#include "rca_test.h"

#define PORT 4711

static bool on_rig(const addr_t *addr)
{
	return addr_is(addr, HERE) || addr_is(addr, THERE) || addr_is(addr, ELSEWHERE);
}

static bool on_rig6(const addr_t *addr)
{
	return addr_is(addr, HERE6) || addr_is(addr, THERE6);
}

/* Resolve @dst on an id and check both addresses. */
static void resolve_to(int ctx, int queue, uint32_t id, const char *dst, event_t *ev)
{
	EXPECT_EQ(rca_resolve_addr(ctx, id, NULL, dst, PORT), 0);
	EXPECT_EVENT_STATUS(queue, ADDR_RESOLVED, id, 0, ev);
	EXPECT_EQ(addr_port(&ev->route.dst), PORT);
	EXPECT(addr_port(&ev->route.src) != 0);
	EXPECT(ev->route.node_guid != 0);
	EXPECT_EQ(rca_resolve_route(ctx, id), 0);
	EXPECT_EVENT_STATUS(queue, ROUTE_RESOLVED, id, 0, ev);
	EXPECT_EQ(ev->route.num_paths, 1);
}

TEST(unbound_id_gets_the_address_of_a_device)
{
	static const char * const dsts[] = { "127.0.0.1", "127.1.2.3", "0.0.0.0" };
	int ctx = get_ctx(), queue = get_queue(ctx);
	event_t ev;

	for (int i = 0; i < 3; i++) {
		resolve_to(ctx, queue, get_id(ctx, queue, 0), dsts[i], &ev);
		EXPECT(on_rig(&ev.route.dst));
		/* Both ends are the same address. */
		EXPECT(!memcmp(ev.route.sgid, ev.route.dgid, 16));
		EXPECT(on_rig(&ev.route.src));
	}
}

TEST(unbound_id_gets_the_ipv6_address_of_a_device)
{
	static const char * const dsts[] = { "::1", "::" };
	int ctx = get_ctx(), queue = get_queue(ctx);
	event_t ev;

	for (int i = 0; i < 2; i++) {
		resolve_to(ctx, queue, get_id(ctx, queue, 0), dsts[i], &ev);
		EXPECT(on_rig6(&ev.route.dst));
		EXPECT(!memcmp(ev.route.sgid, ev.route.dgid, 16));
	}
}

TEST(bound_id_gets_its_own_address)
{
	static const char * const own[] = { HERE, THERE, ELSEWHERE };
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id;
	event_t ev;

	for (int i = 0; i < 3; i++) {
		id = get_bound(ctx, queue, own[i], 0);
		resolve_to(ctx, queue, id, "127.0.0.1", &ev);
		EXPECT(addr_is(&ev.route.dst, own[i]));
		EXPECT(addr_is(&ev.route.src, own[i]));
	}
	resolve_to(ctx, queue, get_bound(ctx, queue, THERE6, 0), "::1", &ev);
	EXPECT(addr_is(&ev.route.dst, THERE6));
	EXPECT(addr_is(&ev.route.src, THERE6));
}

TEST(source_of_the_call_counts_too)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_id(ctx, queue, 0);
	event_t ev;

	EXPECT_EQ(rca_resolve_addr(ctx, id, ELSEWHERE, "127.0.0.1", PORT), 0);
	EXPECT_EVENT_STATUS(queue, ADDR_RESOLVED, id, 0, &ev);
	EXPECT(addr_is(&ev.route.dst, ELSEWHERE));
	EXPECT(addr_is(&ev.route.src, ELSEWHERE));
}

TEST(port_of_a_loopback_bind_is_kept)
{
	static const char * const addrs[] = { "127.0.0.1", "0.0.0.0" };
	int ctx = get_ctx(), queue = get_queue(ctx);
	event_t ev;

	for (int i = 0; i < 2; i++) {
		uint32_t id = get_bound(ctx, queue, addrs[i], 7000 + i);

		resolve_to(ctx, queue, id, "127.0.0.1", &ev);
		EXPECT(on_rig(&ev.route.src));
		EXPECT_EQ(addr_port(&ev.route.src), 7000 + i);
	}
}

TEST(id_on_a_loopback_address_reaches_real_ones)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	event_t ev;

	resolve_to(ctx, queue, get_bound(ctx, queue, "127.0.0.1", 0), THERE, &ev);
	EXPECT(addr_is(&ev.route.dst, THERE));
	EXPECT(on_rig(&ev.route.src));
	resolve_to(ctx, queue, get_bound(ctx, queue, "::1", 0), THERE6, &ev);
	EXPECT(addr_is(&ev.route.dst, THERE6));
	EXPECT(on_rig6(&ev.route.src));
}

static void check_connection(const char *listen_on, const char *dst)
{
	struct pair p = get_listening(listen_on);
	event_t request, response;

	p.client = get_client(p.ctx, p.cq, dst, p.port, CLIENT);
	EXPECT_EQ(rca_connect(p.ctx, p.client, "hello", 5), 0);
	EXPECT_EVENT_STATUS(p.lq, CONNECT_REQUEST, 0, 0, &request);
	EXPECT(!memcmp(request.private_data, "hello", 5));
	/* The address on the wire, which the new id has. */
	EXPECT(on_rig(&request.route.src) || on_rig6(&request.route.src));
	EXPECT(on_rig(&request.route.dst) || on_rig6(&request.route.dst));
	EXPECT_EQ(addr_port(&request.route.src), p.port);
	EXPECT_EQ(rca_accept(p.ctx, request.id, SERVER, NULL, 0), 0);
	EXPECT_EVENT_STATUS(p.cq, CONNECT_RESPONSE, p.client, 0, &response);
	EXPECT_EQ(rca_establish(p.ctx, p.client), 0);
	EXPECT_EVENT(p.lq, ESTABLISHED, request.id);
	EXPECT_EQ(rca_disconnect(p.ctx, p.client), 0);
	EXPECT_EVENT(p.cq, DISCONNECTED, p.client);
	EXPECT_EVENT(p.lq, DISCONNECTED, request.id);
}

TEST(connection_to_a_loopback_address)
{
	check_connection("127.0.0.1", "127.0.0.1");
	check_connection("0.0.0.0", "127.0.0.1");
	check_connection("::", "127.0.0.1");
	check_connection("::1", "::1");
	check_connection("::", "::1");
	check_connection("0.0.0.0", "0.0.0.0");
}

TEST(both_ends_tell_the_same_addresses)
{
	struct pair p = get_listening("127.0.0.1");
	struct rdma_cm_alt_route route;
	event_t request;

	p.client = get_client(p.ctx, p.cq, "127.0.0.1", p.port, CLIENT);
	pair_send_req(&p, &request);
	EXPECT_EQ(rca_query(p.ctx, p.client, &route), 0);
	EXPECT(!memcmp(&route.src, &request.route.dst, sizeof(route.src)));
	EXPECT(!memcmp(&route.dst, &request.route.src, sizeof(route.dst)));
}

TEST(families_that_differ_are_einval)
{
	int ctx = get_ctx();
	uint32_t id = get_bound(ctx, -1, HERE, 0);

	EXPECT_EQ(rca_resolve_addr(ctx, id, NULL, "::1", PORT), -EINVAL);
	id = get_bound(ctx, -1, "::1", 0);
	EXPECT_EQ(rca_resolve_addr(ctx, id, NULL, "127.0.0.1", PORT), -EINVAL);
}

TEST(namespace_without_a_device_is_enodev)
{
	int ctx = get_ctx();
	uint32_t id;

	MUST(unshare(CLONE_NEWNET));
	EXPECT_EQ(system("ip link set lo up"), 0);
	id = get_id(ctx, -1, 0);
	EXPECT_EQ(rca_resolve_addr(ctx, id, NULL, "127.0.0.1", PORT), -ENODEV);
	EXPECT_EQ(rca_resolve_addr(ctx, get_id(ctx, -1, 0), NULL, "::1", PORT), -ENODEV);
	/* The id may be resolved again. */
	EXPECT_EQ(rca_resolve_addr(ctx, id, NULL, "127.0.0.1", PORT), -ENODEV);
}

TEST(port_that_is_down_is_passed_over)
{
	int ctx = get_ctx(), queue = get_queue(ctx), tries = 0, ret = 0;
	event_t ev;

	if (system("ip link set d0 down"))
		ktap_skip("cannot take d0 down");
	/* The GIDs of the device follow from a work item. */
	do {
		uint32_t id = get_id(ctx, queue, 0);

		usleep(20000);
		ret = rca_resolve_addr(ctx, id, NULL, "127.0.0.1", PORT);
		if (!ret)
			get_event(queue, &ev);
	} while ((ret || ev.status || !addr_is(&ev.route.dst, ELSEWHERE)) && ++tries < 100);
	EXPECT_EQ(system("ip link set d0 up && ip addr add fd00:9::1/64 dev d0 nodad && "
			 "ip addr add fd00:9::2/64 dev d0 nodad"), 0);
	EXPECT(tries < 100);
	/* Later tests need the addresses. */
	for (tries = 0; tries < 100; tries++) {
		uint32_t id = get_id(ctx, -1, 0);

		if (!rca_bind(ctx, id, THERE6, 0) && !rca_bind(ctx, get_id(ctx, -1, 0), HERE, 0))
			break;
		usleep(20000);
	}
	EXPECT(tries < 100);
}

KTAP_MAIN
