// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of kernel/lib/sockaddr.c: conversion, classification and comparison of addresses. */
#include <kunit/test.h>
#include <linux/errno.h>
#include <linux/string.h>

#include "fake/addresses.h"
#include "lib/sockaddr.h"

static void fill(struct rdma_cm_alt_sockaddr *user, sa_family_t family)
{
	memset(user, 0xaa, sizeof(*user));
	user->family = family;
}

/* Convert an address of this family whose other bytes are 0xaa. */
static int from_user(union rca_addr *addr, sa_family_t family)
{
	struct rdma_cm_alt_sockaddr user;

	fill(&user, family);
	memset(addr, 0x55, sizeof(*addr));
	return rca_addr_from_user(addr, &user);
}

static bool all_zero(const void *from, const void *end)
{
	return !memchr_inv(from, 0, end - from);
}

struct family_case {
	const char *name;
	sa_family_t family;
	int ret;
};

static const struct family_case family_cases[] = {
	{ "none", AF_UNSPEC, 0 },
	{ "inet", AF_INET, 0 },
	{ "inet6", AF_INET6, 0 },
	{ "ib", AF_IB, 0 },
	{ "unix", AF_UNIX, -EINVAL },
	{ "netlink", AF_NETLINK, -EINVAL },
	{ "highest", U16_MAX, -EINVAL },
};

