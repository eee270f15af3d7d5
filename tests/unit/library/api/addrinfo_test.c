// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of rdma_getaddrinfo(), with numeric names only. */
#include <netdb.h>
#include <stdlib.h>
#include <infiniband/ib.h>

#include "fake/fixture.h"
#include "base/rdma_cma_new.h"

TEST(without_hints_it_is_a_tcp_peer)
{
	struct sockaddr_in *sin;
	struct rdma_addrinfo *rai;

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

TEST(passive_is_the_local_side_only)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_PASSIVE, .ai_port_space = RDMA_PS_TCP };
	struct rdma_addrinfo *rai;

	assert_int_equal(rdma_getaddrinfo(NULL, "7174", &hints, &rai), 0);
	assert_int_equal(rai->ai_flags, RAI_PASSIVE);
	assert_int_equal(rai->ai_dst_len, 0);
	assert_true(rai->ai_src_len > 0);
	rdma_freeaddrinfo(rai);
}

TEST(hints_choose_port_space_and_qp_type)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_UDP };
	struct rdma_addrinfo *rai;

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

TEST(source_of_the_hints_is_copied)
{
	struct rdma_addrinfo hints = {
		.ai_src_addr = addr4("10.9.0.1", 0), .ai_src_len = sizeof(struct sockaddr_in),
	};
	struct rdma_addrinfo *rai;

	assert_int_equal(rdma_getaddrinfo("10.9.0.2", "1", &hints, &rai), 0);
	assert_ptr_not_equal(rai->ai_src_addr, hints.ai_src_addr);
	assert_memory_equal(rai->ai_src_addr, hints.ai_src_addr, sizeof(struct sockaddr_in));
	rdma_freeaddrinfo(rai);
}

TEST(hints_alone_are_copied)
{
	struct rdma_addrinfo hints = {
		.ai_flags = RAI_NOROUTE, .ai_family = AF_INET, .ai_port_space = RDMA_PS_TCP,
		.ai_qp_type = IBV_QPT_RC, .ai_dst_addr = addr4("10.9.0.2", 5),
		.ai_dst_len = sizeof(struct sockaddr_in),
	};
	struct rdma_addrinfo *rai;

	assert_int_equal(rdma_getaddrinfo(NULL, NULL, &hints, &rai), 0);
	assert_int_equal(rai->ai_flags, RAI_NOROUTE);
	assert_int_equal(rai->ai_qp_type, IBV_QPT_RC);
	assert_memory_equal(rai->ai_dst_addr, hints.ai_dst_addr, sizeof(struct sockaddr_in));
	rdma_freeaddrinfo(rai);
}

TEST(gid_becomes_an_ib_address)
{
	struct rdma_addrinfo hints = {
		.ai_flags = RAI_NUMERICHOST | RAI_FAMILY, .ai_family = AF_IB,
		.ai_port_space = RDMA_PS_TCP,
	};
	struct rdma_addrinfo *rai;
	struct sockaddr_ib *sib;

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
	/* An IPv4 address is not a GID. */
	assert_true(rdma_getaddrinfo("10.9.0.1", "1", &hints, &rai) != 0);
}

TEST(errors_of_libc_come_through)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_NUMERICHOST };
	struct addrinfo libc_hints = { .ai_flags = AI_NUMERICHOST, .ai_family = AF_INET6 };
	struct rdma_addrinfo *rai;
	struct addrinfo *list;

	assert_int_equal(rdma_getaddrinfo("no.number", "1", &hints, &rai), EAI_NONAME);
	assert_int_equal(rdma_getaddrinfo("10.9.0.1", "no-such-service", &hints, &rai),
			 EAI_SERVICE);
	hints.ai_family = AF_INET6;
	/* glibc and musl have different errors for this, and for a wrong port space. */
	assert_int_equal(rdma_getaddrinfo("10.9.0.1", "1", &hints, &rai),
			 getaddrinfo("10.9.0.1", "1", &libc_hints, &list));
	hints = (struct rdma_addrinfo) { .ai_family = 77 };
	assert_int_equal(rdma_getaddrinfo("10.9.0.1", "1", &hints, &rai), EAI_FAMILY);
	/* A datagram QP has no stream port space. */
	hints = (struct rdma_addrinfo) { .ai_port_space = RDMA_PS_TCP, .ai_qp_type = IBV_QPT_UD };
	libc_hints = (struct addrinfo) { .ai_socktype = SOCK_DGRAM, .ai_protocol = IPPROTO_TCP };
	assert_int_equal(rdma_getaddrinfo("10.9.0.1", "1", &hints, &rai),
			 getaddrinfo("10.9.0.1", "1", &libc_hints, &list));
}

