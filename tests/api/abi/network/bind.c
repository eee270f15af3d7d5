// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Binding: which addresses and ports an id may have, and who is in whose way. */
#include <net/if.h>

#include "rca_test.h"
#include "tasks.h"

#define PORT 7471

static void own_port_range(unsigned int *low, unsigned int *high)
{
	FILE *file = fopen("/proc/sys/net/ipv4/ip_local_port_range", "r");

	EXPECT(file && fscanf(file, "%u %u", low, high) == 2);
	fclose(file);
}

static int bind_new(int ctx, const char *ip, uint16_t port)
{
	uint32_t id = get_id(ctx, -1, 0);
	int ret = rca_bind(ctx, id, ip, port);

	if (ret)
		EXPECT_EQ(rca_destroy(ctx, id), 0);
	return ret;
}

TEST(local_address_has_a_device)
{
	static const uint8_t none[16];
	struct rdma_cm_alt_route route;
	int ctx = get_ctx();
	uint32_t id = get_bound(ctx, -1, HERE, PORT);

	EXPECT_EQ(rca_query(ctx, id, &route), 0);
	EXPECT(addr_is(&route.src, HERE));
	EXPECT_EQ(addr_port(&route.src), PORT);
	/* The peer's address has its family only, as with stock. */
	EXPECT(addr_is(&route.dst, "0.0.0.0"));
	EXPECT_EQ(addr_port(&route.dst), 0);
	EXPECT(!memcmp(route.dgid, none, 16));
	EXPECT(route.node_guid != 0);
	EXPECT_EQ(route.port_num, 1);
	EXPECT_EQ(route.pkey, htons(0xffff));
	EXPECT_EQ(route.num_paths, 0);
	/* ::ffff:10.9.0.1 */
	EXPECT(!memcmp(route.sgid, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\x09\0\x01", 16));
}

TEST(local_ipv6_address_has_a_device)
{
	struct rdma_cm_alt_route route;
	struct in6_addr in6;
	int ctx = get_ctx();
	uint32_t id = get_bound(ctx, -1, HERE6, PORT);

	EXPECT_EQ(rca_query(ctx, id, &route), 0);
	EXPECT(addr_is(&route.src, HERE6));
	EXPECT(route.node_guid != 0);
	inet_pton(AF_INET6, HERE6, &in6);
	EXPECT(!memcmp(route.sgid, &in6, 16));
}

TEST(wildcard_has_none)
{
	static const char * const addrs[] = { "0.0.0.0", "::", "127.0.0.1", "::1" };
	struct rdma_cm_alt_route route;
	int ctx = get_ctx();

	for (int i = 0; i < 4; i++) {
		uint32_t id = get_bound(ctx, -1, addrs[i], 0);

		EXPECT_EQ(rca_query(ctx, id, &route), 0);
		EXPECT(addr_is(&route.src, addrs[i]));
		EXPECT(addr_port(&route.src) != 0);
		EXPECT_EQ(route.node_guid, 0);
		EXPECT_EQ(route.port_num, 0);
	}
}

TEST(devices_differ_by_address)
{
	struct rdma_cm_alt_route here, elsewhere;
	int ctx = get_ctx();

	EXPECT_EQ(rca_query(ctx, get_bound(ctx, -1, HERE, 0), &here), 0);
	EXPECT_EQ(rca_query(ctx, get_bound(ctx, -1, ELSEWHERE, 0), &elsewhere), 0);
	EXPECT(here.node_guid != elsewhere.node_guid);
	EXPECT(here.ibdev_index != elsewhere.ibdev_index);
}

TEST(port_0_is_a_free_port_of_the_range)
{
	unsigned int low, high;
	int ctx = get_ctx();

	own_port_range(&low, &high);
	for (int i = 0; i < 20; i++) {
		uint16_t port = get_port(ctx, get_bound(ctx, -1, HERE, 0));

		EXPECT(port >= low && port <= high);
		EXPECT_EQ(bind_new(ctx, HERE, port), -EADDRINUSE);
	}
}

TEST(address_that_is_not_local_is_eaddrnotavail)
{
	int ctx = get_ctx();

	EXPECT_EQ(bind_new(ctx, NOT_OURS, 0), -EADDRNOTAVAIL);
	EXPECT_EQ(bind_new(ctx, "2001:db8::1", 0), -EADDRNOTAVAIL);
	EXPECT_EQ(bind_new(ctx, NOBODY, 0), -EADDRNOTAVAIL);
}

TEST(address_without_rdma_device_is_enodev)
{
	int ctx = get_ctx();

	if (system("ip addr add 10.66.0.1/24 dev v1"))
		ktap_skip("cannot add an address to v1");
	EXPECT_EQ(bind_new(ctx, "10.66.0.1", 0), -ENODEV);
	EXPECT_EQ(system("ip addr del 10.66.0.1/24 dev v1"), 0);
}

TEST(same_address_and_port_is_eaddrinuse)
{
	int ctx = get_ctx(), other = get_ctx();

	get_bound(ctx, -1, HERE, PORT);
	EXPECT_EQ(bind_new(ctx, HERE, PORT), -EADDRINUSE);
	EXPECT_EQ(bind_new(other, HERE, PORT), -EADDRINUSE);
}

TEST(another_address_or_port_is_free)
{
	int ctx = get_ctx();

	get_bound(ctx, -1, HERE, PORT);
	get_bound(ctx, -1, THERE, PORT);
	get_bound(ctx, -1, HERE6, PORT);
	get_bound(ctx, -1, HERE, PORT + 1);
}

TEST(wildcard_beside_an_address_is_eaddrnotavail)
{
	int ctx = get_ctx();

	get_bound(ctx, -1, HERE, PORT);
	EXPECT_EQ(bind_new(ctx, "0.0.0.0", PORT), -EADDRNOTAVAIL);
	EXPECT_EQ(bind_new(ctx, "127.0.0.1", PORT), -EADDRNOTAVAIL);
}

TEST(address_beside_a_wildcard_is_eaddrnotavail)
{
	int ctx = get_ctx();

	get_bound(ctx, -1, "0.0.0.0", PORT);
	EXPECT_EQ(bind_new(ctx, HERE, PORT), -EADDRNOTAVAIL);
	EXPECT_EQ(bind_new(ctx, "0.0.0.0", PORT), -EADDRNOTAVAIL);
}

TEST(wildcards_of_both_families_are_in_each_others_way)
{
	int ctx = get_ctx();

	get_bound(ctx, -1, "::", PORT);
	EXPECT_EQ(bind_new(ctx, "0.0.0.0", PORT), -EADDRNOTAVAIL);
}

TEST(wildcards_of_one_family_each_are_not)
{
	int ctx = get_ctx(), on = 1;
	uint32_t id = get_id(ctx, -1, 0);

	EXPECT_EQ(rca_set_option(ctx, id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &on, sizeof(on)),
		  0);
	EXPECT_EQ(rca_bind(ctx, id, "::", PORT), 0);
	EXPECT_EQ(bind_new(ctx, "0.0.0.0", PORT), 0);
}

static uint32_t get_reusing(int ctx)
{
	uint32_t id = get_id(ctx, -1, 0);
	int on = 1;

	EXPECT_EQ(rca_set_option(ctx, id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on,
				 sizeof(on)), 0);
	return id;
}

TEST(reusers_share_a_port_and_one_alone_may_listen)
{
	int ctx = get_ctx();
	uint32_t first = get_reusing(ctx), second = get_reusing(ctx);

	EXPECT_EQ(rca_bind(ctx, first, HERE, PORT), 0);
	EXPECT_EQ(rca_bind(ctx, second, HERE, PORT), 0);
	EXPECT_EQ(rca_listen(ctx, first, 0), -EADDRINUSE);
	EXPECT_EQ(rca_listen(ctx, second, 0), -EADDRINUSE);
	/* The refusal changed nothing: the second id may listen when the first one is destroyed. */
	EXPECT_EQ(rca_destroy(ctx, first), 0);
	EXPECT_EQ(rca_listen(ctx, second, 0), 0);
	EXPECT_EQ(rca_bind(ctx, get_reusing(ctx), HERE, PORT), -EADDRINUSE);
}

TEST(one_reuser_is_not_enough)
{
	int ctx = get_ctx();

	get_bound(ctx, -1, HERE, PORT);
	EXPECT_EQ(rca_bind(ctx, get_reusing(ctx), HERE, PORT), -EADDRINUSE);
}

TEST(port_spaces_are_apart)
{
	int ctx = get_ctx();
	uint32_t id;

	get_bound(ctx, -1, HERE, PORT);
	EXPECT_EQ(rca_create(ctx, -1, RDMA_PS_IB, IB_UVERBS_QPT_RC, 0, &id), 0);
	EXPECT_EQ(rca_bind(ctx, id, HERE, PORT), 0);
}

TEST(port_is_free_when_destroy_returns)
{
	int ctx = get_ctx();

	for (int i = 0; i < 20; i++)
		EXPECT_EQ(rca_destroy(ctx, get_bound(ctx, -1, HERE, PORT)), 0);
}

TEST(port_is_free_when_the_context_is_closed)
{
	for (int i = 0; i < 20; i++) {
		int ctx = get_ctx();

		get_bound(ctx, -1, HERE, PORT);
		MUST(close(ctx));
	}
}

TEST(low_port_needs_the_capability)
{
	int ctx = get_ctx();

	EXPECT_EQ(bind_new(ctx, HERE, 1000), 0);
	MUST(setuid(65534));
	EXPECT_EQ(bind_new(ctx, HERE, 1001), -EACCES);
	EXPECT_EQ(bind_new(ctx, HERE, 1024), 0);
}

TEST(capability_is_that_of_the_caller)
{
	pid_t pid;
	int ctx;

	/* The context is opened by root: the capabilities of the caller count. */
	ctx = get_ctx();
	pid = MUST(fork());
	if (!pid) {
		MUST(setuid(65534));
		_exit(bind_new(ctx, HERE, 1000) != -EACCES);
	}
	EXPECT_EQ(wait_exit(pid), 0);
	EXPECT_EQ(bind_new(ctx, HERE, 1000), 0);
}

/* A program whose struct ends before the route. */
TEST(answer_without_the_route)
{
	struct rdma_cm_alt_resolve cmd = {
		.size = offsetof(struct rdma_cm_alt_resolve, out_route),
		.pipe = {
			.steps = RDMA_CM_ALT_STEP_BIND, .queue_fd = -1, .src = make_addr(HERE, 0),
		},
	};
	int ctx = get_ctx();

	cmd.pipe.id = get_id(ctx, -1, 0);
	memset(&cmd.out_route, 0x5a, sizeof(cmd.out_route));
	EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_RESOLVE, &cmd), 0);
	EXPECT_EQ(cmd.out_id, cmd.pipe.id);
	EXPECT_EQ(cmd.out_done, RDMA_CM_ALT_STEP_BIND);
	for (size_t i = 0; i < sizeof(cmd.out_route); i++)
		EXPECT_EQ(((uint8_t *)&cmd.out_route)[i], 0x5a);
}

