// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of the fake data path: messages between two connected QPs, held, changed and injected. */
#include "fake/pair.h"

PAIR_TEST(send_arrives_in_the_receive_of_the_peer)
{
	struct pair p;
	struct ibv_wc wc;

	pair_open(&p);
	pair_post_recv(&p.passive, 1, 0, 32);
	strcpy((char *)p.active.mem, "message");
	pair_send(&p.active, 2, 0, 8);
	pair_expect(&p.active, 2, IBV_WC_SUCCESS);
	wc = pair_poll(&p.passive);
	assert_int_equal(wc.wr_id, 1);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_RECV);
	assert_int_equal(wc.byte_len, 8);
	assert_int_equal(wc.qp_num, p.passive.id->qp->qp_num);
	assert_string_equal((char *)p.passive.mem, "message");
	pair_close(&p);
}

PAIR_TEST(write_with_immediate_arrives_in_the_memory_of_the_peer)
{
	struct pair p;
	struct ibv_wc wc;

	pair_open(&p);
	pair_post_recv(&p.active, 1, 0, 0);
	strcpy((char *)p.passive.mem + 100, "written");
	pair_write_imm(&p.passive, &p.active, 0xe0000001, 100, 8);
	wc = pair_poll(&p.active);
	assert_int_equal(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	assert_int_equal(wc.wc_flags, IBV_WC_WITH_IMM);
	assert_int_equal(ntohl(wc.imm_data), 0xe0000001);
	assert_int_equal(wc.byte_len, 8);
	assert_string_equal((char *)p.active.mem + 100, "written");
	wc = pair_poll(&p.passive);
	assert_int_equal(wc.opcode, IBV_WC_RDMA_WRITE);
	pair_close(&p);
}

/* Without an immediate the peer sees nothing but its memory. */
PAIR_TEST(write_takes_no_receive)
{
	struct pair p;
	struct ibv_sge sge;
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
	};

	pair_open(&p);
	sge = (struct ibv_sge) { (uintptr_t)p.active.mem, 4, p.active.mr->lkey };
	wr.wr.rdma.remote_addr = (uintptr_t)p.passive.mem + PAIR_MEM - 4;
	wr.wr.rdma.rkey = p.passive.mr->rkey;
	memcpy(p.active.mem, "last", 4);
	pair_post(&p.active, &wr);
	assert_memory_equal(p.passive.mem + PAIR_MEM - 4, "last", 4);
	pair_expect_none(&p.passive);
	/* Zero bytes need no memory of the peer. */
	wr.num_sge = 0;
	wr.wr.rdma.remote_addr = 0;
	wr.wr.rdma.rkey = 0;
	wr.send_flags = IBV_SEND_SIGNALED;
	pair_post(&p.active, &wr);
	pair_expect(&p.active, 0, IBV_WC_SUCCESS);
	pair_close(&p);
}

PAIR_TEST(two_pieces_are_gathered_and_scattered)
{
	struct pair p;
	struct ibv_sge sge[2];
	struct ibv_recv_wr recv = { .sg_list = sge, .num_sge = 2 }, *bad;
	struct ibv_send_wr wr = { .sg_list = sge, .num_sge = 2, .opcode = IBV_WR_SEND };

	pair_open(&p);
	sge[0] = (struct ibv_sge) { (uintptr_t)p.passive.mem + 10, 3, p.passive.mr->lkey };
	sge[1] = (struct ibv_sge) { (uintptr_t)p.passive.mem + 50, 20, p.passive.mr->lkey };
	assert_int_equal(ibv_post_recv(p.passive.id->qp, &recv, &bad), 0);
	memcpy(p.active.mem, "abcd...efgh", 11);
	sge[0] = (struct ibv_sge) { (uintptr_t)p.active.mem, 4, p.active.mr->lkey };
	sge[1] = (struct ibv_sge) { (uintptr_t)p.active.mem + 7, 4, p.active.mr->lkey };
	pair_post(&p.active, &wr);
	assert_int_equal(pair_poll(&p.passive).byte_len, 8);
	assert_memory_equal(p.passive.mem + 10, "abc\0", 4);
	assert_memory_equal(p.passive.mem + 50, "defgh\0", 6);
	pair_close(&p);
}