static void family_desc(const struct family_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(family, family_cases, family_desc);

static void from_user_family_decides(struct kunit *test)
{
	const struct family_case *c = test->param_value;
	union rca_addr addr;
	int ret = from_user(&addr, c->family);

	KUNIT_EXPECT_EQ(test, c->ret, ret);
	KUNIT_EXPECT_EQ(test, ret ? AF_UNSPEC : c->family, addr.sa.sa_family);
	KUNIT_EXPECT_EQ(test, !ret && c->family, rca_addr_is_set(&addr));
}

static void from_user_no_family_is_all_zero(struct kunit *test)
{
	union rca_addr addr;

	KUNIT_EXPECT_EQ(test, 0, from_user(&addr, AF_UNSPEC));

	KUNIT_EXPECT_TRUE(test, all_zero(addr.bytes, addr.bytes + sizeof(addr)));
}

static void from_user_unknown_family_leaves_nothing(struct kunit *test)
{
	union rca_addr addr;

	KUNIT_EXPECT_EQ(test, -EINVAL, from_user(&addr, AF_UNIX));

	KUNIT_EXPECT_TRUE(test, all_zero(addr.bytes, addr.bytes + sizeof(addr)));
}

static void from_user_inet_rest_is_zero(struct kunit *test)
{
	union rca_addr addr;

	KUNIT_EXPECT_EQ(test, 0, from_user(&addr, AF_INET));

	KUNIT_EXPECT_EQ(test, 0xaaaa, be16_to_cpu(addr.in.sin_port));
	KUNIT_EXPECT_EQ(test, 0xaaaaaaaa, be32_to_cpu(addr.in.sin_addr.s_addr));
	KUNIT_EXPECT_TRUE(test, all_zero(addr.bytes + 8, addr.bytes + sizeof(addr)));
}

static void from_user_inet6_rest_is_zero(struct kunit *test)
{
	union rca_addr addr;

	KUNIT_EXPECT_EQ(test, 0, from_user(&addr, AF_INET6));

	KUNIT_EXPECT_EQ(test, 0xaaaaaaaa, be32_to_cpu(addr.in6.sin6_flowinfo));
	KUNIT_EXPECT_TRUE(test, all_zero(addr.bytes + sizeof(addr.in6),
					 addr.bytes + sizeof(addr)));
}

static void from_user_ib_is_kept(struct kunit *test)
{
	struct rdma_cm_alt_sockaddr user;
	union rca_addr addr;

	fill(&user, AF_IB);

	KUNIT_EXPECT_EQ(test, 0, rca_addr_from_user(&addr, &user));

	KUNIT_EXPECT_EQ(test, 0, memcmp(&addr, &user, sizeof(addr)));
}

struct scope_case {
	const char *text;
	u32 scope;
};

static const struct scope_case scope_cases[] = {
	{ "fe80::1%3", 3 },
	{ "febf::1%3", 3 },
	{ "ff02::1%3", 3 },
	{ "fe80::1", 0 },
	{ "fec0::1%3", 0 },
	{ "fd00:9::1%3", 0 },
	{ "ff05::1%3", 0 },
	{ "::1%3", 0 },
	{ "::%3", 0 },
};

static void scope_desc(const struct scope_case *c, char *desc)
{
	strscpy(desc, c->text, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(scope, scope_cases, scope_desc);

static void from_user_scope_is_kept_where_it_counts(struct kunit *test)
{
	const struct scope_case *c = test->param_value;
	union rca_addr given = *rca_test_addr(test, c->text, 1);
	struct rdma_cm_alt_sockaddr user;
	union rca_addr addr;

	memcpy(&user, &given, sizeof(user));

	KUNIT_EXPECT_EQ(test, 0, rca_addr_from_user(&addr, &user));

	KUNIT_EXPECT_EQ(test, c->scope, rca_addr_scope(&addr));
}

static void scope_of_other_families_is_zero(struct kunit *test)
{
	union rca_addr inet = *rca_test_addr(test, "10.9.0.1", 1);
	union rca_addr ib = *rca_test_addr(test, "ib:fe80::1", 1);

	ib.ib.sib_scope_id = 3;

	KUNIT_EXPECT_EQ(test, 0U, rca_addr_scope(&inet));
	KUNIT_EXPECT_EQ(test, 0U, rca_addr_scope(&ib));
}

static void canonical_address_is_that_of_the_user(struct kunit *test)
{
	static const char * const texts[] = { "10.9.0.1", "fe80::1%2", "ib:fd00::1" };
	int i;

	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		union rca_addr given = *rca_test_addr(test, texts[i], 7471), addr;
		struct rdma_cm_alt_sockaddr user;

		memcpy(&user, &given, sizeof(user));
		KUNIT_EXPECT_EQ(test, 0, rca_addr_from_user(&addr, &user));
		KUNIT_EXPECT_EQ(test, 0, memcmp(&addr, &given, sizeof(addr)));
	}
}

struct kind_case {
	const char *text;
	bool any;
	bool loopback;
	bool linklocal;
	bool multicast;
};

static const struct kind_case kind_cases[] = {
	{ "0.0.0.0", .any = true },
	{ "0.1.2.3" },
	{ "10.9.0.1" },
	{ "127.0.0.1", .loopback = true },
	{ "127.255.0.3", .loopback = true },
	{ "169.254.1.1" },
	{ "224.0.0.1", .multicast = true },
	{ "239.255.255.255", .multicast = true },
	{ "::", .any = true },
	{ "::1", .loopback = true },
	{ "fd00:9::1" },
	{ "::ffff:10.9.0.1" },
	{ "fe80::1%2", .linklocal = true },
	{ "ff02::1%2", .linklocal = true, .multicast = true },
	{ "ff0e::1", .multicast = true },
	{ "ib:::", .any = true },
	{ "ib:::1", .loopback = true },
	{ "ib:fe80::1" },
	{ "ib:ff12::1", .multicast = true },
};

static void kind_desc(const struct kind_case *c, char *desc)
{
	strscpy(desc, c->text, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(kind, kind_cases, kind_desc);

static void kind_of_address_is_seen(struct kunit *test)
{
	const struct kind_case *c = test->param_value;
	union rca_addr addr = *rca_test_addr(test, c->text, 1);

	KUNIT_EXPECT_EQ(test, c->any, rca_addr_is_any(&addr));
	KUNIT_EXPECT_EQ(test, c->loopback, rca_addr_is_loopback(&addr));
	KUNIT_EXPECT_EQ(test, c->linklocal, rca_addr_is_linklocal(&addr));
	KUNIT_EXPECT_EQ(test, c->multicast, rca_addr_is_multicast(&addr));
}

static void kind_of_no_address_is_none(struct kunit *test)
{
	union rca_addr addr = {};

	KUNIT_EXPECT_FALSE(test, rca_addr_is_set(&addr));
	KUNIT_EXPECT_FALSE(test, rca_addr_is_any(&addr));
	KUNIT_EXPECT_FALSE(test, rca_addr_is_loopback(&addr));
	KUNIT_EXPECT_FALSE(test, rca_addr_is_linklocal(&addr));
	KUNIT_EXPECT_FALSE(test, rca_addr_is_multicast(&addr));
	KUNIT_EXPECT_FALSE(test, rca_addr_same_ip(&addr, &addr));
	KUNIT_EXPECT_EQ(test, 0, be16_to_cpu(rca_addr_port(&addr)));
}

struct same_case {
	const char *a;
	const char *b;
	bool same;
};

static const struct same_case same_cases[] = {
	{ "10.9.0.1", "10.9.0.1", true },
	{ "10.9.0.1", "10.9.0.2", false },
	{ "10.9.0.1", "::ffff:10.9.0.1", false },
	{ "0.0.0.0", "::", false },
	{ "fd00:9::1", "fd00:9::1", true },
	{ "fd00:9::1", "fd00:9::2", false },
	{ "fe80::1%2", "fe80::1%2", true },
	{ "fe80::1%2", "fe80::1%3", false },
	{ "fe80::1", "ib:fe80::1", false },
	{ "ib:fe80::1", "ib:fe80::1", true },
	{ "ib:fe80::1", "ib:fe80::2", false },
};

static void same_desc(const struct same_case *c, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s and %s", c->a, c->b);
}

KUNIT_ARRAY_PARAM(same, same_cases, same_desc);

static void same_ip_ignores_all_but_the_address(struct kunit *test)
{
	const struct same_case *c = test->param_value;
	union rca_addr a = *rca_test_addr(test, c->a, 1);
	union rca_addr b = *rca_test_addr(test, c->b, 2);

	if (b.sa.sa_family == AF_INET6)
		b.in6.sin6_flowinfo = cpu_to_be32(5);
	if (b.sa.sa_family == AF_IB)
		b.ib.sib_pkey = cpu_to_be16(0xffff);

	KUNIT_EXPECT_EQ(test, c->same, rca_addr_same_ip(&a, &b));
	KUNIT_EXPECT_EQ(test, c->same, rca_addr_same_ip(&b, &a));
}

static void set_port_changes_the_port_alone(struct kunit *test)
{
	static const char * const texts[] = { "10.9.0.1", "fe80::1%2" };
	int i;

	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		union rca_addr addr = *rca_test_addr(test, texts[i], 1);
		union rca_addr other = *rca_test_addr(test, texts[i], 0xfffe);

		rca_addr_set_port(&addr, cpu_to_be16(0xfffe));

		KUNIT_EXPECT_EQ(test, 0, memcmp(&addr, &other, sizeof(addr)));
		KUNIT_EXPECT_EQ(test, 0xfffe, be16_to_cpu(rca_addr_port(&addr)));
	}
}

static void port_of_ib_address_is_masked(struct kunit *test)
{
	union rca_addr addr = *rca_test_addr(test, "ib:fe80::1", 0x1234);

	addr.ib.sib_sid_mask = cpu_to_be64(0xff);

	KUNIT_EXPECT_EQ(test, 0x34, be16_to_cpu(rca_addr_port(&addr)));
}

static void set_ip_changes_the_address_alone(struct kunit *test)
{
	static const char * const pairs[][2] = {
		{ "10.9.0.1", "127.0.0.1" },
		{ "fd00:9::1", "::1" },
		{ "::1", "fe80::1%3" },
		{ "fe80::1%3", "::" },
		{ "ib:::1", "ib:fe80::7" },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(pairs); i++) {
		union rca_addr addr = *rca_test_addr(test, pairs[i][0], 7471);
		union rca_addr *ip = rca_test_addr(test, pairs[i][1], 99);

		if (addr.sa.sa_family == AF_INET6)
			addr.in6.sin6_flowinfo = cpu_to_be32(0x12345);

		rca_addr_set_ip(&addr, ip);

		KUNIT_EXPECT_TRUE(test, rca_addr_same_ip(&addr, ip));
		KUNIT_EXPECT_EQ(test, 7471, be16_to_cpu(rca_addr_port(&addr)));
		KUNIT_EXPECT_EQ(test, rca_addr_scope(ip), rca_addr_scope(&addr));
		if (addr.sa.sa_family == AF_INET6)
			KUNIT_EXPECT_EQ(test, 0x12345U, be32_to_cpu(addr.in6.sin6_flowinfo));
	}
}

static void address_without_a_family_stays_as_it_is(struct kunit *test)
{
	union rca_addr addr = {}, ip = *rca_test_addr(test, "10.9.0.1", 7471), none = {};

	rca_addr_set_port(&addr, cpu_to_be16(7471));
	rca_addr_set_ip(&addr, &ip);
	KUNIT_EXPECT_EQ(test, memcmp(&addr, &none, sizeof(addr)), 0);
}

static void set_port_of_ib_address_names_one_service(struct kunit *test)
{
	union rca_addr addr = *rca_test_addr(test, "ib:fe80::1", 0);

	addr.ib.sib_sid = cpu_to_be64(0x0000000001061234ULL);
	addr.ib.sib_sid_mask = cpu_to_be64(0xffffffffffff0000ULL);

	rca_addr_set_port(&addr, cpu_to_be16(0x1d2f));

	KUNIT_EXPECT_EQ(test, 0x0000000001061d2fULL, be64_to_cpu(addr.ib.sib_sid));
	KUNIT_EXPECT_EQ(test, U64_MAX, be64_to_cpu(addr.ib.sib_sid_mask));
	KUNIT_EXPECT_EQ(test, 0x1d2f, be16_to_cpu(rca_addr_port(&addr)));
}

static void set_port_of_ib_address_again_replaces_it(struct kunit *test)
{
	union rca_addr addr = *rca_test_addr(test, "ib:fe80::1", 0x1d2f);

	rca_addr_set_port(&addr, cpu_to_be16(0x00f0));
	rca_addr_set_port(&addr, cpu_to_be16(0x0001));

	KUNIT_EXPECT_EQ(test, 1ULL, be64_to_cpu(addr.ib.sib_sid));
}

static void set_any_makes_the_wildcard(struct kunit *test)
{
	static const sa_family_t families[] = { AF_INET, AF_INET6, AF_IB };
	int i;

	for (i = 0; i < ARRAY_SIZE(families); i++) {
		union rca_addr addr;

		memset(&addr, 0xaa, sizeof(addr));

		rca_addr_set_any(&addr, families[i]);

		KUNIT_EXPECT_EQ(test, families[i], addr.sa.sa_family);
		KUNIT_EXPECT_TRUE(test, rca_addr_is_any(&addr));
		KUNIT_EXPECT_TRUE(test, all_zero(addr.bytes + 2, addr.bytes + sizeof(addr)));
	}
}

static struct kunit_case sockaddr_cases[] = {
	KUNIT_CASE_PARAM(from_user_family_decides, family_gen_params),
	KUNIT_CASE(from_user_no_family_is_all_zero),
	KUNIT_CASE(from_user_unknown_family_leaves_nothing),
	KUNIT_CASE(from_user_inet_rest_is_zero),
	KUNIT_CASE(from_user_inet6_rest_is_zero),
	KUNIT_CASE(from_user_ib_is_kept),
	KUNIT_CASE_PARAM(from_user_scope_is_kept_where_it_counts, scope_gen_params),
	KUNIT_CASE(scope_of_other_families_is_zero),
	KUNIT_CASE(canonical_address_is_that_of_the_user),
	KUNIT_CASE_PARAM(kind_of_address_is_seen, kind_gen_params),
	KUNIT_CASE(kind_of_no_address_is_none),
	KUNIT_CASE_PARAM(same_ip_ignores_all_but_the_address, same_gen_params),
	KUNIT_CASE(set_port_changes_the_port_alone),
	KUNIT_CASE(port_of_ib_address_is_masked),
	KUNIT_CASE(set_ip_changes_the_address_alone),
	KUNIT_CASE(address_without_a_family_stays_as_it_is),
	KUNIT_CASE(set_port_of_ib_address_names_one_service),
	KUNIT_CASE(set_port_of_ib_address_again_replaces_it),
	KUNIT_CASE(set_any_makes_the_wildcard),
	{}
};

static struct kunit_suite sockaddr_suite = {
	.name = "rdma_cm_alt_sockaddr",
	.test_cases = sockaddr_cases,
};

kunit_test_suite(sockaddr_suite);
