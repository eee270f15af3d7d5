// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The queue pair, completion queues and buffers of a stream.
 *
 * One memory region is writable by the peer: the ring, the array of ranges, and the table of
 * mappings. The send buffer is another region.
 *
 * Sends and receives have separate completion queues. Only those that a thread waits for are armed,
 * so the completion of a send does not wake a thread that waits for data.
 *
 * Locking: rcl_sock.lock.
 */
#include "rsocket/stream/endpoint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "id/cmid.h"
#include "rsocket/channels.h"
#include "rsocket/stream/kept.h"

/* Bytes of a message with iWARP. */
#define MSG_LEN 4

#define CACHE_LINE 64

/* Least number of work requests of a queue; librdmacm expects it of its peer. */
#define QUEUE_LEAST 16
#define QUEUE_MOST 65534

/*
 * Additional receives for messages that take no credit. If a message arrives and no receive is
 * posted, an RNIC ends the connection, where other adapters wait. The peer sends credit messages,
 * which take no credit, only for messages of this end.
 */
#define RNIC_RECEIVES 8

/*
 * Receives that are posted before the connection, and credits of the hello: most connections need
 * no more, and posting is a tenth of what a connection costs. rcl_stream_give() posts the others
 * when a quarter of them is used.
 */
#define FIRST_RECEIVES 64

/* Receives that are posted with one call. */
#define BATCH 32

static uint32_t clamp(uint32_t value, uint32_t least, uint32_t most)
{
	if (value > most)
		value = most;
	return value < least ? least : value;
}

static int set_sizes(struct rcl_stream *s)
{
	struct rcl_device *device = rcl_id_of(s->id)->device;
	struct rcl_sock *sock = &s->sock;
	uint32_t most = QUEUE_MOST;

	if (!device || !s->id->verbs)
		return -ENODEV;
	if (device->max_qp_wr && device->max_qp_wr < most)
		most = device->max_qp_wr;
	sock->sq_size = clamp(sock->sq_size, QUEUE_LEAST, most);
	sock->rq_size = clamp(sock->rq_size, QUEUE_LEAST, most - RNIC_RECEIVES);
	sock->recv_buf = clamp(sock->recv_buf & ~1U, 2, 1U << 30);
	sock->send_buf = clamp(sock->send_buf, 2 * RCL_SEND_LEAST, 1U << 30);
	sock->iomaps = rcl_iomaps_round(sock->iomaps);
	sock->sized = true;
	s->iwarp = s->id->verbs->device->transport_type == IBV_TRANSPORT_IWARP;
	if (s->iwarp && sock->inline_len < MSG_LEN)
		sock->inline_len = MSG_LEN;
	s->rx.posted = sock->rq_size + (s->iwarp ? RNIC_RECEIVES : 0);
	return 0;
}

static int create_queues(struct rcl_stream *s)
{
	struct ibv_context *verbs = s->id->verbs;

	s->pd = ibv_alloc_pd(verbs);
	if (!s->pd)
		return rcl_errno();
	s->comp = rcl_comp_channel(verbs);
	if (!s->comp)
		return rcl_errno();
	s->recv_cq.cq = ibv_create_cq(verbs, (int)s->rx.posted, NULL, s->comp, 0);
	if (!s->recv_cq.cq)
		return rcl_errno();
	s->send_cq.cq = ibv_create_cq(verbs, (int)s->sock.sq_size, NULL, s->comp, 0);
	return s->send_cq.cq ? 0 : rcl_errno();
}

static int create_qp(struct rcl_stream *s)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = s->send_cq.cq,
		.recv_cq = s->recv_cq.cq,
		.qp_type = IBV_QPT_RC,
		.cap.max_send_wr = s->sock.sq_size,
		.cap.max_recv_wr = s->rx.posted,
		.cap.max_send_sge = 2,
		.cap.max_recv_sge = 1,
		.cap.max_inline_data = s->sock.inline_len,
	};

	if (rdma_create_qp(s->id, s->pd, &attr))
		return rcl_errno();
	s->sock.inline_len = attr.cap.max_inline_data;
	return s->iwarp && s->sock.inline_len < MSG_LEN ? -ENOTSUP : 0;
}

