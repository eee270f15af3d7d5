// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of endpoints. */
#include "fixture.h"

static struct rdma_addrinfo active(void)
{
	return (struct rdma_addrinfo) {
		.ai_family = AF_INET, .ai_port_space = RDMA_PS_TCP, .ai_qp_type = IBV_QPT_RC,
		.ai_dst_addr = addr4("10.9.0.2", 7001), .ai_dst_len = sizeof(struct sockaddr_in),
	};
}

static struct rdma_addrinfo passive(void)
{
	return (struct rdma_addrinfo) {
		.ai_flags = RAI_PASSIVE, .ai_family = AF_INET, .ai_port_space = RDMA_PS_TCP,
		.ai_qp_type = IBV_QPT_RC, .ai_src_addr = addr4("10.9.0.1", 7000),
		.ai_src_len = sizeof(struct sockaddr_in),
	};
}

static void active_endpoint_is_ready_to_connect(void **state)
{
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_addrinfo res = active();
	struct rdma_cm_id *id;

	(void)state;
	attr.qp_type = 0;
	assert_int_equal(rdma_create_ep(&id, &res, NULL, &attr), 0);
	assert_int_equal(attr.qp_type, IBV_QPT_RC);
	assert_int_equal(id->event->event, RDMA_CM_EVENT_ROUTE_RESOLVED);
	assert_int_equal(id->qp->state, IBV_QPS_INIT);
	assert_int_equal(fake.last[FAKE(RESOLVE)].resolve.pipe.timeout_ms, 2000);
	assert_int_equal(rdma_connect(id, NULL), 0);
	rdma_destroy_ep(id);
	rdma_destroy_ep(NULL);
}

static void active_endpoint_that_fails_leaves_nothing(void **state)
{
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_addrinfo res = active();
	struct rdma_cm_id *id = (void *)0x1;

	(void)state;
	fake.addr_event = RDMA_CM_ALT_EVENT_ADDR_ERROR;
	fake.status = -ETIMEDOUT;
	assert_fails(ETIMEDOUT, rdma_create_ep(&id, &res, NULL, &attr));
	assert_ptr_equal(id, (void *)0x1);
	assert_fails(EINVAL, rdma_create_ep(NULL, &res, NULL, NULL));
	assert_fails(EINVAL, rdma_create_ep(&id, NULL, NULL, NULL));
}

static void active_endpoint_sends_its_connect_data_first(void **state)
{
	struct rdma_conn_param param = { .private_data = "cd", .private_data_len = 3 };
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_addrinfo res = active();
	char prefix[] = { 'a', 'b' };
	struct rdma_cm_id *id;

	(void)state;
	res.ai_connect = prefix;
	res.ai_connect_len = sizeof(prefix);
	assert_int_equal(rdma_create_ep(&id, &res, NULL, &attr), 0);
	assert_int_equal(rdma_connect(id, &param), 0);
	assert_int_equal(fake.last[FAKE(CONNECT)].connect.param.private_data_len, 5);
	assert_string_equal(fake.private_data, "abcd");
	rdma_destroy_ep(id);
}

static void active_endpoint_with_a_route_sets_it(void **state)
{
	struct rdma_addrinfo res = active();
	struct ibv_path_data path = { 0 };
	struct rdma_cm_id *id;

	(void)state;
	res.ai_route = &path;
	res.ai_route_len = sizeof(path);
	/* The option ends with this event. */
	fake.addr_event = FAKE_NO_EVENT;
	fake_install();
	fake.fail[FAKE(SET_OPTION)] = EINVAL;
	assert_fails(EINVAL, rdma_create_ep(&id, &res, NULL, NULL));
	assert_int_equal(fake.last[FAKE(SET_OPTION)].option.level, RDMA_OPTION_IB);
	assert_int_equal(fake.last[FAKE(SET_OPTION)].option.optname, RDMA_OPTION_IB_PATH);
	assert_int_equal(fake.last[FAKE(SET_OPTION)].option.optlen, sizeof(path));
}

static void passive_endpoint_gives_its_children_qps(void **state)
{
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_addrinfo res = passive();
	struct rdma_cm_id *l, *child;

	(void)state;
	assert_int_equal(rdma_create_ep(&l, &res, NULL, &attr), 0);
	assert_null(l->qp);
	memset(&attr, 0xff, sizeof(attr));	/* it has its own copy */
	assert_int_equal(rdma_listen(l, 0), 0);
	fake_request(handle_of(l));
	assert_int_equal(rdma_get_request(l, &child), 0);
	assert_non_null(child->qp);
	assert_int_equal(child->recv_cq->cqe, 8);
	assert_int_equal(rdma_accept(child, NULL), 0);
	rdma_destroy_ep(child);
	rdma_destroy_ep(l);
}

static void passive_endpoint_hands_its_pd_down(void **state)
{
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_addrinfo res = passive();
	struct rdma_cm_id *l, *child;
	struct ibv_context **devices = rdma_get_devices(NULL);
	struct ibv_pd *pd = ibv_alloc_pd(devices[0]);

	(void)state;
	assert_int_equal(rdma_create_ep(&l, &res, pd, &attr), 0);
	assert_ptr_equal(l->pd, pd);
	fake_request(handle_of(l));
	assert_int_equal(rdma_get_request(l, &child), 0);
	assert_ptr_equal(child->qp->pd, pd);
	assert_ptr_equal(child->pd, pd);
	rdma_destroy_ep(child);
	rdma_destroy_ep(l);
	ibv_dealloc_pd(pd);
	rdma_free_devices(devices);
}

static void passive_endpoint_on_a_used_address_says_so(void **state)
{
	struct rdma_addrinfo res = passive();
	struct rdma_cm_id *l, *other;

	(void)state;
	assert_int_equal(rdma_create_ep(&l, &res, NULL, NULL), 0);
	res.ai_src_addr = NULL;
	assert_fails(EINVAL, rdma_create_ep(&other, &res, NULL, NULL));
	rdma_destroy_ep(l);
}

static const struct CMUnitTest tests[] = {
	TEST(active_endpoint_is_ready_to_connect),
	TEST(active_endpoint_that_fails_leaves_nothing),
	TEST(active_endpoint_sends_its_connect_data_first),
	TEST(active_endpoint_with_a_route_sets_it),
	TEST(passive_endpoint_gives_its_children_qps),
	TEST(passive_endpoint_hands_its_pd_down),
	TEST(passive_endpoint_on_a_used_address_says_so),
};

RUN(tests)
