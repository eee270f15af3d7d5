// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of synchronous ids: the event that they hold after a call, and calls that the caller
 * completes by itself because the channel does not block.
 */
#include <fcntl.h>
#include <rdma/rdma_cma_alt.h>
#include <unistd.h>

#include "fake/fixture.h"

static void nonblock(struct rdma_cm_id *id)
{
	fcntl(id->channel->fd, F_SETFL, fcntl(id->channel->fd, F_GETFL) | O_NONBLOCK);
}

/* The kernel now sends the event later instead of at once. */
static void later(struct rdma_cm_id *id, uint32_t type)
{
	struct rdma_cm_event *event;

	assert_null(id->event);
	assert_fails(EAGAIN, rdma_get_cm_event(id->channel, &event));
	fake_post_type(type, handle_of(id), 0);
	event = take(id->channel, type == RDMA_CM_ALT_EVENT_CONNECT_RESPONSE ?
		     RDMA_CM_EVENT_ESTABLISHED : (int)type);
	assert_ptr_equal(event->id, id);
	assert_int_equal(rdma_ack_cm_event(event), 0);
}

static void silence(void)
{
	fake.addr_event = FAKE_NO_EVENT;
	fake.route_event = FAKE_NO_EVENT;
	fake.connect_event = FAKE_NO_EVENT;
	fake.accept_event = FAKE_NO_EVENT;
	fake.disconnect_event = FAKE_NO_EVENT;
}

TEST(each_call_leaves_its_event)
{
	struct rdma_cm_id *id = new_id(NULL);

	assert_null(id->event);
	assert_int_equal(rdma_resolve_addr(id, NULL, addr4("10.9.0.2", 1), 1000), 0);
	assert_int_equal(id->event->event, RDMA_CM_EVENT_ADDR_RESOLVED);
	assert_int_equal(rdma_resolve_route(id, 1000), 0);
	assert_int_equal(id->event->event, RDMA_CM_EVENT_ROUTE_RESOLVED);
	add_qp(id);
	assert_int_equal(id->event->event, RDMA_CM_EVENT_ROUTE_RESOLVED);
	assert_int_equal(rdma_connect(id, NULL), 0);
	assert_int_equal(id->event->event, RDMA_CM_EVENT_ESTABLISHED);
	assert_int_equal(rdma_disconnect(id), 0);
	assert_int_equal(id->event->event, RDMA_CM_EVENT_DISCONNECTED);
	rdma_destroy_ep(id);
}

TEST(failing_call_leaves_the_event_that_says_why)
{
	struct rdma_cm_id *id = new_id(NULL);

	fake.addr_event = RDMA_CM_ALT_EVENT_ADDR_ERROR;
	fake.status = -ETIMEDOUT;
	assert_fails(ETIMEDOUT, rdma_resolve_addr(id, NULL, addr4("10.9.0.2", 1), 1000));
	assert_int_equal(id->event->event, RDMA_CM_EVENT_ADDR_ERROR);
	assert_int_equal(id->event->status, -ETIMEDOUT);
	/* A call that the kernel refuses does not change the event. */
	fake.fail[FAKE(RESOLVE)] = EINVAL;
	assert_fails(EINVAL, rdma_resolve_addr(id, NULL, addr4("10.9.0.2", 1), 1000));
	assert_int_equal(id->event->event, RDMA_CM_EVENT_ADDR_ERROR);
	fake.addr_event = RDMA_CM_ALT_EVENT_ADDR_RESOLVED;
	fake.status = 0;
	assert_int_equal(rdma_resolve_addr(id, NULL, addr4("10.9.0.2", 1), 1000), 0);
	fake.route_event = RDMA_CM_ALT_EVENT_ROUTE_ERROR;
	fake.status = -EHOSTUNREACH;
	assert_fails(EHOSTUNREACH, rdma_resolve_route(id, 1000));
	assert_int_equal(id->event->event, RDMA_CM_EVENT_ROUTE_ERROR);
	assert_int_equal(rdma_destroy_id(id), 0);
}

TEST(reject_leaves_the_request)
{
	struct rdma_cm_id *l = listener(NULL), *child;

	fake_request(handle_of(l));
	assert_int_equal(rdma_get_request(l, &child), 0);
	assert_int_equal(rdma_reject(child, NULL, 0), 0);
	assert_int_equal(child->event->event, RDMA_CM_EVENT_CONNECT_REQUEST);
	assert_int_equal(rdma_destroy_id(child), 0);
	assert_int_equal(rdma_destroy_id(l), 0);
}

TEST(client_that_does_not_block_completes_by_events)
{
	struct rdma_cm_id *id = new_id(NULL);

	silence();
	nonblock(id);
	assert_fails(EAGAIN, rdma_resolve_addr(id, NULL, addr4("10.9.0.2", 1), 1000));
	assert_null(id->verbs);
	later(id, RDMA_CM_ALT_EVENT_ADDR_RESOLVED);
	assert_non_null(id->verbs);
	assert_fails(EAGAIN, rdma_resolve_route(id, 1000));
	later(id, RDMA_CM_ALT_EVENT_ROUTE_RESOLVED);
	assert_int_equal(id->route.num_paths, 1);
	add_qp(id);
	assert_fails(EAGAIN, rdma_connect(id, NULL));
	later(id, RDMA_CM_ALT_EVENT_CONNECT_RESPONSE);
	assert_int_equal(id->qp->state, IBV_QPS_RTS);
	assert_fails(EAGAIN, rdma_disconnect(id));
	later(id, RDMA_CM_ALT_EVENT_DISCONNECTED);
	/* It has ended: there is no event to wait for. */
	assert_int_equal(rdma_disconnect(id), 0);
	rdma_destroy_ep(id);
}

