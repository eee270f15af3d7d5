// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of binding and resolving. */
#include <fcntl.h>
#include <infiniband/ib.h>

#include "base/sockaddr.h"
#include "fake/fixture.h"

TEST(bind_fills_in_what_the_kernel_answers)
{
	struct rdma_cm_id *id = new_id(NULL);

	assert_int_equal(rdma_bind_addr(id, addr4("10.9.0.1", 0)), 0);
	assert_int_equal(rdma_get_src_port(id), htons(7000));
	assert_non_null(id->verbs);
	assert_non_null(id->pd);
	assert_int_equal(id->port_num, 1);
	assert_int_equal(fake.calls[FAKE(QUERY)], 0);
	assert_int_equal(rdma_destroy_id(id), 0);
}

TEST(bind_to_wildcard_has_no_device)
{
	struct rdma_cm_id *id = new_id(NULL);

	fake.route.node_guid = 0;
	assert_int_equal(rdma_bind_addr(id, addr4("0.0.0.0", 0)), 0);
	assert_null(id->verbs);
	assert_null(id->pd);
	assert_int_equal(rdma_destroy_id(id), 0);
}

TEST(bind_errors_are_the_kernels)
{
	struct sockaddr unix_addr = { .sa_family = AF_UNIX };
	struct rdma_cm_id *id = new_id(NULL);

	fake.fail[FAKE(RESOLVE)] = EADDRINUSE;
	assert_fails(EADDRINUSE, rdma_bind_addr(id, addr4("10.9.0.1", 1)));
	assert_fails(EINVAL, rdma_bind_addr(id, NULL));
	assert_fails(EINVAL, rdma_bind_addr(id, &unix_addr));
	assert_fails(EINVAL, rdma_bind_addr(NULL, addr4("10.9.0.1", 1)));
	assert_int_equal(rdma_destroy_id(id), 0);
}

TEST(resolve_addr_passes_both_addresses_and_the_timeout)
{
	struct rdma_cm_alt_pipeline *pipe = &fake.last[FAKE(RESOLVE)].resolve.pipe;
	struct rdma_cm_id *id = new_id(NULL);

	assert_int_equal(rdma_resolve_addr(id, addr4("10.9.0.1", 5), addr4("10.9.0.2", 6), 777), 0);
	assert_int_equal(pipe->steps, RDMA_CM_ALT_STEP_ADDR);
	assert_int_equal(pipe->events, RDMA_CM_ALT_STEP_ADDR);
	assert_int_equal(pipe->timeout_ms, 777);
	assert_memory_equal(pipe->src.bytes, addr4("10.9.0.1", 5), sizeof(struct sockaddr_in));
	assert_memory_equal(pipe->dst.bytes, addr4("10.9.0.2", 6), sizeof(struct sockaddr_in));
	assert_int_equal(id->event->event, RDMA_CM_EVENT_ADDR_RESOLVED);
	assert_int_equal(rdma_destroy_id(id), 0);
}

TEST(resolve_addr_that_fails_later_gives_the_status)
{
	struct rdma_cm_id *id = new_id(NULL);

	fake.addr_event = RDMA_CM_ALT_EVENT_ADDR_ERROR;
	fake.status = -ETIMEDOUT;
	assert_fails(ETIMEDOUT, rdma_resolve_addr(id, NULL, addr4("10.9.0.2", 6), 1000));
	assert_int_equal(id->event->event, RDMA_CM_EVENT_ADDR_ERROR);
	assert_int_equal(rdma_destroy_id(id), 0);
}

TEST(resolve_addr_that_fails_at_once_leaves_the_peer_empty)
{
	struct rdma_cm_id *id = new_id(NULL);

	fake.fail[FAKE(RESOLVE)] = ENETUNREACH;
	assert_fails(ENETUNREACH, rdma_resolve_addr(id, NULL, addr4("10.9.0.2", 6), 1000));
	assert_int_equal(rdma_get_dst_port(id), 0);
	assert_fails(EINVAL, rdma_resolve_addr(id, NULL, NULL, 1000));
	assert_fails(EINVAL, rdma_resolve_addr(NULL, NULL, addr4("10.9.0.2", 6), 1000));
	assert_int_equal(rdma_destroy_id(id), 0);
}

TEST(resolve_addr_on_nonblocking_synchronous_id_is_eagain)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id = new_id(NULL);

	fcntl(id->channel->fd, F_SETFL, O_NONBLOCK);
	fake.addr_event = FAKE_NO_EVENT;
	assert_fails(EAGAIN, rdma_resolve_addr(id, NULL, addr4("10.9.0.2", 6), 1000));
	fake_post_type(RDMA_CM_ALT_EVENT_ADDR_RESOLVED, handle_of(id), 0);
	event = take(id->channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	assert_non_null(id->verbs);
	rdma_ack_cm_event(event);
	assert_int_equal(rdma_destroy_id(id), 0);
}

TEST(resolve_route_on_unbound_id_is_einval)
{
	struct rdma_cm_id *id = new_id(NULL);

	assert_fails(EINVAL, rdma_resolve_route(id, 1000));
	assert_fails(EINVAL, rdma_resolve_route(NULL, 1000));
	assert_int_equal(rdma_destroy_id(id), 0);
}

TEST(port_of_an_ib_address_is_in_its_service_id)
{
	struct sockaddr_ib sib = { .sib_family = AF_IB, .sib_sid = htobe64(0x01061234) };

	assert_int_equal(rcl_addr_port((struct sockaddr *)&sib), htons(0x1234));
	assert_int_equal(rcl_addr_len((struct sockaddr *)&sib), sizeof(sib));
	assert_int_equal(rdma_get_src_port(NULL), 0);
}

TEST(peer_of_a_bound_id_is_nobody_of_its_family)
{
	struct rdma_cm_id *id = new_id(NULL);

	memset(&fake.route.dst, 0, sizeof(fake.route.dst));
	assert_int_equal(rdma_get_peer_addr(id)->sa_family, 0);
	assert_int_equal(rdma_bind_addr(id, addr4("10.9.0.1", 7000)), 0);
	assert_int_equal(rdma_get_peer_addr(id)->sa_family, AF_INET);
	assert_int_equal(rdma_get_dst_port(id), 0);
	assert_int_equal(rdma_destroy_id(id), 0);
}

RUN
