// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Options of an id, and the attributes of its QP. */
#include "rca_test.h"

static int set_id_option(int ctx, uint32_t id, uint32_t name, const void *val, uint32_t len)
{
	return rca_set_option(ctx, id, RDMA_OPTION_ID, name, val, len);
}

static int get(int ctx, uint32_t id, uint32_t name, void *val, uint32_t *len)
{
	return rca_get_option(ctx, id, RDMA_OPTION_ID, name, val, len);
}

static void check_u8(uint32_t name, uint8_t initial, uint8_t wanted)
{
	int ctx = get_ctx();
	uint32_t id = get_id(ctx, -1, 0), len = 1;
	uint8_t val = 0xaa;

	EXPECT_EQ(get(ctx, id, name, &val, &len), 0);
	EXPECT_EQ(val, initial);
	EXPECT_EQ(set_id_option(ctx, id, name, &wanted, 1), 0);
	EXPECT_EQ(get(ctx, id, name, &val, &len), 0);
	EXPECT_EQ(len, 1);
	EXPECT_EQ(val, wanted);
}

static void check_int(uint32_t name)
{
	int ctx = get_ctx(), val = -1, wanted = 1;
	uint32_t id = get_id(ctx, -1, 0), len = sizeof(val);

	EXPECT_EQ(get(ctx, id, name, &val, &len), 0);
	EXPECT_EQ(val, 0);
	EXPECT_EQ(set_id_option(ctx, id, name, &wanted, sizeof(wanted)), 0);
	EXPECT_EQ(get(ctx, id, name, &val, &len), 0);
	EXPECT_EQ(len, sizeof(val));
	EXPECT_EQ(val, 1);
	wanted = 0;
	EXPECT_EQ(set_id_option(ctx, id, name, &wanted, sizeof(wanted)), 0);
	EXPECT_EQ(get(ctx, id, name, &val, &len), 0);
	EXPECT_EQ(val, 0);
}

TEST(what_is_set_can_be_read)
{
	check_u8(RDMA_OPTION_ID_TOS, 0, 104);
	check_int(RDMA_OPTION_ID_REUSEADDR);
	check_int(RDMA_OPTION_ID_AFONLY);
}

/* 0 is a valid value: no timeout. */
TEST(ack_timeout_that_was_not_set_is_enodata)
{
	int ctx = get_ctx();
	uint32_t id = get_id(ctx, -1, 0), len = 1;
	uint8_t val = 0xaa, wanted[] = { 0, 21, 255 };

	EXPECT_EQ(get(ctx, id, RDMA_OPTION_ID_ACK_TIMEOUT, &val, &len), -ENODATA);
	for (int i = 0; i < 3; i++) {
		EXPECT_EQ(set_id_option(ctx, id, RDMA_OPTION_ID_ACK_TIMEOUT, &wanted[i], 1), 0);
		EXPECT_EQ(get(ctx, id, RDMA_OPTION_ID_ACK_TIMEOUT, &val, &len), 0);
		EXPECT_EQ(val, wanted[i]);
		EXPECT_EQ(len, 1);
	}
}

static int afonly_of(int ctx, uint32_t id)
{
	uint32_t len = sizeof(int);
	int val = -1;

	EXPECT_EQ(get(ctx, id, RDMA_OPTION_ID_AFONLY, &val, &len), 0);
	return val;
}

