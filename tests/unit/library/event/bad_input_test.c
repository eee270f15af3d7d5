// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests that invalid input does not crash a call: NULL, ids without a device, unknown families. */
#include "fake/fixture.h"
#include "base/rdma_cma_new.h"

TEST(null_ids_and_places_are_einval)
{
	struct ibv_qp_init_attr_ex qp_ex = { 0 };
	struct ibv_srq_init_attr_ex srq_ex = { 0 };
	struct ibv_srq_init_attr srq = { 0 };
	struct ibv_qp_init_attr qp = qp_attr();
	struct rdma_cm_id *id = new_id(NULL), *out;
	struct sockaddr *addr = addr4("10.9.0.1", 1);
	struct rdma_addrinfo res = { 0 };
	int value = 1, mask;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	int calls = 0, i;

	for (i = 0; i < FAKE_COMMANDS; i++)
		calls += fake.calls[i];
	assert_fails(EINVAL, rdma_create_id(NULL, NULL, NULL, RDMA_PS_TCP));
	assert_fails(EINVAL, rdma_destroy_id(NULL));
	assert_fails(EINVAL, rdma_bind_addr(NULL, addr));
	assert_fails(EINVAL, rdma_bind_addr(id, NULL));
	assert_fails(EINVAL, rdma_resolve_addr(NULL, NULL, addr, 1));
	assert_fails(EINVAL, rdma_resolve_addr(id, NULL, NULL, 1));
	assert_fails(EINVAL, rdma_resolve_route(NULL, 1));
	assert_fails(EINVAL, rdma_listen(NULL, 1));
	assert_fails(EINVAL, rdma_get_request(NULL, &out));
	assert_fails(EINVAL, rdma_get_request(id, NULL));
	assert_fails(EINVAL, rdma_create_qp(NULL, NULL, &qp));
	assert_fails(EINVAL, rdma_create_qp(id, NULL, NULL));
	assert_fails(EINVAL, rdma_create_qp_ex(NULL, &qp_ex));
	assert_fails(EINVAL, rdma_create_qp_ex(id, NULL));
	assert_fails(EINVAL, rdma_create_srq(NULL, NULL, &srq));
	assert_fails(EINVAL, rdma_create_srq(id, NULL, NULL));
	assert_fails(EINVAL, rdma_create_srq_ex(NULL, &srq_ex));
	assert_fails(EINVAL, rdma_create_srq_ex(id, NULL));
	assert_fails(EINVAL, rdma_create_ep(NULL, &res, NULL, NULL));
	assert_fails(EINVAL, rdma_create_ep(&out, NULL, NULL, NULL));
	assert_fails(EINVAL, rdma_getaddrinfo("10.9.0.1", NULL, NULL, NULL));
	assert_fails(EINVAL, rdma_set_option(NULL, 0, 1, &value, sizeof(value)));
	assert_fails(EINVAL, rdma_migrate_id(NULL, NULL));
	assert_fails(EINVAL, rdma_migrate_id(NULL, id->channel));
	assert_fails(EINVAL, rdma_migrate_id(id, NULL));
	assert_fails(EINVAL, rdma_init_qp_attr(NULL, &attr, &mask));
	assert_fails(EINVAL, rdma_init_qp_attr(id, NULL, &mask));
	assert_fails(EINVAL, rdma_init_qp_attr(id, &attr, NULL));
	assert_int_equal(rdma_get_src_port(NULL), 0);
	assert_int_equal(rdma_get_dst_port(NULL), 0);
	/* None of these calls reached the kernel. */
	for (i = 0; i < FAKE_COMMANDS; i++)
		calls -= fake.calls[i];
	assert_int_equal(calls, 0);
	assert_int_equal(rdma_destroy_id(id), 0);
}

TEST(null_is_nothing_to_free)
{
	rdma_destroy_event_channel(NULL);
	rdma_destroy_ep(NULL);
	rdma_destroy_qp(NULL);
	rdma_destroy_srq(NULL);
	rdma_free_devices(NULL);
	rdma_freeaddrinfo(NULL);
}

TEST(id_without_device_is_einval)
{
	struct rdma_conn_param param = { 0 };
	struct ibv_srq_init_attr srq = { 0 };
	struct ibv_qp_init_attr qp = qp_attr();
	struct rdma_cm_id *id = new_id(NULL);

	assert_fails(EINVAL, rdma_resolve_route(id, 1));
	assert_fails(EINVAL, rdma_create_qp(id, NULL, &qp));
	assert_fails(EINVAL, rdma_create_srq(id, NULL, &srq));
	assert_fails(EINVAL, rdma_connect(id, &param));
	assert_fails(EINVAL, rdma_connect(id, NULL));
	assert_fails(EINVAL, rdma_accept(id, &param));
	assert_fails(EINVAL, rdma_accept(id, NULL));
	assert_fails(EINVAL, rdma_disconnect(id));
	assert_int_equal(rdma_get_src_port(id), 0);
	assert_int_equal(rdma_get_dst_port(id), 0);
	rdma_destroy_qp(id);
	rdma_destroy_srq(id);
	rdma_destroy_ep(id);
}

TEST(families_that_are_not_ours_are_einval)
{
	static const int families[] = { AF_UNSPEC, AF_UNIX, AF_PACKET, 255 };
	struct sockaddr_storage odd = { 0 };
	struct rdma_cm_id *id = new_id(NULL);
	struct sockaddr *addr = (void *)&odd;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(families); i++) {
		odd.ss_family = (sa_family_t)families[i];
		assert_fails(EINVAL, rdma_bind_addr(id, addr));
		assert_fails(EINVAL, rdma_resolve_addr(id, NULL, addr, 1));
		assert_fails(EINVAL, rdma_resolve_addr(id, addr, addr4("10.9.0.1", 1), 1));
	}
	assert_int_equal(rdma_destroy_id(id), 0);
}

TEST(failing_call_changes_nothing)
{
	struct rdma_cm_id *id = new_id(NULL), *out = (void *)0x1;
	struct rdma_route route = id->route;

	fake.fail[FAKE(RESOLVE)] = EADDRNOTAVAIL;
	assert_fails(EADDRNOTAVAIL, rdma_bind_addr(id, addr4("10.9.0.3", 1)));
	fake.fail[FAKE(RESOLVE)] = ENETUNREACH;
	assert_fails(ENETUNREACH, rdma_resolve_addr(id, NULL, addr4("10.9.0.3", 1), 1));
	assert_memory_equal(&id->route, &route, sizeof(route));
	assert_null(id->event);
	fake.fail[FAKE(RESOLVE)] = EMFILE;
	assert_fails(EMFILE, rdma_create_id(NULL, &out, NULL, RDMA_PS_TCP));
	assert_ptr_equal(out, (void *)0x1);
	assert_int_equal(fake_open_queues(), 1);
	assert_int_equal(rdma_destroy_id(id), 0);
}

RUN
