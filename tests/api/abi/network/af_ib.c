// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Addresses of family AF_IB as far as devices without an InfiniBand link layer
 * have them: wildcards can be bound and listened on, by service ID.
 */
#include <endian.h>

#include "rca_test.h"

#define ALL_BITS UINT64_MAX
#define PORT 7471

static addr_t sib_addr(const char *gid, uint64_t sid, uint64_t mask)
{
	struct sib sib = { .family = AF_IB, .sid = htobe64(sid), .sid_mask = htobe64(mask) };
	addr_t addr;

	EXPECT_EQ(inet_pton(AF_INET6, gid, sib.addr), 1);
	memcpy(&addr, &sib, sizeof(addr));
	return addr;
}

static uint64_t sid_of(const addr_t *addr, uint64_t *mask)
{
	struct sib sib;

	memcpy(&sib, addr, sizeof(sib));
	EXPECT_EQ(sib.family, AF_IB);
	*mask = be64toh(sib.sid_mask);
	return be64toh(sib.sid);
}

static int resolve(int ctx, uint32_t id, uint32_t steps, addr_t src, addr_t dst)
{
	struct rdma_cm_alt_resolve cmd = {
		.size = sizeof(cmd),
		.pipe = {
			.steps = steps, .id = id, .queue_fd = -1, .timeout_ms = 2000,
			.src = src, .dst = dst,
		},
	};

	return rca_call(ctx, RDMA_CM_ALT_RESOLVE, &cmd);
}

static int bind_ib(int ctx, uint32_t id, const char *gid, uint64_t sid, uint64_t mask)
{
	return resolve(ctx, id, RDMA_CM_ALT_STEP_BIND, sib_addr(gid, sid, mask),
		       make_addr(NULL, 0));
}

static uint32_t get_ps(int ctx, uint16_t ps)
{
	uint32_t id;

	EXPECT_EQ(rca_create(ctx, -1, ps, IB_UVERBS_QPT_RC, 0, &id), 0);
	return id;
}

TEST(kernel_says_that_it_has_af_ib)
{
	struct rdma_cm_alt_info cmd = { .size = sizeof(cmd) };

	EXPECT_EQ(rca_call(get_ctx(), RDMA_CM_ALT_INFO, &cmd), 0);
	EXPECT(cmd.out_features & RDMA_CM_ALT_FEATURE_AF_IB);
}

TEST(wildcard_can_be_bound_and_its_service_id_is_completed)
{
	static const struct {
		uint16_t ps;
		uint64_t sid;
		uint64_t mask;
		uint64_t wanted;	/* 0: any port of the port space in @ps_wanted */
		uint16_t ps_wanted;
	} cases[] = {
		{ RDMA_PS_TCP, 0x1060000ULL + PORT, ALL_BITS, 0x1060000ULL + PORT, 0 },
		{ RDMA_PS_TCP, PORT, 0xffff, 0x1060000ULL + PORT, 0 },
		{ RDMA_PS_TCP, 0x1060000ULL, ALL_BITS, 0, RDMA_PS_TCP },
		{ RDMA_PS_TCP, 0, 0, 0, RDMA_PS_TCP },
		/* What the mask leaves out does not count. */
		{ RDMA_PS_TCP, 0xabcdef0000000000ULL + PORT + 1, 0xffff,
		  0x1060000ULL + PORT + 1, 0 },
		{ RDMA_PS_IB, 0x13f0000ULL + PORT, ALL_BITS, 0x13f0000ULL + PORT, 0 },
		{ RDMA_PS_IB, 0x1060000ULL + PORT + 2, ALL_BITS, 0x1060000ULL + PORT + 2, 0 },
		{ RDMA_PS_IB, 0x1110000ULL + PORT, ALL_BITS, 0x1110000ULL + PORT, 0 },
		/* The first one that fits. */
		{ RDMA_PS_IB, PORT + 3, 0xffff, 0x13f0000ULL + PORT + 3, 0 },
		{ RDMA_PS_IB, 0, 0, 0, RDMA_PS_IB },
	};
	struct rdma_cm_alt_route route;
	int ctx = get_ctx();

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t id = get_ps(ctx, cases[i].ps);
		uint64_t sid, mask;

		EXPECT_EQ(bind_ib(ctx, id, "::", cases[i].sid, cases[i].mask), 0);
		EXPECT_EQ(rca_query(ctx, id, &route), 0);
		EXPECT_EQ(route.node_guid, 0);
		sid = sid_of(&route.src, &mask);
		EXPECT_EQ(mask, ALL_BITS);
		if (cases[i].wanted)
			EXPECT_EQ(sid, cases[i].wanted);
		else
			EXPECT_EQ(sid >> 16, cases[i].ps_wanted);
		EXPECT(sid & 0xffff);
		EXPECT_EQ(rca_destroy(ctx, id), 0);
	}
}

