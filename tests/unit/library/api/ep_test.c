// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of endpoints. */
#include <fcntl.h>
#include <stdlib.h>

#include "fake/fixture.h"

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

TEST(active_endpoint_is_ready_to_connect)
{
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_addrinfo res = active();
	struct rdma_cm_id *id;

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

TEST(active_endpoint_that_fails_leaves_nothing)
{
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_addrinfo res = active();
	struct rdma_cm_id *id = (void *)0x1;

	fake.addr_event = RDMA_CM_ALT_EVENT_ADDR_ERROR;
	fake.status = -ETIMEDOUT;
	assert_fails(ETIMEDOUT, rdma_create_ep(&id, &res, NULL, &attr));
	assert_ptr_equal(id, (void *)0x1);
	assert_fails(EINVAL, rdma_create_ep(NULL, &res, NULL, NULL));
	assert_fails(EINVAL, rdma_create_ep(&id, NULL, NULL, NULL));
}

TEST(active_endpoint_sends_its_connect_data_first)
{
	struct rdma_conn_param param = { .private_data = "cd", .private_data_len = 3 };
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_addrinfo res = active();
	char prefix[] = { 'a', 'b' };
	struct rdma_cm_id *id;

	res.ai_connect = prefix;
	res.ai_connect_len = sizeof(prefix);
	assert_int_equal(rdma_create_ep(&id, &res, NULL, &attr), 0);
	assert_int_equal(rdma_connect(id, &param), 0);
	assert_int_equal(fake.last[FAKE(CONNECT)].connect.param.private_data_len, 5);
	assert_string_equal((char *)fake.private_data, "abcd");
	rdma_destroy_ep(id);
}

TEST(active_endpoint_with_a_route_sets_it)
{
	struct rdma_addrinfo res = active();
	struct ibv_path_data path = { 0 };
	struct rdma_cm_id *id;

	res.ai_route = &path;
	res.ai_route_len = sizeof(path);
	fake.fail[FAKE(SET_OPTION)] = EINVAL;
	assert_fails(EINVAL, rdma_create_ep(&id, &res, NULL, NULL));
	assert_int_equal(fake.last[FAKE(SET_OPTION)].option.level, RDMA_OPTION_IB);
	assert_int_equal(fake.last[FAKE(SET_OPTION)].option.optname, RDMA_OPTION_IB_PATH);
	assert_int_equal(fake.last[FAKE(SET_OPTION)].option.optlen, sizeof(path));
	/* The library makes no call for a route, but reports its event. */
	assert_int_equal(rdma_create_ep(&id, &res, NULL, NULL), 0);
	assert_int_equal(fake.last[FAKE(RESOLVE)].resolve.pipe.steps, RDMA_CM_ALT_STEP_ADDR);
	assert_int_equal(id->event->event, RDMA_CM_EVENT_ROUTE_RESOLVED);
	rdma_destroy_ep(id);
}

static int alive_ids(void)
{
	int i, n = 0;

	for (i = 0; i < FAKE_MAX_IDS; i++)
		n += fake.ids[i].alive;
	return n;
}

TEST(active_endpoint_that_fails_at_any_step_leaves_nothing)
{
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_addrinfo res = active();
	struct rdma_cm_id *id;
	int step;

	res.ai_connect = "ab";
	res.ai_connect_len = 2;
	fake_verbs.fail_errno = ENOSPC;
	/* open, query, PD, channel, CQ, channel, CQ, QP, INIT */
	for (step = 1; ; step++) {
		fake_verbs.steps = 0;
		fake_verbs.fail_at = step;
		id = (void *)0x1;
		errno = 0;
		if (!rdma_create_ep(&id, &res, NULL, &attr))
			break;
		/* A device that cannot be opened is treated as missing. */
		assert_int_equal(errno, step == 1 ? ENODEV : ENOSPC);
		assert_ptr_equal(id, (void *)0x1);
		assert_int_equal(fake_open_queues(), 0);
		assert_int_equal(alive_ids(), 0);
		/* The device and its PD stay: fewer steps the next time. */
		rcl_devices_reset();
		assert_int_equal(fake_verbs.objects, 0);
		attr = qp_attr();
	}
	assert_int_equal(step, 10);
	rdma_destroy_ep(id);
	fake_verbs.fail_at = 0;
	fake.route_event = RDMA_CM_ALT_EVENT_ROUTE_ERROR;
	fake.status = -EHOSTUNREACH;
	assert_fails(EHOSTUNREACH, rdma_create_ep(&id, &res, NULL, &attr));
	fake.fail[FAKE(RESOLVE)] = EMFILE;
	assert_fails(EMFILE, rdma_create_ep(&id, &res, NULL, &attr));
	assert_int_equal(alive_ids(), 0);
}

TEST(active_endpoint_without_attributes_has_no_qp)
{
	struct rdma_addrinfo res = active();
	struct rdma_cm_id *id;

	assert_int_equal(rdma_create_ep(&id, &res, NULL, NULL), 0);
	assert_null(id->qp);
	assert_fails(EINVAL, rdma_connect(id, NULL));
	rdma_destroy_ep(id);
	res.ai_dst_addr = NULL;
	res.ai_dst_len = 0;
	assert_fails(EINVAL, rdma_create_ep(&id, &res, NULL, NULL));
	res = active();
	res.ai_dst_len = 4;
	assert_fails(EINVAL, rdma_create_ep(&id, &res, NULL, NULL));
	res = active();
	res.ai_src_addr = addr4("10.9.0.1", 0);
	res.ai_src_len = 4;
	assert_fails(EINVAL, rdma_create_ep(&id, &res, NULL, NULL));
	res.ai_src_len = 0;	/* there is none, whatever the pointer says */
	assert_int_equal(rdma_create_ep(&id, &res, NULL, NULL), 0);
	rdma_destroy_ep(id);
	res = active();
	res.ai_port_space = 0x10106;
	assert_fails(EINVAL, rdma_create_ep(&id, &res, NULL, NULL));
}

TEST(active_datagram_endpoint_has_a_qp_in_rts)
{
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_addrinfo res = active();
	struct rdma_cm_id *id;

	res.ai_port_space = RDMA_PS_UDP;
	res.ai_qp_type = IBV_QPT_UD;
	assert_int_equal(rdma_create_ep(&id, &res, NULL, &attr), 0);
	assert_int_equal(attr.qp_type, IBV_QPT_UD);
	assert_int_equal(id->qp_type, IBV_QPT_UD);
	assert_int_equal(id->qp->state, IBV_QPS_RTS);
	rdma_destroy_ep(id);
}

TEST(endpoint_takes_a_shared_queue)
{
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_addrinfo res = active();
	struct rdma_cm_id *id;

	assert_int_equal(rdma_create_ep(&id, &res, NULL, NULL), 0);
	assert_int_equal(rdma_create_srq(id, NULL, &srq_attr), 0);
	assert_int_equal(rdma_create_qp(id, NULL, &attr), 0);
	assert_ptr_equal(id->qp->srq, id->srq);
	assert_int_equal(rdma_connect(id, NULL), 0);
	assert_int_equal(fake.last[FAKE(CONNECT)].connect.param.srq, 1);
	rdma_destroy_ep(id);
}

TEST(passive_endpoint_gives_its_children_qps)
{
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_addrinfo res = passive();
	struct rdma_cm_id *l, *child;

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

TEST(passive_endpoint_hands_its_pd_down)
{
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_addrinfo res = passive();
	struct rdma_cm_id *l, *child;
	struct ibv_context **devices = rdma_get_devices(NULL);
	struct ibv_pd *pd = ibv_alloc_pd(devices[0]);

	assert_int_equal(rdma_create_ep(&l, &res, pd, &attr), 0);
	assert_ptr_equal(l->pd, pd);
	assert_int_equal(rdma_listen(l, 0), 0);
	fake_request(handle_of(l));
	assert_int_equal(rdma_get_request(l, &child), 0);
	assert_ptr_equal(child->qp->pd, pd);
	assert_ptr_equal(child->pd, pd);
	rdma_destroy_ep(child);
	rdma_destroy_ep(l);
	ibv_dealloc_pd(pd);
	rdma_free_devices(devices);
}

TEST(passive_endpoint_on_a_used_address_says_so)
{
	struct rdma_addrinfo res = passive();
	struct rdma_cm_id *l, *other;

	assert_int_equal(rdma_create_ep(&l, &res, NULL, NULL), 0);
	res.ai_src_addr = NULL;
	assert_fails(EINVAL, rdma_create_ep(&other, &res, NULL, NULL));
	res = passive();
	res.ai_src_len = 0;
	assert_fails(EINVAL, rdma_create_ep(&other, &res, NULL, NULL));
	res.ai_src_len = sizeof(struct sockaddr_in6);
	assert_fails(EINVAL, rdma_create_ep(&other, &res, NULL, NULL));
	rdma_destroy_ep(l);
}

TEST(passive_datagram_endpoint_gives_its_children_qps)
{
	struct rdma_conn_param param = { .private_data = "x", .private_data_len = 1 };
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_addrinfo res = passive();
	struct rdma_cm_id *l, *child;

	res.ai_port_space = RDMA_PS_UDP;
	res.ai_qp_type = IBV_QPT_UD;
	assert_int_equal(rdma_create_ep(&l, &res, NULL, &attr), 0);
	assert_int_equal(attr.qp_type, IBV_QPT_RC);	/* not touched on this side */
	assert_int_equal(rdma_listen(l, 0), 0);
	fake_request(handle_of(l));
	assert_int_equal(rdma_get_request(l, &child), 0);
	assert_int_equal(child->qp->state, IBV_QPS_RTS);
	assert_int_equal(child->event->event, RDMA_CM_EVENT_CONNECT_REQUEST);
	/* Accepting causes no event here. */
	fake.accept_event = FAKE_NO_EVENT;
	assert_int_equal(rdma_accept(child, &param), 0);
	assert_null(child->event);
	rdma_destroy_ep(child);
	rdma_destroy_ep(l);
}

/* A listener whose children get QPs, and a request whose QP fails. */
static struct rdma_cm_id *failed_request(uint32_t *child)
{
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_addrinfo res = passive();
	struct rdma_cm_id *l, *id = (void *)0x1;

	assert_int_equal(rdma_create_ep(&l, &res, NULL, &attr), 0);
	fcntl(l->channel->fd, F_SETFL, O_NONBLOCK);
	assert_int_equal(rdma_listen(l, 0), 0);
	*child = fake_request(handle_of(l));
	fake_verbs.fail_at = fake_verbs.steps + 5;
	fake_verbs.fail_errno = ENOSPC;
	assert_fails(ENOSPC, rdma_get_request(l, &id));
	assert_ptr_equal(id, (void *)0x1);
	assert_int_equal(l->event->event, RDMA_CM_EVENT_CONNECT_REQUEST);
	assert_true(fake.ids[*child].alive);
	return l;
}

TEST(request_that_gets_no_qp_goes_with_the_next_call)
{
	struct rdma_cm_id *l, *id;
	uint32_t child;

	l = failed_request(&child);
	assert_fails(EAGAIN, rdma_get_request(l, &id));
	assert_false(fake.ids[child].alive);
	assert_null(l->event);
	rdma_destroy_ep(l);

	l = failed_request(&child);
	rdma_destroy_ep(l);
	assert_false(fake.ids[child].alive);
}

TEST(request_that_got_no_qp_may_still_be_served)
{
	struct rdma_conn_param param = { .qp_num = 5 };
	struct rdma_cm_id *l, *id, *taken;
	uint32_t child;

	l = failed_request(&child);
	taken = l->event->id;
	assert_int_equal(rdma_accept(taken, &param), 0);
	assert_fails(EAGAIN, rdma_get_request(l, &id));
	assert_true(fake.ids[child].alive);
	assert_int_equal(rdma_destroy_id(taken), 0);
	rdma_destroy_ep(l);

	l = failed_request(&child);
	assert_int_equal(rdma_reject(l->event->id, NULL, 0), 0);
	assert_int_equal(rdma_destroy_id(l->event->id), 0);
	assert_fails(EAGAIN, rdma_get_request(l, &id));
	rdma_destroy_ep(l);
}

TEST(pd_of_another_device_fails_with_the_request)
{
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_addrinfo res = passive();
	struct ibv_context other = { 0 };
	struct ibv_pd pd = { .context = &other };
	struct rdma_cm_id *l, *child;

	assert_int_equal(rdma_create_ep(&l, &res, &pd, &attr), 0);
	assert_int_equal(rdma_listen(l, 0), 0);
	fake_request(handle_of(l));
	assert_fails(EINVAL, rdma_get_request(l, &child));
	rdma_destroy_ep(l);
}

/* The program built the list itself: lengths may have any value. */
TEST(endpoint_of_a_cut_off_address_is_none)
{
	struct rdma_addrinfo res = active();
	void *byte = malloc(1);
	struct rdma_cm_id *id;

	assert_non_null(byte);
	*(uint8_t *)byte = AF_INET;
	res.ai_dst_addr = byte;
	res.ai_dst_len = 1;
	assert_fails(EINVAL, rdma_create_ep(&id, &res, NULL, NULL));
	res = active();
	res.ai_src_addr = byte;
	res.ai_src_len = 1;
	assert_fails(EINVAL, rdma_create_ep(&id, &res, NULL, NULL));
	res = passive();
	res.ai_src_addr = byte;
	res.ai_src_len = 1;
	assert_fails(EINVAL, rdma_create_ep(&id, &res, NULL, NULL));
	free(byte);
}

TEST(connect_data_of_an_endpoint_has_an_end)
{
	struct rdma_conn_param param = { .private_data = "cd", .private_data_len = 3 };
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_addrinfo res = active();
	struct rdma_cm_id *id;

	res.ai_connect_len = 8;
	assert_fails(EINVAL, rdma_create_ep(&id, &res, NULL, &attr));
	res.ai_connect = calloc(1, UINT16_MAX + 1);
	res.ai_connect_len = UINT16_MAX + 1;
	assert_fails(EINVAL, rdma_create_ep(&id, &res, NULL, &attr));
	res.ai_connect_len = UINT16_MAX - 2;
	assert_int_equal(rdma_create_ep(&id, &res, NULL, &attr), 0);
	assert_fails(EINVAL, rdma_connect(id, &param));
	rdma_destroy_ep(id);
	free(res.ai_connect);
}

RUN
