// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Resolving addresses and routes: events and failures. */
#include "rca_test.h"

#define PORT 4711

/* A RESOLVE of an id; tests change members. */
static struct rdma_cm_alt_resolve steps_cmd(uint32_t id, uint32_t steps, const char *dst)
{
	return (struct rdma_cm_alt_resolve) {
		.size = sizeof(struct rdma_cm_alt_resolve),
		.pipe = {
			.steps = steps,
			.events = steps,
			.id = id,
			.queue_fd = -1,
			.timeout_ms = 2000,
			.dst = make_addr(dst, PORT),
		},
	};
}

static int call(int ctx, struct rdma_cm_alt_resolve cmd)
{
	return rca_call(ctx, RDMA_CM_ALT_RESOLVE, &cmd);
}

static uint32_t get_resolved(int ctx, int queue, const char *dst)
{
	uint32_t id = get_id(ctx, queue, 0);

	await_addr(ctx, queue, id, dst, PORT);
	return id;
}

static void check_resolved(const char *src, const char *dst)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	struct rdma_cm_alt_route route;
	uint32_t id = get_id(ctx, queue, 99);
	event_t ev;

	EXPECT_EQ(rca_resolve_addr(ctx, id, NULL, dst, PORT), 0);
	EXPECT_EVENT_STATUS(queue, ADDR_RESOLVED, id, 0, &ev);
	EXPECT_EQ(ev.cookie, 99);
	EXPECT_EQ(ev.listen_id, 0);
	EXPECT(ev.flags & RDMA_CM_ALT_EVENT_F_ROUTE);
	EXPECT(addr_is(&ev.route.src, src));
	EXPECT(addr_is(&ev.route.dst, dst));
	EXPECT_EQ(addr_port(&ev.route.dst), PORT);
	EXPECT(ev.route.node_guid != 0);
	EXPECT_EQ(ev.route.port_num, 1);
	EXPECT_EQ(ev.route.num_paths, 0);

	EXPECT_EQ(rca_query(ctx, id, &route), 0);
	EXPECT(!memcmp(&route, &ev.route, sizeof(route)));

	EXPECT_EQ(rca_resolve_route(ctx, id), 0);
	EXPECT_EVENT_STATUS(queue, ROUTE_RESOLVED, id, 0, &ev);
	EXPECT(ev.flags & RDMA_CM_ALT_EVENT_F_ROUTE);
	EXPECT_EQ(ev.route.num_paths, 1);
	EXPECT(ev.route.path[0].flags != 0);
	EXPECT_EQ(rca_query(ctx, id, &route), 0);
	EXPECT(!memcmp(&route, &ev.route, sizeof(route)));
}

TEST(address_and_route)
{
	check_resolved(HERE, HERE);
}

TEST(ipv6_address_and_route)
{
	check_resolved(HERE6, HERE6);
}

TEST(events_bring_the_attributes_for_init)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	struct ib_uverbs_qp_attr attr;
	uint32_t id = get_id(ctx, queue, 0);
	event_t ev;

	EXPECT_EQ(rca_resolve_addr(ctx, id, NULL, HERE, PORT), 0);
	EXPECT_EVENT_STATUS(queue, ADDR_RESOLVED, id, 0, &ev);
	EXPECT(ev.flags & RDMA_CM_ALT_EVENT_F_QP);
	EXPECT_EQ(rca_qp_attr(ctx, id, 1, &attr), 0);
	EXPECT_EQ(ev.qp.init_mask, attr.qp_attr_mask);
	EXPECT_EQ(ev.qp.rtr_mask, 0);
	EXPECT_EQ(ev.qp.rts_mask, 0);
	EXPECT_EQ(ev.qp.attr.port_num, attr.port_num);
	EXPECT_EQ(ev.qp.attr.pkey_index, attr.pkey_index);
}