static int length(const struct rdma_addrinfo *rai)
{
	int n;

	for (n = 0; rai; rai = rai->ai_next)
		n++;
	return n;
}

TEST(all_addresses_are_in_the_list_once)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_PASSIVE };
	struct rdma_addrinfo *rai;

	/* The wildcards of IPv4 and IPv6, without duplicates for datagrams. */
	assert_int_equal(rdma_getaddrinfo(NULL, "7174", &hints, &rai), 0);
	assert_int_equal(length(rai), 2);
	assert_int_not_equal(rai->ai_family, rai->ai_next->ai_family);
	assert_int_equal(rai->ai_next->ai_flags, RAI_PASSIVE);
	assert_int_equal(rai->ai_next->ai_port_space, RDMA_PS_TCP);
	assert_int_equal(rai->ai_next->ai_qp_type, IBV_QPT_RC);
	assert_true(rai->ai_next->ai_src_len > 0);
	rdma_freeaddrinfo(rai);
	hints.ai_port_space = RDMA_PS_UDP;
	hints.ai_family = AF_INET6;
	assert_int_equal(rdma_getaddrinfo(NULL, "7174", &hints, &rai), 0);
	assert_int_equal(length(rai), 1);
	rdma_freeaddrinfo(rai);
}

TEST(addresses_go_with_the_source_of_the_hints)
{
	struct rdma_addrinfo hints = {
		.ai_src_addr = addr4("10.9.0.1", 0), .ai_src_len = sizeof(struct sockaddr_in),
	};
	struct rdma_addrinfo *rai;

	/* The loopback addresses of both families, unless one family is requested. */
	assert_int_equal(rdma_getaddrinfo(NULL, "1", &hints, &rai), 0);
	assert_int_equal(length(rai), 1);
	assert_int_equal(rai->ai_family, AF_INET);
	assert_memory_equal(rai->ai_src_addr, hints.ai_src_addr, sizeof(struct sockaddr_in));
	rdma_freeaddrinfo(rai);
	/* No address matches: rdma_resolve_addr reports the error later. */
	assert_int_equal(rdma_getaddrinfo("::1", "1", &hints, &rai), 0);
	assert_int_equal(rai->ai_family, AF_INET6);
	assert_int_equal(rai->ai_src_len, sizeof(struct sockaddr_in));
	rdma_freeaddrinfo(rai);
}

TEST(scope_of_a_link_local_address_is_kept)
{
	struct rdma_addrinfo hints = {
		.ai_flags = RAI_NUMERICHOST | RAI_FAMILY, .ai_family = AF_IB,
	};
	struct sockaddr_in6 *sin6;
	struct rdma_addrinfo *rai;
	struct sockaddr_ib *sib;

	assert_int_equal(rdma_getaddrinfo("fe80::1%1", "5", NULL, &rai), 0);
	sin6 = (struct sockaddr_in6 *)rai->ai_dst_addr;
	assert_int_equal(sin6->sin6_scope_id, 1);
	rdma_freeaddrinfo(rai);
	assert_int_equal(rdma_getaddrinfo("fe80::1%1", "5", &hints, &rai), 0);
	sib = (struct sockaddr_ib *)rai->ai_dst_addr;
	assert_int_equal((int)sib->sib_scope_id, 1);
	rdma_freeaddrinfo(rai);
}

TEST(family_hint_without_a_number_is_an_ip_name)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_FAMILY, .ai_family = AF_IB };
	struct rdma_addrinfo *rai;

	assert_int_equal(rdma_getaddrinfo("10.9.0.1", "5", &hints, &rai), 0);
	assert_int_equal(rai->ai_family, AF_INET);
	rdma_freeaddrinfo(rai);
}

