// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of the fakes with a thread at each end: mostly for TSan. */
#include <pthread.h>
#include <stdlib.h>

#include "fake/pair.h"

#define ROUNDS 300

/* Sleep until there is a completion, as programs do: arm, look again, wait. */
static struct ibv_wc wait_for_one(struct endpoint *end)
{
	struct ibv_wc wc = { 0 };
	struct ibv_cq *cq;
	void *context;

	while (ibv_poll_cq(end->cq, 1, &wc) == 0) {
		ibv_req_notify_cq(end->cq, 0);
		if (ibv_poll_cq(end->cq, 1, &wc))
			break;
		if (ibv_get_cq_event(end->comp, &cq, &context))
			abort();
		ibv_ack_cq_events(cq, 1);
	}
	return wc;
}

/* Send numbers, and wait for each to come back larger by one. Threads do not assert. */
static void *ping(void *arg)
{
	struct endpoint *end = arg;
	struct ibv_sge sge = { (uintptr_t)end->mem, 4, end->mr->lkey };
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1, .wr_id = 1 }, *bad;
	struct ibv_send_wr send = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND }, *bads;
	uint32_t *number = (uint32_t *)(void *)end->mem;
	uint32_t i;

	for (i = 0; i < 2 * ROUNDS; i += 2) {
		*number = i;
		send.send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED;
		if (ibv_post_send(end->id->qp, &send, &bads) ||
		    ibv_post_recv(end->id->qp, &recv, &bad))
			return "cannot post";
		if (wait_for_one(end).status || wait_for_one(end).status)
			return "a completion fails";
		if (*number != i + 1)
			return "a number is lost";
	}
	return NULL;
}

static void *pong(void *arg)
{
	struct endpoint *end = arg;
	struct ibv_sge sge = { (uintptr_t)end->mem, 4, end->mr->lkey };
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1, .wr_id = 1 }, *bad;
	struct ibv_send_wr send = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND }, *bads;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		if (ibv_post_recv(end->id->qp, &recv, &bad) || wait_for_one(end).status)
			return "no number arrives";
		++*(uint32_t *)(void *)end->mem;
		send.send_flags = IBV_SEND_SIGNALED;
		if (ibv_post_send(end->id->qp, &send, &bads) || wait_for_one(end).status)
			return "a number is not sent";
	}
	return NULL;
}

PAIR_TEST(ends_in_two_threads_exchange_messages)
{
	pthread_t threads[2];
	void *said[2];
	struct pair p;
	int i;

	pair_open(&p);
	pthread_create(&threads[0], NULL, ping, &p.active);
	pthread_create(&threads[1], NULL, pong, &p.passive);
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], &said[i]);
	for (i = 0; i < 2; i++) {
		if (said[i])
			fail_msg("%s", (char *)said[i]);
	}
	pair_close(&p);
}

/* Synchronous ids: each call waits for the other thread. */
static void *serve(void *arg)
{
	struct rdma_cm_id *listener = arg, *id;
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_conn_param param = pair_param("yes", 4);

	if (rdma_get_request(listener, &id) || rdma_create_qp(id, NULL, &attr) ||
	    rdma_accept(id, &param))
		return NULL;
	rdma_disconnect(id);
	rdma_destroy_qp(id);
	rdma_destroy_id(id);
	return listener;
}

PAIR_TEST(synchronous_ids_connect_in_two_threads)
{
	struct rdma_cm_id *listener = pair_listen(NULL, PAIR_PORT), *id = new_id(NULL);
	struct rdma_conn_param param = pair_param("may I?", 7);
	struct ibv_qp_init_attr attr = qp_attr();
	pthread_t thread;
	void *done;

	pthread_create(&thread, NULL, serve, listener);
	assert_int_equal(rdma_resolve_addr(id, NULL, addr4("10.9.0.2", PAIR_PORT), 1000), 0);
	assert_int_equal(rdma_resolve_route(id, 1000), 0);
	assert_int_equal(rdma_create_qp(id, NULL, &attr), 0);
	assert_int_equal(rdma_connect(id, &param), 0);
	assert_string_equal(id->event->param.conn.private_data, "yes");
	pthread_join(thread, &done);
	assert_ptr_equal(done, listener);
	assert_int_equal(rdma_disconnect(id), 0);
	rdma_destroy_qp(id);
	assert_int_equal(rdma_destroy_id(id), 0);
	assert_int_equal(rdma_destroy_id(listener), 0);
}

/* The fabric writes with atomic stores: a program may poll memory with atomic loads. */
static void *watch(void *arg)
{
	while (!__atomic_load_n((uint32_t *)arg, __ATOMIC_ACQUIRE))
		;
	return NULL;
}

PAIR_TEST(memory_that_the_peer_writes_can_be_polled)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE };
	pthread_t thread;
	struct pair p;

	pair_open(&p);
	pthread_create(&thread, NULL, watch, p.passive.mem);
	memset(p.active.mem, 1, 4);
	sge = (struct ibv_sge) { (uintptr_t)p.active.mem, 4, p.active.mr->lkey };
	wr.wr.rdma.remote_addr = (uintptr_t)p.passive.mem;
	wr.wr.rdma.rkey = p.passive.mr->rkey;
	pair_post(&p.active, &wr);
	pthread_join(thread, NULL);
	pair_close(&p);
}

RUN
