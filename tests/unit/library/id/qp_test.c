// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of creating and destroying the QP and the shared receive queue of an id. */
#include "fake/fixture.h"

static struct rdma_cm_id *bound(void)
{
	struct rdma_cm_id *id = new_id(NULL);

	assert_int_equal(rdma_bind_addr(id, addr4("10.9.0.1", 7000)), 0);
	return id;
}

TEST(create_makes_private_cqs_for_the_inlines)
{
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_cm_id *id = bound();

	assert_int_equal(rdma_create_qp(id, NULL, &attr), 0);
	assert_non_null(id->qp);
	assert_ptr_equal(id->qp->pd, id->pd);
	assert_ptr_equal(id->send_cq->cq_context, id);
	assert_ptr_equal(id->recv_cq->cq_context, id);
	assert_ptr_equal(id->send_cq->channel, id->send_cq_channel);
	assert_ptr_not_equal(id->send_cq, id->recv_cq);
	assert_int_equal(id->send_cq->cqe, 4);
	assert_int_equal(id->recv_cq->cqe, 8);
	assert_int_equal(id->qp->state, IBV_QPS_INIT);
	/* The granted attributes, without pointers that are freed with this QP. */
	assert_int_equal(attr.cap.max_send_wr, 6);
	assert_null(attr.send_cq);
	assert_null(attr.recv_cq);
	rdma_destroy_qp(id);
	assert_null(id->qp);
	assert_null(id->send_cq);
	assert_null(id->recv_cq_channel);
	assert_int_equal(rdma_destroy_id(id), 0);
}

TEST(create_takes_the_callers_cqs)
{
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_cm_id *id = bound();
	struct ibv_cq *cq;

	cq = ibv_create_cq(id->verbs, 5, NULL, NULL, 0);
	attr.send_cq = cq;
	attr.recv_cq = cq;
	assert_int_equal(rdma_create_qp(id, NULL, &attr), 0);
	assert_null(id->send_cq);
	assert_null(id->recv_cq);
	assert_ptr_equal(id->qp->send_cq, cq);
	assert_ptr_equal(attr.send_cq, cq);
	rdma_destroy_qp(id);
	ibv_destroy_cq(cq);
	assert_int_equal(rdma_destroy_id(id), 0);
}

TEST(create_without_send_queue_does_not_crash)
{
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_cm_id *id = bound();

	attr.cap.max_send_wr = 0;
	assert_int_equal(rdma_create_qp(id, NULL, &attr), 0);
	assert_int_equal(id->send_cq->cqe, 1);
	rdma_destroy_qp(id);
	assert_int_equal(rdma_destroy_id(id), 0);
}

TEST(create_twice_or_unbound_or_null_is_einval)
{
	struct ibv_qp_init_attr_ex ex = { 0 };
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_cm_id *id = new_id(NULL);

	assert_fails(EINVAL, rdma_create_qp(id, NULL, &attr));
	assert_fails(EINVAL, rdma_create_qp(NULL, NULL, &attr));
	assert_fails(EINVAL, rdma_create_qp(id, NULL, NULL));
	assert_fails(EINVAL, rdma_create_qp_ex(id, &ex));
	assert_int_equal(rdma_bind_addr(id, addr4("10.9.0.1", 7000)), 0);
	assert_int_equal(rdma_create_qp(id, NULL, &attr), 0);
	assert_fails(EINVAL, rdma_create_qp(id, NULL, &attr));
	rdma_destroy_qp(id);
	rdma_destroy_qp(id);
	rdma_destroy_qp(NULL);
	assert_int_equal(rdma_destroy_id(id), 0);
}

TEST(create_on_a_pd_of_another_device_is_einval)
{
	struct ibv_qp_init_attr attr = qp_attr();
	struct ibv_context other = { 0 };
	struct ibv_pd pd = { .context = &other };
	struct rdma_cm_id *id = bound();

	assert_fails(EINVAL, rdma_create_qp(id, &pd, &attr));
	assert_int_equal(rdma_destroy_id(id), 0);
}