/* Bytes of the ring and of the messages of iWARP, in front of the tables. */
static size_t front_len(const struct rcl_stream *s)
{
	size_t msgs = s->iwarp ? (size_t)MSG_LEN * s->rx.posted : 0;

	return (s->sock.recv_buf + msgs + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
}

static int create_buffers(struct rcl_stream *s)
{
	size_t tables = sizeof(struct rcl_target) * RCL_SGL_ENTRIES +
			sizeof(struct rcl_iomap) * s->sock.iomaps;
	struct rcl_rx *rx = &s->rx;
	struct rcl_tx *tx = &s->tx;
	int ret = rcl_pages_get(&rx->pages, front_len(s) + tables);

	if (ret)
		return ret;
	/* A peer may announce data that it has not written: the program must not get old bytes. */
	if (rx->pages.used)
		memset(rx->pages.start, 0, rx->pages.len);
	rx->mr = ibv_reg_mr(s->pd, rx->pages.start, rx->pages.len,
			    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	if (!rx->mr)
		return rcl_errno();
	ret = rcl_pages_get(&tx->pages, s->sock.send_buf +
					sizeof(struct rcl_target) * RCL_CONTROL_SLOTS);
	if (ret)
		return ret;
	tx->mr = ibv_reg_mr(s->pd, tx->pages.start, tx->pages.len, IBV_ACCESS_LOCAL_WRITE);
	return tx->mr ? 0 : rcl_errno();
}

static void lay_out(struct rcl_stream *s)
{
	struct rcl_rx *rx = &s->rx;
	struct rcl_tx *tx = &s->tx;

	/* The ring comes first, page-aligned: adapters write whole cache lines faster. */
	rx->buf = rx->pages.start;
	rx->table = rx->buf + front_len(s);
	rx->size = s->sock.recv_buf;
	rx->most = s->sock.rq_size < FIRST_RECEIVES ? s->sock.rq_size : FIRST_RECEIVES;
	/* The first half is announced in the hello, and the second one by the first message. */
	rx->room = rx->size / 2;
	rx->freed = rx->size / 2;
	rx->give = rx->size / 2;
	tx->buf = tx->pages.start;
	tx->size = s->sock.send_buf;
	tx->slots_most = s->sock.sq_size;
	tx->sgl = (struct rcl_target *)(void *)rx->table;
}

static int create(struct rcl_stream *s)
{
	int ret = 0;

	if (!rcl_kept_take(s)) {
		ret = create_queues(s);
		if (!ret)
			ret = create_buffers(s);
	}
	if (!ret)
		ret = create_qp(s);
	if (ret)
		return ret;
	lay_out(s);
	return rcl_endpoint_post_receives(s, s->rx.posted - (s->sock.rq_size - s->rx.most));
}

int rcl_endpoint_create(struct rcl_stream *s)
{
	int ret = set_sizes(s);

	if (!ret)
		ret = create(s);
	/* What is kept may be what is missing. */
	if (ret && rcl_kept_end(RCL_FOREVER)) {
		rcl_endpoint_destroy(s);
		ret = create(s);
	}
	return ret;
}

static void destroy_wake_qp(struct rcl_stream *s)
{
	if (s->wake_qp)
		ibv_destroy_qp(s->wake_qp);
	rcl_cq_destroy(&s->wake_cq);
	s->wake_qp = NULL;
}

void rcl_endpoint_destroy(struct rcl_stream *s)
{
	if (s->id->qp)
		rdma_destroy_qp(s->id);
	destroy_wake_qp(s);
	if (!rcl_kept_give(s)) {
		if (s->tx.mr)
			ibv_dereg_mr(s->tx.mr);
		if (s->rx.mr)
			ibv_dereg_mr(s->rx.mr);
		rcl_pages_put(&s->tx.pages);
		rcl_pages_put(&s->rx.pages);
		rcl_cq_destroy(&s->send_cq);
		rcl_cq_destroy(&s->recv_cq);
		if (s->comp)
			ibv_destroy_comp_channel(s->comp);
		if (s->pd)
			ibv_dealloc_pd(s->pd);
	}
	s->tx.pages = (struct rcl_pages){ 0 };
	s->rx.pages = (struct rcl_pages){ 0 };
	s->send_cq = (struct rcl_cq){ 0 };
	s->recv_cq = (struct rcl_cq){ 0 };
	s->tx.mr = NULL;
	s->rx.mr = NULL;
	s->tx.buf = NULL;
	s->rx.buf = NULL;
	s->rx.table = NULL;
	s->comp = NULL;
	s->unread = false;
	s->pd = NULL;
}

void rcl_endpoint_hello(const struct rcl_stream *s, struct rcl_hello *hello)
{
	*hello = (struct rcl_hello){
		.credits = (uint16_t)s->rx.most,
		.iomaps = s->sock.iomaps,
		.sgl = {
			.addr = (uintptr_t)s->rx.table,
			.key = s->rx.mr->rkey,
			.len = RCL_SGL_ENTRIES,
		},
		.data = {
			.addr = (uintptr_t)s->rx.buf,
			.key = s->rx.mr->rkey,
			.len = s->rx.size / 2,
		},
	};
}

/*
 * librdmacm posts no more receives than it gives credits. Control messages on top of the data would
 * then wait until its program is in a call, also DISCONNECT, and with iWARP end the connection.
 */
static uint16_t spare_credits(uint16_t credits)
{
	return credits / 2 < RNIC_RECEIVES ? credits / 2 : RNIC_RECEIVES;
}

void rcl_endpoint_connected(struct rcl_stream *s, const struct rcl_hello *hello)
{
	s->swap = hello->swap;
	s->librdmacm = hello->librdmacm;
	s->rx.peer = hello->sgl;
	s->rx.peer_index = 1;
	s->tx.limit = hello->credits;
	s->tx.spare = spare_credits(hello->credits);
	s->tx.first = hello->data;
	s->tx.target = hello->data;
	s->tx.index = 1;
	s->peer_iomaps = hello->iomaps;
	s->can_recv = true;
	s->can_send = true;
}

int rcl_endpoint_post_receives(struct rcl_stream *s, unsigned int count)
{
	struct ibv_recv_wr wrs[BATCH], *bad;
	struct ibv_sge sges[BATCH];
	unsigned int i, many;
	int ret = 0;

	for (; count && !ret; count -= many) {
		many = count < BATCH ? count : BATCH;
		for (i = 0; i < many; i++) {
			wrs[i] = (struct ibv_recv_wr){ .next = i + 1 < many ? &wrs[i + 1] : NULL };
			if (!s->iwarp)
				continue;
			sges[i] = (struct ibv_sge){
				.addr = (uintptr_t)s->rx.buf + s->rx.size +
					MSG_LEN * s->rx.next_msg,
				.length = MSG_LEN,
				.lkey = s->rx.mr->lkey,
			};
			wrs[i].wr_id = s->rx.next_msg;
			wrs[i].sg_list = &sges[i];
			wrs[i].num_sge = 1;
			if (++s->rx.next_msg == s->rx.posted)
				s->rx.next_msg = 0;
		}
		ret = rcl_verbs_err(ibv_post_recv(s->id->qp, wrs, &bad));
	}
	return ret;
}

static bool create_wake_qp(struct rcl_stream *s)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	if (!s->wake_cq.cq)
		s->wake_cq.cq = ibv_create_cq(s->id->verbs, 1, NULL, s->comp, 0);
	if (!s->wake_cq.cq)
		return false;
	attr.send_cq = s->wake_cq.cq;
	attr.recv_cq = s->wake_cq.cq;
	s->wake_qp = ibv_create_qp(s->pd, &attr);
	return s->wake_qp;
}

bool rcl_endpoint_wake(struct rcl_stream *s)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = s->id->port_num };
	struct ibv_qp_attr reset = { .qp_state = IBV_QPS_RESET };
	struct ibv_qp_attr error = { .qp_state = IBV_QPS_ERR };
	struct ibv_recv_wr wr = { 0 }, *bad;
	struct ibv_wc wc;

	/* The event of the last call was not read yet. */
	if (s->wake_cq.armed)
		return true;
	if (!s->wake_qp && !create_wake_qp(s))
		return false;
	ibv_poll_cq(s->wake_cq.cq, 1, &wc);
	rcl_cq_arm(&s->wake_cq);
	/* Not a receive that is posted in the error state, which soft-RoCE would not notice. */
	if (!ibv_modify_qp(s->wake_qp, &reset, IBV_QP_STATE) &&
	    !ibv_modify_qp(s->wake_qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
						      IBV_QP_ACCESS_FLAGS) &&
	    !ibv_post_recv(s->wake_qp, &wr, &bad) &&
	    !ibv_modify_qp(s->wake_qp, &error, IBV_QP_STATE))
		return true;
	s->wake_cq.armed = false;
	return false;
}

void rcl_endpoint_fail(struct rcl_stream *s)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	if (s->id && s->id->qp)
		ibv_modify_qp(s->id->qp, &attr, IBV_QP_STATE);
}
