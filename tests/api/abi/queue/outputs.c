// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Data that the kernel writes to user space: all of each output, so that no old bytes are left, and
 * no kernel memory: no pointers, and zeros in unused members.
 */
#include "groups.h"
#include "rca_datagram.h"
#include "rca_ring.h"

#define POISON 0xa5

/* This many bytes of poison in a row are no coincidence. */
#define POISON_RUN 4

/* Addresses of the direct map, vmalloc, text and modules, but not small negative numbers. */
static bool is_kernel_address(uint64_t value)
{
	return (value >= 0xffff800000000000 && value < 0xfffffe8000000000) ||
	       (value >= 0xffffffff80000000 && value < 0xfffffffffff00000);
}

static void check_bytes(const char *what, const void *data, size_t len)
{
	const uint8_t *bytes = data;
	unsigned int run = 0;
	uint64_t value;
	size_t i;

	for (i = 0; i < len; i++) {
		run = bytes[i] == POISON ? run + 1 : 0;
		if (run == POISON_RUN)
			ktap_fail(__FILE__, __LINE__, "%s: byte %zu was not written", what, i);
		if (i + sizeof(value) > len || (uintptr_t)(bytes + i) % sizeof(value))
			continue;
		memcpy(&value, bytes + i, sizeof(value));
		if (is_kernel_address(value))
			ktap_fail(__FILE__, __LINE__, "%s: %#llx at byte %zu", what,
				  (unsigned long long)value, i);
	}
}

static void expect_zero(const char *what, const void *data, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (((const uint8_t *)data)[i])
			ktap_fail(__FILE__, __LINE__, "%s: byte %zu is not 0", what, i);
}

/* The members of a struct from @member on are poisoned, and must be overwritten. */
#define POISON_FROM(cmd, member) \
	memset((char *)(cmd) + offsetof(__typeof__(*(cmd)), member), POISON, \
	       sizeof(*(cmd)) - offsetof(__typeof__(*(cmd)), member))

#define CHECK_FROM(cmd, member) \
	check_bytes(#cmd, (char *)(cmd) + offsetof(__typeof__(*(cmd)), member), \
		    sizeof(*(cmd)) - offsetof(__typeof__(*(cmd)), member))

static void get_poisoned(int queue, event_t *ev)
{
	EXPECT(event_comes(queue, PATIENCE));
	memset(ev, POISON, sizeof(*ev));
	EXPECT_EQ(MUST(read(queue, ev, sizeof(*ev))), sizeof(*ev));
	check_bytes("event", ev, sizeof(*ev));
}

TEST(info)
{
	struct rdma_cm_alt_info info = { .size = sizeof(info) };

	POISON_FROM(&info, out_commands);
	EXPECT_EQ(rca_call(get_ctx(), RDMA_CM_ALT_INFO, &info), 0);
	CHECK_FROM(&info, out_commands);
}

TEST(queue_create)
{
	struct rdma_cm_alt_queue_create cmd = { .size = sizeof(cmd), .ring_entries = 4 };

	POISON_FROM(&cmd, out_fd);
	cmd.__reserved = 0;
	EXPECT_EQ(rca_call(get_ctx(), RDMA_CM_ALT_QUEUE_CREATE, &cmd), 0);
	CHECK_FROM(&cmd, out_fd);
}

static void check_query(int ctx, uint32_t id, struct rdma_cm_alt_route *route)
{
	struct rdma_cm_alt_query cmd = { .size = sizeof(cmd), .id = id };

	POISON_FROM(&cmd, out_route);
	EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_QUERY, &cmd), 0);
	CHECK_FROM(&cmd, out_route);
	*route = cmd.out_route;
}

TEST(query_in_each_state)
{
	struct pair p = get_connected();
	struct rdma_cm_alt_route route;

	check_query(p.ctx, p.listener, &route);
	check_query(p.ctx, p.client, &route);
	check_query(p.ctx, p.server, &route);
	check_query(p.ctx, get_id(p.ctx, -1, 0), &route);
	expect_zero("route", &route, sizeof(route));
	check_query(p.ctx, get_client(p.ctx, p.cq, THERE6, 1, 0), &route);
	expect_zero("path", &route.path[1], sizeof(route.path[1]));
}