TEST(create_on_the_callers_pd_makes_it_the_ids)
{
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_cm_id *id = bound();
	struct ibv_pd *pd = ibv_alloc_pd(id->verbs);

	assert_int_equal(rdma_create_qp(id, pd, &attr), 0);
	assert_ptr_equal(id->pd, pd);
	rdma_destroy_qp(id);
	ibv_dealloc_pd(pd);
	assert_int_equal(rdma_destroy_id(id), 0);
}

TEST(create_that_fails_at_any_step_leaves_nothing)
{
	struct ibv_qp_init_attr attr, before = qp_attr();
	struct rdma_cm_id *id = bound();
	int step, objects = fake_verbs.objects;

	/* channel, CQ, channel, CQ, QP, ECE, INIT */
	fake_verbs.ece.vendor_id = 0x15b3;
	rcl_id_of(id)->remote_ece.vendor_id = 0x15b3;
	for (step = 1; step <= 7; step++) {
		attr = before;
		fake_verbs.steps = 0;
		fake_verbs.fail_at = step;
		fake_verbs.fail_errno = ENOSPC;
		assert_fails(ENOSPC, rdma_create_qp(id, NULL, &attr));
		assert_int_equal(fake_verbs.steps, step);
		assert_int_equal(fake_verbs.objects, objects);
		assert_null(id->qp);
		assert_null(id->send_cq);
		assert_null(id->recv_cq);
		assert_null(id->send_cq_channel);
		assert_null(id->recv_cq_channel);
		assert_null(attr.send_cq);
	}
	fake_verbs.fail_at = 0;
	fake.fail[FAKE(QP_ATTR)] = ENXIO;
	assert_fails(ENXIO, rdma_create_qp(id, NULL, &attr));
	assert_int_equal(fake_verbs.objects, objects);
	attr = before;
	assert_int_equal(rdma_create_qp(id, NULL, &attr), 0);
	rdma_destroy_qp(id);
	assert_int_equal(rdma_destroy_id(id), 0);
}

TEST(create_ex_gives_the_attributes_back_as_they_were)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4 },
	};
	struct rdma_cm_id *id = bound();

	assert_int_equal(rdma_create_qp_ex(id, &attr), 0);
	assert_int_equal(attr.comp_mask, 0);
	assert_null(attr.pd);
	assert_null(attr.send_cq);
	assert_int_equal(attr.cap.max_send_wr, 6);
	rdma_destroy_qp(id);
	assert_int_equal(rdma_destroy_id(id), 0);
}

TEST(create_ex_leaves_members_that_the_mask_does_not_name)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RC, .pd = (void *)0x1, .xrcd = (void *)0x2,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4 },
	};
	struct rdma_cm_id *id = bound();

	assert_int_equal(rdma_create_qp_ex(id, &attr), 0);
	assert_ptr_equal(id->qp->pd, id->pd);
	assert_ptr_equal(attr.pd, (void *)0x1);
	assert_ptr_equal(attr.xrcd, (void *)0x2);
	rdma_destroy_qp(id);
	assert_int_equal(rdma_destroy_id(id), 0);
}

TEST(same_attributes_serve_one_id_after_the_other)
{
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_cm_id *a = bound(), *b = bound();

	assert_int_equal(rdma_create_qp(a, NULL, &attr), 0);
	rdma_destroy_qp(a);
	assert_int_equal(rdma_create_qp(b, NULL, &attr), 0);
	assert_ptr_equal(b->send_cq->cq_context, b);
	rdma_destroy_qp(b);
	assert_int_equal(rdma_destroy_id(a), 0);
	assert_int_equal(rdma_destroy_id(b), 0);
}

