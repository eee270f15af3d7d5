// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of connecting, accepting, rejecting and disconnecting. */
#include <fcntl.h>

#include "fake/fixture.h"

#define LAST_CONNECT (&fake.last[FAKE(CONNECT)].connect.param)
#define LAST_ACCEPT (&fake.last[FAKE(ACCEPT)].accept)

static struct rdma_cm_id *connected(void)
{
	struct rdma_cm_id *id = new_id(NULL);

	resolve(id);
	add_qp(id);
	assert_int_equal(rdma_connect(id, NULL), 0);
	return id;
}

static void destroy(struct rdma_cm_id *id)
{
	rdma_destroy_qp(id);
	assert_int_equal(rdma_destroy_id(id), 0);
}

/* A child with its request event on an asynchronous listener. */
static struct rdma_cm_event *request(struct rdma_event_channel *ch, struct rdma_cm_id *l)
{
	fake_request(handle_of(l));
	return take(ch, RDMA_CM_EVENT_CONNECT_REQUEST);
}

TEST(connect_waits_for_established_on_a_synchronous_id)
{
	struct rdma_cm_id *id = connected();

	assert_int_equal(id->event->event, RDMA_CM_EVENT_ESTABLISHED);
	destroy(id);
}

TEST(connect_without_parameters_uses_the_device_and_full_retries)
{
	struct rdma_cm_id *id = connected();

	assert_int_equal(LAST_CONNECT->initiator_depth, 16);
	assert_int_equal(LAST_CONNECT->responder_resources, 16);
	assert_int_equal(LAST_CONNECT->retry_count, 7);
	assert_int_equal(LAST_CONNECT->rnr_retry_count, 7);
	assert_int_equal(LAST_CONNECT->qp_num, 0x77);
	destroy(id);
}

TEST(connect_takes_depths_retries_and_private_data)
{
	struct rdma_conn_param param = {
		.private_data = "abc", .private_data_len = 4,
		.responder_resources = 2, .initiator_depth = RDMA_MAX_INIT_DEPTH,
		.retry_count = 9, .rnr_retry_count = 6, .flow_control = 1,
		.qp_num = 99, .srq = 1,
	};
	struct rdma_cm_id *id = new_id(NULL);

	resolve(id);
	assert_int_equal(rdma_connect(id, &param), 0);
	assert_int_equal(LAST_CONNECT->responder_resources, 2);
	assert_int_equal(LAST_CONNECT->initiator_depth, 16);
	assert_int_equal(LAST_CONNECT->retry_count, 7);
	assert_int_equal(LAST_CONNECT->rnr_retry_count, 6);
	assert_int_equal(LAST_CONNECT->flow_control, 1);
	assert_int_equal(LAST_CONNECT->qp_num, 99);
	assert_int_equal(LAST_CONNECT->srq, 1);
	assert_int_equal(LAST_CONNECT->private_data_len, 4);
	assert_string_equal((char *)fake.private_data, "abc");
	assert_int_equal(rdma_destroy_id(id), 0);
}

/* As much as the length can tell. The kernel knows whether a trunk can carry it. */
TEST(private_data_are_as_long_as_their_length_can_tell)
{
	struct rdma_conn_param param = { .private_data_len = UINT8_MAX, .qp_num = 99 };
	struct rdma_cm_id *id = new_id(NULL);
	uint8_t data[UINT8_MAX];

	memset(data, 0xab, sizeof(data));
	param.private_data = data;
	resolve(id);
	fake.fail[FAKE(CONNECT)] = EINVAL;
	assert_fails(EINVAL, rdma_connect(id, &param));
	fake.fail[FAKE(CONNECT)] = EOPNOTSUPP;
	assert_fails(EOPNOTSUPP, rdma_connect(id, &param));
	assert_int_equal(rdma_connect(id, &param), 0);
	assert_int_equal(LAST_CONNECT->private_data_len, UINT8_MAX);
	assert_memory_equal(fake.private_data, data, sizeof(data));
	assert_int_equal(rdma_reject(id, data, UINT8_MAX), 0);
	assert_int_equal(fake.last[FAKE(REJECT)].reject.private_data_len, UINT8_MAX);
	assert_int_equal(rdma_destroy_id(id), 0);
}

static struct rdma_cm_id *connecting;

static void destroy_connecting(void)
{
	assert_int_equal(rdma_destroy_id(connecting), 0);
}

