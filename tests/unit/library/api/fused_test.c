// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of <rdma/rdma_cma_alt.h>: many steps, ids or events in one system call. */
#include <fcntl.h>
#include <rdma/rdma_cma_alt.h>

#include "fake/fixture.h"

#define LAST_CONNECT (&fake.last[FAKE(CONNECT)].connect)

static struct rdma_alt_connect_attr attr_of(struct rdma_event_channel *channel)
{
	return (struct rdma_alt_connect_attr) {
		.channel = channel,
		.context = (void *)0x77,
		.dst_addr = addr4("10.9.0.2", 7001),
		.timeout_ms = 1000,
	};
}

/* A QP of the program. */
static struct ibv_qp *new_qp(struct rdma_cm_id **maker)
{
	struct ibv_qp *qp;

	*maker = new_id(NULL);
	resolve(*maker);
	add_qp(*maker);
	qp = (*maker)->qp;
	(*maker)->qp = NULL;
	return qp;
}

static void drop_qp(struct rdma_cm_id *maker, struct ibv_qp *qp)
{
	maker->qp = qp;
	rdma_destroy_qp(maker);
	assert_int_equal(rdma_destroy_id(maker), 0);
}

TEST(one_call_does_all_steps)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_alt_connect_attr attr = attr_of(ch);
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	assert_int_equal(rdma_alt_connect(&attr, &id), 0);
	assert_int_equal(fake.calls[FAKE(CONNECT)], 1);
	assert_int_equal(fake.calls[FAKE(RESOLVE)], 0);
	assert_int_equal(LAST_CONNECT->pipe.steps, RDMA_CM_ALT_STEP_CREATE |
			 RDMA_CM_ALT_STEP_ADDR | RDMA_CM_ALT_STEP_ROUTE);
	assert_int_equal(LAST_CONNECT->pipe.events, 0);
	assert_int_equal(LAST_CONNECT->pipe.ps, RDMA_PS_TCP);
	assert_int_equal(LAST_CONNECT->param.retry_count, 7);
	event = take(ch, RDMA_CM_EVENT_CONNECT_RESPONSE);
	assert_ptr_equal(event->id, id);
	assert_ptr_equal(id->context, (void *)0x77);
	assert_non_null(id->verbs);
	assert_int_equal(id->port_num, 1);
	assert_int_equal(ntohs(rdma_get_dst_port(id)), 7001);
	rdma_ack_cm_event(event);
	assert_int_equal(rdma_establish(id), 0);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
}

TEST(parameters_go_along)
{
	struct rdma_conn_param param = {
		.private_data = "abc", .private_data_len = 4, .responder_resources = 2,
		.initiator_depth = 3, .retry_count = 9, .rnr_retry_count = 6, .qp_num = 99,
		.srq = 1, .flow_control = 1,
	};
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_alt_connect_attr attr = attr_of(ch);
	struct rdma_cm_id *id;

	attr.conn_param = &param;
	attr.src_addr = addr4("10.9.0.1", 0);
	assert_int_equal(rdma_alt_connect(&attr, &id), 0);
	assert_string_equal((char *)fake.private_data, "abc");
	assert_int_equal(LAST_CONNECT->pipe.src.family, AF_INET);
	assert_int_equal(LAST_CONNECT->param.responder_resources, 2);
	assert_int_equal(LAST_CONNECT->param.initiator_depth, 3);
	assert_int_equal(LAST_CONNECT->param.retry_count, 7);
	assert_int_equal(LAST_CONNECT->param.rnr_retry_count, 6);
	assert_int_equal(LAST_CONNECT->param.qp_num, 99);
	assert_int_equal(LAST_CONNECT->param.srq, 1);
	take_and_ack(ch, RDMA_CM_EVENT_CONNECT_RESPONSE);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
}

TEST(a_qp_of_the_program_is_established)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_alt_connect_attr attr = attr_of(ch);
	struct rdma_cm_id *id, *maker;
	int attrs;

	attr.qp = new_qp(&maker);
	attrs = fake.calls[FAKE(QP_ATTR)];
	assert_int_equal(rdma_alt_connect(&attr, &id), 0);
	assert_int_equal(LAST_CONNECT->param.qp_num, attr.qp->qp_num);
	take_and_ack(ch, RDMA_CM_EVENT_ESTABLISHED);
	assert_int_equal(fake.calls[FAKE(ESTABLISH)], 1);
	assert_int_equal(fake.calls[FAKE(QP_ATTR)], attrs);
	assert_ptr_equal(id->qp, attr.qp);
	id->qp = NULL;
	assert_int_equal(rdma_destroy_id(id), 0);
	drop_qp(maker, attr.qp);
	rdma_destroy_event_channel(ch);
}

