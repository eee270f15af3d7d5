// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of the fake CM: two ids of one process connect by the public calls. */
#include "fake/pair.h"

PAIR_TEST(ends_connect_with_the_private_data_of_each_other)
{
	struct pair p;

	pair_open(&p);
	/* The fields of ib_cm are longer than what was sent. */
	assert_int_equal(p.passive.data_len, 56);
	assert_string_equal((char *)p.passive.data, "from active");
	assert_int_equal(p.active.data_len, 196);
	assert_string_equal((char *)p.active.data, "from passive");
	assert_int_equal(p.active.id->qp->state, IBV_QPS_RTS);
	assert_int_equal(p.passive.id->qp->state, IBV_QPS_RTS);
	pair_close(&p);
}

PAIR_TEST(ends_know_the_addresses_of_each_other)
{
	struct sockaddr_in *src, *dst;
	struct pair p;

	pair_open(&p);
	assert_int_equal(rdma_get_dst_port(p.active.id), htons(PAIR_PORT));
	assert_int_equal(rdma_get_src_port(p.passive.id), htons(PAIR_PORT));
	assert_int_not_equal(rdma_get_src_port(p.active.id), 0);
	assert_int_equal(rdma_get_src_port(p.active.id), rdma_get_dst_port(p.passive.id));
	src = (struct sockaddr_in *)rdma_get_local_addr(p.active.id);
	dst = (struct sockaddr_in *)rdma_get_peer_addr(p.passive.id);
	assert_int_equal(src->sin_addr.s_addr, dst->sin_addr.s_addr);
	pair_close(&p);
}

/* The parameters are turned round on their way. */
PAIR_TEST(depths_arrive_from_the_view_of_the_receiver)
{
	struct rdma_conn_param param = {
		.responder_resources = 3, .initiator_depth = 5, .flow_control = 1,
		.retry_count = 6, .rnr_retry_count = 4,
	};
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *listener = pair_listen(ch, PAIR_PORT), *id = new_id(ch), *child;
	struct rdma_cm_event *event;

	assert_int_equal(rdma_resolve_addr(id, NULL, addr4("10.9.0.2", PAIR_PORT), 1000), 0);
	take_and_ack(ch, RDMA_CM_EVENT_ADDR_RESOLVED);
	assert_int_equal(rdma_resolve_route(id, 1000), 0);
	take_and_ack(ch, RDMA_CM_EVENT_ROUTE_RESOLVED);
	add_qp(id);
	assert_int_equal(rdma_connect(id, &param), 0);
	event = take(ch, RDMA_CM_EVENT_CONNECT_REQUEST);
	assert_ptr_equal(event->listen_id, listener);
	assert_int_equal(event->param.conn.responder_resources, 5);
	assert_int_equal(event->param.conn.initiator_depth, 3);
	assert_int_equal(event->param.conn.flow_control, 1);
	assert_int_equal(event->param.conn.retry_count, 6);
	assert_int_equal(event->param.conn.rnr_retry_count, 4);
	assert_int_equal(event->param.conn.qp_num, id->qp->qp_num);
	child = event->id;
	rdma_ack_cm_event(event);
	rdma_destroy_id(child);
	rdma_destroy_qp(id);
	take_and_ack(ch, RDMA_CM_EVENT_REJECTED);
	rdma_destroy_id(id);
	rdma_destroy_id(listener);
	rdma_destroy_event_channel(ch);
}

