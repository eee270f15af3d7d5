// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of the fake data path: UD QPs and address handles. */
#include "fake/pair.h"

static void open_ud(struct endpoint *end, uint16_t port)
{
	memset(end, 0, sizeof(*end));
	end->channel = rdma_create_event_channel();
	end->id = new_ud_id(end->channel);
	assert_int_equal(rdma_bind_addr(end->id, addr4("10.9.0.1", port)), 0);
	pair_add_qp(end);
}

static struct ibv_ah *make_ah(struct endpoint *end, bool global)
{
	struct ibv_ah_attr attr = {
		.dlid = FAKE_LID, .port_num = end->id->port_num, .is_global = global,
		.grh = { .hop_limit = 64, .sgid_index = 1 },
	};
	struct ibv_ah *ah;

	inet_pton(AF_INET6, "::ffff:10.9.0.2", &attr.grh.dgid);
	ah = ibv_create_ah(end->id->pd, &attr);
	assert_non_null(ah);
	return ah;
}

/* Post a datagram of 8 bytes. */
static void post_datagram(struct endpoint *from, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey)
{
	struct ibv_sge sge = { (uintptr_t)from->mem, 8, from->mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = 5, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.ud = { .ah = ah, .remote_qpn = qpn, .remote_qkey = qkey },
	};

	memcpy(from->mem, "datagram", 8);
	pair_post(from, &wr);
}

/* A datagram completes whether it arrives or not. */
static void send_to(struct endpoint *from, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey)
{
	post_datagram(from, ah, qpn, qkey);
	pair_expect(from, 5, IBV_WC_SUCCESS);
}

PAIR_TEST(datagram_arrives_behind_the_grh)
{
	struct endpoint a, b;
	struct ibv_ah *ah;
	struct ibv_wc wc;
	int global;

	open_ud(&a, 1);
	open_ud(&b, 2);
	for (global = 0; global < 2; global++) {
		ah = make_ah(&a, global);
		pair_post_recv(&b, 1, 0, 64);
		send_to(&a, ah, b.id->qp->qp_num, FAKE_UD_QKEY);
		wc = pair_poll(&b);
		assert_int_equal(wc.byte_len, 48);
		assert_int_equal(wc.src_qp, a.id->qp->qp_num);
		assert_int_equal(wc.wc_flags, global ? IBV_WC_GRH : 0);
		assert_int_equal(wc.slid, FAKE_LID);
		assert_memory_equal(b.mem + 40, "datagram", 8);
		assert_int_equal(b.mem[0] >> 4, global ? 6 : 0);
		assert_int_equal(b.mem[23], global ? 1 : 0);	/* the end of the source GID */
		assert_int_equal(ibv_destroy_ah(ah), 0);
	}
	pair_close_end(&a);
	pair_close_end(&b);
}

PAIR_TEST(datagram_that_nobody_can_take_is_dropped)
{
	struct endpoint a, b;
	struct ibv_ah *ah;

	open_ud(&a, 1);
	open_ud(&b, 2);
	ah = make_ah(&a, false);
	/* No receive; another Q_Key; no such QP; the wire is broken. */
	send_to(&a, ah, b.id->qp->qp_num, FAKE_UD_QKEY);
	pair_post_recv(&b, 1, 0, 48);
	send_to(&a, ah, b.id->qp->qp_num, FAKE_UD_QKEY + 1);
	send_to(&a, ah, b.id->qp->qp_num + 1, FAKE_UD_QKEY);
	fake_wire_break(a.id->qp);
	send_to(&a, ah, b.id->qp->qp_num, FAKE_UD_QKEY);
	pair_expect_none(&b);
	ibv_destroy_ah(ah);
	pair_close_end(&a);
	pair_close_end(&b);
}