TEST(no_or_unknown_family)
{
	struct rdma_cm_alt_resolve cmd = {
		.size = sizeof(cmd),
		.pipe = { .steps = RDMA_CM_ALT_STEP_BIND, .queue_fd = -1 },
	};
	static const struct {
		uint16_t family;
		int result;
	} cases[] = {
		{ AF_UNSPEC, -EINVAL }, { AF_UNIX, -EINVAL }, { 0xffff, -EINVAL },
	};
	int ctx = get_ctx();

	cmd.pipe.id = get_id(ctx, -1, 0);
	for (int i = 0; i < 3; i++) {
		cmd.pipe.src.family = cases[i].family;
		EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_RESOLVE, &cmd), cases[i].result);
	}
	/* Also where the address is not needed. */
	cmd.pipe.src = make_addr(HERE, 0);
	cmd.pipe.dst.family = AF_UNIX;
	EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_RESOLVE, &cmd), -EINVAL);
	cmd.pipe.dst.family = 0;
	EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_RESOLVE, &cmd), 0);
}

TEST(bytes_that_an_address_does_not_use_are_ignored)
{
	struct rdma_cm_alt_resolve cmd = {
		.size = sizeof(cmd),
		.pipe = { .steps = RDMA_CM_ALT_STEP_BIND, .queue_fd = -1 },
	};
	int ctx = get_ctx();

	cmd.pipe.id = get_id(ctx, -1, 0);
	cmd.pipe.src = make_addr(HERE, PORT);
	memset(cmd.pipe.src.bytes + 8, 0xff, sizeof(cmd.pipe.src.bytes) - 8);
	EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_RESOLVE, &cmd), 0);
	EXPECT(addr_is(&cmd.out_route.src, HERE));
	EXPECT_EQ(bind_new(ctx, HERE, PORT), -EADDRINUSE);
}

