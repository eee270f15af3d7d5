// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Option IB_PATH: a path that the program sets replaces route resolution. */
#include "rca_test.h"

#define PORT 4711
#define USABLE (IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL)

typedef struct ib_path_rec_data record_t;

/* Bytes of a path record (IBTA volume 1, 15.2.5.16). */
enum {
	FLOW_LABEL = 44,	/* the first of 20 bits, after 4 others; then the hop limit */
	PKEY = 50,
	MTU = 54,		/* the low 6 bits */
	LIFETIME = 56,		/* the low 6 bits */
};

static uint8_t *bytes(record_t *record)
{
	return (uint8_t *)record->path_rec;
}

static void set_lifetime(record_t *record, uint8_t lifetime)
{
	bytes(record)[LIFETIME] = (bytes(record)[LIFETIME] & 0xc0) | lifetime;
}

static int set_path(int ctx, uint32_t id, const void *records, uint32_t len)
{
	return rca_set_option(ctx, id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, records, len);
}

static uint32_t get_resolved(int ctx, int queue, const char *dst, uint16_t port)
{
	uint32_t id = get_id(ctx, queue, 0);

	await_addr(ctx, queue, id, dst, port);
	return id;
}

/* The path that the kernel resolves to @dst. */
static record_t path_to(int ctx, int queue, const char *dst, uint16_t port)
{
	struct rdma_cm_alt_route route;
	uint32_t id = get_client(ctx, queue, dst, port, 0);

	EXPECT_EQ(rca_query(ctx, id, &route), 0);
	EXPECT_EQ(route.num_paths, 1);
	EXPECT_EQ(route.path[0].flags, USABLE);
	return route.path[0];
}

TEST(path_takes_the_place_of_the_route)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	record_t path = path_to(ctx, queue, THERE, PORT);
	uint32_t id = get_resolved(ctx, queue, THERE, PORT);
	struct rdma_cm_alt_route route;
	event_t ev;

	EXPECT_EQ(set_path(ctx, id, &path, sizeof(path)), 0);
	EXPECT_EVENT_STATUS(queue, ROUTE_RESOLVED, id, 0, &ev);
	EXPECT(ev.flags & RDMA_CM_ALT_EVENT_F_ROUTE);
	EXPECT_EQ(ev.route.num_paths, 1);
	EXPECT(!memcmp(&ev.route.path[0], &path, sizeof(path)));
	EXPECT_EQ(rca_query(ctx, id, &route), 0);
	EXPECT(!memcmp(&route, &ev.route, sizeof(route)));
	/* The path may be set once. */
	EXPECT_EQ(rca_resolve_route(ctx, id), -EINVAL);
	EXPECT_EQ(set_path(ctx, id, &path, sizeof(path)), -EINVAL);
	EXPECT(!event_waits(queue));
}

static void check_connection(const char *ip)
{
	struct pair p;
	record_t path;
	event_t ev;

	p = get_listening(ip);
	path = path_to(p.ctx, p.cq, ip, p.port);
	p.client = get_resolved(p.ctx, p.cq, ip, p.port);
	EXPECT_EQ(set_path(p.ctx, p.client, &path, sizeof(path)), 0);
	EXPECT_EVENT(p.cq, ROUTE_RESOLVED, p.client);
	pair_send_req(&p, &ev);
	EXPECT(addr_is(&ev.route.src, ip));
	EXPECT_EQ(rca_accept(p.ctx, p.server, SERVER, NULL, 0), 0);
	EXPECT_EVENT_STATUS(p.cq, CONNECT_RESPONSE, p.client, 0, &ev);
	EXPECT(ev.qp.rts_mask != 0);
	pair_send_rtu(&p);
	pair_disconnect(&p);
}

TEST(connection_over_a_path_that_was_brought)
{
	check_connection(THERE);
	check_connection(THERE6);
	check_connection(ELSEWHERE);
}

TEST(what_the_path_says_is_what_the_qp_gets)
{
	struct ib_uverbs_qp_attr attr;
	struct pair p;
	record_t path;
	event_t ev;

	p = get_listening(HERE);
	path = path_to(p.ctx, p.cq, HERE, p.port);
	bytes(&path)[MTU] = (bytes(&path)[MTU] & 0xc0) | 2;	/* 512 bytes */
	set_lifetime(&path, 10);
	p.client = get_resolved(p.ctx, p.cq, HERE, p.port);
	EXPECT_EQ(set_path(p.ctx, p.client, &path, sizeof(path)), 0);
	EXPECT_EVENT(p.cq, ROUTE_RESOLVED, p.client);
	pair_send_req(&p, &ev);
	pair_send_rep(&p);
	EXPECT_EQ(rca_qp_attr(p.ctx, p.client, 2, &attr), 0);
	EXPECT_EQ(attr.path_mtu, 2);
	EXPECT_EQ(rca_qp_attr(p.ctx, p.client, 3, &attr), 0);
	EXPECT(attr.timeout >= 11 && attr.timeout < 16);
}

TEST(first_record_for_our_use_counts)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	record_t path = path_to(ctx, queue, HERE, PORT), records[50];
	uint32_t id = get_resolved(ctx, queue, HERE, PORT);
	struct rdma_cm_alt_route route;

	memset(records, 0xff, sizeof(records));
	for (int i = 0; i < 40; i++)
		records[i].flags = USABLE ^ (1 + i);
	records[40] = path;
	records[41] = path;
	bytes(&records[41])[LIFETIME] ^= 1;
	EXPECT_EQ(set_path(ctx, id, records, sizeof(records)), 0);
	EXPECT_EVENT(queue, ROUTE_RESOLVED, id);
	EXPECT_EQ(rca_query(ctx, id, &route), 0);
	EXPECT(!memcmp(&route.path[0], &path, sizeof(path)));
}