TEST(resolve_and_listen)
{
	struct rdma_cm_alt_resolve cmd = {
		.size = sizeof(cmd),
		.pipe = {
			.steps = RDMA_CM_ALT_STEP_CREATE | RDMA_CM_ALT_STEP_BIND,
			.queue_fd = -1, .ps = RDMA_PS_TCP, .qp_type = IB_UVERBS_QPT_RC,
			.src = make_addr(HERE, 0),
		},
	};
	struct rdma_cm_alt_listen listen = { .size = sizeof(listen) };
	int ctx = get_ctx();

	POISON_FROM(&cmd, out_id);
	cmd.__reserved = 0;
	EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_RESOLVE, &cmd), 0);
	CHECK_FROM(&cmd, out_id);
	listen.id = cmd.out_id;
	POISON_FROM(&listen, out_route);
	EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_LISTEN, &listen), 0);
	CHECK_FROM(&listen, out_route);
}

static void check_qp_attr(const struct pair *p, uint32_t id, uint32_t state)
{
	struct rdma_cm_alt_qp_attr_get cmd = { .size = sizeof(cmd), .id = id, .qp_state = state };

	POISON_FROM(&cmd, out_attr);
	EXPECT_EQ(rca_call(p->ctx, RDMA_CM_ALT_QP_ATTR, &cmd), 0);
	CHECK_FROM(&cmd, out_attr);
}

TEST(qp_attr_of_each_transition)
{
	struct pair p = get_accepted(NULL);
	uint32_t state;

	for (state = 1; state <= 3; state++) {
		check_qp_attr(&p, p.client, state);
		check_qp_attr(&p, p.server, state);
	}
	check_qp_attr(&p, get_loaded(p.ctx, p.cq, 0), 1);
}

TEST(options)
{
	uint8_t buffer[600] __attribute__((aligned(8)));
	struct pair p = get_routed(THERE);
	uint32_t len;
	uint8_t tos;

	memset(buffer, POISON, sizeof(buffer));
	len = sizeof(buffer);
	EXPECT_EQ(rca_get_option(p.ctx, p.client, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, buffer,
				 &len), 0);
	check_bytes("path", buffer, len);
	/* Nothing behind the length is written. */
	EXPECT_EQ(buffer[len], POISON);
	memset(buffer, POISON, sizeof(buffer));
	len = sizeof(buffer);
	EXPECT_EQ(rca_get_option(p.ctx, p.client, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, buffer,
				 &len), 0);
	memcpy(&tos, buffer, 1);
	EXPECT_EQ(tos, 0);
	EXPECT_EQ(buffer[1], POISON);
}

TEST(events_of_a_connection)
{
	struct pair p = get_listening(THERE);
	event_t ev;

	p.client = get_id(p.ctx, p.cq, CLIENT);
	EXPECT_EQ(rca_resolve_addr(p.ctx, p.client, NULL, THERE, p.port), 0);
	get_poisoned(p.cq, &ev);
	EXPECT_EQ(rca_resolve_route(p.ctx, p.client), 0);
	get_poisoned(p.cq, &ev);
	EXPECT_EQ(rca_connect(p.ctx, p.client, NULL, 0), 0);
	get_poisoned(p.lq, &ev);
	/* The rest of a message is zero. */
	expect_zero("private data", ev.private_data, sizeof(ev.private_data));
	p.server = ev.id;
	EXPECT_EQ(rca_accept(p.ctx, p.server, SERVER, NULL, 0), 0);
	get_poisoned(p.cq, &ev);
	expect_zero("private data", ev.private_data, sizeof(ev.private_data));
	EXPECT_EQ(rca_establish(p.ctx, p.client), 0);
	get_poisoned(p.lq, &ev);
	EXPECT_EQ(rca_disconnect(p.ctx, p.client), 0);
	get_poisoned(p.cq, &ev);
	get_poisoned(p.lq, &ev);
}