TEST(afonly_is_by_default_what_the_family_has)
{
	int ctx = get_ctx(), on = 1, off = 0;
	uint32_t id;

	MUST(unshare(CLONE_NEWNET));
	EXPECT_EQ(afonly_of(ctx, get_id(ctx, -1, 0)), 0);
	EXPECT_EQ(afonly_of(ctx, get_bound(ctx, -1, "0.0.0.0", 0)), 1);
	EXPECT_EQ(afonly_of(ctx, get_bound(ctx, -1, "127.0.0.1", 0)), 1);
	EXPECT_EQ(afonly_of(ctx, get_bound(ctx, -1, "::", 0)), 0);
	/* An id that was bound before keeps its setting. */
	id = get_bound(ctx, -1, "::", 0);
	if (system("sysctl -qw net.ipv6.bindv6only=1"))
		ktap_skip("cannot change bindv6only");
	EXPECT_EQ(afonly_of(ctx, id), 0);
	EXPECT_EQ(afonly_of(ctx, get_id(ctx, -1, 0)), 1);
	EXPECT_EQ(afonly_of(ctx, get_bound(ctx, -1, "::", 0)), 1);
	/* The option stays set for either address family. */
	id = get_id(ctx, -1, 0);
	EXPECT_EQ(set_id_option(ctx, id, RDMA_OPTION_ID_AFONLY, &off, sizeof(off)), 0);
	EXPECT_EQ(rca_bind(ctx, id, "0.0.0.0", 0), 0);
	EXPECT_EQ(afonly_of(ctx, id), 0);
	EXPECT_EQ(set_id_option(ctx, id, RDMA_OPTION_ID_AFONLY, &on, sizeof(on)), 0);
	EXPECT_EQ(afonly_of(ctx, id), 1);
}

TEST(unknown_level_or_option_is_enosys)
{
	int ctx = get_ctx(), val = 0;
	uint32_t id = get_id(ctx, -1, 0), len = sizeof(val);

	EXPECT_EQ(set_id_option(ctx, id, 4, &val, sizeof(val)), -ENOSYS);
	EXPECT_EQ(set_id_option(ctx, id, 0xffffffff, &val, sizeof(val)), -ENOSYS);
	EXPECT_EQ(rca_set_option(ctx, id, 2, 0, &val, sizeof(val)), -ENOSYS);
	EXPECT_EQ(get(ctx, id, 4, &val, &len), -ENOSYS);
	EXPECT_EQ(rca_get_option(ctx, id, 2, 0, &val, &len), -ENOSYS);
}

TEST(wrong_length_is_einval)
{
	static const uint32_t u8s[] = { RDMA_OPTION_ID_TOS, RDMA_OPTION_ID_ACK_TIMEOUT };
	static const uint32_t ints[] = { RDMA_OPTION_ID_REUSEADDR, RDMA_OPTION_ID_AFONLY };
	int ctx = get_ctx();
	uint32_t id = get_id(ctx, -1, 0);
	uint8_t val[257] = {};

	for (uint32_t len = 0; len <= sizeof(val); len++) {
		for (int i = 0; i < 2; i++) {
			EXPECT_EQ(set_id_option(ctx, id, u8s[i], val, len), len == 1 ? 0 : -EINVAL);
			EXPECT_EQ(set_id_option(ctx, id, ints[i], val, len),
				  len == 4 ? 0 : -EINVAL);
		}
	}
	EXPECT_EQ(set_id_option(ctx, id, RDMA_OPTION_ID_TOS, val, 0xffffffff), -EINVAL);
}

TEST(no_room_for_the_value_is_einval)
{
	int ctx = get_ctx(), val = 0;
	uint32_t id = get_id(ctx, -1, 0), len = 0;

	EXPECT_EQ(get(ctx, id, RDMA_OPTION_ID_TOS, &val, &len), -EINVAL);
	len = 3;
	EXPECT_EQ(get(ctx, id, RDMA_OPTION_ID_AFONLY, &val, &len), -EINVAL);
	len = 1000;
	EXPECT_EQ(get(ctx, id, RDMA_OPTION_ID_AFONLY, &val, &len), 0);
	EXPECT_EQ(len, 4);
}

TEST(bad_pointer_is_efault)
{
	int ctx = get_ctx();
	uint32_t id = get_id(ctx, -1, 0), len = 4;

	EXPECT_EQ(set_id_option(ctx, id, RDMA_OPTION_ID_AFONLY, NULL, 4), -EFAULT);
	EXPECT_EQ(get(ctx, id, RDMA_OPTION_ID_AFONLY, NULL, &len), -EFAULT);
}

