// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of listening and of getting requests from a synchronous listener. */
#include <fcntl.h>
#include <unistd.h>

#include "fake/fixture.h"

TEST(listen_reads_the_address_back)
{
	struct rdma_cm_id *id = new_id(NULL);

	assert_int_equal(rdma_listen(id, -3), 0);
	assert_int_equal(fake.last[FAKE(LISTEN)].listen.backlog, 0);
	assert_int_equal(rdma_get_src_port(id), htons(7000));
	fake.fail[FAKE(LISTEN)] = EADDRINUSE;
	assert_fails(EADDRINUSE, rdma_listen(id, 1));
	assert_fails(EINVAL, rdma_listen(NULL, 1));
	assert_int_equal(rdma_destroy_id(id), 0);
}

TEST(get_request_gives_a_synchronous_child)
{
	struct rdma_cm_id *l = listener(NULL), *child = NULL;
	uint32_t handle = fake_request(handle_of(l));

	assert_int_equal(rdma_get_request(l, &child), 0);
	assert_int_equal(handle_of(child), handle);
	assert_ptr_not_equal(child->channel, l->channel);
	assert_true(child->channel->fd >= 0);
	assert_int_equal(child->event->event, RDMA_CM_EVENT_CONNECT_REQUEST);
	assert_null(l->event);
	assert_int_equal(fake.last[FAKE(SET_QUEUE)].set_queue.cookie,
			 rcl_id_of(child)->cookie);
	/* accept acknowledges the request and waits for its own event. */
	add_qp(child);
	assert_int_equal(rdma_accept(child, NULL), 0);
	assert_int_equal(child->event->event, RDMA_CM_EVENT_ESTABLISHED);
	rdma_destroy_qp(child);
	assert_int_equal(rdma_destroy_id(child), 0);
	assert_int_equal(rdma_destroy_id(l), 0);
}

TEST(get_request_on_asynchronous_listener_is_einval)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *l = listener(ch), *child;

	assert_fails(EINVAL, rdma_get_request(l, &child));
	assert_fails(EINVAL, rdma_get_request(NULL, &child));
	assert_int_equal(rdma_destroy_id(l), 0);
	rdma_destroy_event_channel(ch);
}

TEST(get_request_on_nonblocking_listener_is_eagain)
{
	struct rdma_cm_id *l = listener(NULL), *child;

	fcntl(l->channel->fd, F_SETFL, O_NONBLOCK);
	assert_fails(EAGAIN, rdma_get_request(l, &child));
	assert_int_equal(rdma_destroy_id(l), 0);
}

TEST(get_request_of_another_event_fails_and_keeps_it)
{
	struct rdma_cm_id *l = listener(NULL), *child;

	fake_post_type(RDMA_CM_ALT_EVENT_DEVICE_REMOVAL, handle_of(l), 0);
	assert_fails(ENODEV, rdma_get_request(l, &child));
	assert_int_equal(l->event->event, RDMA_CM_EVENT_DEVICE_REMOVAL);
	fake_post_type(RDMA_CM_ALT_EVENT_ADDR_CHANGE, handle_of(l), 0);
	assert_fails(EINVAL, rdma_get_request(l, &child));
	assert_int_equal(rdma_destroy_id(l), 0);
}

TEST(get_request_at_fd_limit_says_emfile_and_refuses)
{
	struct rdma_cm_id *l = listener(NULL), *child = NULL;
	uint32_t handle = fake_request(handle_of(l));

	fake.fail[FAKE(SET_QUEUE)] = EMFILE;
	assert_fails(EMFILE, rdma_get_request(l, &child));
	assert_null(child);
	assert_false(fake.ids[handle].alive);
	assert_int_equal(rdma_destroy_id(l), 0);
}

/* Any id may be moved to the listener's channel. */
TEST(event_of_another_id_is_no_request_that_failed)
{
	struct rdma_cm_id *l = listener(NULL), *child = NULL, *own;

	own = new_id(l->channel);
	fake_post_type(RDMA_CM_ALT_EVENT_ADDR_CHANGE, handle_of(own), 0);
	assert_fails(EINVAL, rdma_get_request(l, &child));
	assert_ptr_equal(l->event->id, own);
	fake_request(handle_of(l));
	assert_int_equal(rdma_get_request(l, &child), 0);
	/* The channel belongs to the program and still exists. */
	assert_true(fake_id_alive(handle_of(own)));
	assert_int_equal(rdma_destroy_id(own), 0);
	assert_int_equal(rdma_destroy_id(child), 0);

	own = new_id(l->channel);
	fake_post_type(RDMA_CM_ALT_EVENT_ADDR_CHANGE, handle_of(own), 0);
	assert_fails(EINVAL, rdma_get_request(l, &child));
	assert_int_equal(rdma_ack_cm_event(l->event), 0);
	l->event = NULL;
	assert_int_equal(rdma_destroy_id(l), 0);
	assert_int_equal(rdma_destroy_id(own), 0);
}

/* The program reads from a duplicate of the descriptor; the channel is freed completely. */
TEST(request_comes_when_its_channel_has_gone)
{
	struct rdma_event_channel *ch = rdma_create_event_channel(), copy;
	struct rdma_cm_id *l = listener(ch), *child;
	struct rdma_cm_event *event;

	copy.fd = fcntl(ch->fd, F_DUPFD_CLOEXEC, 0);
	assert_true(copy.fd >= 0);
	fake_request(handle_of(l));
	rdma_destroy_event_channel(ch);
	event = take(&copy, RDMA_CM_EVENT_CONNECT_REQUEST);
	child = event->id;
	assert_int_equal(rdma_ack_cm_event(event), 0);
	assert_int_equal(rdma_destroy_id(child), 0);
	assert_int_equal(rdma_destroy_id(l), 0);
	close(copy.fd);
}

RUN