/* Inline data may change after the post, and need no region. Other data may not. */
PAIR_TEST(inline_data_are_copied_at_once)
{
	struct pair p;
	char text[17] = "now";
	struct ibv_sge sge = { (uintptr_t)text, 4, 0 };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_INLINE,
	};

	pair_open(&p);
	pair_post_recv(&p.passive, 1, 0, 32);
	pair_post_recv(&p.passive, 2, 32, 32);
	fake_wire_hold(p.active.id->qp);
	pair_post(&p.active, &wr);
	strcpy(text, "new");
	strcpy((char *)p.active.mem, "now");
	pair_send(&p.active, 2, 0, 4);
	strcpy((char *)p.active.mem, "new");
	fake_wire_release(p.active.id->qp);
	assert_string_equal((char *)p.passive.mem, "now");
	assert_string_equal((char *)p.passive.mem + 32, "new");
	sge.length = 17;
	assert_int_equal(pair_try_post(&p.active, &wr), EINVAL);
	pair_close(&p);
}

PAIR_TEST(held_messages_are_delivered_one_by_one_in_order)
{
	struct pair p;
	uint64_t i;

	pair_open(&p);
	for (i = 0; i < 3; i++)
		pair_post_recv(&p.passive, 10 + i, 0, 0);
	fake_wire_hold(p.active.id->qp);
	for (i = 0; i < 3; i++)
		pair_write_imm(&p.active, &p.passive, (uint32_t)i, 0, 0);
	assert_int_equal(fake_wire_waiting(p.active.id->qp), 3);
	pair_expect_none(&p.active);
	for (i = 0; i < 3; i++) {
		pair_expect_none(&p.passive);
		assert_true(fake_wire_deliver(p.active.id->qp));
		assert_int_equal(ntohl(pair_poll(&p.passive).imm_data), i);
		pair_expect(&p.active, i, IBV_WC_SUCCESS);
	}
	assert_false(fake_wire_deliver(p.active.id->qp));
	/* The other direction is not held. */
	pair_post_recv(&p.active, 1, 0, 0);
	pair_write_imm(&p.passive, &p.active, 7, 0, 0);
	pair_expect(&p.active, 1, IBV_WC_SUCCESS);
	pair_close(&p);
}

PAIR_TEST(part_of_a_write_arrives_before_the_rest)
{
	struct pair p;

	pair_open(&p);
	pair_post_recv(&p.passive, 1, 0, 0);
	assert_false(fake_wire_write_part(p.active.id->qp, 0, 0));
	fake_wire_hold(p.active.id->qp);
	memcpy(p.active.mem + 4, "abcdef", 6);
	pair_write_imm(&p.active, &p.passive, 1, 4, 6);
	assert_false(fake_wire_write_part(p.active.id->qp, 4, 3));
	assert_false(fake_wire_write_part(p.active.id->qp, 7, 0));
	assert_true(fake_wire_write_part(p.active.id->qp, 4, 2));
	assert_memory_equal(p.passive.mem + 4, "\0\0\0\0ef", 6);
	pair_expect_none(&p.passive);
	assert_true(fake_wire_deliver(p.active.id->qp));
	assert_memory_equal(p.passive.mem + 4, "abcdef", 6);
	pair_expect(&p.passive, 1, IBV_WC_SUCCESS);
	pair_send(&p.active, 2, 0, 4);
	assert_false(fake_wire_write_part(p.active.id->qp, 0, 0));
	pair_close(&p);
	/* Not into memory that the peer does not offer. */
	pair_open(&p);
	fake_wire_hold(p.active.id->qp);
	ibv_dereg_mr(p.passive.mr);
	p.passive.mr = ibv_reg_mr(p.passive.id->pd, p.passive.mem, PAIR_MEM,
				  IBV_ACCESS_LOCAL_WRITE);
	pair_write_imm(&p.active, &p.passive, 1, 4, 6);
	assert_false(fake_wire_write_part(p.active.id->qp, 0, 1));
	pair_close(&p);
}