TEST(service_id_of_another_port_space_is_eprotonosupport)
{
	static const struct {
		uint16_t ps;
		uint64_t sid;
		uint64_t mask;
	} cases[] = {
		{ RDMA_PS_TCP, 0x1110000ULL + PORT, ALL_BITS },
		{ RDMA_PS_TCP, 0x13f0000ULL + PORT, ALL_BITS },
		{ RDMA_PS_TCP, PORT, ALL_BITS },
		{ RDMA_PS_TCP, 0x0002000001060000ULL, ALL_BITS },
		{ RDMA_PS_IB, 0x20000ULL + PORT, ALL_BITS },
		{ RDMA_PS_IB, 0x1000000000000001ULL, ALL_BITS },
	};
	int ctx = get_ctx();

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t id = get_ps(ctx, cases[i].ps);

		EXPECT_EQ(bind_ib(ctx, id, "::", cases[i].sid, cases[i].mask), -EPROTONOSUPPORT);
		/* It may be tried again. */
		EXPECT_EQ(rca_bind(ctx, id, HERE, 0), 0);
	}
}

TEST(address_that_no_infiniband_port_has_is_enodev)
{
	int ctx = get_ctx();

	EXPECT_EQ(bind_ib(ctx, get_ps(ctx, RDMA_PS_TCP), "fe80::1", 0x1060000ULL, ALL_BITS),
		  -ENODEV);
	/* Nor has a RoCE device one, not even its own. */
	EXPECT_EQ(bind_ib(ctx, get_ps(ctx, RDMA_PS_TCP), "::ffff:10.9.0.1", 0x1060000ULL,
			  ALL_BITS), -ENODEV);
	/* The device comes before the service ID. */
	EXPECT_EQ(bind_ib(ctx, get_ps(ctx, RDMA_PS_TCP), "fe80::1", 0x1110000ULL, ALL_BITS),
		  -ENODEV);
}

TEST(conflicts_are_those_of_wildcards)
{
	int ctx = get_ctx();
	uint64_t sid = 0x1060000ULL + PORT;
	uint32_t id = get_ps(ctx, RDMA_PS_TCP);

	EXPECT_EQ(bind_ib(ctx, id, "::", sid, ALL_BITS), 0);
	EXPECT_EQ(bind_ib(ctx, get_ps(ctx, RDMA_PS_TCP), "::", sid, ALL_BITS), -EADDRNOTAVAIL);
	EXPECT_EQ(bind_ib(ctx, get_ps(ctx, RDMA_PS_TCP), "::1", sid, ALL_BITS), -EADDRNOTAVAIL);
	EXPECT_EQ(rca_bind(ctx, get_ps(ctx, RDMA_PS_TCP), HERE, PORT), -EADDRNOTAVAIL);
	EXPECT_EQ(rca_bind(ctx, get_ps(ctx, RDMA_PS_TCP), "0.0.0.0", PORT), -EADDRNOTAVAIL);
	/* An id of RDMA_PS_IB in the TCP port space is in its way, one in its own is not. */
	EXPECT_EQ(bind_ib(ctx, get_ps(ctx, RDMA_PS_IB), "::", sid, ALL_BITS), -EADDRNOTAVAIL);
	EXPECT_EQ(rca_bind(ctx, get_ps(ctx, RDMA_PS_IB), "0.0.0.0", PORT), 0);
	EXPECT_EQ(rca_destroy(ctx, id), 0);
	EXPECT_EQ(bind_ib(ctx, get_ps(ctx, RDMA_PS_IB), "::", sid, ALL_BITS), 0);
	EXPECT_EQ(rca_bind(ctx, get_ps(ctx, RDMA_PS_TCP), HERE, PORT), -EADDRNOTAVAIL);
}

