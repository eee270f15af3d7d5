// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of what the netlink family tells about the transport of a connection:
 * kernel/diag/netlink_dump.c and kernel/cm/choose_transport.c.
 *
 * Locking: none.
 */
#include <kunit/test.h>
#include <net/netlink.h>

#include "cm/cm.h"
#include "diag/diag.h"
#include "fake/fake_suite.h"
#include "lib/testing.h"

/* Enough for all attributes. */
#define WHOLE SIZE_MAX

static const union ib_gid peer_gid = { .raw = { 0xfe, 0x80, [15] = 2 } };

/* Ids of a fake device have none; the end of an id would put its reference. */
static const struct ib_gid_attr local_gid = { .gid.raw = { 0xfe, 0x80, [15] = 1 } };

/* The attributes of an id, in a message with so much room. */
static struct sk_buff *put(struct kunit *test, struct rca_id *id, size_t room)
{
	struct sk_buff *skb = nlmsg_new(NLMSG_GOODSIZE, GFP_KERNEL);
	int ret;

	KUNIT_ASSERT_NOT_NULL(test, skb);
	if (room != WHOLE)
		skb_put(skb, skb_tailroom(skb) - room);
	mutex_lock(&id->op);
	ret = rca_nl_put_transport(skb, id);
	mutex_unlock(&id->op);
	KUNIT_EXPECT_EQ(test, ret, room == WHOLE ? 0 : -EMSGSIZE);
	return skb;
}

static void expect(struct kunit *test, struct rca_id *id, const char *transport, const char *why)
{
	struct sk_buff *skb = put(test, id, WHOLE);
	const struct nlattr *told, *reason;

	told = nla_find((void *)skb->data, skb->len, RDMA_CM_ALT_NL_A_TRANSPORT);
	reason = nla_find((void *)skb->data, skb->len, RDMA_CM_ALT_NL_A_NO_TRUNK);
	KUNIT_EXPECT_EQ(test, !told, !transport);
	KUNIT_EXPECT_EQ(test, !reason, !why);
	if (told && transport)
		KUNIT_EXPECT_STREQ(test, (const char *)nla_data(told), transport);
	if (reason && why)
		KUNIT_EXPECT_STREQ(test, (const char *)nla_data(reason), why);
	kfree_skb(skb);
}

/* Requests a connection; whether trunks are on, and whether its path is known. */
static void request(struct kunit *test, struct rca_id *id, bool on, bool known)
{
	const struct rca_trunk_ops *former = fake_trunks(on ? &fake_trunk_ops : NULL);
	struct rca_tp_conn conn = { .qp_num = 42 };

	id->sgid_attr = known ? &local_gid : NULL;
	id->setup->path.mtu = IB_MTU_1024;
	KUNIT_EXPECT_EQ(test, rca_connect(id, &conn), 0);
	fake_trunks(former);
	id->sgid_attr = NULL;
}

static void id_without_a_connection(struct kunit *test)
{
	expect(test, fake_active_id(test, test->priv, FAKE_COOKIE), NULL, NULL);
}

static void why_it_is_no_trunk(struct kunit *test)
{
	static const struct {
		bool on, known;
		const char *why;
	} cases[] = {
		{ false, true, "off" },
		{ true, false, "path" },
		{ true, true, "none" },
	};
	struct rca_id *id;
	int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		id = fake_active_id(test, test->priv, FAKE_COOKIE);
		request(test, id, cases[i].on, cases[i].known);
		expect(test, id, "fake", cases[i].why);
	}
	/* The peer has chosen; datagrams have no trunks, whoever asks. */
	expect(test, fake_child(test, test->priv), "fake", "asked");
	expect(test, fake_datagram_child(test, test->priv), "fake", "qp-type");
}

/* A path that differs by direction. */
static void path_that_no_trunk_knows(struct kunit *test)
{
	struct rca_id *id = fake_active_id(test, test->priv, FAKE_COOKIE);

	id->setup->path_in = kzalloc(sizeof(*id->setup->path_in), GFP_KERNEL);
	request(test, id, true, true);
	expect(test, id, "fake", "path");
}

/* The reason is that of the last request. */
static void trunks_are_switched_off_meanwhile(struct kunit *test)
{
	struct rca_id *id = fake_active_id(test, test->priv, FAKE_COOKIE);

	id->no_trunk = RCA_NO_TRUNK_NONE;
	request(test, id, false, true);
	expect(test, id, "fake", "off");
}

static void connection_over_a_trunk(struct kunit *test)
{
	struct rca_id *id = fake_child(test, test->priv);
	const struct rca_tp_ops *tp = id->tp;

	id->tp = fake_trunk_ops.tp;
	expect(test, id, "trunk", NULL);
	id->tp = tp;
}

static void gid_of_the_peer(struct kunit *test)
{
	struct rca_id *id = fake_child(test, test->priv);
	const struct nlattr *dgid;
	struct sk_buff *skb;

	id->link.ib = true;
	memcpy(id->link.dgid, peer_gid.raw, sizeof(id->link.dgid));
	skb = put(test, id, WHOLE);
	dgid = nla_find((void *)skb->data, skb->len, RDMA_CM_ALT_NL_A_DGID);
	KUNIT_ASSERT_NOT_NULL(test, dgid);
	KUNIT_EXPECT_EQ(test, nla_len(dgid), (int)sizeof(peer_gid));
	KUNIT_EXPECT_EQ(test, memcmp(nla_data(dgid), &peer_gid, sizeof(peer_gid)), 0);
	kfree_skb(skb);
}

static void message_is_full(struct kunit *test)
{
	struct rca_id *id = fake_child(test, test->priv);
	size_t room;

	for (room = 0; room < 24; room += 4)
		kfree_skb(put(test, id, room));
}

static struct kunit_case transport_cases[] = {
	KUNIT_CASE(id_without_a_connection),
	KUNIT_CASE(why_it_is_no_trunk),
	KUNIT_CASE(path_that_no_trunk_knows),
	KUNIT_CASE(trunks_are_switched_off_meanwhile),
	KUNIT_CASE(connection_over_a_trunk),
	KUNIT_CASE(gid_of_the_peer),
	KUNIT_CASE(message_is_full),
	{}
};

static struct kunit_suite transport_suite = {
	.name = "rdma_cm_alt_nl_transport",
	.init = fake_suite_init,
	.exit = fake_suite_exit,
	.test_cases = transport_cases,
};

kunit_test_suite(transport_suite);
