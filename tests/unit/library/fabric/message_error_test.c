// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of the fake data path: errors of messages, states of QPs, overflows. */
#include "fake/pair.h"

static enum ibv_qp_state state_of(struct endpoint *end)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	assert_int_equal(ibv_query_qp(end->id->qp, &attr, IBV_QP_STATE, &init), 0);
	return attr.qp_state;
}

static void expect_both_failed(struct pair *p)
{
	assert_int_equal(state_of(&p->active), IBV_QPS_ERR);
	assert_int_equal(state_of(&p->passive), IBV_QPS_ERR);
}

/* A write of the active end into the passive one, with members that a test changes. */
static struct ibv_send_wr write_wr(struct pair *p, struct ibv_sge *sge)
{
	*sge = (struct ibv_sge) { (uintptr_t)p->active.mem, 8, p->active.mr->lkey };
	return (struct ibv_send_wr) {
		.wr_id = 1, .sg_list = sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
		.wr.rdma = { (uintptr_t)p->passive.mem, p->passive.mr->rkey },
	};
}

PAIR_TEST(memory_without_the_right_lkey_is_a_local_error)
{
	uint32_t lkeys[3] = { 0 };
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct pair p;
	int i;

	for (i = 0; i < 3; i++) {
		pair_open(&p);
		wr = write_wr(&p, &sge);
		lkeys[1] = p.active.mr->rkey;
		lkeys[2] = p.passive.mr->lkey;		/* of other memory */
		sge.lkey = lkeys[i];
		pair_post(&p.active, &wr);
		pair_expect(&p.active, 1, IBV_WC_LOC_PROT_ERR);
		assert_int_equal(state_of(&p.active), IBV_QPS_ERR);
		/* The peer learns nothing before it sends. */
		assert_int_equal(state_of(&p.passive), IBV_QPS_RTS);
		pair_send(&p.passive, 2, 0, 1);
		pair_expect(&p.passive, 2, IBV_WC_RETRY_EXC_ERR);
		pair_close(&p);
	}
}

PAIR_TEST(regions_of_another_pd_are_refused)
{
	struct ibv_mr *local, *remote;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct ibv_pd *pd;
	struct pair p;
	int i;

	for (i = 0; i < 2; i++) {
		pair_open(&p);
		wr = write_wr(&p, &sge);
		pd = ibv_alloc_pd(p.active.id->verbs);
		local = ibv_reg_mr(pd, p.active.mem, PAIR_MEM, IBV_ACCESS_LOCAL_WRITE);
		remote = ibv_reg_mr(pd, p.passive.mem, PAIR_MEM,
				    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
		if (i)
			sge.lkey = local->lkey;
		else
			wr.wr.rdma.rkey = remote->rkey;
		pair_post(&p.active, &wr);
		pair_expect(&p.active, 1, i ? IBV_WC_LOC_PROT_ERR : IBV_WC_REM_ACCESS_ERR);
		ibv_dereg_mr(local);
		ibv_dereg_mr(remote);
		ibv_dealloc_pd(pd);
		pair_close(&p);
	}
}

PAIR_TEST(memory_beyond_the_region_is_a_local_error)
{
	static const struct {
		int at;
		uint32_t length;
	} cases[] = {
		{ -1, 8 }, { PAIR_MEM - 7, 8 }, { 0, PAIR_MEM + 1 }, { PAIR_MEM, 1 },
	};
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct pair p;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		pair_open(&p);
		wr = write_wr(&p, &sge);
		sge.addr += (uint64_t)cases[i].at;
		sge.length = cases[i].length;
		pair_post(&p.active, &wr);
		pair_expect(&p.active, 1, IBV_WC_LOC_PROT_ERR);
		pair_close(&p);
	}
}

enum remote_mistake { LKEY, BEFORE, BEHIND, LONG, GONE, READ_ONLY, QP_WITHOUT, MISTAKES };

