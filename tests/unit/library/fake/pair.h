/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Fixture: endpoints with a QP, a CQ, a completion channel and registered memory, which listen and
 * connect by the public calls, over the data path and the CM of the fakes.
 *
 * A pair is two of them that are connected. To test one end against a peer that misbehaves, connect
 * one endpoint to it, and send whatever the test wants, or see fake_wire.h.
 */
#ifndef PAIR_H
#define PAIR_H

#include <poll.h>

#include "fake/fake_cm.h"
#include "fake/fake_fabric.h"
#include "fake/fake_post.h"
#include "fake/fake_ud.h"
#include "fake/fake_wire.h"
#include "fake/fixture.h"

#define PAIR_PORT 7471
#define PAIR_WR 8	/* work requests of each queue */
#define PAIR_MEM 256

/**
 * struct endpoint - one end
 * @channel: its events
 * @id: its id, or NULL
 * @comp: completion channel
 * @cq: of both queues
 * @mr: of @mem, for the device and for the peer
 * @mem: memory for messages
 * @data: private data that the peer has sent with its request or its response
 * @data_len: bytes of them
 */
struct endpoint {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct ibv_comp_channel *comp;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	uint8_t mem[PAIR_MEM];
	uint8_t data[UINT8_MAX];
	uint8_t data_len;
};

/**
 * struct pair - two ends that are connected
 * @listener: of the passive end
 * @active: the end that has connected
 * @passive: the end that has accepted
 */
struct pair {
	struct rdma_cm_id *listener;
	struct endpoint active;
	struct endpoint passive;
};

static inline int pair_set_up(void **state)
{
	int ret = set_up(state);

	fake_data_path_install();
	fake_cm_install();
	fake_complaints();
	return ret;
}

/* A test must leave no complaint of the fabric, either. */
static inline int pair_tear_down(void **state)
{
	int ret = tear_down(state);

	return fake_complaints() ? -1 : ret;
}

#define PAIR_TEST(name) UNIT_TEST(name, pair_set_up, pair_tear_down)

/* Before the first id: the devices are RNICs. */
static inline void pair_use_iwarp(void)
{
	fake_verbs_iwarp();
	fake.features |= RDMA_CM_ALT_FEATURE_IWARP;
}

static inline void pair_post_recv(struct endpoint *end, uint64_t wr_id, uint32_t at, uint32_t len)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)end->mem + at, .length = len, .lkey = end->mr->lkey,
	};
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = len ? 1 : 0 };
	struct ibv_recv_wr *bad;

	assert_int_equal(ibv_post_recv(end->id->qp, &wr, &bad), 0);
}

static inline int pair_try_post(struct endpoint *end, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	return ibv_post_send(end->id->qp, wr, &bad);
}

static inline void pair_post(struct endpoint *end, struct ibv_send_wr *wr)
{
	assert_int_equal(pair_try_post(end, wr), 0);
}

/* Send bytes from the end's memory. */
static inline void pair_send(struct endpoint *end, uint64_t wr_id, uint32_t at, uint32_t len)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)end->mem + at, .length = len, .lkey = end->mr->lkey,
	};
	struct ibv_send_wr wr = {
		.wr_id = wr_id, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};

	pair_post(end, &wr);
}

/* Write bytes from the same place of the end's memory into that of the other end. */
static inline void pair_write_imm(struct endpoint *end, struct endpoint *other, uint32_t imm,
				  uint32_t at, uint32_t len)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)end->mem + at, .length = len, .lkey = end->mr->lkey,
	};
	struct ibv_send_wr wr = {
		.wr_id = imm, .sg_list = &sge, .num_sge = len ? 1 : 0,
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM, .imm_data = htonl(imm),
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { (uintptr_t)other->mem + at, other->mr->rkey },
	};

	pair_post(end, &wr);
}

/* The next completion of an end, which must be there. */
static inline struct ibv_wc pair_poll(struct endpoint *end)
{
	struct ibv_wc wc = { 0 };

	assert_int_equal(ibv_poll_cq(end->cq, 1, &wc), 1);
	return wc;
}

static inline void pair_expect(struct endpoint *end, uint64_t wr_id, enum ibv_wc_status status)
{
	struct ibv_wc wc = pair_poll(end);

	assert_int_equal(wc.wr_id, wr_id);
	assert_int_equal(wc.status, status);
}

static inline void pair_expect_none(struct endpoint *end)
{
	struct ibv_wc wc;

	assert_int_equal(ibv_poll_cq(end->cq, 1, &wc), 0);
}

static inline bool pair_readable(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	return poll(&pfd, 1, 0) == 1;
}