TEST(one_cq_of_the_caller_and_one_of_the_id)
{
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_cm_id *id = bound();
	struct ibv_cq *cq;

	cq = ibv_create_cq(id->verbs, 5, NULL, NULL, 0);
	attr.recv_cq = cq;
	assert_int_equal(rdma_create_qp(id, NULL, &attr), 0);
	assert_null(id->recv_cq);
	assert_null(id->recv_cq_channel);
	assert_ptr_equal(id->qp->send_cq, id->send_cq);
	assert_ptr_equal(id->qp->recv_cq, cq);
	rdma_destroy_qp(id);
	assert_null(id->send_cq);
	ibv_destroy_cq(cq);
	assert_int_equal(rdma_destroy_id(id), 0);
}

TEST(cq_against_that_of_the_id_is_einval)
{
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_cm_id *id = bound();
	struct ibv_cq *own, *other;

	own = ibv_create_cq(id->verbs, 5, NULL, NULL, 0);
	other = ibv_create_cq(id->verbs, 5, NULL, NULL, 0);
	id->send_cq = own;	/* as a program may put it there */
	attr.send_cq = other;
	assert_fails(EINVAL, rdma_create_qp(id, NULL, &attr));
	attr.send_cq = own;
	assert_int_equal(rdma_create_qp(id, NULL, &attr), 0);
	assert_ptr_equal(id->qp->send_cq, own);
	rdma_destroy_qp(id);
	ibv_destroy_cq(other);
	assert_int_equal(rdma_destroy_id(id), 0);
}

/* The program has put a CQ into the id for sends alone; it is still its own. */
TEST(cq_for_sends_alone_stays_the_programs)
{
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_cm_id *id = bound();
	struct ibv_cq *sends, *recvs;

	sends = ibv_create_cq(id->verbs, 5, NULL, NULL, 0);
	recvs = ibv_create_cq(id->verbs, 5, NULL, NULL, 0);
	id->send_cq = sends;
	attr.recv_cq = recvs;
	assert_int_equal(rdma_create_qp(id, NULL, &attr), 0);
	assert_ptr_equal(id->qp->send_cq, sends);
	rdma_destroy_qp(id);
	assert_ptr_equal(id->send_cq, sends);
	assert_int_equal(ibv_destroy_cq(sends), 0);
	ibv_destroy_cq(recvs);
	assert_int_equal(rdma_destroy_id(id), 0);
}

TEST(queue_too_long_for_a_cq_is_einval)
{
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_cm_id *id = bound();

	attr.cap.max_recv_wr = UINT32_MAX;
	assert_fails(EINVAL, rdma_create_qp(id, NULL, &attr));
	assert_null(id->recv_cq_channel);
	assert_int_equal(rdma_destroy_id(id), 0);
}

TEST(datagram_qp_goes_to_rts_at_once)
{
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_cm_id *id;

	assert_int_equal(rdma_create_id(NULL, &id, NULL, RDMA_PS_UDP), 0);
	assert_int_equal(rdma_bind_addr(id, addr4("10.9.0.1", 7000)), 0);
	attr.qp_type = IBV_QPT_UD;
	assert_int_equal(rdma_create_qp(id, NULL, &attr), 0);
	assert_int_equal(fake_verbs.moves, 3);
	assert_int_equal(id->qp->state, IBV_QPS_RTS);
	rdma_destroy_qp(id);
	assert_int_equal(rdma_destroy_id(id), 0);
}

TEST(qp_uses_the_srq_of_the_id)
{
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_cm_id *id = bound();

	assert_int_equal(rdma_create_srq(id, NULL, &srq_attr), 0);
	assert_int_equal(srq_attr.attr.max_wr, 10);
	assert_fails(EINVAL, rdma_create_srq(id, NULL, &srq_attr));
	assert_int_equal(rdma_create_qp(id, NULL, &attr), 0);
	assert_ptr_equal(id->qp->srq, id->srq);
	assert_null(attr.srq);
	rdma_destroy_qp(id);
	rdma_destroy_srq(id);
	assert_null(id->srq);
	rdma_destroy_srq(NULL);
	assert_int_equal(rdma_destroy_id(id), 0);
}

