// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of creating and destroying the QP and the shared receive queue of an id. */
#include "fixture.h"

static struct rdma_cm_id *bound(void)
{
	struct rdma_cm_id *id = new_id(NULL);

	assert_int_equal(rdma_bind_addr(id, addr4("10.9.0.1", 7000)), 0);
	return id;
}

static void create_makes_private_cqs_for_the_inlines(void **state)
{
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_cm_id *id = bound();

	(void)state;
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
	/* What it got, and no pointer that dies with this QP. */
	assert_int_equal(attr.cap.max_send_wr, 6);
	assert_null(attr.send_cq);
	assert_null(attr.recv_cq);
	rdma_destroy_qp(id);
	assert_null(id->qp);
	assert_null(id->send_cq);
	assert_null(id->recv_cq_channel);
	assert_int_equal(rdma_destroy_id(id), 0);
}

static void create_takes_the_callers_cqs(void **state)
{
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_cm_id *id = bound();
	struct ibv_cq *cq;

	(void)state;
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

static void create_without_send_queue_does_not_crash(void **state)
{
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_cm_id *id = bound();

	(void)state;
	attr.cap.max_send_wr = 0;
	assert_int_equal(rdma_create_qp(id, NULL, &attr), 0);
	assert_int_equal(id->send_cq->cqe, 1);
	rdma_destroy_qp(id);
	assert_int_equal(rdma_destroy_id(id), 0);
}

static void create_twice_or_unbound_or_null_is_einval(void **state)
{
	struct ibv_qp_init_attr_ex ex = { 0 };
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_cm_id *id = new_id(NULL);

	(void)state;
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

static void create_on_a_pd_of_another_device_is_einval(void **state)
{
	struct ibv_qp_init_attr attr = qp_attr();
	struct ibv_context other = { 0 };
	struct ibv_pd pd = { .context = &other };
	struct rdma_cm_id *id = bound();

	(void)state;
	assert_fails(EINVAL, rdma_create_qp(id, &pd, &attr));
	assert_int_equal(rdma_destroy_id(id), 0);
}

static void create_on_the_callers_pd_makes_it_the_ids(void **state)
{
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_cm_id *id = bound();
	struct ibv_pd *pd = ibv_alloc_pd(id->verbs);

	(void)state;
	assert_int_equal(rdma_create_qp(id, pd, &attr), 0);
	assert_ptr_equal(id->pd, pd);
	rdma_destroy_qp(id);
	ibv_dealloc_pd(pd);
	assert_int_equal(rdma_destroy_id(id), 0);
}

static void create_that_fails_at_any_step_leaves_nothing(void **state)
{
	struct ibv_qp_init_attr attr, before = qp_attr();
	struct rdma_cm_id *id = bound();
	int step, objects = fake_verbs.objects;

	(void)state;
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

static void create_ex_gives_the_attributes_back_as_they_were(void **state)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4 },
	};
	struct rdma_cm_id *id = bound();

	(void)state;
	assert_int_equal(rdma_create_qp_ex(id, &attr), 0);
	assert_int_equal(attr.comp_mask, 0);
	assert_null(attr.pd);
	assert_null(attr.send_cq);
	assert_int_equal(attr.cap.max_send_wr, 6);
	rdma_destroy_qp(id);
	assert_int_equal(rdma_destroy_id(id), 0);
}

static void datagram_qp_goes_to_rts_at_once(void **state)
{
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_cm_id *id;

	(void)state;
	assert_int_equal(rdma_create_id(NULL, &id, NULL, RDMA_PS_UDP), 0);
	assert_int_equal(rdma_bind_addr(id, addr4("10.9.0.1", 7000)), 0);
	attr.qp_type = IBV_QPT_UD;
	assert_int_equal(rdma_create_qp(id, NULL, &attr), 0);
	assert_int_equal(fake_verbs.moves, 3);
	assert_int_equal(id->qp->state, IBV_QPS_RTS);
	rdma_destroy_qp(id);
	assert_int_equal(rdma_destroy_id(id), 0);
}

static void qp_uses_the_srq_of_the_id(void **state)
{
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_cm_id *id = bound();

	(void)state;
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

static void srq_on_unbound_id_or_without_type_is_einval(void **state)
{
	struct ibv_srq_init_attr_ex ex = { 0 };
	struct ibv_srq_init_attr attr = { 0 };
	struct rdma_cm_id *id = new_id(NULL);

	(void)state;
	assert_fails(EINVAL, rdma_create_srq(id, NULL, &attr));
	assert_int_equal(rdma_bind_addr(id, addr4("10.9.0.1", 7000)), 0);
	assert_fails(EINVAL, rdma_create_srq_ex(id, &ex));
	assert_fails(EINVAL, rdma_create_srq_ex(NULL, &ex));
	assert_int_equal(rdma_destroy_id(id), 0);
}

static const struct CMUnitTest tests[] = {
	TEST(create_makes_private_cqs_for_the_inlines),
	TEST(create_takes_the_callers_cqs),
	TEST(create_without_send_queue_does_not_crash),
	TEST(create_twice_or_unbound_or_null_is_einval),
	TEST(create_on_a_pd_of_another_device_is_einval),
	TEST(create_on_the_callers_pd_makes_it_the_ids),
	TEST(create_that_fails_at_any_step_leaves_nothing),
	TEST(create_ex_gives_the_attributes_back_as_they_were),
	TEST(datagram_qp_goes_to_rts_at_once),
	TEST(qp_uses_the_srq_of_the_id),
	TEST(srq_on_unbound_id_or_without_type_is_einval),
};

RUN(tests)