TEST(reuse_may_not_be_cleared_once_bound_nor_set_once_listening)
{
	int ctx = get_ctx(), on = 1, off = 0;
	uint32_t id = get_bound(ctx, -1, HERE, 0);

	EXPECT_EQ(set_id_option(ctx, id, RDMA_OPTION_ID_REUSEADDR, &on, sizeof(on)), 0);
	EXPECT_EQ(set_id_option(ctx, id, RDMA_OPTION_ID_REUSEADDR, &off, sizeof(off)), -EINVAL);
	EXPECT_EQ(rca_listen(ctx, id, 0), 0);
	EXPECT_EQ(set_id_option(ctx, id, RDMA_OPTION_ID_REUSEADDR, &on, sizeof(on)), -EINVAL);
}

TEST(afonly_may_not_be_changed_once_listening)
{
	int ctx = get_ctx(), on = 1;
	uint32_t id = get_bound(ctx, -1, "::", 0);

	EXPECT_EQ(set_id_option(ctx, id, RDMA_OPTION_ID_AFONLY, &on, sizeof(on)), 0);
	EXPECT_EQ(rca_listen(ctx, id, 0), 0);
	EXPECT_EQ(set_id_option(ctx, id, RDMA_OPTION_ID_AFONLY, &on, sizeof(on)), -EINVAL);
}

TEST(ack_timeout_is_for_rc_and_xrc_ini)
{
	int ctx = get_ctx();
	uint8_t val = 20;
	uint32_t id;

	EXPECT_EQ(rca_create(ctx, -1, RDMA_PS_TCP, IB_UVERBS_QPT_UC, 0, &id), 0);
	EXPECT_EQ(set_id_option(ctx, id, RDMA_OPTION_ID_ACK_TIMEOUT, &val, 1), -EINVAL);
	EXPECT_EQ(rca_create(ctx, -1, RDMA_PS_TCP, IB_UVERBS_QPT_XRC_TGT, 0, &id), 0);
	EXPECT_EQ(set_id_option(ctx, id, RDMA_OPTION_ID_ACK_TIMEOUT, &val, 1), -EINVAL);
	EXPECT_EQ(rca_create(ctx, -1, RDMA_PS_TCP, IB_UVERBS_QPT_XRC_INI, 0, &id), 0);
	EXPECT_EQ(set_id_option(ctx, id, RDMA_OPTION_ID_ACK_TIMEOUT, &val, 1), 0);
}

/* Bits of enum ib_qp_attr_mask. */
enum {
	QP_STATE = 1 << 0, QP_ACCESS = 1 << 3, QP_PKEY = 1 << 4, QP_PORT = 1 << 5, QP_AV = 1 << 7,
	QP_MTU = 1 << 8, QP_TIMEOUT = 1 << 9, QP_RETRY = 1 << 10, QP_RNR = 1 << 11,
	QP_RQ_PSN = 1 << 12, QP_MAX_RD = 1 << 13, QP_MIN_RNR = 1 << 15, QP_SQ_PSN = 1 << 16,
	QP_MAX_DEST_RD = 1 << 17, QP_DEST = 1 << 20,
	INIT_MASK = QP_STATE | QP_ACCESS | QP_PKEY | QP_PORT,
	RTR_MASK = QP_STATE | QP_AV | QP_MTU | QP_DEST | QP_RQ_PSN | QP_MAX_DEST_RD | QP_MIN_RNR,
	RTS_MASK = QP_STATE | QP_TIMEOUT | QP_RETRY | QP_RNR | QP_SQ_PSN | QP_MAX_RD,
};

enum { INIT = 1, RTR = 2, RTS = 3 };

TEST(attributes_of_states_that_are_none_are_einval)
{
	static const uint32_t states[] = { 0, 4, 5, 6, 7, 0xffffffff };
	struct ib_uverbs_qp_attr attr;
	struct pair p = get_routed(HERE);

	for (int i = 0; i < 6; i++)
		EXPECT_EQ(rca_qp_attr(p.ctx, p.client, states[i], &attr), -EINVAL);
}