/* A blocking connect, as with iWARP, ends when another thread destroys the id. */
TEST(connect_leaves_an_id_alone_that_was_destroyed_meanwhile)
{
	struct rdma_conn_param param = { .qp_num = 99 };

	connecting = new_id(NULL);
	resolve(connecting);
	fake.meanwhile = destroy_connecting;
	assert_int_equal(rdma_connect(connecting, &param), -1);
	assert_int_equal(errno, ECONNABORTED);
}

TEST(connect_with_depths_beyond_the_device_is_einval)
{
	struct rdma_conn_param param = { .responder_resources = 17 };
	struct rdma_cm_id *id = new_id(NULL);

	resolve(id);
	assert_fails(EINVAL, rdma_connect(id, &param));
	param = (struct rdma_conn_param) { .initiator_depth = 17 };
	assert_fails(EINVAL, rdma_connect(id, &param));
	assert_fails(EINVAL, rdma_connect(id, NULL));	/* no QP either */
	assert_int_equal(fake.calls[FAKE(CONNECT)], 0);
	assert_int_equal(rdma_destroy_id(id), 0);
}

TEST(calls_on_unbound_or_null_ids_are_einval)
{
	struct rdma_conn_param param = { 0 };
	struct rdma_cm_id *id = new_id(NULL);

	assert_fails(EINVAL, rdma_connect(id, &param));
	assert_fails(EINVAL, rdma_connect(NULL, &param));
	assert_fails(EINVAL, rdma_accept(id, NULL));
	assert_fails(EINVAL, rdma_accept(NULL, NULL));
	assert_fails(EINVAL, rdma_disconnect(id));
	assert_fails(EINVAL, rdma_disconnect(NULL));
	assert_fails(EINVAL, rdma_reject(NULL, NULL, 0));
	assert_fails(EINVAL, rdma_establish(NULL));
	assert_fails(EINVAL, rdma_notify(NULL, IBV_EVENT_COMM_EST));
	assert_fails(EINVAL, rdma_set_local_ece(NULL, NULL));
	assert_fails(EINVAL, rdma_get_remote_ece(NULL, NULL));
	assert_int_equal(rdma_destroy_id(id), 0);
}

TEST(results_of_synchronous_connect_are_those_of_the_event)
{
	static const struct { int event, status, err; } cases[] = {
		{ RDMA_CM_ALT_EVENT_REJECTED, 28, ECONNREFUSED },
		{ RDMA_CM_ALT_EVENT_REJECTED, -ECONNRESET, ECONNREFUSED },
		{ RDMA_CM_ALT_EVENT_UNREACHABLE, -ETIMEDOUT, ETIMEDOUT },
		{ RDMA_CM_ALT_EVENT_CONNECT_ERROR, EPROTO, EPROTO },
		{ RDMA_CM_ALT_EVENT_DEVICE_REMOVAL, 0, ENODEV },
	};
	struct rdma_cm_id *id;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		id = new_id(NULL);
		fake.status = 0;
		resolve(id);
		add_qp(id);
		fake.connect_event = cases[i].event;
		fake.status = cases[i].status;
		assert_fails(cases[i].err, rdma_connect(id, NULL));
		assert_int_equal(id->event->event, cases[i].event);
		destroy(id);
	}
}

TEST(nonblocking_synchronous_connect_completes_later)
{
	struct rdma_cm_id *id = new_id(NULL);

	resolve(id);
	add_qp(id);
	fcntl(id->channel->fd, F_SETFL, O_NONBLOCK);
	fake.connect_event = FAKE_NO_EVENT;
	assert_fails(EAGAIN, rdma_connect(id, NULL));
	assert_null(id->event);
	fake_post_type(RDMA_CM_ALT_EVENT_CONNECT_RESPONSE, handle_of(id), 0);
	assert_int_equal(rcl_complete(rcl_id_of(id)), 0);
	assert_int_equal(id->event->event, RDMA_CM_EVENT_ESTABLISHED);
	destroy(id);
}

TEST(address_change_is_no_answer_to_a_call)
{
	struct rdma_cm_id *id = new_id(NULL);

	resolve(id);
	add_qp(id);
	fake_post_type(RDMA_CM_ALT_EVENT_ADDR_CHANGE, handle_of(id), 0);
	assert_int_equal(rdma_connect(id, NULL), 0);
	assert_int_equal(id->event->event, RDMA_CM_EVENT_ESTABLISHED);
	destroy(id);
}