TEST(success_event_that_is_not_wanted_does_not_come)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_id(ctx, queue, 0);
	struct rdma_cm_alt_resolve cmd = steps_cmd(id, RDMA_CM_ALT_STEP_ADDR |
						   RDMA_CM_ALT_STEP_ROUTE, HERE);

	cmd.pipe.events = RDMA_CM_ALT_STEP_ROUTE;
	EXPECT_EQ(call(ctx, cmd), 0);
	EXPECT_EVENT(queue, ROUTE_RESOLVED, id);
	EXPECT(!event_waits(queue));
}

TEST(both_events_of_one_call_come_in_order)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_id(ctx, queue, 0);

	EXPECT_EQ(call(ctx, steps_cmd(id, RDMA_CM_ALT_STEP_ADDR | RDMA_CM_ALT_STEP_ROUTE, HERE)),
		  0);
	EXPECT_EVENT(queue, ADDR_RESOLVED, id);
	EXPECT_EVENT(queue, ROUTE_RESOLVED, id);
}

TEST(silent_route_is_complete_when_the_call_returns)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_resolved(ctx, queue, HERE);
	struct rdma_cm_alt_resolve cmd = steps_cmd(id, RDMA_CM_ALT_STEP_ROUTE, NULL);

	cmd.pipe.events = 0;
	EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_RESOLVE, &cmd), 0);
	EXPECT_EQ(cmd.out_done, RDMA_CM_ALT_STEP_ROUTE);
	EXPECT_EQ(cmd.out_id, id);
	EXPECT_EQ(cmd.out_route.num_paths, 1);
	EXPECT(!event_waits(queue));
}

/* Both steps complete at once: the neighbour is known, and RoCE routes need no query. */
TEST(known_neighbour_is_complete_when_the_call_returns)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_id(ctx, queue, 0);
	struct rdma_cm_alt_resolve cmd = steps_cmd(id, RDMA_CM_ALT_STEP_ADDR |
						   RDMA_CM_ALT_STEP_ROUTE, HERE);

	EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_RESOLVE, &cmd), 0);
	EXPECT_EQ(cmd.out_done, RDMA_CM_ALT_STEP_ADDR | RDMA_CM_ALT_STEP_ROUTE);
	EXPECT_EQ(cmd.out_route.num_paths, 1);
	EXPECT(addr_is(&cmd.out_route.src, HERE));
	EXPECT(event_waits(queue));
	EXPECT_EVENT(queue, ADDR_RESOLVED, id);
	EXPECT(event_waits(queue));
	EXPECT_EVENT(queue, ROUTE_RESOLVED, id);
	EXPECT(!event_waits(queue));
}

TEST(new_id_is_resolved_in_the_call_that_makes_it)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	struct rdma_cm_alt_resolve cmd = steps_cmd(0, RDMA_CM_ALT_STEP_CREATE |
						   RDMA_CM_ALT_STEP_ADDR | RDMA_CM_ALT_STEP_ROUTE,
						   HERE6);

	cmd.pipe.events = 0;
	cmd.pipe.queue_fd = queue;
	cmd.pipe.ps = RDMA_PS_TCP;
	cmd.pipe.qp_type = IB_UVERBS_QPT_RC;
	EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_RESOLVE, &cmd), 0);
	EXPECT_EQ(cmd.out_done, cmd.pipe.steps);
	EXPECT_EQ(cmd.out_route.num_paths, 1);
	EXPECT(!event_waits(queue));
	EXPECT_EQ(rca_destroy(ctx, cmd.out_id), 0);
}

#define LATE "10.7.0.98"
#define WAITING 256

/*
 * Half of the ids that wait for the neighbour are destroyed; the others get their event, more than
 * are woken at once. Ids look at the neighbour 2.5 and 5.1 s after the call, and earlier.
 */