static inline struct ibv_qp_init_attr pair_qp_attr(const struct endpoint *end)
{
	return (struct ibv_qp_init_attr) {
		.qp_type = end->id->qp_type,
		.send_cq = end->cq,
		.recv_cq = end->cq,
		.cap = { .max_send_wr = PAIR_WR, .max_recv_wr = PAIR_WR, .max_send_sge = 2,
			 .max_recv_sge = 2, .max_inline_data = 16 },
	};
}

/* All that an end with a device needs to send and to receive. */
static inline void pair_add_qp(struct endpoint *end)
{
	struct ibv_qp_init_attr attr;

	end->comp = ibv_create_comp_channel(end->id->verbs);
	assert_non_null(end->comp);
	end->cq = ibv_create_cq(end->id->verbs, 2 * PAIR_WR, end, end->comp, 0);
	assert_non_null(end->cq);
	attr = pair_qp_attr(end);
	assert_int_equal(rdma_create_qp(end->id, NULL, &attr), 0);
	end->mr = ibv_reg_mr(end->id->pd, end->mem, sizeof(end->mem),
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	assert_non_null(end->mr);
}

static inline struct rdma_conn_param pair_param(const void *data, uint8_t len)
{
	return (struct rdma_conn_param) {
		.private_data = data, .private_data_len = len,
		.retry_count = 7, .rnr_retry_count = 7,
	};
}

static inline void pair_keep_data(struct endpoint *end, const struct rdma_cm_event *event)
{
	end->data_len = event->param.conn.private_data_len;
	if (end->data_len)
		memcpy(end->data, event->param.conn.private_data, end->data_len);
}

/* An id that listens on 10.9.0.2. */
static inline struct rdma_cm_id *pair_listen(struct rdma_event_channel *channel, uint16_t port)
{
	struct rdma_cm_id *id = new_id(channel);

	assert_int_equal(rdma_bind_addr(id, addr4("10.9.0.2", port)), 0);
	assert_int_equal(rdma_listen(id, 8), 0);
	return id;
}

/* Begin to connect: the next event is that of the answer. */
static inline void pair_begin_connect(struct endpoint *end, uint16_t port, const void *data,
				      uint8_t len)
{
	struct rdma_conn_param param = pair_param(data, len);

	end->channel = rdma_create_event_channel();
	end->id = new_id(end->channel);
	assert_int_equal(rdma_resolve_addr(end->id, NULL, addr4("10.9.0.2", port), 1000), 0);
	take_and_ack(end->channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	assert_int_equal(rdma_resolve_route(end->id, 1000), 0);
	take_and_ack(end->channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
	pair_add_qp(end);
	assert_int_equal(rdma_connect(end->id, &param), 0);
}

static inline void pair_end_connect(struct endpoint *end)
{
	struct rdma_cm_event *event = take(end->channel, RDMA_CM_EVENT_ESTABLISHED);

	pair_keep_data(end, event);
	rdma_ack_cm_event(event);
}

/* Take a request, and accept it; ESTABLISHED follows. The end has a channel. */
static inline void pair_accept(struct endpoint *end, const void *data, uint8_t len)
{
	struct rdma_cm_event *event = take(end->channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	struct rdma_conn_param param = pair_param(data, len);

	end->id = event->id;
	pair_keep_data(end, event);
	rdma_ack_cm_event(event);
	pair_add_qp(end);
	assert_int_equal(rdma_accept(end->id, &param), 0);
}

static inline void pair_open(struct pair *pair)
{
	memset(pair, 0, sizeof(*pair));
	pair->passive.channel = rdma_create_event_channel();
	pair->listener = pair_listen(pair->passive.channel, PAIR_PORT);
	pair_begin_connect(&pair->active, PAIR_PORT, "from active", 12);
	pair_accept(&pair->passive, "from passive", 13);
	pair_end_connect(&pair->active);
	take_and_ack(pair->passive.channel, RDMA_CM_EVENT_ESTABLISHED);
}

static inline void pair_drop_qp(struct endpoint *end)
{
	rdma_destroy_qp(end->id);
	ibv_dereg_mr(end->mr);
	assert_int_equal(ibv_destroy_cq(end->cq), 0);
	assert_int_equal(ibv_destroy_comp_channel(end->comp), 0);
}

static inline void pair_close_end(struct endpoint *end)
{
	if (end->id) {
		pair_drop_qp(end);
		assert_int_equal(rdma_destroy_id(end->id), 0);
	}
	rdma_destroy_event_channel(end->channel);
}

static inline void pair_close(struct pair *pair)
{
	pair_close_end(&pair->active);
	assert_int_equal(rdma_destroy_id(pair->listener), 0);
	pair_close_end(&pair->passive);
}

#endif /* PAIR_H */