TEST(accept_without_parameters_takes_the_least_of_request_and_device)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *l = listener(ch), *child;
	struct rdma_cm_event *event;

	fake_verbs.max_depth = 16;
	event = request(ch, l);
	child = event->id;
	rcl_id_of(child)->initiator_depth = 40;
	add_qp(child);
	assert_int_equal(rdma_accept(child, NULL), 0);
	assert_int_equal(LAST_ACCEPT->param.responder_resources, 5);
	assert_int_equal(LAST_ACCEPT->param.initiator_depth, 16);
	assert_int_equal(LAST_ACCEPT->param.qp_num, 0x77);
	assert_int_equal(LAST_ACCEPT->cookie, rcl_id_of(child)->cookie);
	assert_int_equal(child->qp->state, IBV_QPS_RTS);
	rdma_ack_cm_event(event);
	event = take(ch, RDMA_CM_EVENT_ESTABLISHED);
	assert_ptr_equal(event->id, child);
	rdma_ack_cm_event(event);
	destroy(child);
	assert_int_equal(rdma_destroy_id(l), 0);
	rdma_destroy_event_channel(ch);
}

TEST(accept_puts_its_depths_into_the_qp)
{
	struct rdma_conn_param param = { .responder_resources = 1, .initiator_depth = 2 };
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *l = listener(ch);
	struct rdma_cm_event *event = request(ch, l);
	struct rdma_cm_id *child = event->id;

	add_qp(child);
	assert_int_equal(rdma_accept(child, &param), 0);
	assert_int_equal(fake_verbs.moves, 3);	/* INIT once */
	assert_int_equal(fake_verbs.attr[1].max_dest_rd_atomic, 1);
	assert_int_equal(fake_verbs.attr[2].max_rd_atomic, 2);
	rdma_ack_cm_event(event);
	destroy(child);
	assert_int_equal(rdma_destroy_id(l), 0);
	rdma_destroy_event_channel(ch);
}

TEST(accept_that_the_kernel_refuses_rejects)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *l = listener(ch);
	struct rdma_cm_event *event = request(ch, l);
	struct rdma_cm_id *child = event->id;

	add_qp(child);
	fake.fail[FAKE(ACCEPT)] = ECONNRESET;
	assert_fails(ECONNRESET, rdma_accept(child, NULL));
	assert_int_equal(child->qp->state, IBV_QPS_ERR);
	assert_int_equal(fake.calls[FAKE(REJECT)], 1);
	rdma_ack_cm_event(event);
	destroy(child);
	assert_int_equal(rdma_destroy_id(l), 0);
	rdma_destroy_event_channel(ch);
}

TEST(accept_without_qp_needs_parameters)
{
	struct rdma_conn_param param = { .qp_num = 12 };
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *l = listener(ch);
	struct rdma_cm_event *event = request(ch, l);

	assert_fails(EINVAL, rdma_accept(event->id, NULL));
	assert_int_equal(rdma_accept(event->id, &param), 0);
	assert_int_equal(LAST_ACCEPT->param.qp_num, 12);
	assert_int_equal(rdma_destroy_id(event->id), 0);
	rdma_ack_cm_event(event);
	assert_int_equal(rdma_destroy_id(l), 0);
	rdma_destroy_event_channel(ch);
}

TEST(reject_carries_reason_and_data)
{
	struct rdma_cm_id *id = new_id(NULL);

	assert_int_equal(rdma_reject(id, "no", 3), 0);
	assert_int_equal(fake.last[FAKE(REJECT)].reject.reason, 0);
	assert_int_equal(fake.last[FAKE(REJECT)].reject.private_data_len, 3);
	assert_int_equal(rdma_reject_ece(id, NULL, 7), 0);
	assert_int_equal(fake.last[FAKE(REJECT)].reject.reason, 35);
	assert_int_equal(fake.last[FAKE(REJECT)].reject.private_data_len, 0);
	fake.fail[FAKE(REJECT)] = EINVAL;
	assert_fails(EINVAL, rdma_reject(id, NULL, 0));
	assert_int_equal(rdma_destroy_id(id), 0);
}

TEST(establish_is_for_ids_without_qp)
{
	struct rdma_cm_id *id = connected();

	assert_fails(EINVAL, rdma_establish(id));
	destroy(id);
}

TEST(disconnect_waits_for_the_answer)
{
	struct rdma_cm_id *id = connected();

	assert_int_equal(rdma_disconnect(id), 0);
	assert_int_equal(id->event->event, RDMA_CM_EVENT_DISCONNECTED);
	assert_int_equal(id->qp->state, IBV_QPS_ERR);
	destroy(id);
}

TEST(disconnect_twice_does_not_hang)
{
	struct rdma_cm_id *id = connected();

	assert_int_equal(rdma_disconnect(id), 0);
	fake.disconnect_event = FAKE_NO_EVENT;
	assert_int_equal(rdma_disconnect(id), 0);
	destroy(id);
}

