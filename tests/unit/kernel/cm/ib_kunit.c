// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of InfiniBand: path queries, MGIDs of groups, addresses of family AF_IB. The expected bytes
 * and masks are those of the stock rdma_cm.
 *
 * Locking: none.
 */
#include <kunit/test.h>
#include <linux/errno.h>
#include <linux/string.h>
#include <rdma/ib_sa.h>
#include <rdma/rdma_user_cm.h>

#include "cm/internal.h"
#include "fake/addresses.h"
#include "id/id.h"
#include "lib/testing.h"
#include "lib/wire.h"
#include "transport/transport.h"

#define PKEY 0x8001
#define TOS 0x20

/* Components that stock always sets. */
#define COMMON_PATH_MASK (IB_SA_PATH_REC_DGID | IB_SA_PATH_REC_SGID | IB_SA_PATH_REC_PKEY | \
			  IB_SA_PATH_REC_NUMB_PATH | IB_SA_PATH_REC_REVERSIBLE | \
			  IB_SA_PATH_REC_SERVICE_ID)

static union ib_gid gid_of(struct kunit *test, const char *text)
{
	union ib_gid gid;

	KUNIT_ASSERT_TRUE(test, in6_pton(text, -1, gid.raw, -1, NULL));
	return gid;
}

/* An id with the members that a path query reads, as after address resolution. */
static struct rca_id *resolved_id(struct kunit *test, const char *local, const char *dst)
{
	struct rca_id *id = kunit_kzalloc(test, sizeof(*id), GFP_KERNEL);
	struct ib_gid_attr *attr = kunit_kzalloc(test, sizeof(*attr), GFP_KERNEL);
	struct rca_opts *opts = kunit_kzalloc(test, sizeof(*opts), GFP_KERNEL);
	union ib_gid dgid;

	KUNIT_ASSERT_NOT_NULL(test, id);
	KUNIT_ASSERT_NOT_NULL(test, attr);
	KUNIT_ASSERT_NOT_NULL(test, opts);
	attr->gid = gid_of(test, "fe80::1");
	id->sgid_attr = attr;
	id->link.ib = true;
	id->link.pkey = PKEY;
	dgid = gid_of(test, "fe80::2");
	memcpy(id->link.dgid, dgid.raw, sizeof(id->link.dgid));
	id->ps = RDMA_PS_TCP;
	id->opts = opts;
	opts->tos = TOS;
	id->local = *rca_test_addr(test, local, 1000);
	id->dst = *rca_test_addr(test, dst, 7471);
	return id;
}

static void expect_question(struct kunit *test, const struct sa_path_rec *rec)
{
	union ib_gid sgid = gid_of(test, "fe80::1"), dgid = gid_of(test, "fe80::2");

	KUNIT_EXPECT_EQ(test, memcmp(&rec->sgid, &sgid, sizeof(sgid)), 0);
	KUNIT_EXPECT_EQ(test, memcmp(&rec->dgid, &dgid, sizeof(dgid)), 0);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(rec->pkey), (u16)PKEY);
	KUNIT_EXPECT_EQ(test, (int)rec->numb_path, 1);
	KUNIT_EXPECT_EQ(test, (int)rec->reversible, 1);
}

static void path_query_over_ip4_has_the_qos_class(struct kunit *test)
{
	struct rca_id *id = resolved_id(test, "10.8.0.1", "10.8.0.2");
	struct sa_path_rec rec;

	KUNIT_EXPECT_EQ(test, rca_route_ib_question(id, false, &rec),
			COMMON_PATH_MASK | IB_SA_PATH_REC_QOS_CLASS);
	expect_question(test, &rec);
	KUNIT_EXPECT_EQ(test, (int)rec.rec_type, (int)SA_PATH_REC_TYPE_IB);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(rec.qos_class), (u16)TOS);
	KUNIT_EXPECT_EQ(test, (int)rec.traffic_class, 0);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(rec.service_id), 0x1061d2fULL);
}

static void path_query_over_ip6_has_the_traffic_class(struct kunit *test)
{
	struct rca_id *id = resolved_id(test, "fd00:8::1", "fd00:8::2");
	struct sa_path_rec rec;

	id->local.in6.sin6_flowinfo = cpu_to_be32(0x0ab12345);
	KUNIT_EXPECT_EQ(test, rca_route_ib_question(id, false, &rec),
			COMMON_PATH_MASK | IB_SA_PATH_REC_TRAFFIC_CLASS);
	expect_question(test, &rec);
	KUNIT_EXPECT_EQ(test, (int)rec.traffic_class, 0xab);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(rec.qos_class), (u16)0);
}