/* Programs keep the GRH apart from the data. One piece may also be shorter than it. */
PAIR_TEST(receive_of_a_datagram_has_room_for_the_grh)
{
	struct ibv_sge sge[2];
	struct ibv_recv_wr wr = { .wr_id = 2, .sg_list = sge, .num_sge = 2 }, *bad;
	struct endpoint a, b;
	struct ibv_ah *ah;
	int first;

	open_ud(&a, 1);
	open_ud(&b, 2);
	ah = make_ah(&a, true);
	for (first = 30; first <= 40; first += 10) {
		sge[0] = (struct ibv_sge) { (uintptr_t)b.mem, (uint32_t)first, b.mr->lkey };
		sge[1] = (struct ibv_sge) {
			(uintptr_t)b.mem + 100, 48 - (uint32_t)first, b.mr->lkey,
		};
		memset(b.mem, 0, sizeof(b.mem));
		assert_int_equal(ibv_post_recv(b.id->qp, &wr, &bad), 0);
		send_to(&a, ah, b.id->qp->qp_num, FAKE_UD_QKEY);
		pair_expect(&b, 2, IBV_WC_SUCCESS);
		assert_memory_equal(b.mem + 100 + 40 - first, "datagram", 8);
		assert_int_equal(b.mem[23], 1);
	}
	pair_post_recv(&b, 1, 0, 47);
	send_to(&a, ah, b.id->qp->qp_num, FAKE_UD_QKEY);
	pair_expect_none(&b);
	ibv_destroy_ah(ah);
	pair_close_end(&a);
	pair_close_end(&b);
}

PAIR_TEST(datagram_to_the_own_qp_arrives)
{
	struct endpoint a;
	struct ibv_ah *ah;

	open_ud(&a, 1);
	ah = make_ah(&a, false);
	pair_post_recv(&a, 1, 100, 48);
	/* A Q_Key with this bit stands for that of the QP. */
	post_datagram(&a, ah, a.id->qp->qp_num, 0x80000000);
	pair_expect(&a, 1, IBV_WC_SUCCESS);
	pair_expect(&a, 5, IBV_WC_SUCCESS);
	assert_memory_equal(a.mem + 140, "datagram", 8);
	ibv_destroy_ah(ah);
	pair_close_end(&a);
}

/* The Q_Key of the QP comes from the CM, also when the id was not bound. */
PAIR_TEST(id_that_resolves_an_address_gets_a_qp)
{
	struct endpoint a = { .channel = rdma_create_event_channel() };
	struct ibv_ah *ah;

	a.id = new_ud_id(a.channel);
	resolve(a.id);
	pair_add_qp(&a);
	ah = make_ah(&a, false);
	pair_post_recv(&a, 1, 100, 48);
	post_datagram(&a, ah, a.id->qp->qp_num, FAKE_UD_QKEY);
	pair_expect(&a, 1, IBV_WC_SUCCESS);
	ibv_destroy_ah(ah);
	pair_close_end(&a);
}

PAIR_TEST(post_of_what_datagrams_cannot_do_is_einval)
{
	struct ibv_sge sge = { .length = FAKE_MTU + 1 };
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE };
	struct endpoint a;

	open_ud(&a, 1);
	wr.wr.ud.ah = make_ah(&a, false);
	assert_int_equal(pair_try_post(&a, &wr), EINVAL);
	wr.opcode = IBV_WR_SEND;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	assert_int_equal(pair_try_post(&a, &wr), EINVAL);
	ibv_destroy_ah(wr.wr.ud.ah);
	sge.length = 0;
	wr.wr.ud.ah = NULL;
	assert_int_equal(pair_try_post(&a, &wr), EINVAL);
	pair_close_end(&a);
}

PAIR_TEST(port_and_gids_can_be_asked_for)
{
	struct ibv_port_attr port;
	union ibv_gid gid;
	struct endpoint a;

	open_ud(&a, 1);
	assert_int_equal(ibv_query_port(a.id->verbs, 1, &port), 0);
	assert_int_equal(port.state, IBV_PORT_ACTIVE);
	assert_int_equal(port.lid, FAKE_LID);
	assert_int_equal(ibv_query_port(a.id->verbs, 2, &port), EINVAL);
	assert_int_equal(ibv_query_gid(a.id->verbs, 1, 1, &gid), 0);
	assert_int_equal(gid.raw[15], 1);
	assert_fails(EINVAL, ibv_query_gid(a.id->verbs, 1, 2, &gid));
	pair_close_end(&a);
}

RUN