TEST(passive_gid_is_the_local_side)
{
	struct rdma_addrinfo hints = {
		.ai_flags = RAI_NUMERICHOST | RAI_FAMILY | RAI_PASSIVE, .ai_family = AF_IB,
		.ai_port_space = RDMA_PS_IB, .ai_qp_type = IBV_QPT_UD,
	};
	const uint8_t any[16] = { 0 };
	struct rdma_addrinfo *rai;
	struct sockaddr_ib *sib;

	assert_int_equal(rdma_getaddrinfo(NULL, "5", &hints, &rai), 0);
	assert_int_equal(length(rai), 1);
	assert_int_equal(rai->ai_qp_type, IBV_QPT_UD);
	assert_int_equal(rai->ai_dst_len, 0);
	sib = (struct sockaddr_ib *)rai->ai_src_addr;
	assert_memory_equal(&sib->sib_addr, any, sizeof(any));
	assert_true(sib->sib_sid == htobe64(0x013f0005));
	rdma_freeaddrinfo(rai);
}

TEST(lists_that_a_program_made_can_be_freed)
{
	struct rdma_addrinfo *a = calloc(1, sizeof(*a)), *b = calloc(1, sizeof(*b));

	a->ai_next = b;
	a->ai_src_addr = malloc(16);
	a->ai_src_canonname = strdup("a");
	b->ai_dst_addr = malloc(16);
	b->ai_dst_canonname = strdup("b");
	b->ai_route = malloc(72);
	b->ai_connect = malloc(8);
	rdma_freeaddrinfo(a);
}

TEST(errors_of_our_own_are_errno)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_SA };
	struct rdma_addrinfo *rai;

	assert_fails(EINVAL, rdma_getaddrinfo(NULL, NULL, NULL, &rai));
	assert_fails(EINVAL, rdma_getaddrinfo("10.9.0.1", "1", NULL, NULL));
	assert_fails(EOPNOTSUPP, rdma_getaddrinfo("10.9.0.1", "1", &hints, &rai));
	/* No port has service records. */
	assert_fails(EINVAL, rdma_getaddrinfo(NULL, NULL, &hints, &rai));
	assert_fails(ENOENT, rdma_getaddrinfo(NULL, "0x1234", &hints, &rai));
	hints.ai_flags |= RAI_DNS;
	assert_fails(EOPNOTSUPP, rdma_getaddrinfo(NULL, "0x1234", &hints, &rai));
	hints = (struct rdma_addrinfo) { .ai_src_len = 16 };
	assert_fails(EINVAL, rdma_getaddrinfo("10.9.0.1", "1", &hints, &rai));
	hints = (struct rdma_addrinfo) { .ai_dst_len = 16 };
	assert_fails(EINVAL, rdma_getaddrinfo(NULL, NULL, &hints, &rai));
	rcl_devices_reset();
	fake_verbs.devices = 0;
	assert_fails(ENODEV, rdma_getaddrinfo("10.9.0.1", "1", NULL, &rai));
}

/* On the heap, so that AddressSanitizer detects accesses beyond their end. */
static struct sockaddr *cut_off(int family, socklen_t len)
{
	sa_family_t said = (sa_family_t)family;
	void *addr = calloc(1, len);

	assert_non_null(addr);
	memcpy(addr, &said, len < sizeof(said) ? len : sizeof(said));
	return addr;
}

TEST(short_address_is_not_read_beyond_its_end)
{
	static const int families[] = { AF_INET, AF_INET6, AF_IB, AF_UNIX };
	static const socklen_t lengths[] = { 1, 2, 8, 15 };
	struct rdma_addrinfo hints = { 0 }, *rai;
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(families); i++) {
		for (j = 0; j < ARRAY_SIZE(lengths); j++) {
			/* The length of an address of an unknown family is not checked. */
			bool fine = families[i] == AF_UNIX && lengths[j] > 1;

			hints = (struct rdma_addrinfo) {
				.ai_src_addr = cut_off(families[i], lengths[j]),
				.ai_src_len = lengths[j],
			};
			assert_int_equal(rdma_getaddrinfo("10.9.0.1", "1", &hints, &rai),
					 fine ? 0 : -1);
			if (fine)
				rdma_freeaddrinfo(rai);
			else
				assert_int_equal(errno, EINVAL);
			hints.ai_dst_addr = hints.ai_src_addr;
			hints.ai_dst_len = hints.ai_src_len;
			hints.ai_src_addr = NULL;
			hints.ai_src_len = 0;
			assert_int_equal(rdma_getaddrinfo(NULL, NULL, &hints, &rai),
					 fine ? 0 : -1);
			if (fine)
				rdma_freeaddrinfo(rai);
			free(hints.ai_dst_addr);
		}
	}
}

RUN