static void make_mistake(struct pair *p, enum remote_mistake mistake, struct ibv_send_wr *wr)
{
	struct ibv_qp_attr attr = { .qp_access_flags = IBV_ACCESS_LOCAL_WRITE };
	struct ibv_mr *mr;

	switch (mistake) {
	case LKEY:
		wr->wr.rdma.rkey = p->passive.mr->lkey;
		break;
	case BEFORE:
		wr->wr.rdma.remote_addr--;
		break;
	case BEHIND:
		wr->wr.rdma.remote_addr += PAIR_MEM - 7;
		break;
	case LONG:
		wr->wr.rdma.remote_addr = UINT64_MAX - 3;
		break;
	case GONE:
	case READ_ONLY:
		mr = ibv_reg_mr(p->passive.id->pd, p->passive.mem, PAIR_MEM,
				mistake == GONE ? IBV_ACCESS_LOCAL_WRITE |
				IBV_ACCESS_REMOTE_WRITE : IBV_ACCESS_LOCAL_WRITE);
		wr->wr.rdma.rkey = mr->rkey;
		if (mistake == READ_ONLY)
			pair_post(&p->active, wr);
		ibv_dereg_mr(mr);
		break;
	default:
		assert_int_equal(ibv_modify_qp(p->passive.id->qp, &attr, IBV_QP_ACCESS_FLAGS), 0);
		break;
	}
}

PAIR_TEST(write_that_the_peer_does_not_allow_fails_both_ends)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct pair p;
	int i;

	for (i = 0; i < MISTAKES; i++) {
		pair_open(&p);
		memset(p.active.mem, 'x', 8);
		wr = write_wr(&p, &sge);
		pair_post_recv(&p.passive, 9, 0, 0);
		make_mistake(&p, (enum remote_mistake)i, &wr);
		if (i != READ_ONLY)
			pair_post(&p.active, &wr);
		pair_expect(&p.active, 1, IBV_WC_REM_ACCESS_ERR);
		pair_expect(&p.passive, 9, IBV_WC_WR_FLUSH_ERR);
		expect_both_failed(&p);
		assert_int_equal(p.passive.mem[0], 0);
		pair_close(&p);
	}
}

PAIR_TEST(message_longer_than_its_receive_fails_both_ends)
{
	struct pair p;

	pair_open(&p);
	pair_post_recv(&p.passive, 1, 0, 4);
	pair_send(&p.active, 2, 0, 5);
	pair_expect(&p.passive, 1, IBV_WC_LOC_LEN_ERR);
	pair_expect(&p.active, 2, IBV_WC_REM_INV_REQ_ERR);
	expect_both_failed(&p);
	pair_close(&p);
}

/* Of another region, or of one that the device must not write to. */
PAIR_TEST(receive_into_memory_that_is_not_writable_fails_both_ends)
{
	struct ibv_sge sge;
	struct ibv_recv_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 }, *bad;
	struct ibv_mr *mr;
	struct pair p;
	int i;

	for (i = 0; i < 2; i++) {
		pair_open(&p);
		mr = ibv_reg_mr(p.passive.id->pd, p.passive.mem, PAIR_MEM, 0);
		sge = (struct ibv_sge) {
			(uintptr_t)p.passive.mem, 8, i ? mr->lkey : p.active.mr->lkey,
		};
		assert_int_equal(ibv_post_recv(p.passive.id->qp, &wr, &bad), 0);
		pair_send(&p.active, 2, 0, 5);
		pair_expect(&p.passive, 1, IBV_WC_LOC_PROT_ERR);
		pair_expect(&p.active, 2, IBV_WC_REM_OP_ERR);
		expect_both_failed(&p);
		ibv_dereg_mr(mr);
		pair_close(&p);
	}
}

PAIR_TEST(broken_wire_ends_with_the_retries)
{
	struct pair p;
	int i;

	for (i = 0; i < 2; i++) {
		pair_open(&p);
		pair_send(&p.active, 1, 0, 1);		/* waits for a receive */
		pair_send(&p.active, 2, 0, 1);
		fake_wire_break(i ? p.passive.id->qp : p.active.id->qp);
		pair_expect(&p.active, 1, IBV_WC_RETRY_EXC_ERR);
		pair_expect(&p.active, 2, IBV_WC_WR_FLUSH_ERR);
		pair_send(&p.passive, 3, 0, 1);
		pair_expect(&p.passive, 3, IBV_WC_RETRY_EXC_ERR);
		pair_close(&p);
	}
}

