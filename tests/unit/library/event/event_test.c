// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of the actions of the library when it reads events. */
#include <fcntl.h>
#include <pthread.h>

#include "fake/fixture.h"

static void nonblock(struct rdma_event_channel *ch)
{
	fcntl(ch->fd, F_SETFL, fcntl(ch->fd, F_GETFL) | O_NONBLOCK);
}

TEST(get_event_with_bad_arguments_is_einval)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_event *event;

	assert_fails(EINVAL, rdma_get_cm_event(ch, NULL));
	assert_fails(EINVAL, rdma_get_cm_event(NULL, &event));
	assert_fails(EINVAL, rdma_ack_cm_event(NULL));
	rdma_destroy_event_channel(ch);
}

TEST(get_event_on_empty_nonblocking_channel_is_eagain)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_event *event;

	nonblock(ch);
	assert_fails(EAGAIN, rdma_get_cm_event(ch, &event));
	rdma_destroy_event_channel(ch);
}

TEST(event_of_destroyed_id_is_dropped)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *dead = new_id(ch), *alive = new_id(ch);

	fake_post_type(RDMA_CM_ALT_EVENT_ADDR_ERROR, handle_of(dead), -ETIMEDOUT);
	assert_int_equal(rdma_destroy_id(dead), 0);
	/* Takes the table slot of the destroyed id, with another generation. */
	dead = new_id(ch);
	fake_post_type(RDMA_CM_ALT_EVENT_UNREACHABLE, handle_of(alive), -ETIMEDOUT);
	take_and_ack(ch, RDMA_CM_EVENT_UNREACHABLE);
	nonblock(ch);
	assert_int_equal(rdma_destroy_id(dead), 0);
	assert_int_equal(rdma_destroy_id(alive), 0);
	rdma_destroy_event_channel(ch);
}

/* As if a thread had read it before. */
TEST(request_for_destroyed_listener_is_refused)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *l = listener(ch), *other = new_id(ch);
	uint32_t child = fake_child(handle_of(l));
	struct rdma_cm_alt_event request = fake_event(RDMA_CM_ALT_EVENT_CONNECT_REQUEST, child);

	request.listen_id = handle_of(l);
	request.cookie = fake.ids[handle_of(l)].cookie;
	assert_int_equal(rdma_destroy_id(l), 0);
	fake_post_to(ch->fd, &request);
	fake_post_type(RDMA_CM_ALT_EVENT_UNREACHABLE, handle_of(other), 0);
	take_and_ack(ch, RDMA_CM_EVENT_UNREACHABLE);
	assert_false(fake.ids[child].alive);
	assert_int_equal(rdma_destroy_id(other), 0);
	rdma_destroy_event_channel(ch);
}

TEST(addr_resolved_binds_the_device)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(ch);

	fake.route.pkey = htons(0xffff);
	fake.route.sgid[15] = 1;
	fake.route.dgid[15] = 2;
	assert_int_equal(rdma_resolve_addr(id, NULL, addr4("10.9.0.2", 7001), 1000), 0);
	assert_null(id->verbs);
	take_and_ack(ch, RDMA_CM_EVENT_ADDR_RESOLVED);
	assert_non_null(id->verbs);
	assert_non_null(id->pd);
	assert_int_equal(id->port_num, 1);
	assert_int_equal(rdma_get_src_port(id), htons(7000));
	assert_int_equal(rdma_get_dst_port(id), htons(7001));
	assert_int_equal(id->route.addr.addr.ibaddr.pkey, htons(0xffff));
	assert_int_equal(id->route.addr.addr.ibaddr.sgid.raw[15], 1);
	assert_int_equal(id->route.addr.addr.ibaddr.dgid.raw[15], 2);
	assert_int_equal(fake.calls[FAKE(QUERY)], 0);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
}

TEST(addr_resolved_on_unknown_device_becomes_addr_error)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(ch);
	struct rdma_cm_event *event;

	fake.route.node_guid = 42;
	assert_int_equal(rdma_resolve_addr(id, NULL, addr4("10.9.0.2", 7001), 1000), 0);
	event = take(ch, RDMA_CM_EVENT_ADDR_ERROR);
	assert_int_equal(event->status, -ENODEV);
	rdma_ack_cm_event(event);
	assert_null(id->verbs);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
}

TEST(event_without_route_is_completed_by_a_query)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(ch);
	struct rdma_cm_alt_event event;

	event = fake_event(RDMA_CM_ALT_EVENT_ADDR_RESOLVED, handle_of(id));
	event.flags = 0;
	fake_post(&event);
	take_and_ack(ch, RDMA_CM_EVENT_ADDR_RESOLVED);
	assert_int_equal(fake.calls[FAKE(QUERY)], 1);
	assert_non_null(id->verbs);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
}