/* The count of the peer rules: it is the peer whose receive queue is empty. */
PAIR_TEST(retries_without_a_receive_are_those_the_peer_asks_for)
{
	struct pair p = { 0 };
	struct rdma_conn_param param;
	struct rdma_cm_event *event;

	p.passive.channel = rdma_create_event_channel();
	p.listener = pair_listen(p.passive.channel, PAIR_PORT);
	pair_begin_connect(&p.active, PAIR_PORT, NULL, 0);
	event = take(p.passive.channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	p.passive.id = event->id;
	rdma_ack_cm_event(event);
	pair_add_qp(&p.passive);
	param = pair_param(NULL, 0);
	param.rnr_retry_count = 2;
	assert_int_equal(rdma_accept(p.passive.id, &param), 0);
	pair_end_connect(&p.active);
	take_and_ack(p.passive.channel, RDMA_CM_EVENT_ESTABLISHED);
	pair_send(&p.passive, 1, 0, 1);
	pair_expect_none(&p.passive);
	pair_send(&p.active, 2, 0, 1);
	pair_expect(&p.active, 2, IBV_WC_RNR_RETRY_EXC_ERR);
	pair_close(&p);
}

PAIR_TEST(reject_arrives_with_its_private_data)
{
	struct pair p = { 0 };
	struct rdma_cm_event *event;
	struct rdma_cm_id *child;

	p.passive.channel = rdma_create_event_channel();
	p.listener = pair_listen(p.passive.channel, PAIR_PORT);
	pair_begin_connect(&p.active, PAIR_PORT, NULL, 0);
	event = take(p.passive.channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	child = event->id;
	rdma_ack_cm_event(event);
	assert_int_equal(rdma_reject(child, "no", 3), 0);
	event = take(p.active.channel, RDMA_CM_EVENT_REJECTED);
	assert_int_equal(event->status, 28);
	assert_string_equal(event->param.conn.private_data, "no");
	rdma_ack_cm_event(event);
	assert_int_equal(rdma_destroy_id(child), 0);
	pair_close(&p);
}

PAIR_TEST(connect_without_a_listener_is_rejected)
{
	struct endpoint end = { 0 };
	struct rdma_cm_event *event;

	pair_begin_connect(&end, PAIR_PORT, NULL, 0);
	event = take(end.channel, RDMA_CM_EVENT_REJECTED);
	assert_int_equal(event->status, 8);
	rdma_ack_cm_event(event);
	pair_close_end(&end);
}

PAIR_TEST(request_that_gets_lost_times_out)
{
	struct pair p = { 0 };
	struct rdma_cm_event *event;

	fake_cm.silent = true;
	p.passive.channel = rdma_create_event_channel();
	p.listener = pair_listen(p.passive.channel, PAIR_PORT);
	pair_begin_connect(&p.active, PAIR_PORT, NULL, 0);
	assert_false(pair_readable(p.active.channel->fd));
	assert_false(pair_readable(p.passive.channel->fd));
	fake_cm_time_out(handle_of(p.active.id));
	event = take(p.active.channel, RDMA_CM_EVENT_UNREACHABLE);
	assert_int_equal(event->status, -ETIMEDOUT);
	rdma_ack_cm_event(event);
	pair_close(&p);
}

PAIR_TEST(resolving_fails_when_the_knob_says_so)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(ch);

	fake.addr_event = RDMA_CM_ALT_EVENT_ADDR_ERROR;
	fake.status = -ETIMEDOUT;
	assert_int_equal(rdma_resolve_addr(id, NULL, addr4("10.9.0.2", 1), 1000), 0);
	take_and_ack(ch, RDMA_CM_EVENT_ADDR_ERROR);
	fake.addr_event = RDMA_CM_ALT_EVENT_ADDR_RESOLVED;
	assert_int_equal(rdma_resolve_addr(id, NULL, addr4("10.9.0.2", 1), 1000), 0);
	take_and_ack(ch, RDMA_CM_EVENT_ADDR_RESOLVED);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
}

PAIR_TEST(disconnect_reaches_both_ends)
{
	struct pair p;

	pair_open(&p);
	assert_int_equal(rdma_disconnect(p.active.id), 0);
	take_and_ack(p.active.channel, RDMA_CM_EVENT_DISCONNECTED);
	take_and_ack(p.passive.channel, RDMA_CM_EVENT_DISCONNECTED);
	assert_int_equal(rdma_disconnect(p.passive.id), 0);
	assert_false(pair_readable(p.passive.channel->fd));
	pair_close(&p);
}

PAIR_TEST(destroy_disconnects_the_peer)
{
	struct pair p;

	pair_open(&p);
	pair_drop_qp(&p.active);
	assert_int_equal(rdma_destroy_id(p.active.id), 0);
	p.active.id = NULL;
	take_and_ack(p.passive.channel, RDMA_CM_EVENT_DISCONNECTED);
	pair_send(&p.passive, 1, 0, 1);
	pair_expect(&p.passive, 1, IBV_WC_RETRY_EXC_ERR);
	pair_close(&p);
}

/* Requests that the listener did not take end with the queue that has them. */
PAIR_TEST(request_of_a_listener_that_goes_is_rejected)
{
	struct pair p = { 0 };

	p.passive.channel = rdma_create_event_channel();
	p.listener = pair_listen(p.passive.channel, PAIR_PORT);
	pair_begin_connect(&p.active, PAIR_PORT, NULL, 0);
	assert_int_equal(rdma_destroy_id(p.listener), 0);
	rdma_destroy_event_channel(p.passive.channel);
	take_and_ack(p.active.channel, RDMA_CM_EVENT_REJECTED);
	pair_close_end(&p.active);
}

PAIR_TEST(address_in_use_is_refused_and_port_0_is_a_free_one)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *one = new_id(ch), *two = new_id(ch), *three = new_id(ch);
	int yes = 1;

	assert_int_equal(rdma_bind_addr(one, addr4("0.0.0.0", 5000)), 0);
	assert_null(one->verbs);
	assert_fails(EADDRINUSE, rdma_bind_addr(two, addr4("10.9.0.2", 5000)));
	assert_int_equal(rdma_bind_addr(two, addr4("10.9.0.2", 0)), 0);
	assert_non_null(two->verbs);
	assert_int_not_equal(rdma_get_src_port(two), 0);
	assert_int_equal(rdma_set_option(three, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &yes,
					 sizeof(yes)), 0);
	assert_fails(EADDRINUSE, rdma_bind_addr(three, addr4("10.9.0.2", 5000)));
	assert_int_equal(rdma_set_option(one, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &yes,
					 sizeof(yes)), 0);
	assert_int_equal(rdma_bind_addr(three, addr4("10.9.0.2", 5000)), 0);
	rdma_destroy_id(one);
	rdma_destroy_id(two);
	rdma_destroy_id(three);
	rdma_destroy_event_channel(ch);
}

