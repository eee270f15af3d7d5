// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of XRC: QPs that only send or only receive, with the SRQs of a domain. */
#include "fake/fixture.h"

static struct rdma_cm_id *endpoint(int type)
{
	struct rdma_addrinfo res = {
		.ai_flags = RAI_PASSIVE, .ai_family = AF_INET, .ai_port_space = RDMA_PS_TCP,
		.ai_qp_type = type, .ai_src_addr = addr4("10.9.0.1", 7000),
		.ai_src_len = sizeof(struct sockaddr_in),
	};
	struct rdma_cm_id *id = NULL;

	fake_verbs.xrc = true;
	assert_int_equal(rdma_create_ep(&id, &res, NULL, NULL), 0);
	assert_int_equal(id->qp_type, type);
	return id;
}

TEST(receiver_has_a_queue_with_a_cq_and_a_qp_without)
{
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct rdma_cm_id *id = endpoint(IBV_QPT_XRC_RECV);
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_XRC_RECV };

	assert_int_equal(rdma_create_srq(id, NULL, &srq_attr), 0);
	assert_int_equal(fake_verbs.last_srq.srq_type, IBV_SRQT_XRC);
	assert_int_equal(fake_verbs.xrcds, 1);
	assert_non_null(fake_verbs.last_srq.xrcd);
	assert_ptr_equal(fake_verbs.last_srq.pd, id->pd);
	assert_ptr_equal(fake_verbs.last_srq.cq, id->recv_cq);
	assert_int_equal(id->recv_cq->cqe, 8);
	assert_ptr_equal(id->recv_cq->cq_context, id);
	assert_null(id->send_cq);

	assert_int_equal(rdma_create_qp(id, NULL, &attr), 0);
	assert_true(fake_verbs.last_qp.comp_mask & IBV_QP_INIT_ATTR_XRCD);
	assert_ptr_equal(fake_verbs.last_qp.xrcd, fake_verbs.last_srq.xrcd);
	assert_null(id->send_cq);
	/* The SRQ's CQ is freed with the SRQ. */
	rdma_destroy_qp(id);
	assert_non_null(id->recv_cq);
	assert_int_equal(rdma_create_qp(id, NULL, &attr), 0);
	rdma_destroy_qp(id);
	rdma_destroy_srq(id);
	assert_null(id->recv_cq);
	assert_null(id->recv_cq_channel);
	rdma_destroy_ep(id);
	assert_int_equal(fake_verbs.xrcds, 0);
}

TEST(receiver_without_queue_has_no_cq_at_all)
{
	struct rdma_cm_id *id = endpoint(IBV_QPT_XRC_RECV);
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_XRC_RECV };

	assert_int_equal(rdma_create_qp(id, NULL, &attr), 0);
	assert_null(id->send_cq);
	assert_null(id->recv_cq);
	rdma_destroy_ep(id);
}

TEST(endpoint_takes_all_of_it_down)
{
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct rdma_cm_id *id = endpoint(IBV_QPT_XRC_RECV);
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_XRC_RECV };

	assert_int_equal(rdma_create_srq(id, NULL, &srq_attr), 0);
	assert_int_equal(rdma_create_qp(id, NULL, &attr), 0);
	rdma_destroy_ep(id);
	/* The PD of the device stays. */
	assert_int_equal(fake_verbs.objects, 1);
}

TEST(sender_has_no_cq_for_receives)
{
	struct rdma_cm_id *id = endpoint(IBV_QPT_XRC_SEND);
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_XRC_SEND, .cap = { .max_send_wr = 4, .max_send_sge = 1 },
	};

	assert_int_equal(rdma_create_qp(id, NULL, &attr), 0);
	assert_int_equal(id->send_cq->cqe, 4);
	assert_null(id->recv_cq);
	assert_null(id->recv_cq_channel);
	assert_int_equal(fake_verbs.xrcds, 0);
	rdma_destroy_ep(id);
}

TEST(domain_and_cq_of_the_caller_are_used)
{
	struct rdma_cm_id *id = endpoint(IBV_QPT_XRC_RECV);
	struct ibv_xrcd_init_attr xrcd_attr = { 0 };
	struct ibv_xrcd *xrcd = ibv_open_xrcd(id->verbs, &xrcd_attr);
	struct ibv_cq *cq = ibv_create_cq(id->verbs, 5, NULL, NULL, 0);
	struct ibv_srq_init_attr_ex attr = {
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC, .attr = { .max_wr = 8 }, .xrcd = xrcd, .cq = cq,
	};

	assert_int_equal(rdma_create_srq_ex(id, &attr), 0);
	assert_ptr_equal(fake_verbs.last_srq.xrcd, xrcd);
	assert_ptr_equal(fake_verbs.last_srq.cq, cq);
	assert_null(id->recv_cq);
	assert_int_equal(fake_verbs.xrcds, 1);
	assert_ptr_equal(attr.xrcd, xrcd);
	rdma_destroy_ep(id);
	ibv_destroy_cq(cq);
	ibv_close_xrcd(xrcd);
}

TEST(queue_that_fails_at_any_step_leaves_nothing)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct rdma_cm_id *id = endpoint(IBV_QPT_XRC_RECV);
	int step, objects = fake_verbs.objects;

	/* domain, channel, CQ, queue; the domain is the device's and stays */
	for (step = 1; step <= 4; step++) {
		fake_verbs.steps = 0;
		fake_verbs.fail_at = step == 1 ? 1 : step - 1;
		assert_fails(ENOMEM, rdma_create_srq(id, NULL, &attr));
		assert_null(id->srq);
		assert_null(id->recv_cq);
		assert_null(id->recv_cq_channel);
		fake_verbs.fail_at = 0;
		if (step == 1)
			assert_non_null(rcl_device_xrcd(rcl_id_of(id)->device));
		assert_int_equal(fake_verbs.objects, objects + 1);
	}
	assert_int_equal(rdma_create_srq(id, NULL, &attr), 0);
	rdma_destroy_ep(id);
	/* The PD of the device stays. */
	assert_int_equal(fake_verbs.objects, 1);
}

RUN
