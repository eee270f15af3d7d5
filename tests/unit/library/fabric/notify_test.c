// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of the fake data path: completion channels, and what makes an event. */
#include <fcntl.h>

#include "fake/pair.h"

static struct ibv_cq *take_event(struct endpoint *end)
{
	struct ibv_cq *cq = NULL;
	void *context = NULL;

	assert_int_equal(ibv_get_cq_event(end->comp, &cq, &context), 0);
	assert_ptr_equal(context, end);
	return cq;
}

static void take_and_ack_event(struct endpoint *end)
{
	struct ibv_cq *cq = take_event(end);

	assert_ptr_equal(cq, end->cq);
	ibv_ack_cq_events(cq, 1);
}

PAIR_TEST(armed_cq_makes_one_event)
{
	struct pair p;

	pair_open(&p);
	pair_post_recv(&p.passive, 1, 0, 0);
	pair_post_recv(&p.passive, 2, 0, 0);
	pair_post_recv(&p.passive, 3, 0, 0);
	pair_write_imm(&p.active, &p.passive, 1, 0, 0);
	assert_false(pair_readable(p.passive.comp->fd));
	/* A completion that is there already makes none. */
	assert_int_equal(ibv_req_notify_cq(p.passive.cq, 0), 0);
	assert_int_equal(ibv_req_notify_cq(p.passive.cq, 0), 0);
	assert_false(pair_readable(p.passive.comp->fd));
	pair_write_imm(&p.active, &p.passive, 2, 0, 0);
	pair_write_imm(&p.active, &p.passive, 3, 0, 0);
	assert_true(pair_readable(p.passive.comp->fd));
	take_and_ack_event(&p.passive);
	assert_false(pair_readable(p.passive.comp->fd));
	pair_close(&p);
}

PAIR_TEST(send_that_completes_makes_an_event)
{
	struct pair p;

	pair_open(&p);
	assert_int_equal(ibv_req_notify_cq(p.active.cq, 0), 0);
	pair_write_imm(&p.active, &p.passive, 1, 0, 0);
	assert_false(pair_readable(p.active.comp->fd));
	pair_post_recv(&p.passive, 1, 0, 0);
	take_and_ack_event(&p.active);
	pair_close(&p);
}

PAIR_TEST(solicited_cq_waits_for_a_solicited_message_or_an_error)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED | IBV_SEND_SOLICITED,
	};
	struct pair p;
	int i;

	pair_open(&p);
	for (i = 0; i < 3; i++)
		pair_post_recv(&p.passive, 1, 0, 0);
	assert_int_equal(ibv_req_notify_cq(p.passive.cq, 1), 0);
	pair_write_imm(&p.active, &p.passive, 1, 0, 0);
	assert_false(pair_readable(p.passive.comp->fd));
	pair_post(&p.active, &wr);
	take_and_ack_event(&p.passive);
	assert_int_equal(ibv_req_notify_cq(p.passive.cq, 1), 0);
	assert_int_equal(rdma_disconnect(p.passive.id), 0);
	take_and_ack_event(&p.passive);
	take_and_ack(p.passive.channel, RDMA_CM_EVENT_DISCONNECTED);
	pair_close(&p);
}

PAIR_TEST(channel_that_does_not_block_says_eagain)
{
	struct ibv_cq *cq;
	struct pair p;
	void *context;

	pair_open(&p);
	assert_int_equal(fcntl(p.active.comp->fd, F_SETFL, O_NONBLOCK), 0);
	assert_fails(EAGAIN, ibv_get_cq_event(p.active.comp, &cq, &context));
	pair_close(&p);
}

/* The channel is not empty when the CQ goes: the event goes with it, and those of others stay. */
PAIR_TEST(event_of_a_cq_that_is_destroyed_is_dropped)
{
	struct ibv_cq *other, *cq;
	struct pair p;
	void *context;

	pair_open(&p);
	other = ibv_create_cq(p.active.id->verbs, 1, NULL, p.active.comp, 0);
	assert_int_equal(ibv_req_notify_cq(p.active.cq, 0), 0);
	pair_post_recv(&p.passive, 1, 0, 0);
	pair_write_imm(&p.active, &p.passive, 1, 0, 0);
	assert_int_equal(ibv_destroy_comp_channel(p.active.comp), EBUSY);
	assert_int_equal(ibv_destroy_cq(other), 0);
	assert_int_equal(ibv_get_cq_event(p.active.comp, &cq, &context), 0);
	ibv_ack_cq_events(cq, 1);
	assert_int_equal(ibv_req_notify_cq(p.active.cq, 0), 0);
	pair_post_recv(&p.passive, 1, 0, 0);
	pair_write_imm(&p.active, &p.passive, 1, 0, 0);
	pair_close(&p);
}

PAIR_TEST(event_that_is_not_acknowledged_is_a_complaint)
{
	struct pair p;

	pair_open(&p);
	assert_int_equal(ibv_req_notify_cq(p.active.cq, 0), 0);
	pair_post_recv(&p.passive, 1, 0, 0);
	pair_write_imm(&p.active, &p.passive, 1, 0, 0);
	take_event(&p.active);
	pair_close(&p);
	assert_int_equal(fake_complaints(), 1);
}

PAIR_TEST(acknowledging_too_many_events_is_a_complaint)
{
	struct pair p;

	pair_open(&p);
	assert_int_equal(ibv_req_notify_cq(p.active.cq, 0), 0);
	pair_post_recv(&p.passive, 1, 0, 0);
	pair_write_imm(&p.active, &p.passive, 1, 0, 0);
	ibv_ack_cq_events(take_event(&p.active), 2);
	assert_int_equal(fake_complaints(), 1);
	pair_close(&p);
}

RUN