PAIR_TEST(port_is_free_when_its_listener_goes)
{
	struct pair p;

	pair_open(&p);
	assert_int_equal(rdma_destroy_id(p.listener), 0);
	p.listener = pair_listen(p.passive.channel, PAIR_PORT);
	pair_close(&p);
}

static struct sockaddr *addr6(const char *ip)
{
	static struct sockaddr_in6 sin6;

	sin6 = (struct sockaddr_in6) { .sin6_family = AF_INET6, .sin6_port = htons(PAIR_PORT) };
	inet_pton(AF_INET6, ip, &sin6.sin6_addr);
	return (struct sockaddr *)&sin6;
}

/* Returns the port at which the request arrives in network byte order, or 0 if it is rejected. */
static int request_arrives(struct sockaddr *listen_at, struct sockaddr *dst)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *listener = new_id(ch), *id = new_id(ch);
	struct rdma_conn_param param = pair_param(NULL, 0);
	struct rdma_cm_event *event;
	int port = 0;

	assert_int_equal(rdma_bind_addr(listener, listen_at), 0);
	assert_int_equal(rdma_listen(listener, 1), 0);
	assert_int_equal(rdma_resolve_addr(id, NULL, dst, 1000), 0);
	take_and_ack(ch, RDMA_CM_EVENT_ADDR_RESOLVED);
	assert_int_equal(rdma_resolve_route(id, 1000), 0);
	take_and_ack(ch, RDMA_CM_EVENT_ROUTE_RESOLVED);
	assert_int_equal(rdma_get_local_addr(id)->sa_family, dst->sa_family);
	assert_int_equal(rdma_connect(id, &param), 0);
	assert_int_equal(rdma_get_cm_event(ch, &event), 0);
	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
		struct rdma_cm_id *child = event->id;

		port = rdma_get_src_port(child);
		rdma_ack_cm_event(event);
		rdma_destroy_id(child);
		take_and_ack(ch, RDMA_CM_EVENT_REJECTED);
	} else {
		rdma_ack_cm_event(event);
	}
	rdma_destroy_id(listener);
	rdma_destroy_id(id);
	rdma_destroy_event_channel(ch);
	return port;
}

PAIR_TEST(listener_gets_requests_to_its_address)
{
	struct sockaddr *here = addr4("10.9.0.2", PAIR_PORT), *any = addr4("0.0.0.0", PAIR_PORT);
	struct sockaddr_in6 here6, any6;
	int port = htons(PAIR_PORT);

	here6 = *(struct sockaddr_in6 *)addr6("fd00::2");
	any6 = *(struct sockaddr_in6 *)addr6("::");
	assert_int_equal(request_arrives(here, here), port);
	assert_int_equal(request_arrives(here, addr4("10.9.0.3", PAIR_PORT)), 0);
	assert_int_equal(request_arrives(here, addr4("10.9.0.2", PAIR_PORT + 1)), 0);
	assert_int_equal(request_arrives(any, here), port);
	assert_int_equal(request_arrives(any, (struct sockaddr *)&here6), 0);
	assert_int_equal(request_arrives((struct sockaddr *)&here6, (struct sockaddr *)&here6),
			 port);
	assert_int_equal(request_arrives((struct sockaddr *)&here6, addr6("fd00::3")), 0);
	assert_int_equal(request_arrives((struct sockaddr *)&any6, (struct sockaddr *)&here6),
			 port);
	assert_int_equal(request_arrives((struct sockaddr *)&any6, here), port);
}

static void lie(struct rdma_cm_alt_event *event)
{
	memset(event->private_data, 0xee, sizeof(event->private_data));
	event->private_data_len = 5;
}

PAIR_TEST(message_of_the_peer_is_changed_on_its_way)
{
	struct pair p;

	fake_cm.on_message = lie;
	pair_open(&p);
	assert_int_equal(p.passive.data_len, 5);
	assert_int_equal(p.passive.data[4], 0xee);
	assert_int_equal(p.active.data_len, 5);
	assert_int_equal(p.active.data[0], 0xee);
	pair_close(&p);
}

RUN