static void path_query_over_gids_asks_for_the_service_id_as_it_is(struct kunit *test)
{
	struct rca_id *id = resolved_id(test, "ib:fe80::1", "ib:fe80::2");
	struct sa_path_rec rec;

	id->local.ib.sib_flowinfo = cpu_to_be32(0x0cd00000);
	id->dst.ib.sib_sid = cpu_to_be64(0x1000000013f0042ULL);
	KUNIT_EXPECT_EQ(test, rca_route_ib_question(id, false, &rec),
			COMMON_PATH_MASK | IB_SA_PATH_REC_TRAFFIC_CLASS);
	expect_question(test, &rec);
	KUNIT_EXPECT_EQ(test, (int)rec.traffic_class, 0xcd);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(rec.service_id), 0x1000000013f0042ULL);
}

static void path_query_without_a_family_has_no_class(struct kunit *test)
{
	struct rca_id *id = resolved_id(test, "10.8.0.1", "10.8.0.2");
	struct sa_path_rec rec;

	id->local.sa.sa_family = AF_UNSPEC;
	KUNIT_EXPECT_EQ(test, rca_route_ib_question(id, false, &rec), COMMON_PATH_MASK);
	expect_question(test, &rec);
}

static void path_query_on_opa_is_for_its_records(struct kunit *test)
{
	struct rca_id *id = resolved_id(test, "10.8.0.1", "10.8.0.2");
	struct sa_path_rec rec;

	rca_route_ib_question(id, true, &rec);
	KUNIT_EXPECT_EQ(test, (int)rec.rec_type, (int)SA_PATH_REC_TYPE_OPA);
	expect_question(test, &rec);
}

struct mgid_case {
	const char *name;
	const char *group;
	bool cm_signature;
	const char *mgid;	/* NULL: EINVAL */
};

/* In a subnet with the partition 0x8001 and the scope 2. */
static const struct mgid_case mgid_cases[] = {
	{ "IPv4", "239.1.2.3", false, "ff12:401b:8001::f01:203" },
	{ "IPv4 of the CM", "239.1.2.3", true, "ff12:4001:8001::f01:203" },
	{ "IPv6", "ff0e::1234:5678", false, "ff12:601b:8001::1234:5678" },
	{ "IPv6 of the CM", "ff0e::1234:5678", true, "ff12:6001:8001::1234:5678" },
	{ "IPv6 loses its start", "ff0e:1:2:3:4::5", false, "ff12:601b:8001:3:4::5" },
	{ "chosen by the SA", "ff12:a01b:fe80::7", true, "ff12:a01b:fe80::7" },
	{ "chosen by the SA, other scope", "ff15:a01b:fe80::7", false, "ff15:a01b:fe80::7" },
	{ "AF_IB", "ib:ff15:aaaa::5", true, "ff15:aaaa::5" },
	{ "IPv4 wildcard", "0.0.0.0", true, "::" },
	{ "IPv6 wildcard", "::", false, "::" },
	{ "AF_IB wildcard", "ib:::", false, "::" },
	{ "no IPv4 group", "10.8.0.1", false, NULL },
	{ "no IPv6 group", "fd00:8::1", false, NULL },
	{ "no AF_IB group", "ib:fe80::1", false, NULL },
};