TEST(neighbour_that_answers_wakes_all_who_wait)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t ids[WAITING];
	double began;
	event_t ev;

	if (system("ip neigh del " LATE " dev v0 2>/dev/null; ip neigh show >/dev/null"))
		ktap_skip("cannot change neighbours");
	for (int i = 0; i < WAITING; i++) {
		struct rdma_cm_alt_resolve cmd = steps_cmd(0, RDMA_CM_ALT_STEP_ADDR, LATE);

		ids[i] = get_id(ctx, queue, i);
		cmd.pipe.id = ids[i];
		cmd.pipe.timeout_ms = 20000;
		EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_RESOLVE, &cmd), 0);
		EXPECT_EQ(cmd.out_done, 0);
	}
	for (int i = 0; i < WAITING; i += 2)
		EXPECT_EQ(rca_destroy(ctx, ids[i]), 0);
	sleep(3);
	EXPECT(!event_waits(queue));
	began = ktap_now();
	EXPECT_EQ(system("ip neigh replace " LATE " lladdr 02:00:00:00:00:98 dev v0"), 0);
	for (int i = 1; i < WAITING; i += 2) {
		get_event(queue, &ev);
		EXPECT_EQ(ev.type, RDMA_CM_ALT_EVENT_ADDR_RESOLVED);
		EXPECT_EQ(ev.cookie % 2, 1);
	}
	EXPECT(ktap_now() - began < 1.5);
	EXPECT(!event_waits(queue));
	EXPECT_EQ(system("ip neigh del " LATE " dev v0"), 0);
}

TEST(neighbour_that_does_not_answer_is_addr_error)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_id(ctx, queue, 5);
	struct rdma_cm_alt_resolve cmd = steps_cmd(id, RDMA_CM_ALT_STEP_ADDR, NOBODY);
	event_t ev;

	/* Error events come whether the pipeline asks for events or not. */
	cmd.pipe.events = 0;
	cmd.pipe.timeout_ms = 300;
	EXPECT_EQ(call(ctx, cmd), 0);
	EXPECT_EVENT_STATUS(queue, ADDR_ERROR, id, -ETIMEDOUT, &ev);
	EXPECT_EQ(ev.cookie, 5);
	/* The id may be resolved again, also with another address on another device. */
	await_addr(ctx, queue, id, HERE, PORT);
}

TEST(pipeline_ends_with_its_error)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_id(ctx, queue, 0);
	struct rdma_cm_alt_resolve cmd = steps_cmd(id, RDMA_CM_ALT_STEP_ADDR |
						   RDMA_CM_ALT_STEP_ROUTE, NOBODY);

	cmd.pipe.timeout_ms = 300;
	EXPECT_EQ(call(ctx, cmd), 0);
	EXPECT_EVENT_STATUS(queue, ADDR_ERROR, id, -ETIMEDOUT, NULL);
	EXPECT(!event_waits(queue));
	EXPECT_EQ(rca_resolve_route(ctx, id), -EINVAL);
}

TEST(no_route_is_enetunreach)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_id(ctx, queue, 0);

	EXPECT_EQ(rca_resolve_addr(ctx, id, NULL, NOT_OURS, PORT), -ENETUNREACH);
	await_addr(ctx, queue, id, HERE, PORT);
	EXPECT(!event_waits(queue));
}

TEST(way_out_that_is_no_rdma_device_is_addr_error)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_id(ctx, queue, 0);

	if (system("ip addr add 10.66.0.1/24 dev v1"))
		ktap_skip("cannot add an address to v1");
	EXPECT_EQ(rca_resolve_addr(ctx, id, NULL, "10.66.0.1", PORT), 0);
	EXPECT_EVENT_STATUS(queue, ADDR_ERROR, id, -ENODEV, NULL);
	EXPECT_EQ(system("ip addr del 10.66.0.1/24 dev v1"), 0);
	await_addr(ctx, queue, id, HERE, PORT);
}