PAIR_TEST(receiver_that_is_not_ready_ends_limited_retries)
{
	struct ibv_qp_attr attr = { .rnr_retry = 6 };
	struct pair p;

	pair_open(&p);
	assert_int_equal(ibv_modify_qp(p.active.id->qp, &attr, IBV_QP_RNR_RETRY), 0);
	pair_send(&p.active, 1, 0, 1);
	pair_expect(&p.active, 1, IBV_WC_RNR_RETRY_EXC_ERR);
	pair_close(&p);
}

PAIR_TEST(error_state_flushes_both_queues_and_what_is_posted_later)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct pair p;

	pair_open(&p);
	fake_wire_hold(p.active.id->qp);
	pair_send(&p.active, 1, 0, 1);
	pair_send(&p.active, 2, 0, 1);
	pair_post_recv(&p.active, 3, 0, 0);
	assert_int_equal(ibv_modify_qp(p.active.id->qp, &attr, IBV_QP_STATE), 0);
	pair_expect(&p.active, 1, IBV_WC_WR_FLUSH_ERR);
	pair_expect(&p.active, 2, IBV_WC_WR_FLUSH_ERR);
	pair_expect(&p.active, 3, IBV_WC_WR_FLUSH_ERR);
	pair_send(&p.active, 4, 0, 1);
	pair_post_recv(&p.active, 5, 0, 0);
	pair_expect(&p.active, 4, IBV_WC_WR_FLUSH_ERR);
	pair_expect(&p.active, 5, IBV_WC_WR_FLUSH_ERR);
	pair_close(&p);
}

/* Unsignaled sends make no completion, but for errors; their slots are free with the next one. */
PAIR_TEST(slot_of_a_send_is_free_when_a_completion_was_polled)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct pair p;
	int i;

	pair_open(&p);
	wr = write_wr(&p, &sge);
	for (i = 0; i < PAIR_WR - 1; i++)
		pair_post(&p.active, &wr);
	pair_expect_none(&p.active);
	wr.send_flags = IBV_SEND_SIGNALED;
	pair_post(&p.active, &wr);
	assert_int_equal(pair_try_post(&p.active, &wr), ENOMEM);
	assert_int_equal(fake_complaints(), 1);
	pair_expect(&p.active, 1, IBV_WC_SUCCESS);
	pair_expect_none(&p.active);
	for (i = 0; i < PAIR_WR - 1; i++)
		pair_post(&p.active, &wr);
	pair_close(&p);
}

PAIR_TEST(receive_queue_overflows_until_completions_are_polled)
{
	struct ibv_recv_wr wr = { .wr_id = 9 }, *bad;
	struct pair p;
	int i;

	pair_open(&p);
	for (i = 0; i < PAIR_WR; i++)
		pair_post_recv(&p.passive, 1, 0, 0);
	pair_write_imm(&p.active, &p.passive, 2, 0, 0);
	bad = NULL;
	assert_int_equal(ibv_post_recv(p.passive.id->qp, &wr, &bad), ENOMEM);
	assert_ptr_equal(bad, &wr);
	assert_int_equal(fake_complaints(), 1);
	pair_expect(&p.passive, 1, IBV_WC_SUCCESS);
	assert_int_equal(ibv_post_recv(p.passive.id->qp, &wr, &bad), 0);
	pair_close(&p);
}

PAIR_TEST(queue_of_completions_overflows)
{
	struct ibv_qp_init_attr attr;
	struct endpoint small = { 0 };
	struct ibv_recv_wr wr = { 0 }, *bad;
	struct ibv_qp_attr error = { .qp_state = IBV_QPS_ERR };

	small.id = new_id(NULL);
	assert_int_equal(rdma_bind_addr(small.id, addr4("10.9.0.1", 1)), 0);
	small.cq = ibv_create_cq(small.id->verbs, 1, NULL, NULL, 0);
	attr = pair_qp_attr(&small);
	assert_int_equal(rdma_create_qp(small.id, NULL, &attr), 0);
	assert_int_equal(ibv_post_recv(small.id->qp, &wr, &bad), 0);
	assert_int_equal(ibv_post_recv(small.id->qp, &wr, &bad), 0);
	assert_int_equal(ibv_modify_qp(small.id->qp, &error, IBV_QP_STATE), 0);
	assert_int_equal(fake_complaints(), 1);
	rdma_destroy_qp(small.id);
	ibv_destroy_cq(small.cq);
	assert_int_equal(rdma_destroy_id(small.id), 0);
}