static void mgid_desc(const struct mgid_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(mgid, mgid_cases, mgid_desc);

static void mgid_is_the_one_of_stock(struct kunit *test)
{
	union ib_gid subnet = gid_of(test, "ff12:401b:8001::ffff:ffff"), mgid, wanted;
	const struct mgid_case *c = test->param_value;
	int ret;

	ret = rca_group_ib_mgid(rca_test_addr(test, c->group, 0), &subnet, c->cm_signature, &mgid);
	KUNIT_EXPECT_EQ(test, ret, c->mgid ? 0 : -EINVAL);
	if (!c->mgid)
		return;
	wanted = gid_of(test, c->mgid);
	KUNIT_EXPECT_EQ_MSG(test, memcmp(&mgid, &wanted, sizeof(mgid)), 0, "%pI6c", mgid.raw);
}

static void member_of_ipoib_agrees_on_more(struct kunit *test)
{
	ib_sa_comp_mask common = IB_SA_MCMEMBER_REC_MGID | IB_SA_MCMEMBER_REC_PORT_GID |
				 IB_SA_MCMEMBER_REC_PKEY | IB_SA_MCMEMBER_REC_JOIN_STATE |
				 IB_SA_MCMEMBER_REC_QKEY | IB_SA_MCMEMBER_REC_SL |
				 IB_SA_MCMEMBER_REC_FLOW_LABEL | IB_SA_MCMEMBER_REC_TRAFFIC_CLASS;

	KUNIT_EXPECT_EQ(test, rca_group_ib_mask(RDMA_PS_UDP), common);
	KUNIT_EXPECT_EQ(test, rca_group_ib_mask(RDMA_PS_IB), common);
	KUNIT_EXPECT_EQ(test, rca_group_ib_mask(RDMA_PS_IPOIB),
			common | IB_SA_MCMEMBER_REC_RATE | IB_SA_MCMEMBER_REC_RATE_SELECTOR |
			IB_SA_MCMEMBER_REC_MTU | IB_SA_MCMEMBER_REC_MTU_SELECTOR |
			IB_SA_MCMEMBER_REC_HOP_LIMIT);
}

static void private_data_over_gids_has_no_header(struct kunit *test)
{
	union rca_addr *ib = rca_test_addr(test, "ib:fe80::1", 7471);
	union rca_addr *ip = rca_test_addr(test, "10.8.0.1", 7471);
	u8 data[92] = {};

	KUNIT_EXPECT_EQ(test, (int)rca_wire_put_private(data, ib, ib, "abc", 3), 3);
	KUNIT_EXPECT_EQ(test, memcmp(data, "abc\0", 4), 0);
	KUNIT_EXPECT_EQ(test, (int)rca_wire_put_private(data, ib, ib, NULL, 0), 0);
	memset(data, 0, sizeof(data));
	KUNIT_EXPECT_EQ(test, (int)rca_wire_put_private(data, ip, ip, "abc", 3),
			RCA_WIRE_HDR_LEN + 3);
	KUNIT_EXPECT_EQ(test, memcmp(data + RCA_WIRE_HDR_LEN, "abc", 3), 0);
	KUNIT_EXPECT_EQ(test, (int)data[1], 0x40);
}

static void request_over_gids_has_those_as_addresses(struct kunit *test)
{
	struct rca_id *listener = resolved_id(test, "ib:::", "ib:::");
	struct sa_path_rec path = {
		.sgid = gid_of(test, "fe80::1"),
		.dgid = gid_of(test, "fe80::2"),
		.pkey = cpu_to_be16(PKEY),
		.flow_label = cpu_to_be32(5),
	};
	struct rca_tp_request req = {
		.service_id = cpu_to_be64(0x1061d2f),
		.path = &path,
		.pkey = PKEY,
	};
	union rca_addr local, peer;

	rca_req_ib_addrs(listener, &req, &local, &peer);
	KUNIT_EXPECT_EQ(test, (int)local.sa.sa_family, AF_IB);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(local.ib.sib_sid), 0x1061d2fULL);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(local.ib.sib_sid_mask), U64_MAX);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(local.ib.sib_pkey), (u16)PKEY);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(local.ib.sib_flowinfo), 5u);
	KUNIT_EXPECT_EQ(test, memcmp(&local.ib.sib_addr, &path.sgid, sizeof(path.sgid)), 0);
	KUNIT_EXPECT_EQ(test, (int)peer.sa.sa_family, AF_IB);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(peer.ib.sib_pkey), (u16)PKEY);
	KUNIT_EXPECT_EQ(test, memcmp(&peer.ib.sib_addr, &path.dgid, sizeof(path.dgid)), 0);
}

static void datagram_request_over_gids_does_not_know_the_peer(struct kunit *test)
{
	struct rca_id *listener = resolved_id(test, "ib:fe80::1", "ib:::");
	struct rca_tp_request req = {
		.service_id = cpu_to_be64(0x1111d2f),
		.pkey = PKEY,
	};
	union rca_addr local, peer;

	rca_req_ib_addrs(listener, &req, &local, &peer);
	KUNIT_EXPECT_TRUE(test, rca_addr_same_ip(&local, &listener->local));
	KUNIT_EXPECT_EQ(test, be64_to_cpu(local.ib.sib_sid), 0x1111d2fULL);
	KUNIT_EXPECT_EQ(test, (int)peer.sa.sa_family, AF_IB);
	KUNIT_EXPECT_TRUE(test, rca_addr_is_any(&peer));
}

static struct kunit_case ib_cases[] = {
	KUNIT_CASE(path_query_over_ip4_has_the_qos_class),
	KUNIT_CASE(path_query_over_ip6_has_the_traffic_class),
	KUNIT_CASE(path_query_over_gids_asks_for_the_service_id_as_it_is),
	KUNIT_CASE(path_query_without_a_family_has_no_class),
	KUNIT_CASE(path_query_on_opa_is_for_its_records),
	KUNIT_CASE_PARAM(mgid_is_the_one_of_stock, mgid_gen_params),
	KUNIT_CASE(member_of_ipoib_agrees_on_more),
	KUNIT_CASE(private_data_over_gids_has_no_header),
	KUNIT_CASE(request_over_gids_has_those_as_addresses),
	KUNIT_CASE(datagram_request_over_gids_does_not_know_the_peer),
	{}
};

static struct kunit_suite ib_suite = {
	.name = "rdma_cm_alt_ib",
	.test_cases = ib_cases,
};

kunit_test_suite(ib_suite);