TEST(disconnect_after_refusal_does_not_hang)
{
	struct rdma_cm_id *id = new_id(NULL);

	resolve(id);
	add_qp(id);
	fake.connect_event = RDMA_CM_ALT_EVENT_REJECTED;
	fake.status = 8;
	fake.disconnect_event = FAKE_NO_EVENT;
	assert_fails(ECONNREFUSED, rdma_connect(id, NULL));
	assert_int_equal(rdma_disconnect(id), 0);
	destroy(id);
}

TEST(disconnect_when_the_device_goes_returns)
{
	struct rdma_cm_id *id = connected();

	fake.disconnect_event = RDMA_CM_ALT_EVENT_DEVICE_REMOVAL;
	assert_int_equal(rdma_disconnect(id), 0);
	destroy(id);
}

TEST(disconnect_that_times_out_says_so)
{
	struct rdma_cm_id *id = connected();

	fake.status = -ETIMEDOUT;
	assert_fails(ETIMEDOUT, rdma_disconnect(id));
	destroy(id);
}

TEST(disconnect_stops_the_qp_as_its_transport_wants)
{
	struct rdma_cm_id *id = connected();

	id->verbs->device->transport_type = IBV_TRANSPORT_IWARP;
	fake.disconnect_event = FAKE_NO_EVENT;
	fake.fail[FAKE(DISCONNECT)] = EINVAL;
	assert_fails(EINVAL, rdma_disconnect(id));
	assert_int_equal(id->qp->state, IBV_QPS_SQD);
	id->verbs->device->transport_type = IBV_TRANSPORT_USNIC;
	assert_fails(EINVAL, rdma_disconnect(id));
	assert_int_equal(fake.calls[FAKE(DISCONNECT)], 1);
	id->verbs->device->transport_type = IBV_TRANSPORT_IB;
	destroy(id);
}

TEST(notify_tells_the_kernel)
{
	struct rdma_cm_id *id = connected();

	assert_int_equal(rdma_notify(id, IBV_EVENT_COMM_EST), 0);
	assert_int_equal(fake.calls[FAKE(NOTIFY)], 1);
	fake.fail[FAKE(NOTIFY)] = EISCONN;
	assert_fails(EISCONN, rdma_notify(id, IBV_EVENT_COMM_EST));
	assert_fails(EINVAL, rdma_notify(NULL, IBV_EVENT_COMM_EST));
	destroy(id);
}

TEST(accept_says_why_the_qp_does_not_move)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *l = listener(ch);
	struct rdma_cm_event *event = request(ch, l);
	struct rdma_cm_id *child = event->id;

	add_qp(child);
	fake_verbs.fail_at = fake_verbs.steps + 1;
	fake_verbs.fail_errno = EIO;
	assert_fails(EIO, rdma_accept(child, NULL));
	/* The request is still pending: another attempt may succeed. */
	assert_int_equal(fake.calls[FAKE(ACCEPT)], 0);
	assert_int_equal(rdma_accept(child, NULL), 0);
	take_and_ack(ch, RDMA_CM_EVENT_ESTABLISHED);
	rdma_ack_cm_event(event);
	destroy(child);
	assert_int_equal(rdma_destroy_id(l), 0);
	rdma_destroy_event_channel(ch);
}

TEST(ece_is_kept_and_returned)
{
	struct ibv_ece ece = { .vendor_id = 0x15b3, .options = 7 }, out;
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_conn_param param = { .qp_num = 5 };
	struct rdma_cm_id *id = new_id(ch);
	struct rdma_cm_alt_event event;

	resolve(id);
	assert_int_equal(rdma_set_local_ece(id, &ece), 0);
	fake.connect_event = FAKE_NO_EVENT;
	assert_int_equal(rdma_connect(id, &param), 0);
	assert_int_equal(LAST_CONNECT->ece_vendor_id, 0x15b3);
	assert_int_equal(LAST_CONNECT->ece_attr_mod, 7);
	event = fake_event(RDMA_CM_ALT_EVENT_CONNECT_RESPONSE, handle_of(id));
	event.flags |= RDMA_CM_ALT_EVENT_F_ECE;
	event.ece_vendor_id = 0x15b3;
	event.ece_attr_mod = 3;
	fake_post(&event);
	take_and_ack(ch, RDMA_CM_EVENT_CONNECT_RESPONSE);
	assert_int_equal(rdma_get_remote_ece(id, &out), 0);
	assert_int_equal(out.vendor_id, 0x15b3);
	assert_int_equal(out.options, 3);
	ece.vendor_id = 0;
	assert_fails(EINVAL, rdma_set_local_ece(id, &ece));
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
}

RUN