TEST(attributes_need_a_device)
{
	struct ib_uverbs_qp_attr attr;
	int ctx = get_ctx();

	EXPECT_EQ(rca_qp_attr(ctx, get_id(ctx, -1, 0), INIT, &attr), -EINVAL);
	EXPECT_EQ(rca_qp_attr(ctx, get_bound(ctx, -1, "0.0.0.0", 0), INIT, &attr), -EINVAL);
	EXPECT_EQ(rca_qp_attr(ctx, get_bound(ctx, -1, HERE, 0), INIT, &attr), 0);
}

TEST(attributes_before_the_connection)
{
	struct pair p = get_routed(HERE);
	struct ib_uverbs_qp_attr attr;

	EXPECT_EQ(rca_qp_attr(p.ctx, p.client, INIT, &attr), 0);
	EXPECT_EQ(attr.qp_attr_mask, INIT_MASK);
	EXPECT_EQ(attr.qp_state, INIT);
	EXPECT_EQ(attr.port_num, 1);
	EXPECT_EQ(attr.pkey_index, 0);
	EXPECT_EQ(attr.qp_access_flags, 0);
}

TEST(attributes_of_the_passive_side)
{
	event_t ev;
	struct pair p = get_requested(&ev);
	struct ib_uverbs_qp_attr init, rtr, rts;

	EXPECT_EQ(rca_qp_attr(p.ctx, p.server, INIT, &init), 0);
	EXPECT_EQ(init.qp_attr_mask, INIT_MASK);
	EXPECT_EQ(rca_qp_attr(p.ctx, p.server, RTR, &rtr), 0);
	EXPECT_EQ(rtr.qp_attr_mask, RTR_MASK);
	EXPECT_EQ(rtr.dest_qp_num, ev.qp_num);
	EXPECT_EQ(rtr.ah_attr.is_global, 1);
	EXPECT_EQ(rca_qp_attr(p.ctx, p.server, RTS, &rts), 0);
	EXPECT_EQ(rts.qp_attr_mask & RTS_MASK, RTS_MASK);
	/* The event had the same attributes. */
	EXPECT(ev.flags & RDMA_CM_ALT_EVENT_F_QP);
	EXPECT_EQ(ev.qp.init_mask, init.qp_attr_mask);
	EXPECT_EQ(ev.qp.rtr_mask, rtr.qp_attr_mask);
	EXPECT_EQ(ev.qp.rts_mask, rts.qp_attr_mask);
	EXPECT_EQ(ev.qp.attr.dest_qp_num, rtr.dest_qp_num);
	EXPECT_EQ(ev.qp.attr.rq_psn, rtr.rq_psn);
	EXPECT_EQ(ev.qp.attr.sq_psn, rts.sq_psn);
	EXPECT_EQ(ev.qp.attr.timeout, rts.timeout);
	EXPECT_EQ(ev.qp.attr.path_mtu, rtr.path_mtu);
	EXPECT(!memcmp(&ev.qp.attr.ah_attr, &rtr.ah_attr, sizeof(rtr.ah_attr)));
	/* Each end expects the packet numbers that the other end starts with. */
	EXPECT_EQ(rca_accept(p.ctx, p.server, SERVER, NULL, 0), 0);
	EXPECT_EVENT_STATUS(p.cq, CONNECT_RESPONSE, p.client, 0, &ev);
	EXPECT_EQ(ev.qp.attr.sq_psn, rtr.rq_psn);
	EXPECT_EQ(ev.qp.attr.rq_psn, rts.sq_psn);
}

