// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of the sources of QP attributes and of the values that override them. */
#include "fake/fixture.h"
#include "id/qp.h"

#define ACK_TIMEOUT 14

TEST(init_is_repeated_when_access_rights_change)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(ch);

	fake.qp.attr.qp_access_flags = 0;
	resolve(id);
	add_qp(id);
	fake.qp.attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
	assert_int_equal(rdma_connect(id, NULL), 0);
	take_and_ack(ch, RDMA_CM_EVENT_ESTABLISHED);
	assert_int_equal(fake_verbs.moves, 4);
	assert_int_equal(fake_verbs.state[0], IBV_QPS_INIT);
	assert_int_equal(fake_verbs.attr[0].qp_access_flags, 0);
	assert_int_equal(fake_verbs.state[1], IBV_QPS_INIT);
	assert_int_equal(fake_verbs.attr[1].qp_access_flags,
			 IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
	assert_int_equal(fake_verbs.state[2], IBV_QPS_RTR);
	assert_int_equal(fake_verbs.state[3], IBV_QPS_RTS);
	destroy_with_qp(id, ch);
}

TEST(init_is_repeated_when_the_program_has_reset_the_qp)
{
	struct ibv_qp_attr reset = { .qp_state = IBV_QPS_RESET };
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *l = listener(ch);
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	fake_request(handle_of(l));
	event = take(ch, RDMA_CM_EVENT_CONNECT_REQUEST);
	id = event->id;
	rdma_ack_cm_event(event);
	add_qp(id);
	assert_int_equal(ibv_modify_qp(id->qp, &reset, IBV_QP_STATE), 0);
	assert_int_equal(rdma_accept(id, NULL), 0);
	take_and_ack(ch, RDMA_CM_EVENT_ESTABLISHED);
	assert_int_equal(fake_verbs.moves, 5);
	assert_int_equal(fake_verbs.state[1], IBV_QPS_RESET);
	assert_int_equal(fake_verbs.state[2], IBV_QPS_INIT);
	assert_int_equal(fake_verbs.state[3], IBV_QPS_RTR);
	assert_int_equal(rdma_destroy_id(l), 0);
	destroy_with_qp(id, ch);
}

TEST(active_side_takes_the_depths_of_the_kernel)
{
	struct rdma_conn_param param = { .responder_resources = 1, .initiator_depth = 1 };
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(ch);

	resolve(id);
	add_qp(id);
	assert_int_equal(rdma_connect(id, &param), 0);
	take_and_ack(ch, RDMA_CM_EVENT_ESTABLISHED);
	assert_int_equal(fake_verbs.attr[1].max_dest_rd_atomic, 9);
	assert_int_equal(fake_verbs.attr[2].max_rd_atomic, 8);
	destroy_with_qp(id, ch);
}

TEST(ack_timeout_option_reaches_the_qp)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(ch);
	uint8_t timeout = ACK_TIMEOUT;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };
	int mask;

	resolve(id);
	assert_int_equal(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT,
					 &timeout, 1), 0);
	assert_int_equal(rdma_init_qp_attr(id, &attr, &mask), 0);
	assert_int_equal(attr.timeout, ACK_TIMEOUT);
	add_qp(id);
	assert_int_equal(rdma_connect(id, NULL), 0);
	take_and_ack(ch, RDMA_CM_EVENT_ESTABLISHED);
	assert_int_equal(fake_verbs.attr[2].timeout, ACK_TIMEOUT);
	destroy_with_qp(id, ch);
}

TEST(init_attr_after_bind_asks_the_kernel)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	struct rdma_cm_id *id = new_id(NULL);
	int mask = 0;

	assert_int_equal(rdma_bind_addr(id, addr4("10.9.0.1", 1)), 0);
	assert_int_equal(rdma_init_qp_attr(id, &attr, &mask), 0);
	assert_int_equal(fake.calls[FAKE(QP_ATTR)], 1);
	assert_int_equal(fake.last[FAKE(QP_ATTR)].qp_attr.qp_state, IBV_QPS_INIT);
	assert_int_equal(mask, fake.qp.init_mask);
	assert_int_equal(attr.qp_state, IBV_QPS_INIT);
	assert_int_equal(rdma_destroy_id(id), 0);
}

TEST(init_attr_after_an_event_needs_no_call)
{
	static const enum ibv_qp_state states[] = { IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS };
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *l = listener(ch);
	struct rdma_cm_event *event;
	struct ibv_qp_attr attr;
	int i, mask;

	fake_request(handle_of(l));
	event = take(ch, RDMA_CM_EVENT_CONNECT_REQUEST);
	for (i = 0; i < 3; i++) {
		attr.qp_state = states[i];
		assert_int_equal(rdma_init_qp_attr(event->id, &attr, &mask), 0);
		assert_true(mask & IBV_QP_STATE);
	}
	assert_int_equal(attr.max_rd_atomic, 8);
	assert_int_equal(fake.calls[FAKE(QP_ATTR)], 0);
	assert_int_equal(rdma_destroy_id(event->id), 0);
	rdma_ack_cm_event(event);
	assert_int_equal(rdma_destroy_id(l), 0);
	rdma_destroy_event_channel(ch);
}

