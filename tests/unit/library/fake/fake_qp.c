// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Queue pairs of the fake data path.
 *
 * Locking: the lock of the fabric, which the callers hold.
 */
#include "fake/fake_qp.h"

#include <stdlib.h>

#include "fake/fake_cq.h"
#include "fake/fake_fabric.h"
#include "fake/fake_mr.h"

#define FIRST_NUMBER 0x78	/* 0x77 is that of all QPs without a data path */

static STAILQ_HEAD(, fake_qp) qps = STAILQ_HEAD_INITIALIZER(qps);
static uint32_t next_number = FIRST_NUMBER;

void fake_qp_add(struct fake_qp *qp)
{
	STAILQ_INIT(&qp->sends);
	STAILQ_INIT(&qp->recvs);
	STAILQ_INSERT_TAIL(&qps, qp, link);
	qp->qp.qp_num = next_number++ & 0xffffff;
	qp->rnr_retry = FAKE_RNR_FOREVER;
}

static void pop_send(struct fake_qp *qp)
{
	struct fake_send *send = STAILQ_FIRST(&qp->sends);

	STAILQ_REMOVE_HEAD(&qp->sends, link);
	free(send->copy);
	free(send);
}

static void pop_recv(struct fake_qp *qp)
{
	struct fake_recv *recv = STAILQ_FIRST(&qp->recvs);

	STAILQ_REMOVE_HEAD(&qp->recvs, link);
	free(recv);
}

void fake_qp_clear(struct fake_qp *qp)
{
	while (!STAILQ_EMPTY(&qp->sends))
		pop_send(qp);
	while (!STAILQ_EMPTY(&qp->recvs))
		pop_recv(qp);
	fake_cq_forget(qp->qp.send_cq, qp->qp.qp_num);
	fake_cq_forget(qp->qp.recv_cq, qp->qp.qp_num);
	qp->sq_used = 0;
	qp->rq_used = 0;
	qp->unsignaled = 0;
}

void fake_qp_remove(struct fake_qp *qp)
{
	fake_qp_clear(qp);
	STAILQ_REMOVE(&qps, qp, fake_qp, link);
}

struct fake_qp *fake_qp_find(uint32_t num)
{
	struct fake_qp *qp;

	STAILQ_FOREACH(qp, &qps, link) {
		if (qp->qp.qp_num == num)
			return qp;
	}
	return NULL;
}

struct fake_qp *fake_qp_nth(unsigned int n)
{
	struct fake_qp *qp;

	STAILQ_FOREACH(qp, &qps, link) {
		if (!n--)
			return qp;
	}
	return NULL;
}

bool fake_qp_receives(const struct fake_qp *qp)
{
	return qp->state == IBV_QPS_RTR || qp->state == IBV_QPS_RTS || qp->state == IBV_QPS_SQD;
}

static enum ibv_wc_opcode opcode_of(const struct fake_send *send)
{
	switch (send->wr.opcode) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return IBV_WC_RDMA_WRITE;
	default:
		return IBV_WC_SEND;
	}
}

void fake_qp_sent(struct fake_qp *qp, enum ibv_wc_status status)
{
	struct fake_send *send = STAILQ_FIRST(&qp->sends);
	struct ibv_wc wc = {
		.wr_id = send->wr.wr_id,
		.status = status,
		.opcode = opcode_of(send),
		.byte_len = send->length,
		.qp_num = qp->qp.qp_num,
	};

	qp->unsignaled++;
	if (send->signaled || status != IBV_WC_SUCCESS) {
		fake_cq_add(qp->qp.send_cq, &wc, false, &qp->sq_used, qp->unsignaled);
		qp->unsignaled = 0;
	}
	pop_send(qp);
}

void fake_qp_received(struct fake_qp *qp, struct ibv_wc *wc, bool solicited)
{
	wc->wr_id = STAILQ_FIRST(&qp->recvs)->wr.wr_id;
	wc->qp_num = qp->qp.qp_num;
	fake_cq_add(qp->qp.recv_cq, wc, solicited, &qp->rq_used, 1);
	pop_recv(qp);
}

void fake_qp_fail(struct fake_qp *qp)
{
	struct ibv_wc wc = { .status = IBV_WC_WR_FLUSH_ERR, .opcode = IBV_WC_RECV };

	qp->state = IBV_QPS_ERR;
	while (!STAILQ_EMPTY(&qp->sends))
		fake_qp_sent(qp, IBV_WC_WR_FLUSH_ERR);
	while (!STAILQ_EMPTY(&qp->recvs))
		fake_qp_received(qp, &wc, false);
}

/* Is the memory of a receive registered, and large enough? */
static enum ibv_wc_status check_recv(struct fake_qp *qp, const struct fake_recv *recv,
				     uint32_t length)
{
	uint64_t room = 0;
	int i;

	for (i = 0; i < recv->wr.num_sge; i++) {
		if (!fake_mr_local(qp->qp.pd, &recv->sge[i], true))
			return IBV_WC_LOC_PROT_ERR;
		room += recv->sge[i].length;
	}
	return length > room ? IBV_WC_LOC_LEN_ERR : IBV_WC_SUCCESS;
}

enum ibv_wc_status fake_qp_scatter(struct fake_qp *qp, uint32_t skip, const void *data,
				   uint32_t length)
{
	const struct fake_recv *recv = STAILQ_FIRST(&qp->recvs);
	enum ibv_wc_status status = check_recv(qp, recv, skip + length);
	const uint8_t *from = data;
	uint32_t here, n;
	int i;

	for (i = 0; status == IBV_WC_SUCCESS && length; i++) {
		here = skip < recv->sge[i].length ? skip : recv->sge[i].length;
		skip -= here;
		n = recv->sge[i].length - here;
		if (n > length)
			n = length;
		fake_dma_write(recv->sge[i].addr + here, from, n);
		from += n;
		length -= n;
	}
	return status;
}
