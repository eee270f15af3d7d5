// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of kernel/lib/wire.c against bytes that the stock rdma_cm has sent. */
#include <kunit/test.h>
#include <linux/errno.h>
#include <linux/random.h>
#include <linux/string.h>
#include <rdma/ib_sa.h>
#include <rdma/rdma_user_cm.h>

#include "fake/addresses.h"
#include "lib/testing.h"
#include "lib/wire.h"

/* Captured: a REQ from 10.9.0.1 port 35666 to 10.9.0.1. */
static const u8 captured[RCA_WIRE_HDR_LEN] = {
	0x00, 0x40, 0x8b, 0x52,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 9, 0, 1,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 9, 0, 1,
};

static const u8 ip6[RCA_WIRE_HDR_LEN] = {
	0x00, 0x60, 0x1d, 0x2f,
	0xfd, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,
	0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2,
};

struct sid_case {
	const char *name;
	u16 ps;
	u16 port;
	u64 sid;
};

static const struct sid_case sid_cases[] = {
	{ "tcp", RDMA_PS_TCP, 7471, 0x0000000001061d2fULL },
	{ "udp", RDMA_PS_UDP, 7471, 0x0000000001111d2fULL },
	{ "ipoib", RDMA_PS_IPOIB, 1, 0x0000000000020001ULL },
	{ "ib", RDMA_PS_IB, 0xffff, 0x00000000013fffffULL },
	{ "port 0", RDMA_PS_TCP, 0, 0x0000000001060000ULL },
};

static void sid_desc(const struct sid_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(sid, sid_cases, sid_desc);

static void service_id_there_and_back_is_the_same(struct kunit *test)
{
	const struct sid_case *c = test->param_value;
	__be64 sid = rca_wire_service_id(c->ps, cpu_to_be16(c->port));

	KUNIT_EXPECT_EQ(test, c->sid, be64_to_cpu(sid));
	KUNIT_EXPECT_EQ(test, c->port, be16_to_cpu(rca_wire_sid_port(sid)));
}

struct private_case {
	const char *name;
	enum rca_wire_msg msg;
	unsigned int ip;
	unsigned int ib;
};

static const struct private_case private_cases[] = {
	{ "REQ", RCA_WIRE_REQ, 56, 92 },
	{ "REP", RCA_WIRE_REP, 196, 196 },
	{ "REJ", RCA_WIRE_REJ, 148, 148 },
	{ "SIDR_REQ", RCA_WIRE_SIDR_REQ, 180, 216 },
	{ "SIDR_REP", RCA_WIRE_SIDR_REP, 136, 136 },
};

static void private_desc(const struct private_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(private, private_cases, private_desc);

static void private_max_leaves_room_for_the_header(struct kunit *test)
{
	const struct private_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, c->ip, rca_wire_private_max(c->msg, AF_INET));
	KUNIT_EXPECT_EQ(test, c->ip, rca_wire_private_max(c->msg, AF_INET6));
	KUNIT_EXPECT_EQ(test, c->ib, rca_wire_private_max(c->msg, AF_IB));
}

static void private_max_of_no_message_is_nothing(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 0U, rca_wire_private_max(RCA_WIRE_SIDR_REP + 1, AF_INET));
}

static void expect_put(struct kunit *test, const char *src_ip, u16 src_port, const char *dst_ip,
		       const u8 *want)
{
	union rca_addr src = *rca_test_addr(test, src_ip, src_port);
	union rca_addr dst = *rca_test_addr(test, dst_ip, 7471);
	u8 hdr[RCA_WIRE_HDR_LEN];

	memset(hdr, 0xaa, sizeof(hdr));

	rca_wire_put_hdr(hdr, &src, &dst);

	KUNIT_EXPECT_EQ(test, 0, memcmp(hdr, want, sizeof(hdr)));
}

static void put_hdr_ip4_is_what_stock_sends(struct kunit *test)
{
	expect_put(test, "10.9.0.1", 0x8b52, "10.9.0.1", captured);
}