/* The results of the first try do not affect the second. */
TEST(retry_is_not_bound_to_the_first_network_device)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_id(ctx, queue, 0);
	event_t ev;

	for (int i = 0; i < 2; i++) {
		struct rdma_cm_alt_resolve cmd = steps_cmd(id, RDMA_CM_ALT_STEP_ADDR, "10.7.0.97");

		cmd.pipe.timeout_ms = 200;
		EXPECT_EQ(call(ctx, cmd), 0);
		EXPECT_EVENT_STATUS(queue, ADDR_ERROR, id, -ETIMEDOUT, &ev);
		EXPECT(addr_is(&ev.route.src, "0.0.0.0"));
		EXPECT_EQ(ev.route.node_guid, 0);
	}
	EXPECT_EQ(rca_resolve_addr(ctx, id, NULL, HERE, PORT), 0);
	EXPECT_EVENT_STATUS(queue, ADDR_RESOLVED, id, 0, &ev);
	EXPECT(addr_is(&ev.route.src, HERE));
	EXPECT(addr_is(&ev.route.dst, HERE));
}

TEST(retry_keeps_what_the_program_bound)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_bound(ctx, queue, ELSEWHERE, 7001);
	struct rdma_cm_alt_resolve cmd = steps_cmd(id, RDMA_CM_ALT_STEP_ADDR, "10.7.0.97");
	event_t ev;

	cmd.pipe.timeout_ms = 200;
	EXPECT_EQ(call(ctx, cmd), 0);
	EXPECT_EVENT_STATUS(queue, ADDR_ERROR, id, -ETIMEDOUT, NULL);
	EXPECT_EQ(rca_resolve_addr(ctx, id, NULL, ELSEWHERE, PORT), 0);
	EXPECT_EVENT_STATUS(queue, ADDR_RESOLVED, id, 0, &ev);
	EXPECT(addr_is(&ev.route.src, ELSEWHERE));
	EXPECT_EQ(addr_port(&ev.route.src), 7001);
}

static uint32_t scope_of(const addr_t *addr)
{
	struct sockaddr_in6 in6;

	memcpy(&in6, addr, sizeof(in6));
	return in6.sin6_scope_id;
}

/* Without a scope the routing table chooses the interface, which may have no such neighbour. */
TEST(link_local_destination_without_scope)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_id(ctx, queue, 0);
	struct rdma_cm_alt_resolve cmd = steps_cmd(id, RDMA_CM_ALT_STEP_ADDR, "fe80::77");
	event_t ev;

	cmd.pipe.timeout_ms = 300;
	EXPECT_EQ(call(ctx, cmd), 0);
	get_event(queue, &ev);
	if (ev.type == RDMA_CM_ALT_EVENT_ADDR_RESOLVED) {
		EXPECT(scope_of(&ev.route.dst) != 0);
		EXPECT_EQ(scope_of(&ev.route.dst), scope_of(&ev.route.src));
	} else {
		EXPECT_EQ(ev.type, RDMA_CM_ALT_EVENT_ADDR_ERROR);
		EXPECT(ev.status == -ETIMEDOUT || ev.status == -ENODEV);
	}
}

TEST(no_destination_is_einval)
{
	int ctx = get_ctx();

	EXPECT_EQ(rca_resolve_addr(ctx, get_id(ctx, -1, 0), NULL, NULL, 0), -EINVAL);
}

TEST(destination_of_unknown_family)
{
	int ctx = get_ctx();
	struct rdma_cm_alt_resolve cmd = steps_cmd(get_id(ctx, -1, 0), RDMA_CM_ALT_STEP_ADDR, HERE);

	cmd.pipe.dst.family = AF_UNIX;
	EXPECT_EQ(call(ctx, cmd), -EINVAL);
}

TEST(families_that_differ_are_einval)
{
	int ctx = get_ctx();
	uint32_t id = get_id(ctx, -1, 0);

	EXPECT_EQ(rca_resolve_addr(ctx, id, HERE6, THERE, PORT), -EINVAL);
	/* Also when the local address was set before. */
	EXPECT_EQ(rca_bind(ctx, id, HERE6, 0), 0);
	EXPECT_EQ(rca_resolve_addr(ctx, id, NULL, THERE, PORT), -EINVAL);
}