PAIR_TEST(message_waits_for_a_receive)
{
	struct pair p;

	pair_open(&p);
	pair_write_imm(&p.active, &p.passive, 5, 0, 0);
	pair_write_imm(&p.active, &p.passive, 6, 0, 0);
	pair_expect_none(&p.active);
	assert_false(fake_wire_deliver(p.active.id->qp));
	pair_post_recv(&p.passive, 1, 0, 0);
	assert_int_equal(ntohl(pair_poll(&p.passive).imm_data), 5);
	pair_expect(&p.active, 5, IBV_WC_SUCCESS);
	pair_expect_none(&p.active);
	pair_post_recv(&p.passive, 2, 0, 0);
	pair_expect(&p.active, 6, IBV_WC_SUCCESS);
	pair_close(&p);
}

static void change_message(struct fake_message *message, void *arg)
{
	memcpy(message->data, arg, 3);
	message->imm_data = htonl(0x1234);
	message->length = 3;
}

PAIR_TEST(next_message_is_changed_on_its_way)
{
	struct pair p;
	char other[] = "xyz";
	struct ibv_wc wc;

	pair_open(&p);
	memcpy(p.active.mem, "abcd", 4);
	memcpy(p.passive.mem, "....", 4);
	fake_wire_alter(p.active.id->qp, change_message, other);
	/* It waits for a receive first, which is not its turn. */
	pair_write_imm(&p.active, &p.passive, 1, 0, 4);
	pair_post_recv(&p.passive, 1, 0, 0);
	wc = pair_poll(&p.passive);
	assert_int_equal(ntohl(wc.imm_data), 0x1234);
	assert_int_equal(wc.byte_len, 3);
	assert_memory_equal(p.passive.mem, "xyz.", 4);
	assert_memory_equal(p.active.mem, "abcd", 4);
	pair_post_recv(&p.passive, 2, 0, 0);
	pair_write_imm(&p.active, &p.passive, 2, 0, 4);
	assert_int_equal(ntohl(pair_poll(&p.passive).imm_data), 2);
	pair_close(&p);
}

PAIR_TEST(injected_message_looks_like_one_of_the_peer)
{
	struct pair p;
	uint8_t data[] = "evil";
	struct fake_message message = {
		.opcode = IBV_WR_RDMA_WRITE, .length = 4, .data = data,
	};

	pair_open(&p);
	assert_int_equal(fake_wire_inject_imm(p.passive.id->qp, 1), IBV_WC_RNR_RETRY_EXC_ERR);
	pair_post_recv(&p.passive, 1, 0, 0);
	assert_int_equal(fake_wire_inject_imm(p.passive.id->qp, 0xffffffff), IBV_WC_SUCCESS);
	assert_int_equal(pair_poll(&p.passive).imm_data, 0xffffffff);
	message.remote_addr = (uintptr_t)p.passive.mem + 8;
	message.rkey = p.passive.mr->rkey;
	assert_int_equal(fake_wire_inject(p.passive.id->qp, &message), IBV_WC_SUCCESS);
	assert_memory_equal(p.passive.mem + 8, "evil", 4);
	pair_expect_none(&p.active);
	pair_close(&p);
}

PAIR_TEST(fixture_finds_qps_by_their_order)
{
	struct pair p;

	pair_open(&p);
	assert_ptr_equal(fake_wire_qp(0), p.active.id->qp);
	assert_ptr_equal(fake_wire_qp(1), p.passive.id->qp);
	assert_null(fake_wire_qp(2));
	pair_close(&p);
}

RUN