TEST(receive_cq_has_room_for_the_shared_queue)
{
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_cm_id *id = bound();

	assert_int_equal(rdma_create_srq(id, NULL, &srq_attr), 0);
	/* The QP has no receives of its own. */
	attr.cap.max_recv_wr = 0;
	fake_verbs.srq_size = 100;
	assert_int_equal(rdma_create_qp(id, NULL, &attr), 0);
	assert_int_equal(id->recv_cq->cqe, 100);
	rdma_destroy_qp(id);
	fake_verbs.srq_size = 0;
	attr.cap.max_recv_wr = 0;
	attr.srq = id->srq;
	assert_int_equal(rdma_create_qp(id, NULL, &attr), 0);
	assert_int_equal(id->recv_cq->cqe, 1);
	rdma_destroy_ep(id);
}

TEST(srq_that_goes_first_leaves_the_cqs_to_the_qp)
{
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_cm_id *id = bound();

	assert_int_equal(rdma_create_srq(id, NULL, &srq_attr), 0);
	assert_int_equal(rdma_create_qp(id, NULL, &attr), 0);
	rdma_destroy_srq(id);
	assert_non_null(id->recv_cq);
	rdma_destroy_qp(id);
	assert_null(id->recv_cq);
	assert_int_equal(rdma_destroy_id(id), 0);
}

TEST(srq_on_the_pd_of_another_device_is_einval)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_context other = { 0 };
	struct ibv_pd pd = { .context = &other };
	struct rdma_cm_id *id = bound();

	assert_fails(EINVAL, rdma_create_srq(id, &pd, &attr));
	fake_verbs.fail_at = fake_verbs.steps + 1;
	fake_verbs.fail_errno = ENOSPC;
	assert_fails(ENOSPC, rdma_create_srq(id, NULL, &attr));
	assert_null(id->srq);
	assert_int_equal(rdma_destroy_id(id), 0);
}

TEST(srq_ex_gives_the_attributes_back_as_they_were)
{
	struct ibv_srq_init_attr_ex ex = {
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE, .srq_type = IBV_SRQT_BASIC,
		.attr = { .max_wr = 8 },
	};
	struct rdma_cm_id *id = bound();

	assert_int_equal(rdma_create_srq_ex(id, &ex), 0);
	assert_ptr_equal(id->srq->pd, id->pd);
	assert_int_equal(ex.comp_mask, IBV_SRQ_INIT_ATTR_TYPE);
	assert_null(ex.pd);
	assert_int_equal(ex.attr.max_wr, 10);
	rdma_destroy_srq(id);
	assert_int_equal(rdma_destroy_id(id), 0);
}

TEST(xrc_on_a_device_without_it_is_its_errno)
{
	struct rdma_addrinfo res = {
		.ai_flags = RAI_PASSIVE, .ai_family = AF_INET, .ai_port_space = RDMA_PS_TCP,
		.ai_qp_type = IBV_QPT_XRC_RECV, .ai_src_addr = addr4("10.9.0.1", 7000),
		.ai_src_len = sizeof(struct sockaddr_in),
	};
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 8 } };
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_cm_id *id;
	int objects;

	assert_int_equal(rdma_create_ep(&id, &res, NULL, NULL), 0);
	objects = fake_verbs.objects;
	assert_fails(EOPNOTSUPP, rdma_create_qp(id, NULL, &attr));
	assert_fails(EOPNOTSUPP, rdma_create_srq(id, NULL, &srq_attr));
	assert_int_equal(fake_verbs.objects, objects);
	rdma_destroy_ep(id);
}

TEST(srq_on_unbound_id_or_without_type_is_einval)
{
	struct ibv_srq_init_attr_ex ex = { 0 };
	struct ibv_srq_init_attr attr = { 0 };
	struct rdma_cm_id *id = new_id(NULL);

	assert_fails(EINVAL, rdma_create_srq(id, NULL, &attr));
	assert_int_equal(rdma_bind_addr(id, addr4("10.9.0.1", 7000)), 0);
	assert_fails(EINVAL, rdma_create_srq_ex(id, &ex));
	assert_fails(EINVAL, rdma_create_srq_ex(NULL, &ex));
	assert_int_equal(rdma_destroy_id(id), 0);
}

RUN