TEST(a_qp_of_another_device_is_a_connect_error)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_alt_connect_attr attr = attr_of(ch);
	struct rdma_cm_id *id, *maker;
	struct rdma_cm_event *event;

	attr.qp = new_qp(&maker);
	fake.connect_event = FAKE_NO_EVENT;
	assert_int_equal(rdma_alt_connect(&attr, &id), 0);
	fake.route.node_guid = 0;
	fake_post_type(RDMA_CM_ALT_EVENT_CONNECT_RESPONSE, handle_of(id), 0);
	event = take(ch, RDMA_CM_EVENT_CONNECT_ERROR);
	assert_int_equal(event->status, -ENODEV);
	rdma_ack_cm_event(event);
	id->qp = NULL;
	assert_int_equal(rdma_destroy_id(id), 0);
	drop_qp(maker, attr.qp);
	rdma_destroy_event_channel(ch);
}

TEST(a_datagram_qp_of_the_program_starts)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_alt_connect_attr attr = attr_of(ch);
	struct rdma_cm_id *id, *maker = new_ud_id(NULL);
	struct ibv_qp *qp;

	resolve(maker);
	qp = ibv_create_qp(maker->pd, &(struct ibv_qp_init_attr){
		.qp_type = IBV_QPT_UD,
		.send_cq = ibv_create_cq(maker->verbs, 1, NULL, NULL, 0),
		.recv_cq = ibv_create_cq(maker->verbs, 1, NULL, NULL, 0),
	});
	assert_non_null(qp);
	attr.ps = RDMA_PS_UDP;
	attr.qp = qp;
	memset(&fake.qp, 0, sizeof(fake.qp));	/* no event of a datagram id has them */
	fake.attr.qkey = 0x01234567;
	fake.attr.qp_attr_mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
	fake.connect_event = RDMA_CM_ALT_EVENT_ESTABLISHED;
	assert_int_equal(rdma_alt_connect(&attr, &id), 0);
	take_and_ack(ch, RDMA_CM_EVENT_ESTABLISHED);
	assert_int_equal(qp->state, IBV_QPS_RTS);
	assert_int_equal(fake_verbs.attr[0].qkey, 0x01234567);
	id->qp = NULL;
	assert_int_equal(rdma_destroy_id(id), 0);
	ibv_destroy_cq(qp->send_cq);
	ibv_destroy_cq(qp->recv_cq);
	ibv_destroy_qp(qp);
	assert_int_equal(rdma_destroy_id(maker), 0);
	rdma_destroy_event_channel(ch);
}

TEST(a_synchronous_id_waits)
{
	struct rdma_alt_connect_attr attr = attr_of(NULL);
	struct rdma_cm_id *id;

	assert_int_equal(rdma_alt_connect(&attr, &id), 0);
	assert_int_equal(id->event->event, RDMA_CM_EVENT_CONNECT_RESPONSE);
	assert_int_equal(rdma_establish(id), 0);
	assert_int_equal(rdma_destroy_id(id), 0);
}

TEST(a_synchronous_connect_that_fails_leaves_no_id)
{
	static const struct { int event, status, err; } cases[] = {
		{ RDMA_CM_ALT_EVENT_ADDR_ERROR, -EHOSTUNREACH, EHOSTUNREACH },
		{ RDMA_CM_ALT_EVENT_ROUTE_ERROR, -ETIMEDOUT, ETIMEDOUT },
		{ RDMA_CM_ALT_EVENT_CONNECT_ERROR, -EINVAL, EINVAL },
		{ RDMA_CM_ALT_EVENT_UNREACHABLE, -ETIMEDOUT, ETIMEDOUT },
		{ RDMA_CM_ALT_EVENT_REJECTED, 28, ECONNREFUSED },
	};
	struct rdma_alt_connect_attr attr;
	struct rdma_cm_id *id;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		attr = attr_of(NULL);
		fake.connect_event = cases[i].event;
		fake.status = cases[i].status;
		assert_fails(cases[i].err, rdma_alt_connect(&attr, &id));
		assert_null(id);
		assert_false(fake_id_alive((__u32)i + 1));
	}
}