PAIR_TEST(completions_of_a_qp_go_with_it)
{
	struct pair p;

	pair_open(&p);
	pair_post_recv(&p.passive, 1, 0, 8);
	pair_send(&p.active, 2, 0, 8);
	rdma_destroy_qp(p.passive.id);
	pair_expect_none(&p.passive);
	pair_expect(&p.active, 2, IBV_WC_SUCCESS);
	pair_close(&p);
}

PAIR_TEST(qp_that_is_destroyed_ends_the_wait_of_its_peer)
{
	struct pair p;

	pair_open(&p);
	pair_send(&p.active, 2, 0, 8);
	pair_expect_none(&p.active);
	rdma_destroy_qp(p.passive.id);
	pair_expect(&p.active, 2, IBV_WC_RETRY_EXC_ERR);
	pair_close(&p);
}

PAIR_TEST(qp_takes_messages_of_its_peer_only)
{
	struct ibv_qp_attr attr = { .dest_qp_num = 1 };
	struct pair p;

	pair_open(&p);
	pair_post_recv(&p.passive, 1, 0, 8);
	assert_int_equal(ibv_modify_qp(p.passive.id->qp, &attr, IBV_QP_DEST_QPN), 0);
	pair_send(&p.active, 2, 0, 8);
	pair_expect(&p.active, 2, IBV_WC_RETRY_EXC_ERR);
	pair_expect_none(&p.passive);
	pair_close(&p);
}

PAIR_TEST(post_in_the_wrong_state_or_of_the_wrong_kind_is_einval)
{
	struct ibv_qp_attr reset = { .qp_state = IBV_QPS_RESET }, rts = { .qp_state = IBV_QPS_RTS };
	struct ibv_recv_wr recv = { 0 }, *bad;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct pair p;

	pair_open(&p);
	wr = write_wr(&p, &sge);
	wr.opcode = IBV_WR_RDMA_READ;
	assert_int_equal(pair_try_post(&p.active, &wr), EINVAL);
	wr.opcode = IBV_WR_RDMA_WRITE;
	wr.num_sge = 3;
	assert_int_equal(pair_try_post(&p.active, &wr), EINVAL);
	wr.num_sge = 1;
	pair_post_recv(&p.active, 1, 0, 0);
	assert_int_equal(ibv_modify_qp(p.active.id->qp, &reset, IBV_QP_STATE), 0);
	pair_expect_none(&p.active);
	assert_int_equal(pair_try_post(&p.active, &wr), EINVAL);
	assert_int_equal(ibv_post_recv(p.active.id->qp, &recv, &bad), EINVAL);
	assert_int_equal(ibv_modify_qp(p.active.id->qp, &rts, IBV_QP_STATE), EINVAL);
	pair_close(&p);
}

PAIR_TEST(reset_empties_the_queues)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	struct pair p;
	int i;

	pair_open(&p);
	pair_post_recv(&p.active, 1, 0, 0);
	pair_post_recv(&p.passive, 2, 0, 8);
	pair_send(&p.active, 3, 0, 8);
	assert_int_equal(ibv_modify_qp(p.active.id->qp, &attr, IBV_QP_STATE), 0);
	pair_expect_none(&p.active);
	attr.qp_state = IBV_QPS_INIT;
	assert_int_equal(ibv_modify_qp(p.active.id->qp, &attr, IBV_QP_STATE), 0);
	for (i = 0; i < PAIR_WR; i++)
		pair_post_recv(&p.active, 4, 0, 0);
	pair_close(&p);
}

PAIR_TEST(region_that_the_peer_may_write_is_writable_here)
{
	struct pair p;

	pair_open(&p);
	errno = 0;
	assert_null(ibv_reg_mr(p.active.id->pd, p.active.mem, 1, IBV_ACCESS_REMOTE_WRITE));
	assert_int_equal(errno, EINVAL);
	pair_close(&p);
}

RUN