TEST(route_resolved_fills_in_the_path)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(ch);

	assert_null(id->route.path_rec);
	resolve(id);
	assert_int_equal(id->route.num_paths, 1);
	assert_non_null(id->route.path_rec);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
}

/* A program may keep the pointer to the first path. */
TEST(second_path_comes_later)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(ch);
	const struct ibv_sa_path_rec *first;

	resolve(id);
	first = id->route.path_rec;
	fake.route.num_paths = 2;
	fake.route.path[1].flags = IB_PATH_GMP;
	resolve(id);
	assert_int_equal(id->route.num_paths, 2);
	assert_int_equal(id->route.path_rec[0].preference, first->preference);
	assert_int_equal(id->route.path_rec[1].preference, IB_PATH_GMP);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
}

TEST(connect_request_makes_a_child_like_its_listener)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *l = listener(ch);
	struct rdma_cm_event *event;
	uint32_t child = fake_request(handle_of(l));

	event = take(ch, RDMA_CM_EVENT_CONNECT_REQUEST);
	assert_ptr_equal(event->listen_id, l);
	assert_int_equal(handle_of(event->id), child);
	assert_ptr_equal(event->id->context, l->context);
	assert_ptr_equal(event->id->channel, ch);
	assert_ptr_equal(event->id->verbs, l->verbs);
	assert_int_equal(event->id->ps, RDMA_PS_TCP);
	assert_int_equal(event->param.conn.responder_resources, 5);
	assert_int_equal(event->param.conn.initiator_depth, 3);
	assert_int_equal(event->param.conn.qp_num, 0x123);
	assert_int_equal(event->param.conn.private_data_len, 56);
	assert_string_equal(event->param.conn.private_data, "hello");
	assert_int_equal(fake.calls[FAKE(QUERY)], 0);
	/* The event is counted on the listener, so the child can be destroyed before the ack. */
	assert_int_equal(rdma_destroy_id(event->id), 0);
	rdma_ack_cm_event(event);
	assert_int_equal(rdma_destroy_id(l), 0);
	rdma_destroy_event_channel(ch);
}

static struct rdma_cm_event *take_request(struct rdma_cm_id *l, uint8_t len, uint8_t fill)
{
	uint32_t child = fake_child(handle_of(l));
	struct rdma_cm_alt_event event;

	event = fake_event(RDMA_CM_ALT_EVENT_CONNECT_REQUEST, child);
	event.cookie = fake.ids[handle_of(l)].cookie;
	event.listen_id = handle_of(l);
	event.private_data_len = len;
	memset(event.private_data, fill, len);
	fake_post(&event);
	return take(l->channel, RDMA_CM_EVENT_CONNECT_REQUEST);
}

/* Programs look at more than they got, and must not find what another peer has sent. */
TEST(private_data_end_in_zeros)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *l = listener(ch);
	struct rdma_cm_event *event;
	const uint8_t *data;
	int i, len;

	for (len = UINT8_MAX; len > 0; len -= 150) {
		event = take_request(l, (uint8_t)len, 0xab);
		data = event->param.conn.private_data;
		assert_int_equal(event->param.conn.private_data_len, len);
		for (i = 0; i < 256; i++)
			assert_int_equal(data[i], i < len ? 0xab : 0);
		assert_int_equal(rdma_destroy_id(event->id), 0);
		rdma_ack_cm_event(event);
	}
	assert_int_equal(rdma_destroy_id(l), 0);
	rdma_destroy_event_channel(ch);
}

TEST(connect_request_that_cannot_be_taken_is_refused_and_counted)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *l = listener(ch);
	uint32_t child;

	fake.route.node_guid = 42;
	child = fake_request(handle_of(l));
	fake_post_type(RDMA_CM_ALT_EVENT_DEVICE_REMOVAL, handle_of(l), 0);
	take_and_ack(ch, RDMA_CM_EVENT_DEVICE_REMOVAL);
	assert_false(fake.ids[child].alive);
	assert_int_equal(rdma_destroy_id(l), 0);
	rdma_destroy_event_channel(ch);
}

TEST(connect_response_with_qp_is_delivered_as_established)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(ch);

	resolve(id);
	add_qp(id);
	assert_int_equal(rdma_connect(id, NULL), 0);
	take_and_ack(ch, RDMA_CM_EVENT_ESTABLISHED);
	assert_int_equal(fake.calls[FAKE(ESTABLISH)], 1);
	assert_int_equal(fake.calls[FAKE(QP_ATTR)], 0);
	assert_int_equal(id->qp->state, IBV_QPS_RTS);
	rdma_destroy_qp(id);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
}

TEST(connect_response_without_qp_is_delivered_as_such)
{
	struct rdma_conn_param param = { .qp_num = 5 };
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(ch);

	resolve(id);
	assert_int_equal(rdma_connect(id, &param), 0);
	take_and_ack(ch, RDMA_CM_EVENT_CONNECT_RESPONSE);
	assert_int_equal(fake.calls[FAKE(ESTABLISH)], 0);
	assert_int_equal(rdma_establish(id), 0);
	assert_int_equal(fake.calls[FAKE(ESTABLISH)], 1);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
}