TEST(bad_attributes_are_einval)
{
	struct rdma_conn_param param = { .responder_resources = RDMA_MAX_RESP_RES };
	struct rdma_alt_connect_attr attr;
	struct rdma_cm_id *id;

	assert_fails(EINVAL, rdma_alt_connect(NULL, &id));
	attr = attr_of(NULL);
	assert_fails(EINVAL, rdma_alt_connect(&attr, NULL));
	attr.comp_mask = 1;
	assert_fails(EINVAL, rdma_alt_connect(&attr, &id));
	attr = attr_of(NULL);
	attr.dst_addr = NULL;
	assert_fails(EINVAL, rdma_alt_connect(&attr, &id));
	attr = attr_of(NULL);
	attr.timeout_ms = 0;
	assert_fails(EINVAL, rdma_alt_connect(&attr, &id));
	attr = attr_of(NULL);
	attr.conn_param = &param;
	assert_fails(EINVAL, rdma_alt_connect(&attr, &id));
	param = (struct rdma_conn_param) { .initiator_depth = RDMA_MAX_INIT_DEPTH };
	assert_fails(EINVAL, rdma_alt_connect(&attr, &id));
	assert_int_equal(fake.calls[FAKE(CONNECT)], 0);
}

TEST(a_call_that_fails_leaves_nothing)
{
	struct rdma_alt_connect_attr attr = attr_of(NULL);
	struct rdma_cm_id *id, *maker;

	attr.qp = new_qp(&maker);
	fake.fail[FAKE(CONNECT)] = EADDRINUSE;
	assert_fails(EADDRINUSE, rdma_alt_connect(&attr, &id));
	drop_qp(maker, attr.qp);	/* it is the program's */
}

TEST(many_connect_and_some_fail)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_alt_connect_attr attrs[4];
	struct rdma_cm_id *ids[4];
	int i, errors[4];

	for (i = 0; i < 4; i++)
		attrs[i] = attr_of(ch);
	attrs[1].channel = NULL;
	attrs[2].dst_addr = NULL;
	assert_int_equal(rdma_alt_connect_many(attrs, 4, ids, errors), 2);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(fake.calls[FAKE(BATCH)], 1);
	assert_int_equal(fake.calls[FAKE(CONNECT)], 2);
	for (i = 0; i < 4; i++) {
		assert_int_equal(errors[i], i == 1 || i == 2 ? EINVAL : 0);
		assert_int_equal(!ids[i], i == 1 || i == 2);
	}
	take_and_ack(ch, RDMA_CM_EVENT_CONNECT_RESPONSE);
	take_and_ack(ch, RDMA_CM_EVENT_CONNECT_RESPONSE);
	assert_int_equal(rdma_alt_destroy_many(ids, 4, NULL), 2);
	for (i = 0; i < 4; i++)
		assert_null(ids[i]);
	assert_fails(EINVAL, rdma_alt_connect_many(&attrs[1], 2, ids, NULL));
	assert_int_equal(rdma_alt_connect_many(NULL, 0, NULL, NULL), 0);
	assert_fails(EINVAL, rdma_alt_connect_many(NULL, 1, NULL, NULL));
	rdma_destroy_event_channel(ch);
}

TEST(the_kernel_refuses_one_of_many)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_alt_connect_attr attrs[3];
	struct rdma_cm_id *ids[3];
	int i, errors[3];

	for (i = 0; i < 3; i++)
		attrs[i] = attr_of(ch);
	fake.fail[FAKE(CONNECT)] = EADDRNOTAVAIL;
	assert_int_equal(rdma_alt_connect_many(attrs, 3, ids, errors), 2);
	assert_int_equal(errors[0], EADDRNOTAVAIL);
	assert_null(ids[0]);
	/* A batch that fails as a whole. */
	fake.fail[FAKE(BATCH)] = EOPNOTSUPP;
	assert_fails(EOPNOTSUPP, rdma_alt_destroy_many(ids, 3, errors));
	assert_int_equal(errors[0], 0);
	assert_int_equal(errors[1], EOPNOTSUPP);
	assert_non_null(ids[1]);
	take_and_ack(ch, RDMA_CM_EVENT_CONNECT_RESPONSE);
	take_and_ack(ch, RDMA_CM_EVENT_CONNECT_RESPONSE);
	assert_int_equal(rdma_alt_destroy_many(ids, 3, errors), 2);
	rdma_destroy_event_channel(ch);
}

/* A signal ends the system call, and interrupts the command that waits. */
TEST(a_signal_does_not_end_a_batch)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_alt_connect_attr attrs[3];
	struct rdma_cm_id *ids[3];
	int i;

	for (i = 0; i < 3; i++)
		attrs[i] = attr_of(ch);
	fake.fail[FAKE(CONNECT)] = EINTR;
	fake.batch_most = 1;
	assert_int_equal(rdma_alt_connect_many(attrs, 3, ids, NULL), 3);
	assert_int_equal(fake.calls[FAKE(BATCH)], 3);
	assert_int_equal(fake.calls[FAKE(CONNECT)], 4);
	for (i = 0; i < 3; i++)
		take_and_ack(ch, RDMA_CM_EVENT_CONNECT_RESPONSE);
	assert_int_equal(rdma_alt_destroy_many(ids, 3, NULL), 3);
	rdma_destroy_event_channel(ch);
}