TEST(event_of_a_reject)
{
	struct pair p = get_requested(NULL);
	event_t ev;

	EXPECT_EQ(rca_reject(p.ctx, p.server, 28, NULL, 0), 0);
	get_poisoned(p.cq, &ev);
	EXPECT_EQ(ev.type, RDMA_CM_ALT_EVENT_REJECTED);
	expect_zero("private data", ev.private_data, sizeof(ev.private_data));
}

TEST(events_of_datagrams)
{
	struct pair p = get_datagram_routed(THERE);
	event_t ev;

	EXPECT_EQ(rca_connect(p.ctx, p.client, NULL, 0), 0);
	get_poisoned(p.lq, &ev);
	expect_zero("private data", ev.private_data, sizeof(ev.private_data));
	p.server = ev.id;
	EXPECT_EQ(datagram_accept(&p, 0), 0);
	get_poisoned(p.cq, &ev);
	expect_zero("private data", ev.private_data, sizeof(ev.private_data));
}

/* Only data of the own program comes back. */
TEST(event_of_a_user)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_id(ctx, queue, 0);
	event_t ev;

	EXPECT_EQ(post_number(ctx, id, 77), 0);
	get_poisoned(queue, &ev);
	expect_zero("event", &ev.qp_num, sizeof(ev) - offsetof(event_t, qp_num));
	EXPECT_EQ(post_number(ctx, get_id(ctx, -1, 0), 77), 0);
}

TEST(event_of_a_group)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_ud_bound(ctx, queue, HERE);
	event_t ev;

	get_member(ctx, id, GROUP);
	get_poisoned(queue, &ev);
	EXPECT_EQ(ev.type, RDMA_CM_ALT_EVENT_MULTICAST_JOIN);
	expect_zero("route", &ev.route, sizeof(ev.route));
}

/* Records are longer than the kernel's struct, and are in newly allocated pages. */
TEST(records_of_a_ring)
{
	int ctx = get_ctx();
	struct ring ring = get_ring(ctx, 4);
	struct rdma_cm_alt_queue_create geo = ring.geometry;
	uint32_t id;

	check_bytes("ring", ring.map, geo.out_ring_bytes);
	id = get_id(ctx, ring.queue, 0);
	post_numbers(ctx, id, 1, 3);
	EXPECT(event_waits(ring.queue));
	check_bytes("ring", ring.map, geo.out_ring_bytes);
}

/* Records that are longer than the kernel's struct end with zeros. */
TEST(long_records)
{
	int ctx = get_ctx(), queue = get_queue_sized(ctx, 4096, 0);
	uint32_t id = get_id(ctx, queue, 0);
	uint8_t record[4096];

	memset(record, POISON, sizeof(record));
	EXPECT_EQ(post_number(ctx, id, 77), 0);
	EXPECT_EQ(MUST(read(queue, record, sizeof(record))), sizeof(record));
	check_bytes("record", record, sizeof(record));
	expect_zero("record", record + sizeof(event_t), sizeof(record) - sizeof(event_t));
}

TEST(answers_of_the_others)
{
	struct rdma_cm_alt_set_queue move = { .size = sizeof(move), .queue_fd = -1 };
	struct rdma_cm_alt_destroy destroy = { .size = sizeof(destroy) };
	struct rdma_cm_alt_join join = { .size = sizeof(join), .group = make_addr(GROUP, 0) };
	struct rdma_cm_alt_leave leave = { .size = sizeof(leave) };
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_ud_bound(ctx, queue, HERE);

	join.id = id;
	join.out_member = 0xa5a5a5a5;
	EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_JOIN, &join), 0);
	CHECK_FROM(&join, out_member);
	leave.member = join.out_member;
	POISON_FROM(&leave, out_events_reported);
	EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_LEAVE, &leave), 0);
	CHECK_FROM(&leave, out_events_reported);
	move.id = id;
	POISON_FROM(&move, out_events_reported);
	EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_SET_QUEUE, &move), 0);
	CHECK_FROM(&move, out_events_reported);
	destroy.id = id;
	POISON_FROM(&destroy, out_events_reported);
	EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_DESTROY, &destroy), 0);
	CHECK_FROM(&destroy, out_events_reported);
}

KTAP_MAIN