TEST(failing_transition_is_connect_error_and_the_peer_is_not_heard)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(ch);
	struct rdma_cm_event *event;

	resolve(id);
	add_qp(id);
	assert_int_equal(rdma_connect(id, NULL), 0);
	fake.fail[FAKE(ESTABLISH)] = EINVAL;
	event = take(ch, RDMA_CM_EVENT_CONNECT_ERROR);
	assert_int_equal(event->status, -EINVAL);
	rdma_ack_cm_event(event);
	assert_int_equal(id->qp->state, IBV_QPS_ERR);

	fake_post_type(RDMA_CM_ALT_EVENT_REJECTED, handle_of(id), 28);
	fake_post_type(RDMA_CM_ALT_EVENT_DISCONNECTED, handle_of(id), 0);
	fake_post_type(RDMA_CM_ALT_EVENT_TIMEWAIT_EXIT, handle_of(id), 0);
	take_and_ack(ch, RDMA_CM_EVENT_TIMEWAIT_EXIT);
	rdma_destroy_qp(id);
	/* The two events that were swallowed are counted, or this would hang. */
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
}

TEST(rejected_moves_the_qp_to_error)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(ch);
	struct rdma_cm_event *event;

	resolve(id);
	add_qp(id);
	fake.connect_event = RDMA_CM_ALT_EVENT_REJECTED;
	fake.status = 28;
	assert_int_equal(rdma_connect(id, NULL), 0);
	event = take(ch, RDMA_CM_EVENT_REJECTED);
	assert_int_equal(event->status, 28);
	assert_int_equal(id->qp->state, IBV_QPS_ERR);
	rdma_ack_cm_event(event);
	rdma_destroy_qp(id);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
}

TEST(short_record_of_an_old_kernel_is_filled_up)
{
	struct rdma_event_channel *ch;
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	fake.record_size = 64;
	ch = rdma_create_event_channel();
	id = new_id(ch);
	fake_post_type(RDMA_CM_ALT_EVENT_UNREACHABLE, handle_of(id), -ETIMEDOUT);
	event = take(ch, RDMA_CM_EVENT_UNREACHABLE);
	assert_int_equal(event->status, -ETIMEDOUT);
	assert_int_equal(event->param.conn.private_data_len, 0);
	rdma_ack_cm_event(event);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
}

TEST(long_record_of_a_new_kernel_is_read_whole)
{
	struct rdma_event_channel *ch;
	struct rdma_cm_id *id;
	int i;

	fake.record_size = 4096;
	ch = rdma_create_event_channel();
	id = new_id(ch);
	for (i = 0; i < 3; i++)
		fake_post_type(RDMA_CM_ALT_EVENT_UNREACHABLE, handle_of(id), 0);
	for (i = 0; i < 3; i++)
		take_and_ack(ch, RDMA_CM_EVENT_UNREACHABLE);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
}

static void *take_many(void *arg)
{
	struct rdma_event_channel *ch = arg;
	struct rdma_cm_event *event;
	long n = 0;

	while (!rdma_get_cm_event(ch, &event)) {
		rdma_ack_cm_event(event);
		n++;
	}
	return (void *)n;
}

TEST(threads_share_a_channel_while_ids_come_and_go)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	pthread_t threads[3];
	struct rdma_cm_id *id;
	int i, j;

	nonblock(ch);
	for (j = 0; j < 60; j++) {
		id = new_id(ch);
		for (i = 0; i < 8; i++)
			fake_post_type(RDMA_CM_ALT_EVENT_UNREACHABLE, handle_of(id), 0);
		for (i = 0; i < 3; i++)
			pthread_create(&threads[i], NULL, take_many, ch);
		assert_int_equal(rdma_destroy_id(id), 0);
		for (i = 0; i < 3; i++)
			pthread_join(threads[i], NULL);
	}
	rdma_destroy_event_channel(ch);
}

TEST(event_names_are_those_of_librdmacm)
{
	assert_string_equal(rdma_event_str(RDMA_CM_EVENT_ADDR_RESOLVED),
			    "RDMA_CM_EVENT_ADDR_RESOLVED");
	assert_string_equal(rdma_event_str(RDMA_CM_EVENT_TIMEWAIT_EXIT),
			    "RDMA_CM_EVENT_TIMEWAIT_EXIT");
	assert_string_equal(rdma_event_str(17), "RDMA_CM_EVENT_ADDRINFO_ERROR");
	assert_string_equal(rdma_event_str(18), "UNKNOWN EVENT");
	assert_string_equal(rdma_event_str(-1), "UNKNOWN EVENT");
}

RUN
