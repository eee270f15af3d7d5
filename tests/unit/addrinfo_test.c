// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of rdma_getaddrinfo(), with numeric names only. */
#include <netdb.h>
#include <infiniband/ib.h>

#include "fixture.h"
#include "rdma_cma_new.h"

static void without_hints_it_is_a_tcp_peer(void **state)
{
	struct sockaddr_in *sin;
	struct rdma_addrinfo *rai;

	(void)state;
	assert_int_equal(rdma_getaddrinfo("10.9.0.1", "7174", NULL, &rai), 0);
	assert_int_equal(rai->ai_flags, 0);
	assert_int_equal(rai->ai_family, AF_INET);
	assert_int_equal(rai->ai_port_space, RDMA_PS_TCP);
	assert_int_equal(rai->ai_qp_type, IBV_QPT_RC);
	assert_int_equal(rai->ai_src_len, 0);
	assert_int_equal(rai->ai_dst_len, sizeof(*sin));
	sin = (struct sockaddr_in *)rai->ai_dst_addr;
	assert_int_equal(sin->sin_port, htons(7174));
	assert_null(rai->ai_next);
	rdma_freeaddrinfo(rai);
	rdma_freeaddrinfo(NULL);
}

static void passive_is_the_local_side_only(void **state)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_PASSIVE, .ai_port_space = RDMA_PS_TCP };
	struct rdma_addrinfo *rai;

	(void)state;
	assert_int_equal(rdma_getaddrinfo(NULL, "7174", &hints, &rai), 0);
	assert_int_equal(rai->ai_flags, RAI_PASSIVE);
	assert_int_equal(rai->ai_dst_len, 0);
	assert_true(rai->ai_src_len > 0);
	rdma_freeaddrinfo(rai);
}

static void hints_choose_port_space_and_qp_type(void **state)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_UDP };
	struct rdma_addrinfo *rai;

	(void)state;
	assert_int_equal(rdma_getaddrinfo("10.9.0.1", "1", &hints, &rai), 0);
	assert_int_equal(rai->ai_port_space, RDMA_PS_UDP);
	assert_int_equal(rai->ai_qp_type, IBV_QPT_UD);
	rdma_freeaddrinfo(rai);

	hints = (struct rdma_addrinfo) { .ai_port_space = RDMA_PS_IB, .ai_qp_type = IBV_QPT_UC };
	assert_int_equal(rdma_getaddrinfo("10.9.0.1", "1", &hints, &rai), 0);
	assert_int_equal(rai->ai_port_space, RDMA_PS_IB);
	assert_int_equal(rai->ai_qp_type, IBV_QPT_UC);
	rdma_freeaddrinfo(rai);
}

static void source_of_the_hints_is_copied(void **state)
{
	struct rdma_addrinfo hints = {
		.ai_src_addr = addr4("10.9.0.1", 0), .ai_src_len = sizeof(struct sockaddr_in),
	};
	struct rdma_addrinfo *rai;

	(void)state;
	assert_int_equal(rdma_getaddrinfo("10.9.0.2", "1", &hints, &rai), 0);
	assert_ptr_not_equal(rai->ai_src_addr, hints.ai_src_addr);
	assert_memory_equal(rai->ai_src_addr, hints.ai_src_addr, sizeof(struct sockaddr_in));
	rdma_freeaddrinfo(rai);
}

static void hints_alone_are_copied(void **state)
{
	struct rdma_addrinfo hints = {
		.ai_flags = RAI_NOROUTE, .ai_family = AF_INET, .ai_port_space = RDMA_PS_TCP,
		.ai_qp_type = IBV_QPT_RC, .ai_dst_addr = addr4("10.9.0.2", 5),
		.ai_dst_len = sizeof(struct sockaddr_in),
	};
	struct rdma_addrinfo *rai;

	(void)state;
	assert_int_equal(rdma_getaddrinfo(NULL, NULL, &hints, &rai), 0);
	assert_int_equal(rai->ai_flags, RAI_NOROUTE);
	assert_int_equal(rai->ai_qp_type, IBV_QPT_RC);
	assert_memory_equal(rai->ai_dst_addr, hints.ai_dst_addr, sizeof(struct sockaddr_in));
	rdma_freeaddrinfo(rai);
}

static void gid_becomes_an_ib_address(void **state)
{
	struct rdma_addrinfo hints = {
		.ai_flags = RAI_NUMERICHOST | RAI_FAMILY, .ai_family = AF_IB,
		.ai_port_space = RDMA_PS_TCP,
	};
	struct rdma_addrinfo *rai;
	struct sockaddr_ib *sib;

	(void)state;
	assert_int_equal(rdma_getaddrinfo("fe80::1", "258", &hints, &rai), 0);
	assert_int_equal(rai->ai_family, AF_IB);
	assert_int_equal(rai->ai_dst_len, sizeof(*sib));
	sib = (struct sockaddr_ib *)rai->ai_dst_addr;
	assert_int_equal(sib->sib_family, AF_IB);
	assert_int_equal(sib->sib_pkey, htons(0xffff));
	assert_true(sib->sib_sid == htobe64(0x01060102));
	assert_true(sib->sib_sid_mask == htobe64(UINT64_MAX));
	assert_int_equal(((uint8_t *)&sib->sib_addr)[15], 1);
	rdma_freeaddrinfo(rai);
	/* An IPv4 address is no GID. */
	assert_true(rdma_getaddrinfo("10.9.0.1", "1", &hints, &rai) != 0);
}

static void errors_of_libc_come_through(void **state)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_NUMERICHOST };
	struct rdma_addrinfo *rai;

	(void)state;
	assert_int_equal(rdma_getaddrinfo("no.number", "1", &hints, &rai), EAI_NONAME);
}

static void errors_of_our_own_are_errno(void **state)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_SA };
	struct rdma_addrinfo *rai;

	(void)state;
	assert_fails(EINVAL, rdma_getaddrinfo(NULL, NULL, NULL, &rai));
	assert_fails(EINVAL, rdma_getaddrinfo("10.9.0.1", "1", NULL, NULL));
	assert_fails(EOPNOTSUPP, rdma_getaddrinfo("10.9.0.1", "1", &hints, &rai));
	rcl_devices_reset();
	fake_verbs.devices = 0;
	assert_fails(ENODEV, rdma_getaddrinfo("10.9.0.1", "1", NULL, &rai));
}

static const struct CMUnitTest tests[] = {
	TEST(without_hints_it_is_a_tcp_peer),
	TEST(passive_is_the_local_side_only),
	TEST(hints_choose_port_space_and_qp_type),
	TEST(source_of_the_hints_is_copied),
	TEST(hints_alone_are_copied),
	TEST(gid_becomes_an_ib_address),
	TEST(errors_of_libc_come_through),
	TEST(errors_of_our_own_are_errno),
};

RUN(tests)