static void put_hdr_ip6_fills_both_fields(struct kunit *test)
{
	expect_put(test, "fd00:9::1", 0x1d2f, "fe80::2%3", ip6);
}

static void expect_get(struct kunit *test, const u8 *data, size_t len, const char *src_ip,
		       u16 src_port, const char *dst_ip)
{
	union rca_addr want_src = *rca_test_addr(test, src_ip, src_port);
	union rca_addr want_dst = *rca_test_addr(test, dst_ip, 7471);
	union rca_addr src, dst;

	memset(&src, 0xaa, sizeof(src));
	memset(&dst, 0xaa, sizeof(dst));

	KUNIT_EXPECT_EQ(test, 0, rca_wire_get_hdr(data, len, cpu_to_be16(7471), &src, &dst));

	KUNIT_EXPECT_EQ(test, 0, memcmp(&src, &want_src, sizeof(src)));
	KUNIT_EXPECT_EQ(test, 0, memcmp(&dst, &want_dst, sizeof(dst)));
}

static void get_hdr_captured_gives_the_addresses(struct kunit *test)
{
	expect_get(test, captured, sizeof(captured), "10.9.0.1", 0x8b52, "10.9.0.1");
}

static void get_hdr_ip6_has_no_scope(struct kunit *test)
{
	expect_get(test, ip6, sizeof(ip6), "fd00:9::1", 0x1d2f, "fe80::2");
}

static void get_hdr_of_ip4_ignores_unused_bytes(struct kunit *test)
{
	u8 data[sizeof(captured)];

	memcpy(data, captured, sizeof(data));
	memset(data + 4, 0xaa, 12);

	expect_get(test, data, sizeof(data), "10.9.0.1", 0x8b52, "10.9.0.1");
}

static void get_hdr_ignores_reserved_bits_and_what_follows(struct kunit *test)
{
	u8 data[92];

	memset(data, 0xaa, sizeof(data));
	memcpy(data, captured, sizeof(captured));
	data[1] |= 0x0f;

	expect_get(test, data, sizeof(data), "10.9.0.1", 0x8b52, "10.9.0.1");
}

static void get_hdr_truncated_is_einval(struct kunit *test)
{
	union rca_addr src, dst;
	size_t len;

	for (len = 0; len < sizeof(captured); len++) {
		/* Allocate exactly that length, so that KASAN finds a read beyond it. */
		u8 *data = kmemdup(captured, len ?: 1, GFP_KERNEL);

		KUNIT_ASSERT_NOT_NULL(test, data);
		KUNIT_EXPECT_EQ_MSG(test, -EINVAL,
				    rca_wire_get_hdr(data, len, cpu_to_be16(7471), &src, &dst),
				    "%zu bytes", len);
		kfree(data);
	}
}

static void get_hdr_error_writes_nothing(struct kunit *test)
{
	union rca_addr src, dst, before;

	memset(&before, 0xaa, sizeof(before));
	src = before;
	dst = before;

	KUNIT_EXPECT_EQ(test, -EINVAL, rca_wire_get_hdr(captured, sizeof(captured) - 1,
							cpu_to_be16(7471), &src, &dst));

	KUNIT_EXPECT_EQ(test, 0, memcmp(&src, &before, sizeof(src)));
	KUNIT_EXPECT_EQ(test, 0, memcmp(&dst, &before, sizeof(dst)));
}

static void get_hdr_other_version_is_einval(struct kunit *test)
{
	u8 data[sizeof(captured)];
	union rca_addr src, dst;
	int version;

	memcpy(data, captured, sizeof(data));
	for (version = 1; version <= 0xff; version++) {
		data[0] = version;

		KUNIT_EXPECT_EQ(test, -EINVAL, rca_wire_get_hdr(data, sizeof(data), 0, &src, &dst));
	}
}