TEST(attributes_of_the_active_side)
{
	event_t ev;
	struct pair p = get_accepted(&ev);
	struct ib_uverbs_qp_attr init, rtr, rts;

	EXPECT_EQ(rca_qp_attr(p.ctx, p.client, INIT, &init), 0);
	EXPECT_EQ(rca_qp_attr(p.ctx, p.client, RTR, &rtr), 0);
	EXPECT_EQ(rca_qp_attr(p.ctx, p.client, RTS, &rts), 0);
	EXPECT_EQ(ev.qp.init_mask, init.qp_attr_mask);
	EXPECT_EQ(ev.qp.rtr_mask, rtr.qp_attr_mask);
	EXPECT_EQ(ev.qp.rts_mask, rts.qp_attr_mask);
	EXPECT_EQ(rtr.dest_qp_num, ev.qp_num);
	/* The depths are those of accept. */
	EXPECT_EQ(rtr.max_dest_rd_atomic, 3);
	EXPECT_EQ(rts.max_rd_atomic, 2);
	EXPECT_EQ(rts.retry_cnt, 7);
	EXPECT_EQ(rts.rnr_retry, 6);
	EXPECT(!memcmp(&ev.qp.attr.ah_attr, &rtr.ah_attr, sizeof(rtr.ah_attr)));
}

TEST(attributes_while_the_request_is_on_its_way)
{
	struct pair p = get_requested(NULL);
	struct ib_uverbs_qp_attr attr;

	EXPECT_EQ(rca_qp_attr(p.ctx, p.client, INIT, &attr), 0);
	EXPECT_EQ(rca_qp_attr(p.ctx, p.client, RTR, &attr), -EINVAL);
	EXPECT_EQ(rca_qp_attr(p.ctx, p.client, RTS, &attr), -EINVAL);
}

TEST(ack_timeout_counts_for_rts)
{
	uint8_t timeout = 23;
	struct pair p = get_routed(HERE);
	struct ib_uverbs_qp_attr rts;
	event_t ev;

	EXPECT_EQ(set_id_option(p.ctx, p.client, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout, 1), 0);
	pair_send_req(&p, &ev);
	EXPECT_EQ(rca_accept(p.ctx, p.server, SERVER, NULL, 0), 0);
	EXPECT_EVENT_STATUS(p.cq, CONNECT_RESPONSE, p.client, 0, &ev);
	EXPECT_EQ(rca_qp_attr(p.ctx, p.client, RTS, &rts), 0);
	EXPECT_EQ(rts.timeout, 23);
	EXPECT_EQ(ev.qp.attr.timeout, 23);
}

/* Byte of a path record (IBTA volume 1, 15.2.5.16); the low 6 bits. */
#define LIFETIME 56

static void check_ack_timeout(uint8_t timeout, uint8_t lifetime, uint8_t told)
{
	struct pair p = get_listening(THERE);
	struct rdma_cm_alt_route route;
	struct ib_uverbs_qp_attr rts;

	p.client = get_id(p.ctx, p.cq, CLIENT);
	EXPECT_EQ(set_id_option(p.ctx, p.client, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout, 1), 0);
	await_addr(p.ctx, p.cq, p.client, THERE, p.port);
	await_route(p.ctx, p.cq, p.client);
	EXPECT_EQ(rca_query(p.ctx, p.client, &route), 0);
	EXPECT_EQ(((uint8_t *)route.path[0].path_rec)[LIFETIME] & 0x3f, lifetime);
	pair_send_req(&p, NULL);
	pair_send_rep(&p);
	pair_send_rtu(&p);
	EXPECT_EQ(rca_qp_attr(p.ctx, p.client, RTS, &rts), 0);
	EXPECT_EQ(rts.timeout, timeout);
	EXPECT_EQ(rca_qp_attr(p.ctx, p.server, RTS, &rts), 0);
	EXPECT_EQ(rts.timeout, told);
	pair_disconnect(&p);
}

/* ib_cm keeps a connection that has ended for the timeout that peers are told. */
TEST(peers_are_told_half_a_minute_at_most_for_ack_timeout)
{
	check_ack_timeout(20, 19, 20);
	check_ack_timeout(23, 22, 23);
	check_ack_timeout(24, 23, 23);
	check_ack_timeout(32, 31, 23);
	check_ack_timeout(33, 31, 23);
	check_ack_timeout(60, 31, 23);
	check_ack_timeout(255, 31, 23);
}

KTAP_MAIN