TEST(init_attr_after_accept_has_its_depths)
{
	struct rdma_conn_param param = { .responder_resources = 1, .initiator_depth = 2 };
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *l = listener(ch);
	struct rdma_cm_event *event;
	struct ibv_qp_attr attr;
	int mask;

	fake_request(handle_of(l));
	event = take(ch, RDMA_CM_EVENT_CONNECT_REQUEST);
	assert_int_equal(rdma_accept(event->id, &param), 0);
	attr.qp_state = IBV_QPS_RTR;
	assert_int_equal(rdma_init_qp_attr(event->id, &attr, &mask), 0);
	assert_int_equal(attr.max_dest_rd_atomic, 1);
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(rdma_init_qp_attr(event->id, &attr, &mask), 0);
	assert_int_equal(attr.max_rd_atomic, 2);
	assert_int_equal(rdma_destroy_id(event->id), 0);
	rdma_ack_cm_event(event);
	assert_int_equal(rdma_destroy_id(l), 0);
	rdma_destroy_event_channel(ch);
}

TEST(init_attr_between_connect_and_response_is_fresh)
{
	struct rdma_conn_param param = { .qp_num = 1 };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(ch);
	int mask;

	resolve(id);
	fake.connect_event = FAKE_NO_EVENT;
	assert_int_equal(rdma_connect(id, &param), 0);
	assert_int_equal(rdma_init_qp_attr(id, &attr, &mask), 0);
	assert_int_equal(fake.calls[FAKE(QP_ATTR)], 1);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
}

TEST(init_attr_of_other_states_is_the_kernels_to_refuse)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD };
	struct rdma_cm_id *id = new_id(NULL);
	int mask;

	resolve(id);
	fake.fail[FAKE(QP_ATTR)] = EINVAL;
	assert_fails(EINVAL, rdma_init_qp_attr(id, &attr, &mask));
	assert_fails(EINVAL, rdma_init_qp_attr(id, NULL, &mask));
	assert_fails(EINVAL, rdma_init_qp_attr(NULL, &attr, &mask));
	assert_int_equal(rdma_destroy_id(id), 0);
}

TEST(kernel_only_mask_bits_do_not_reach_the_provider)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(ch);

	resolve(id);
	add_qp(id);
	fake.qp.rtr_mask |= 0xe00000;
	assert_int_equal(rdma_connect(id, NULL), 0);
	take_and_ack(ch, RDMA_CM_EVENT_ESTABLISHED);
	assert_int_equal(fake_verbs.mask[1] & 0xe00000, 0);
	destroy_with_qp(id, ch);
}

TEST(empty_rts_mask_is_an_answer)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(ch);

	fake.qp.rts_mask = 0;
	resolve(id);
	add_qp(id);
	assert_int_equal(rdma_connect(id, NULL), 0);
	take_and_ack(ch, RDMA_CM_EVENT_ESTABLISHED);
	assert_int_equal(fake.calls[FAKE(QP_ATTR)], 0);
	assert_int_equal(fake_verbs.moves, 2);
	destroy_with_qp(id, ch);
}

/* The kernel has no attributes after these events, and it is asked. */
static void no_attr_is_left_after(__u32 type)
{
	static const enum ibv_qp_state states[] = { IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS };
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(ch);
	struct ibv_qp_attr attr;
	int i, mask;

	resolve(id);
	add_qp(id);
	assert_int_equal(rdma_connect(id, NULL), 0);
	take_and_ack(ch, RDMA_CM_EVENT_ESTABLISHED);
	fake_post_type(type, handle_of(id), 0);
	take_and_ack(ch, (int)type);
	for (i = 0; i < 3; i++) {
		attr.qp_state = states[i];
		fake.fail[FAKE(QP_ATTR)] = EINVAL;
		assert_fails(EINVAL, rdma_init_qp_attr(id, &attr, &mask));
	}
	destroy_with_qp(id, ch);
}

TEST(no_attr_is_left_when_time_wait_is_over)
{
	no_attr_is_left_after(RDMA_CM_ALT_EVENT_TIMEWAIT_EXIT);
}

TEST(no_attr_is_left_when_the_device_goes)
{
	no_attr_is_left_after(RDMA_CM_ALT_EVENT_DEVICE_REMOVAL);
}

RUN