static void get_hdr_other_ip_version_is_einval(struct kunit *test)
{
	u8 data[sizeof(captured)];
	union rca_addr src, dst;
	int version;

	memcpy(data, captured, sizeof(data));
	for (version = 0; version <= 0xf; version++) {
		int ret = version == 4 || version == 6 ? 0 : -EINVAL;

		data[1] = version << 4;

		KUNIT_EXPECT_EQ(test, ret, rca_wire_get_hdr(data, sizeof(data), 0, &src, &dst));
	}
}

/* For an AF_IB listener there is no header, but some private data looks like one. */
static void get_hdr_of_ib_private_data_may_look_like_ip(struct kunit *test)
{
	static const u8 harmless[92] = "\0Hello, this is no header";
	static const u8 trap[92] = "\0Are these private data?";
	union rca_addr src, dst;
	u8 data[92];

	memcpy(data, trap, sizeof(data));
	data[1] = 'A';	/* 0x41 */
	KUNIT_EXPECT_EQ(test, 0, rca_wire_get_hdr(data, sizeof(data), 0, &src, &dst));

	memcpy(data, harmless, sizeof(data));
	data[1] = 0;
	KUNIT_EXPECT_EQ(test, -EINVAL, rca_wire_get_hdr(data, sizeof(data), 0, &src, &dst));
}

static void expect_same_path(struct kunit *test, struct sa_path_rec *path)
{
	u8 ours[RCA_WIRE_PATH_LEN] __aligned(8), stock[RCA_WIRE_PATH_LEN] __aligned(8);

	memset(ours, 0xa5, sizeof(ours));
	memset(stock, 0x5a, sizeof(stock));
	rca_wire_put_path(ours, path);
	ib_sa_pack_path(path, stock);
	KUNIT_ASSERT_EQ(test, 0, memcmp(ours, stock, sizeof(ours)));
}

/* Also bits that do not belong to the field that they are in, and members of RoCE in the union. */
static void put_path_writes_what_ib_sa_writes(struct kunit *test)
{
	struct sa_path_rec path;
	u8 *bytes = (u8 *)&path;
	int i;

	for (i = 0; i < 8 * (int)sizeof(path); i++) {
		memset(&path, 0, sizeof(path));
		bytes[i / 8] = 1 << i % 8;
		expect_same_path(test, &path);
		memset(&path, 0xff, sizeof(path));
		bytes[i / 8] = ~(1 << i % 8);
		expect_same_path(test, &path);
	}
	for (i = 0; i < 10000; i++) {
		get_random_bytes(&path, sizeof(path));
		expect_same_path(test, &path);
	}
}

static struct kunit_case wire_cases[] = {
	KUNIT_CASE_PARAM(service_id_there_and_back_is_the_same, sid_gen_params),
	KUNIT_CASE_PARAM(private_max_leaves_room_for_the_header, private_gen_params),
	KUNIT_CASE(private_max_of_no_message_is_nothing),
	KUNIT_CASE(put_hdr_ip4_is_what_stock_sends),
	KUNIT_CASE(put_hdr_ip6_fills_both_fields),
	KUNIT_CASE(get_hdr_captured_gives_the_addresses),
	KUNIT_CASE(get_hdr_ip6_has_no_scope),
	KUNIT_CASE(get_hdr_of_ip4_ignores_unused_bytes),
	KUNIT_CASE(get_hdr_ignores_reserved_bits_and_what_follows),
	KUNIT_CASE(get_hdr_truncated_is_einval),
	KUNIT_CASE(get_hdr_error_writes_nothing),
	KUNIT_CASE(get_hdr_other_version_is_einval),
	KUNIT_CASE(get_hdr_other_ip_version_is_einval),
	KUNIT_CASE(get_hdr_of_ib_private_data_may_look_like_ip),
	KUNIT_CASE(put_path_writes_what_ib_sa_writes),
	{}
};

static struct kunit_suite wire_suite = {
	.name = "rdma_cm_alt_wire",
	.test_cases = wire_cases,
};

kunit_test_suite(wire_suite);