TEST(other_flags_are_einval)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	record_t path = path_to(ctx, queue, HERE, PORT);
	uint32_t id = get_resolved(ctx, queue, HERE, PORT);

	for (uint32_t flags = 0; flags < 128; flags++) {
		path.flags = flags;
		if (flags != USABLE)
			EXPECT_EQ(set_path(ctx, id, &path, sizeof(path)), -EINVAL);
	}
	/* The failed calls changed nothing. */
	EXPECT(!event_waits(queue));
	path.flags = USABLE;
	EXPECT_EQ(set_path(ctx, id, &path, sizeof(path)), 0);
	EXPECT_EVENT(queue, ROUTE_RESOLVED, id);
}

TEST(other_lengths_are_einval)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	record_t path = path_to(ctx, queue, HERE, PORT);
	uint32_t id = get_resolved(ctx, queue, HERE, PORT);
	uint8_t records[4104] = {};

	memcpy(records, &path, sizeof(path));
	for (uint32_t len = 0; len <= sizeof(records); len++)
		if (len % sizeof(path) || !len || len > 4096)
			EXPECT_EQ(set_path(ctx, id, records, len), -EINVAL);
	EXPECT_EQ(set_path(ctx, id, records, UINT32_MAX), -EINVAL);
	EXPECT(!event_waits(queue));
	await_route(ctx, queue, id);
}

TEST(lifetime_that_no_message_can_tell_is_einval)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	record_t path = path_to(ctx, queue, HERE, PORT);
	uint32_t id = get_resolved(ctx, queue, HERE, PORT);

	for (int lifetime = 32; lifetime < 64; lifetime++) {
		set_lifetime(&path, lifetime);
		EXPECT_EQ(set_path(ctx, id, &path, sizeof(path)), -EINVAL);
	}
}

/* Flip each bit of the path. The kernel must take the path, and connect or refuse. */
TEST(any_bits_do_no_harm)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	unsigned int seed = 1;
	record_t path;

	for (int round = 0; round < 60; round++) {
		uint32_t id = get_resolved(ctx, queue, HERE, 7998);

		for (size_t i = 0; i < sizeof(path.path_rec); i++)
			bytes(&path)[i] = rand_r(&seed);
		path.flags = USABLE;
		bytes(&path)[LIFETIME] &= 0xdf;
		/* The partition lets the path pass the first check of ib_cm. */
		if (round % 2)
			memset(bytes(&path) + PKEY, 0xff, 2);
		EXPECT_EQ(set_path(ctx, id, &path, sizeof(path)), 0);
		EXPECT_EVENT(queue, ROUTE_RESOLVED, id);
		rca_connect(ctx, id, NULL, 0);
		EXPECT_EQ(rca_destroy(ctx, id), 0);
	}
}

TEST(states_that_do_not_take_a_path_are_einval)
{
	struct pair p;
	record_t path;

	p = get_requested(NULL);
	path = path_to(p.ctx, get_queue(p.ctx), HERE, PORT);
	EXPECT_EQ(set_path(p.ctx, get_id(p.ctx, -1, 0), &path, sizeof(path)), -EINVAL);
	for (int i = 0; i < 2; i++) {
		uint32_t id = get_bound(p.ctx, -1, i ? HERE : "0.0.0.0", 0);

		EXPECT_EQ(set_path(p.ctx, id, &path, sizeof(path)), -EINVAL);
	}
	EXPECT_EQ(set_path(p.ctx, p.listener, &path, sizeof(path)), -EINVAL);
	EXPECT_EQ(set_path(p.ctx, p.client, &path, sizeof(path)), -EINVAL);
	EXPECT_EQ(set_path(p.ctx, p.server, &path, sizeof(path)), -EINVAL);
}

TEST(other_options_of_the_level_are_enosys)
{
	int ctx = get_ctx();
	uint32_t id = get_id(ctx, -1, 0), len = sizeof(record_t);
	record_t path = {};

	EXPECT_EQ(rca_set_option(ctx, id, RDMA_OPTION_IB, 0, &path, len), -ENOSYS);
	EXPECT_EQ(rca_set_option(ctx, id, RDMA_OPTION_IB, 2, &path, len), -ENOSYS);
	EXPECT_EQ(rca_get_option(ctx, id, RDMA_OPTION_IB, 2, &path, &len), -ENOSYS);
	EXPECT_EQ(set_path(ctx, id, NULL, len), -EFAULT);
}

TEST(path_can_be_read)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	record_t path = path_to(ctx, queue, HERE, PORT), got[3];
	uint32_t id = get_resolved(ctx, queue, HERE, PORT), len = sizeof(got);

	EXPECT_EQ(rca_get_option(ctx, id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, got, &len),
		  -ENODATA);
	await_route(ctx, queue, id);
	EXPECT_EQ(rca_get_option(ctx, id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, got, &len), 0);
	EXPECT_EQ(len, sizeof(path));
	/* Except the flow label, which depends on the ports. */
	memset(bytes(&got[0]) + FLOW_LABEL, 0, 4);
	memset(bytes(&path) + FLOW_LABEL, 0, 4);
	EXPECT(!memcmp(&got[0], &path, sizeof(path)));
	len = sizeof(path) - 1;
	EXPECT_EQ(rca_get_option(ctx, id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, got, &len),
		  -EINVAL);
}

KTAP_MAIN