TEST(low_port_needs_the_capability)
{
	int ctx = get_ctx();

	EXPECT_EQ(bind_ib(ctx, get_ps(ctx, RDMA_PS_TCP), "::", 0x1060000ULL + 1000, ALL_BITS), 0);
	MUST(setuid(65534));
	EXPECT_EQ(bind_ib(ctx, get_ps(ctx, RDMA_PS_TCP), "::", 0x1060000ULL + 1001, ALL_BITS),
		  -EACCES);
}

TEST(wildcard_listens)
{
	struct rdma_cm_alt_listen cmd = { .size = sizeof(cmd) };
	int ctx = get_ctx();
	uint64_t mask;

	cmd.id = get_ps(ctx, RDMA_PS_TCP);
	EXPECT_EQ(bind_ib(ctx, cmd.id, "::", 0x1060000ULL + PORT, ALL_BITS), 0);
	EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_LISTEN, &cmd), 0);
	EXPECT_EQ(sid_of(&cmd.out_route.src, &mask), 0x1060000ULL + PORT);
	EXPECT_EQ(rca_listen(ctx, cmd.id, 0), -EINVAL);
	EXPECT_EQ(rca_bind(ctx, get_ps(ctx, RDMA_PS_TCP), HERE, PORT), -EADDRNOTAVAIL);
}

/* Whose service ID it is, the address says, not the id. */
TEST(listener_has_the_port_space_of_its_service_id)
{
	int ctx = get_ctx(), lq = get_queue(ctx), cq = get_queue(ctx);
	uint32_t listener, client;

	EXPECT_EQ(rca_create(ctx, lq, RDMA_PS_IB, IB_UVERBS_QPT_RC, 0, &listener), 0);
	EXPECT_EQ(bind_ib(ctx, listener, "::", 0x1060000ULL + PORT, ALL_BITS), 0);
	EXPECT_EQ(rca_listen(ctx, listener, 0), 0);
	client = get_client(ctx, cq, HERE, PORT, 0);
	EXPECT_EQ(rca_connect(ctx, client, NULL, 0), 0);
	EXPECT_EVENT(lq, CONNECT_REQUEST, 0);
}

TEST(nothing_to_resolve_without_an_infiniband_port)
{
	static const char * const dsts[] = { "fe80::1", "::ffff:10.9.0.1", "::", "::1" };
	const addr_t none = make_addr(NULL, 0);
	uint64_t sid = 0x1060000ULL + PORT;
	int ctx = get_ctx();
	uint32_t id;

	for (int i = 0; i < 4; i++) {
		id = get_ps(ctx, RDMA_PS_TCP);
		EXPECT_EQ(resolve(ctx, id, RDMA_CM_ALT_STEP_ADDR, none,
				  sib_addr(dsts[i], sid, ALL_BITS)), -ENODEV);
		/* Bound by then, as with stock. */
		EXPECT_EQ(rca_bind(ctx, id, HERE, 0), -EINVAL);
		EXPECT_EQ(rca_listen(ctx, id, 0), 0);
	}
	id = get_ps(ctx, RDMA_PS_TCP);
	EXPECT_EQ(resolve(ctx, id, RDMA_CM_ALT_STEP_ADDR,
			  sib_addr("::", 0x1110000ULL, ALL_BITS),
			  sib_addr("fe80::1", sid, ALL_BITS)), -EPROTONOSUPPORT);
	EXPECT_EQ(resolve(ctx, id, RDMA_CM_ALT_STEP_ADDR, make_addr(HERE, 0),
			  sib_addr("fe80::1", sid, ALL_BITS)), -EINVAL);
	EXPECT_EQ(rca_bind(ctx, id, HERE, 0), 0);
	EXPECT_EQ(resolve(ctx, id, RDMA_CM_ALT_STEP_ADDR, none,
			  sib_addr("fe80::1", sid, ALL_BITS)), -EINVAL);
}

KTAP_MAIN