TEST(all_events_come_by_one_read)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_alt_connect_attr attrs[5];
	struct rdma_cm_event *events[5];
	struct rdma_cm_id *ids[5];
	int i, reads;

	for (i = 0; i < 5; i++)
		attrs[i] = attr_of(ch);
	assert_int_equal(rdma_alt_connect_many(attrs, 5, ids, NULL), 5);
	reads = fake.reads;
	assert_int_equal(rdma_alt_get_cm_events(ch, events, 3), 3);
	assert_int_equal(rdma_alt_get_cm_events(ch, events + 3, 5), 2);
	assert_int_equal(fake.reads - reads, 2);
	for (i = 0; i < 5; i++) {
		assert_ptr_equal(events[i]->id, ids[i]);
		assert_int_equal(events[i]->event, RDMA_CM_EVENT_CONNECT_RESPONSE);
		rdma_ack_cm_event(events[i]);
	}
	assert_int_equal(fcntl(ch->fd, F_SETFL, O_NONBLOCK), 0);
	assert_fails(EAGAIN, rdma_alt_get_cm_events(ch, events, 5));
	assert_fails(EINVAL, rdma_alt_get_cm_events(ch, events, 0));
	assert_fails(EINVAL, rdma_alt_get_cm_events(NULL, events, 1));
	assert_int_equal(rdma_alt_destroy_many(ids, 5, NULL), 5);
	rdma_destroy_event_channel(ch);
}

TEST(events_of_dead_ids_are_left_out)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_event *events[4];
	struct rdma_cm_id *id = new_id(ch);
	struct rdma_cm_alt_event dead;

	dead = fake_event(RDMA_CM_ALT_EVENT_ADDR_CHANGE, handle_of(id));
	dead.cookie = ~0ULL;
	fake_post(&dead);
	fake_post_type(RDMA_CM_ALT_EVENT_ADDR_CHANGE, handle_of(id), 0);
	assert_int_equal(rdma_alt_get_cm_events(ch, events, 4), 1);
	assert_ptr_equal(events[0]->id, id);
	rdma_ack_cm_event(events[0]);
	fake.ids[handle_of(id)].reported = 1;	/* the dead one was no one's */
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
}

TEST(a_quiet_accept_says_so)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_conn_param param = { .qp_num = 1 };
	struct rdma_cm_id *l = listener(ch), *child;
	struct rdma_cm_event *event;

	fake_request(handle_of(l));
	event = take(ch, RDMA_CM_EVENT_CONNECT_REQUEST);
	child = event->id;
	rdma_ack_cm_event(event);
	assert_fails(EINVAL, rdma_alt_accept(child, &param, 2));
	fake.accept_event = FAKE_NO_EVENT;
	assert_int_equal(rdma_alt_accept(child, &param, RDMA_ALT_ACCEPT_QUIET), 0);
	assert_int_equal(fake.last[FAKE(ACCEPT)].accept.flags, RDMA_CM_ALT_ACCEPT_QUIET);
	assert_int_equal(rdma_destroy_id(child), 0);
	assert_int_equal(rdma_destroy_id(l), 0);
	rdma_destroy_event_channel(ch);
}

TEST(what_has_ended_needs_no_disconnect)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_alt_connect_attr attr = attr_of(ch);
	struct rdma_cm_id *id;

	assert_int_equal(rdma_alt_connect(&attr, &id), 0);
	take_and_ack(ch, RDMA_CM_EVENT_CONNECT_RESPONSE);
	assert_int_equal(rdma_establish(id), 0);
	assert_int_equal(rdma_disconnect(id), 0);
	assert_int_equal(rdma_disconnect(id), 0);
	assert_int_equal(fake.calls[FAKE(DISCONNECT)], 2);
	take_and_ack(ch, RDMA_CM_EVENT_DISCONNECTED);
	take_and_ack(ch, RDMA_CM_EVENT_DISCONNECTED);
	assert_int_equal(rdma_disconnect(id), 0);
	assert_int_equal(fake.calls[FAKE(DISCONNECT)], 2);
	/* The kernel reports that a device was removed. */
	fake_post_type(RDMA_CM_ALT_EVENT_DEVICE_REMOVAL, handle_of(id), 0);
	take_and_ack(ch, RDMA_CM_EVENT_DEVICE_REMOVAL);
	fake.fail[FAKE(DISCONNECT)] = ENXIO;
	assert_fails(ENXIO, rdma_disconnect(id));
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
}

RUN