/* The link-local address of d0, with or without its scope. */
static int bind_linklocal(int ctx, unsigned int scope)
{
	struct rdma_cm_alt_resolve cmd = {
		.size = sizeof(cmd),
		.pipe = { .steps = RDMA_CM_ALT_STEP_BIND, .queue_fd = -1 },
	};
	FILE *file = fopen("/proc/net/if_inet6", "r");
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_scope_id = scope };
	char text[33], name[32];

	EXPECT(file);
	while (fscanf(file, "%32s %*x %*x %*x %*x %31s", text, name) == 2) {
		if (strcmp(name, "d0") || strncmp(text, "fe80", 4))
			continue;
		for (int i = 0; i < 16; i++) {
			char byte[] = { text[2 * i], text[2 * i + 1], 0 };

			in6.sin6_addr.s6_addr[i] = strtoul(byte, NULL, 16);
		}
		fclose(file);
		memcpy(&cmd.pipe.src, &in6, sizeof(in6));
		cmd.pipe.id = get_id(ctx, -1, 0);
		return rca_call(ctx, RDMA_CM_ALT_RESOLVE, &cmd);
	}
	ktap_skip("d0 has no link-local address");
}

TEST(link_local_address_needs_a_scope)
{
	int ctx = get_ctx();

	EXPECT_EQ(bind_linklocal(ctx, 0), -EINVAL);
	EXPECT_EQ(bind_linklocal(ctx, if_nametoindex("d0")), 0);
}