TEST(server_that_does_not_block_completes_by_events)
{
	struct rdma_cm_id *l = listener(NULL), *child = NULL;

	silence();
	nonblock(l);
	assert_fails(EAGAIN, rdma_get_request(l, &child));
	assert_null(l->event);
	fake_request(handle_of(l));
	assert_int_equal(rdma_get_request(l, &child), 0);
	/* The id has its own channel, and that one blocks. */
	assert_int_equal(fcntl(child->channel->fd, F_GETFL) & O_NONBLOCK, 0);
	nonblock(child);
	add_qp(child);
	assert_fails(EAGAIN, rdma_accept(child, NULL));
	later(child, RDMA_CM_ALT_EVENT_ESTABLISHED);
	assert_fails(EAGAIN, rdma_disconnect(child));
	later(child, RDMA_CM_ALT_EVENT_DISCONNECTED);
	rdma_destroy_ep(child);
	assert_int_equal(rdma_destroy_id(l), 0);
}

TEST(call_that_did_not_block_is_completed_by_the_library_too)
{
	struct rdma_cm_id *id = new_id(NULL);

	silence();
	nonblock(id);
	assert_fails(EAGAIN, rdma_resolve_addr(id, NULL, addr4("10.9.0.2", 1), 1000));
	assert_int_equal(rcl_complete(rcl_id_of(id)), -EAGAIN);
	assert_null(id->event);
	fake_post_type(RDMA_CM_ALT_EVENT_ADDR_RESOLVED, handle_of(id), 0);
	assert_int_equal(rcl_complete(rcl_id_of(id)), 0);
	assert_int_equal(id->event->event, RDMA_CM_EVENT_ADDR_RESOLVED);
	assert_fails(EAGAIN, rdma_resolve_route(id, 1000));
	fake_post_type(RDMA_CM_ALT_EVENT_ROUTE_ERROR, handle_of(id), -ENODEV);
	assert_int_equal(rcl_complete(rcl_id_of(id)), -ENODEV);
	assert_int_equal(id->event->event, RDMA_CM_EVENT_ROUTE_ERROR);
	assert_int_equal(rdma_destroy_id(id), 0);
}

TEST(destroy_in_the_middle_of_a_call_that_did_not_block)
{
	struct rdma_cm_id *id = new_id(NULL);

	silence();
	nonblock(id);
	assert_fails(EAGAIN, rdma_resolve_addr(id, NULL, addr4("10.9.0.2", 1), 1000));
	assert_int_equal(rdma_destroy_id(id), 0);
}

TEST(removed_device_is_the_answer_to_a_call)
{
	struct rdma_cm_id *id = new_id(NULL);

	assert_int_equal(rdma_resolve_addr(id, NULL, addr4("10.9.0.2", 1), 1000), 0);
	fake.route_event = RDMA_CM_ALT_EVENT_DEVICE_REMOVAL;
	assert_fails(ENODEV, rdma_resolve_route(id, 1000));
	assert_int_equal(id->event->event, RDMA_CM_EVENT_DEVICE_REMOVAL);
	assert_int_equal(rdma_destroy_id(id), 0);
}

/* The event says that another host may have the peer's address now. The connection goes on. */
TEST(disconnect_waits_after_a_neighbour_has_changed)
{
	struct rdma_cm_id *id = new_id(NULL);

	resolve(id);
	add_qp(id);
	assert_int_equal(rdma_connect(id, NULL), 0);
	fake_post_type(RDMA_CM_ALT_EVENT_UNREACHABLE, handle_of(id), -ETIMEDOUT);
	assert_fails(ETIMEDOUT, rdma_disconnect(id));
	assert_int_equal(id->event->event, RDMA_CM_EVENT_UNREACHABLE);
	fake.disconnect_event = FAKE_NO_EVENT;
	assert_int_equal(rdma_disconnect(id), 0);
	assert_int_equal(id->event->event, RDMA_CM_EVENT_DISCONNECTED);
	rdma_destroy_ep(id);
}

/* The peer may have answered or not: there is no ESTABLISHED that tells. */
TEST(quiet_accept_that_fails_is_not_waited_for)
{
	struct rdma_cm_id *l = listener(NULL), *child = NULL;

	silence();
	fake_request(handle_of(l));
	assert_int_equal(rdma_get_request(l, &child), 0);
	add_qp(child);
	assert_int_equal(rdma_alt_accept(child, NULL, RDMA_ALT_ACCEPT_QUIET), 0);
	fake_post_type(RDMA_CM_ALT_EVENT_UNREACHABLE, handle_of(child), -ETIMEDOUT);
	assert_fails(ETIMEDOUT, rdma_disconnect(child));
	alarm(20);
	assert_int_equal(rdma_disconnect(child), 0);
	alarm(0);
	rdma_destroy_ep(child);
	assert_int_equal(rdma_destroy_id(l), 0);
}

RUN
