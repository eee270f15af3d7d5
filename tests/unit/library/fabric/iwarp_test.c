// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of the fakes as RNICs: what differs from InfiniBand and RoCE. */
#include "fake/pair.h"

PAIR_TEST(ends_are_established_without_a_third_message)
{
	struct pair p;

	pair_use_iwarp();
	pair_open(&p);
	assert_int_equal(p.active.id->verbs->device->transport_type, IBV_TRANSPORT_IWARP);
	/* iWARP carries the private data as they are. */
	assert_int_equal(p.passive.data_len, 12);
	assert_string_equal((char *)p.active.data, "from passive");
	pair_post_recv(&p.passive, 1, 0, 8);
	pair_send(&p.active, 2, 0, 4);
	pair_expect(&p.active, 2, IBV_WC_SUCCESS);
	pair_expect(&p.passive, 1, IBV_WC_SUCCESS);
	pair_close(&p);
}

PAIR_TEST(immediate_is_refused)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE_WITH_IMM };
	struct pair p;

	pair_use_iwarp();
	pair_open(&p);
	assert_int_equal(pair_try_post(&p.active, &wr), EINVAL);
	wr.opcode = IBV_WR_SEND_WITH_IMM;
	assert_int_equal(pair_try_post(&p.active, &wr), EINVAL);
	pair_close(&p);
}

PAIR_TEST(send_without_a_receive_ends_the_connection)
{
	struct pair p;

	pair_use_iwarp();
	pair_open(&p);
	pair_send(&p.active, 1, 0, 4);
	pair_expect(&p.active, 1, IBV_WC_REM_OP_ERR);
	pair_post_recv(&p.passive, 2, 0, 4);
	pair_expect(&p.passive, 2, IBV_WC_WR_FLUSH_ERR);
	pair_close(&p);
}

/* rdma_disconnect() moves the QP to SQD, which closes the connection. */
PAIR_TEST(disconnect_flushes_the_receives)
{
	struct pair p;

	pair_use_iwarp();
	pair_open(&p);
	pair_post_recv(&p.active, 1, 0, 4);
	assert_int_equal(rdma_disconnect(p.active.id), 0);
	pair_expect(&p.active, 1, IBV_WC_WR_FLUSH_ERR);
	take_and_ack(p.passive.channel, RDMA_CM_EVENT_DISCONNECTED);
	take_and_ack(p.active.channel, RDMA_CM_EVENT_DISCONNECTED);
	pair_close(&p);
}

PAIR_TEST(reject_and_no_listener_are_econnrefused)
{
	struct endpoint end = { 0 };
	struct rdma_cm_event *event;

	pair_use_iwarp();
	pair_begin_connect(&end, PAIR_PORT, NULL, 0);
	event = take(end.channel, RDMA_CM_EVENT_REJECTED);
	assert_int_equal(event->status, -ECONNREFUSED);
	rdma_ack_cm_event(event);
	pair_close_end(&end);
}

RUN