TEST(bind_twice_is_einval)
{
	int ctx = get_ctx();
	uint32_t id = get_bound(ctx, -1, HERE, PORT);

	EXPECT_EQ(rca_bind(ctx, id, HERE, PORT + 1), -EINVAL);
	EXPECT_EQ(get_port(ctx, id), PORT);
}

TEST(bind_that_failed_may_be_tried_again)
{
	int ctx = get_ctx();
	uint32_t id = get_id(ctx, -1, 0);

	EXPECT_EQ(rca_bind(ctx, id, NOT_OURS, PORT), -EADDRNOTAVAIL);
	EXPECT_EQ(rca_bind(ctx, id, HERE, PORT), 0);
}

TEST(namespaces_are_apart)
{
	int ctx = get_ctx();
	uint32_t id;

	get_bound(ctx, -1, "0.0.0.0", PORT);
	MUST(unshare(CLONE_NEWNET));
	/* The id is in the namespace of its creator, not of the context's opener. */
	id = get_id(ctx, -1, 0);
	EXPECT_EQ(rca_bind(ctx, id, HERE, PORT), -EADDRNOTAVAIL);
	EXPECT_EQ(rca_bind(ctx, id, "0.0.0.0", PORT), 0);
	EXPECT_EQ(bind_new(ctx, "0.0.0.0", PORT), -EADDRNOTAVAIL);
}

TEST(namespace_of_an_id_stays)
{
	int ctx = get_ctx();
	uint32_t id = get_id(ctx, -1, 0);

	MUST(unshare(CLONE_NEWNET));
	EXPECT_EQ(rca_bind(ctx, id, HERE, PORT), 0);
}

KTAP_MAIN
