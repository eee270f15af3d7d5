// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The wire of the fake data path: it takes the sends of a QP one by one, in their order, and does
 * to the peer what a device does.
 *
 * Locking: the lock of the fabric.
 */
#include "fake/fake_wire.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "fake/fake_fabric.h"
#include "fake/fake_mr.h"
#include "fake/fake_qp.h"
#include "fake/fake_ud.h"

/* A receiver without a receive, which the sender may try again. */
#define NOT_READY IBV_WC_RNR_RETRY_EXC_ERR

static bool is_write(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_RDMA_WRITE || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static bool has_imm(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_SEND_WITH_IMM || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static bool is_iwarp(const struct fake_qp *qp)
{
	return qp->qp.context->device->transport_type == IBV_TRANSPORT_IWARP;
}

static struct fake_qp *peer_of(const struct fake_qp *qp)
{
	struct fake_qp *peer = qp->peer ? fake_qp_find(qp->peer) : NULL;

	return peer && peer->peer == qp->qp.qp_num ? peer : NULL;
}

/* The data of a send, in memory of their own; NULL: a region does not allow to read them. */
static uint8_t *gather(const struct fake_qp *qp, const struct fake_send *send)
{
	uint8_t *data = malloc(send->length + 1);
	uint32_t at = 0;
	int i;

	if (send->copy) {
		memcpy(data, send->copy, send->length);
		return data;
	}
	for (i = 0; i < send->wr.num_sge; i++) {
		const struct ibv_sge *sge = &send->sge[i];

		if (!fake_mr_local(qp->qp.pd, sge, false)) {
			free(data);
			return NULL;
		}
		memcpy(data + at, (void *)(uintptr_t)sge->addr, sge->length);
		at += sge->length;
	}
	return data;
}

/* The receiver is at fault: it completes its receive with @local, and the sender learns @remote. */
static enum ibv_wc_status fail_receive(struct fake_qp *to, enum ibv_wc_status local)
{
	struct ibv_wc wc = { .status = local, .opcode = IBV_WC_RECV };

	fake_qp_received(to, &wc, false);
	fake_qp_fail(to);
	return local == IBV_WC_LOC_LEN_ERR ? IBV_WC_REM_INV_REQ_ERR : IBV_WC_REM_OP_ERR;
}

/* What the receiver of a message does. Returns the status for the sender. */
static enum ibv_wc_status receive(struct fake_qp *to, const struct fake_message *message)
{
	struct ibv_wc wc = { .opcode = IBV_WC_RECV, .byte_len = message->length };
	enum ibv_wc_status status;

	if (is_write(message->opcode)) {
		if (!(to->access & IBV_ACCESS_REMOTE_WRITE) ||
		    !fake_mr_remote(to->qp.pd, message->rkey, message->remote_addr,
				    message->length)) {
			fake_qp_fail(to);
			return IBV_WC_REM_ACCESS_ERR;
		}
		fake_dma_write(message->remote_addr, message->data, message->length);
		if (message->opcode == IBV_WR_RDMA_WRITE)
			return IBV_WC_SUCCESS;
		wc.opcode = IBV_WC_RECV_RDMA_WITH_IMM;
	} else {
		status = fake_qp_scatter(to, 0, message->data, message->length);
		if (status != IBV_WC_SUCCESS)
			return fail_receive(to, status);
	}
	if (has_imm(message->opcode)) {
		wc.wc_flags = IBV_WC_WITH_IMM;
		wc.imm_data = message->imm_data;
	}
	fake_qp_received(to, &wc, message->solicited);
	return IBV_WC_SUCCESS;
}

static bool lacks_receive(const struct fake_qp *to, enum ibv_wr_opcode opcode)
{
	return opcode != IBV_WR_RDMA_WRITE && STAILQ_EMPTY(&to->recvs);
}

/* A message of a connected QP. Returns the status for the sender. */
static enum ibv_wc_status transmit(struct fake_qp *from, const struct fake_send *send,
				   uint8_t *data)
{
	struct fake_qp *to = peer_of(from);
	struct fake_message message = {
		.opcode = send->wr.opcode,
		.imm_data = send->wr.imm_data,
		.remote_addr = send->wr.wr.rdma.remote_addr,
		.rkey = send->wr.wr.rdma.rkey,
		.solicited = send->wr.send_flags & IBV_SEND_SOLICITED,
		.length = send->length,
		.data = data,
	};

	if (!to || !fake_qp_receives(to) || from->broken || to->broken)
		return IBV_WC_RETRY_EXC_ERR;
	if (lacks_receive(to, message.opcode)) {
		if (!is_iwarp(to))
			return NOT_READY;
		/* iWARP has no second try: the receiver ends the connection. */
		fake_qp_fail(to);
		return IBV_WC_REM_OP_ERR;
	}
	if (from->alter) {
		from->alter(&message, from->alter_arg);
		from->alter = NULL;
	}
	return receive(to, &message);
}

/* The oldest send; false: there is none, or it has to wait. */
static bool send_next(struct fake_qp *qp)
{
	struct fake_send *send = STAILQ_FIRST(&qp->sends);
	enum ibv_wc_status status = IBV_WC_SUCCESS;
	uint8_t *data;

	if (!send || qp->state != IBV_QPS_RTS)
		return false;
	data = gather(qp, send);
	if (!data)
		status = IBV_WC_LOC_PROT_ERR;
	else if (qp->qp.qp_type == IBV_QPT_UD && !qp->broken)
		fake_ud_deliver(qp, send, data);
	else if (qp->qp.qp_type != IBV_QPT_UD)
		status = transmit(qp, send, data);
	free(data);
	if (status == NOT_READY && qp->rnr_retry == FAKE_RNR_FOREVER)
		return false;
	fake_qp_sent(qp, status);
	if (status != IBV_WC_SUCCESS)
		fake_qp_fail(qp);
	return true;
}

static bool run_one(struct fake_qp *qp)
{
	return qp && !qp->held && send_next(qp);
}

void fake_wire_run(struct fake_qp *qp)
{
	/* An error of one can end the wait of the other. */
	while (run_one(qp) || run_one(peer_of(qp)))
		;
}

struct ibv_qp *fake_wire_qp(unsigned int n)
{
	struct fake_qp *qp;

	fake_fabric_lock();
	qp = fake_qp_nth(n);
	fake_fabric_unlock();
	return qp ? &qp->qp : NULL;
}

void fake_wire_hold(struct ibv_qp *qp)
{
	fake_fabric_lock();
	fake_qp_of(qp)->held = true;
	fake_fabric_unlock();
}

bool fake_wire_deliver(struct ibv_qp *qp)
{
	bool done;

	fake_fabric_lock();
	done = send_next(fake_qp_of(qp));
	fake_wire_run(fake_qp_of(qp));
	fake_fabric_unlock();
	return done;
}

static bool write_part(struct fake_qp *qp, uint32_t first, uint32_t count)
{
	struct fake_send *send = STAILQ_FIRST(&qp->sends);
	struct fake_qp *to = peer_of(qp);
	uint64_t addr;
	uint8_t *data;

	if (!send || !to || !is_write(send->wr.opcode) || first > send->length ||
	    count > send->length - first)
		return false;
	addr = send->wr.wr.rdma.remote_addr + first;
	if (!fake_mr_remote(to->qp.pd, send->wr.wr.rdma.rkey, addr, count))
		return false;
	data = gather(qp, send);
	if (!data)
		return false;
	fake_dma_write(addr, data + first, count);
	free(data);
	return true;
}

bool fake_wire_write_part(struct ibv_qp *qp, uint32_t first, uint32_t count)
{
	bool done;

	fake_fabric_lock();
	done = write_part(fake_qp_of(qp), first, count);
	fake_fabric_unlock();
	return done;
}

void fake_wire_release(struct ibv_qp *qp)
{
	fake_fabric_lock();
	fake_qp_of(qp)->held = false;
	fake_wire_run(fake_qp_of(qp));
	fake_fabric_unlock();
}

unsigned int fake_wire_waiting(struct ibv_qp *qp)
{
	struct fake_send *send;
	unsigned int n = 0;

	fake_fabric_lock();
	STAILQ_FOREACH(send, &fake_qp_of(qp)->sends, link)
		n++;
	fake_fabric_unlock();
	return n;
}

void fake_wire_break(struct ibv_qp *qp)
{
	fake_fabric_lock();
	fake_qp_of(qp)->broken = true;
	fake_wire_run(fake_qp_of(qp));
	fake_fabric_unlock();
}

void fake_wire_alter(struct ibv_qp *qp, void (*alter)(struct fake_message *message, void *arg),
		     void *arg)
{
	fake_fabric_lock();
	fake_qp_of(qp)->alter = alter;
	fake_qp_of(qp)->alter_arg = arg;
	fake_fabric_unlock();
}

enum ibv_wc_status fake_wire_inject(struct ibv_qp *qp, struct fake_message *message)
{
	struct fake_qp *to = fake_qp_of(qp);
	enum ibv_wc_status status = NOT_READY;

	fake_fabric_lock();
	if (!fake_qp_receives(to))
		status = IBV_WC_RETRY_EXC_ERR;
	else if (!lacks_receive(to, message->opcode))
		status = receive(to, message);
	fake_fabric_unlock();
	return status;
}

enum ibv_wc_status fake_wire_inject_imm(struct ibv_qp *qp, uint32_t imm)
{
	struct fake_message message = {
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.imm_data = htonl(imm),
	};

	return fake_wire_inject(qp, &message);
}