TEST(source_is_bound_on_the_way)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_id(ctx, queue, 0);
	event_t ev;

	EXPECT_EQ(rca_resolve_addr(ctx, id, THERE, HERE, PORT), 0);
	EXPECT_EVENT_STATUS(queue, ADDR_RESOLVED, id, 0, &ev);
	EXPECT(addr_is(&ev.route.src, THERE));
	EXPECT(addr_port(&ev.route.src) != 0);
}

TEST(source_that_is_not_local_is_eaddrnotavail)
{
	int ctx = get_ctx();

	EXPECT_EQ(rca_resolve_addr(ctx, get_id(ctx, -1, 0), NOT_OURS, HERE, PORT), -EADDRNOTAVAIL);
}

TEST(source_of_a_bound_id_is_ignored)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_bound(ctx, queue, HERE, 0);
	event_t ev;

	EXPECT_EQ(rca_resolve_addr(ctx, id, THERE, HERE, PORT), 0);
	EXPECT_EVENT_STATUS(queue, ADDR_RESOLVED, id, 0, &ev);
	EXPECT(addr_is(&ev.route.src, HERE));
}

TEST(route_needs_a_timeout_and_an_address_does_not)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_id(ctx, queue, 0);
	struct rdma_cm_alt_resolve cmd = steps_cmd(id, RDMA_CM_ALT_STEP_ADDR, HERE);
	event_t ev;

	cmd.pipe.timeout_ms = 0;
	EXPECT_EQ(call(ctx, cmd), 0);
	get_event(queue, &ev);
	if (ev.type == RDMA_CM_ALT_EVENT_ADDR_ERROR) {
		/* The timeout may come first. */
		await_addr(ctx, queue, id, HERE, PORT);
	}
	cmd.pipe.steps = RDMA_CM_ALT_STEP_ROUTE;
	cmd.pipe.events = RDMA_CM_ALT_STEP_ROUTE;
	EXPECT_EQ(call(ctx, cmd), -EINVAL);
	cmd.pipe.timeout_ms = UINT32_MAX;
	EXPECT_EQ(call(ctx, cmd), 0);
	EXPECT_EVENT(queue, ROUTE_RESOLVED, id);
}

TEST(destroy_ends_a_resolution)
{
	int ctx = get_ctx(), queue = get_queue(ctx);

	for (int i = 0; i < 10; i++) {
		uint32_t id = get_id(ctx, queue, 0);

		EXPECT_EQ(rca_resolve_addr(ctx, id, NULL, i % 2 ? NOBODY : HERE, PORT), 0);
		EXPECT_EQ(rca_destroy(ctx, id), 0);
		EXPECT(!event_waits(queue));
	}
}

TEST(close_ends_a_resolution)
{
	for (int i = 0; i < 10; i++) {
		int ctx = get_ctx(), queue = get_queue(ctx);

		EXPECT_EQ(rca_resolve_addr(ctx, get_id(ctx, queue, 0), NULL, NOBODY, PORT), 0);
		EXPECT_EQ(rca_resolve_addr(ctx, get_id(ctx, -1, 0), NULL, NOBODY, PORT), 0);
		MUST(close(i % 2 ? ctx : queue));
		MUST(close(i % 2 ? queue : ctx));
	}
}

TEST(active_ids_to_one_place_need_no_port_each)
{
	enum { MANY = 500 };
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id;

	/* There is one port left, and the ids do not need it. */
	if (system("sysctl -qw net.ipv4.ip_local_port_range='50000 50001'"))
		ktap_skip("cannot change the range of ports");
	for (int i = 0; i < MANY; i++) {
		id = get_id(ctx, queue, 0);
		EXPECT_EQ(rca_resolve_addr(ctx, id, NULL, HERE, PORT), 0);
	}
	for (int i = 0; i < MANY; i++)
		EXPECT_EVENT(queue, ADDR_RESOLVED, 0);
	EXPECT_EQ(system("sysctl -qw net.ipv4.ip_local_port_range='32768 60999'"), 0);
}

KTAP_MAIN
